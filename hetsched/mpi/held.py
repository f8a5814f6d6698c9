"""Factorisations of matrices that the ranks hold as zones, and solves with the factors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from ..runners.lu import warn_singular
from ..runners.operands import as_array
from ..runners.pool import Pool
from . import pools
from .arguments import Call, agreed, columns, described
from .ranks import TIMEOUT, Ranks
from .zone_factor import ZoneFactor, zone_factor
from .zones import Zone

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Called with the right-hand sides (at the root), their number, the pool and the root.
Solve = Callable[..., None]
Factor = Callable[[Ranks, Pool], Any]


def lu_solve(
    comm: Any,
    lu_and_piv: tuple[Zone, NDArray[np.int32]],
    b: ArrayLike | None = None,
    root: int = 0,
    *,
    pool: Pool | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Solve A x = b with the factors that `lu_factor` left on the ranks. All ranks must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    lu_and_piv : (Zone, (n,) array)
        The result of `lu_factor` for a Zone, on every rank.
    b : (n,) or (n, k) array_like at the root, None elsewhere
    root, pool, timeout :
        See `lu_factor`.

    Returns
    -------
    ndarray
        At the root, with the shape of b and the dtype of the factors; None elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    """

    def prepared(ranks: Ranks) -> Solve:
        if not isinstance(lu_and_piv, tuple | list) or len(lu_and_piv) != 2:
            raise TypeError(
                "lu_and_piv must be the pair (Zone, pivots) that lu_factor returns, got"
                f" {type(lu_and_piv).__name__}"
            )
        factors = zone_factor("lu_and_piv[0]", lu_and_piv[0], ranks.size)
        n = lu_and_piv[0].shape[0]
        piv = check.integers("lu_and_piv[1]", lu_and_piv[1], low=0, high=n - 1)
        if piv.shape != (n,):
            raise ValueError(f"lu_and_piv[1] must be {n} pivots, got shape {piv.shape}")
        return partial(factors.lu_solve, ranks, np.append(piv, -1).astype(np.int32))

    return _solved(
        Call(comm, root, pool, timeout), "lu_and_piv[0]", lambda: lu_and_piv[0], b, prepared
    )


def cho_solve(
    comm: Any,
    L: Zone,
    b: ArrayLike | None = None,
    root: int = 0,
    *,
    pool: Pool | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Solve A x = b with the factor that `cholesky` left on the ranks. All ranks must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    L : Zone
        The result of `cholesky` for a Zone, on every rank. Only its lower triangle is read.
    b : (n,) or (n, k) array_like at the root, None elsewhere
    root, pool, timeout :
        See `lu_factor`.

    Returns
    -------
    ndarray
        At the root, with the shape of b and the dtype of L; None elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    LostRank
        See `matmul`.

    Examples
    --------
    >>> L = hs.mpi.cholesky(comm, zone)  # doctest: +SKIP
    >>> x = hs.mpi.cho_solve(comm, L, b)  # doctest: +SKIP
    """

    def prepared(ranks: Ranks) -> Solve:
        return partial(zone_factor("L", L, ranks.size).cholesky_solve, ranks)

    return _solved(Call(comm, root, pool, timeout), "L", lambda: L, b, prepared)


def _solved(
    call: Call,
    name: str,
    zone: Callable[[], Zone],
    b: ArrayLike | None,
    prepare: Callable[[Ranks], Solve],
) -> NDArray[Any] | None:
    """The solution at the root.

    prepare : called in the first agreement; checks the factors of this rank
    """
    with call.ranks as ranks:
        right: list[Any] = [None]
        mine: list[Solve] = []

        def checked() -> tuple[Any, ...]:
            mine.append(prepare(ranks))
            factors, cols = zone(), 0
            if call.at_root:
                given = as_array("b", [] if b is None else b)
                if not np.can_cast(given.dtype, factors.dtype, "same_kind"):
                    raise TypeError(
                        f"b has dtype {given.dtype}, which the factors of dtype {factors.dtype}"
                        " cannot solve for"
                    )
                given = np.array(given, factors.dtype)
                if given.ndim not in (1, 2) or given.shape[0] != factors.shape[0]:
                    raise ValueError(
                        f"b must have {factors.shape[0]} rows, got shape {given.shape}"
                    )
                right[0] = given
                cols = 1 if given.ndim == 1 else given.shape[1]
            shape = described(name, factors, ranks.rank, call.root)[1]
            return pools.here(), call.root, cols, shape

        places, roots, cols, shapes = columns(ranks.agree(checked))
        call.require_one_root(roots)
        agreed(name, shapes, call.root)
        width, x = cols[call.root], None
        if right[0] is not None:
            x = np.ascontiguousarray(right[0].reshape(len(right[0]), width))
        if width:
            mine[0](x, width, call.pool(places), call.root)
        return None if x is None else x.reshape(right[0].shape)


def lu_of_zone(
    comm: Any, A: Zone, root: int, pool: Pool | None, timeout: float
) -> tuple[Zone, NDArray[np.int32]]:
    """Implement `lu_factor` of a Zone."""
    call = Call(comm, root, pool, timeout)

    def prepared(ranks: Ranks) -> tuple[ZoneFactor, Factor]:
        factors = zone_factor("A", A, ranks.size)
        return factors, factors.lu

    found, pivots = _factored(call, A, prepared)
    if call.at_root and pivots[-1] >= 0:
        warn_singular(int(pivots[-1]), stacklevel=4)
    return found, pivots[:-1]


def cholesky_of_zone(
    comm: Any, A: Zone, root: int, lower: bool, pool: Pool | None, timeout: float
) -> Zone:
    """Implement `cholesky` of a Zone."""

    def prepared(ranks: Ranks) -> tuple[ZoneFactor, Factor]:
        if not check.flag("lower", lower):
            raise ValueError("lower must be True if A is a Zone: the ranks hold L")
        factors = zone_factor("A", A, ranks.size)
        return factors, factors.cholesky

    return _factored(Call(comm, root, pool, timeout), A, prepared)[0]


def _factored(
    call: Call, A: Zone, prepare: Callable[[Ranks], tuple[ZoneFactor, Factor]]
) -> tuple[Zone, Any]:
    """The factors as a Zone, and what the factorisation returns.

    prepare : called in the first agreement; checks the zone of this rank
    """
    with call.ranks as ranks:
        mine: list[tuple[ZoneFactor, Factor]] = []

        def checked() -> tuple[Any, ...]:
            mine.append(prepare(ranks))
            shape = described("A", A, ranks.rank, call.root)[1]
            return pools.here(), call.root, shape, True, None, None

        places, roots, shapes, zones, *_ = columns(ranks.agree(checked))
        call.require_one_root(roots)
        require_alike(zones)
        agreed("A", shapes, call.root)
        factors, factor = mine[0]
        value = factor(ranks, call.pool(places))
    return Zone(A.shape, A.boxes, A.rank, factors.parts(), A.dtype), value


def require_alike(zones: list[bool]) -> None:
    """Raise ValueError unless A is a Zone on all ranks or on none."""
    if len(set(zones)) > 1:
        raise ValueError(
            f"A must be a Zone on all ranks or on none, got one on rank {zones.index(True)}"
        )
