"""Figures 7 to 9 of the paper on layers, on meshes of its section 6.2, drawn with a seed."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.table import table
from ..planners.mesh import Options, layers_mesh, mesh_edges, network_of, solved
from ..planners.mesh_lp import Program
from ..planners.mesh_methods import Rival, pipeline, summa
from .claims import Claim, Study, numbers

SIZES = (5, 7, 9)
SIDES = tuple(range(1000, 2001, 100))
MESHES = 10  # for each size and side: "each data point is an average of 10 independent experiments"
_SEED = 1
_TIMES, _COSTS = (2e-4, 7e-4), (3e-4, 8e-4)  # uniform
#: Methods in the figures: name, label, colour, marker.
SHOWN = (
    ("pmft", "LBP (PMFT)", "#0072b2", "o"),
    ("heuristic", "LBP-heuristic", "#56b4e9", "x"),
    ("summa", "SUMMA", "#009e73", "s"),
    ("modified", "Modified Pipeline", "#e69f00", "v"),
    ("pipeline", "Pipeline", "#d55e00", "^"),
)
_RIVALS: dict[str, Callable[..., Rival]] = {
    "summa": summa,
    "summa, overlapped": lambda *mesh: summa(*mesh, overlap=True),
    "pipeline": pipeline,
    "modified": lambda *mesh: pipeline(*mesh, chunks=2),
    "pipeline, idle source": lambda *mesh: pipeline(*mesh, source_computes=False),
    "modified, idle source": lambda *mesh: pipeline(*mesh, chunks=2, source_computes=False),
    "balanced": lambda *mesh: pipeline(
        *mesh, chunks=math.inf, balanced=True, source_computes=False
    ),
}
_TOO, _IDLE = "the source computes too", "if the source does not compute, as in LBP"
_TREE, _SCRATCH = "each link of a tree carries all of A and B", "each program from scratch"
_FIRST = "most of them are the first program's"
_BEFORE = "each program from the basis of the one before"
_SHARE, _EXCESS = 0.05, 0.05
_SAVED = "the saving"
_CLOSE = "5 % of the excess, or two standard errors of the difference"
_ERRORS = 2 * math.sqrt(2)  # two standard errors of the difference of two such means


class Outcome(NamedTuple):
    """One plan in numbers. The last three are 0 for a method without linear programs.

    makespan
    volume : elements sent over all links
    lp_solves : linear programs
    iterations : simplex iterations in all of them
    from_scratch : the same if no program starts from the basis of the one before
    """

    makespan: float
    volume: float
    lp_solves: int = 0
    iterations: int = 0
    from_scratch: int = 0


@dataclass(frozen=True)
class LayersMesh(Study):
    """Layers and the methods that they are compared with, on random meshes.

    Attributes
    ----------
    outcomes : dict of (size, side of the matrices) to dict of method to list of Outcome
        One for each mesh.
    """

    outcomes: dict[tuple[int, int], dict[str, list[Outcome]]]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of the meshes."""
        return tuple(dict.fromkeys(size for size, _ in self.outcomes))

    @property
    def heading(self) -> str:
        return f"figure: claim, on {' / '.join(f'{size} x {size}' for size in self.sizes)}"

    def sides(self, size: int) -> list[int]:
        """Sides of the matrices that were multiplied on meshes of this size."""
        return [side for own, side in self.outcomes if own == size]

    def mean(self, size: int, side: int, method: str, value: str) -> tuple[float, float]:
        """Mean and standard deviation of a value over the meshes.

        value: makespan, volume (in n^2), lp_solves, iterations or from_scratch.
        """
        unit = side**2 if value == "volume" else 1
        values = [getattr(outcome, value) / unit for outcome in self.outcomes[size, side][method]]
        return statistics.mean(values), statistics.pstdev(values)

    def excess(self, size: int, method: str, other: str = "pmft") -> tuple[float, float, float]:
        """Relative excess of a method's makespan over another's, over all meshes.

        Returns the mean, its standard error and the standard deviation.
        """
        found = [
            a.makespan / b.makespan - 1
            for side in self.sides(size)
            for a, b in zip(
                self.outcomes[size, side][method], self.outcomes[size, side][other], strict=True
            )
        ]
        spread = statistics.pstdev(found)
        return statistics.mean(found), spread / math.sqrt(len(found)), spread

    def tables(self) -> str:
        """Figures 7 to 9: means over the meshes of each size and side, with standard deviations."""
        lines: list[str] = []
        for number, what, value, form in (
            (7, "volume in n^2", "volume", ".2f"),
            (8, "finishing time", "makespan", ".0f"),
            (9, "simplex iterations", "iterations", ".0f"),
            (9, "simplex iterations from scratch", "from_scratch", ".0f"),
        ):
            shown = SHOWN if number < 9 else SHOWN[:2]
            for size in self.sizes:
                lines += [
                    "",
                    f"Figure {number}, {size} x {size}: {what}, mean ± standard deviation",
                ]
                rows = [("n", *(label for _, label, _, _ in shown))]
                for side in self.sides(size):
                    found = (self.mean(size, side, method, value) for method, *_ in shown)
                    rows.append((str(side), *(f"{m:{form}} ± {s:{form}}" for m, s in found)))
                lines.append(table(rows, ">", (6, 18)))
        return "\n".join(lines[1:])

    def claims(self) -> list[Claim]:
        """The numbers in the paper's text beside ours; time and volume relative to PMFT."""
        sizes = self.sizes

        def over(method: str, digits: int = 1) -> str:
            found = (self.excess(size, method) for size in sizes)
            return " / ".join(
                f"{100 * mean:.{digits}f} ± {100 * error:.{digits}f}%" for mean, error, _ in found
            )

        def joined(values: Iterable[float], form: str) -> str:
            return " / ".join(f"{value:{form}}" for value in values)

        def each(method: str, value: str) -> list[float]:
            return [
                statistics.mean(
                    self.mean(size, side, method, value)[0] for side in self.sides(size)
                )
                for size in sizes
            ]

        def less(method: str) -> str:
            pairs = zip(each("pmft", "volume"), each(method, "volume"), strict=True)
            return joined((1 - own / other for own, other in pairs), ".0%")

        def beside(what: str, paper: str, method: str, why: str, digits: int = 1) -> Claim:
            """A claim on the mean excess of a method over PMFT, for each mesh size.

            It is met if each excess differs from the paper's by at most `_EXCESS` of it, or by two
            standard errors of the difference. paper: text with a number for each of SIZES.
            """
            printed = dict(zip(SIZES, numbers(paper), strict=True))
            close = [
                abs(mean - x / 100) <= max(_EXCESS * x / 100, _ERRORS * error)
                for x, (mean, error, _) in (
                    (printed[size], self.excess(size, method)) for size in sizes if size in printed
                )
            ]
            return Claim(
                what, paper if close else "", over(method, digits), why, _CLOSE, all(close)
            )

        solves = sorted(
            {o.lp_solves for table in self.outcomes.values() for o in table["heuristic"]}
        )
        correlation = [
            _correlation(
                (side, outcome.from_scratch)
                for side in self.sides(size)
                for outcome in self.outcomes[size, side]["pmft"]
            )
            for size in sizes
        ]
        others = [method for method, *_ in SHOWN if method != "pmft"]
        nearest = [
            (size, min(others, key=lambda method: self.excess(size, method)[0])) for size in sizes
        ]
        lbp, panels = each("pmft", "volume"), each("summa", "volume")
        scratch, thrifty = each("pmft", "from_scratch"), each("heuristic", "from_scratch")
        return [
            Claim(
                "7: volume of LBP, n^2",
                "almost SUMMA's",
                joined(lbp, ".2f"),
                f"SUMMA: {joined(panels, '.0f')}",
                "5 %",
                all(abs(own / other - 1) <= 0.05 for own, other in zip(lbp, panels, strict=True)),
            ),
            Claim(
                "7: LBP saves over Modified Pipeline",
                "81%",
                less("modified"),
                _TREE,
                _SHARE,
                part=_SAVED,
            ),
            Claim(
                "7: LBP saves over Pipeline",
                "90%",
                less("pipeline"),
                "each link carries all of A and B",
                _SHARE,
                part=_SAVED,
            ),
            beside("8: LBP-heuristic over LBP", "0.03% / 0.08% / 0.18%", "heuristic", "", 2),
            beside(
                "8: SUMMA over LBP",
                "56.4% / 52.9% / 46.7%",
                "summa",
                "in each step the panels, then the products",
            ),
            Claim(
                "8: the same, overlapped",
                "",
                over("summa, overlapped"),
                "panels travel during the step before",
            ),
            beside(
                "8: Modified Pipeline over LBP",
                "66.7% / 87.2% / 121.1%",
                "modified",
                "2 chunks; " + _TOO,
            ),
            Claim("8: the same, idle source", "", over("modified, idle source"), _IDLE),
            beside("8: Pipeline over LBP", "73.4% / 114% / 185%", "pipeline", _TOO),
            Claim("8: the same, idle source", "", over("pipeline, idle source"), _IDLE),
            Claim(
                "8: with balanced shares and ideal chunks",
                "",
                over("balanced"),
                "not in the paper; " + _IDLE,
            ),
            Claim(
                "8: LBP has the least finishing time",
                "smallest",
                ", ".join(f"{self.excess(size, first)[0]:+.2%}" for size, first in nearest),
                "excess of the best of the paper's other methods",
                "on each mesh size",
                all(self.excess(size, first)[0] >= 0 for size, first in nearest),
            ),
            Claim(
                "9: LPs solved by the heuristic",
                "2 or 3",
                " or ".join(map(str, solves)),
                holds=set(solves) <= {2, 3},
            ),
            Claim(
                "9: iterations of LBP",
                "grow with the mesh" if len(sizes) > 1 else "",
                joined(scratch, ".0f"),
                _SCRATCH,
                "more on each larger mesh",
                scratch == sorted(set(scratch)),
            ),
            Claim(
                "9: iterations of LBP-heuristic",
                "far fewer",
                joined(thrifty, ".0f"),
                _SCRATCH,
                "at most two thirds of LBP's",
                all(few <= 2 / 3 * many for few, many in zip(thrifty, scratch, strict=True)),
            ),
            Claim(
                "9: iterations of LBP, warm", "", joined(each("pmft", "iterations"), ".0f"), _BEFORE
            ),
            Claim(
                "9: iterations of LBP-heuristic, warm",
                "",
                joined(each("heuristic", "iterations"), ".0f"),
                _FIRST,
            ),
            Claim(
                "9: correlation of iterations of LBP and n",
                "none" if all(len(self.sides(size)) > 1 for size in sizes) else "",
                joined(correlation, "+.2f"),
                "",
                "0.3 at most",
                all(abs(found) <= 0.3 for found in correlation),
            ),
        ]


def reproduce_layers_mesh(
    sizes: Sequence[int] = SIZES,
    sides: Sequence[int] = SIDES,
    meshes: int = MESHES,
    seed: int = _SEED,
) -> LayersMesh:
    """Plan matrix products on random meshes by PMFT, the heuristic and the rivals.

    There are `meshes` random meshes for each size and each side of the matrices.
    """
    meshes = check.integer("meshes", meshes, low=1)
    for name, given in (("sizes", sizes), ("sides", sides)):
        if not len(given):
            raise ValueError(f"{name} must have at least one entry, got none")
    draw = random.Random(seed).random  # the only generator that Python promises not to change
    outcomes: dict[tuple[int, int], dict[str, list[Outcome]]] = {}
    for size in sizes:
        for side in sides:
            table = outcomes[size, side] = {name: [] for name in ("pmft", "heuristic", *_RIVALS)}
            for _ in range(meshes):
                mesh = random_mesh(size, draw)
                for method in ("pmft", "heuristic"):
                    plan = layers_mesh(side, *mesh, method=method)
                    scratch = iterations_from_scratch(side, mesh, method)
                    table[method].append(
                        Outcome(
                            plan.makespan, plan.volume, plan.lp_solves, plan.iterations, scratch
                        )
                    )
                for name, rival in _RIVALS.items():
                    table[name].append(Outcome(*rival(side, *mesh)[:2]))
    return LayersMesh(outcomes)


def iterations_from_scratch(n: int, mesh: Sequence[NDArray[np.float64]], method: str) -> int:
    """Simplex iterations of a plan if every linear program starts from scratch."""
    times, right, down = mesh
    source, links, costs = mesh_edges(right, down, (0, 0))
    program = Program(network_of(n, times.ravel(), links, costs, [source], False), warm=False)
    solved(program, Options(n, method))
    return program.iterations


def random_mesh(
    size: int, draw: Callable[[], float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Cycle-times, right and down of a mesh as in section 6.2; draw() is uniform in [0, 1)."""

    def uniform(shape: tuple[int, int], low: float, high: float) -> NDArray[np.float64]:
        return np.array(
            [[low + (high - low) * draw() for _ in range(shape[1])] for _ in range(shape[0])]
        )

    return (
        uniform((size, size), *_TIMES),
        uniform((size, size - 1), *_COSTS),
        uniform((size - 1, size), *_COSTS),
    )


def _correlation(pairs: Iterable[tuple[float, float]]) -> float:
    x, y = np.array(list(pairs), np.float64).T
    if x.std() == 0.0 or y.std() == 0.0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])
