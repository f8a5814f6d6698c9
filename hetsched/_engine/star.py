"""csrc/star: products on a star: a master with one port, and workers with little memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import LONG, buffer, cancellable, check_status, doubles, ffi, int32s, int64s, lib


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

    def plan(self, method: int, variant: int, eager: bool, most: int, long: bool) -> StarResult:
        """hs_star_plan, with the chunks and messages if there are at most `most` messages."""
        summary = ffi.new("hs_star_summary *")
        sides, columns = np.empty(self.p, np.int64), np.empty(self.p, np.int64)
        chunks, messages = np.zeros(0, STAR_CHUNK), np.zeros(0, STAR_MESSAGE)

        def call(outputs: tuple[Any, Any]) -> None:
            plan = (self.handle, method, variant, eager)
            arrays = (summary, int64s(sides), int64s(columns), *outputs)
            cancellable(lambda cancel: lib.hs_star_plan(*plan, cancel, *arrays), long)

        call((ffi.NULL, ffi.NULL))
        result, variants = summary.variant, list(summary.variants)
        if summary.message_count <= most:
            if variant < 0 and method == lib.HS_STAR_HET:
                variant = result
            chunks, messages = (
                np.zeros(summary.chunk_count, STAR_CHUNK),
                np.zeros(summary.message_count, STAR_MESSAGE),
            )
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
        shares, by_rows, order = (
            ffi.new("hs_star_share[]", self.p),
            ffi.new("int32_t *"),
            ffi.new("int32_t *"),
        )
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
        chunks, served = (
            np.zeros(most_chunks, STAR_CHUNK),
            np.empty(most_chunks * (self.handle.t + 2), np.int32),
        )
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

    def bounds(self, layout: int) -> list[float]:
        """hs_star_bounds."""
        bounds = ffi.new("double[]", lib.HS_STAR_BOUNDS)
        cancellable(
            lambda cancel: lib.hs_star_bounds(self.handle, layout, cancel, bounds),
            self.p > LONG // 20,
        )
        return list(bounds)


def star_side(memory: int, layout: int) -> int:
    """hs_star_side."""
    return lib.hs_star_side(memory, layout)  # type: ignore[no-any-return]
