"""Matrices for factorisations on ranks."""

import numpy as np

DTYPES = ("float32", "float64", "complex64", "complex128")


def random_matrix(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def multiplied_back(lu, piv):
    """P^T L U, one exchange after the other."""
    n = len(piv)
    a = (np.tril(lu, -1) + np.eye(n, dtype=lu.dtype)) @ np.triu(lu)
    for i in range(n - 1, -1, -1):
        a[[i, piv[i]]] = a[[piv[i], i]]
    return a


def eps(dtype):
    return np.finfo(dtype).eps
