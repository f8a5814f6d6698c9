"""csrc/star: products on a star: a master with one port, and workers with little memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import LONG, buffer, cancellable, check_status, doubles, ffi, int32s, int64s, lib

METHODS = {
    "hom": lib.HS_STAR_HOM,
    "homi": lib.HS_STAR_HOMI,
    "het": lib.HS_STAR_HET,
    "orroml": lib.HS_STAR_ORROML,
    "ommoml": lib.HS_STAR_OMMOML,
    "oddoml": lib.HS_STAR_ODDOML,
    "bmm": lib.HS_STAR_BMM,
    "maxreuse": lib.HS_STAR_REUSE,
    "overlap": lib.HS_STAR_OVERLAP,
}
VARIANTS = {  # of "het"; the first eight are the paper's
    "global": 0,
    "global+c": lib.HS_STAR_FIRST_C,
    "global+ahead": lib.HS_STAR_AHEAD,
    "global+ahead+c": lib.HS_STAR_AHEAD | lib.HS_STAR_FIRST_C,
    "local": lib.HS_STAR_LOCAL,
    "local+c": lib.HS_STAR_LOCAL | lib.HS_STAR_FIRST_C,
    "local+ahead": lib.HS_STAR_LOCAL | lib.HS_STAR_AHEAD,
    "local+ahead+c": lib.HS_STAR_LOCAL | lib.HS_STAR_AHEAD | lib.HS_STAR_FIRST_C,
    "global+spread-c": lib.HS_STAR_SPREAD_C,
    "global+ahead+spread-c": lib.HS_STAR_AHEAD | lib.HS_STAR_SPREAD_C,
    "local+spread-c": lib.HS_STAR_LOCAL | lib.HS_STAR_SPREAD_C,
    "local+ahead+spread-c": lib.HS_STAR_LOCAL | lib.HS_STAR_AHEAD | lib.HS_STAR_SPREAD_C,
}
ALL_VARIANTS: int = lib.HS_STAR_ALL
BOUNDS = {
    "work": lib.HS_STAR_WORK,
    "traffic": lib.HS_STAR_TRAFFIC,
    "transfer": lib.HS_STAR_TRANSFER,
    "steady state": lib.HS_STAR_STEADY,
    "steady state with C": lib.HS_STAR_STEADY_C,
    "re-use": lib.HS_STAR_LOOMIS,
}
#: Kinds of messages.
LOAD: int = lib.HS_STAR_LOAD
PANEL: int = lib.HS_STAR_PANEL
RESULT: int = lib.HS_STAR_RESULT
#: The matrix of which a worker holds a chunk.
HOLD_C: int = lib.HS_STAR_HOLD_C
HOLD_A: int = lib.HS_STAR_HOLD_A
HOLD_B: int = lib.HS_STAR_HOLD_B
HELD = {HOLD_C: "C", HOLD_A: "A", HOLD_B: "B"}
#: Used instead of a number of buffers.
STREAM_A: int = lib.HS_STAR_STREAM_A
STREAM_B: int = lib.HS_STAR_STREAM_B
#: Layouts of a worker's memory.
DOUBLE: int = lib.HS_STAR_DOUBLE
SINGLE: int = lib.HS_STAR_SINGLE
TOLEDO: int = lib.HS_STAR_TOLEDO
PAIR: int = lib.HS_STAR_PAIR
#: Orders of the port.
LISTED: int = lib.HS_STAR_LISTED
DEMAND: int = lib.HS_STAR_DEMAND
#: The largest cycle-time or link cost; most messages of a plan, and of an exact one.
MOST: float = lib.HS_STAR_MOST
MOST_MESSAGES: int = lib.HS_STAR_MESSAGES
EXACT_MESSAGES: int = lib.HS_STAR_EXACT_MESSAGES


class StarResult(NamedTuple):
    """Result of hs_star_plan; chunks and messages are empty if there are too many messages."""

    makespan: float
    variant: int
    variants: list[float]
    sides: NDArray[np.int64]
    columns: NDArray[np.int64]
    message_count: int
    chunks: NDArray[Any]
    messages: NDArray[Any]


STAR_MESSAGE = np.dtype(
    [("worker", "i4"), ("kind", "i4"), ("chunk", "i8"), ("depth", "i8")]
    + [(name, "f8") for name in ("start", "end", "compute_start", "compute_end")]
)


STAR_CHUNK = np.dtype(
    [(name, "i4") for name in ("worker", "held", "buffers")]
    + [(name, "i8") for name in ("row", "col", "height", "width", "depth")]
    + [("ahead", "i4")],
    align=True,
)


def star_chunks(chunks: NDArray[Any]) -> Any:
    return buffer("hs_star_chunk[]", chunks, STAR_CHUNK)


def star_messages(messages: NDArray[Any]) -> Any:
    return buffer("hs_star_message[]", messages, STAR_MESSAGE)


class Star:
    """An hs_star and the arrays that it points to."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        times: NDArray[np.float64],
        costs: NDArray[np.float64],
        memory: NDArray[np.int64],
    ) -> None:
        self.p = len(times)
        self._views = doubles(times), doubles(costs, self.p), int64s(memory, self.p)
        self.handle = ffi.new("hs_star *", (*shape, self.p, *self._views))

    def plan(self, method: str, variant: int, eager: bool, most: int, long: bool) -> StarResult:
        """hs_star_plan, with the chunks and messages if there are at most `most` messages."""
        summary = ffi.new("hs_star_summary *")
        sides, columns = np.empty(self.p, np.int64), np.empty(self.p, np.int64)
        chunks, messages = np.zeros(0, STAR_CHUNK), np.zeros(0, STAR_MESSAGE)

        def call(outputs: tuple[Any, Any]) -> None:
            plan = (self.handle, METHODS[method], variant, eager)
            arrays = (summary, int64s(sides), int64s(columns), *outputs)
            cancellable(lambda cancel: lib.hs_star_plan(*plan, cancel, *arrays), long)

        call((ffi.NULL, ffi.NULL))
        result, variants = summary.variant, list(summary.variants)
        if summary.message_count <= most:
            if variant == ALL_VARIANTS and method == "het":
                variant = result
            chunks = np.zeros(summary.chunk_count, STAR_CHUNK)
            messages = np.zeros(summary.message_count, STAR_MESSAGE)
            call((star_chunks(chunks), star_messages(messages)))
        return StarResult(
            summary.makespan,
            result,
            variants,
            sides,
            columns,
            summary.message_count,
            chunks,
            messages,
        )

    def search(self, eager: bool, seed: int, effort: int) -> tuple[NDArray[Any], int, float]:
        """Chunks, order and makespan of hs_star_search."""
        shares = ffi.new("hs_star_share[]", self.p)
        by_rows = ffi.new("int32_t *")
        order = ffi.new("int32_t *")
        makespan, count = ffi.new("double *"), ffi.new("int64_t *")
        found = (by_rows, shares, order, makespan)
        cancellable(
            lambda cancel: lib.hs_star_search(self.handle, eager, seed, effort, cancel, *found),
            effort > 0,
        )
        check_status(lib.hs_star_cut(self.handle, by_rows[0], shares, count, ffi.NULL))
        chunks = np.zeros(count[0], STAR_CHUNK)
        check_status(lib.hs_star_cut(self.handle, by_rows[0], shares, count, star_chunks(chunks)))
        return chunks, order[0], makespan[0]

    def exact(
        self, most_chunks: int, effort: int, limit: float
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Chunks, and the worker of each message, of hs_star_exact; most_chunks as its header
        says."""
        chunks = np.zeros(most_chunks, STAR_CHUNK)
        served = np.empty(most_chunks * (self.handle.t + 2), np.int32)
        count, length, makespan = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("double *")
        found = count, star_chunks(chunks), length, int32s(served), makespan
        cancellable(
            lambda cancel: lib.hs_star_exact(self.handle, effort, limit, cancel, *found), effort > 0
        )
        return chunks[: count[0]].copy(), served[: length[0]].copy()

    def simulate(
        self,
        chunks: NDArray[Any],
        order: int,
        served: NDArray[np.int32],
        eager: bool,
        long: bool = False,
    ) -> tuple[float, NDArray[Any]]:
        """Makespan and messages of hs_star_simulate for an array of STAR_CHUNK."""
        count, makespan = ffi.new("int64_t *"), ffi.new("double *")
        given = (len(chunks), star_chunks(chunks), order, len(served), int32s(served), eager)

        def call(messages: Any) -> None:
            out = (messages, count, makespan)
            cancellable(
                lambda cancel: lib.hs_star_simulate(self.handle, *given, cancel, *out), long
            )

        call(ffi.NULL)
        messages = np.zeros(count[0], STAR_MESSAGE)
        call(star_messages(messages))
        return makespan[0], messages

    def bounds(self, layout: int) -> dict[str, float]:
        """hs_star_bounds, by the names in BOUNDS."""
        bounds = ffi.new("double[]", lib.HS_STAR_BOUNDS)
        cancellable(
            lambda cancel: lib.hs_star_bounds(self.handle, layout, cancel, bounds),
            self.p > LONG // 20,
        )
        return {name: bounds[number] for name, number in BOUNDS.items()}


def star_side(memory: int, layout: int) -> int:
    """hs_star_side."""
    return lib.hs_star_side(memory, layout)  # type: ignore[no-any-return]
