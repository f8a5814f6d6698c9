"""Factorisations of matrices that the ranks hold by block columns, and solves with the factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from ..runners.lu import warn_singular
from ..runners.operands import as_array
from ..runners.pool import Pool
from . import pools
from .arguments import Call, agreed, columns, described
from .cholesky_held import cholesky_held, cholesky_solve_held
from .columns import Columns
from .factor import lu_held, solve_held
from .ranks import TIMEOUT, Ranks
from .windows import Array
from .zones import Zone

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
    pivots: list[NDArray[np.int32]] = []

    def find() -> Any:
        zone = lu_and_piv[0]
        n = zone.shape[1] if isinstance(zone, Zone) else 0
        piv = check.integers("lu_and_piv[1]", lu_and_piv[1], low=0, high=max(n - 1, 0))
        if isinstance(zone, Zone) and piv.shape != (n,):
            raise ValueError(f"lu_and_piv[1] must be {n} pivots, got shape {piv.shape}")
        pivots.append(np.append(piv, -1).astype(np.int32))
        return zone

    def solve(ranks: Ranks, held: Columns, own: Array, *rest: Any) -> None:
        solve_held(ranks, held, own, pivots[0], *rest)

    return _solved(Call(comm, root, pool, timeout), "lu_and_piv[0]", find, b, solve)


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
    return _solved(Call(comm, root, pool, timeout), "L", lambda: L, b, cholesky_solve_held)


def _solved(
    call: Call,
    name: str,
    find: Callable[[], Any],
    b: ArrayLike | None,
    solve: Callable[..., None],
) -> NDArray[Any] | None:
    """The solution at the root.

    find : returns the factors on this rank. It is called in the first agreement.
    solve : called with the arguments of `cholesky_solve_held`
    """
    with call.ranks as ranks:
        right: list[Any] = [None]
        mine: list[Any] = []

        def checked() -> tuple[Any, ...]:
            zone = find()
            held, own = _block_columns(name, zone, ranks)
            cols = 0
            if call.at_root:
                given = np.array(as_array("b", [] if b is None else b), own.dtype)
                if given.ndim not in (1, 2) or given.shape[0] != held.n:
                    raise ValueError(f"b must have {held.n} rows, got shape {given.shape}")
                right[0] = given
                cols = 1 if given.ndim == 1 else given.shape[1]
            mine.extend((held, own))
            shape = described(name, zone, ranks.rank, call.root)[1]
            return pools.here(), call.root, cols, shape

        places, roots, cols, shapes = columns(ranks.agree(checked))
        call.require_one_root(roots)
        agreed(name, shapes, call.root)
        held, own = mine
        x = None if right[0] is None else np.ascontiguousarray(right[0].reshape(held.n, -1))
        if cols[call.root]:
            solve(ranks, held, own, x, cols[call.root], call.pool(places), call.root)
        return None if x is None else x.reshape(right[0].shape)


def lu_of_zone(
    comm: Any, A: Zone, root: int, pool: Pool | None, timeout: float
) -> tuple[Zone, NDArray[np.int32]]:
    """Implement `lu_factor` of a Zone."""
    call = Call(comm, root, pool, timeout)
    found, pivots = _factored(call, A, lu_held)
    if call.at_root and pivots[-1] >= 0:
        warn_singular(int(pivots[-1]), stacklevel=4)
    return found, pivots[:-1]


def cholesky_of_zone(
    comm: Any, A: Zone, root: int, lower: bool, pool: Pool | None, timeout: float
) -> Zone:
    """Implement `cholesky` of a Zone."""

    def checked() -> None:
        if not check.flag("lower", lower):
            raise ValueError("lower must be True if A is a Zone: the ranks hold L")

    return _factored(Call(comm, root, pool, timeout), A, cholesky_held, checked)[0]


def _factored(
    call: Call,
    A: Zone,
    factor: Callable[[Ranks, Columns, Array, Pool], Any],
    check_more: Callable[[], None] = lambda: None,
) -> tuple[Zone, Any]:
    """The factors as a Zone, and what `factor` returns."""
    with call.ranks as ranks:
        mine: list[Any] = []

        def checked() -> tuple[Any, ...]:
            check_more()
            mine.extend(_block_columns("A", A, ranks))
            shape = described("A", A, ranks.rank, call.root)[1]
            return pools.here(), call.root, shape, True, None, None

        places, roots, shapes, zones, *_ = columns(ranks.agree(checked))
        call.require_one_root(roots)
        require_alike(zones)
        agreed("A", shapes, call.root)
        held, own = mine
        value = factor(ranks, held, own, call.pool(places))
    cuts = np.cumsum([part.shape[1] for part in A.parts])[:-1]
    parts = tuple(np.split(own, cuts, axis=1)) if A.parts else ()
    return Zone(A.shape, A.boxes, A.rank, parts, A.dtype), value


def _block_columns(name: str, zone: Any, ranks: Ranks) -> tuple[Columns, NDArray[Any]]:
    """The owners of the block columns, and a row-major copy of this rank's columns side by side."""
    if not isinstance(zone, Zone):
        raise TypeError(f"{name} must be a Zone, got {type(zone).__name__}")
    n, boxes = zone.shape[1], zone.boxes[np.argsort(zone.boxes[:, 2], kind="stable")]
    if zone.shape[0] != n or n == 0:
        raise ValueError(f"{name} must be square with at least one row, got shape {zone.shape}")
    block = int(boxes[0, 4])
    whole = (boxes[:, 1] == 0).all() and (boxes[:, 3] == n).all()
    if (
        not whole
        or (boxes[:, 2] != block * np.arange(len(boxes))).any()
        or (np.diff(zone.own[:, 2]) <= 0).any()
    ):
        raise ValueError(
            f"{name} must be held by block columns of one width, as from scatter with a LuPattern"
        )
    own = np.concatenate(zone.parts, axis=1) if zone.parts else np.empty((n, 0), zone.dtype)
    return Columns(n, block, boxes[:, 0].astype(np.int32), ranks.size), np.ascontiguousarray(own)


def require_alike(zones: list[bool]) -> None:
    """Raise ValueError unless A is a Zone on all ranks or on none."""
    if len(set(zones)) > 1:
        raise ValueError(
            f"A must be a Zone on all ranks or on none, got one on rank {zones.index(True)}"
        )
