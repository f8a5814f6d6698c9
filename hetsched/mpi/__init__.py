"""Plans on the ranks of an MPI communicator. The only package here that imports mpi4py, when a function of it is first called."""
