"""Types of test matrices, named after what is special about them, as LAPACK's test programs draw
them (xLATB4, xQRT13, xQRT15).

The same matrix every time: what is drawn depends on the arguments only. All are read-only, in C
order.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DTYPES = ("float32", "float64", "complex64", "complex128")
#: xGE: "half zero" has its last columns zero; "ill" has condition sqrt(0.1/eps), "worst" 0.1/eps;
#: "small" and "large" are at the edges of the range.
GENERAL = (
    "diagonal",
    "upper",
    "lower",
    "well",
    "first zero",
    "last zero",
    "half zero",
    "ill",
    "worst",
    "small",
    "large",
)
#: xPO: "zero" are row and column.
POSITIVE = (
    "diagonal",
    "well",
    "first zero",
    "last zero",
    "middle zero",
    "ill",
    "worst",
    "small",
    "large",
)
#: xQR, xTR
PLAIN = ("diagonal", "upper", "lower", "well", "ill", "worst", "small", "large")
TRIANGULAR = (
    "diagonal",
    "well",
    "ill",
    "worst",
    "small",
    "large",
    "identity",
    "unit well",
    "unit ill",
    "unit worst",
)
#: xLS: the norm is about 1, or the largest element is near underflow or overflow.
SCALES = ("usual", "small", "large")


def edges(dtype: str) -> tuple[float, float]:
    """A small and a large norm: the safe minimum over the precision, and one over it."""
    info = np.finfo(dtype)
    small = 0.25 * float(info.tiny) / float(info.eps)
    return small, 1 / small


def condition(kind: str, dtype: str) -> float:
    worst = 0.1 / float(np.finfo(dtype).eps)
    return {"ill": worst**0.5, "worst": worst}.get(kind.removeprefix("unit "), 2.0)


def random(*words: Any) -> np.random.Generator:
    """Numbers that depend on the words."""
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def uniform(rng: np.random.Generator, shape: Any, dtype: str) -> Array:
    """Parts between -1 and 1."""
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@cache
def orthonormal(rows: int, columns: int, kind: str, side: str) -> Array:
    """Orthonormal columns in double precision; kind is "f" or "c"."""
    rng = random("orthonormal", rows, columns, kind, side)
    x = rng.standard_normal((rows, columns))
    return np.linalg.qr(x + 1j * rng.standard_normal(x.shape) if kind == "c" else x)[0]


def singular_values(kind: str, n: int, dtype: str) -> Array:
    """From the norm down to the norm over the condition number, in geometric progression."""
    small, large = edges(dtype)
    norm = {"small": small, "large": large}.get(kind, 1.0)
    return norm * condition(kind, dtype) ** (-np.arange(n) / max(n - 1, 1))


def with_singular_values(values: Array, m: int, n: int, dtype: str) -> Array:
    """U diag(values) V^H, in double precision."""
    kind = np.dtype(dtype).kind
    u, v = orthonormal(m, len(values), kind, "left"), orthonormal(n, len(values), kind, "right")
    return (u * values) @ v.conj().T


def _frozen(a: Array, dtype: str) -> Array:
    a = np.ascontiguousarray(a, dtype)
    a.flags.writeable = False
    return a


@cache
def general(kind: str, m: int, n: int, dtype: str) -> Array:
    """A matrix of m x n of one of the types GENERAL."""
    k = min(m, n)
    values = singular_values(kind, k, dtype)
    if kind == "diagonal":
        a = np.zeros((m, n), np.promote_types(dtype, "f8"))
        phases = uniform(random(kind, k, dtype), k, "c16" if np.dtype(dtype).kind == "c" else "f8")
        a[range(k), range(k)] = values * phases / np.abs(phases)
    else:
        a = with_singular_values(values, m, n, dtype)
    if kind == "upper":
        a = (
            np.linalg.qr(a, "r")
            if m <= n
            else np.vstack([np.linalg.qr(a, "r"), np.zeros((m - n, n))])
        )
    elif kind == "lower":
        a = general("upper", n, m, dtype).T
    elif "zero" in kind and n:
        a[
            :,
            {"first zero": slice(1), "last zero": slice(n - 1, n), "half zero": slice(k // 2, n)}[
                kind
            ],
        ] = 0
    return _frozen(a, dtype)


@cache
def positive(kind: str, n: int, dtype: str) -> Array:
    """A Hermitian matrix of one of the types POSITIVE: definite, or with a row and a column of
    zeros."""
    values = singular_values(kind, n, dtype)
    if kind == "diagonal":
        a = np.diag(values)
    else:
        q = orthonormal(n, n, np.dtype(dtype).kind, "left")
        a = (q * values) @ q.conj().T
        a = np.tril(a) + np.tril(a, -1).conj().T
    np.fill_diagonal(a, a.diagonal().real)
    if "zero" in kind and n:
        zero = zero_row(kind, n)
        a[zero], a[:, zero] = 0, 0
    return _frozen(a, dtype)


def zero_row(kind: str, n: int) -> int:
    """Which row and column of a positive matrix are zero."""
    return {"first zero": 0, "middle zero": n // 2, "last zero": n - 1}[kind]


@cache
def triangular(kind: str, n: int, dtype: str, lower: bool) -> Array:
    """One of the types TRIANGULAR, zeros in the other triangle; those of "unit" and the identity
    have ones on the diagonal."""
    if lower:
        return _frozen(triangular(kind, n, dtype, False).T, dtype)
    if kind == "diagonal":
        return general("diagonal", n, n, dtype)
    if kind == "identity":
        return _frozen(np.eye(n), dtype)
    if not kind.startswith("unit"):
        return _frozen(
            np.linalg.qr(with_singular_values(singular_values(kind, n, dtype), n, n, dtype), "r"),
            dtype,
        )
    rng = random(kind, n, dtype)
    chain = (
        np.eye(n)
        + np.diag(np.full(max(n - 1, 0), condition(kind, dtype) ** (1 / max(n, 1))), 1)[:n, :n]
    )
    mixed = np.eye(n) + np.triu(
        uniform(rng, (n, n), "c16" if np.dtype(dtype).kind == "c" else "f8"), 1
    ) / max(n, 1)
    a = chain @ mixed
    np.fill_diagonal(a, 1)
    return _frozen(a, dtype)


def rescaled(a: Array, scale: str, dtype: str) -> Array:
    """With the largest element at the edge of the range that the scale names."""
    size = np.abs(a).max(initial=0)
    small, large = edges(dtype)
    return _frozen(
        (
            a
            if scale == "usual" or size == 0
            else a / size * {"small": 4 * small, "large": large / 4}[scale]
        ),
        dtype,
    )


@cache
def full_rank(m: int, n: int, dtype: str, scale: str) -> Array:
    """Of xQRT13: random, and the diagonal outweighs its column."""
    a = uniform(random("full rank", m, n, dtype), (m, n), np.promote_types(dtype, "f8").name)
    k = min(m, n)
    diagonal = a[range(k), range(k)]
    with np.errstate(invalid="ignore"):
        a[range(k), range(k)] += np.abs(a).sum(0)[:k] * diagonal / np.abs(diagonal)
    return rescaled(a, scale, dtype)


def rank(m: int, n: int) -> int:
    """Of the deficient matrices: three quarters of the smaller side."""
    return min(max(1, 3 * min(m, n) // 4), m, n)


@cache
def deficient(m: int, n: int, dtype: str, scale: str) -> Array:
    """Of xQRT15: as many singular values between 0.1 and 1 as `rank` says, no others."""
    values = random("deficient", m, n, dtype).uniform(0.1, 1, rank(m, n))
    values[:1] = 1
    return rescaled(with_singular_values(values, m, n, dtype), scale, dtype)


def right_sides(a: Array, count: int, *, inside: bool) -> Array:
    """(rows of a, count) of norm about that of a: inside the range of a, or anywhere."""
    m, n = a.shape
    dtype = a.dtype.name
    rng = random("right sides", m, n, dtype, count)
    size = np.abs(a).max(initial=0)
    if not inside:
        return (uniform(rng, (m, count), dtype) * size).astype(dtype)
    wide = np.promote_types(dtype, "f8").name
    x = uniform(rng, (n, count), wide) / max(n, 1)
    return np.asarray(a.astype(wide) @ x, dtype)
