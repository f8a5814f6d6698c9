"""What is judged, by name, and its peers: SciPy's and NumPy's functions with the same arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.linalg

import hetsched as hs

Array = np.ndarray[Any, Any]


def _gram(a: Array, *, of: Literal["rows", "columns"] = "rows") -> Array:
    """A A^H, or A^H A of the columns: exactly Hermitian."""
    a = a if of == "rows" else a.conj().T
    product = np.tril(a @ a.conj().T)
    np.fill_diagonal(product, product.diagonal().real)
    return product + np.tril(product, -1).conj().T


PEERS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(scipy.linalg, name)
        for name in ("lu_factor", "lu_solve", "solve", "det", "cholesky", "cho_factor", "cho_solve", "solve_triangular", "qr",
                     "lstsq", "inv")
    },
    "slogdet": np.linalg.slogdet,
    "gram": _gram,
}  # fmt: skip

#: A peer stands in for what hetsched does not have.
OURS: dict[str, Callable[..., Any]] = {name: getattr(hs, name, peer) for name, peer in PEERS.items()}


def call(functions: dict[str, Callable[..., Any]], name: str, *args: Any, **options: Any) -> Any:
    """One of OURS or PEERS, without its warnings of singular and ill-conditioned matrices and of what leaves the range."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        return functions[name](*args, **options)
