"""Figures 7 and 9 of the 2008 paper over many draws of its ten random platforms.

The paper does not print these platforms. So its numbers are compared with the numbers of many
draws: a claim is met if the paper's number could be that of a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..datasets import drawn_platforms, ppopp2008_instances
from ..planners.star import PAPER, StarPlan, plan_product
from .claims import Claim, numbers

_MIDDLE, _TAIL = "the middle 95 % of the draws", 0.025
_SOMETIMES = "in 5 % of the draws"
_EQUAL = 1e-9  # values that differ by less, relative to each other, are a tie
_REASONABLE = 1.2  # mean over the best
HET, HOMI, ORROML, OMMOML, ODDOML, BMM = map(
    PAPER.index, ("het", "homi", "orroml", "ommoml", "oddoml", "bmm")
)
_OTHERS = [i for i in range(len(PAPER)) if i != HET]


class Draws(NamedTuple):
    """Plans of all instances for each draw, by the paper's seven methods.

    makespans, workers : (draws, instances, 7) arrays; workers are those enrolled.
    mixed : (12,) indices of the instances of figure 7.
    """

    makespans: NDArray[np.float64]
    workers: NDArray[np.int64]
    mixed: NDArray[np.int64]

    @property
    def over(self) -> NDArray[np.float64]:
        """Makespans over the least one of the seven methods, less 1."""
        found: NDArray[np.float64] = self.makespans / self.makespans.min(axis=-1, keepdims=True) - 1
        return found

    @property
    def work(self) -> NDArray[np.float64]:
        """Makespan times enrolled workers."""
        return self.makespans * self.workers

    @property
    def figure7(self) -> Draws:
        """The instances of figure 7 alone."""
        return Draws(
            self.makespans[:, self.mixed],
            self.workers[:, self.mixed],
            np.arange(len(self.mixed)),
        )

    def gain(self, method: int, other: int) -> NDArray[np.float64]:
        """(draws,) mean gain of a method on another one."""
        ratios = self.makespans[..., method] / self.makespans[..., other]
        found: NDArray[np.float64] = 1 - ratios.mean(axis=1)
        return found


class Quantity(NamedTuple):
    """A number of the paper, the form of ours, and ours for each draw."""

    what: str
    paper: str
    form: str
    of: Callable[[Draws], NDArray[np.float64]]


_QUANTITIES = (
    Quantity(
        "7: least run time of Het", "2700 s", "{:.0f} s",
        lambda d: d.figure7.makespans[..., HET].min(axis=1),
    ),
    Quantity(
        "7: largest run time of Het", "6000 s", "{:.0f} s",
        lambda d: d.figure7.makespans[..., HET].max(axis=1),
    ),
    Quantity(
        "7: Het is not the best on", "2", "{:.0f}",
        lambda d: (d.figure7.over[..., HET] > _EQUAL).sum(axis=1),
    ),
    Quantity(
        "7: Het over the best, at most", "9%", "{:.0%}",
        lambda d: d.figure7.over[..., HET].max(axis=1),
    ),
    Quantity(
        "7: Het over the best, second to that", "2%", "{:.0%}",
        lambda d: np.sort(d.figure7.over[..., HET], axis=1)[:, -2],
    ),
    Quantity(
        "7: HomI over the best, mean", "34%", "{:.0%}",
        lambda d: d.figure7.over[..., HOMI].mean(axis=1),
    ),
    Quantity(
        "7: HomI over the best, at most", "80%", "{:.0%}",
        lambda d: d.figure7.over[..., HOMI].max(axis=1),
    ),
    Quantity(
        "7: ORROML over the best, at most", "88%", "{:.0%}",
        lambda d: d.figure7.over[..., ORROML].max(axis=1),
    ),
    Quantity(
        "7: OMMOML over the best, at most", "215%", "{:.0%}",
        lambda d: d.figure7.over[..., OMMOML].max(axis=1),
    ),
    Quantity("9: ODDOML gains on BMM", "19%", "{:.1%}", lambda d: d.gain(ODDOML, BMM)),
    Quantity("9: Het gains on ODDOML", "10%", "{:.1%}", lambda d: d.gain(HET, ODDOML)),
    Quantity("9: Het gains on BMM", "27%", "{:.1%}", lambda d: d.gain(HET, BMM)),
    Quantity(
        "9: Het over the best, mean", "1%", "{:.1%}", lambda d: d.over[..., HET].mean(axis=1)
    ),
    Quantity(
        "9: Het over the best, at most", "14%", "{:.0%}", lambda d: d.over[..., HET].max(axis=1)
    ),
)  # fmt: skip


class _Statement(NamedTuple):
    """A sentence of the paper, what it says in short, and whether it holds for each draw."""

    what: str
    paper: str
    holds: Callable[[Draws], NDArray[np.bool_]]


def _only_oddoml(d: Draws) -> NDArray[np.bool_]:
    reasonable = d.figure7.over.mean(axis=1) <= _REASONABLE - 1
    rest = [i for i in _OTHERS if i != ODDOML]
    found: NDArray[np.bool_] = reasonable[:, ODDOML] & ~reasonable[:, rest].any(axis=1)
    return found


def _thriftier(d: Draws) -> NDArray[np.bool_]:
    work = d.figure7.work / d.figure7.work.min(axis=-1, keepdims=True)
    means = work.mean(axis=1)
    less = means < means[:, HET, None]
    wanted = [i in (HOMI, OMMOML) for i in range(len(PAPER))]
    found: NDArray[np.bool_] = (less == wanted).all(axis=1)
    return found


_STATEMENTS = (
    _Statement(
        "7: the others once are over the best by more than",
        "41%",
        lambda d: d.figure7.over[..., _OTHERS].max(axis=1).min(axis=-1) > 0.41,
    ),
    _Statement(
        "7: only ODDOML has reasonable makespans (within 20 %) on average", "only", _only_oddoml
    ),
    _Statement("7: relative work, better than Het's", "HomI and OMMOML", _thriftier),
    _Statement(
        "9: ODDOML is faster than BMM",
        "superior",
        lambda d: (d.makespans[..., ODDOML] < d.makespans[..., BMM]).mean(axis=1) > 0.5,
    ),
    _Statement(
        "9: Het has the best makespan",
        "most of the time",
        lambda d: (d.over[..., HET] <= _EQUAL).mean(axis=1) > 0.5,
    ),
    _Statement(
        "9: Het has the best relative work, of the three of figure 9",
        "most of the time",
        lambda d: (
            (d.work[..., HET] <= d.work[..., [ODDOML, BMM]].min(axis=-1) * (1 + _EQUAL)).mean(
                axis=1
            )
            > 0.5
        ),
    ),
)


def draw(plans: dict[tuple[str, tuple[int, int, int]], dict[str, StarPlan]], count: int) -> Draws:
    """Plans for `count` draws of the ten random platforms; the other plans are given."""
    instances = list(plans)
    makespans = np.empty((count, len(instances), len(PAPER)))
    workers = np.empty((count, len(instances), len(PAPER)), np.int64)
    for i, row in enumerate(plans.values()):
        for j, method in enumerate(PAPER):
            makespans[:, i, j] = row[method].makespan
            workers[:, i, j] = len(row[method].enrolled)
    places = [i for i, (name, _) in enumerate(instances) if name.startswith("random")]
    shape = dict(ppopp2008_instances())[instances[places[0]][0]]
    platforms = [drawn_platforms(seed)[instances[i][0]] for seed in range(count) for i in places]
    for j, method in enumerate(PAPER):
        stack = plan_product(*shape, platforms, method)
        makespans[:, places, j] = stack.results["makespan"].reshape(count, len(places))
        enrolled = (stack.results["columns"] > 0).sum(axis=1)
        workers[:, places, j] = enrolled.reshape(count, len(places))
    mixed = [i for i, (name, _) in enumerate(instances) if name.startswith("ra")]
    return Draws(makespans, workers, np.array(mixed))


def draw_claims(draws: Draws) -> list[Claim]:
    """The numbers and sentences of figures 7 and 9, judged by all draws."""
    return [judged(quantity, draws) for quantity in _QUANTITIES] + [
        _counted(statement, statement.holds(draws)) for statement in _STATEMENTS
    ]


def judged(quantity: Quantity, draws: Draws) -> Claim:
    """The paper's number has a place among ours; numbers that look equal are equal."""

    def shown(value: float) -> str:
        return quantity.form.format(value)

    values = quantity.of(draws)
    (paper,) = numbers(quantity.paper)
    digits = len(quantity.paper.rstrip("% s").partition(".")[2])
    scale = 100.0 if quantity.paper.endswith("%") else 1.0
    ours = np.round(values * scale, digits)
    below, equal = int((ours < paper).sum()), int((ours == paper).sum())
    place = (below + equal / 2) / len(ours)
    return Claim(
        quantity.what,
        quantity.paper,
        f"median {shown(float(np.median(values)))},"
        f" {shown(float(values.min()))} to {shown(float(values.max()))}",
        f"the paper's number is above {below} of {len(ours)} draws"
        + (f", and that of {equal}" if equal else ""),
        _MIDDLE,
        _TAIL <= place <= 1 - _TAIL,
    )


def _counted(statement: _Statement, holds: Sequence[bool] | NDArray[np.bool_]) -> Claim:
    count = int(np.sum(holds))
    return Claim(
        statement.what,
        statement.paper,
        f"in {count} of {len(holds)} draws",
        "",
        _SOMETIMES,
        count >= 2 * _TAIL * len(holds),
    )
