"""What is judged, by name, and its peers: SciPy's and NumPy's functions with the same arguments."""

from __future__ import annotations

import functools
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
        for name in (
            "lu_factor",
            "lu_solve",
            "solve",
            "det",
            "cholesky",
            "cho_factor",
            "cho_solve",
            "solve_triangular",
            "qr",
            "lstsq",
            "inv",
        )
    },
    "slogdet": np.linalg.slogdet,
    "gram": _gram,
}


def plain(x: Any) -> Any:
    """For a peer: a contiguous array, integers as float64, which is what becomes of them here."""
    if isinstance(x, np.ndarray):
        return np.array(x, np.float64 if x.dtype.kind in "bi" else None)
    return x


def kept(options: dict[str, Any]) -> dict[str, Any]:
    """For a peer: without leave to overwrite, which ends SciPy 1.17's inv in a segmentation
    fault."""
    return {name: value for name, value in options.items() if not name.startswith("overwrite")}


def standing_in(peer: Callable[..., Any]) -> Callable[..., Any]:
    """A peer in the place of what hetsched does not have."""

    @functools.wraps(peer)
    def function(*args: Any, **options: Any) -> Any:
        return peer(*map(plain, args), **kept(options))

    return function


OURS: dict[str, Callable[..., Any]] = {
    name: getattr(hs, name, None) or standing_in(peer) for name, peer in PEERS.items()
}


def call(functions: dict[str, Callable[..., Any]], name: str, *args: Any, **options: Any) -> Any:
    """One of OURS or PEERS, without its warnings of singular and ill-conditioned matrices and of
    what leaves the range."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        return functions[name](*args, **options)
