"""The drop-in library's functions of LAPACK against what LAPACK's documentation says of their
results, info and pivots."""

import dropin_calls as calls
import numpy as np
import pytest
from dropin_calls import LETTERS, Guarded, is_complex, op, wide
from dropin_lapack import WIDTHS, Lapack, any_case, half, lapack_of, near, within
from hypothesis import given
from hypothesis import strategies as st

calls.skip_without_library()
SIZES = st.sampled_from([0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 97, 128, 129, 150])
COLUMNS = st.sampled_from([0, 1, 2, 5, 17, 64])
letters = st.sampled_from("sdcz")
seeds = st.integers(0, 2**32 - 1)
more = st.sampled_from([0, 1, 5])
triangles = st.sampled_from("ULul")
each_letter = pytest.mark.parametrize("letter", LETTERS)
each_width = pytest.mark.parametrize("width", ["wheel64", "wheel32"])


@pytest.fixture(scope="module")
def ours():
    with calls.every_call_taken(calls.load()) as found:
        yield found


def well_conditioned(rng, letter, n):
    """Diagonal enough, with rows in some order, so that pivots matter."""
    a = calls.random(rng, letter, n, n) / max(n, 1) ** 0.5 + 2 * np.eye(n, dtype=LETTERS[letter])
    return a[rng.permutation(n)]


def positive(rng, letter, n):
    x = wide(calls.random(rng, letter, n, n))
    return ((x @ x.conj().T) / max(n, 1) + np.eye(n)).astype(LETTERS[letter])


def permuted(values, pivots):
    """Rows as LAPACK's exchanges, counted from 1, leave them."""
    values = values.copy()
    for i, other in enumerate(int(p) - 1 for p in pivots):
        values[[i, other]] = values[[other, i]]
    return values


# ---- LU ------------------------------------------------------------------------------------------


def factored(lapack, letter, a, extra=2):
    A, pivots = Guarded(a, more=extra), lapack.pivots(min(a.shape))
    info = lapack(letter, "getrf", *a.shape, A, A.lead, pivots)
    return A, pivots, info


@given(data=st.data(), letter=letters, m=SIZES, n=SIZES, seed=seeds)
def test_getrf(ours, data, letter, m, n, seed):
    lapack = lapack_of(data, ours)
    a = calls.random(np.random.default_rng(seed), letter, m, n)
    A, pivots, info = factored(lapack, letter, a, data.draw(more))
    count = min(m, n)
    assert info == 0
    assert all(i < pivot <= m for i, pivot in enumerate(pivots.values))
    lower = np.tril(wide(A.values)[:, :count], -1) + np.eye(m, count)
    upper = np.triu(wide(A.values)[:count])
    near(lower @ upper, permuted(a, pivots.values), letter, count, 1 + np.abs(upper).max(initial=0))
    assert (np.abs(lower) <= (np.sqrt(2) if is_complex(letter) else 1) + 1e-3).all()
    theirs, order = Guarded(a), lapack.pivots(count)
    assert lapack.behind(letter, "getrf", m, n, theirs, theirs.lead, order) == 0
    if letter in "dz":  # in single precision, rounding decides among elements of about one size
        np.testing.assert_array_equal(pivots.values, order.values)


@given(
    letter=letters,
    width=WIDTHS,
    shape=st.sampled_from([(1, 1), (5, 5), (70, 70), (130, 130), (40, 90), (90, 40)]),
    where=st.sampled_from(["first", "middle", "last", "rank one"]),
)
def test_the_first_pivot_that_is_zero(ours, letter, width, shape, where):
    lapack, (m, n) = Lapack(ours, width), shape
    a = calls.random(np.random.default_rng(m + n), letter, m, n)
    if where == "rank one":
        a = np.ones_like(a)
        expected = 2 if min(m, n) > 1 else 0
    else:
        expected = {"first": 1, "middle": min(m, n) // 2 + 1, "last": min(m, n)}[where]
        a[:, expected - 1] = 0
    A, pivots, info = factored(lapack, letter, a)
    assert info == expected
    theirs, order = Guarded(a), lapack.pivots(min(m, n))
    assert lapack.behind(letter, "getrf", m, n, theirs, theirs.lead, order) == expected
    np.testing.assert_array_equal(pivots.values, order.values)
    near(A.values, theirs.values, letter, n, 100)  # it is factored to the end


@given(data=st.data(), letter=letters, n=SIZES, cols=COLUMNS, seed=seeds)
def test_getrs(ours, data, letter, n, cols, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    trans = any_case(data, "NTC")
    a, b = well_conditioned(rng, letter, n), calls.random(rng, letter, n, cols)
    A, pivots, info = factored(lapack, letter, a, data.draw(more))
    assert info == 0
    factors, order = A.values.copy(), pivots.values.copy()
    B = Guarded(b, more=data.draw(more))
    assert lapack(letter, "getrs", trans, n, cols, A, A.lead, pivots, B, B.lead) == 0
    near(op(trans, wide(a)) @ wide(B.values), b, letter, n, 20)
    np.testing.assert_array_equal(A.values, factors)
    np.testing.assert_array_equal(pivots.values, order)


@given(data=st.data(), letter=letters, n=SIZES, cols=COLUMNS, identity=st.booleans(), seed=seeds)
def test_gesv(ours, data, letter, n, cols, identity, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    a = well_conditioned(rng, letter, n)
    b = np.eye(n, dtype=a.dtype) if identity else calls.random(rng, letter, n, cols)
    A, B, pivots = (
        Guarded(a, more=data.draw(more)),
        Guarded(b, more=data.draw(more)),
        lapack.pivots(n),
    )
    assert lapack(letter, "gesv", n, b.shape[1], A, A.lead, pivots, B, B.lead) == 0
    near(wide(a) @ wide(B.values), b, letter, n, 20)
    lower, upper = np.tril(wide(A.values), -1) + np.eye(n), np.triu(wide(A.values))
    near(lower @ upper, permuted(a, pivots.values), letter, n, 5)


@each_letter
@each_width
@pytest.mark.parametrize("n", [1, 5, 70, 130])
def test_a_singular_system_is_not_solved(ours, letter, width, n):
    lapack = Lapack(ours, width)
    rng = np.random.default_rng(n)
    a, b = calls.random(rng, letter, n, n), calls.random(rng, letter, n, 3)
    a[:, n // 2] = 0
    A, B, pivots = Guarded(a), Guarded(b), lapack.pivots(n)
    assert lapack(letter, "gesv", n, 3, A, A.lead, pivots, B, B.lead, unchanged=[B]) == n // 2 + 1
    lower, upper = np.tril(wide(A.values), -1) + np.eye(n), np.triu(wide(A.values))
    near(lower @ upper, permuted(a, pivots.values), letter, n, 20)
    work = Guarded(np.zeros((n, 1), a.dtype))
    before = A.values.copy()
    assert lapack(letter, "getri", n, A, A.lead, pivots, work, n) == n // 2 + 1
    assert A.values.tobytes() == before.tobytes()


@given(data=st.data(), letter=letters, n=SIZES, seed=seeds)
def test_getri(ours, data, letter, n, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    a = well_conditioned(rng, letter, n)
    A, pivots, info = factored(lapack, letter, a, data.draw(more))
    order = pivots.values.copy()
    lwork = max(1, n * data.draw(st.sampled_from([1, 3])))
    work = Guarded(np.zeros((lwork, 1), a.dtype), more=0)
    assert lapack(letter, "getri", n, A, A.lead, pivots, work, lwork) == info == 0
    near(wide(a) @ wide(A.values), np.eye(n), letter, n, 20)
    np.testing.assert_array_equal(pivots.values, order)
    assert work.values.real[0, 0] >= n


# ---- Cholesky ------------------------------------------------------------------------------------


def factor_of(triangle, values):
    """L with A = L L^H."""
    return np.tril(wide(values)) if triangle in "lL" else np.triu(wide(values)).conj().T


@given(data=st.data(), letter=letters, n=SIZES, triangle=triangles, seed=seeds)
def test_potrf(ours, data, letter, n, triangle, seed):
    lapack = lapack_of(data, ours)
    a = positive(np.random.default_rng(seed), letter, n)
    A = Guarded(half(triangle, a), more=data.draw(more))
    assert lapack(letter, "potrf", triangle, n, A, A.lead) == 0
    factor = factor_of(triangle, np.where(within(triangle, n), A.values, 0))
    near(factor @ factor.conj().T, a, letter, n, 2)
    assert (factor.diagonal().real > 0).all()
    assert (factor.diagonal().imag == 0).all()
    assert np.isnan(A.values[~within(triangle, n)]).all()


@pytest.mark.parametrize("letter", "cz")
@pytest.mark.parametrize("triangle", "UL")
@pytest.mark.parametrize("n", [1, 5, 70, 130])
def test_imaginary_parts_of_the_diagonal_are_not_read(ours, letter, triangle, n):
    lapack = Lapack(ours, "wheel64")
    a = positive(np.random.default_rng(n), letter, n)
    marked = half(triangle, a)
    marked.imag[np.diag_indices(n)] = 7
    A = Guarded(marked)
    assert lapack(letter, "potrf", triangle, n, A, A.lead) == 0
    factor = factor_of(triangle, np.where(within(triangle, n), A.values, 0))
    assert (factor.diagonal().imag == 0).all()
    near(factor @ factor.conj().T, a, letter, n, 2)


@given(
    letter=letters,
    width=WIDTHS,
    triangle=triangles,
    n=st.sampled_from([1, 5, 33, 70, 130, 610]),
    where=st.sampled_from(["first", "middle", "last"]),
    value=st.sampled_from([-1, 0]),
)
def test_not_positive_definite(ours, letter, width, triangle, n, where, value):
    lapack = Lapack(ours, width)
    a = 4 * np.eye(n, dtype=LETTERS[letter])
    a += np.eye(n, k=1, dtype=a.dtype) + np.eye(n, k=-1, dtype=a.dtype)
    failing = {"first": 1, "middle": n // 2 + 1, "last": n}[where]
    a[failing - 1, failing - 1] = value
    if value == 0:
        a[failing - 1, : failing - 1] = a[: failing - 1, failing - 1] = 0
    A, B = Guarded(half(triangle, a)), Guarded(np.ones((n, 2), a.dtype))
    assert lapack(letter, "potrf", triangle, n, A, A.lead) == failing
    assert np.isnan(A.values[~within(triangle, n)]).all()
    done = factor_of(triangle, np.where(within(triangle, n), A.values, 0))[
        : failing - 1, : failing - 1
    ]
    # which Octave's [R, p] = chol(A) is
    near(done @ done.conj().T, a[: failing - 1, : failing - 1], letter, n, 8)
    A = Guarded(half(triangle, a))
    assert lapack(letter, "posv", triangle, n, 2, A, A.lead, B, B.lead, unchanged=[B]) == failing


@given(data=st.data(), letter=letters, n=SIZES, cols=COLUMNS, triangle=triangles, seed=seeds)
def test_potrs_and_posv(ours, data, letter, n, cols, triangle, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    a, b = positive(rng, letter, n), calls.random(rng, letter, n, cols)
    A, B = Guarded(half(triangle, a), more=data.draw(more)), Guarded(b, more=data.draw(more))
    assert lapack(letter, "posv", triangle, n, cols, A, A.lead, B, B.lead) == 0
    near(wide(a) @ wide(B.values), b, letter, n, 5)
    assert np.isnan(A.values[~within(triangle, n)]).all()
    kept, again = Guarded(A.values.copy()), Guarded(b)
    assert (
        lapack(
            letter, "potrs", triangle, n, cols, kept, kept.lead, again, again.lead, unchanged=[kept]
        )
        == 0
    )
    near(wide(a) @ wide(again.values), b, letter, n, 5)


# ---- triangular systems --------------------------------------------------------------------------


@given(data=st.data(), letter=letters, n=SIZES, cols=COLUMNS, triangle=triangles, seed=seeds)
def test_trtrs(ours, data, letter, n, cols, triangle, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    trans, diagonal = any_case(data, "NTC"), any_case(data, "NU")
    a = calls.random(rng, letter, n, n) / max(n, 1)
    a[np.diag_indices(n)] = 1 if diagonal in "uU" else 1 + np.abs(calls.random(rng, letter, n))
    full, b = np.where(within(triangle, n), a, 0), calls.random(rng, letter, n, cols)
    kept = half(triangle, a)
    if diagonal in "uU":
        np.fill_diagonal(kept, np.nan)
    A, B = Guarded(kept, more=data.draw(more)), Guarded(b, more=data.draw(more))
    assert (
        lapack(
            letter, "trtrs", triangle, trans, diagonal, n, cols, A, A.lead, B, B.lead, unchanged=[A]
        )
        == 0
    )
    near(op(trans, wide(full)) @ wide(B.values), b, letter, n, 5)


@each_letter
@each_width
@pytest.mark.parametrize("n", [1, 5, 70, 130])
def test_a_triangle_with_a_zero_on_its_diagonal(ours, letter, width, n):
    lapack = Lapack(ours, width)
    a, b = np.eye(n, dtype=LETTERS[letter]), np.ones((n, 2), LETTERS[letter])
    a[n // 2 :, n // 2 :] = 0
    A, B = Guarded(a), Guarded(b)
    assert (
        lapack(letter, "trtrs", "U", "N", "N", n, 2, A, A.lead, B, B.lead, unchanged=[A, B])
        == n // 2 + 1
    )
    assert lapack(letter, "trtrs", "U", "N", "U", n, 2, A, A.lead, B, B.lead, unchanged=[A, B]) == 0


# ---- orthogonal factors --------------------------------------------------------------------------


def work_for(letter, size):
    return Guarded(np.zeros((max(1, size), 1), LETTERS[letter]), more=0)


def reflected(letter, lapack, a, extra=2):
    """R and the reflectors, with tau."""
    m, n = a.shape
    A, tau, work = (
        Guarded(a, more=extra),
        Guarded(np.zeros((min(m, n), 1), a.dtype), more=0),
        work_for(letter, 3 * n),
    )
    assert lapack(letter, "geqrf", m, n, A, A.lead, tau, work, max(1, 3 * n)) == 0
    assert work.values.real[0, 0] >= max(1, n) * bool(min(m, n))
    return A, tau


def whole_q(values, tau):
    """H(1) H(2) ... written out: H(i) = I - tau v v^H, v(1:i-1) = 0, v(i) = 1."""
    m, q = len(values), np.eye(len(values), dtype=np.complex128)
    for i, factor in enumerate(wide(tau).ravel()):
        v = np.zeros((m, 1), np.complex128)
        v[i], v[i + 1 :, 0] = 1, values[i + 1 :, i]
        q = q - factor * (q @ v) @ v.conj().T
    return q


@given(data=st.data(), letter=letters, m=SIZES, n=SIZES, seed=seeds)
def test_geqrf(ours, data, letter, m, n, seed):
    lapack = lapack_of(data, ours)
    a = calls.random(np.random.default_rng(seed), letter, m, n)
    A, tau = reflected(letter, lapack, a, data.draw(more))
    q, r = whole_q(A.values, tau.values), np.triu(wide(A.values))
    near(q.conj().T @ q, np.eye(m), letter, m)
    near(q @ r, a, letter, m, 5)
    assert (r.diagonal().imag == 0).all()
    theirs, other, work = (
        Guarded(a),
        Guarded(np.zeros_like(tau.values), more=0),
        work_for(letter, n),
    )
    assert lapack.behind(letter, "geqrf", m, n, theirs, theirs.lead, other, work, max(1, n)) == 0
    signs = [np.sign(each.values.diagonal().real) for each in (A, theirs)]
    sure = np.abs(r.diagonal()) > 1e-2
    np.testing.assert_array_equal(signs[0][sure], signs[1][sure])
    # a last row of real numbers has no reflector
    assert ((wide(tau.values) == 0) == (wide(other.values) == 0)).all()


@given(data=st.data(), letter=letters, m=SIZES, n=SIZES, k=SIZES, seed=seeds)
def test_orgqr(ours, data, letter, m, n, k, seed):
    n, k = min(n, m), min(k, n, m)
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    A, tau = reflected(letter, lapack, calls.random(rng, letter, m, k))
    q = whole_q(A.values, tau.values)[:, :n]
    given_ = np.full((m, n), np.nan, A.values.dtype)
    given_[:, :k] = A.values
    Q, work = Guarded(given_, more=data.draw(more)), work_for(letter, n)
    assert lapack(letter, "orgqr", m, n, k, Q, Q.lead, tau, work, max(1, n)) == 0
    near(Q.values, q, letter, m)


@given(data=st.data(), letter=letters, m=SIZES, n=SIZES, k=SIZES, seed=seeds)
def test_ormqr(ours, data, letter, m, n, k, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    side, trans = any_case(data, "LR"), any_case(data, "NC" if is_complex(letter) else "NT")
    order, others = (m, n) if side in "lL" else (n, m)
    k = min(k, order)
    A, tau = reflected(letter, lapack, calls.random(rng, letter, order, k))
    held = Guarded(A.values.copy(), more=data.draw(more))
    q = op("C" if trans in "cCtT" else "N", whole_q(A.values, tau.values))
    c = calls.random(rng, letter, m, n)
    C, work = Guarded(c, more=data.draw(more)), work_for(letter, 2 * others)
    numbers = (m, n, k, held, held.lead, tau, C, C.lead, work, max(1, 2 * others))
    assert lapack(letter, "ormqr", side, trans, *numbers, unchanged=[held]) == 0
    near(C.values, q @ wide(c) if side in "lL" else wide(c) @ q, letter, order, 2)


@given(data=st.data(), letter=letters, m=SIZES, n=SIZES, cols=COLUMNS, seed=seeds)
def test_gels(ours, data, letter, m, n, cols, seed):
    lapack, rng = lapack_of(data, ours), np.random.default_rng(seed)
    trans = any_case(data, "NC" if is_complex(letter) else "NT")
    a = calls.random(rng, letter, m, n) / max(m, n, 1) ** 0.5 + 2 * np.eye(
        m, n, dtype=LETTERS[letter]
    )
    system = op("C" if trans in "cCtT" else "N", wide(a))
    rows, unknowns = system.shape
    b = np.full((max(m, n), cols), np.nan, a.dtype)
    b[:rows] = calls.random(rng, letter, rows, cols)
    right = wide(b[:rows])
    expected = (
        np.linalg.lstsq(system, right, rcond=None)[0]
        if min(m, n, cols)
        else np.zeros((unknowns, cols))
    )
    A, B = Guarded(a, more=data.draw(more)), Guarded(b, more=data.draw(more))
    lwork = max(1, min(m, n) + 2 * max(m, n, cols))
    work = work_for(letter, lwork)
    assert lapack(letter, "gels", trans, m, n, cols, A, A.lead, B, B.lead, work, lwork) == 0
    near(B.values[:unknowns], expected, letter, max(m, n), 5)
    if rows > unknowns > 0 and cols:
        squares = (np.abs(system @ expected - right) ** 2).sum(0)
        near(
            (np.abs(wide(B.values[unknowns:rows])) ** 2).sum(0),
            squares,
            letter,
            m,
            5 * (1 + squares.max()),
        )


@each_letter
@each_width
@pytest.mark.parametrize(("m", "n"), [(5, 3), (90, 40), (150, 130), (70, 70)])
def test_least_squares_without_full_rank(ours, letter, width, m, n):
    lapack = Lapack(ours, width)
    a = calls.random(np.random.default_rng(m), letter, m, n)
    a[:, n // 2] = 0
    lwork = 4 * m

    def solve(call):
        A, B, work = Guarded(a), Guarded(np.ones((m, 2), a.dtype)), work_for(letter, lwork)
        return call(letter, "gels", "N", m, n, 2, A, A.lead, B, B.lead, work, lwork)

    assert solve(lapack) == solve(lapack.behind) == n // 2 + 1


@each_width
@pytest.mark.parametrize(
    ("letter", "size"),
    [
        *((x, y) for x in "sdcz" for y in (1e-40, 1e37)),
        *((x, y) for x in "dz" for y in (1e-300, 1e300)),
    ],
)
def test_least_squares_of_very_small_and_large_numbers(ours, letter, width, size):
    lapack, rng = Lapack(ours, width), np.random.default_rng(3)
    a = calls.random(rng, letter, 40, 20)
    right, work = calls.random(rng, letter, 40, 2), work_for(letter, 200)
    expected = np.linalg.lstsq(wide(a), wide(right), rcond=None)[0]
    A, B = Guarded(a * LETTERS[letter](size)), Guarded(right * LETTERS[letter](size))
    assert lapack(letter, "gels", "N", 40, 20, 2, A, A.lead, B, B.lead, work, 200) == 0
    loss = 1e5 if letter in "sc" and size < 1e-38 else 10  # numbers with few bits
    near(B.values[:20], expected, letter, 40, loss)


# ---- workspaces ----------------------------------------------------------------------------------


@each_letter
@each_width
@pytest.mark.parametrize("routine", ["getri", "geqrf", "orgqr", "ormqr", "gels"])
def test_the_size_of_a_workspace(ours, letter, width, routine):
    lapack = Lapack(ours, width)
    a = calls.random(np.random.default_rng(0), letter, 90, 70)
    A, B, tau, pivots = Guarded(a), Guarded(a), Guarded(a[:70, :1], more=0), lapack.pivots(70)
    arguments = {
        "getri": (70, A, A.lead, pivots),
        "geqrf": (90, 70, A, A.lead, tau),
        "orgqr": (90, 70, 70, A, A.lead, tau),
        "ormqr": ("L", "N", 90, 70, 70, A, A.lead, tau, B, B.lead),
        "gels": ("N", 90, 70, 70, A, A.lead, B, B.lead),
    }[routine]
    work = Guarded(np.zeros((1, 1), a.dtype), more=0)
    assert lapack(letter, routine, *arguments, work, -1, unchanged=[A, B, tau]) == 0
    assert work.values.real[0, 0] >= {"gels": 140}.get(routine, 70)


# ---- NaN -----------------------------------------------------------------------------------------


@each_letter
@each_width
@pytest.mark.parametrize("triangle", "UL")
@pytest.mark.parametrize("n", [1, 5, 70, 130])
def test_the_minor_with_a_nan_is_not_positive_definite(ours, letter, width, triangle, n):
    a = 4 * np.eye(n, dtype=LETTERS[letter])
    a[n // 2, n // 2] = np.nan
    A = Guarded(a)
    # of the reference; not of all others
    assert Lapack(ours, width)(letter, "potrf", triangle, n, A, A.lead) == n // 2 + 1


@each_letter
@each_width
@pytest.mark.parametrize("n", [5, 70, 130])
def test_a_nan_is_a_pivot_only_where_it_is_first(ours, letter, width, n):
    a = calls.random(np.random.default_rng(n), letter, n, n)
    size = np.abs(a[:, 0].real) + np.abs(a[:, 0].imag)
    for row in (0, 1, n - 1):
        b = a.copy()
        b[row, 0] = np.nan
        _, pivots, _ = factored(Lapack(ours, width), letter, b)
        assert pivots.values[0] == (
            1 if row == 0 else 1 + np.argmax(np.where(np.arange(n) == row, 0, size))
        )
