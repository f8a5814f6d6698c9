"""Every dense operation by LAPACK's test ratios, on its types of matrices, below its threshold;
that the ratios find faults."""

import inspect

import numpy as np
import pytest
from inputs import many
from lapack import matrices, ratios
from lapack.matrices import DTYPES, GENERAL, POSITIVE, SCALES, TRIANGULAR
from lapack.operations import OURS, PEERS, call

SIZES = (0, 1, 2, 3, 5, 10, 15, 16, 17, 50, 95, 96, 97, 129, *many((200, 257), ()))
SHAPES = (
    (0, 3),
    (3, 0),
    (1, 4),
    (4, 1),
    (5, 20),
    (20, 5),
    (7, 300),
    (50, 120),
    (96, 97),
    (97, 96),
    (257, 16),
    (600, 50),
    (1000, 7),
)
SINGULAR = [kind for kind in GENERAL if "zero" in kind]
REGULAR = [kind for kind in GENERAL if "zero" not in kind]
EDGES = ("small", "large")

of_dtypes = pytest.mark.parametrize("dtype", DTYPES)


def of_kinds(kinds):
    """Each kind of matrix in all types of numbers, or in a real and a complex one by turns."""
    return pytest.mark.parametrize(
        ("kind", "dtype"),
        [
            (kind, dtype)
            for turn, kind in enumerate(kinds)
            for dtype in many(DTYPES, DTYPES[turn % 2 :: 2])
        ],
    )


def ours(name, *args, **options):
    return call(OURS, name, *args, **options)


def below(value, *what):
    """What is below the threshold is right; NaN is not."""
    assert value < ratios.THRESHOLD, (*what, value)


def forms(a):
    """Options and the matrix: by rows, read-only; by columns, to be overwritten. Of large ones, one
    of them."""
    rows, columns = ({}, a), ({"overwrite_a": True}, np.array(a, order="F"))
    if a.size < 9000:
        return rows, columns
    return (rows,) if a.shape[0] % 2 else (columns,)


def takes(name, option):
    """Whether a function has that option."""
    return option in inspect.signature(OURS[name]).parameters


def is_of(x, shape, dtype):
    assert isinstance(x, np.ndarray)
    assert (x.shape, x.dtype.name) == (shape, dtype)


class TestLu:
    @pytest.mark.few(4)
    @of_kinds(GENERAL)
    def test_factors(self, kind, dtype):
        for m, n in [(n, n) for n in SIZES] + list(SHAPES):
            a = matrices.general(kind, m, n, dtype)
            for options, form in forms(a):
                lu, piv = ours("lu_factor", form, **options)
                is_of(lu, (m, n), dtype)
                assert piv.shape == (min(m, n),)
                below(ratios.lu_factors(a, lu, piv), m, n, options)
                # complex pivots are the largest by their parts' sum
                multipliers = np.abs(np.tril(lu, -1)[:, : min(m, n)])
                limit = 2**0.5 if lu.dtype.kind == "c" else 1
                assert multipliers.max(initial=0) <= limit * (1 + 8 * np.finfo(dtype).eps)

    @pytest.mark.few(4)
    @of_kinds(REGULAR)
    def test_systems(self, kind, dtype):
        for n in SIZES:
            a = matrices.general(kind, n, n, dtype)
            rcond = ratios.reciprocal_condition(a)
            factors = ours("lu_factor", a)
            for trans, columns in ((0, 3), (1, None), (2, 1)):
                b, true = system(a, trans, columns)
                x = ours("lu_solve", factors, b, trans)
                solved(a, x, b, true, rcond, trans)
            for columns in (None, 2, 40):
                b, true = system(a, 0, columns)
                x = ours("solve", a, np.array(b, order="F" if columns == 2 else "C"))
                solved(a, x, b, true, rcond)

    @pytest.mark.few(6)
    @of_kinds(REGULAR)
    def test_inverses(self, kind, dtype):
        for n in SIZES:
            a = matrices.general(kind, n, n, dtype)
            for options, form in forms(a):
                inverse = ours("inv", form, **options)
                is_of(inverse, (n, n), dtype)
                below(ratios.inverse(a, inverse), n, options)

    @of_kinds(SINGULAR)
    @pytest.mark.parametrize("n", [1, 2, 5, 16, 97])
    def test_singular(self, kind, dtype, n):
        a = matrices.general(kind, n, n, dtype)
        with pytest.raises(np.linalg.LinAlgError):
            ours("solve", a, np.ones(n, dtype))
        with pytest.raises(np.linalg.LinAlgError):
            ours("inv", a)
        assert ours("det", a) == 0
        assert tuple(ours("slogdet", a)) == (0, -np.inf)


def system(a, trans, columns):
    """Right sides whose solution is known, and it."""
    n = a.shape[1]
    true = matrices.uniform(
        matrices.random("system", n, columns, trans),
        (n,) if columns is None else (n, columns),
        a.dtype.name,
    )
    wide = np.promote_types(a.dtype, "f8")
    op = (a, a.T, a.conj().T)[trans].astype(wide)
    power = -ratios.exponent(op)
    return (
        ratios.shifted(ratios.shifted(op, power) @ true.astype(wide), -power).astype(a.dtype),
        true,
    )


def solved(a, x, b, true, rcond, trans=0):
    is_of(x, b.shape, a.dtype.name)
    below(ratios.residual(a, x, b, trans), len(a), trans)
    below(ratios.forward(x, true, rcond), len(a), trans)


def with_other_triangle(a, lower, diagonal=False):
    """A copy with numbers that are not to be read in the other triangle, and on the diagonal."""
    n = len(a)
    size = max(1.0, np.abs(a).max(initial=0)) * 8
    other = (matrices.uniform(matrices.random("other", n), (n, n), a.dtype.name) * size).astype(
        a.dtype
    )
    keep = np.tri(n, k=-diagonal, dtype=bool)
    return np.where(keep if lower else keep.T, a, other)


class TestCholesky:
    @pytest.mark.few(4)
    @of_kinds([kind for kind in POSITIVE if "zero" not in kind])
    @pytest.mark.parametrize("lower", [True, False])
    def test_factors_and_systems(self, kind, lower, dtype):
        for n in SIZES:
            a = matrices.positive(kind, n, dtype)
            given = with_other_triangle(a, lower)
            for options, form in forms(given):
                factor = ours("cholesky", form, lower=lower, **options)
                is_of(factor, (n, n), dtype)
                assert not np.triu(factor, 1).any() if lower else not np.tril(factor, -1).any()
                below(ratios.cholesky_factor(a, factor, lower), n, options)
            c, flag = ours("cho_factor", given, lower=lower)
            assert bool(flag) is lower
            below(ratios.cholesky_factor(a, c, lower), n)
            rcond = ratios.reciprocal_condition(a)
            for columns in (None, 3):
                b, true = system(a, 0, columns)
                solved(a, ours("cho_solve", (c, flag), b), b, true, rcond)
                if takes("solve", "assume_a"):
                    solved(a, ours("solve", a, b, assume_a="pos"), b, true, rcond)
            if n <= 97:
                below(ratios.inverse(a, ours("cho_solve", (c, flag), np.eye(n, dtype=dtype))), n)

    @of_kinds([kind for kind in POSITIVE if "zero" in kind])
    @pytest.mark.parametrize("lower", [True, False])
    def test_not_definite(self, kind, lower, dtype):
        """The error says which minor it is."""
        for n in (1, 2, 5, 17, 97, 200):
            a = matrices.positive(kind, n, dtype)
            order = matrices.zero_row(kind, n) + 1
            for name in ("cholesky", "cho_factor"):
                with pytest.raises(np.linalg.LinAlgError, match=rf"(?<!\d){order}(?!\d)"):
                    ours(name, a, lower=lower)


class TestQr:
    @pytest.mark.few(4)
    @of_kinds(GENERAL)
    def test_factors(self, kind, dtype):
        for m, n in [(n, n) for n in SIZES] + list(SHAPES):
            a = matrices.general(kind, m, n, dtype)
            k = min(m, n)
            for options, form in forms(a):
                q, r = ours("qr", form, mode="economic", **options)
                is_of(q, (m, k), dtype)
                is_of(r, (k, n), dtype)
                self.judge(a, q, r)
            if m <= 300:
                q, r = ours("qr", a, mode="full")
                is_of(q, (m, m), dtype)
                is_of(r, (m, n), dtype)
                self.judge(a, q, r)

    def judge(self, a, q, r):
        assert not np.tril(r, -1).any()
        below(ratios.qr_factors(a, q, r), a.shape)
        below(ratios.qr_product(a, q, r), a.shape)
        below(ratios.orthonormal(q), a.shape)

    @pytest.mark.few(8)
    @of_kinds(GENERAL)
    def test_r_alone(self, kind, dtype):
        for m, n in [(n, n) for n in SIZES[:-2]] + list(SHAPES):
            a = matrices.general(kind, m, n, dtype)
            (r,) = ours("qr", a, mode="r")
            assert r.dtype == a.dtype
            assert r.shape in ((m, n), (min(m, n), n))
            assert not np.tril(r, -1).any()
            below(ratios.qr_triangle(a, r), m, n)

    @pytest.mark.few(4)
    @of_kinds(GENERAL)
    def test_reflectors(self, kind, dtype):
        for m, n in [(n, n) for n in SIZES if n <= 97] + [(m, n) for m, n in SHAPES if m <= 300]:
            a = matrices.general(kind, m, n, dtype)
            k = min(m, n)
            (packed, tau), r = ours("qr", a, mode="raw")
            is_of(packed, (m, n), dtype)
            is_of(tau, (k,), dtype)
            assert np.array_equal(np.triu(packed)[: len(r)], r)
            eye = np.eye(m, k, dtype=dtype)
            q = ratios.reflected(packed, tau, eye).astype(dtype)
            self.judge(a, q, np.triu(packed)[:k])
            if m == n:
                c = matrices.uniform(matrices.random("c", m), (m, 3), dtype)
                below(ratios.applied(packed, tau, ours("qr", a, mode="full")[0], c), m)

    @pytest.mark.few(8)
    @of_kinds(GENERAL)
    def test_pivoted(self, kind, dtype):
        if not takes("qr", "pivoting"):
            pytest.skip("qr has no pivoting")
        for m, n in [(n, n) for n in SIZES if 0 < n <= 129] + [s for s in SHAPES if 0 not in s]:
            a = matrices.general(kind, m, n, dtype)
            q, r, order = ours("qr", a, mode="economic", pivoting=True)
            assert sorted(order) == list(range(n))
            self.judge(a[:, order], q, r)
            sizes = np.abs(r.diagonal().astype("c16" if r.dtype.kind == "c" else "f8"))
            assert (sizes[1:] <= sizes[:-1] + 100 * np.finfo(dtype).eps * sizes[:1]).all()


LEAST = (
    (1, 1),
    (2, 1),
    (1, 2),
    (5, 3),
    (3, 5),
    (20, 5),
    (5, 20),
    (16, 16),
    (16, 130),
    (50, 50),
    (97, 96),
    (96, 97),
    (129, 129),
    (257, 16),
    (600, 50),
    (1000, 7),
)


class TestLeastSquares:
    @of_dtypes
    @pytest.mark.parametrize("scale", SCALES)
    def test_full_rank(self, scale, dtype):
        for m, n in LEAST:
            a = matrices.full_rank(m, n, dtype, scale)
            for columns, inside in ((1, True), (3, True), (2, False)):
                b = matrices.right_sides(a, columns, inside=inside)
                if columns == 1:
                    b = b[:, 0]
                x, rank = least(a, b)
                is_of(x, (n, *b.shape[1:]), dtype)
                assert rank == min(m, n)
                if inside or m < n:
                    below(ratios.least_residual(a, x, b), m, n, columns)
                    below(ratios.gradient(a, x, b, inside=True), m, n, columns)
                elif m >= 2 * n:
                    below(ratios.gradient(a, x, b, inside=False), m, n, columns)
                if m < n:
                    below(ratios.row_space(a, x, rank), m, n, columns)

    @pytest.mark.few(3)
    @of_dtypes
    @pytest.mark.parametrize("scale", SCALES)
    def test_deficient(self, scale, dtype):
        for m, n in LEAST:
            a, wanted = matrices.deficient(m, n, dtype, scale), matrices.rank(m, n)
            # xGELSD overflows where others do not
            for inside in (True, False) if scale != "large" else (True,):
                b = matrices.right_sides(a, 3, inside=inside)
                x, rank = least(a, b, np.finfo(dtype).eps ** 0.5)
                assert rank == wanted
                if inside:
                    below(ratios.least_residual(a, x, b), m, n)
                if inside or m >= 2 * wanted:
                    below(ratios.gradient(a, x, b, inside=inside), m, n)
                below(ratios.row_space(a, x, rank), m, n)

    @of_dtypes
    def test_equal_columns(self, dtype):
        """Exactly deficient, and nobody says so: the solution is the shortest all the same."""
        for m, n in ((20, 4), (60, 10), (300, 30), (10, 10), (10, 40)):
            half = matrices.full_rank(m, n // 2, dtype, "usual")
            a = np.hstack([half, half])
            b = matrices.right_sides(a, 2, inside=True)
            x, rank = least(a, b)
            assert rank == min(m, n // 2)
            below(ratios.least_residual(a, x, b), m, n)
            below(ratios.row_space(a, x, rank), m, n)

    @of_dtypes
    def test_ill_conditioned(self, dtype):
        """A solution by the normal equations would not do."""
        for m, n in LEAST:
            if m >= n:
                a = matrices.general("ill", m, n, dtype)
                b, true = system(a, 0, 2)
                x, rank = least(a, b)
                assert rank == n
                below(ratios.least_residual(a, x, b), m, n)
                below(ratios.forward(x, true, 1 / matrices.condition("ill", dtype)), m, n)


def least(a, b, cond=None):
    """Solution and rank."""
    found = ours("lstsq", a, b, cond)
    return found[0], found[2]


class TestTriangular:
    @pytest.mark.few(4)
    @of_kinds(TRIANGULAR)
    @pytest.mark.parametrize("lower", [True, False])
    def test_systems(self, kind, lower, dtype):
        unit = "unit" in kind or kind == "identity"
        for n in SIZES:
            t = matrices.triangular(kind, n, dtype, lower)
            rcond = ratios.reciprocal_condition(t)
            given = with_other_triangle(t, lower, unit)
            for trans, columns in ((0, None), (0, 3), (1, 2), (2, 40), (2, None)):
                b, true = system(t, trans, columns)
                x = ours(
                    "solve_triangular",
                    np.asarray(given, order="FC"[trans % 2]),
                    b,
                    trans,
                    lower,
                    unit,
                )
                solved(t, x, b, true, rcond, trans)

    @of_dtypes
    @pytest.mark.parametrize("lower", [True, False])
    @pytest.mark.parametrize("n", [1, 2, 17, 130])
    def test_singular(self, n, lower, dtype):
        for place in {0, n // 2, n - 1}:
            t = np.array(matrices.triangular("well", n, dtype, lower))
            t[place, place] = 0
            with pytest.raises(np.linalg.LinAlgError):
                ours("solve_triangular", t, np.ones(n, dtype), lower=lower)


class TestDeterminants:
    @of_kinds([kind for kind in GENERAL if kind not in EDGES])
    def test_exact(self, kind, dtype):
        for n in range(6):
            a = matrices.general(kind, n, n, dtype)
            below(ratios.determinant(a, ours("det", a)), n)

    @pytest.mark.few(4)
    @of_kinds(GENERAL)
    def test_logarithms(self, kind, dtype):
        for n in [n for n in SIZES if n <= 97]:
            a = matrices.general(kind, n, n, dtype)
            below(ratios.logarithm(a, *ours("slogdet", a)), n)


class TestGram:
    @pytest.mark.few(6)
    @of_kinds([kind for kind in GENERAL if kind not in EDGES])
    def test_products(self, kind, dtype):
        for m, n in [(n, n) for n in SIZES] + list(SHAPES):
            a = matrices.general(kind, m, n, dtype)
            for _, form in forms(a):
                for of, side in (("rows", m), ("columns", n)):
                    if side <= 300:
                        g = ours("gram", form, of=of)
                        is_of(g, (side, side), dtype)
                        below(ratios.gram(a, g, of == "columns"), m, n, of)

    @of_dtypes
    def test_edges(self, dtype):
        """Elements whose squares are at the edges of the range."""
        for size in matrices.edges(dtype):
            for m, n in ((5, 5), (97, 40), (20, 300)):
                a = (matrices.general("well", m, n, dtype) * size**0.5).astype(dtype)
                below(ratios.gram(a, ours("gram", a)), m, n)


# ---- the judge is judged -------------------------------------------------------------------------

N = 20


def lu_case(a):
    lu, piv = call(PEERS, "lu_factor", a)
    return lu, lambda x: ratios.lu_factors(a, x, piv)


def solve_case(a):
    b, true = system(a, 0, None)
    x = call(PEERS, "solve", a, b)
    return x, lambda x: max(
        ratios.residual(a, x, b), ratios.forward(x, true, ratios.reciprocal_condition(a))
    )


def inverse_case(a):
    return call(PEERS, "inv", a), lambda x: ratios.inverse(a, x)


def cholesky_case(a):
    a = matrices.positive("well", N, a.dtype.name)
    return call(PEERS, "cholesky", a, lower=True), lambda x: ratios.cholesky_factor(a, x, True)


def q_case(a):
    q, r = call(PEERS, "qr", a)
    return q, lambda x: max(ratios.qr_factors(a, x, r), ratios.qr_product(a, x, r))


def orthonormal_case(a):
    return call(PEERS, "qr", a)[0], ratios.orthonormal


def r_case(a):
    q, r = call(PEERS, "qr", a)
    return r, lambda x: max(ratios.qr_factors(a, q, x), ratios.qr_product(a, q, x))


def r_alone_case(a):
    return call(PEERS, "qr", a, mode="r")[0], lambda x: ratios.qr_triangle(a, x)


def reflectors_case(a):
    (packed, tau), _ = call(PEERS, "qr", a, mode="raw")
    q, c = call(PEERS, "qr", a)[0], np.eye(N, dtype=a.dtype)
    return np.tril(packed, -1), lambda x: ratios.applied(x, tau, q, c)


def least_residual_case(a):
    b = matrices.right_sides(a, 1, inside=True)
    return call(PEERS, "lstsq", a, b)[0], lambda x: ratios.least_residual(a, x, b)


def gradient_case(a):
    a = np.vstack([a, a[::-1]])
    b = matrices.right_sides(a, 1, inside=False)
    return call(PEERS, "lstsq", a, b)[0], lambda x: ratios.gradient(a, x, b, inside=False)


def row_space_case(a):
    b = matrices.right_sides(a[:5], 1, inside=True)
    return call(PEERS, "lstsq", a[:5], b)[0], lambda x: ratios.row_space(a[:5], x, 5)


def triangular_case(a):
    t = matrices.triangular("well", N, a.dtype.name, False)
    b, _ = system(t, 1, None)
    return call(PEERS, "solve_triangular", t, b, 1), lambda x: ratios.residual(t, x, b, 1)


def determinant_case(a):
    a = a[:4, :4]
    return np.array([call(PEERS, "det", a)]), lambda x: ratios.determinant(a, x[0])


def sign_case(a):
    sign, log = call(PEERS, "slogdet", a)
    return np.array([sign]), lambda x: ratios.logarithm(a, x[0], log)


def logarithm_case(a):
    sign, log = call(PEERS, "slogdet", a)
    return np.array([log]), lambda x: ratios.logarithm(a, sign, x[0])


def gram_case(a):
    return call(PEERS, "gram", a), lambda x: ratios.gram(a, x)


CASES = {
    name.removesuffix("_case"): case
    for name, case in list(globals().items())
    if name.endswith("_case")
}


@of_dtypes
@pytest.mark.parametrize("name", CASES)
def test_faults_are_found(name, dtype):
    """One element that is wrong by ten thousand roundings of the largest; and one that is NaN."""
    result, judge = CASES[name](matrices.general("well", N, N, dtype))
    below(judge(result), name)
    places = np.argwhere(result)
    rng = matrices.random(name)
    for place in places[rng.permutation(len(places))[:8]]:
        wrong = np.array(result)
        wrong[tuple(place)] += 1e4 * N * np.finfo(dtype).eps * np.abs(result).max()
        assert judge(wrong) > ratios.THRESHOLD, place
        wrong[tuple(place)] = np.nan
        with np.errstate(invalid="ignore"):
            assert not judge(wrong) < ratios.THRESHOLD, place


@of_dtypes
def test_normal_equations_are_found(dtype):
    """Their solution has an error of the square of the condition."""
    a = matrices.general("ill", 50, 10, dtype)
    b, true = system(a, 0, 2)
    x = np.linalg.solve(a.conj().T @ a, a.conj().T @ b)
    assert ratios.forward(x, true, 1 / matrices.condition("ill", dtype)) > ratios.THRESHOLD


@of_dtypes
def test_gram_of_one_rounding_apart_is_found(dtype):
    g = np.array(call(PEERS, "gram", matrices.general("well", 6, 9, dtype)))
    g[4, 2] = np.nextafter(g[4, 2].real, 9) + (1j * g[4, 2].imag if g.dtype.kind == "c" else 0)
    assert ratios.gram(matrices.general("well", 6, 9, dtype), g) == np.inf


@of_kinds([*GENERAL, *TRIANGULAR])
def test_types_are_what_they_say(kind, dtype):
    for n in (2, 17, 96):
        a = (
            matrices.triangular(kind, n, dtype, True)
            if kind in TRIANGULAR[6:]
            else matrices.general(kind, n, n, dtype)
        )
        wide = ratios.unit(a.astype(np.promote_types(dtype, "f8")))
        values = np.linalg.svd(wide, compute_uv=False)
        if "zero" in kind:
            assert (values < 1e-15).sum() == (n - n // 2 if kind == "half zero" else 1)
        elif "unit" in kind or kind == "identity":
            assert (a.diagonal() == 1).all()
        else:
            assert values[0] / values[-1] == pytest.approx(
                matrices.condition(kind, dtype), rel=0.9 if kind == "worst" else 0.05
            )
        assert (kind == "lower" or kind in TRIANGULAR[6:]) <= (not np.triu(a, 1).any())
        assert (kind == "upper") <= (not np.tril(a, -1).any())
        if kind in EDGES:
            edge = matrices.edges(dtype)[EDGES.index(kind)]
            assert 0.01 < np.abs(a / edge).max() <= 1
