"""The drop-in library's gelsd and gelss: solutions by their definition and beside those of the
library behind."""

import dropin_calls as calls
import numpy as np
import pytest
from dropin_calls import LETTERS, Guarded, eps, squares_arguments, wide
from dropin_lapack import Lapack, lapack_of, near
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from test_dropin_spectral import SIZES, letters, ran, seeds, two_cores

calls.skip_without_library()
ROUTINES = calls.SPECTRAL[7:]


@pytest.fixture(scope="module")
def ours():
    with calls.every_call_taken(calls.load()) as found:
        yield found


def of_rank(rng, letter, m, n, rank):
    """A matrix with singular values 1 to 3, and otherwise zeros."""
    u, _ = np.linalg.qr(calls.random(rng, letter, m, rank))
    v, _ = np.linalg.qr(calls.random(rng, letter, n, rank))
    return ((u * np.linspace(3, 1, rank)) @ v.conj().T).astype(LETTERS[letter])


def solved(call, lapack, letter, routine, a, b, rcond):
    """What a function says and leaves: info, the rank, the values, the solutions, what is below,
    and the matrix."""
    m, n = a.shape
    B = Guarded(np.vstack([b, np.full((max(n - m, 0), b.shape[1]), 7, b.dtype)]))
    A = Guarded(a)
    made = squares_arguments(letter, lapack.integer, routine, A, B, rcond)
    info = call(letter, routine, *made.arguments)
    rank = int(made.rank.values[0])
    return info, rank, made.s.values[:, 0], B.values[:n], B.values[n:], A.values


@given(
    data=st.data(),
    letter=letters,
    routine=st.sampled_from(ROUTINES),
    shape=st.tuples(SIZES, SIZES),
    missing=st.sampled_from([0, 0, 1, 5, 1000]),
    cols=st.sampled_from([1, 2, 40]),
    seed=seeds,
)
def test_as_the_library_behind(ours, data, letter, routine, shape, missing, cols, seed):
    lapack, rng, (m, n) = lapack_of(data, ours), np.random.default_rng(seed), shape
    rank = max(min(shape) - missing, 0)
    a, b = of_rank(rng, letter, m, n, rank), calls.random(rng, letter, m, cols)
    rcond = 1000 * max(1, *shape) * eps(letter)
    found = solved(lapack, lapack, letter, routine, a, b, rcond)
    expected = solved(lapack.behind, lapack, letter, routine, a, b, rcond)
    assert found[:2] == expected[:2]
    if min(shape) == 0:  # forwarded
        return
    assert found[:2] == (0, rank)
    near(found[2], expected[2], letter, 4 * max(shape), 3)
    near(found[3], expected[3], letter, 40 * max(shape), 3)
    if routine == "gelss":  # the right singular vectors
        vh = wide(found[5][: min(shape)])
        near(vh @ vh.conj().T, np.eye(min(shape)), letter, 4 * max(shape))
        kept = wide(a) @ vh.conj().T
        near(kept.conj().T @ kept, np.diag(wide(found[2]) ** 2), letter, 40 * max(shape), 9)
    if rank == n < m:
        rest = np.linalg.norm(wide(found[4]), axis=0)
        near(rest, np.linalg.norm(wide(expected[4]), axis=0), letter, 4 * m, 10)


#: Exponents of the scales of the matrix and of the right-hand sides.
SCALES = [(1, 0), (-1, 0), (0, 1), (0, -1), (-1, -1), (1, 1)]


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("shape", [(60, 60), (200, 40), (40, 200), (60, 50)])
@pytest.mark.parametrize("powers", many(SCALES, SCALES[::2]))
def test_very_small_and_large_numbers(ours, routine, letter, shape, powers):
    lapack, rng = Lapack(ours, "wheel64"), np.random.default_rng(1)
    large = 900 if letter in "dz" else 100
    scale_a, scale_b = (LETTERS[letter](2.0 ** (large * power)) for power in powers)
    a, b = of_rank(rng, letter, *shape, 30), calls.random(rng, letter, shape[0], 2)
    rcond = 1000 * max(shape) * eps(letter)
    info, rank, s, x, *_ = solved(lapack, lapack, letter, routine, a * scale_a, b * scale_b, rcond)
    assert (info, rank) == (0, 30)
    near(s / np.real(scale_a), np.linspace(3, 1, 30).tolist() + [0] * (len(s) - 30), letter, 400, 3)
    expected = np.linalg.pinv(wide(a), rcond=rcond) @ wide(b)
    near(x / scale_b * scale_a, expected, letter, 4000)


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("rcond", [-1.0, 0.0, 0.3, 0.25, 0.2, 1.0, 5.0])
def test_what_counts_as_zero(ours, routine, letter, rcond):
    """The same as in the library behind; values up to the limit count as zero."""
    lapack = Lapack(ours, "wheel64")
    a, b = (
        np.diag([4, 1, 4 * eps(letter)]).astype(LETTERS[letter]),
        np.ones((3, 1), LETTERS[letter]),
    )
    found, expected = (
        solved(call, lapack, letter, routine, a, b, rcond) for call in (lapack, lapack.behind)
    )
    assert found[:2] == expected[:2]
    near(found[3] * a.diagonal()[:, None], expected[3] * a.diagonal()[:, None], letter, 3)


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("in_b", [False, True])
def test_nan_is_forwarded_as_it_was(ours, routine, letter, wrong, in_b):
    lapack, rng = Lapack(ours, "wheel64"), np.random.default_rng(2)
    a, b = calls.random(rng, letter, 50, 40), calls.random(rng, letter, 50, 3)
    (b if in_b else a)[10, 1] = wrong
    found = []
    for call in (lapack, lapack.behind):
        info, _, _, x, *_ = solved(call, lapack, letter, routine, a, b, -1.0)
        found.append((info, np.isfinite(x).tolist()))
    assert found[0] == found[1]


AROUND = """
import numpy as np, scipy.linalg as la
for n in 299, 300:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((2, n, n // 2)) @ rng.standard_normal((2, n // 2, n))
    a = (a[0] if {name!r}[0] == "f" else a[0] + 1j * a[1]).astype({name!r})
    cut = 1e4 * np.finfo(a.dtype).eps
    for x in a, np.vstack([a, a]), np.hstack([a, a]):
        b = (x @ np.ones((x.shape[1], 2))).astype(a.dtype)
        for found in (
            la.lstsq(x, b, cond=cut),
            np.linalg.lstsq(x, b, rcond=cut),
            la.lstsq(x, b[:, 0], cond=cut),
            la.lstsq(x, b, cond=cut, lapack_driver="gelss"),
        ):
            assert found[2] == np.linalg.matrix_rank(x, rtol=cut)
            error = (x @ found[0] - (b if found[0].ndim == 2 else b[:, 0]))
            assert np.abs(error).max() < 1e4 * np.finfo(a.dtype).eps * np.abs(b).max()
"""


@pytest.mark.slow
@two_cores
@pytest.mark.parametrize(
    "name", many(["float32", "float64", "complex64", "complex128"], ["float64"])
)
def test_numpy_and_scipy_around_the_least_order(name):
    _, said = ran(AROUND.format(name=name), HETSCHED_BLAS_LEAST=None)
    counted = calls.table(said)
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[name]
    row = counted[letter + "gelss"]
    assert (row["taken"], row["small"], row["refused"]) == (3, 3, 0)
    # NumPy computes float32 and complex64 in double precision
    double = {"s": "d", "c": "z"}.get(letter)
    for function, count in {letter: 6 if double else 9, double: 3}.items():
        if function:
            row = counted[function + "gelsd"]
            assert (row["taken"], row["small"], row["refused"]) == (count, count, 0)
