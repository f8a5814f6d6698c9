"""Measures how fast the ranks compute and send."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._base import check
from .._base.frozen import Frozen
from .._base.table import table
from .._engine.dtypes import DTYPES
from ..machine.linux import memory_room
from ..platform import UNIT, Platform, Unit, Worker
from ..runners.pool import Pool
from . import pools
from .arguments import Call, beside
from .loop import Loop
from .ranks import TIMEOUT, Ranks
from .record import FIRST

_ROUNDS = 5
_BLOCKS = 2**53  # largest number of blocks in a plan
# largest number of ranks of which all links are measured; of more, only the root's links
_MANY = 64
_LEAST, _MOST = 1 << 10, 1 << 24  # smallest and largest message in bytes
_SHARE = 0.3  # fraction of the time for the speeds
_BRIEF = 0.1  # seconds for all links of the root together, if no measurement was asked for
_LONG = 2e-3  # seconds that a message should take at least, so that its latency does not matter


@dataclass(frozen=True, eq=False)
class MeasuredRanks(Frozen):
    """The ranks of a communicator as found by `measure`.

    Attributes
    ----------
    platform : Platform
        A worker for each rank, in seconds per gigaflop and per gigabyte. The link costs are from
        the root (0 for the root itself). The links are between any two ranks, if these were
        measured.
    root : int
    gflops, spread : (p,) float64 arrays
        Speed of products on each rank's pool, with all pools at the same time: the median of five
        rounds, and half of the interquartile range divided by the median.
    latency : (p, p) float64 array
        Seconds for a message of 1 KiB; NaN if a link was not measured.
    links_spread : (p, p) float64 array
        Spread of the link costs, defined as for the speeds.
    memory : (p,) int64 array
        Bytes that each rank can still use: what is left on its host or in its control group, in
        equal shares for the ranks there.
    seconds : float
        Duration of the measurement.
    """

    platform: Platform
    root: int
    gflops: NDArray[np.float64]
    spread: NDArray[np.float64]
    latency: NDArray[np.float64]
    links_spread: NDArray[np.float64]
    memory: NDArray[np.int64]
    seconds: float

    def star(self, unit: Unit | None = None, memory: Any = None) -> Platform:
        """The other ranks around the root as their master, for `hs.plan_product`.

        Its unit is that of the plan's blocks, and the memory of each rank is in blocks (2008 paper,
        section 6.2). The default memory is the measured one, if the unit says how large a block is.

        Parameters
        ----------
        unit : Unit, optional
            Unit of the plan, such as a block update. Default: the unit of the platform.
        memory : int or sequence, optional
            Memory of each rank except the root, in units of data.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> ranks = hs.mpi.measure(comm)  # doctest: +SKIP
        >>> hs.plan_product(20, 40, 20, ranks.star(hs.Unit.block_update(80)))  # doctest: +SKIP
        """
        star = beside(self.platform, self.root)
        star = star if unit is None else star.to(unit)
        if memory is None and unit is not None and unit.bytes:
            memory = np.delete(
                np.minimum(self.memory // int(unit.bytes), _BLOCKS), self.root
            ).tolist()
        return Platform.star(
            star.cycle_times, star.link_costs, memory, names=star.names, unit=star.unit
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the platform to a .toml or .json file.

        Parameters
        ----------
        path : path
            The suffix selects the format.
        """
        self.platform.save(path)

    def table(self) -> str:
        """A table as text, with a line for each rank."""
        rows = [("rank", "name", "GFLOP/s", "+-", "MB/s from root", "+-", "latency", "memory")]
        costs = self.platform.link_costs
        for rank, name in enumerate(self.platform.names):
            line = [str(rank), name, f"{self.gflops[rank]:.4g}", f"{self.spread[rank]:.1%}"]
            if rank == self.root:
                line += ["root", "", ""]
            else:
                spread, latency = self.links_spread[self.root, rank], self.latency[self.root, rank]
                line += [f"{1e3 / costs[rank]:.4g}", f"{spread:.1%}", f"{1e6 * latency:.0f} us"]
            line.append(f"{self.memory[rank] / 2**30:.3g} GiB")
            rows.append(tuple(line))  # type: ignore[arg-type]
        return table(rows, align="><>>>>>>")

    def __repr__(self) -> str:
        return (
            f"<MeasuredRanks: {len(self.gflops)} ranks, {self.gflops.sum():.4g} GFLOP/s, in"
            f" {self.seconds:.3g} s>"
        )


def measure(
    comm: Any,
    root: int = 0,
    *,
    seconds: float = 5.0,
    dtype: DTypeLike = np.float64,
    pool: Pool | None = None,
    timeout: float = TIMEOUT,
) -> MeasuredRanks:
    """Measure the speed of every rank's pool, all at the same time, and each link, one at a time.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        All ranks must call it.
    root : int
        With more than 64 ranks, only the links of this rank are measured.
    seconds : float
        Approximate duration, > 0. Slow links take longer, up to four times as long.
    dtype, pool, timeout : optional
        See `matmul`.

    Returns
    -------
    MeasuredRanks
        The same on all ranks.

    Raises
    ------
    ValueError, TypeError
        On every rank, if an argument on any rank is invalid.

    Notes
    -----
    The cost of a link comes from messages that take 2 ms or have 16 MiB, as half of a round trip.
    Its latency is not part of a Platform. The messages go on for the time that is left to each
    link, and only messages in the second half of it count: a link with a limited rate may let the
    first megabytes pass at full speed.
    """
    call = Call(comm, root, pool, timeout)
    with call.ranks:
        return measured(call, seconds, dtype)


def measured(
    call: Call, seconds: float, dtype: DTypeLike, before: Callable[[], Any] = lambda: None
) -> MeasuredRanks:
    """Do the same as `measure` in a call that has begun.

    before : called in the first agreement, so its error is raised on all ranks.
    """
    ranks, root, began = call.ranks, call.root, time.perf_counter()

    def checked() -> tuple[Any, ...]:
        before()
        return (
            check.number("seconds", seconds, above=0.0),
            check.dtype(dtype, DTYPES).name,
            pools.here(),
            memory_room(),
        )

    found = ranks.agree(checked)
    limit, kind = found[root][0], np.dtype(found[root][1])
    places, rooms = [each[2] for each in found], [each[3] for each in found]
    hosts = [place.host for place in places]
    shares = [room // hosts.count(host) for room, host in zip(rooms, hosts, strict=True)]
    rates = np.array(pools.rates(ranks, call.pool(places), kind, _SHARE * limit, _ROUNDS)) / UNIT
    pairs = list(_pairs(ranks.size, root))
    mine = ranks.run(lambda loop: links(loop, pairs, (1.0 - _SHARE) * limit / max(len(pairs), 1)))
    costs, latency, uneven = _joined(ranks, mine)
    gflops = np.median(rates, axis=1)
    speeds = zip(pools.names(places), gflops.tolist(), strict=True)
    workers = [
        Worker(speed=speed, link_cost=0.0 if rank == root else float(costs[root, rank]), name=name)
        for rank, (name, speed) in enumerate(speeds)
    ]
    complete = ranks.size <= _MANY
    return MeasuredRanks(
        Platform(workers, costs if complete and ranks.size > 1 else None, unit=Unit.gigaflop()),
        root,
        check.frozen(gflops),
        check.frozen(_spread(rates)),
        check.frozen(latency),
        check.frozen(uneven),
        check.frozen(np.array(shares, np.int64)),
        time.perf_counter() - began,
    )


def known_speeds(
    ranks: Ranks, pool: Pool, dtype: np.dtype[Any], root: int
) -> tuple[list[float], list[float]]:
    """Seconds per gigaflop of each rank, and seconds per gigabyte from the root, on every rank.

    They are measured in a fraction of a second, once for each communicator. With more than 64
    ranks the links would take too long; their costs are then 0.
    """
    found: tuple[list[float], list[float]] = ranks.kept(
        (root, dtype, len(pool)), lambda: _briefly(ranks, pool, dtype, root)
    )
    return found


def _briefly(
    ranks: Ranks, pool: Pool, dtype: np.dtype[Any], root: int
) -> tuple[list[float], list[float]]:
    times = pools.cycle_times(ranks, pool, dtype)
    costs = [0.0] * ranks.size
    if 1 < ranks.size <= _MANY:
        pairs = [(root, rank) for rank in range(ranks.size) if rank != root]
        found = ranks.gather(ranks.run(lambda loop: links(loop, pairs, _BRIEF / ranks.size)))[root]
        for (_, rank), (cost, _, _) in found.items():
            costs[rank] = cost
    return times, costs


def _pairs(size: int, root: int) -> Iterator[tuple[int, int]]:
    if size > _MANY:
        yield from ((root, rank) for rank in range(size) if rank != root)
    else:
        yield from ((a, b) for a in range(size) for b in range(a + 1, size))


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half of the interquartile range over the median, along the last axis."""
    low, middle, high = np.percentile(values, (25, 50, 75), axis=-1)
    half: NDArray[np.float64] = (high - low) / 2 / middle
    return half


async def links(
    loop: Loop, pairs: list[tuple[int, int]], seconds: float
) -> dict[tuple[int, int], tuple[float, float, float]]:
    """Measure each pair that begins with this rank: seconds per gigabyte, spread, latency.

    One pair at a time is measured, in order. The first rank of a pair tells the first rank of the
    next pair that it is its turn.
    """
    found = {}
    token = np.zeros(1, np.uint8)
    for i, (a, b) in enumerate(pairs):
        if loop.rank == a:
            if i and pairs[i - 1][0] != a:
                await loop.receive(token, pairs[i - 1][0], FIRST + 1)
            found[a, b] = await _asking(loop, b, seconds)
            if i + 1 < len(pairs) and pairs[i + 1][0] != a:
                await loop.send(token, pairs[i + 1][0], FIRST + 1)
        elif loop.rank == b:
            await _answering(loop, a)
    return found


async def _asking(loop: Loop, other: int, seconds: float) -> tuple[float, float, float]:
    async def round_trip(size: int) -> float:
        data = np.zeros(max(size, 1), np.uint8)
        await loop.send(np.array([size], np.int64), other, FIRST)
        start = time.perf_counter()
        await loop.send(data, other, FIRST)
        await loop.receive(data, other, FIRST)
        return (time.perf_counter() - start) / 2

    began = time.perf_counter()
    await round_trip(_LEAST)  # the first message makes the connection
    latency = float(np.median([await round_trip(_LEAST) for _ in range(_ROUNDS)]))
    size, took = _LEAST, latency
    while size < _MOST and took < _LONG and 2 * _ROUNDS * took < seconds:
        size *= 4
        took = await round_trip(size)
    costs, ends = [took / size * UNIT], [time.perf_counter()]
    while len(costs) < _ROUNDS or ends[-1] - began < seconds:
        costs.append(await round_trip(size) / size * UNIT)
        ends.append(time.perf_counter())
    await loop.send(np.array([-1], np.int64), other, FIRST)
    # a link that a token bucket limits is faster until the bucket is empty
    late = np.array(costs)[np.array(ends) >= (began + ends[-1]) / 2]
    return float(np.median(late)), float(_spread(late)), latency


async def _answering(loop: Loop, other: int) -> None:
    size = np.zeros(1, np.int64)
    while True:
        await loop.receive(size, other, FIRST)
        if size[0] < 0:
            return
        data = np.empty(int(size[0]), np.uint8)
        await loop.receive(data, other, FIRST)
        await loop.send(data, other, FIRST)


def _joined(
    ranks: Ranks, mine: dict[tuple[int, int], tuple[float, float, float]]
) -> list[NDArray[np.float64]]:
    """(p, p) costs, latencies and spreads from the findings of each rank; links are symmetric."""
    costs, latency, uneven = (np.full((ranks.size, ranks.size), np.nan) for _ in range(3))
    for found in ranks.gather(mine):
        for (a, b), (cost, spread, late) in found.items():
            for array, value in ((costs, cost), (uneven, spread), (latency, late)):
                array[a, b] = array[b, a] = value
    for array in (costs, latency, uneven):
        np.fill_diagonal(array, 0.0)
    return [costs, latency, uneven]
