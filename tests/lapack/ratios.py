"""LAPACK's test ratios, each named after what it judges and, in its comment, after LAPACK's
routine.

Residuals are computed in a wider precision than what is judged where that is cheap: float32 in
float64, small float64 in long double. Matrices are scaled by powers of two first, so norms at the
edges of the range are no trouble. NaN anywhere gives NaN or infinity, never a good ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: LAPACK's own: what is below has passed.
THRESHOLD = 30.0
#: Multiplications up to which double precision is judged in long double, which has no fast
#: products.
SLOW = 100_000


def epsilon(dtype: Any) -> float:
    """The unit roundoff."""
    return float(np.finfo(dtype).eps) / 2


def wider(*arrays: Array) -> tuple[Array, ...]:
    """Copies in the precision to judge in: one for all."""
    work = max(a.size for a in arrays) * max(max(a.shape, default=1) for a in arrays)
    narrow = any(a.dtype in (np.float32, np.complex64) for a in arrays)
    real: Any = np.float64 if narrow or work > SLOW else np.longdouble
    kind: Any = (
        np.result_type(real, np.complex64) if any(a.dtype.kind == "c" for a in arrays) else real
    )
    return tuple(a.astype(kind) for a in arrays)


def exponent(a: Array, axis: int | None = None) -> Any:
    """Of the largest element, 0 where it is zero or no number; with axis 0 of each column."""
    size = np.abs(a).max(axis=axis, initial=0)
    return np.frexp(np.where(np.isfinite(size), size, 0))[1]


def shifted(a: Array, power: Any) -> Array:
    """a * 2**power, for one power or one of each column."""
    one = a.real.dtype.type(1)
    half = power // 2
    return a * np.ldexp(one, half) * np.ldexp(one, power - half)


def unit(a: Array) -> Array:
    """With its largest element near 1, by a power of two."""
    return shifted(a, -exponent(a))


def columns(x: Array) -> Array:
    """A vector as a matrix of one column."""
    return x[:, None] if x.ndim == 1 else x


def norm(a: Array) -> float:
    """The 1-norm."""
    return float(np.abs(a).sum(axis=0).max(initial=0)) if a.size else 0.0


def ratio(error: Any, *sizes: Any, eps: float) -> float:
    """error / (the sizes' product * eps); of a size 0: 0, or 1 / eps if there is an error."""
    if 0 in sizes:
        return 0.0 if error == 0 else 1 / eps
    value = float(error)
    for size in sizes:
        value /= float(size)
    return value / eps


# ---- LU, and what is solved by it ----------------------------------------------------------------


def lu_factors(a: Array, lu: Array, piv: Array) -> float:
    """GET01: |P L U - A| / (n |A| eps), for any shape."""
    eps, (m, n) = epsilon(lu.dtype), a.shape
    A, F = wider(a, lu)
    power = -exponent(A)
    k = min(m, n)
    lower = np.tril(F[:, :k], -1) + np.eye(m, k)
    product = lower @ shifted(np.triu(F[:k]), power)
    rows = np.arange(m)
    for i, p in enumerate(piv):
        rows[[i, p]] = rows[[p, i]]
    A = shifted(A, power)
    return ratio(norm(product - A[rows]), n, norm(A), eps=eps)


def residual(a: Array, x: Array, b: Array, trans: int = 0) -> float:
    """GET02, POT02, TRT02: |B - op(A) X| / (|A| |X| eps), the largest of all right-hand sides."""
    eps = epsilon(x.dtype)
    A, X, B = wider(a, columns(x), columns(b))
    A = (A, A.T, A.conj().T)[trans]
    first, powers = exponent(A), exponent(X, 0)
    A, X, B = shifted(A, -first), shifted(X, -powers), shifted(B, -first - powers)
    errors, sizes, size = np.abs(B - A @ X).sum(0), np.abs(X).sum(0), norm(A)
    return largest(
        ratio(error, size, own, eps=eps) for error, own in zip(errors, sizes, strict=True)
    )


def largest(values: Iterable[float]) -> float:
    """0 of none, NaN where one is."""
    return float(np.max([0.0, *values]))


def reciprocal_condition(a: Array) -> float:
    """1 / (|A| |A^-1|), in double precision at least; 0 of a singular matrix."""
    (A,) = wider(a)
    A = unit(A).astype(np.result_type(np.float64, a.dtype))
    if not A.size:
        return 1.0
    try:
        return 1 / norm(A) / norm(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        return 0.0


def inverse(a: Array, inverted: Array) -> float:
    """GET03, POT03: |I - A A^-1| / (n |A| |A^-1| eps).

    LAPACK multiplies |I - A A^-1| / (n eps) by the reciprocal condition number."""
    n = len(a)
    A, V = wider(a, inverted)
    power, other = exponent(A), exponent(V)
    A, V = shifted(A, -power), shifted(V, -other)
    left = A @ V - shifted(np.eye(n, dtype=A.dtype), -power - other)
    return ratio(norm(left), n, norm(A), norm(V), eps=epsilon(inverted.dtype))


def forward(x: Array, true: Array, rcond: float) -> float:
    """GET04: |x - true| rcond / (|true| eps), the largest of all right-hand sides."""
    eps = epsilon(x.dtype)
    X, T = wider(columns(x), columns(true))
    power = -exponent(T)
    X, T = shifted(X, power), shifted(T, power)
    errors, sizes = np.abs(X - T).max(0, initial=0), np.abs(T).max(0, initial=0)
    return largest(
        ratio(error * rcond, size, eps=eps) for error, size in zip(errors, sizes, strict=True)
    )


# ---- Cholesky ------------------------------------------------------------------------------------


def cholesky_factor(a: Array, factor: Array, lower: bool) -> float:
    """POT01: |L L^H - A| / (n |A| eps); of both matrices one triangle counts."""
    eps, n = epsilon(factor.dtype), len(a)
    A, C = wider(a, factor)
    A = hermitian(A, lower)
    C = np.tril(C) if lower else np.triu(C).conj().T
    half = -(exponent(A) // 2)
    A, C = shifted(A, 2 * half), shifted(C, half)
    return ratio(norm(C @ C.conj().T - A), n, norm(A), eps=eps)


def hermitian(a: Array, lower: bool) -> Array:
    """The matrix that one triangle stands for."""
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    return part + part.conj().T + np.diag(a.diagonal().real)


# ---- QR ------------------------------------------------------------------------------------------


def qr_factors(a: Array, q: Array, r: Array) -> float:
    """QRT01: |R - Q^H A| / (m |A| eps); for an economic Q too."""
    eps = epsilon(q.dtype)
    A, Q, R = wider(a, q, r)
    power = -exponent(A)
    A, R = shifted(A, power), shifted(R, power)
    return ratio(norm(R - Q.conj().T @ A), max(len(a), 1), norm(A), eps=eps)


def qr_product(a: Array, q: Array, r: Array) -> float:
    """|Q R - A| / (m |A| eps): what QRT01 misses of an economic Q."""
    eps = epsilon(q.dtype)
    A, Q, R = wider(a, q, r)
    power = -exponent(A)
    A, R = shifted(A, power), shifted(R, power)
    return ratio(norm(Q @ R - A), max(len(a), 1), norm(A), eps=eps)


def qr_triangle(a: Array, r: Array) -> float:
    """|R^H R - A^H A| / (m |A| |A^H| eps): of R without its Q."""
    eps = epsilon(r.dtype)
    A, R = wider(a, r)
    power = -exponent(A)
    A, R = shifted(A, power), shifted(R, power)
    return ratio(
        norm(R.conj().T @ R - A.conj().T @ A), max(len(a), 1), norm(A), norm(A.conj().T), eps=eps
    )


def orthonormal(q: Array) -> float:
    """QRT01, QRT02: |I - Q^H Q| / (m eps)."""
    (Q,) = wider(q)
    return ratio(norm(np.eye(Q.shape[1]) - Q.conj().T @ Q), max(len(q), 1), eps=epsilon(q.dtype))


def reflected(packed: Array, tau: Array, c: Array) -> Array:
    """Q C for the Q of reflectors I - tau v v^H as LAPACK packs them, in a wider precision."""
    V, C, T = wider(packed, c, tau)
    C = C.copy()
    for k in reversed(range(len(T))):
        v = np.append(V.dtype.type(1), V[k + 1 :, k])
        C[k:] -= T[k] * np.outer(v, v.conj() @ C[k:])
    return C


def applied(packed: Array, tau: Array, q: Array, c: Array) -> float:
    """QRT03: |Q C - Q C| / (m |C| eps), by the reflectors and by the matrix."""
    Q, C = wider(q, c)
    return ratio(
        norm(reflected(packed, tau, c) - Q @ C), max(len(q), 1), norm(C), eps=epsilon(q.dtype)
    )


# ---- least squares -------------------------------------------------------------------------------


def least_residual(a: Array, x: Array, b: Array) -> float:
    """QRT16: |B - A X| / (max(m, n) |A| |X| eps), where B is in the range of A."""
    return residual(a, x, b) / max(*a.shape, 1)


def gradient(a: Array, x: Array, b: Array, *, inside: bool) -> float:
    """QRT17: |R^H A| / (|A| alpha max(m, n, k) eps) with R = B - A X.

    alpha is |B| if B is in the range of A, else |R|."""
    eps = epsilon(x.dtype)
    A, X, B = wider(a, columns(x), columns(b))
    first, second = exponent(A), exponent(B)
    A, B, X = shifted(A, -first), shifted(B, -second), shifted(X, first - second)
    R = B - A @ X
    alpha = norm(B) if inside else norm(R)
    return ratio(norm(R.conj().T @ A), norm(A), alpha, max(*a.shape, X.shape[1]), eps=eps)


def row_space(a: Array, x: Array, rank: int) -> float:
    """QRT14: how far X is from the space of the rows of A, over (|X| max(m, n, k) eps)."""
    A, X = wider(a, columns(x))
    A, X = unit(A).astype(np.result_type(np.float64, a.dtype)), unit(X)
    rows = np.linalg.svd(A, full_matrices=False)[2][:rank].astype(X.dtype)
    rows -= (rows @ rows.conj().T - np.eye(rank)) @ rows / 2  # orthonormal in the wider precision
    outside = X - rows.conj().T @ (rows @ X)
    return ratio(norm(outside), norm(X), max(*a.shape, X.shape[1]), eps=epsilon(x.dtype))


# ---- determinants --------------------------------------------------------------------------------


def _exact(a: Array) -> tuple[Fraction, Fraction]:
    """By minors of the first row."""
    if not len(a):
        return Fraction(1), Fraction(0)
    real = imaginary = Fraction(0)
    for j, element in enumerate(a[0]):
        x, y = Fraction(float(element.real)), Fraction(float(element.imag))
        if x or y:
            u, v = _exact(np.delete(a[1:], j, axis=1))
            sign = (-1) ** j
            real += sign * (x * u - y * v)
            imaginary += sign * (x * v + y * u)
    return real, imaginary


def determinant(a: Array, value: Any) -> float:
    """|det - exact| over the change of the determinant when A changes by n |A| eps.

    Computed in rational numbers, so for small matrices."""
    n, eps = len(a), epsilon(a.dtype)
    real, imaginary = _exact(a)
    value = complex(value)
    if not np.isfinite(value):
        return math.inf
    error = math.hypot(float(Fraction(value.real) - real), float(Fraction(value.imag) - imaginary))
    sizes = np.linalg.svd(a.astype(np.result_type(np.float64, a.dtype)), compute_uv=False)
    change = n * float(sizes[0]) * math.prod(map(float, sizes[: n - 1])) if n else 0.0
    exact = math.hypot(float(real), float(imaginary))
    return ratio(error, max(n, 1), change + exact, eps=eps)


def logarithm(a: Array, sign: Any, log: Any) -> float:
    """|log |det| - true| and |sign - true| over (n eps / rcond).

    The true values are from elimination with complete pivoting in a wider precision."""
    n, eps = len(a), epsilon(a.dtype)
    (A,) = wider(a)
    A = A.astype(np.result_type(np.longdouble, A.dtype)).copy()
    true_sign, true_log = A.dtype.type(1), np.longdouble(0)
    for k in range(n):
        i, j = np.unravel_index(np.abs(A[k:, k:]).argmax(), (n - k, n - k))
        if A[k + i, k + j] == 0:
            return 0.0 if sign == 0 and log == -math.inf else 1 / eps
        if i:
            A[[k, k + i]] = A[[k + i, k]]
        if j:
            A[:, [k, k + j]] = A[:, [k + j, k]]
        size = np.abs(A[k, k])
        true_sign *= A[k, k] / size * (-1) ** (int(i > 0) + int(j > 0))
        true_log += np.log(size)
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k + 1 :])
    error = np.abs(log - true_log) / max(1, abs(true_log)) + np.abs(sign - true_sign)
    return ratio(error * reciprocal_condition(a), max(n, 1), eps=eps)


# ---- products ------------------------------------------------------------------------------------


def gram(a: Array, product: Array, of_columns: bool = False) -> float:
    """The largest element of |G - A A^H| over (k |A| |A|^T eps); infinity if G is not Hermitian.

    With `of_columns`, G is A^H A."""
    if not np.array_equal(product, product.conj().T):
        return math.inf
    A, G = wider(a.conj().T if of_columns else a, product)
    k, power = max(A.shape[1], 1), -exponent(A)
    A, G = shifted(A, power), shifted(G, 2 * power)
    bound = np.abs(A) @ np.abs(A).T
    error = np.abs(G - A @ A.conj().T)
    if (error[bound == 0] != 0).any():
        return math.inf
    bound[bound == 0] = 1
    return float((error / bound).max(initial=0)) / k / epsilon(product.dtype)
