"""Random matrices of any dtype and layout for tests of linear algebra, and what rounding may do to
them."""

import numpy as np
from hypothesis import strategies as st

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
LAYOUTS = ["C", "F", "reversed", "sliced", "transposed", "read-only", "swapped"]


def eps(*arrays):
    """Of the arrays' common dtype."""
    return float(np.finfo(np.result_type(*arrays)).eps)


def random(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def laid_out(a, layout):
    """The same numbers in other memory."""
    if layout == "F":
        return np.array(a, order="F")
    if layout == "transposed":
        return np.array(a.T, order="C").T
    if layout == "reversed":
        return a[::-1, ..., ::-1].copy()[::-1, ..., ::-1] if a.ndim > 1 else a[::-1].copy()[::-1]
    if layout == "sliced":
        wide = np.full((*(2 * n + 1 for n in a.shape),), np.nan, a.dtype)
        inner = wide[tuple(slice(1, None, 2) for _ in a.shape)]
        inner[...] = a
        return inner
    if layout == "swapped":
        return a.astype(a.dtype.newbyteorder())
    a = a.copy()
    if layout == "read-only":
        a.setflags(write=False)
    return a


def definite(n, dtype=np.float64, seed=0, stack=()):
    """Hermitian positive definite, of moderate condition."""
    a = random((*stack, n, n), dtype, seed)
    a = a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)
    return ((a + a.conj().swapaxes(-1, -2)) / 2).astype(dtype)


def close(x, y, scale=1.0, *, tolerance=100):
    """Equal up to rounding: `scale` is what amplifies it, such as a condition."""
    assert x.shape == y.shape
    assert x.dtype == y.dtype
    if x.size == 0:
        return
    worst = float(abs(np.asarray(x, np.clongdouble) - np.asarray(y, np.clongdouble)).max())
    size = max(1e-300, float(abs(y).max()))
    assert worst <= tolerance * max(1, *x.shape) * eps(x) * scale * size, (worst, size, scale)


dtypes = st.sampled_from(DTYPES)
layouts = st.sampled_from(LAYOUTS)
sizes = st.one_of(st.integers(0, 4), st.integers(0, 40))
seeds = st.integers(0, 2**16)
#: (), or a stack.
stacks = st.sampled_from([(), (), (), (1,), (3,), (2, 2), (0,)])


def outcome(function, *args, **options):
    """The result, or the type of the error."""
    try:
        return function(*args, **options)
    except Exception as error:
        return type(error)
