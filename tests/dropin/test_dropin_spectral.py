"""The drop-in library's functions for eigenvalues and singular values: results by their
definition, beside those of the library behind."""

import itertools
import os
import re
import subprocess
import sys

import dropin_calls as calls
import numpy as np
import pytest
from dropin_calls import (
    LETTERS,
    Guarded,
    eigh_arguments,
    pair_arguments,
    squares_arguments,
    svd_arguments,
    wide,
)
from dropin_lapack import Lapack, any_case, half, lapack_of, near, within
from hypothesis import assume, given
from hypothesis import strategies as st
from inputs import many

calls.skip_without_library()
SIZES = st.sampled_from([0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 97, 130, 150])
letters = st.sampled_from("sdcz")
seeds = st.integers(0, 2**32 - 1)
more = st.sampled_from([0, 1, 5])
EIGH, SVD, PAIRS = calls.SPECTRAL[:3], calls.SPECTRAL[3:5], calls.SPECTRAL[5:7]
two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cpus")


@pytest.fixture(scope="module")
def ours():
    with calls.every_call_taken(calls.load()) as found:
        yield found


def hermitian(rng, letter, n):
    x = calls.random(rng, letter, n, n)
    return x + x.conj().T


def of_vector(made):
    return made.values[:, 0]


def sizes_of(made):
    """The first elements of the workspaces whose sizes are arguments."""
    return [float(np.real(each.values.flat[0])) for each in made.sized]


def near_size(found, expected, letter, n):
    """Values to a multiple of the roundings of the largest one."""
    size = max(1.0, np.abs(wide(expected)).max(initial=0.0))
    near(found, expected, letter, 2 * n, size)


# ---- eigenvalues ---------------------------------------------------------------------------------


def check_eigh(lapack, letter, routine, job, triangle, a, extra):
    n = len(a)
    A = Guarded(half(triangle, a), more=extra)
    made = eigh_arguments(letter, lapack.integer, routine, job, triangle, A)
    assert lapack(letter, routine, *made.arguments) == 0
    w, size = of_vector(made.w)[:n], max(1.0, np.abs(a).max(initial=0) * n**0.5)
    assert (np.diff(w) >= 0).all()
    theirs = eigh_arguments(
        letter, lapack.integer, routine, job, triangle, Guarded(half(triangle, a), more=extra)
    )
    assert lapack.behind(letter, routine, *theirs.arguments) == 0
    near_size(w, of_vector(theirs.w)[:n], letter, n)
    assert sizes_of(made) == sizes_of(theirs)
    if made.count is not None:
        assert made.count.values[0] == n
    if job in "vV":
        if made.support is not None and n > 1:
            assert made.support.values[: 2 * n].tolist() == [1, n] * n
        z = wide(made.z.values)
        near(wide(a) @ z, z * w, letter, 2 * n, size)
        near(z.conj().T @ z, np.eye(n), letter, 2 * n)


@given(data=st.data(), letter=letters, routine=st.sampled_from(EIGH), n=SIZES, seed=seeds)
def test_eigenvalues_and_vectors(ours, data, letter, routine, n, seed):
    a = hermitian(np.random.default_rng(seed), letter, n)
    job, triangle = any_case(data, "NV"), any_case(data, "LU")
    check_eigh(lapack_of(data, ours), letter, routine, job, triangle, a, data.draw(more))


@pytest.mark.parametrize("letter", "cz")
@pytest.mark.parametrize("routine", EIGH)
@pytest.mark.parametrize("triangle", "UL")
def test_imaginary_parts_of_the_diagonal_are_not_read(ours, letter, routine, triangle):
    lapack, n = Lapack(ours, "wheel64"), 70
    a = hermitian(np.random.default_rng(n), letter, n)
    marked = half(triangle, a)
    marked.imag[np.diag_indices(n)] = 7
    made = eigh_arguments(letter, lapack.integer, routine, "V", triangle, Guarded(marked))
    assert lapack(letter, routine, *made.arguments) == 0
    z, w = wide(made.z.values), of_vector(made.w)
    near(wide(a) @ z, z * w, letter, 2 * n, 20)


def ranged(lapack, letter, job, a, chosen, low, high, first, last):
    """A call of syevr for a part of the eigenvalues: what it returns, and its results."""
    made = eigh_arguments(letter, lapack.integer, "syevr", job, "L", Guarded(half("L", a)))
    real = LETTERS["sd"[letter in "dz"]]
    arguments = list(made.arguments)
    arguments[1] = chosen
    arguments[6:10] = [real(low), real(high), first, last]
    return lapack(letter, "syevr", *arguments), made


@given(data=st.data(), letter=letters, n=st.sampled_from([1, 2, 3, 16, 33, 70]), seed=seeds)
def test_eigenvalues_by_their_numbers(ours, data, letter, n, seed):
    first = data.draw(st.integers(1, n))
    last, job = data.draw(st.integers(first, n)), data.draw(st.sampled_from("NV"))
    a, count = hermitian(np.random.default_rng(seed), letter, n), last - first + 1
    info, made = ranged(lapack_of(data, ours), letter, job, a, "I", 0.0, 0.0, first, last)
    assert info == 0
    assert made.count.values[0] == count
    w = of_vector(made.w)[:count]
    near_size(w, np.linalg.eigvalsh(wide(a))[first - 1 : last], letter, n)
    if job == "V":
        z, size = wide(made.z.values)[:, :count], max(1.0, np.abs(a).max() * n**0.5)
        near(wide(a) @ z, z * w, letter, 2 * n, size)
        near(z.conj().T @ z, np.eye(count), letter, 2 * n)
        assert not made.z.values[:, count:].any()
        assert count < n or n < 2 or made.support.values.tolist() == [1, n] * n
        assert count == n or (made.support.values == -77).all()  # may be empty


@given(data=st.data(), letter=letters, n=st.sampled_from([1, 2, 3, 16, 33, 70]), seed=seeds)
def test_eigenvalues_in_a_range(ours, data, letter, n, seed):
    """The lower bound is not in the range, and the upper one is."""
    a = hermitian(np.random.default_rng(seed), letter, n)
    lapack, job = lapack_of(data, ours), data.draw(st.sampled_from("NV"))
    _, whole = ranged(lapack, letter, job, a, "A", 0.0, 0.0, 0, 0)
    w = of_vector(whole.w)
    bounds = st.sampled_from([-np.inf, 0.0, np.inf, *w.tolist()])
    low, high = sorted([data.draw(bounds), data.draw(bounds)])
    assume(low < high)
    info, made = ranged(lapack, letter, job, a, "V", low, high, 0, 0)
    kept = (w > low) & (w <= high)
    count = np.count_nonzero(kept)
    assert info == 0
    assert made.count.values[0] == count
    assert of_vector(made.w)[:count].tolist() == w[kept].tolist()
    if job == "V":
        z = made.z.values
        assert np.array_equal(z[:, :count], whole.z.values[:, kept])
        if n > 1:  # LAPACK writes a vector of one element that is not wanted
            assert not z[:, count:].any()
            assert (made.support.values == -77).all()  # may be empty


@pytest.mark.parametrize(("first", "last", "info"), [(0, 3, -9), (5, 4, -10), (1, 61, -10)])
def test_numbers_of_no_eigenvalue(ours, first, last, info):
    lapack, n = Lapack(ours, "wheel64"), 60
    a = hermitian(np.random.default_rng(n), "d", n)
    assert ranged(lapack, "d", "V", a, "I", 0.0, 0.0, first, last)[0] == info
    assert ranged(lapack, "d", "V", a, "V", 1.0, 1.0, first, last)[0] == -8


# ---- eigenvalues of pairs ------------------------------------------------------------------------


def pair_of(letter, n, seed=0):
    """A Hermitian and a positive definite matrix."""
    rng = np.random.default_rng(seed)
    x = calls.random(rng, letter, n, n)
    b = (x @ x.conj().T / max(n, 1) + np.eye(n)).astype(LETTERS[letter])
    return hermitian(rng, letter, n), b


def check_vectors(kind, a, b, w, z, letter):
    """Definition and norm of the eigenvectors, by products that the library has no part in."""
    n = len(w)
    a, b, z = wide(a), wide(b), wide(z)
    left, right = {1: (a @ z, b @ z), 2: (a @ (b @ z), z), 3: (b @ (a @ z), z)}[kind]
    size = max(1.0, np.abs(a).max(initial=0) * np.abs(b).max(initial=0) * n)
    near(left, right * w, letter, 2 * n, size)
    metric = np.linalg.inv(b) if kind == 3 else b
    near(z.conj().T @ metric @ z, np.eye(n), letter, 2 * n, 4.0)


def check_pair(lapack, letter, routine, kind, job, triangle, a, b, extra):
    n, found = len(a), []
    for call in (lapack, lapack.behind):
        A, B = (Guarded(half(triangle, x), more=extra) for x in (a, b))
        made = pair_arguments(letter, lapack.integer, routine, kind, job, triangle, A, B)
        assert call(letter, routine, *made.arguments) == 0
        found.append((of_vector(made.w)[:n], A, B))
    (w, A, B), (theirs, _, factored) = found
    assert (np.diff(w) >= 0).all()
    near_size(w, theirs, letter, 4 * n)
    kept = within(triangle, n)
    near(B.values[kept], factored.values[kept], letter, n)
    assert np.isnan(B.values[~kept]).all()
    if job in "vV":
        check_vectors(kind, a, b, w, A.values, letter)


@pytest.mark.slow
@given(
    data=st.data(),
    letter=letters,
    routine=st.sampled_from(PAIRS),
    kind=st.sampled_from([1, 2, 3]),
    n=SIZES,
    seed=seeds,
)
def test_eigenvalues_of_pairs(ours, data, letter, routine, kind, n, seed):
    job, triangle = any_case(data, "NV"), any_case(data, "LU")
    a, b = pair_of(letter, n, seed)
    check_pair(lapack_of(data, ours), letter, routine, kind, job, triangle, a, b, data.draw(more))


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_scaled_and_permuted_pairs(ours, letter, kind):
    """c A has the values c w, c B the values w / c or c w; an order of the rows and columns has no
    effect on them."""
    lapack, n = Lapack(ours, "wheel64"), 65
    a, b = pair_of(letter, n)
    order = np.random.default_rng(1).permutation(n)
    two = LETTERS["sd"[letter in "dz"]](2)

    def values(a, b):
        made = pair_arguments(
            letter, lapack.integer, "sygvd", kind, "N", "L", Guarded(a), Guarded(b)
        )
        assert lapack(letter, "sygvd", *made.arguments) == 0
        return of_vector(made.w)

    w = values(a, b)
    np.testing.assert_array_equal(values(two * a, b), 2 * w)
    np.testing.assert_array_equal(values(a, 4 * two / 2 * b), w / 4 if kind == 1 else w * 4)
    near_size(values(a[order][:, order], b[order][:, order]), w, letter, n)


@pytest.mark.parametrize("letter", "cz")
@pytest.mark.parametrize("triangle", "UL")
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_imaginary_parts_of_the_diagonals_of_pairs_are_not_read(ours, letter, triangle, kind):
    lapack, n = Lapack(ours, "wheel64"), 65
    a, b = pair_of(letter, n)
    A, B = Guarded(half(triangle, a)), Guarded(half(triangle, b))
    for each in A, B:
        each.values.imag[np.diag_indices(n)] = 7
    made = pair_arguments(letter, lapack.integer, "sygvd", kind, "V", triangle, A, B)
    assert lapack(letter, "sygvd", *made.arguments) == 0
    check_vectors(kind, a, b, of_vector(made.w), A.values, letter)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("routine", PAIRS)
@pytest.mark.parametrize("triangle", "UL")
@pytest.mark.parametrize("minor", [1, 2, 33, 65])
def test_a_matrix_that_is_not_definite_is_told(ours, letter, routine, triangle, minor):
    lapack, n = Lapack(ours, "wheel64"), 65
    a, b = pair_of(letter, n)
    b[minor - 1, minor - 1] = -1
    A, B = Guarded(half(triangle, a)), Guarded(half(triangle, b))
    made = pair_arguments(letter, lapack.integer, routine, 1, "V", triangle, A, B)
    assert lapack(letter, routine, *made.arguments, unchanged=[A]) == n + minor


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("routine", PAIRS)
@pytest.mark.parametrize("of", ["a", "b"])
def test_a_pair_with_nan_is_forwarded_as_it_was(ours, letter, routine, of):
    lapack, n = Lapack(ours, "wheel64"), 65
    found = []
    for call in (lapack, lapack.behind):
        a, b = pair_of(letter, n)
        (a if of == "a" else b)[40, 30] = np.nan
        made = pair_arguments(letter, lapack.integer, routine, 1, "N", "L", Guarded(a), Guarded(b))
        info = call(letter, routine, *made.arguments)
        found.append((info, np.isnan(made.w.values).tolist() if info == 0 else None))
    assert found[0] == found[1]


# ---- singular values -----------------------------------------------------------------------------


def check_svd(lapack, letter, routine, jobs, a, extra):
    m, n = a.shape
    short = min(m, n)
    A = Guarded(a, more=extra)
    made = svd_arguments(letter, lapack.integer, routine, jobs, A)
    assert lapack(letter, routine, *made.arguments) == 0
    s, size = of_vector(made.s)[:short], max(1.0, np.abs(a).max(initial=0) * max(m, n) ** 0.5)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    theirs = svd_arguments(letter, lapack.integer, routine, jobs, Guarded(a, more=extra))
    assert lapack.behind(letter, routine, *theirs.arguments) == 0
    near_size(s, of_vector(theirs.s)[:short], letter, max(m, n))
    assert sizes_of(made) == sizes_of(theirs)
    if short == 0:
        return
    job_u, job_vt = jobs.upper() if routine == "gesvd" else 2 * jobs[0].upper()
    left, right = job_u in "SA", job_vt in "SA"
    u, vt = wide(made.u.values), wide(made.vt.values)
    if left:
        near(u.conj().T @ u, np.eye(u.shape[1]), letter, 2 * max(m, n))
        squares = u[:, :short].conj().T @ wide(a)
        near((np.abs(squares) ** 2).sum(1) ** 0.5, s, letter, 2 * max(m, n), size)
    if right:
        near(vt @ vt.conj().T, np.eye(len(vt)), letter, 2 * max(m, n))
        squares = wide(a) @ vt[:short].conj().T
        near((np.abs(squares) ** 2).sum(0) ** 0.5, s, letter, 2 * max(m, n), size)
    if left and right:
        near((u[:, :short] * s) @ vt[:short], a, letter, 2 * max(m, n), size)


def jobs_of(data, routine):
    return any_case(data, "NSA") + any_case(data, "NSA" if routine == "gesvd" else "N")


@given(data=st.data(), letter=letters, routine=st.sampled_from(SVD), m=SIZES, n=SIZES, seed=seeds)
def test_singular_values_and_vectors(ours, data, letter, routine, m, n, seed):
    a = calls.random(np.random.default_rng(seed), letter, m, n)
    jobs = jobs_of(data, routine)
    check_svd(lapack_of(data, ours), letter, routine, jobs, a, data.draw(more))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("shape", "letter"),
    [
        (shape, letter)
        for turn, shape in enumerate([(300, 40), (40, 300), (64, 40), (63, 40), (40, 64)])
        for letter in many("sdcz", "sdcz"[turn % 2 :: 2])
    ],
)
def test_tall_and_wide_matrices(ours, letter, shape):
    lapack = Lapack(ours, "wheel64")
    a = calls.random(np.random.default_rng(shape[0]), letter, *shape)
    for jobs in itertools.product("NSA", repeat=2):
        check_svd(lapack, letter, "gesvd", "".join(jobs), a, 3)
    for job in "NSA":
        check_svd(lapack, letter, "gesdd", job, a, 3)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize(
    "shape", [(60, 40), (100, 40), (40, 60), (40, 100), (50, 50), (1, 3), (2, 1)]
)
@pytest.mark.parametrize("routine", SVD)
def test_vectors_in_the_place_of_the_matrix(ours, letter, shape, routine):
    """The vectors are those of an array of their own, and nothing beyond them is written."""
    lapack, (m, n) = Lapack(ours, "wheel64"), shape
    short = min(shape)
    a = calls.random(np.random.default_rng(n), letter, *shape)
    for jobs in ("O",) if routine == "gesdd" else ("OS", "OA", "ON", "SO", "AO", "NO"):
        on_the_left = jobs[0] == "O" and (routine == "gesvd" or m >= n)
        A, B = Guarded(a), Guarded(a)
        made = svd_arguments(letter, lapack.integer, routine, jobs, A)
        assert lapack(letter, routine, *made.arguments) == 0
        other = svd_arguments(letter, lapack.integer, routine, jobs.replace("O", "S"), B)
        assert lapack(letter, routine, *other.arguments) == 0
        np.testing.assert_array_equal(made.s.values, other.s.values)
        if on_the_left:
            np.testing.assert_array_equal(A.values[:, :short], other.u.values)
        else:
            np.testing.assert_array_equal(A.values[:short], other.vt.values)
        for job, mine, theirs in zip(jobs, (made.u, made.vt), (other.u, other.vt), strict=False):
            if job in "SA":
                np.testing.assert_array_equal(mine.values, theirs.values)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("routine", SVD)
@pytest.mark.parametrize("values", [np.eye, lambda *shape: np.zeros(shape)])
def test_equal_singular_values_have_the_same_vectors_for_each_job(ours, letter, routine, values):
    """All bases are right there, but the calls of a program must agree on one."""
    lapack = Lapack(ours, "wheel64")
    a = values(30, 23).astype(LETTERS[letter])
    found = []
    for jobs in ("S", "O", "A") if routine == "gesdd" else ("SS", "OS", "AA"):
        A = Guarded(a)
        made = svd_arguments(letter, lapack.integer, routine, jobs, A)
        assert lapack(letter, routine, *made.arguments) == 0
        u = A.values if jobs[0] == "O" else made.u.values[:, :23]
        found.append((u.tolist(), made.vt.values.tolist()))
    assert found[0] == found[1] == found[2]


# ---- numbers at the limits -----------------------------------------------------------------------


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("power", [-1, 1])
@pytest.mark.parametrize("shape", [(60, 60), (200, 40), (40, 200)])
def test_very_small_and_large_numbers(ours, letter, power, shape):
    lapack, rng = Lapack(ours, "wheel64"), np.random.default_rng(5)
    size = LETTERS[letter](2.0 ** (power * (1000 if letter in "dz" else 120)))
    a = calls.random(rng, letter, *shape)
    made = svd_arguments(letter, lapack.integer, "gesdd", "S", Guarded(a * size))
    assert lapack(letter, "gesdd", *made.arguments) == 0
    s = wide(of_vector(made.s) / np.real(size))
    u, vt = wide(made.u.values), wide(made.vt.values)
    near((u * s) @ vt, a, letter, 400, 10)
    if shape[0] == shape[1]:
        h = a + a.conj().T
        made = eigh_arguments(letter, lapack.integer, "syevd", "V", "L", Guarded(h * size))
        assert lapack(letter, "syevd", *made.arguments) == 0
        w, z = wide(of_vector(made.w) / np.real(size)), wide(made.z.values)
        near(wide(h) @ z, z * w, letter, 200, 10)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("routine", EIGH + SVD)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("jobs", ["NN", "OS"])
def test_a_matrix_with_nan_is_forwarded_as_it_was(ours, letter, routine, wrong, jobs):
    lapack, n = Lapack(ours, "wheel64"), 60
    found = []
    for call in (lapack, lapack.behind):
        a = hermitian(np.random.default_rng(n), letter, n)
        a[30, 30] = wrong
        if routine in EIGH:
            job = "N" if jobs == "NN" else "V"
            made = eigh_arguments(letter, lapack.integer, routine, job, "L", Guarded(a))
            info, values = call(letter, routine, *made.arguments), made.w
        else:
            made = svd_arguments(letter, lapack.integer, routine, jobs, Guarded(a))
            info, values = call(letter, routine, *made.arguments), made.s
        found.append((info, np.isnan(values.values).tolist() if info == 0 else None))
    assert found[0] == found[1]


# ---- workspaces ----------------------------------------------------------------------------------


def queries_of(made):
    """The arguments with -1 for the size of one of the workspaces, each in turn."""
    for workspace in made.sized:
        at = next(i for i, each in enumerate(made.arguments) if each is workspace)
        yield (*made.arguments[: at + 1], -1, *made.arguments[at + 2 :])


def made_for(letter, integer, routine, A):
    if routine in EIGH:
        return eigh_arguments(letter, integer, routine, "V", "L", A)
    if routine in PAIRS:
        B = Guarded(np.eye(len(A.values), dtype=A.values.dtype))
        return pair_arguments(letter, integer, routine, 1, "V", "L", A, B)
    if routine in ("gelsd", "gelss"):
        return squares_arguments(letter, integer, routine, A, Guarded(A.values[:, :3]), -1.0)
    return svd_arguments(letter, integer, routine, "SS", A)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("width", ["wheel64", "wheel32"])
@pytest.mark.parametrize("routine", calls.SPECTRAL)
def test_the_sizes_of_workspaces(ours, letter, width, routine):
    lapack = Lapack(ours, width)
    a = hermitian(np.random.default_rng(0), letter, 70)
    said = []
    for call in (lapack, lapack.behind):
        A = Guarded(a)
        made = made_for(letter, lapack.integer, routine, A)
        for arguments in queries_of(made):
            for each in made.sized:
                each.values[...] = 0
            assert call(letter, routine, *arguments) == 0
            A.check_unchanged()
            said.append(sizes_of(made))
    half_of = len(said) // 2
    assert said[:half_of] == said[half_of:]
    assert said[0][0] > 70


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("routine", [*EIGH, *PAIRS, "gelsd", "gelss"])
def test_a_workspace_that_is_too_small_is_an_error(ours, letter, routine):
    lapack = Lapack(ours, "wheel64")
    A = Guarded(hermitian(np.random.default_rng(0), letter, 70))
    made = made_for(letter, lapack.integer, routine, A)
    for workspace in made.sized:
        at = next(i for i, each in enumerate(made.arguments) if each is workspace)
        arguments = (
            *made.arguments[: at + 1],
            made.arguments[at + 1] - 1,
            *made.arguments[at + 2 :],
        )
        assert lapack(letter, routine, *arguments, unchanged=[A]) == -(at + 2)


# ---- programs ------------------------------------------------------------------------------------


def ran(program, **changes):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=calls.environment(**changes),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


AROUND = """
import numpy as np, scipy.linalg as la
near = lambda x, y: np.testing.assert_allclose(x, y, rtol=0, atol=3e5 * np.finfo(x.dtype).eps)
for name in {names}:
    for n in 299, 300:
        rng = np.random.default_rng(n)
        a = rng.standard_normal((2, n, n))
        a = (a[0] if name[0] == "f" else a[0] + 1j * a[1]).astype(name)
        h, tall = a + a.conj().T, np.vstack([a, a[::-1], a])
        for driver in "ev", "evd", "evr":
            w, v = la.eigh(h, driver=driver)
            near(v * w @ v.conj().T, h)
        some, _ = la.eigh(h, subset_by_index=[3, 12])
        near(some, w[3:13])
        some, _ = la.eigh(h, subset_by_value=[(w[2] + w[3]) / 2, (w[12] + w[13]) / 2])
        near(some, w[3:13])
        w, v = np.linalg.eigh(h)
        near(v * w @ v.conj().T, h)
        near(np.linalg.eigvalsh(h), w)
        for x in a, tall, tall.T.copy():
            u, s, v = np.linalg.svd(x, full_matrices=False)
            near(u * s @ v, x)
            near(la.svdvals(x), s)
            u, s, v = la.svd(x, lapack_driver="gesvd", full_matrices=False)
            near(u * s @ v, x)
"""


@pytest.mark.slow
@two_cores
@pytest.mark.parametrize(
    "name", many(["float32", "float64", "complex64", "complex128"], ["float64"])
)
def test_numpy_and_scipy_around_the_least_order(name):
    # the load does not decide if the library behind is left alone
    _, said = ran(AROUND.format(names=[name]), HETSCHED_BLAS_LEAST=None, HETSCHED_BLAS_BEHIND="own")
    counted = calls.table(said)
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[name]
    pair = {
        calls.usual(letter, routine): count
        for routine, count in {"syev": 1, "syevr": 3, "gesvd": 3}.items()
    }
    for function, count in pair.items():
        row = counted[function]
        assert (row["taken"], row["small"]) == (count, count), function
    # NumPy computes float32 and complex64 in their own precision
    for routine in ("syevd", "gesdd"):
        row = counted[calls.usual(letter, routine)]
        assert row["taken"] == row["small"] > 0
    assert not any(row["refused"] for row in counted.values())


PAIRS_AROUND = """
import numpy as np, scipy.linalg as la
for n in 299, 300:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((2, n, n))
    a = (a[0] if {name!r}[0] == "f" else a[0] + 1j * a[1]).astype({name!r})
    h, p = a + a.conj().T, (a @ a.conj().T / n + np.eye(n)).astype({name!r})
    for driver in "gv", "gvd", None:
        w, v = la.eigh(h, p, driver=driver)
        error = np.abs(h @ v - p @ v * w).max()
        assert error < 3e5 * np.finfo(w.dtype).eps, error
"""


@pytest.mark.slow
@two_cores
@pytest.mark.parametrize(
    "name", many(["float32", "float64", "complex64", "complex128"], ["float64"])
)
def test_scipy_with_pairs_around_the_least_order(name):
    _, said = ran(
        PAIRS_AROUND.format(name=name), HETSCHED_BLAS_LEAST=None, HETSCHED_BLAS_BEHIND="own"
    )
    counted = calls.table(said)
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[name]
    for routine, count in ("sygv", 1), ("sygvd", 2):
        row = counted[calls.usual(letter, routine)]
        assert (row["taken"], row["small"], row["refused"]) == (count, count, 0)


@two_cores
def test_taken_calls_are_explained_and_reported():
    _, said = ran(
        "import numpy as np; a = np.eye(90); np.linalg.eigh(a); np.linalg.svd(a)",
        HETSCHED_BLAS_LEAST="0",
        HETSCHED_BLAS_EXPLAIN="1",
    )
    lines = re.findall(r"^hetsched\[\d+\]: (.*)$", said, re.M)
    assert "dsyevd, 7.3e+05 multiply-adds: taken, 2 workers" in lines
    assert "dgesdd, 7.3e+05 multiply-adds: taken, 2 workers" in lines
    counted = calls.table(said)
    assert counted["dsyevd"]["taken"] == counted["dgesdd"]["taken"] == 1


@pytest.mark.slow
@two_cores
def test_nan_is_counted_as_refused():
    _, said = ran(
        """
import numpy as np
a = np.eye(90)
a[3, 2] = np.nan
for call in np.linalg.eigvalsh, np.linalg.svd:
    try: call(a)
    except np.linalg.LinAlgError: pass
""",
        HETSCHED_BLAS_LEAST="0",
    )
    counted = calls.table(said)
    for name in ("dsyevd", "dgesdd"):
        assert (counted[name]["taken"], counted[name]["refused"]) == (0, 1)


@pytest.mark.slow
@two_cores
def test_threads_and_forks():
    """Several threads at once, and a child that decomposes with workers of its own."""
    out, _ = ran(
        """
import os, threading
import numpy as np
a = np.random.default_rng(0).standard_normal((150, 150))
h = a + a.T
w, s = np.linalg.eigvalsh(h), np.linalg.svd(a, compute_uv=False)
wrong = []
def work():
    for turn in range(4):
        right = np.allclose(np.linalg.eigh(h)[0], w) and np.allclose(np.linalg.svd(a)[1], s)
        if not right: wrong.append(turn)
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for turn in range(4):
    child = os.fork()
    if not child: os._exit(not np.allclose(np.linalg.eigh(h)[0], w))
    if os.waitpid(child, 0)[1]: wrong.append("child")
for thread in threads: thread.join()
print(wrong)
""",
        HETSCHED_BLAS_LEAST="0",
    )
    assert out == "[]\n"
