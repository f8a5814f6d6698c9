"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

from .allocate import Distribution, distribute
from .cuboids import Cuboids, cuboids
from .errors import EmulationWarning, InfeasibleError
from .partition import Partition, partition
from .platform import Platform, Worker
from .pool import Pool, matmul
from .product import ProductPlan
from .simulate import simulate
from .trace import Trace

__version__ = "0.1.0"

__all__ = [
    "Cuboids",
    "Distribution",
    "EmulationWarning",
    "InfeasibleError",
    "Partition",
    "Platform",
    "Pool",
    "ProductPlan",
    "Trace",
    "Worker",
    "cuboids",
    "distribute",
    "matmul",
    "partition",
    "simulate",
]
