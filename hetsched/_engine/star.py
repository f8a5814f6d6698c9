"""csrc/star: products on a star: a master with one port, and workers with little memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import (
    LONG,
    buffer,
    cancellable,
    certificate,
    check_status,
    doubles,
    effort,
    ffi,
    int32s,
    int64s,
    lib,
)
from .rows import RowError, over_rows

METHODS = {
    "best": lib.HS_STAR_BEST,
    "hom": lib.HS_STAR_HOM,
    "homi": lib.HS_STAR_HOMI,
    "het": lib.HS_STAR_HET,
    "orroml": lib.HS_STAR_ORROML,
    "ommoml": lib.HS_STAR_OMMOML,
    "oddoml": lib.HS_STAR_ODDOML,
    "bmm": lib.HS_STAR_BMM,
    "maxreuse": lib.HS_STAR_REUSE,
    "overlap": lib.HS_STAR_OVERLAP,
    "search": lib.HS_STAR_SEARCH,
    "exact": lib.HS_STAR_EXACT,
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
#: The layout of a worker's memory for all rules but some.
DOUBLE: int = lib.HS_STAR_DOUBLE
#: Orders of the port.
LISTED: int = lib.HS_STAR_LISTED
DEMAND: int = lib.HS_STAR_DEMAND
#: The largest cycle-time or link cost; most messages of a plan, and of an exact one.
MOST: float = lib.HS_STAR_MOST
MOST_MESSAGES: int = lib.HS_STAR_MESSAGES
EXACT_MESSAGES: int = lib.HS_STAR_EXACT_MESSAGES
#: Most blocks of a side in LU; the memory of a worker that can hold any chunk there.
LU_MOST: int = lib.HS_STAR_LU_MOST
UNLIMITED: int = lib.HS_STAR_UNLIMITED
#: Messages of a search without a budget.
EFFORT: int = lib.HS_STAR_EFFORT


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


_SHARE = np.dtype(
    [(name, "i8") for name in ("columns", "rows", "panels")]
    + [(name, "i4") for name in ("held", "buffers", "ahead")],
    align=True,
)
STAR_PART = np.dtype(
    [(name, "i8") for name in ("side", "columns", "updates")] + [("share", _SHARE)], align=True
)


class Wish(NamedTuple):
    """How hs_star_best is to plan; variant is None for the best of the eight, messages 0 for the
    default."""

    method: str
    eager: bool
    variant: str | None
    seed: int
    seconds: float | None
    messages: int = 0

    def options(self) -> Any:
        variant = 0 if self.variant is None else VARIANTS[self.variant]
        given = METHODS[self.method], self.eager, self.variant is not None, variant, self.messages
        return ffi.new("hs_star_options *", given)

    def effort(self) -> Any:
        return effort(self.seed, self.seconds)


class Decision(NamedTuple):
    """A plan of hs_star_best: what was decided, each worker's part (STAR_PART), and the plan's
    chunks and messages."""

    method: str
    variant: str
    variants: dict[str, float]
    bounds: dict[str, float]
    certificate: dict[str, Any]
    parts: NDArray[Any]
    chunks: NDArray[Any]
    messages: NDArray[Any]


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

    def best(self, wish: Wish, long: bool) -> Decision:
        """hs_star_best and hs_star_write."""
        parts, chunks, served = (
            np.empty(self.p, STAR_PART),
            np.empty(0, STAR_CHUNK),
            np.empty(0, "i4"),
        )
        if wish.method == "exact":
            most_chunks, most_messages = self.most_of_exact()
            chunks, served = np.empty(most_chunks, STAR_CHUNK), np.empty(most_messages, "i4")
        found, proof = ffi.new("hs_star_decision *"), ffi.new("hs_certificate *")
        given = self.handle, wish.options(), wish.effort()
        out = found, _parts(parts), star_chunks(chunks), int32s(served), proof
        cancellable(lambda cancel: lib.hs_star_best(*given, cancel, *out), long)
        if wish.method == "exact":
            chunks, served = chunks[: found.chunk_count].copy(), served[: found.message_count]
        else:
            chunks = np.zeros(found.chunk_count, STAR_CHUNK)
        return self._written(wish, found, parts, chunks, served, certificate(proof, "makespan"))

    def _written(
        self,
        wish: Wish,
        found: Any,
        parts: NDArray[Any],
        chunks: NDArray[Any],
        served: NDArray[np.int32],
        proof: dict[str, Any],
    ) -> Decision:
        """hs_star_write; chunks and served belong to an exact plan, or room for the chunks."""
        messages = np.zeros(found.message_count, STAR_MESSAGE)
        given = self.handle, found, _parts(parts), int32s(served)
        out = star_chunks(chunks), star_messages(messages)
        cancellable(lambda cancel: lib.hs_star_write(*given, cancel, *out), len(messages) > LONG)
        method, variant, trials = _NAMES[found.method], "", {}
        if method == "het":
            variant = _VARIANT_NAMES[found.variant]
            if wish.variant is None:
                trials = {_VARIANT_NAMES[k]: time for k, time in enumerate(found.variants)}
        bounds = {name: found.bounds[number] for name, number in BOUNDS.items()}
        return Decision(method, variant, trials, bounds, proof, parts, chunks, messages)

    def certificate(self, makespan: float) -> dict[str, Any]:
        """The fields of a plan that hs_star_certificate gives."""
        proof = ffi.new("hs_certificate *")
        cancellable(
            lambda cancel: lib.hs_star_certificate(self.handle, makespan, cancel, proof),
            self.p > LONG // 20,
        )
        return certificate(proof, "makespan")

    def most_of_exact(self) -> tuple[int, int]:
        """Most chunks and most messages of an exact plan, see hs_star_exact_most."""
        chunks, messages = ffi.new("int64_t *"), ffi.new("int64_t *")
        check_status(lib.hs_star_exact_most(self.handle, chunks, messages))
        return chunks[0], messages[0]

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
        messages = np.zeros(message_count(self.handle.t, chunks), STAR_MESSAGE)
        given = (len(chunks), star_chunks(chunks), order, len(served), int32s(served), eager)
        out = star_messages(messages), count, makespan
        cancellable(lambda cancel: lib.hs_star_simulate(self.handle, *given, cancel, *out), long)
        return makespan[0], messages

    def bounds(self, layout: int) -> dict[str, float]:
        """hs_star_bounds, by the names in BOUNDS."""
        bounds = ffi.new("double[]", lib.HS_STAR_BOUNDS)
        cancellable(
            lambda cancel: lib.hs_star_bounds(self.handle, layout, cancel, bounds),
            self.p > LONG // 20,
        )
        return {name: bounds[number] for name, number in BOUNDS.items()}


_NAMES = {number: name for name, number in METHODS.items()}
_VARIANT_NAMES = {number: name for name, number in VARIANTS.items()}


def _parts(parts: NDArray[Any]) -> Any:
    return buffer("hs_star_part[]", parts, STAR_PART)


class LuDecision(NamedTuple):
    """A plan of hs_star_lu_best: the width, the master's columns of each step, the products of the
    steps that have one."""

    width: int
    own: list[int]
    makespan: float
    certificate: dict[str, Any]
    products: list[Decision]


class StarLu:
    """An hs_star_lu and the arrays that it points to.

    memory : blocks, UNLIMITED for a worker that can hold any chunk. width : 0 to choose it.
    """

    def __init__(
        self,
        n: int,
        width: int,
        times: NDArray[np.float64],
        costs: NDArray[np.float64],
        memory: NDArray[np.int64],
        master_time: float,
    ) -> None:
        self.p, self._arrays = len(times), (times, costs, memory)
        self._views = doubles(times), doubles(costs, self.p), int64s(memory, self.p)
        self.handle = ffi.new("hs_star_lu *", (n, width, self.p, *self._views, master_time))

    def best(self, wish: Wish) -> LuDecision:
        """hs_star_lu_best, and hs_star_write of the products."""
        n, width = self.handle.n, self.handle.width
        most = max((n - 1) // width if width else min(n, lib.HS_STAR_LU_STEPS) - 1, 1)
        own, products = np.empty(most, np.int64), ffi.new("hs_star_decision[]", most)
        parts = np.empty((most, self.p), STAR_PART)
        chosen, makespan = ffi.new("int64_t *"), ffi.new("double *")
        proof = ffi.new("hs_certificate *")
        given = self.handle, wish.options(), wish.effort()
        out = chosen, int64s(own), products, _parts(parts.reshape(-1)), makespan, proof
        cancellable(lambda cancel: lib.hs_star_lu_best(*given, cancel, *out), True)
        own = own[: (n - 1) // chosen[0]]
        written = [
            self._product(wish, chosen[0], k, share, products + k, parts[k].copy())
            for k, share in enumerate(own.tolist())
            if products[k].chunk_count
        ]
        return LuDecision(
            chosen[0], own.tolist(), makespan[0], certificate(proof, "makespan"), written
        )

    def _product(
        self, wish: Wish, width: int, step: int, own: int, found: Any, parts: NDArray[Any]
    ) -> Decision:
        memory = np.empty(self.p, np.int64)
        star = Star((1, 1, 1), *self._arrays[:2], memory)
        given = self.handle, width, step, own
        check_status(lib.hs_star_lu_product(*given, int64s(memory), star.handle))
        chunks = np.zeros(found.chunk_count, STAR_CHUNK)
        proof = star.certificate(found.makespan)
        return star._written(wish, found, parts, chunks, np.empty(0, np.int32), proof)

    def panels(
        self, width: int, own: NDArray[np.int64], products: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(k, 5) start, factored, solving, end and updated of each panel, of hs_star_lu_panels."""
        found = np.empty((len(own) + 1, 5))
        out = ffi.from_buffer("hs_star_lu_panel[]", found)
        check_status(lib.hs_star_lu_panels(self.handle, width, int64s(own), doubles(products), out))
        return found

    def certificate(self, makespan: float) -> dict[str, Any]:
        """The fields of a plan that hs_star_lu_certificate gives."""
        proof = ffi.new("hs_certificate *")
        cancellable(
            lambda cancel: lib.hs_star_lu_certificate(self.handle, makespan, cancel, proof), True
        )
        return certificate(proof, "makespan")


def star_batch(
    shape: tuple[int, int, int],
    times: NDArray[np.float64],
    costs: NDArray[np.float64],
    memory: NDArray[np.int64],
    wish: Wish,
    threads: int,
    progress: Callable[[float], object] | None,
) -> dict[str, NDArray[Any]]:
    """Makespans, bounds, columns, and whether each plan is optimal, of hs_star_batch.

    times, costs, memory : (rows, p).

    Raises RowError for the first row of a call that has no plan.
    """
    rows, p = times.shape
    unplanned = -1  # of rows after an error
    methods, optimal = np.full(rows, unplanned, np.int32), np.empty(rows, np.int32)
    makespans, bounds = np.empty(rows), np.empty(rows)
    columns = np.empty((rows, p), np.int64)
    given = doubles(times.reshape(-1)), doubles(costs.reshape(-1)), int64s(memory.reshape(-1))
    options, limits = wish.options(), wish.effort()
    kinds, proven = int32s(methods), int32s(optimal)
    values, least, shares = doubles(makespans), doubles(bounds), int64s(columns.reshape(-1))

    def call(first: int, last: int, cancel: Any) -> int:
        at = first * p
        stars = ffi.new("hs_star *", (*shape, p, *(array + at for array in given)))
        out = kinds + first, values + first, least + first, proven + first, shares + at
        status = lib.hs_star_batch(last - first, stars, options, limits, cancel, *out)
        if status in (lib.HS_ERROR_VALUE, lib.HS_ERROR_INFEASIBLE, lib.HS_ERROR_UNSUPPORTED):
            raise RowError(first + int(np.argmax(methods[first:last] == unplanned)))
        return status  # type: ignore[no-any-return]

    over_rows(call, rows, threads, progress)
    return {
        "makespan": makespans,
        "bound": bounds,
        "optimal": optimal.astype(np.bool_),
        "columns": columns,
    }


def least_memory(method: str) -> int:
    """hs_star_least_memory."""
    return lib.hs_star_least_memory(METHODS[method])  # type: ignore[no-any-return]


def star_side(memory: int, layout: int) -> int:
    """hs_star_side."""
    return lib.hs_star_side(memory, layout)  # type: ignore[no-any-return]


# ---- the account of traffic ----


class Traffic(NamedTuple):
    """hs_star_traffic."""

    held: int
    come: int
    back: int
    length: int
    work: int
    more: int
    every: int


def chunk_traffic(t: int, chunks: NDArray[Any]) -> Traffic:
    """hs_star_chunk_traffic of the first of the chunks."""
    found = ffi.new("hs_star_traffic *")
    check_status(lib.hs_star_chunk_traffic(t, star_chunks(chunks), found))
    return Traffic(
        found.held,
        getattr(found, "in"),
        found.out,
        found.length,
        found.work,
        found.more,
        found.every,
    )


def message_count(t: int, chunks: NDArray[Any]) -> int:
    """hs_star_message_count."""
    count = ffi.new("int64_t *")
    check_status(lib.hs_star_message_count(t, len(chunks), star_chunks(chunks), count))
    return count[0]  # type: ignore[no-any-return]


def needs(t: int, p: int, chunks: NDArray[Any]) -> NDArray[np.int64]:
    """hs_star_needs."""
    found = np.empty(p, np.int64)
    check_status(lib.hs_star_needs(t, p, len(chunks), star_chunks(chunks), int64s(found)))
    return found


_STEP = np.dtype(
    [(name, "i8") for name in ("chunk", "depth", "after")] + [("kind", "i4")], align=True
)


def chunk_steps(t: int, chunks: NDArray[Any]) -> NDArray[Any]:
    """hs_star_chunk_steps: chunk, depth, after and kind of each message of pipelined chunks."""
    steps = np.empty(message_count(t, chunks), _STEP)
    out = buffer("hs_star_step[]", steps, _STEP)
    check_status(lib.hs_star_chunk_steps(t, len(chunks), star_chunks(chunks), out))
    return steps


def peaks(t: int, p: int, chunks: NDArray[Any], messages: NDArray[Any]) -> NDArray[np.int64]:
    """hs_star_peaks."""
    found = np.empty(p, np.int64)
    given = len(chunks), star_chunks(chunks), len(messages), star_messages(messages)
    check_status(lib.hs_star_peaks(t, p, *given, int64s(found)))
    return found
