"""hetsched: plan, certify, simulate and run dense linear algebra on processors of unequal speed."""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

# imported here, so that an engine that is not built is an error of the import
from . import _engine as _engine
from ._base.version import __version__ as __version__

if TYPE_CHECKING:
    from . import datasets
    from ._engine.kernels import Blocking
    from .errors import EmulationWarning, InfeasibleError, TaskError
    from .files.plan import FilesPlan
    from .files.product import FilesProduct, matmul_files, plan_files
    from .machine.cpus import Cache, Cpu
    from .machine.domains import Domain
    from .machine.limits import thread_limit
    from .machine.measure import AtOnce, MeasuredPlatform, SpeedProfile, measure
    from .machine.topology import Topology, topology
    from .machine.zones import measure_zones
    from .plan import Certificate, Plan, simulate
    from .planners.assignment import Assignment, assign
    from .planners.compare import compare_partitions
    from .planners.cuboids import Cuboids, cuboids
    from .planners.distribute import Distribution, DistributionStack, distribute
    from .planners.divisible import DivisibleLoad, divisible_load
    from .planners.dynamic import DynamicProduct, dynamic_product
    from .planners.factor import FactorPlan, plan_factor, plan_lu
    from .planners.layers import LayersPlan, layers_star
    from .planners.lu_grid import LuGrid, lu_grid
    from .planners.lu_pattern import LuPattern, lu_pattern
    from .planners.matmul import plan_matmul
    from .planners.mesh import InstallmentPlan, MeshPlan, layers_mesh, layers_network
    from .planners.partition import Partition, Recut, partition
    from .planners.product import ProductPlan
    from .planners.profile import ProfileDistribution, distribute_profile
    from .planners.profile_zones import ProfilePartition, partition_profile
    from .planners.redistribute import Redistribution, RingMessage, redistribute
    from .planners.reduction import ReductionPlan, plan_reduction
    from .planners.remap import RentOrBuy
    from .planners.replan import replan
    from .planners.ring import RingProfile, SliceRing, ring_profile, slice_ring
    from .planners.shared_ring import shared_ring
    from .planners.stacked import PlanStack
    from .planners.star import StarPlan, plan_product
    from .planners.star_lu import StarLuPlan, plan_star_lu
    from .planners.stencil import StencilPlan
    from .planners.tasks import MaxTasks, MinTime, max_tasks, min_time
    from .planners.wavefront import Wavefront, wavefront
    from .planners.worth import WorkersWorth, workers_worth
    from .platform import Platform, Unit, Worker
    from .runners.array import Array, asarray
    from .runners.coverage import Coverage, coverage
    from .runners.layers import LayerFiles
    from .runners.linalg import (
        cho_factor,
        cho_solve,
        cholesky,
        cond,
        det,
        eigh,
        eigvalsh,
        inv,
        lstsq,
        lu_factor,
        lu_solve,
        matrix_rank,
        norm,
        null_space,
        orth,
        pinv,
        qr,
        slogdet,
        solve,
        solve_triangular,
        svd,
        svdvals,
    )
    from .runners.lstsq import LeastSquares
    from .runners.pool import Pool
    from .runners.recurrence import Stencil
    from .runners.shared import gram, matmul
    from .runners.tasks import map_tasks
    from .studies.study import study
    from .trace import Trace

#: Modules of the public names; a module is loaded when the first of its names is asked for.
_PUBLIC = {
    "_engine.kernels": ("Blocking",),
    "errors": ("EmulationWarning", "InfeasibleError", "TaskError"),
    "files.plan": ("FilesPlan",),
    "files.product": ("FilesProduct", "matmul_files", "plan_files"),
    "machine.cpus": ("Cache", "Cpu"),
    "machine.domains": ("Domain",),
    "machine.limits": ("thread_limit",),
    "machine.measure": ("AtOnce", "MeasuredPlatform", "SpeedProfile", "measure"),
    "machine.topology": ("Topology", "topology"),
    "machine.zones": ("measure_zones",),
    "plan": ("Certificate", "Plan", "simulate"),
    "planners.assignment": ("Assignment", "assign"),
    "planners.compare": ("compare_partitions",),
    "planners.cuboids": ("Cuboids", "cuboids"),
    "planners.distribute": ("Distribution", "DistributionStack", "distribute"),
    "planners.divisible": ("DivisibleLoad", "divisible_load"),
    "planners.dynamic": ("DynamicProduct", "dynamic_product"),
    "planners.layers": ("LayersPlan", "layers_star"),
    "planners.factor": ("FactorPlan", "plan_factor", "plan_lu"),
    "planners.lu_grid": ("LuGrid", "lu_grid"),
    "planners.lu_pattern": ("LuPattern", "lu_pattern"),
    "planners.matmul": ("plan_matmul",),
    "planners.mesh": ("InstallmentPlan", "MeshPlan", "layers_mesh", "layers_network"),
    "planners.partition": ("Partition", "Recut", "partition"),
    "planners.product": ("ProductPlan",),
    "planners.profile": ("ProfileDistribution", "distribute_profile"),
    "planners.profile_zones": ("ProfilePartition", "partition_profile"),
    "planners.reduction": ("ReductionPlan", "plan_reduction"),
    "planners.redistribute": ("Redistribution", "RingMessage", "redistribute"),
    "planners.remap": ("RentOrBuy",),
    "planners.replan": ("replan",),
    "planners.ring": ("RingProfile", "SliceRing", "ring_profile", "slice_ring"),
    "planners.shared_ring": ("shared_ring",),
    "planners.stacked": ("PlanStack",),
    "planners.star": ("StarPlan", "plan_product"),
    "planners.star_lu": ("StarLuPlan", "plan_star_lu"),
    "planners.stencil": ("StencilPlan",),
    "planners.tasks": ("MaxTasks", "MinTime", "max_tasks", "min_time"),
    "planners.wavefront": ("Wavefront", "wavefront"),
    "planners.worth": ("WorkersWorth", "workers_worth"),
    "platform": ("Platform", "Unit", "Worker"),
    "runners.array": ("Array", "asarray"),
    "runners.coverage": ("Coverage", "coverage"),
    "runners.linalg": (
        "cho_factor",
        "cho_solve",
        "cholesky",
        "cond",
        "det",
        "eigh",
        "eigvalsh",
        "inv",
        "lstsq",
        "lu_factor",
        "lu_solve",
        "matrix_rank",
        "norm",
        "null_space",
        "orth",
        "pinv",
        "qr",
        "slogdet",
        "solve",
        "solve_triangular",
        "svd",
        "svdvals",
    ),
    "runners.layers": ("LayerFiles",),
    "runners.lstsq": ("LeastSquares",),
    "runners.pool": ("Pool",),
    "runners.recurrence": ("Stencil",),
    "runners.shared": ("gram", "matmul"),
    "runners.tasks": ("map_tasks",),
    "studies.study": ("study",),
    "trace": ("Trace",),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "Array",
    "Assignment",
    "AtOnce",
    "Blocking",
    "Cache",
    "Certificate",
    "Cpu",
    "Coverage",
    "Cuboids",
    "Distribution",
    "DistributionStack",
    "DivisibleLoad",
    "Domain",
    "DynamicProduct",
    "EmulationWarning",
    "FilesPlan",
    "FilesProduct",
    "InfeasibleError",
    "InstallmentPlan",
    "LayerFiles",
    "LayersPlan",
    "LeastSquares",
    "LuGrid",
    "LuPattern",
    "FactorPlan",
    "MaxTasks",
    "MeasuredPlatform",
    "MeshPlan",
    "MinTime",
    "Partition",
    "Plan",
    "PlanStack",
    "Platform",
    "Pool",
    "ProductPlan",
    "ProfileDistribution",
    "ProfilePartition",
    "Recut",
    "Redistribution",
    "ReductionPlan",
    "RentOrBuy",
    "RingMessage",
    "RingProfile",
    "SliceRing",
    "SpeedProfile",
    "StarLuPlan",
    "StarPlan",
    "Stencil",
    "StencilPlan",
    "TaskError",
    "Topology",
    "Trace",
    "Unit",
    "Wavefront",
    "Worker",
    "WorkersWorth",
    "asarray",
    "assign",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "compare_partitions",
    "cond",
    "coverage",
    "cuboids",
    "datasets",
    "det",
    "distribute",
    "distribute_profile",
    "divisible_load",
    "dynamic_product",
    "eigh",
    "eigvalsh",
    "gram",
    "inv",
    "layers_mesh",
    "layers_network",
    "layers_star",
    "lstsq",
    "lu_factor",
    "lu_grid",
    "lu_pattern",
    "lu_solve",
    "map_tasks",
    "matmul",
    "matmul_files",
    "matrix_rank",
    "max_tasks",
    "measure",
    "measure_zones",
    "min_time",
    "norm",
    "null_space",
    "orth",
    "partition",
    "partition_profile",
    "pinv",
    "plan_factor",
    "plan_files",
    "plan_lu",
    "plan_matmul",
    "plan_product",
    "plan_reduction",
    "plan_star_lu",
    "qr",
    "redistribute",
    "replan",
    "ring_profile",
    "shared_ring",
    "simulate",
    "slice_ring",
    "slogdet",
    "solve",
    "solve_triangular",
    "study",
    "svd",
    "svdvals",
    "thread_limit",
    "topology",
    "wavefront",
    "workers_worth",
]


if not TYPE_CHECKING:  # a type checker would take any name for a name of the package
    _loading = Lock()

    def __getattr__(name: str) -> Any:
        """Load a public name, or a module of the package (PEP 562)."""
        if name in _MODULE_OF:
            # threads that import NumPy together could see half of it: it imports itself in circles
            with _loading:
                import_module("numpy.typing")
            value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
            globals()[name] = value
            return value
        if name.isidentifier() and find_spec(f".{name}", __name__):
            return import_module(f".{name}", __name__)
        # with these two, Python suggests a similar name
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )


if "threadpoolctl" in sys.modules:  # otherwise this happens when the shared pool is first used
    # threadpoolctl is too old to be told of other libraries
    with suppress(ImportError, AttributeError):
        import_module(".runners.threadpool", __name__)


def __dir__() -> list[str]:
    return sorted({*__all__, "mpi", *(name for name in globals() if name.startswith("__"))})
