"""Plot functions by class name. The classes do not import the plots, so plots can import them."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The function that draws objects of a class or of its subclasses.
PICTURES = {
    "Comparison": "plots.zones.plot_comparison",
    "Cuboids": "plots.boxes.plot_cuboids",
    "Distribution": "plots.allocation.plot_distribution",
    "DistributionStack": "plots.allocation.plot_stack",
    "DivisibleLoad": "plots.gantt.plot_bus",
    "FilesPlan": "plots.files.plot_files",
    "LayersMesh": "studies.plots.plot_layers_mesh",
    "LayersPlan": "plots.layers.plot_layers",
    "LayersStar": "studies.plots.plot_layers_star",
    "LuGrid": "plots.grid.plot_grid",
    "LuPattern": "plots.allocation.plot_pattern",
    "FactorPlan": "plots.gantt.plot_plan",
    "MaxTasks": "plots.gantt.plot_plan",
    "MeasuredPlatform": "plots.speeds.plot_measured",
    "MeshPlan": "plots.mesh.plot_mesh",
    "MinTime": "plots.gantt.plot_plan",
    "Partition": "plots.zones.plot_partition",
    "Ppopp2008": "studies.plots.plot_ppopp2008",
    "ProductPlan": "plots.boxes.plot_product",
    "ProfileDistribution": "plots.allocation.plot_distribution",
    "Ring2003": "studies.ring_plots.plot_ring2003",
    "RingProfile": "plots.ring.plot_profile",
    "SliceRing": "plots.ring.plot_ring",
    "StarLuPlan": "plots.gantt.plot_star_lu",
    "StarPlan": "plots.gantt.plot_star",
    "Static2001": "studies.plots.plot_static2001",
    "StencilPlan": "plots.gantt.plot_iterations",
    "Trace": "plots.gantt.plot_trace",
    "Wavefront": "plots.grid.plot_wavefront",
    "WorkersWorth": "plots.speeds.plot_worth",
}


def draw(thing: Any, where: Any = None) -> Any:
    """Draw an object on given axes (or on a figure if it needs several axes), or on new ones."""
    for kind in type(thing).__mro__:
        if name := PICTURES.get(kind.__name__):
            module, _, function = name.rpartition(".")
            return getattr(import_module(f"hetsched.{module}"), function)(thing, where)
    raise TypeError(f"there is no picture of a {type(thing).__name__}")


def _where(name: str, given: Any, width: float | str | None) -> Any:
    if width is None:
        return given
    if given is not None:
        raise ValueError(f"width is for new figures: it cannot be given with {name}")
    return import_module("hetsched.plots.canvas").sheet(width)


class Drawn:
    """An object with a plot."""

    def plot(self, ax: Axes | None = None, *, width: float | str | None = None) -> Axes:
        """Draw this object with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new pyplot figure, as large as the picture needs.
        width : float or {"column", "page"}, optional
            Width of a new figure: inches, or one column (3.4 inches) or the page (7 inches) of a
            two-column paper.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        axes: Axes = draw(self, _where("ax", ax, width))
        return axes

    def _repr_html_(self) -> str:
        svg: str = import_module("hetsched.plots.canvas").figure_svg(self.plot)
        return f"<p>{escape(repr(self)[1:-1])}</p>{svg}"


class DrawnFigure:
    """An object with a plot of several axes."""

    def plot(self, figure: Figure | None = None, *, width: float | str | None = None) -> Figure:
        """Draw this object with matplotlib, on a new pyplot figure unless one is given.

        Returns the figure. Raises ImportError without matplotlib. The width of a new figure is
        given as for plots with one pair of axes; it must have room for all of them.
        """
        drawn: Figure = draw(self, _where("figure", figure, width))
        return drawn
