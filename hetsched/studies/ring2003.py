"""Rings of the 2003 paper, reproduced: figure 3, tables 5 and 6, and tables from its platforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import datasets
from .._base import check
from .._base.table import table
from .._engine.ring import Ring
from ..planners.ring import RingProfile, ring_profile, slice_ring
from ..platform import Platform
from .claims import Claim, Study

#: Tables 5 and 6, times 6000: the greedy heuristic for 3 workers and more, and the integer program,
#: for all workers only.
PRINTED = {
    "Lyon": (1202, 556, 1152, 906, 2240, 3238, 4236, 5234, 6232, 7230, 8228, 10077),
    "Strasbourg": (1520, 2112, 3144, 3736, 4958, 5668, 7353, 8505, 10195, 12490, 15759),
}
PIP = {"Lyon": 9059, "Strasbourg": 14757}
NUMBER = {"Lyon": 5, "Strasbourg": 6}
#: Ratios of work and volume in our tables, which take the place of tables 5 and 6.
RATIOS = (10.0, 100.0, 300.0, 1000.0)
LENGTH, TIME, OPEN = "not a length", "not a time", ""
_LARGE = 1e6  # work over volume at which all workers are best
_EFFICIENT = 1.1  # over the optimum


class Best(NamedTuple):
    """Rings of q workers: the shortest one, its length, and the least time of a step.

    times has the least time for each of the ratios, with volume 1. If the ring of the least time
    would leave a member without work, the time is a lower bound and its entry in `proven` is False.
    """

    q: int
    ring: tuple[int, ...]
    length: float
    times: tuple[float, ...]
    proven: tuple[bool, ...]


class Row(NamedTuple):
    """A row of table 5 or 6: the printed value, the least possible length, and readings ruled out.

    least    D(q) over D(p), times the integer program's value for all p workers
    length   whether the row is below `least`: it cannot be the length of a ring, in any unit
    time     whether it is below the time of every ring of q workers, for every ratio of work and
             volume, in any unit, if members with a negative share are allowed too
    """

    q: int
    printed: int
    least: float
    length: bool
    time: bool

    @property
    def verdict(self) -> str:
        """What the row cannot be; empty if nothing is ruled out."""
        return (
            " and ".join(text for text, out in ((LENGTH, self.length), (TIME, self.time)) if out)
            or OPEN
        )


class Grown(NamedTuple):
    """Rings that grow as in section 6.2, if the cost of an insertion is equation (3).

    start     the worker that they start from
    sizes     (k,) int64, workers of the best of these rings at each ratio, by equation (3)
    negative  numbers of workers, among the sizes, of rings in which equation (2) gives a member a
              negative share at the ratio from which on they are best
    """

    start: int
    sizes: NDArray[np.int64]
    negative: tuple[int, ...]


@dataclass(frozen=True)
class Campus:
    """One of the two platforms.

    Attributes
    ----------
    platform : Platform
    profile : RingProfile
        The best rings for every ratio of work and volume.
    ratios : (k,) float64 array
    greedy, second : (k,) int64 array
        Number of workers in the heuristic's best ring at each ratio. The heuristic starts from the
        fastest worker. Among equally fast ones, `greedy` takes the first and `second` the last.
    grown : tuple of Grown
        Another reading of the heuristic, from each of the fastest workers.
    late : (float, float)
        Largest time of the heuristic's rings over the optimum, and work / volume there.
    greedy_length : float
        Length of the heuristic's ring of all workers.
    search_length : float
        Length of the ring of all workers that the local search finds.
    best : tuple of Best
        For 1, 2, ..., p workers.
    rows : tuple of Row
    """

    platform: Platform
    profile: RingProfile
    ratios: NDArray[np.float64]
    greedy: NDArray[np.int64]
    second: NDArray[np.int64]
    grown: tuple[Grown, ...]
    late: tuple[float, float]
    greedy_length: float
    search_length: float
    best: tuple[Best, ...]
    rows: tuple[Row, ...]

    def exact(self) -> NDArray[np.int64]:
        """(k,) number of workers of the best ring at each ratio."""
        return self.profile.sizes[[self.profile.at(ratio) for ratio in self.ratios.tolist()]]


@dataclass(frozen=True)
class Ring2003(Study):
    """Both platforms, by name.

    Attributes
    ----------
    campuses : dict of str to Campus
    """

    campuses: dict[str, Campus]

    heading = "figure, table or section: number"

    def claims(self) -> list[Claim]:
        """The numbers and statements of section 6, beside ours."""
        claims = []
        for name, jumps in (("Lyon", "1 14"), ("Strasbourg", "1 10 11 13")):
            campus = self.campuses[name]
            greedy, exact = _jumps(campus.greedy), _jumps(campus.exact())
            claims += [
                Claim(
                    f"Figure 3: {name}, workers by the heuristic",
                    jumps,
                    greedy,
                    "" if greedy == jumps else _reading(campus),
                    corrected=(" ".join([jumps] * len(campus.grown)), _grown_jumps(campus)),
                ),
                Claim(f"Figure 3: {name}, workers of the best ring", "", exact),
                Claim(
                    f"6.4: {name}, the greedy heuristic seems efficient",
                    "yes",
                    "at most {:.2f} times the optimum, at W/H = {:.3g}".format(*campus.late),
                    "",
                    "10 % of the optimum",
                    campus.late[0] <= _EFFICIENT,
                ),
            ]
        for name, campus in self.campuses.items():
            least, number = campus.best[-1].length, NUMBER[name]
            printed = PRINTED[name][-1] / PIP[name]
            claims.append(
                Claim(
                    f"Table {number}: {name}, heuristic over optimum, all workers",
                    f"{printed:.3f}",
                    f"{campus.greedy_length / least:.3f}",
                    "the heuristic as it is printed finds the optimum",
                    within=0.001,
                )
            )
            found = campus.search_length / least
            claims.append(
                Claim(
                    f"6.4: {name}, local search of all workers",
                    "",
                    f"{found:.6f} of the optimum",
                    "ours: the paper's search is LKH, which is not run here",
                )
            )
            lengths = sum(row.length for row in campus.rows)
            slow = sum(row.time for row in campus.rows)
            claims.append(
                Claim(
                    f"Table {number}: {name}, rows that are the time of a step",
                    "all",
                    f"{slow} of {len(campus.rows)} cannot be",
                    f"{lengths} of {len(campus.rows)} rows cannot be lengths of rings either",
                    "no row below every ring",
                    slow == 0,
                )
            )
        rising = all((np.diff(campus.profile.sizes) > 0).all() for campus in self.campuses.values())
        turns = all(
            any(_turns([best.times[k] for best in campus.best]) for k in range(len(RATIOS)))
            for campus in self.campuses.values()
        )
        most = max(len(campus.best) for campus in self.campuses.values())
        return [
            *claims,
            Claim(
                "6.4: ILP software rapidly fails",
                "",
                f"dynamic programming finds the best ring of {most} workers",
                "PIP is not run here",
            ),
            Claim(
                "6.4: more workers as W/H grows",
                "yes",
                "yes" if rising else "no",
                "",
                "the best rings",
                rising,
            ),
            Claim(
                "6.2: time not monotone in the workers",
                "may be",
                "yes" if turns else "no",
                "",
                "at some ratio",
                turns,
            ),
        ]

    def tables(self) -> str:
        """Figure 3 by its jumps, tables 5 and 6 row by row, and what holds instead of them."""
        lines = ["Figure 3: workers in the best ring, and the least work / volume of each"]
        for name, campus in self.campuses.items():
            profile = campus.profile
            places = [
                f"{size} from {ratio:.6g}"
                for size, ratio in zip(profile.sizes, profile.ratios, strict=True)
            ]
            lines.append(f"  {name}: {', '.join(places)}")
        for name, campus in self.campuses.items():
            lines += [
                "",
                f"Table {NUMBER[name]}, {name}: the printed length, and the least possible one,"
                f" scaled so that the best ring of all workers has PIP's {PIP[name]}",
            ]
            lines.append(table([_ROWS, *printed_rows(campus)], ">", (4, 8)))
            lines += [
                "",
                f"{name}: the least length D(q), and the least time of a step with volume 1 for"
                " each work / volume",
            ]
            lines.append(table([_BEST, *best_rows(campus)], ">", (4, 10)))
        return "\n".join(lines)


_ROWS = ("q", "printed", "least", "verdict")
_BEST = ("q", "D(q)", *(f"{ratio:g}" for ratio in RATIOS), "shortest ring")


def printed_rows(campus: Campus) -> list[tuple[str, ...]]:
    """Cells of table 5 or 6."""
    return [(str(row.q), str(row.printed), f"{row.least:.1f}", row.verdict) for row in campus.rows]


def best_rows(campus: Campus) -> list[tuple[str, ...]]:
    """Cells of the table that replaces table 5 or 6; ≥ marks lower bounds."""
    return [
        (
            str(best.q),
            f"{best.length:.4f}",
            *(
                ("" if sure else "≥ ") + f"{time:.5f}"
                for time, sure in zip(best.times, best.proven, strict=True)
            ),
            " ".join(map(str, best.ring)),
        )
        for best in campus.best
    ]


def reproduce_rings(points: int = 200) -> Ring2003:
    """Rings on the platforms of tables 1 to 4.

    Figure 3 is computed at this many ratios of work and volume from 1 to 1000.
    """
    platforms = {"Lyon": datasets.lyon(), "Strasbourg": datasets.strasbourg()}
    return Ring2003({name: _campus(name, platform, points) for name, platform in platforms.items()})


def _campus(name: str, platform: Platform, points: int) -> Campus:
    points = check.integer("points", points, low=1)
    profile, ratios = ring_profile(platform), np.geomspace(1, 1000, points)
    times, links, p = profile.cycle_times, profile.links, len(profile.cycle_times)
    backwards = np.arange(p)[::-1]
    greedy, second = (
        [slice_ring(times[o], links[np.ix_(o, o)], ratio, 1, "greedy") for ratio in ratios.tolist()]
        for o in (np.arange(p), backwards)
    )
    off = [
        plan.makespan / profile.makespan(ratio, 1.0)
        for plan, ratio in zip(greedy, ratios.tolist(), strict=True)
    ]
    worst = int(np.argmax(off))
    subsets = _subsets(times, links)
    best = _best(times, links, subsets)
    longest, found = (
        slice_ring(platform, work=_LARGE, volume=1, method=method).length
        for method in ("greedy", "search")
    )
    return Campus(
        platform=platform,
        profile=profile,
        ratios=ratios,
        greedy=np.array([len(plan.ring) for plan in greedy]),
        second=np.array([len(plan.ring) for plan in second]),
        grown=tuple(
            _grown(times, links, int(start), ratios)
            for start in np.flatnonzero(times == times.min())
        ),
        late=(off[worst], float(ratios[worst])),
        greedy_length=longest,
        search_length=found,
        best=best,
        rows=_rows(name, best, subsets),
    )


class _Subsets(NamedTuple):
    """For all subsets of the workers: (2^p,) members, length of the shortest ring, and speed."""

    sizes: NDArray[np.int64]
    lengths: NDArray[np.float64]
    speeds: NDArray[np.float64]

    def of(self, q: int) -> NDArray[np.int64]:
        """The subsets of q workers."""
        return np.flatnonzero(self.sizes == q)


def _subsets(times: NDArray[np.float64], links: NDArray[np.float64]) -> _Subsets:
    p = len(times)
    within = np.arange(2**p)[:, None] >> np.arange(p) & 1
    return _Subsets(
        within.sum(axis=1), Ring(times, links, 1.0, 1.0).lengths(), within @ (1 / times)
    )


def _best(
    times: NDArray[np.float64], links: NDArray[np.float64], all_subsets: _Subsets
) -> tuple[Best, ...]:
    """The best rings of all subsets of the workers, from their shortest rings."""
    lengths, speeds, found = all_subsets.lengths, all_subsets.speeds, []
    for q in range(1, len(times) + 1):
        subsets = all_subsets.of(q)
        shortest = int(subsets[np.argmin(lengths[subsets])])
        steps, proven = [], []
        for ratio in RATIOS:
            ends = (ratio + lengths[subsets]) / speeds[subsets]
            fastest = int(np.argmin(ends))
            paid = _paid(links, _ring(times, links, int(subsets[fastest])))
            steps.append(float(ends[fastest]))
            proven.append(bool(ends[fastest] > paid.max() * (1 - 1e-12)))
        ring = _ring(times, links, shortest)
        found.append(
            Best(q, tuple(ring.tolist()), float(lengths[shortest]), tuple(steps), tuple(proven))
        )
    return tuple(found)


def _paid(links: NDArray[np.float64], ring: NDArray[np.int64]) -> NDArray[np.float64]:
    """(q,) what each member of a ring pays for messages of volume 1."""
    if len(ring) == 1:
        return np.zeros(1)
    paid: NDArray[np.float64] = links[ring, np.roll(ring, -1)] + links[ring, np.roll(ring, 1)]
    return paid


def _grown(
    times: NDArray[np.float64], links: NDArray[np.float64], start: int, ratios: NDArray[np.float64]
) -> Grown:
    """Rings that grow by the insertion with the least T of equation (3), at a large W / H.

    The distance is the one that section 5.1 prints, (c_ij + c_ji) / w_i. The best of the rings at
    each ratio is the one with the least T of equation (3), with the true costs of its members.
    Shares are not checked.
    """
    distances = (links + links.T) / times[:, None]

    def grown_time(ring: list[int]) -> float:
        length = sum(distances[i, j] for i, j in zip(ring, [*ring[1:], ring[0]], strict=True))
        return float((_LARGE + length) / (1 / times[ring]).sum())

    rings = [[start]]
    while len(rings[-1]) < len(times):
        last = rings[-1]
        longer = [
            [*last[:place], i, *last[place:]]
            for i in range(len(times))
            if i not in last
            for place in range(1, len(last) + 1)
        ]
        rings.append(min(longer, key=grown_time))
    speeds = np.array([(1 / times[ring]).sum() for ring in rings])
    paid = [_paid(links, np.array(ring)) for ring in rings]
    lengths = np.array([(b / times[ring]).sum() for b, ring in zip(paid, rings, strict=True)])
    steps = (ratios[:, None] + lengths) / speeds
    sizes = steps.argmin(axis=1) + 1
    negative = [
        size
        for size in np.unique(sizes).tolist()
        if (steps[np.argmax(sizes == size), size - 1] < paid[size - 1]).any()
    ]
    return Grown(start, sizes, tuple(negative))


def _ring(times: NDArray[np.float64], links: NDArray[np.float64], subset: int) -> NDArray[np.int64]:
    """The shortest ring of a subset of the workers."""
    members = np.flatnonzero(subset >> np.arange(len(times)) & 1)
    order = Ring(
        times[members], np.ascontiguousarray(links[np.ix_(members, members)]), 1.0, 1.0
    ).shortest()
    return members[order]


def _rows(name: str, best: Sequence[Best], all_subsets: _Subsets) -> tuple[Row, ...]:
    """The rows of table 5 or 6 with the readings that they rule out.

    The row of q workers, divided by PIP's value, cannot be less than (least value of q workers) /
    (value of all workers). If rows are lengths, the value is D. If they are times, it is
    (1 + h D) / R, with R the sum of the speeds and h = volume / work >= 0. Multiplied by the
    denominators, both sides of this inequality are linear in h. So it holds for some h if it holds
    for h = 0, or if the row's side has the larger slope. A row can be a time if this is so for some
    subset of q workers.
    """
    longest, pip = best[-1].length, PIP[name]
    whole, rows = all_subsets.speeds[-1], []
    for q, printed in enumerate(PRINTED[name], 3):
        least = best[q - 1].length / longest * pip
        subsets, part = all_subsets.of(q), printed / pip / whole
        speeds, lengths = all_subsets.speeds[subsets], all_subsets.lengths[subsets]
        possible = (part >= 1 / speeds) | (part * longest > lengths / speeds)
        rows.append(Row(q, printed, float(least), bool(printed < least), not possible.any()))
    return tuple(rows)


def _reading(campus: Campus) -> str:
    """The readings of the heuristic that were tried, and what they give."""
    tried = "; ".join(
        f"from P{own.start} with T of equation (3) as the cost of an insertion, at a large W/H:"
        f" {_jumps(own.sizes)}"
        + (
            f", but in its rings of {' and '.join(map(str, own.negative))} a member has a"
            " negative share"
            if own.negative
            else ""
        )
        for own in campus.grown
    )
    return f"as printed, from the last of the fastest: {_jumps(campus.second)}; {tried}"


def _grown_jumps(campus: Campus) -> str:
    return " ".join(_jumps(own.sizes) for own in campus.grown)


def _jumps(sizes: NDArray[np.int64]) -> str:
    """The numbers of workers that occur, in increasing order."""
    return " ".join(map(str, np.unique(sizes).tolist()))


def _turns(values: Sequence[float]) -> bool:
    """Whether the values both fall and rise."""
    signs = np.sign(np.diff(values))
    return bool((signs > 0).any() and (signs < 0).any())
