"""A product planned by its sizes, for any star: in boxes, or in chunks if memory is limited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._base import check
from .._engine.dtypes import DTYPES, flops_per_update
from .._engine.partition import PROFILES
from ..platform import Platform, Unit, as_platform
from .product import ProductPlan
from .product_methods import METHODS as BOXES
from .product_methods import plan_boxes, plan_of_profile
from .profile_zones import ZoneProfile, partition_profile
from .star import METHODS as CHUNKS
from .star import StarPlan, plan_product

#: Side of blocks in the 2008 paper.
_USUAL = 80


@overload
def plan_matmul(
    m: int, n: int, k: int, platform: Platform | ArrayLike, *,
    method: str = "best", block: int | None = None, communication: str = "once",
    dtype: DTypeLike = np.float64, deterministic: bool = False,
) -> ProductPlan | StarPlan: ...  # fmt: skip
@overload
def plan_matmul(
    m: Sequence[int], n: Sequence[int], platform: Platform | ArrayLike, /, *,
    method: str = "best", block: int | None = None, communication: str = "once",
    dtype: DTypeLike = np.float64, deterministic: bool = False,
) -> ProductPlan | StarPlan: ...  # fmt: skip
@overload
def plan_matmul(
    m: int | Sequence[int], n: int | Sequence[int], k: int | None = None,
    platform: Platform | None = None, *, profiles: Sequence[ZoneProfile],
    method: str = "best", block: int | None = None, communication: str = "once",
    dtype: DTypeLike = np.float64, deterministic: bool = False,
) -> ProductPlan: ...  # fmt: skip
def plan_matmul(
    m: Any,
    n: Any,
    k: Any = None,
    platform: Any = None,
    *,
    profiles: Sequence[ZoneProfile] | None = None,
    method: str = "best",
    block: int | None = None,
    communication: str = "once",
    dtype: DTypeLike = np.float64,
    deterministic: bool = False,
) -> ProductPlan | StarPlan:
    """Plan C (m x n) = A (m x k) B (k x n) without a pool. `Pool.run` runs the plan.

    Parameters
    ----------
    m, n, k : int
        Sizes in elements, >= 0; >= 1 if memory is limited. In place of the three, the shapes of A
        and B: `plan_matmul(A.shape, B.shape, platform)`.
    platform : Platform or (p,) array_like
        A star, or the cycle-times of its workers. Its times are in seconds per gigaflop and per
        gigabyte, also if it has no unit, or in another unit that can be converted. Limited memory
        is counted in blocks. With profiles it is optional, a star that only has link costs and
        names.
    profiles : (p,) sequence, optional
        The seconds that each worker takes for its zone, by the zone's height and width in blocks,
        over the whole depth k: see `partition_profile`. The plan has one zone for each worker at
        most, and each worker has the cycle-time that its zone implies. Zones are chosen without the
        transfers.
    method : str
        "best" is the best of the methods that "auto" of `Pool.plan` tries (`plan.tried`), which
        give every worker its boxes at once. If the platform limits the memory of a worker, it is
        the best of `plan_product`, whose methods send panels when there is room for them. Any
        method of either can be named; a method of `Pool.plan` ignores the limits of memory. With
        profiles, a method of `partition_profile`.
    block : int, optional
        Boxes are cut at multiples of it; default 1. For a plan of `plan_product`, the side of its
        blocks. It must be given if memory is limited, unless the platform's unit is a block update
        with known flops. Without limits it is 80, or less for small products.
    communication : str
        For boxes, see `Pool.plan`.
    dtype : dtype_like
        float32, float64, complex64 or complex128.
    deterministic : bool
        Whether only zones of C are allowed. Their product has the same bits for all workers and
        speeds. Then "best" does not try "layers" and "cuboids", which divide the inner dimension.
        These two, "cannon", and communication in steps are refused. So is limited memory, because
        the inner dimension is then divided by what a worker holds.

    Returns
    -------
    ProductPlan or StarPlan
        A StarPlan is in seconds too.

    Raises
    ------
    ValueError, TypeError
        The message names the argument; for units that cannot be converted, it names both.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.star([3, 5, 8])
    >>> hs.plan_matmul(
    ...     1000, 1000, 1000, platform, method="columns"
    ... )  # doctest: +NORMALIZE_WHITESPACE
    <ProductPlan: makespan 3.04, lower bound 3.03797, gap 0.07%, optimal among slices into block
    columns (columns); cycle-times 3, 5, 8 get shares 50.6%, 30.4%, 19.0%, imbalance 1.001>
    >>> platform = hs.Platform.star([0.003, 0.005], link_costs=[0.001, 0.002], memory=[12, 21])
    >>> type(hs.plan_matmul(640, 320, 240, platform, block=80)).__name__
    'StarPlan'
    """
    if isinstance(m, Platform):
        raise TypeError("platform comes last: plan_matmul(m, n, k, platform)")
    if platform is None and isinstance(m, Sequence) or isinstance(k, Platform):  # two shapes
        k, platform = None, k
    if profiles is not None:
        return _by_profiles(m, n, k, platform, profiles, method, block, communication, dtype)
    m, n, k = check.product_sizes(m, n, k)
    platform = as_platform("platform", platform)
    check.choice("method", method, dict.fromkeys(("best", *BOXES, *CHUNKS)))
    kind = check.dtype(dtype, DTYPES)
    limited = any(memory is not None for memory in platform.memory)
    if method in CHUNKS or (limited and method == "best"):
        if communication != "once":
            raise ValueError(
                f"communication is for boxes only, got {communication!r} for a plan of panels"
            )
        if check.flag("deterministic", deterministic):
            raise ValueError("deterministic=True is for boxes, not for a plan of panels")
        check.product_sizes(m, n, k, low=1)  # the master has something to send
        q = (
            _side(platform, kind, limited, min(m, n))
            if block is None
            else check.integer("block", block, low=1, high=2**31 - 1)
        )
        if platform.unit is None:
            platform = Platform(
                platform.workers, platform.links, shape=platform.shape, unit=Unit.gigaflop()
            )
        blocks: Platform = platform.per(Unit.block_update(q, kind), "a plan in blocks")
        return plan_product(-(-m // q), -(-n // q), -(-k // q), blocks, method)
    return plan_boxes(
        m,
        n,
        k,
        platform,
        method="auto" if method == "best" else method,
        block=1 if block is None else block,
        communication=communication,
        itemsize=kind.itemsize,
        flops_per_update=flops_per_update(kind),
        deterministic=deterministic,
    )


def _by_profiles(
    m: Any,
    n: Any,
    k: Any,
    platform: Any,
    profiles: Sequence[ZoneProfile],
    method: str,
    block: int | None,
    communication: str,
    dtype: DTypeLike,
) -> ProductPlan:
    m, n, k = check.product_sizes(m, n, k, low=1)
    kind = check.dtype(dtype, DTYPES)
    check.choice("method", method, PROFILES)
    check.choice("communication", communication, ("once",))
    if platform is not None:
        platform = as_platform("platform", platform)
        if any(memory is not None for memory in platform.memory):
            raise ValueError(
                "platform must have no memory limits with profiles: zones that do not fit have"
                " infinite times"
            )
    q = 1 if block is None else check.integer("block", block, low=1)
    zones = partition_profile((-(-m // q), -(-n // q)), profiles, method)
    return plan_of_profile(zones, m, n, k, platform, kind.itemsize, flops_per_update(kind), q)


def _side(platform: Platform, dtype: np.dtype[np.generic], limited: bool, least: int) -> int:
    """Side of the blocks that the platform's unit implies, or a usual one.

    limited : whether memory is limited.
    least : the shorter side of C, which gets at least ten blocks, unless blocks are 80 long.
    """
    unit = platform.unit
    if unit is not None and unit.bytes is not None:
        q = math.isqrt(round(unit.bytes / dtype.itemsize))
        if q and unit == Unit.block_update(q, dtype):
            return q
    if limited:
        raise ValueError(
            "block must be given: the memory of workers is counted in blocks, and the platform's"
            " unit does not imply their side"
        )
    return max(1, min(_USUAL, least // 10))
