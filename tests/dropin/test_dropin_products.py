"""The drop-in library's gemm, syrk, herk, trsm and gemv against sums written out, as the BLAS's
documentation has them."""

import itertools

import dropin_calls as calls
import numpy as np
import pytest
from dropin_calls import (
    LETTERS,
    Caller,
    Guarded,
    assert_near,
    enumerated,
    eps,
    is_complex,
    op,
    order_of,
    stored,
    wide,
)
from hypothesis import given
from hypothesis import strategies as st

calls.skip_without_library()
SIZES = st.sampled_from(
    [0, 1, 2, 3, 7, 8, 9, 13, 14, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97, 130]
)
letters = st.sampled_from("sdcz")
widths = st.sampled_from(["wheel64", "wheel64", "wheel32", "wheel32", "plain32"])
forms = st.sampled_from(calls.FORMS)
factors = st.sampled_from([0, 1, -1, 0.5, 2 - 3j, 1j])
seeds = st.integers(0, 2**32 - 1)
more = st.sampled_from([0, 1, 5])


@pytest.fixture(scope="module")
def ours():
    with calls.every_call_taken(calls.load()) as found:
        yield found


def caller(ours, width):
    """Its functions, of the wheels' names where there is nothing behind the plain ones."""
    width = width if calls.behind(width) else "wheel64" if calls.behind("wheel64") else "wheel32"
    if not calls.behind(width):
        pytest.skip("NumPy and SciPy have BLAS libraries of other names")
    return Caller([ours], width)


def factor(letter, value):
    return LETTERS[letter](value if is_complex(letter) else np.real(value) + np.imag(value))


def any_case(data, known):
    letter = data.draw(st.sampled_from(known))
    return data.draw(st.sampled_from([letter, letter.lower()]))


def with_nan(rng, values):
    """A few elements that nobody may read."""
    values = values.copy()
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


# ---- the range of the numbers --------------------------------------------------------------------
#
# Operands and factors are numbers of order 1 times a power of two, given in units of which two are
# out of range. Every case below is in range if alpha multiplies what it multiplies in the reference
# BLAS; the true result is that of long doubles.

wider = pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= 1024, reason="long doubles have the range of doubles"
)
FEW = st.sampled_from([1, 2, 5, 9, 24, 49, 60])
SECOND_FIRST = [  # alpha, first factor, second factor: first (alpha second)
    *[
        (0, 0, 0),
        (-1, 1, 1),
        (1, -1, -1),
        (1, 1, -1),
        (-1, -1, 1),
        (-1, 1, 0),
        (1, -1, 0),
        (0, 1, -1),
        (0, -1.7, 0),
    ],
    *[(-1.72, -0.1, 1.6), (-1.77, 1, 0.9), (1.6, 1, -1.72), (0.8, 0.8, -0.1)],
]
SUMS_FIRST = [  # alpha (first second)
    *[
        (0, 0, 0),
        (1, 1, -1),
        (1, -1, 1),
        (-1, -1, 1),
        (-1, 1, -1),
        (-1, 1, 0),
        (1, 0, -1),
        (-1.77, 0.8, 0.8),
        (1.6, -1.72, 0.1),
    ],
    *[(0, -1.7, 0), (1.6, -0.85, -0.85)],
]
# alpha, the matrix
ITS_OWN_FIRST = [(0, 0), (-1, 1), (1, -1), (-1.75, 1.2), (0.2, 0.7), (0, -0.86)]
ITS_OWN_SUMS = [(0, 0), (1, -0.6), (-1, 0.8), (-1.75, 0.8), (1.6, -0.85), (0, -0.86)]
SOLVED = [  # alpha, right-hand side, triangle: (alpha right-hand side) / triangle
    *[
        (0, 0, 0),
        (-1, 1, -1),
        (1, -1, 1),
        (-1, 1, 1),
        (1, -1, -1),
        (-1, -0.5, -1),
        (1.6, -1.5, 1.5),
        (-1.72, 1.6, -1.6),
    ],
    *[(0, -1.72, 0), (0, -1, -1.72), (0, 1.6, 1.6)],
]


def power(letter, units):
    return int(units * (600 if letter in "dz" else 72))


def times(letter, values, units):
    """Values times a power of two; numbers of the type."""
    values, exponent = np.asarray(values), power(letter, units)
    if not is_complex(letter):
        return np.ldexp(values, exponent)
    return (np.ldexp(values.real, exponent) + 1j * np.ldexp(values.imag, exponent)).astype(
        values.dtype
    )


def of_order_one(rng, letter, *shape):
    """Real and imaginary parts between 1/2 and 1, of either sign."""
    values = rng.uniform(0.5, 1, (2, *shape)) * rng.choice([-1, 1], (2, *shape))
    return (values[0] + 1j * values[1] if is_complex(letter) else values[0]).astype(LETTERS[letter])


def long(values):
    values = np.asarray(values)
    return values.astype(np.clongdouble if values.dtype.kind == "c" else np.longdouble)


def assert_in_range(letter, found, expected, scale, terms):
    """As assert_near, in long doubles; each number below the smallest normal one has a rounding of
    its own."""
    least = np.finfo(LETTERS[letter]).smallest_subnormal
    bound = 4 * (terms + 8) * (eps(letter) * scale + long(least))
    assert np.isfinite(expected.astype(found.dtype)).all(), "no case of these"
    assert (np.abs(long(found) - expected) <= bound).all()


def long_product(alpha, a, b, beta, c):
    """alpha a b + beta c, and what its roundings are relative to."""
    alpha, a, b, beta, c = map(long, (alpha, a, b, beta, c))
    scale = np.abs(alpha) * (np.abs(a) @ np.abs(b)) + np.abs(beta) * np.abs(c)
    return alpha * (a @ b) + beta * c, scale


@wider
@given(data=st.data(), letter=letters, form=forms, m=FEW, n=FEW, k=FEW, seed=seeds)
def test_gemm_keeps_in_range(ours, data, letter, form, m, n, k, seed):
    rng = np.random.default_rng(seed)
    op_a, op_b = (any_case(data, "NTC") for _ in "ab")
    turned = form == "rows"  # B^T A^T then
    units = data.draw(
        st.sampled_from(SECOND_FIRST if (op_b if turned else op_a) in "nN" else SUMS_FIRST)
    )
    in_a, in_b = units[:0:-1] if turned else units[1:]
    alpha, beta = (of_order_one(rng, letter) for _ in "ab")
    alpha, beta = times(letter, alpha, units[0]), times(letter, beta, sum(units) / 2)
    a, b = (
        times(letter, of_order_one(rng, letter, m, k), in_a),
        times(letter, of_order_one(rng, letter, k, n), in_b),
    )
    c = times(letter, of_order_one(rng, letter, m, n), sum(units) / 2)
    expected, scale = long_product(alpha, a, b, beta, c)
    A, B = (Guarded(stored(*pair), form) for pair in ((op_a, a), (op_b, b)))
    C = Guarded(c, form)
    gemm(caller(ours, "wheel64"), letter, form, op_a, op_b, alpha, A, B, beta, C)
    assert_in_range(letter, C.values, expected, scale, k)


@pytest.mark.few(1)
@wider
@given(data=st.data(), form=forms, n=FEW, k=FEW, seed=seeds)
@pytest.mark.parametrize("hermitian", [False, True])
def test_syrk_and_herk_keep_in_range(ours, data, hermitian, form, n, k, seed):
    letter = data.draw(st.sampled_from("cz" if hermitian else "sdcz"))
    rng = np.random.default_rng(seed)
    trans = any_case(data, "NC" if hermitian else "NT" if is_complex(letter) else "NTC")
    triangle = any_case(data, "UL")
    units = data.draw(
        st.sampled_from(ITS_OWN_FIRST if (trans in "nN") != (form == "rows") else ITS_OWN_SUMS)
    )
    of_result = (units[0] + 2 * units[1]) / 2
    alpha, beta = (of_order_one(rng, letter) for _ in "ab")
    if hermitian:
        alpha, beta = (LETTERS[letter](each.real) for each in (alpha, beta))
    alpha, beta = times(letter, alpha, units[0]), times(letter, beta, of_result)
    a, c = (
        times(letter, of_order_one(rng, letter, n, k), units[1]),
        times(letter, of_order_one(rng, letter, n, n), of_result),
    )
    if hermitian:
        np.fill_diagonal(c, c.diagonal().real)
    within = np.triu(np.ones((n, n), bool)) if triangle in "uU" else np.tril(np.ones((n, n), bool))
    expected, scale = long_product(alpha, a, (a.conj() if hermitian else a).T, beta, c)
    A, C = Guarded(stored(trans, a), form), Guarded(c, form)
    numbers, routine = (n, k, alpha, A, A.lead, beta, C, C.lead), "herk" if hermitian else "syrk"
    who = caller(ours, "wheel64")
    if form == "fortran":
        who.fortran(letter, routine, triangle, trans, *numbers)
    else:
        words = [enumerated(calls.OF_LETTER, each) for each in (triangle, trans)]
        who.cblas(letter, routine, order_of(form), *words, *numbers, real=hermitian)
    assert_in_range(letter, C.values[within], expected[within], scale[within], k)


@wider
@given(data=st.data(), letter=letters, form=forms, m=FEW, n=FEW, seed=seeds)
def test_gemv_keeps_in_range(ours, data, letter, form, m, n, seed):
    rng = np.random.default_rng(seed)
    trans = any_case(data, "NT" if is_complex(letter) else "NTC")
    units = data.draw(
        st.sampled_from(SECOND_FIRST if (trans in "nN") != (form == "rows") else SUMS_FIRST)
    )
    alpha, beta = (of_order_one(rng, letter) for _ in "ab")
    alpha, beta = times(letter, alpha, units[0]), times(letter, beta, sum(units) / 2)
    a = times(letter, of_order_one(rng, letter, m, n), units[1])
    rows, inner = op(trans, a).shape
    x, y = (
        times(letter, of_order_one(rng, letter, size, 1), unit)
        for size, unit in ((inner, units[2]), (rows, sum(units) / 2))
    )
    expected, scale = long_product(alpha, op(trans, a), x, beta, y)
    A, X, Y = Guarded(a, form), Guarded(x, step=-2), Guarded(y, step=1)
    numbers = (m, n, alpha, A, A.lead, X, -2, beta, Y, 1)
    if form == "fortran":
        caller(ours, "wheel64").fortran(letter, "gemv", trans, *numbers)
    else:
        caller(ours, "wheel64").cblas(
            letter, "gemv", order_of(form), enumerated(calls.OF_LETTER, trans), *numbers
        )
    assert_in_range(letter, Y.values, expected, scale, inner)


def long_solution(lower, b):
    """By substitution."""
    x = long(b).copy()
    for i in range(len(x)):
        x[i] = (x[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


@wider
@given(data=st.data(), letter=letters, form=forms, m=FEW, n=FEW, seed=seeds)
def test_trsm_keeps_in_range(ours, data, letter, form, m, n, seed):
    rng = np.random.default_rng(seed)
    words = side, triangle, trans, diagonal = [
        any_case(data, known) for known in ("LR", "UL", "NTC", "NU")
    ]
    order, unit = m if side in "lL" else n, diagonal in "uU"
    units = data.draw(st.sampled_from([each for each in SOLVED if not unit or each[2] == 0]))
    alpha = times(letter, of_order_one(rng, letter), units[0])
    full, kept = (
        times(letter, each, units[2]) for each in triangle_for(rng, letter, order, triangle, unit)
    )
    b = times(letter, of_order_one(rng, letter, m, n), units[1])
    system, right = op(trans, long(full)), long(alpha) * long(b)
    if side in "rR":
        system, right = system.T, right.T
    if (triangle in "uU") == ((trans in "nN") == (side in "lL")):  # upper: from the last row on
        system, right = system[::-1, ::-1], right[::-1]
        expected = long_solution(system, right)[::-1]
    else:
        expected = long_solution(system, right)
    A, B = Guarded(kept, form), Guarded(b, form)
    numbers = (m, n, alpha, A, A.lead, B, B.lead)
    if form == "fortran":
        caller(ours, "wheel64").fortran(letter, "trsm", *words, *numbers)
    else:
        tables = (calls.OF_SIDE, calls.OF_LETTER, calls.OF_LETTER, calls.OF_DIAGONAL)
        caller(ours, "wheel64").cblas(
            letter, "trsm", order_of(form), *map(enumerated, tables, words), *numbers
        )
    expected = expected.T if side in "rR" else expected
    size = np.abs(long(alpha)) * np.abs(long(b)).max() / np.abs(long(full)).max()
    assert_in_range(letter, B.values, expected, 8 * size, order)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("size", [5, 60])
def test_infinite_and_zero_factors(ours, letter, size):
    """Infinities and NaN of alpha are everywhere; those of B are where they were, and with alpha
    zero nowhere."""
    who, rng = caller(ours, "wheel64"), np.random.default_rng(size)
    for words in itertools.product("LR", "UL", "NTC", "N"):
        _, kept = triangle_for(rng, letter, size, words[1], False)
        b = of_order_one(rng, letter, size, size)
        line = (slice(None), 1) if words[0] == "L" else (1, slice(None))
        hit = b.copy()
        hit[line] = rng.choice([np.nan, np.inf, 0], size, p=[0.4, 0.4, 0.2])
        for alpha, right, finite in [
            (np.inf, b, False),
            (np.nan, b, False),
            (2, hit, True),
            (0, hit, True),
        ]:
            A, B = Guarded(kept if alpha else np.full_like(kept, np.nan)), Guarded(right)
            who.fortran(
                letter, "trsm", *words, size, size, LETTERS[letter](alpha), A, A.lead, B, B.lead
            )
            if alpha == 0:
                assert not B.values.any()
                assert not np.signbit(B.values.imag).any()
                continue
            left = np.isfinite(B.values)
            assert left.any() == finite
            assert not finite or np.delete(left, 1, axis=1 if words[0] == "L" else 0).all()


# ---- gemm ----------------------------------------------------------------------------------------


def gemm(who, letter, form, op_a, op_b, alpha, A, B, beta, C):
    m, n = C.values.shape
    k = op(op_a, A.values).shape[1]
    numbers = (m, n, k, alpha, A, A.lead, B, B.lead, beta, C, C.lead)
    if form == "fortran":
        who.fortran(letter, "gemm", op_a, op_b, *numbers)
    else:
        ops = [enumerated(calls.OF_LETTER, each) for each in (op_a, op_b)]
        who.cblas(letter, "gemm", order_of(form), *ops, *numbers)


@given(
    data=st.data(), letter=letters, width=widths, form=forms, m=SIZES, n=SIZES, k=SIZES, seed=seeds
)
def test_gemm(ours, data, letter, width, form, m, n, k, seed):
    rng = np.random.default_rng(seed)
    op_a, op_b = (any_case(data, "NTC") for _ in "ab")
    alpha, beta = (factor(letter, data.draw(factors)) for _ in "ab")
    a, b, c = (
        calls.random(rng, letter, m, k),
        calls.random(rng, letter, k, n),
        calls.random(rng, letter, m, n),
    )
    expected = beta * wide(c) if beta else np.zeros((m, n))
    if alpha:
        expected = expected + wide(alpha) * np.einsum("ik,kj->ij", wide(a), wide(b))
    else:
        a, b = with_nan(rng, a), with_nan(rng, b)
    scale = np.abs(alpha) * (np.abs(np.nan_to_num(a)) @ np.abs(np.nan_to_num(b))) + np.abs(
        beta
    ) * np.abs(c)
    if not beta:
        c = with_nan(rng, c)
    A, B = (Guarded(stored(*pair), form, data.draw(more)) for pair in ((op_a, a), (op_b, b)))
    C = Guarded(c, form, data.draw(more))
    gemm(caller(ours, width), letter, form, op_a, op_b, alpha, A, B, beta, C)
    assert_near(C.values, expected, scale, letter, k)
    C.check_guards()
    A.check_unchanged()
    B.check_unchanged()


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("size", [5, 64, 150])
def test_nan_goes_where_the_blas_lets_it(ours, letter, size):
    who = caller(ours, "wheel64")
    rng = np.random.default_rng(size)
    a, b, c = (calls.random(rng, letter, size, size) for _ in "abc")
    one = LETTERS[letter](1)

    def product(a, b, c, alpha=one, beta=one):
        C = Guarded(c)
        gemm(who, letter, "fortran", "N", "N", alpha, Guarded(a), Guarded(b), beta, C)
        return C.values

    row, column = size // 3, size - 1
    a_nan, b_nan, c_nan = (each.copy() for each in (a, b, c))
    a_nan[row, 1] = b_nan[1, column] = c_nan[row, column] = np.nan
    rows, columns = np.arange(size)[:, None] == row, np.arange(size)[None] == column
    np.testing.assert_array_equal(np.isnan(product(a_nan, b, c)), np.broadcast_to(rows, c.shape))
    np.testing.assert_array_equal(np.isnan(product(a, b_nan, c)), np.broadcast_to(columns, c.shape))
    np.testing.assert_array_equal(np.isnan(product(a, b, c_nan)), rows & columns)
    assert np.isnan(product(a, b, c, beta=LETTERS[letter](np.nan))).all()
    assert np.isnan(product(a, b, c, alpha=LETTERS[letter](np.nan))).all()
    infinite = a.real.astype(LETTERS[letter])
    infinite[row, 1] = np.inf
    zeros = b.real.astype(LETTERS[letter])
    zeros[1, column] = 0
    assert np.isnan(product(infinite, zeros, c)[row, column])


# ---- syrk, herk ----------------------------------------------------------------------------------


@pytest.mark.few(1)
@given(data=st.data(), width=widths, form=forms, n=SIZES, k=SIZES, seed=seeds)
@pytest.mark.parametrize("hermitian", [False, True])
def test_syrk_and_herk(ours, data, hermitian, width, form, n, k, seed):
    letter = data.draw(st.sampled_from("cz" if hermitian else "sdcz"))
    rng = np.random.default_rng(seed)
    trans = any_case(data, "NC" if hermitian else "NT" if is_complex(letter) else "NTC")
    triangle = any_case(data, "UL")
    alpha, beta = (
        factor(letter, np.real(data.draw(factors)) if hermitian else data.draw(factors))
        for _ in "ab"
    )
    a, c = calls.random(rng, letter, n, k), calls.random(rng, letter, n, n)
    within = np.triu(np.ones((n, n), bool)) if triangle in "uU" else np.tril(np.ones((n, n), bool))
    old = wide(c)
    as_given = hermitian and beta == 1 and (alpha == 0 or k == 0)  # then C is left as it is
    if hermitian and not as_given:
        np.fill_diagonal(old, old.diagonal().real)
    expected = beta * old if beta else np.zeros((n, n))
    if alpha:
        other = wide(a).conj() if hermitian else wide(a)
        expected = expected + wide(alpha) * np.einsum("ik,jk->ij", wide(a), other)
    else:
        a = with_nan(rng, a)
    clean = np.abs(np.nan_to_num(a))
    scale = np.abs(alpha) * (clean @ clean.T) + np.abs(beta) * np.abs(old)
    if hermitian and not as_given:
        c.imag[np.diag_indices(n)] = np.nan  # not read, and set to zero
    if not beta:
        c = with_nan(rng, c)
    c[~within] = np.nan  # not read, and left
    A = Guarded(stored(trans, a), form, data.draw(more))
    C = Guarded(c, form, data.draw(more))
    numbers = (n, k, alpha, A, A.lead, beta, C, C.lead)
    who, routine = caller(ours, width), "herk" if hermitian else "syrk"
    if form == "fortran":
        who.fortran(letter, routine, triangle, trans, *numbers)
    else:
        words = [enumerated(calls.OF_LETTER, each) for each in (triangle, trans)]
        who.cblas(letter, routine, order_of(form), *words, *numbers, real=hermitian)
    assert_near(C.values[within], expected[within], scale[within], letter, k)
    assert np.isnan(C.values[~within]).all()
    assert C.values[~within].tobytes() == c[~within].tobytes()
    if hermitian and not as_given:
        assert (C.values.diagonal().imag == 0).all()
    C.check_guards()
    A.check_unchanged()


# ---- trsm ----------------------------------------------------------------------------------------


def triangle_for(rng, letter, order, triangle, unit):
    """Well conditioned, as a matrix, and as it is stored: NaN where nothing is to be read."""
    full = calls.random(rng, letter, order, order) / max(order, 1)
    full[np.diag_indices(order)] = 1 if unit else 1 + np.abs(calls.random(rng, letter, order))
    full = np.triu(full) if triangle in "uU" else np.tril(full)
    kept = full.copy()
    within = (
        np.triu(np.ones((order, order), bool))
        if triangle in "uU"
        else np.tril(np.ones((order, order), bool))
    )
    kept[~within] = np.nan
    if unit:
        np.fill_diagonal(kept, np.nan)
    return full, kept


@given(data=st.data(), letter=letters, width=widths, form=forms, m=SIZES, n=SIZES, seed=seeds)
def test_trsm(ours, data, letter, width, form, m, n, seed):
    rng = np.random.default_rng(seed)
    words = side, triangle, trans, diagonal = [
        any_case(data, known) for known in ("LR", "UL", "NTC", "NU")
    ]
    alpha = factor(letter, data.draw(factors))
    order = m if side in "lL" else n
    full, kept = triangle_for(rng, letter, order, triangle, diagonal in "uU")
    b = calls.random(rng, letter, m, n)
    if alpha:
        system, right = op(trans, wide(full)), wide(alpha) * wide(b)
        expected = (
            np.linalg.solve(system, right) if side in "lL" else np.linalg.solve(system.T, right.T).T
        )
    else:
        expected, b = np.zeros((m, n)), with_nan(rng, b)
        kept = with_nan(rng, kept)
    A, B = Guarded(kept, form, data.draw(more)), Guarded(b, form, data.draw(more))
    numbers = (m, n, alpha, A, A.lead, B, B.lead)
    if form == "fortran":
        caller(ours, width).fortran(letter, "trsm", *words, *numbers)
    else:
        tables = (calls.OF_SIDE, calls.OF_LETTER, calls.OF_LETTER, calls.OF_DIAGONAL)
        caller(ours, width).cblas(
            letter, "trsm", order_of(form), *map(enumerated, tables, words), *numbers
        )
    assert_near(B.values, expected, 4 * np.abs(alpha), letter, order)
    B.check_guards()
    A.check_unchanged()


# ---- gemv ----------------------------------------------------------------------------------------


@given(data=st.data(), letter=letters, width=widths, form=forms, m=SIZES, n=SIZES, seed=seeds)
def test_gemv(ours, data, letter, width, form, m, n, seed):
    rng = np.random.default_rng(seed)
    trans = any_case(data, "NTC")
    alpha, beta = (factor(letter, data.draw(factors)) for _ in "ab")
    incx, incy = (data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in "xy")
    a = calls.random(rng, letter, m, n)
    turned = op(trans, wide(a))
    rows, inner = turned.shape
    x, y = calls.random(rng, letter, inner, 1), calls.random(rng, letter, rows, 1)
    nothing = m == 0 or n == 0  # the BLAS returns at once, whatever beta
    expected = wide(y) if nothing else beta * wide(y) if beta else np.zeros((rows, 1))
    if alpha and not nothing:
        expected = expected + wide(alpha) * np.einsum("ik,kj->ij", turned, wide(x))
    elif not nothing:
        a, x = with_nan(rng, a), with_nan(rng, x)
    clean = np.abs(op(trans, np.nan_to_num(a))) @ np.abs(np.nan_to_num(x))
    scale = np.abs(alpha) * clean + (np.abs(y) if nothing else np.abs(beta) * np.abs(y))
    if not beta and not nothing:
        y = with_nan(rng, y)
    A, X, Y = Guarded(a, form, data.draw(more)), Guarded(x, step=incx), Guarded(y, step=incy)
    numbers = (m, n, alpha, A, A.lead, X, incx, beta, Y, incy)
    if form == "fortran":
        caller(ours, width).fortran(letter, "gemv", trans, *numbers)
    else:
        caller(ours, width).cblas(
            letter, "gemv", order_of(form), enumerated(calls.OF_LETTER, trans), *numbers
        )
    assert_near(Y.values, expected, scale, letter, inner)
    Y.check_guards()
    A.check_unchanged()
    X.check_unchanged()
