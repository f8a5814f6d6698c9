"""Plot functions by class name. The classes do not import the plots, so plots can import them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib import import_module
from os import PathLike
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
    "DynamicProduct": "plots.gantt.plot_plan",
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
    "Platform": "plots.platform.plot_platform",
    "Ppopp2008": "studies.plots.plot_ppopp2008",
    "ProductPlan": "plots.boxes.plot_product",
    "ProfileDistribution": "plots.allocation.plot_distribution",
    "ProfilePartition": "plots.zones.plot_profile_zones",
    "Ring2003": "studies.ring_plots.plot_ring2003",
    "Redistribution": "plots.gantt.plot_plan",
    "ReductionPlan": "plots.gantt.plot_plan",
    "RingProfile": "plots.ring.plot_profile",
    "SliceRing": "plots.ring.plot_ring",
    "StarLuPlan": "plots.gantt.plot_star_lu",
    "StarPlan": "plots.gantt.plot_star",
    "Static2001": "studies.plots.plot_static2001",
    "StencilPlan": "plots.gantt.plot_iterations",
    "Topology": "plots.machine.plot_machine",
    "Trace": "plots.gantt.plot_trace",
    "Wavefront": "plots.grid.plot_wavefront",
    "WorkersWorth": "plots.speeds.plot_worth",
}


def draw(thing: Any, where: Any = None, **options: Any) -> Any:
    """Draw an object on given axes (or on a figure if it needs several axes), or on new ones."""
    for kind in type(thing).__mro__:
        if name := PICTURES.get(kind.__name__):
            module, _, function = name.rpartition(".")
            return getattr(import_module(f"hetsched.{module}"), function)(thing, where, **options)
    raise TypeError(f"there is no picture of a {type(thing).__name__}")


def _where(name: str, given: Any, width: float | str | None) -> Any:
    if width is None:
        return given
    if given is not None:
        raise ValueError(f"width is for new figures: it cannot be given with {name}")
    return import_module("hetsched.plots.canvas").sheet(width)


class _Saved:
    """An object with a plot that can be written to a file."""

    plot: Callable[..., Any]

    def save_plot(self, path: str | PathLike[str], **plot_arguments: Any) -> None:
        """Write the plot to a .pdf, .svg or .png file (first beside it, then renamed).

        Text stays text: a PDF has TrueType fonts embedded, which journals accept, and an SVG names
        its fonts. No setting of matplotlib is needed, and none is changed after the call.

        Parameters
        ----------
        path : path
            The suffix says which of the formats is written.
        **plot_arguments
            Arguments of `plot`, such as `width`.

        Raises
        ------
        ValueError
            For another suffix.
        OSError
            If the file cannot be written.
        ImportError
            If matplotlib is not installed.
        """
        import_module("hetsched.plots.canvas").save_plot(self.plot, path, plot_arguments)


class Drawn(_Saved):
    """An object with a plot."""

    def plot(
        self, ax: Axes | None = None, *, width: float | str | None = None, **options: Any
    ) -> Axes:
        """Draw this object with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new pyplot figure, as large as the picture needs.
        width : float or {"column", "page"}, optional
            Width of a new figure: inches, or one column (3.4 inches) or the page (7 inches) of a
            two-column paper.
        **options
            Options of the picture of one type. `Partition`: cut_order=False leaves out the cuts
            and the numbers that say in which order they are made. `Trace`: until=t draws at least
            the time from 0 to t, so that several charts have one time axis.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If the picture of this type does not have the option.
        """
        axes: Axes = draw(self, _where("ax", ax, width), **options)
        return axes

    def _repr_html_(self) -> str:
        svg: str = import_module("hetsched.plots.canvas").figure_svg(self.plot)
        return f"<p>{escape(repr(self)[1:-1])}</p>{svg}"


class DrawnFigure(_Saved):
    """An object with a plot of several axes."""

    def plot(
        self, figure: Figure | None = None, *, width: float | str | None = None, **options: Any
    ) -> Figure:
        """Draw this object with matplotlib, on a new pyplot figure unless one is given.

        Returns the figure. Raises ImportError without matplotlib. The width of a new figure is
        given as for plots with one pair of axes; it must have room for all of them. `Comparison`
        has the option cut_order of a `Partition`.
        """
        drawn: Figure = draw(self, _where("figure", figure, width), **options)
        return drawn
