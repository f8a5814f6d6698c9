"""Which function runs which kind of plan on ranks, and what to use for the other kinds."""

from __future__ import annotations

from typing import Any

from ..planners.cuboids import Cuboids
from ..planners.distribute import Distribution
from ..planners.dynamic import DynamicProduct
from ..planners.factor import FactorPlan
from ..planners.layers import LayersPlan
from ..planners.lu_grid import LuGrid
from ..planners.lu_pattern import LuPattern
from ..planners.mesh import MeshPlan
from ..planners.partition import Partition
from ..planners.product import ProductPlan
from ..planners.profile_zones import ProfilePartition
from ..planners.reduction import ReductionPlan
from ..planners.ring import SliceRing
from ..planners.star import StarPlan
from ..planners.star_lu import StarLuPlan
from ..planners.stencil import StencilPlan
from ..planners.wavefront import Wavefront
from ..runners.bus import BusPlan

Boxes = (
    ProductPlan | Partition | ProfilePartition | Cuboids | DynamicProduct | LayersPlan | MeshPlan
)

#: For each kind of plan the functions of hetsched.mpi that run it, or what to use instead.
_USE: tuple[tuple[Any, str], ...] = (
    (Boxes | StarPlan, "hs.mpi.matmul"),
    (StarLuPlan, "hs.mpi.lu_factor"),
    (LuPattern | FactorPlan | LuGrid, "hs.mpi.lu_factor, solve or cholesky"),
    (StencilPlan | SliceRing, "hs.mpi.stencil"),
    (BusPlan, "hs.mpi.map_tasks"),
    (Wavefront, "hs.mpi.sweep"),
    (ReductionPlan, "Pool.run, on one machine"),
    (Distribution, "hs.mpi.scatter"),
)


def wrong_kind(plan: Any, what: str) -> TypeError:
    """The error for a plan of another kind, which says what to use for it.

    Parameters
    ----------
    what : str
        What the plan must be.
    """
    use = next((f": use {text}" for kinds, text in _USE if isinstance(plan, kinds)), "")
    return TypeError(f"plan must be {what}, got {type(plan).__name__}{use}")
