"""Factorisations and systems on the ranks of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.progress import Progress
from .._engine.dtypes import DTYPES
from ..planners.factor import FactorPlan
from ..planners.lu_pattern import LuPattern
from ..platform import Platform
from ..runners.pool import Pool
from . import pools
from .arguments import Call, columns
from .factor import run_cholesky, run_lu, run_solve
from .ranks import TIMEOUT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def lu_factor(
    comm: Any, A: ArrayLike | None = None, plan: LuPattern | FactorPlan | None = None, root: int = 0, *, block: int | None = None,
    platform: Platform | None = None, pool: Pool | None = None, trace: bool = False, progress: bool | Progress | None = None,
    check_finite: bool = True, timeout: float = TIMEOUT,
) -> Any:  # fmt: skip
    """P A = L U with partial pivoting, as of scipy.linalg.lu_factor, by block columns that the ranks own. All must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    A : (n, n) array_like at the root, None elsewhere
        float32, float64, complex64 or complex128; integers become float64.
    plan : LuPattern or FactorPlan at the root, optional
        Owners of the block columns: `hs.lu_pattern` or `hs.plan_lu`, for as many workers as there are ranks.
    root : int
    block : int, optional
        Columns of a block; default: the plan's, else 32 to 256 by the size and the ranks.
    platform : Platform at the root, optional
        Without a plan, whose `lu_pattern` it is: of `measure`, say. Default: what a moment of products on all ranks says.
    pool, trace, progress, timeout :
        As of `matmul`.
    check_finite : bool

    Returns
    -------
    (lu, piv), or ((lu, piv), Trace)
        At the root; None in the place of each elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, for what is wrong at the root.
    LostRank
        As of `matmul`.

    Notes
    -----
    Right-looking, with look-ahead: the owner of the next panel updates and factors it before the rest. All rows of a panel are at
    its owner, who needs no messages to find pivots; panels travel in a ring, and no rank waits for all.
    """
    return _run(
        run_lu,
        (A,),
        comm,
        plan,
        root,
        platform,
        pool,
        timeout,
        block=block,
        trace=trace,
        progress=progress,
        check_finite=check_finite,
    )


def solve(
    comm: Any, A: ArrayLike | None = None, b: ArrayLike | None = None, plan: LuPattern | FactorPlan | None = None, root: int = 0,
    *, block: int | None = None, platform: Platform | None = None, pool: Pool | None = None, trace: bool = False,
    progress: bool | Progress | None = None, check_finite: bool = True, timeout: float = TIMEOUT,
) -> Any:  # fmt: skip
    """The solution of A x = b by `lu_factor` and substitution; the factors stay on the ranks. All ranks must call it.

    Parameters
    ----------
    A : (n, n) array_like at the root, None elsewhere
    b : (n,) or (n, k) array_like at the root, None elsewhere
    comm, plan, root, block, platform, pool, trace, progress, check_finite, timeout :
        As of `lu_factor`.

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, of the shape of b; None in the place of each elsewhere.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank, if A is singular.
    ValueError, TypeError, LostRank
        As of `lu_factor`.
    """
    return _run(
        run_solve, (A, b), comm, plan, root, platform, pool, timeout, block=block, trace=trace, progress=progress,
        check_finite=check_finite,
    )  # fmt: skip


def cholesky(
    comm: Any, A: ArrayLike | None = None, plan: LuPattern | FactorPlan | None = None, root: int = 0, *, lower: bool = True,
    block: int | None = None, platform: Platform | None = None, pool: Pool | None = None, trace: bool = False,
    progress: bool | Progress | None = None, check_finite: bool = True, timeout: float = TIMEOUT,
) -> Any:  # fmt: skip
    """A = L L^H, or with lower=False U^H U, by block columns that the ranks own. All must call it.

    Parameters
    ----------
    A : (n, n) array_like at the root, None elsewhere
        Of which one triangle is read.
    lower : bool
    comm, plan, root, block, platform, pool, trace, progress, check_finite, timeout :
        As of `lu_factor`; of `hs.plan_factor` a plan of kind "cholesky".

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, with zeros in the other triangle; None in the place of each elsewhere.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank, if A is not positive definite.
    ValueError, TypeError, LostRank
        As of `lu_factor`.
    """
    return _run(
        run_cholesky, (A,), comm, plan, root, platform, pool, timeout, lower=lower, block=block, trace=trace, progress=progress,
        check_finite=check_finite,
    )  # fmt: skip


def _run(
    run: Callable[..., Any], given: tuple[Any, ...], comm: Any, plan: Any, root: int, platform: Platform | None,
    pool: Pool | None, timeout: float, **options: Any,
) -> Any:  # fmt: skip
    call = Call(comm, root, pool, timeout)
    with call.ranks as ranks:

        def checked() -> tuple[Any, ...]:
            for name, x in zip("Ab", given, strict=False):
                if x is not None and not call.at_root:
                    raise ValueError(f"{name} must be None on rank {ranks.rank}: it is at the root, rank {root}")
            return pools.here(), root, plan is not None or platform is not None

        places, roots, known = columns(ranks.agree(checked))
        call.require_one_root(roots)
        own = call.pool(places)
        times = (
            platform if known[root] else Platform.star(pools.cycle_times(ranks, own, _dtype(given[0])), names=pools.names(places))
        )
        return run(ranks, *given, own, plan, root=root, cycle_times=times, **options)


def _dtype(A: Any) -> np.dtype[Any]:
    """In which speeds are measured; a rank without the matrix takes float64."""
    found = getattr(A, "dtype", None)
    return found if found in DTYPES else np.dtype(np.float64)
