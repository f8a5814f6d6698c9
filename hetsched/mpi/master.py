"""The master of a StarPlan. It holds the matrices, and its port serves one message at a time."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._base.progress import Progress
from . import chunks
from .chunks import LOAD, PANEL, RESULT, Array, C, Chunk, Product, Step
from .loop import Condition, Loop, LostRank, Waiting
from .record import Clock, synchronised
from .worker import TAG, Report

_SMALL = 1 << 16  # bytes up to which a copy is made at once
_SELDOM = 0.05  # seconds between two calls of a progress function


class Peer:
    """A worker as the master sees it.

    Attributes
    ----------
    open : deque of int
        Chunks that are not finished; the first ones are being computed.
    step : Step or None
        Its next message; None if it has nothing to do.
    pipelined : list of int
        The chunks being computed, as in `chunks.pipelined`.
    """

    def __init__(self, index: int, rank: int, memory: int) -> None:
        self.index, self.rank, self.memory = index, rank, memory
        self.open: deque[int] = deque()
        self.alive, self.why = True, ""
        self.step: Step | None = None
        self.number = -1  # chunk of the step
        self.steps: Iterator[tuple[int, Step]] = iter(())
        self.pipelined: list[int] = []
        # when the master heard that each panel of these chunks was computed
        self.computed: list[float] = []
        self.released = 0.0  # end of its last load or result
        self.returned = 0  # layers of the chunk that have been returned
        self.peak = 0
        self.clock: Clock | None = None  # its first reading
        self.report: Report | None = None

    @property
    def ready(self) -> bool:
        """Whether its next message can start."""
        return self.alive and self.step is not None and self.step.after <= len(self.computed)

    @property
    def since(self) -> float:
        """When its next message could have started."""
        assert self.step is not None
        return self.computed[self.step.after - 1] if self.step.after else self.released


class Master:
    """Compute C += A B by the chunks of a plan.

    Parameters
    ----------
    product : Product
    table : list of Chunk
        Chunks of the plan. Replacements for chunks of lost workers are appended.
    names : sequence of str
    memory : sequence of int
        Memory of each worker, in blocks.
    served : sequence of int or None
        The worker of each message. None: serve the worker with the oldest request.
    operands : (Array, Array, Array)
        C, A and B.
    ranks : sequence of int
        Ranks of the workers.
    """

    def __init__(
        self,
        product: Product,
        table: list[Chunk],
        names: tuple[str, ...],
        memory: list[int],
        served: list[int] | None,
        operands: tuple[Array, Array, Array],
        ranks: list[int],
        progress: Progress | None = None,
    ) -> None:
        self.product = product
        self._t = product.shape[2]
        self.chunks = list(table)
        self._names = names
        self.peers = [
            Peer(i, rank, m) for i, (rank, m) in enumerate(zip(ranks, memory, strict=True))
        ]
        self._of_rank = {peer.rank: peer for peer in self.peers}
        self._operands, self._progress = operands, progress
        self._listed = None if served is None else deque(served)
        self._told = Condition()
        self._fallen: list[Peer] = []
        self._pile: list[Chunk] = []  # chunks of lost workers that are not dealt yet
        # two for sending, one for results
        self._staging: list[Array] = [np.zeros(0, product.dtype) for _ in range(3)]
        self._slot = 0
        self._packed: tuple[Peer, Step, int, Waiting] | None = None
        self._unpacked: Waiting | None = None
        # worker, kind, chunk, first layer, start, end
        self.log: list[tuple[int, int, int, int, float, float]] = []
        # chunk, first layer -> start, end by the clock of its worker
        self.computed: dict[tuple[int, int], tuple[float, float]] = {}
        self.sent = self.received = self._done = 0
        self._said = 0.0
        self.began = 0.0
        self.clock = Clock(0.0, 0.0, 0.0)

    # ---- what the workers say ----

    def heard(self, source: int, what: Any) -> None:
        """Take what a worker says: its clock, that it has computed a panel, or its report."""
        peer, (kind, value) = self._of_rank[source], what
        if kind == "report":
            peer.report = value
        elif kind == "clock":
            peer.clock = value
        elif kind == "computed" and peer.alive:
            self._computed(peer, *value)
        self._told.changed()

    def _computed(
        self, peer: Peer, number: int, done: int, start: float, end: float, peak: int
    ) -> None:
        chunk = self.chunks[number]
        first = (done - 1) * chunk.depth
        peer.computed.append(time.perf_counter())
        peer.peak = max(peer.peak, peak)
        self.computed[number, first] = start, end
        self._done += chunks.deep(chunk, self._t, first) * chunks.traffic_of(chunk, self._t).work
        now = time.monotonic()
        if self._progress is not None and now - self._said > _SELDOM:
            self._said = now
            self._progress(min(self._done / math.prod(self.product.shape), 1.0))

    def lost(self, rank: int, why: str) -> None:
        """Give up a worker: other workers do the work that it has not returned."""
        peer = self._of_rank[rank]
        peer.alive, peer.why, peer.step = False, why, None
        self._fallen.append(peer)
        self._told.changed()

    # ---- the run ----

    async def run(self, loop: Loop, traced: bool) -> None:
        """Run until C is complete and every worker that is alive has reported."""
        self._loop = loop
        if traced:
            await synchronised(loop, loop.rank)
        self.began = time.perf_counter()
        self._deal()
        while (peer := await self._next()) is not None:
            await self._serve(peer)
        if self._unpacked is not None:
            await self._unpacked
        for peer in self.peers:
            if peer.alive:
                loop.tell(("end", None), peer.rank)
        if traced:
            self.clock = await synchronised(loop, loop.rank)
        await self._told.until(
            loop, lambda: all(peer.report is not None for peer in self.peers if peer.alive)
        )

    def _deal(self) -> None:
        own: list[list[tuple[int, Chunk]]] = [[] for _ in self.peers]
        for number, chunk in enumerate(self.chunks):
            own[chunk.worker].append((number, chunk))
        for peer, given in zip(self.peers, own, strict=True):
            peer.open.extend(number for number, _ in given)
            if peer.alive and given:
                self._loop.tell(("chunks", given), peer.rank)
                self._begin(peer)

    def _begin(self, peer: Peer) -> None:
        pipelined = chunks.pipelined((number, self.chunks[number]) for number in peer.open)
        peer.pipelined = [number for number, _ in pipelined]
        peer.steps = chunks.steps_of([chunk for _, chunk in pipelined], self._t)
        peer.returned = 0
        peer.computed.clear()
        self._advance(peer)

    async def _next(self) -> Peer | None:
        """The worker to serve next, once it is ready; None when all work is done."""
        while True:
            self._replace_the_fallen()
            if all(peer.step is None for peer in self.peers):
                return None
            await self._told.until(
                self._loop, lambda: self._candidate() is not None or bool(self._fallen)
            )
            if not self._fallen:
                peer = self._candidate()
                if self._listed is not None:
                    self._listed.popleft()
                return peer

    def _candidate(self) -> Peer | None:
        """The worker to serve now; None if no worker that may be next is ready."""
        if self._listed is None:
            return self._oldest_request()
        peer = self.peers[self._listed[0]]
        return peer if peer.ready else None

    def _oldest_request(self) -> Peer | None:
        """The worker with the oldest request; ties go to the lowest index."""
        return min(
            (peer for peer in self.peers if peer.ready), key=lambda peer: peer.since, default=None
        )

    async def _serve(self, peer: Peer) -> None:
        step, number = peer.step, peer.number
        assert step is not None
        try:
            start = await (self._take if step.kind == RESULT else self._give)(
                peer, step, self.chunks[number]
            )
        except LostRank:
            return
        end = time.perf_counter()
        self.log.append((peer.index, step.kind, number, step.first, start, end))
        if step.kind != PANEL:
            peer.released = end
        self._told.changed()

    async def _give(self, peer: Peer, step: Step, _: Chunk) -> float:
        start = time.perf_counter()
        if self._packed is None or self._packed[:3] != (peer, step, peer.number):
            self._pack(peer)
        assert self._packed is not None
        data = await self._packed[3]
        self._packed, self._slot = None, 1 - self._slot
        sending = self._loop.send(data, peer.rank, TAG)
        if step.kind == LOAD:
            peer.released = math.inf
        self._advance(peer)
        self._look_ahead(None)
        await sending
        self.sent += data.nbytes
        return start

    async def _take(self, peer: Peer, step: Step, chunk: Chunk) -> float:
        if self._unpacked is not None:
            await self._unpacked
        data = self._room(2, peer, step)
        start = time.perf_counter()
        coming = self._loop.receive(data, peer.rank, TAG)
        self._loop.tell(("give", None), peer.rank)
        self._look_ahead(peer)
        await coming
        self.received += data.nbytes
        of = chunks.message_parts(self.product, chunk, step)
        self._unpacked = self._copied(lambda: self._unpack(data, of), data.nbytes)
        self._has_returned(peer, step, chunk)
        self._advance(peer)
        return start

    def _has_returned(self, peer: Peer, step: Step, chunk: Chunk) -> None:
        """Count what a worker has returned, even if it was lost since: it is not computed again."""
        peer.returned = step.first + chunks.deep(chunk, self._t, step.first)
        if chunk.held == C or peer.returned == chunks.traffic_of(chunk, self._t).length:
            peer.open.popleft()
            peer.returned = 0

    # ---- copies, on the thread for products ----

    def _copied(self, copy: Callable[[], Any], size: int) -> Waiting:
        """Copy on the other thread. Small data are copied here: that is faster than a hand-over."""
        # copies to one place are made in order
        if size > _SMALL or (self._packed is not None and not self._packed[3].done):
            return self._loop.compute(copy)
        made = Waiting(left=0)
        made.value = copy()
        return made

    def _room(self, slot: int, peer: Peer, step: Step) -> Array:
        size = chunks.elements_in(self.product, self.chunks[peer.number], step)
        if len(self._staging[slot]) < size:
            self._staging[slot] = np.empty(size, self.product.dtype)
        return self._staging[slot][:size]

    def _pack(self, peer: Peer) -> None:
        """Begin to copy the worker's next message."""
        step = peer.step
        assert step is not None
        data = self._room(self._slot, peer, step)
        of = chunks.message_parts(self.product, self.chunks[peer.number], step)

        def copy() -> Array:
            for o, view in chunks.views(data, self.product, of).items():
                np.copyto(view, dict(of)[o].of(self._operands[o]))
            return data

        self._packed = peer, step, peer.number, self._copied(copy, data.nbytes)

    def _unpack(self, data: Array, of: list[tuple[int, chunks.Part]]) -> None:
        np.copyto(of[0][1].of(self._operands[C]), chunks.views(data, self.product, of)[C])

    def _look_ahead(self, unknown: Peer | None) -> None:
        """Copy the message that is likely to be next, while the current one is on the port.

        The next message of the worker `unknown` is not known yet.
        """
        listed = self._listed
        if listed is None:
            likely = self._oldest_request()
        else:
            likely = self.peers[listed[0]] if listed else None
        if (
            likely is not None
            and likely is not unknown
            and likely.step is not None
            and likely.step.kind != RESULT
        ):
            self._pack(likely)

    # ---- chunk after chunk ----

    def _advance(self, peer: Peer) -> None:
        if not peer.alive:
            return
        i, peer.step = next(peer.steps, (-1, None))
        if peer.step is None:
            self._go_on(peer)
        else:
            peer.number = peer.pipelined[i]

    def _go_on(self, peer: Peer) -> None:
        """Begin the next chunk of the worker, or one of a lost worker."""
        if not peer.open and self._pile:
            self._take_from_pile(peer)
        if peer.open:
            self._begin(peer)

    def _take_from_pile(self, peer: Peer) -> None:
        for i, chunk in enumerate(self._pile):
            found = chunks.fitted(chunk, self._t, peer.memory)
            if found is not None:
                piece, rest = found[0]._replace(worker=peer.index), found[1]
                self._pile[i : i + 1] = rest
                peer.open.append(len(self.chunks))
                self._loop.tell(("chunks", [(len(self.chunks), piece)]), peer.rank)
                self.chunks.append(piece)
                return

    def _replace_the_fallen(self) -> None:
        """Cut the unreturned work of lost workers into pieces, which free workers take.

        There are at least as many pieces as there are other workers.
        """
        if not self._fallen:
            return
        self._listed = None
        for peer in self._fallen:
            left = [self.chunks[number] for number in peer.open]
            if left and peer.returned:
                left[0] = chunks.without(left[0], peer.returned)
            self._pile += [chunk._replace(ahead=0) for chunk in left]
            peer.open.clear()
        last = self._fallen[-1]
        self._fallen = []
        living = [peer for peer in self.peers if peer.alive]
        self._pile = chunks.shared(self._pile, len(living))
        if not self._pile:
            return
        if not living:
            pairs = zip(self._names, self.peers, strict=True)
            each = ", ".join(f"{name} ({peer.why})" for name, peer in pairs)
            raise LostRank(last.rank, f"all workers are lost: {each}")
        if all(chunks.fitted(self._pile[0], self._t, peer.memory) is None for peer in living):
            raise LostRank(
                last.rank,
                f"{self._names[last.index]} is lost, and no other worker has memory for its chunks",
            )
        for peer in living:
            if peer.step is None:
                self._go_on(peer)
