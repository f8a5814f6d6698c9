"""Plans on the ranks of an MPI communicator. mpi4py is imported when the first of these functions is called."""

from .files import RanksProduct, matmul_files
from .linalg import agree, gather, matmul, scatter
from .loop import LostRank
from .measure import MeasuredRanks, measure
from .systems import cholesky, lu_factor, solve
from .workers import Workers
from .zones import Zone

__all__ = [
    "LostRank",
    "MeasuredRanks",
    "RanksProduct",
    "Workers",
    "Zone",
    "agree",
    "cholesky",
    "gather",
    "lu_factor",
    "matmul",
    "matmul_files",
    "measure",
    "scatter",
    "solve",
]
