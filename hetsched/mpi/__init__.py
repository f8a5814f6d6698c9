"""Plans on the ranks of an MPI communicator. mpi4py is imported when the first of these functions is called."""

from .linalg import gather, matmul, scatter
from .loop import LostRank
from .zones import Zone

__all__ = ["LostRank", "Zone", "gather", "matmul", "scatter"]
