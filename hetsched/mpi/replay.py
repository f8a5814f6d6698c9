"""What ranks send and compute by a plan, as a program for SimGrid.

SimGrid's `smpirun -replay` executes "time-independent" traces: each rank has a list of messages and
flops, and SimGrid finds the times from a platform. So a second simulator, with a network of its
own, judges a plan. Needs no MPI.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._base.replace import replace_file
from ..plan import MOST_STEPS
from ..planners.factor import FactorPlan
from ..planners.product import ProductPlan
from ..planners.ring import matrix_of
from ..planners.star import StarPlan
from ..planners.star_lu import StarLuPlan
from ..planners.stencil import StencilPlan, inner_rows
from ..planners.wavefront import Wavefront
from ..runners.bus import BusPlan
from ..runners.sweep import require_tiles
from .actions import GIGA, Message, Numbers, compute
from .columns import Columns
from .kinds import wrong_kind
from .linalg import of_product
from .panels import SEGMENT
from .product import LOOK_AHEAD, layers, panels, parts_of, steps_of
from .replay_master import of_bus, of_star, of_star_lu
from .ring import DEEP
from .wavefront import stretches
from .zones import boxes_of, tile_cuts

_FAST = 1e18  # bytes per unit of time over a link without cost
#: Options with which a message takes its bytes times the cost of its link, and begins when both
#: sides are ready.
_OPTIONS = (
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
    "--cfg=smpi/async-small-thresh:0",
    "--cfg=smpi/send-is-detached-thresh:0",
)


def save_replay(
    plan: ProductPlan | StarPlan | BusPlan | FactorPlan | StarLuPlan | Wavefront | StencilPlan,
    folder: str | PathLike[str],
    *,
    shape: tuple[int, int] | None = None,
    links: ArrayLike | None = None,
    itemsize: int = 8,
) -> list[str]:
    """Write what the ranks of `matmul`, `lu_factor`, `sweep` and so on do by a plan, for SimGrid.

    Parameters
    ----------
    plan : plan
        A ProductPlan with zones or layers, a StarPlan, StarLuPlan, MaxTasks, MinTime,
        DivisibleLoad, Wavefront or StencilPlan, or a FactorPlan for LU or Cholesky of a square
        matrix with owners of block columns.
    folder : path
        An existing folder. The files are platform.xml, hosts.txt, trace.txt and a file for each
        rank: rank0.txt, rank1.txt, ...
    shape : (int, int)
        Only for a Wavefront: rows and columns of the image, in elements.
    links : (p, p) array_like, optional
        Only for a Wavefront: time per gigabyte from the row's rank to the column's, >= 0, in the
        unit of the plan's times. Default: messages take no time, as in the plan.
    itemsize : int
        Only for a Wavefront: bytes of an element.

    Returns
    -------
    list of str
        The command that replays them: smpirun of SimGrid 3.32 or later, and its arguments. The last
        line "Simulation time" that it prints has the time in the unit of the plan's times, with six
        decimals.

    Raises
    ------
    TypeError, ValueError
        If the plan is of another kind, or is for workers that share memory; if the shape cannot
        have the tiles of a Wavefront; if an iteration has more than 3 * 10**6 actions, or a message
        more than 2 GiB.
    OSError
        If a file cannot be written.

    Notes
    -----
    Each rank holds what `scatter` gives it by the plan, and the result stays there. Each pair of
    hosts has a link of its own in each direction, which its messages share.

    In a product, a rank sends each piece once, receives for two steps ahead while it computes a
    step, and at the end sends its layers to the ranks that sum them. The bytes are the bytes that
    `matmul` sends. Additions of layers take no time here, and the limit of two messages under way
    from one rank to another is left out. A plan without links has links without cost.

    In a product on a star, and with tasks or a load, rank 0 is the master, and rank i + 1 is
    worker i. The master sends and receives one message at a time, in the order of the plan. A
    worker receives a panel as soon as it has room for it. An update, a task and a unit of a load
    are a gigaflop; the largest message has 10**8 to 10**9 bytes. In LU on a star, rank 0 only sends
    and receives. The last rank, on the same host, does the master's computing. The time is the
    plan's makespan, but for the rounding of messages to whole bytes.

    In a factorisation, a panel goes from rank to rank, as in `lu_factor`. A second rank on each
    host, rank p + i on host i, passes it on while the first one computes. The limit of panels that
    a rank holds and the exchanges of rows are left out. Without links the time is the plan's
    makespan.

    In a wavefront, a rank computes its tiles in the order of the plan, and sends the border of a
    chunk tile by tile. Without links the time is the plan's makespan.

    In an iteration, neighbours exchange up to 8 columns, and then do as many steps. A rank updates
    its slice while the columns travel, and after they have arrived does the work of the plan's
    overheads: with them a plan of `stencil` charges the columns that are updated twice. Latencies
    are left out.

    Examples
    --------
    >>> import hetsched as hs, tempfile
    >>> links = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> platform = hs.Platform.complete([3, 5, 8], links)
    >>> plan = hs.plan_matmul(300, 300, 300, platform)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hs.mpi.save_replay(plan, folder)[:2]
    ['smpirun', '-replay']
    """
    if not (isinstance(plan, Wavefront) or (shape is None and links is None)):
        name = type(plan).__name__
        raise ValueError(f"shape and links are for a Wavefront: a {name} has its own")
    costs: Any
    if isinstance(plan, Wavefront):
        programs = _of_wavefront(plan, shape, itemsize)
        costs = None if links is None else matrix_of("links", links, len(plan.names))
    elif isinstance(plan, StencilPlan):
        programs, costs = _of_iteration(plan), plan.links
    elif isinstance(plan, ProductPlan):
        plan = of_product(plan, plan.shape, np.dtype(np.float64), len(plan.names))
        programs, costs = _of_product(plan), plan.links
    elif isinstance(plan, StarPlan):
        programs, costs = of_star(plan)
    elif isinstance(plan, StarLuPlan):
        programs, costs = of_star_lu(plan)
    elif isinstance(plan, BusPlan):
        programs, costs = of_bus(plan)
    elif isinstance(plan, FactorPlan):
        programs, costs = _of_factorisation(plan), plan.links
    else:
        raise wrong_kind(
            plan,
            "a plan of plan_matmul, plan_product, plan_star_lu, max_tasks, min_time,"
            " divisible_load, plan_factor, wavefront or plan_stencil",
        )
    place, size = Path(folder), len(programs)
    names = [f"rank{i}.txt" for i in range(size)]
    times = plan.cycle_times
    if isinstance(plan, StarPlan | StarLuPlan | BusPlan):
        times = np.concatenate([[plan.master_time if isinstance(plan, StarLuPlan) else 1.0], times])
    _write(place / "platform.xml", _platform(times, costs))
    _write(place / "hosts.txt", [f"host{i % len(times)}" for i in range(size)])
    _write(place / "trace.txt", [str(place.absolute() / name) for name in names])
    for rank, name in enumerate(names):
        actions = "init", *programs[rank], "finalize"
        _write(place / name, (f"{rank} {action}" for action in actions))
    files = [str(place.absolute() / name) for name in ("trace.txt", "platform.xml", "hosts.txt")]
    options = ["-replay", files[0], "-platform", files[1], "-hostfile", files[2]]
    return ["smpirun", *options, "-np", str(size), *_OPTIONS]


def _write(path: Path, lines: Iterator[str] | list[str]) -> None:
    with replace_file(path) as file:
        file.write("".join(line + "\n" for line in lines).encode())


def _platform(times: NDArray[np.float64], links: NDArray[np.float64] | None) -> Iterator[str]:
    """Hosts with the speeds of the workers, and a link between every two of them."""
    yield "<?xml version='1.0'?>"
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1">'
    yield '<zone id="all" routing="Full">'
    size = len(times)
    for i, time in enumerate(times.tolist()):
        # A worker that cannot work has no flops in a plan, but a host needs a speed.
        speed = GIGA / time if np.isfinite(time) else 1.0
        yield f'<host id="host{i}" speed="{speed!r}f"/>'
    pairs = [(i, j) for i in range(size) for j in range(size)]
    for i, j in pairs:
        cost = 0.0 if links is None or i == j else float(links[i, j])
        bandwidth = min(GIGA / cost, _FAST) if cost else _FAST
        yield f'<link id="link{i}-{j}" bandwidth="{bandwidth!r}Bps" latency="0s"/>'
    for i, j in pairs:
        yield f'<route src="host{i}" dst="host{j}" symmetrical="NO">'
        yield f'<link_ctn id="link{i}-{j}"/></route>'
    yield "</zone>"
    yield "</platform>"


# ---- products ------------------------------------------------------------------------------------


def _of_product(plan: ProductPlan) -> list[list[str]]:
    """The actions of each rank."""
    m, n, k = plan.shape
    size, item, numbers = len(plan.names), plan.itemsize, Numbers()
    a, b = boxes_of(plan, (m, k), size), boxes_of(plan, (k, n), size)
    messages = numbers.of_pieces(panels(plan, a, b, item), item)
    sums = [] if plan.layers is None else numbers.of_pieces(layers(plan, item), item)
    return [[*_steps(plan, rank, messages), *_exchange(rank, sums)] for rank in range(size)]


def _steps(plan: ProductPlan, rank: int, messages: list[Message]) -> Iterator[str]:
    parts, steps = parts_of(plan, rank), steps_of(plan, rank)
    volume = float(plan.boxes[:, 4:].prod(axis=1, dtype=np.float64).sum())
    per_update = float(plan.flops.sum()) / max(volume, 1.0)
    incoming: list[list[Message]] = [[] for _ in steps]
    for message in messages:
        if message.target == rank:
            incoming[message.step].append(message)
    outgoing = [message for message in messages if message.source == rank]
    yield from (message.send for message in outgoing)
    for opened in incoming[: 1 + LOOK_AHEAD]:
        yield from (message.receive for message in opened)
    for number, step in enumerate(steps):
        yield from (message.wait for message in incoming[number])
        area = sum(parts[i].height * parts[i].width for i in step.parts)
        yield compute(per_update * area * (step.end - step.start))
        for opened in incoming[number + 1 + LOOK_AHEAD : number + 2 + LOOK_AHEAD]:
            yield from (message.receive for message in opened)
    yield from (message.wait for message in outgoing)


def _exchange(rank: int, messages: list[Message]) -> Iterator[str]:
    own = [message for message in messages if rank in (message.source, message.target)]
    for message in own:
        yield message.send if message.source == rank else message.receive
    yield from (message.wait for message in own)


# ---- factorisations ------------------------------------------------------------------------------


def _of_factorisation(plan: FactorPlan) -> list[list[str]]:
    """The actions of the ranks that compute, then of those that pass panels on."""
    (m, n), p = plan.shape, len(plan.names)
    if plan.kind == "qr" or plan.owner.ndim == 2 or m != n:
        raise ValueError(
            "plan must be for LU or Cholesky of a square matrix with owners of block columns, got"
            f" {plan.kind} of {m} x {n} with owners of shape {plan.owner.shape}"
        )
    columns = Columns(n, plan.block, plan.owner, p)
    numbers = Numbers()
    programs: list[list[str]] = [[] for _ in range(2 * p)]
    begun: list[list[str]] = [[] for _ in range(2 * p)]  # waits of what was sent
    # of each rank that computes, for each panel: what it sends or receives
    moves: list[dict[int, list[str]]] = [{} for _ in range(p)]

    def send(k: int, source: int, target: int, size: int) -> None:
        """Send a segment of panel k between two ranks of one host, or of those that pass it on."""
        message = numbers.message(source, target, size, k)
        out = moves[source].setdefault(k, []) if source < p else programs[source]
        into = moves[target].setdefault(k, []) if target < p else programs[target]
        out.append(message.send)
        into += [message.receive, message.wait]
        begun[source].append(message.wait)

    for k in range(columns.count):
        way = (int(columns.owner[k]), *columns.routes[k])
        size = columns.panel_size(k) * np.dtype(plan.dtype).itemsize
        size += 4 * columns.width(k) * (plan.kind == "lu")  # pivots
        for first in range(0, size if len(way) > 1 else 0, SEGMENT):
            step = min(SEGMENT, size - first)
            send(k, way[0], p + way[0], step)
            for source, target in pairwise(way):
                send(k, p + source, p + target, step)
                send(k, p + target, target, step)
    order = np.argsort(plan.tasks["start"], kind="stable")
    for worker, k, block, start, end, _ in plan.tasks[order].tolist():
        work = compute((end - start) * GIGA / float(plan.cycle_times[worker]))
        moved = moves[worker].pop(k, [])
        programs[worker] += [work, *moved] if k == block else [*moved, work]
    if plan.kind == "lu" and n:
        last = int(columns.owner[-1])
        for rank in range(p):  # each rank has all pivots in the end
            if rank != last:
                message = numbers.message(last, rank, 4 * (n + 1), 0)
                programs[last].append(message.send)
                begun[last].append(message.wait)
                programs[rank] += [message.receive, message.wait]
    return [[*program, *waits] for program, waits in zip(programs, begun, strict=True)]


# ---- wavefronts ----------------------------------------------------------------------------------


def _of_wavefront(plan: Wavefront, shape: Any, itemsize: int) -> list[list[str]]:
    """The actions of each rank. A tile is as many flops as a host does in the time of a tile."""
    if shape is None:
        raise ValueError("shape must be given for a Wavefront: rows and columns of the image")
    sizes = check.as_many("shape", list(shape), 2, "dimension")
    m, n = (check.integer(f"shape[{i}]", x, low=0) for i, x in enumerate(sizes))
    item = check.integer("itemsize", itemsize, low=1)
    require_tiles(plan, (m, n))
    length, numbers = plan.shape[1 - plan.axis], Numbers()
    cuts = tile_cuts((m, n)[1 - plan.axis], length)
    chunks = plan.chunks.tolist()
    borders = [
        [numbers.message(source, target, item * (cuts[i + 1] - cuts[i]), i) for i in range(length)]
        for (source, *_), (target, *_) in pairwise(chunks)
    ]
    return [list(_tiles(plan, rank, borders)) for rank in range(len(plan.names))]


def _tiles(plan: Wavefront, rank: int, borders: list[list[Message]]) -> Iterator[str]:
    """The actions of a rank. borders[c] are the messages from chunk c to the next one."""
    length, sent = plan.shape[1 - plan.axis], []
    own = [(c, width) for c, (owner, _, width) in enumerate(plan.chunks.tolist()) if owner == rank]
    for c, _ in own:
        if c:
            yield from (message.receive for message in borders[c - 1])
    for c, width in own:
        arrived = 0
        for tiles in stretches(length, width, plan.reach, plan.order):
            row, line = tiles[0]
            if c and line == 0:
                needed = min(row + plan.reach, length - 1) + 1
                yield from (message.wait for message in borders[c - 1][arrived:needed])
                arrived = max(arrived, needed)
            yield compute(len(tiles) * GIGA)
            row, line = tiles[-1]
            if line == width - 1 and c < len(borders):
                sent.append(borders[c][row])
                yield borders[c][row].send
    yield from (message.wait for message in sent)


# ---- iterations ----------------------------------------------------------------------------------


def _of_iteration(plan: StencilPlan) -> list[list[str]]:
    """The actions of each rank."""
    inner, ring, numbers = inner_rows(plan.shape[0]), plan.ring.tolist(), Numbers()
    beside = list(zip(ring, ring[1:] + ring[:1], strict=True)) if len(ring) > 1 else []
    column = plan.work / plan.shape[1] * GIGA  # flops
    more = np.zeros(len(plan.names))
    if plan.overheads is not None:
        more[ring] = GIGA * plan.overheads[ring] / plan.cycle_times[ring]
    programs: list[list[str]] = [[] for _ in plan.names]
    deep = min(DEEP, int(plan.counts[ring].min()))
    if 10 * len(ring) * (plan.iterations / deep) > MOST_STEPS:
        raise ValueError(
            f"plan: {plan.iterations} steps of {len(ring)} ranks have more than {MOST_STEPS}"
            " actions; plan fewer steps"
        )
    for first in range(0, plan.iterations if inner else 0, deep):
        depth = min(deep, plan.iterations - first)
        size = depth * inner * plan.itemsize
        messages = [
            numbers.message(source, target, size, first)
            for pair in beside
            for source, target in (pair, pair[::-1])
        ]
        for rank in ring:
            own = [message for message in messages if rank in (message.source, message.target)]
            programs[rank] += [
                *(message.send if message.source == rank else message.receive for message in own),
                compute(depth * column * int(plan.counts[rank])),
                *(message.wait for message in own),
                compute(depth * float(more[rank])),
            ]
    return programs
