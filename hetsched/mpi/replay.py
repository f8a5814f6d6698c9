"""What ranks send and compute by a plan of a product, as a program for SimGrid.

SimGrid's `smpirun -replay` executes "time-independent" traces: each rank has a list of messages and
flops, and SimGrid finds the times from a platform. So a second simulator, with a network of its
own, judges a plan. Needs no MPI.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.replace import replace_file
from ..planners.product import ProductPlan
from .kinds import wrong_kind
from .linalg import of_product
from .product import LOOK_AHEAD, layers, panels, parts_of, steps_of
from .zones import Piece, boxes_of

_FAST = 1e18  # bytes per unit of time over a link without cost
_GIGA = 1e9
#: Options with which a message takes its bytes times the cost of its link, and begins when both
#: sides are ready.
_OPTIONS = (
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
    "--cfg=smpi/async-small-thresh:0",
    "--cfg=smpi/send-is-detached-thresh:0",
    "--cfg=smpi/tmpdir:/tmp",
)


def save_replay(plan: ProductPlan, folder: str | PathLike[str]) -> list[str]:
    """Write what the ranks of `matmul` do by a plan as files for SimGrid.

    Parameters
    ----------
    plan : ProductPlan
        A plan of `hs.plan_matmul` with zones or layers.
    folder : path
        An existing folder. The files are platform.xml, hosts.txt, trace.txt and a file for each
        rank: rank0.txt, rank1.txt, ...

    Returns
    -------
    list of str
        The command that replays them: smpirun of SimGrid 3.32 or later, and its arguments. It
        prints the simulated time in the unit of the plan's times.

    Raises
    ------
    TypeError, ValueError
        If the plan is of another kind, or is for workers that share memory.
    OSError
        If a file cannot be written.

    Notes
    -----
    Each rank holds the zones that `scatter` gives it by the plan, and its part of C stays there. A
    rank sends each piece once, receives for two steps ahead while it computes a step, and at the
    end sends its layers to the ranks that sum them. The bytes are the bytes that `matmul` sends.
    Additions of layers take no time here, and the limit of two messages under way from one rank to
    another is left out. Each pair of ranks has a link of its own in each direction, which its
    messages share. A plan without links has links without cost.

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
    if not isinstance(plan, ProductPlan):
        raise wrong_kind(plan, "a plan of plan_matmul")
    size = len(plan.names)
    plan = of_product(plan, plan.shape, np.dtype(np.float64), size)
    place = Path(folder)
    names = [f"rank{i}.txt" for i in range(size)]
    _write(place / "platform.xml", _platform(plan.cycle_times, plan.links))
    _write(place / "hosts.txt", [f"host{i}" for i in range(size)])
    _write(place / "trace.txt", [str(place.absolute() / name) for name in names])
    programs = _programs(plan)
    for rank, name in enumerate(names):
        _write(place / name, (f"{rank} {action}" for action in programs[rank]))
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
        speed = _GIGA / time if np.isfinite(time) else 1.0
        yield f'<host id="host{i}" speed="{speed!r}f"/>'
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    for i, j in pairs:
        cost = 0.0 if links is None else float(links[i, j])
        bandwidth = min(_GIGA / cost, _FAST) if cost else _FAST
        yield f'<link id="link{i}-{j}" bandwidth="{bandwidth!r}Bps" latency="0s"/>'
    for i, j in pairs:
        yield f'<route src="host{i}" dst="host{j}" symmetrical="NO">'
        yield f'<link_ctn id="link{i}-{j}"/></route>'
    yield "</zone>"
    yield "</platform>"


class _Message(NamedTuple):
    """A piece with its number among the messages from its source to its target."""

    piece: Piece
    tag: int
    size: int

    @property
    def send(self) -> str:
        return f"isend {self.piece.target} {self.tag} {self.size}"

    @property
    def receive(self) -> str:
        return f"irecv {self.piece.source} {self.tag} {self.size}"

    @property
    def wait(self) -> str:
        return f"wait {self.piece.source} {self.piece.target} {self.tag}"


def _programs(plan: ProductPlan) -> list[list[str]]:
    """The actions of each rank."""
    m, n, k = plan.shape
    size, item = len(plan.names), plan.itemsize
    a, b = boxes_of(plan, (m, k), size), boxes_of(plan, (k, n), size)
    tags: dict[tuple[int, int], int] = {}
    programs: list[list[str]] = [["init"] for _ in range(size)]
    messages = _numbered(panels(plan, a, b, item), item, tags)
    sums = [] if plan.layers is None else _numbered(layers(plan, item), item, tags)
    for rank, program in enumerate(programs):
        program += _product(plan, rank, messages)
        program += _exchange(rank, sums)
        program.append("finalize")
    return programs


def _numbered(
    pieces: Iterator[Piece], item: int, tags: dict[tuple[int, int], int]
) -> list[_Message]:
    found = []
    for piece in pieces:
        pair = piece.source, piece.target
        if piece.source != piece.target:
            tags[pair] = tag = tags.get(pair, -1) + 1
            found.append(_Message(piece, tag, piece.height * piece.width * item))
    return found


def _product(plan: ProductPlan, rank: int, messages: list[_Message]) -> Iterator[str]:
    parts, steps = parts_of(plan, rank), steps_of(plan, rank)
    volume = float(plan.boxes[:, 4:].prod(axis=1, dtype=np.float64).sum())
    per_update = float(plan.flops.sum()) / max(volume, 1.0)
    incoming: list[list[_Message]] = [[] for _ in steps]
    for message in messages:
        if message.piece.target == rank:
            incoming[message.piece.step].append(message)
    outgoing = [message for message in messages if message.piece.source == rank]
    yield from (message.send for message in outgoing)
    for opened in incoming[: 1 + LOOK_AHEAD]:
        yield from (message.receive for message in opened)
    for number, step in enumerate(steps):
        yield from (message.wait for message in incoming[number])
        area = sum(parts[i].height * parts[i].width for i in step.parts)
        yield f"compute {per_update * area * (step.end - step.start)!r}"
        for opened in incoming[number + 1 + LOOK_AHEAD : number + 2 + LOOK_AHEAD]:
            yield from (message.receive for message in opened)
    yield from (message.wait for message in outgoing)


def _exchange(rank: int, messages: list[_Message]) -> Iterator[str]:
    own = [message for message in messages if rank in message.piece[:2]]
    for message in own:
        yield message.send if message.piece.source == rank else message.receive
    yield from (message.wait for message in own)
