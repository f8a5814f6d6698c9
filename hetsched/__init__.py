"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

from .allocate import Distribution, distribute
from .errors import EmulationWarning, InfeasibleError
from .partition import Partition, partition
from .platform import Platform, Worker
from .pool import Pool, matmul
from .product import ProductPlan
from .simulate import simulate
from .sweep import Stencil
from .trace import Trace
from .wavefront import Wavefront, wavefront

__version__ = "0.1.0"

__all__ = [
    "Distribution",
    "EmulationWarning",
    "InfeasibleError",
    "Partition",
    "Platform",
    "Pool",
    "ProductPlan",
    "Stencil",
    "Trace",
    "Wavefront",
    "Worker",
    "distribute",
    "matmul",
    "partition",
    "simulate",
    "wavefront",
]
