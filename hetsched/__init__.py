"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

from . import datasets
from .allocate import Distribution, DistributionStack, distribute
from .assignment import Assignment, assign
from .compare import compare_partitions
from .cuboids import Cuboids, cuboids
from .divisible import DivisibleLoad, divisible_load
from .errors import EmulationWarning, InfeasibleError, TaskError
from .farm import map_tasks
from .partition import Partition, partition
from .pattern import LuPattern, lu_pattern
from .platform import Platform, Worker
from .pool import Pool, matmul
from .product import ProductPlan
from .profile import ProfileDistribution, distribute_profile
from .remap import Recut, RentOrBuy
from .simulate import simulate
from .star import StarPlan, plan_product
from .sweep import Stencil
from .tasks import MaxTasks, MinTime, max_tasks, min_time
from .trace import Trace
from .wavefront import Wavefront, wavefront

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "Cuboids",
    "Distribution",
    "DistributionStack",
    "DivisibleLoad",
    "EmulationWarning",
    "InfeasibleError",
    "LuPattern",
    "MaxTasks",
    "MinTime",
    "Partition",
    "Platform",
    "Pool",
    "ProductPlan",
    "Recut",
    "RentOrBuy",
    "ProfileDistribution",
    "StarPlan",
    "Stencil",
    "TaskError",
    "Trace",
    "Wavefront",
    "Worker",
    "assign",
    "compare_partitions",
    "cuboids",
    "datasets",
    "distribute",
    "distribute_profile",
    "divisible_load",
    "lu_pattern",
    "map_tasks",
    "matmul",
    "max_tasks",
    "min_time",
    "partition",
    "plan_product",
    "simulate",
    "wavefront",
]
