"""Factorisations and systems: csrc/factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .allocate import FACTORS, factor_costs, factor_owners
from .dtypes import CODES, DTYPES
from .ffi import ffi, int32s, lib, or_null
from .run import Poll, Recorder, RunResult, Threads, address, raise_error

if TYPE_CHECKING:
    Matrix = NDArray[Any]


NOTHING = RunResult([], [], [], [])  # the result of a run that is not recorded


def block(kind: str, m: int, n: int, dtype: np.dtype[Any], workers: int) -> int:
    """The block size that hs_run_factor chooses."""
    return lib.hs_factor_block(FACTORS[kind], m, n, DTYPES[dtype], workers)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Order:
    """The owners of the blocks of a factorisation, and the speeds of the workers.

    Without an Order the engine decides, at full speed.
    """

    block: int = 0
    owner: NDArray[np.int32] | None = None
    pace: NDArray[np.float64] | None = None
    panel_pace: NDArray[np.float64] | None = None
    links: NDArray[np.float64] | None = None
    late_panel: bool = False
    steps: NDArray[np.float64] | None = None  # (panels, workers) pace of updates, or None: pace


_ANY = Order()
_FACTOR, _OPTIONS = ffi.typeof("hs_factor *"), ffi.typeof("hs_options *")
_NONE = ffi.NULL, 0, 0
#: Factorisations of fewer multiply-adds end before a poll is due.
_SHORT = 10**7


def _strided(array: Matrix) -> tuple[Any, int, int]:
    """Address and strides in elements; the array may be read-only."""
    (row, col), size = array.strides, array.itemsize
    return address(array), row // size, col // size


def _problem(
    kind: str,
    a: Matrix | None,
    x: Matrix,
    pivots: Any,
    tau: Any,
    order: Order,
    clear: bool,
    workers: int = 0,
) -> tuple[Any, tuple[Any, ...]]:
    """The hs_factor, and the objects that must stay alive with it.

    The arrays must be 2-D and aligned, of one supported dtype.
    """
    rows = or_null(pivots, int32s, min(x.shape))
    if tau is not None and (tau.dtype != x.dtype or tau.size != min(x.shape)):
        raise ValueError(
            f"tau must be {min(x.shape)} x {x.dtype},"
            f" got an array of {tau.dtype} and shape {tau.shape}"
        )
    scales = ffi.NULL if tau is None else address(tau)
    source = _NONE if a is None else _strided(a)
    if order is _ANY:
        code = FACTORS[kind], CODES[x.dtype.num]
        fields = (
            *code,
            *x.shape,
            *source,
            *_strided(x),
            clear,
            0,
            ffi.NULL,
            0,
            True,
            ffi.NULL,
            rows,
            scales,
            -1,
        )
        return ffi.new(_FACTOR, fields), (rows, scales, a, x)
    owner = order.owner
    grid = owner is not None and owner.ndim == 2
    owners = (
        ffi.NULL if owner is None else factor_owners(x.shape[0], x.shape[1], order.block, owner)
    )
    costs, views = factor_costs(
        workers, order.panel_pace, order.links, order.late_panel, order.steps, x.dtype.itemsize
    )
    fields = (
        FACTORS[kind],
        CODES[x.dtype.num],
        *x.shape,
        *source,
        *_strided(x),
        clear,
        order.block,
        owners,
        grid,
        order.pace is None and not grid,
        costs,
        rows,
        scales,
        -1,
    )
    return ffi.new(_FACTOR, fields), (owners, rows, scales, costs, views, a, x)


def run(
    threads: Threads,
    kind: str,
    a: Matrix | None,
    x: Matrix,
    *,
    workers: int,
    poll: Poll,
    pivots: NDArray[np.int32] | None = None,
    tau: Matrix | None = None,
    clear: bool = False,
    order: Order | None = None,
    event_capacity: int = 0,
) -> tuple[int, RunResult]:
    """hs_run_factor: what failed or -1, and what was recorded. a is None if x holds the matrix."""
    problem, alive = _problem(kind, a, x, pivots, tau, order or _ANY, clear, workers)
    if order is None and event_capacity == 0:
        handle = (
            ffi.NULL
            if poll.progress is None and x.size * min(x.shape) < _SHORT
            else ffi.new_handle(poll)
        )
        options = ffi.new(_OPTIONS, (ffi.NULL, lib.hs_python_poll, handle)) if handle else ffi.NULL
        _ended(lib.hs_run_factor(threads.handle, problem, options, ffi.NULL), poll)
        if poll.error is not None:  # an error in the last tasks, after the last poll
            raise poll.error
        return problem.failed, NOTHING
    order = order or _ANY
    recorder = Recorder(workers, order.pace, poll, event_capacity)
    result = recorder.result(
        lib.hs_run_factor(threads.handle, problem, recorder.options, recorder.trace)
    )
    del alive
    return problem.failed, result


def lu_solve(
    threads: Threads, lu: Matrix, pivots: NDArray[np.int32], transposed: bool, b: Matrix, poll: Poll
) -> None:
    """hs_lu_solve; b is a matrix and becomes the solution."""
    problem, alive = _problem("lu", None, lu, pivots, None, _ANY, False)
    handle = ffi.new_handle(poll)
    _ended(
        lib.hs_lu_solve(
            threads.handle,
            problem,
            transposed,
            b.shape[1],
            *_strided(b),
            lib.hs_python_poll,
            handle,
        ),
        poll,
    )
    del alive


def lu_inverse(
    threads: Threads, lu: Matrix, pivots: NDArray[np.int32], out: Matrix, poll: Poll
) -> None:
    """hs_lu_inverse."""
    problem, alive = _problem("lu", None, lu, pivots, None, _ANY, False)
    handle = ffi.new_handle(poll)
    _ended(
        lib.hs_lu_inverse(threads.handle, problem, *_strided(out), lib.hs_python_poll, handle), poll
    )
    del alive


def solve_triangular(
    threads: Threads, t: Matrix, b: Matrix, *, lower: bool, unit: bool, poll: Poll
) -> None:
    """hs_solve_triangular; b is a matrix and becomes the solution."""
    problem = ffi.new(
        "hs_triangular *",
        (CODES[b.dtype.num], *b.shape, not lower, unit, *_strided(t), *_strided(b)),
    )
    handle = ffi.new_handle(poll)
    _ended(lib.hs_solve_triangular(threads.handle, problem, lib.hs_python_poll, handle), poll)


def qr_multiply(
    threads: Threads,
    x: Matrix,
    tau: Matrix,
    c: Matrix,
    *,
    adjoint: bool,
    identity: bool,
    poll: Poll,
) -> None:
    """hs_qr_multiply; c becomes the product."""
    problem, alive = _problem("qr", None, x, None, tau, _ANY, False)
    handle = ffi.new_handle(poll)
    given = adjoint, identity, c.shape[1], *_strided(c), lib.hs_python_poll, handle
    _ended(lib.hs_qr_multiply(threads.handle, problem, *given), poll)
    del alive


def cholesky(
    threads: Threads, a: Matrix | None, x: Matrix, poll: Poll, *, clear: bool = False
) -> int:
    """Factor the Hermitian matrix that has its lower triangle in a (None: in x).

    The lower factor goes to the lower triangle of x. The triangle above it becomes zero with
    `clear`, and is not touched otherwise. Returns 0, or the order of the leading minor that is not
    positive definite.
    """
    return run(threads, "cholesky", a, x, workers=threads.size, poll=poll, clear=clear)[0] + 1


def qr(threads: Threads, a: Matrix | None, x: Matrix, tau: Matrix, poll: Poll) -> None:
    """Store R and the reflectors of a (None: of x) in x (m, n) and tau (min(m, n),), as geqrf does.

    geqrf is the function of LAPACK.
    """
    run(threads, "qr", a, x, tau=tau, workers=threads.size, poll=poll)


def inverse(threads: Threads, a: Matrix, out: Matrix, poll: Poll) -> int:
    """Invert a matrix; returns -1, or the first zero on the diagonal of U."""
    lu, pivots = np.empty(a.shape, a.dtype, order="F"), np.empty(len(a), np.int32)
    failed, _ = run(threads, "lu", a, lu, pivots=pivots, workers=threads.size, poll=poll)
    if failed < 0:
        lu_inverse(threads, lu, pivots, out, poll)
    return failed


def _ended(status: int, poll: Poll) -> None:
    if status:
        raise_error(status, poll)
