"""Plans on the ranks of an MPI communicator. mpi4py is imported at the first call of a function."""

from .exports import Tiles, tiles
from .files import RanksProduct, matmul_files
from .held import cho_solve, lu_solve
from .linalg import agree, gather, matmul, scatter
from .loop import LostRank
from .measure import MeasuredRanks, measure
from .replay import save_replay
from .ring import Sweep, load_checkpoint, stencil
from .sweep import sweep
from .systems import cholesky, lu_factor, solve
from .tasks import map_tasks
from .workers import Workers
from .zones import Zone

__all__ = [
    "LostRank",
    "MeasuredRanks",
    "RanksProduct",
    "Sweep",
    "Tiles",
    "Workers",
    "Zone",
    "agree",
    "cho_solve",
    "cholesky",
    "gather",
    "load_checkpoint",
    "lu_factor",
    "lu_solve",
    "map_tasks",
    "matmul",
    "matmul_files",
    "measure",
    "save_replay",
    "scatter",
    "solve",
    "stencil",
    "sweep",
    "tiles",
]
