"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

from typing import TYPE_CHECKING, Any

from . import datasets
from .allocate import Distribution, DistributionStack, distribute
from .array import Array, asarray
from .assignment import Assignment, assign
from .compare import compare_partitions
from .cpus import Cache, Cpu
from .cuboids import Cuboids, cuboids
from .divisible import DivisibleLoad, divisible_load
from .errors import EmulationWarning, InfeasibleError, TaskError
from .files_plan import FilesPlan
from .layers import LayersPlan, layers_star
from .lu import LuPlan, plan_lu
from .lu_grid import LuGrid, lu_grid
from .measure import AtOnce, MeasuredPlatform, SpeedProfile, measure
from .mesh import MeshPlan, layers_mesh, layers_network
from .outofcore import FilesProduct, matmul_files, plan_files
from .partition import Partition, partition
from .pattern import LuPattern, lu_pattern
from .platform import Platform, Worker
from .pool import Pool
from .product import ProductPlan
from .profile import ProfileDistribution, distribute_profile
from .remap import Recut, RentOrBuy
from .ring import RingProfile, SliceRing, ring_profile, slice_ring
from .shared import det, lu_factor, lu_solve, matmul, solve
from .simulate import simulate
from .star import StarPlan, plan_product
from .stencil import StencilPlan
from .sweep import Stencil
from .tasks import MaxTasks, MinTime, max_tasks, min_time
from .topology import Topology, topology
from .trace import Trace
from .wavefront import Wavefront, wavefront
from .worth import WorkersWorth, workers_worth

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .farm import map_tasks


def __getattr__(name: str) -> Any:
    """What needs multiprocessing is imported when it is asked for."""
    if name == "map_tasks":
        from .farm import map_tasks

        return map_tasks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Array",
    "Assignment",
    "AtOnce",
    "Cache",
    "Cpu",
    "Cuboids",
    "Distribution",
    "DistributionStack",
    "DivisibleLoad",
    "EmulationWarning",
    "FilesPlan",
    "FilesProduct",
    "InfeasibleError",
    "LayersPlan",
    "LuGrid",
    "LuPattern",
    "LuPlan",
    "MaxTasks",
    "MeasuredPlatform",
    "MeshPlan",
    "MinTime",
    "Partition",
    "Platform",
    "Pool",
    "ProductPlan",
    "Recut",
    "RentOrBuy",
    "ProfileDistribution",
    "RingProfile",
    "SliceRing",
    "SpeedProfile",
    "StarPlan",
    "Stencil",
    "StencilPlan",
    "Topology",
    "TaskError",
    "Trace",
    "Wavefront",
    "Worker",
    "WorkersWorth",
    "asarray",
    "assign",
    "compare_partitions",
    "cuboids",
    "datasets",
    "det",
    "distribute",
    "distribute_profile",
    "layers_star",
    "layers_mesh",
    "layers_network",
    "lu_factor",
    "lu_grid",
    "lu_pattern",
    "lu_solve",
    "divisible_load",
    "lu_pattern",
    "map_tasks",
    "matmul",
    "matmul_files",
    "max_tasks",
    "measure",
    "min_time",
    "partition",
    "plan_files",
    "plan_lu",
    "plan_product",
    "ring_profile",
    "simulate",
    "slice_ring",
    "solve",
    "topology",
    "wavefront",
    "workers_worth",
]
