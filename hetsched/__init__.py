"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import _engine as _engine  # here: an engine that is not built is an error of the import

if TYPE_CHECKING:
    from . import datasets
    from .allocate import Distribution, DistributionStack, distribute
    from .array import Array, asarray
    from .assignment import Assignment, assign
    from .compare import compare_partitions
    from .cpus import Cache, Cpu
    from .cuboids import Cuboids, cuboids
    from .divisible import DivisibleLoad, divisible_load
    from .errors import EmulationWarning, InfeasibleError, TaskError
    from .farm import map_tasks
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

#: Where public names come from: the module is loaded when the first of them is asked for.
_PUBLIC = {
    "allocate": ("Distribution", "DistributionStack", "distribute"),
    "array": ("Array", "asarray"),
    "assignment": ("Assignment", "assign"),
    "compare": ("compare_partitions",),
    "cpus": ("Cache", "Cpu"),
    "cuboids": ("Cuboids", "cuboids"),
    "divisible": ("DivisibleLoad", "divisible_load"),
    "errors": ("EmulationWarning", "InfeasibleError", "TaskError"),
    "farm": ("map_tasks",),
    "files_plan": ("FilesPlan",),
    "layers": ("LayersPlan", "layers_star"),
    "lu": ("LuPlan", "plan_lu"),
    "lu_grid": ("LuGrid", "lu_grid"),
    "measure": ("AtOnce", "MeasuredPlatform", "SpeedProfile", "measure"),
    "mesh": ("MeshPlan", "layers_mesh", "layers_network"),
    "outofcore": ("FilesProduct", "matmul_files", "plan_files"),
    "partition": ("Partition", "partition"),
    "pattern": ("LuPattern", "lu_pattern"),
    "platform": ("Platform", "Worker"),
    "pool": ("Pool",),
    "product": ("ProductPlan",),
    "profile": ("ProfileDistribution", "distribute_profile"),
    "remap": ("Recut", "RentOrBuy"),
    "ring": ("RingProfile", "SliceRing", "ring_profile", "slice_ring"),
    "shared": ("det", "lu_factor", "lu_solve", "matmul", "solve"),
    "simulate": ("simulate",),
    "star": ("StarPlan", "plan_product"),
    "stencil": ("StencilPlan",),
    "sweep": ("Stencil",),
    "tasks": ("MaxTasks", "MinTime", "max_tasks", "min_time"),
    "topology": ("Topology", "topology"),
    "trace": ("Trace",),
    "wavefront": ("Wavefront", "wavefront"),
    "worth": ("WorkersWorth", "workers_worth"),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

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
    "ProfileDistribution",
    "Recut",
    "RentOrBuy",
    "RingProfile",
    "SliceRing",
    "SpeedProfile",
    "StarPlan",
    "Stencil",
    "StencilPlan",
    "TaskError",
    "Topology",
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
    "divisible_load",
    "layers_mesh",
    "layers_network",
    "layers_star",
    "lu_factor",
    "lu_grid",
    "lu_pattern",
    "lu_solve",
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


if not TYPE_CHECKING:  # to which any name would be a name of the package

    def __getattr__(name: str) -> Any:
        """Load what the name stands for: something public, or a module of the package (PEP 562)."""
        if name in _MODULE_OF:
            value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
            globals()[name] = value
            return value
        if name.isidentifier() and find_spec(f".{name}", __name__):
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        """A module that is loaded is bound to its name in the package; where that is the name of a function, the function is."""
        if isinstance(value, ModuleType) and name in _MODULE_OF:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """By name. Cloudpickle and dill do so with modules themselves, but only with those of no class of their own."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
