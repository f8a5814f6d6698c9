"""Factorisations and solves on the ranks of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.progress import Progress
from .._engine.dtypes import DTYPES
from ..planners.factor import FactorPlan
from ..planners.lu_grid import LuGrid
from ..planners.lu_pattern import LuPattern
from ..planners.star_lu import StarLuPlan
from ..platform import Platform
from ..runners.pool import Pool
from . import pools
from .arguments import Call, columns
from .factor import run_cholesky, run_lu, run_solve
from .held import cholesky_of_zone, lu_of_zone, require_alike
from .measure import known_speeds
from .ranks import TIMEOUT
from .star_lu import run_star_lu
from .zones import Zone

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def lu_factor(
    comm: Any,
    A: ArrayLike | Zone | None = None,
    plan: LuPattern | FactorPlan | LuGrid | StarLuPlan | None = None,
    root: int = 0,
    *,
    block: int | None = None,
    platform: Platform | None = None,
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
    timeout: float = TIMEOUT,
) -> Any:
    """Factor P A = L U with exchanges of rows on the ranks.

    Each rank owns block columns or square blocks, or the root is the master of the other ranks. All
    ranks must call it. The factors have the form of `scipy.linalg.lu_factor`.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    A : (n, n) array_like at the root, None elsewhere; or on every rank its Zone
        float32, float64, complex64 or complex128; an integer array is converted to float64. A zone
        of block columns or square blocks comes from `scatter` with a LuPattern or a LuGrid. It is
        not modified.
    plan : LuPattern, FactorPlan, LuGrid or StarLuPlan at the root, optional
        Owners of the block columns, from `hs.lu_pattern` or `hs.plan_lu`, or of square blocks, from
        `hs.lu_grid`, for as many workers as there are ranks. Or a plan of `hs.plan_star_lu` for one
        worker less: the root is the master, which keeps the matrix, and the other ranks are the
        workers in their order.
    root : int
    block : int, optional
        Columns of a block. Default: the block width of the plan; without one 32 to 256, depending
        on the size and the number of ranks.
    platform : Platform at the root, optional
        Used only without a plan: the platform for `lu_pattern`, for example from `measure`.
        Default: speeds that all ranks find by brief test products.
    pool, trace, progress :
        See `matmul`.
    check_finite : bool
    timeout : float
        See `matmul`.

    Returns
    -------
    (lu, piv), or ((lu, piv), Trace)
        At the root; every other rank gets None in the place of each. If A is a Zone, every rank
        gets its result and lu is a Zone, for `lu_solve`; plan, block, platform, trace, progress
        and check_finite are then ignored.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument at the root is invalid.
    LostRank
        See `matmul`.

    Notes
    -----
    The algorithm is right-looking with look-ahead: the owner of the next panel updates and factors
    it before it updates the rest. It holds all rows of the panel, so it finds pivots without
    messages. Panels travel in a ring, and no rank waits for all ranks.

    By a LuGrid several ranks may own blocks of a panel. They choose its w pivot rows by a
    tournament: each factors its own rows with partial pivoting, and the pivot rows of two ranks are
    factored together, up to the root of a binary tree of height h (communication-avoiding LU,
    Grigori, Demmel, Xiang 2011). Elements of L are at most 2^(w h) in magnitude, where partial
    pivoting has 1; on random matrices the growth of both is about the same. The bytes of L, U and
    the diagonal blocks are the `traffic` of the plan. Pivots, candidates and exchanged rows are
    sent besides.

    By a StarLuPlan the root factors the panels, and the workers compute the products of the steps;
    their messages have the bytes of the plan.
    """
    if isinstance(A, Zone):
        return lu_of_zone(comm, A, root, pool, timeout)
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
        stacklevel=5,
    )


def solve(
    comm: Any,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    plan: LuPattern | FactorPlan | LuGrid | None = None,
    root: int = 0,
    *,
    block: int | None = None,
    platform: Platform | None = None,
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
    timeout: float = TIMEOUT,
) -> Any:
    """Solve A x = b by `lu_factor` and substitution; the factors stay on the ranks.

    All ranks must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    A : (n, n) array_like at the root, None elsewhere
    b : (n,) or (n, k) array_like at the root, None elsewhere
    plan, root, block, platform, pool, trace, progress, check_finite, timeout :
        See `lu_factor`.

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, with the shape of b; every other rank gets None in the place of each.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank, if A is singular.
    ValueError, TypeError, LostRank
        See `lu_factor`.
    """
    return _run(
        run_solve,
        (A, b),
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


def cholesky(
    comm: Any,
    A: ArrayLike | Zone | None = None,
    plan: LuPattern | FactorPlan | LuGrid | None = None,
    root: int = 0,
    *,
    lower: bool = True,
    block: int | None = None,
    platform: Platform | None = None,
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
    timeout: float = TIMEOUT,
) -> Any:
    """Factor A = L L^H, or U^H U with lower=False, on the ranks.

    Each rank owns block columns or square blocks. All ranks must call it.

    Parameters
    ----------
    A : (n, n) array_like at the root, None elsewhere; or on every rank its Zone
        Only one triangle is read. A zone comes from `scatter` with a LuPattern or LuGrid and is not
        modified.
    lower : bool
        It must be True for zones: they hold L.
    comm, plan, root, block, platform, pool, trace, progress, check_finite, timeout :
        See `lu_factor`. A plan of `hs.plan_factor` must be of kind "cholesky".

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, with zeros in the other triangle; every other rank gets None in the place of
        each. If A is a Zone, every rank gets its Zone of L, for `cho_solve`; plan, block, platform,
        trace, progress and check_finite are then ignored.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank, if A is not positive definite.
    ValueError, TypeError, LostRank
        See `lu_factor`.
    """
    if isinstance(A, Zone):
        return cholesky_of_zone(comm, A, root, lower, pool, timeout)
    return _run(
        run_cholesky,
        (A,),
        comm,
        plan,
        root,
        platform,
        pool,
        timeout,
        lower=lower,
        block=block,
        trace=trace,
        progress=progress,
        check_finite=check_finite,
    )


def _run(
    run: Callable[..., Any],
    given: tuple[Any, ...],
    comm: Any,
    plan: Any,
    root: int,
    platform: Platform | None,
    pool: Pool | None,
    timeout: float,
    **options: Any,
) -> Any:
    call = Call(comm, root, pool, timeout)
    with call.ranks as ranks:

        def checked() -> tuple[Any, ...]:
            for name, x in zip("Ab", given, strict=False):
                if x is not None and not call.at_root:
                    raise ValueError(
                        f"{name} must be None on rank {ranks.rank}: it is at the root, rank {root}"
                    )
                if x is None and call.at_root:
                    raise ValueError(f"{name} must be given at the root, rank {root}")
            return (
                pools.here(),
                root,
                plan is not None or platform is not None,
                False,
                _dtype(given[0]),
                isinstance(plan, StarLuPlan),
            )

        places, roots, known, zones, dtypes, stars = columns(ranks.agree(checked))
        call.require_one_root(roots)
        require_alike(zones)
        own, times = call.pool(places), platform
        if not known[root]:
            times = Platform.star(
                known_speeds(ranks, own, dtypes[root], root)[0], names=pools.names(places)
            )
        if run is run_lu and stars[root]:
            run = run_star_lu
        return run(ranks, *given, own, plan, root=root, cycle_times=times, **options)


def _dtype(A: Any) -> np.dtype[Any]:
    """The dtype in which speeds are measured, if A is the matrix at the root."""
    found = getattr(A, "dtype", None)
    return found if found in DTYPES else np.dtype(np.float64)
