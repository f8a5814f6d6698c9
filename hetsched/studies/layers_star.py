"""Figure 6 of the paper on layer based partition: layers against rectangles on a star."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.table import table
from ..planners.distribute import distribute
from ..planners.layers import layers_star
from ..planners.partition import partition
from .claims import Claim, Study
from .layers_example import example_claims

#: The paper's name of a method of `partition`, and its proven factor over the lower bound.
RECTANGLES = {
    "NRRP": ("nonrectangular", 2 / 3**0.5),
    "Recursive": ("nagamochi-abe", 1.25),
    "PERI-SUM": ("columns", 1.75),
}
LAYERS, SUMMED, EVEN, BOUND = "LBP", "LBP and the sum", "Even-Col", "lower bound"
METHODS = (LAYERS, *RECTANGLES, EVEN)
# section 6.1: seconds per multiply-add and per element, uniform
_CYCLE, _LINK = (0.0002, 0.0007), (0.0003, 0.0008)
_ORDER = (LAYERS, BOUND, *RECTANGLES, EVEN, SUMMED)
_GUARANTEE = "the lower bound times the factor that is proven: {}"
_POINT = 0.01

Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Sweep:
    """Methods on random stars, one for each seed, along sizes or numbers of workers.

    Attributes
    ----------
    axis : {"N", "p"}
        The quantity that varies.
    points : tuple of int
    sizes : tuple of int
        N at each point.
    volumes : dict of str to (points, seeds) float64 array
        Elements of A and B that are sent, for LBP also with its sum, and the lower bound of
        rectangles, 2 N^2 sum sqrt(share).
    times : dict of str to (points, seeds) float64 array
        Finishing time of each method, with all messages at the same time and work after them.
    """

    axis: str
    points: tuple[int, ...]
    sizes: tuple[int, ...]
    volumes: Values
    times: Values

    def per_square(self) -> Values:
        """The volumes over N^2."""
        squares = np.square(np.array(self.sizes, np.float64))[:, None]
        return {name: values / squares for name, values in self.volumes.items()}

    def relative_times(self) -> Values:
        """The times relative to LBP."""
        return {name: values / self.times[LAYERS] for name, values in self.times.items()}

    def tables(self) -> str:
        """Means over the seeds, and standard deviations after ±."""
        lines = []
        for title, values, form in (
            ("volume / N^2", self.per_square(), ".2f"),
            ("finishing time, s", self.times, ".1f"),
            ("finishing time over LBP's", self.relative_times(), ".3f"),
        ):
            names = [name for name in _ORDER if name in values]
            rows = [
                (str(point), *(spread(values[name][k], form) for name in names))
                for k, point in enumerate(self.points)
            ]
            lines += [
                "",
                f"{title}, mean ± standard deviation",
                table([(self.axis, *names), *rows], ">", (6, 18)),
            ]
        return "\n".join(lines[1:])


@dataclass(frozen=True)
class LayersStar(Study):
    """Figure 6: volumes (a) and finishing times (b).

    Attributes
    ----------
    by_size : Sweep
        16 workers and N from 100 to 1000.
    by_workers : Sweep
        N = 1000 and increasing numbers of workers.
    """

    by_size: Sweep
    by_workers: Sweep

    def claims(self) -> list[Claim]:
        """The numbers in the paper's text beside our means, at the largest N."""
        volumes = {name: values[-1] for name, values in self.by_size.volumes.items()}
        times = {name: values[-1] for name, values in self.by_size.times.items()}

        def reduction(name: str, factor: float = 1.0) -> float:
            return float(np.mean(1 - volumes[LAYERS] / (factor * volumes[name])))

        claims = [
            Claim(
                "6a: LBP below the lower bound of rectangles",
                "75%",
                f"{reduction(BOUND):.1%}",
                within=_POINT,
            )
        ]
        for (name, (_, factor)), paper in zip(
            RECTANGLES.items(), ("78%", "79.7%", "85.1%"), strict=True
        ):
            proven = f"{reduction(BOUND, factor):.1%}"
            claims.append(
                Claim(
                    f"6a: LBP below {name}",
                    paper,
                    f"{reduction(name):.1%}",
                    _GUARANTEE.format(proven),
                    _POINT,
                    None,
                    (paper, proven),
                )
            )
        ratios = [1 - times[name] / times[EVEN] for name in (LAYERS, *RECTANGLES)]
        low, high = (f"{limit([float(np.mean(r)) for r in ratios]):.0%}" for limit in (min, max))
        whole = float(np.mean(volumes[SUMMED] / volumes["PERI-SUM"]))
        by_workers = self.by_workers.volumes
        gains = [
            float(np.mean(1 - own / other))
            for own, other in zip(by_workers[LAYERS], by_workers["PERI-SUM"], strict=True)
        ]
        late = [float(np.mean(times[LAYERS] / times[name])) for name in RECTANGLES]
        return [
            *example_claims(),
            *claims,
            Claim(
                "6b: the four below Even-Col",
                "about 40%",
                low if low == high else f"{low} to {high}",
                within=0.05,
            ),
            Claim(
                "6: LBP ends as early as the balanced rectangles",
                "as low",
                f"{min(late):.3f} to {max(late):.3f} times as late",
                "",
                "5 %",
                max(late) <= 1.05,
            ),
            Claim(
                "6.1: the gain grows with the star",
                "even bigger",
                " ".join(f"{gain:.0%}" for gain in gains),
                f"below PERI-SUM with {' '.join(map(str, self.by_workers.points))} workers",
                "more on each larger star",
                gains == sorted(set(gains)),
            ),
            Claim(
                "LBP with its sum over PERI-SUM",
                "",
                f"{whole:.2f} times",
                "section 1.1 leaves the sum to later",
            ),
        ]

    def tables(self) -> str:
        """Both sweeps."""
        titles = "Figure 6, 16 workers", f"The same at N = {self.by_workers.sizes[0]}"
        return "\n\n".join(
            f"{title}: {sweep.tables()}"
            for title, sweep in zip(titles, (self.by_size, self.by_workers), strict=True)
        )


def reproduce_star(
    sizes: Sequence[int] = tuple(range(100, 1001, 100)),
    workers: Sequence[int] = (2, 4, 8, 16, 32, 64),
    seeds: int = 10,
) -> LayersStar:
    """Reproduce figure 6: `layers_star` and rectangles of `partition` on random stars.

    The stars are as in section 6.1, one for each seed. sizes are the matrix sizes on a star of 16
    workers; workers are the numbers of workers at the largest size.
    """
    most = max(sizes)
    return LayersStar(
        _sweep("N", sizes, [(n, 16) for n in sizes], seeds),
        _sweep("p", workers, [(most, p) for p in workers], seeds),
    )


def random_star(p: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cycle-times and link costs as in section 6.1."""
    rng = np.random.default_rng([p, seed])
    return rng.uniform(*_CYCLE, p), rng.uniform(*_LINK, p)


def _sweep(axis: str, points: Sequence[int], cases: Sequence[tuple[int, int]], seeds: int) -> Sweep:
    volumes = {name: np.empty((len(cases), seeds)) for name in _ORDER}
    times = {name: np.empty((len(cases), seeds)) for name in METHODS}
    for k, (n, p) in enumerate(cases):
        for seed in range(seeds):
            cycle, link = random_star(p, seed)
            plan = layers_star(n, cycle, link, "pccs")
            volumes[LAYERS][k, seed], volumes[SUMMED][k, seed] = plan.volume, plan.volume_with_sum
            times[LAYERS][k, seed] = plan.makespan
            shares = 1 / cycle / (1 / cycle).sum()
            volumes[BOUND][k, seed] = 2 * n**2 * np.sqrt(shares).sum()
            spans = {EVEN: _even_columns(n, p)}
            for name, (method, _) in RECTANGLES.items():
                zones = partition(1 / cycle, method, (n, n))
                spans[name] = zones.spans, np.rint(zones.actual_areas * n**2)
            for name, (sides, cells) in spans.items():
                received = n * sides.sum(axis=1)
                volumes[name][k, seed] = received.sum()
                times[name][k, seed] = (received * link + n * cells * cycle).max()
    return Sweep(axis, tuple(points), tuple(n for n, _ in cases), volumes, times)


def _even_columns(n: int, p: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and columns, and number of cells, if each worker has equally many columns."""
    columns = distribute(n, np.ones(p)).counts.astype(np.float64)
    return np.stack((np.where(columns > 0, n, 0), columns), axis=1), n * columns


def spread(values: Iterable[float], form: str) -> str:
    """Mean ± standard deviation; a standard deviation of 0 is left out."""
    own = np.array(list(values))
    deviation = float(own.std())
    return f"{own.mean():{form}}" + (f" ± {deviation:{form}}" if deviation > 0 else "")
