"""NaN and infinities in matrices that nobody checks: they reach what depends on them, as with
SciPy, and nothing hangs."""

import inspect

import numpy as np
import pytest
from inputs import many
from lapack import matrices
from lapack.matrices import DTYPES
from lapack.operations import OURS, PEERS, call

import hetsched as hs

pytestmark = [pytest.mark.timeout(120), pytest.mark.parametrize("dtype", DTYPES)]
SIZES = (1, 2, 17, 97, 130, *many((5, 40), ()))
of_sizes = pytest.mark.parametrize("n", SIZES)
of_values = pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)


def ours(name, *args, **options):
    return call(OURS, name, *args, check_finite=False, **options)


def dense(n, dtype, columns=None):
    """Nothing in it is zero, and the diagonal is the largest of its column."""
    a = matrices.uniform(
        matrices.random("dense", n, columns), (n, n if columns is None else columns), dtype
    )
    a += 0.01
    k = min(a.shape)
    a[range(k), range(k)] += 2 * n
    return a


def positive(n, dtype):
    a = dense(n, dtype)
    return np.asarray(a + a.conj().T, dtype)


def places(n, m=None):
    """Corners, and some within."""
    m = n if m is None else m
    drawn = matrices.random("places", n, m).integers(0, (n, m), (4, 2)).tolist()
    return sorted({(0, 0), (0, m - 1), (n - 1, 0), (n - 1, m - 1), *map(tuple, drawn)})


def spoilt(a, place, value):
    a = np.array(a)
    a[place] = value
    return a


def unfinite(x):
    return ~np.isfinite(x)


@of_sizes
@of_values
class TestLu:
    def test_factors(self, n, value, dtype):
        """Columns before it do not depend on it; after a NaN all do that have a row below."""
        for i, j in places(n):
            a = spoilt(dense(n, dtype), (i, j), value)
            found = unfinite(ours("lu_factor", a)[0]).any(axis=0)
            assert found[j]
            assert not found[:j].any()
            if np.isnan(value):
                assert found[j:].all()  # SciPy's own forgets some

    @pytest.mark.parametrize("trans", [0, 1, 2])
    def test_right_sides(self, trans, n, value, dtype):
        factors = call(PEERS, "lu_factor", dense(n, dtype))
        right_sides(n, dtype, value, lambda b: ours("lu_solve", factors, b, trans))

    def test_factors_of_others(self, n, value, dtype):
        """A NaN in U reaches the unknowns up to its row, one in L all."""
        if np.isinf(value):
            pytest.skip("a division by infinity is zero")
        lu, piv = call(PEERS, "lu_factor", dense(n, dtype))
        for i, j in places(n):
            x = ours("lu_solve", (spoilt(lu, (i, j), value), piv), np.ones(n, dtype))
            assert np.isnan(x[: i + 1] if i <= j else x).all()

    def test_systems(self, n, value, dtype):
        for i, j in places(n):
            a = spoilt(dense(n, dtype), (i, j), value)
            for args in ((a, np.ones(n, dtype)), (dense(n, dtype), a)):
                with pytest.raises(ValueError, match="infs or NaNs"):
                    call(OURS, "solve", *args)
            if np.isnan(value) and "check_finite" in inspect.signature(OURS["solve"]).parameters:
                x = outcome(OURS, "solve", a, np.ones(n, dtype))
                assert x is None or np.isnan(x).any()

    def test_inverses(self, n, value, dtype):
        for place in places(n):
            a = spoilt(dense(n, dtype), place, value)
            found, wanted = (outcome(functions, "inv", a) for functions in (OURS, PEERS))
            if found is not None and wanted is not None:
                # what divides by infinity is zero
                assert np.isinf(value) or unfinite(found).any() >= unfinite(wanted).any()
                assert np.isinf(value) or (np.isnan(found) >= np.isnan(wanted)).all()
            assert found is None or np.isinf(value) or np.isnan(found).any()

    def test_determinants(self, n, value, dtype):
        """Refused, or no number."""
        for place in places(n):
            a = spoilt(dense(n, dtype), place, value)
            for name in ("det", "slogdet"):
                try:
                    found = call(OURS, name, a)
                except ValueError:
                    continue
                assert unfinite(found).any()
                # the logarithm, or the value
                assert np.isinf(value) or np.isnan(np.atleast_1d(found)[-1])


def right_sides(n, dtype, value, solve):
    """What is in one column is in all of that column, and in no other."""
    b = matrices.uniform(matrices.random("b", n), (n, 4), dtype)
    clean = solve(b)
    for i, j in places(n, 4):
        x = solve(spoilt(b, (i, j), value))
        bad = unfinite(x)
        assert bad[:, j].all()
        others = np.arange(4) != j
        assert not bad[:, others].any()
        assert np.allclose(x[:, others], clean[:, others], rtol=1e-3)


def outcome(functions, name, *args):
    """The result, or None for an error of linear algebra."""
    try:
        return call(functions, name, *args, check_finite=False)
    except np.linalg.LinAlgError:
        return None


@of_sizes
@of_values
@pytest.mark.parametrize("lower", [True, False])
class TestTriangles:
    def test_cholesky(self, lower, n, value, dtype):
        """In the triangle that is read: an error, or it shows where it was; in the other one:
        nothing."""
        a = positive(n, dtype)
        clean = ours("cholesky", a, lower=lower)
        for i, j in places(n):
            for name in ("cholesky", "cho_factor"):
                bad = spoilt(a, (i, j), value)
                if i == j or (i > j) == lower:
                    found = self.factor(name, bad, lower)
                    assert found is None or unfinite(found[i:, i] if i == j else found[i, j]).any()
                else:
                    found = self.factor(name, bad, lower)
                    keep = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
                    assert np.allclose(found[keep], clean[keep], rtol=1e-3)
                    assert name == "cho_factor" or not found[~keep].any()

    def factor(self, name, a, lower):
        try:
            found = ours(name, a, lower=lower)
        except np.linalg.LinAlgError:
            return None
        return found[0] if name == "cho_factor" else found

    def test_cho_solve(self, lower, n, value, dtype):
        c = np.array(call(PEERS, "cho_factor", positive(n, dtype), lower=lower)[0])
        c[~(np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T)] = np.nan  # not read
        right_sides(n, dtype, value, lambda b: ours("cho_solve", (c, lower), b))

    @pytest.mark.parametrize("trans", [0, 1, 2])
    @pytest.mark.parametrize("unit", [False, True])
    def test_solve_triangular(self, unit, trans, lower, n, value, dtype):
        """What is solved before it is not reached, nor what it is multiplied with."""
        t = dense(n, dtype) if not unit else dense(n, dtype) / np.asarray(2 * n, dtype)
        keep = np.tri(n, k=-int(unit), dtype=bool)
        t[~(keep if lower else keep.T)] = np.nan  # not read
        # in which the unknowns are found
        order = slice(None, None, 1 if lower == (trans == 0) else -1)
        b = matrices.uniform(matrices.random("b", n), (n, 4), dtype)
        clean = ours("solve_triangular", t, b, trans, lower, unit)
        assert np.isfinite(clean).all()
        for i, j in places(n, 4):
            x = ours("solve_triangular", t, spoilt(b, (i, j), value), trans, lower, unit)
            first = np.arange(n)[order].tolist().index(i)
            bad = unfinite(x)[order]
            assert bad[first:, j].all()
            assert not bad[:first, j].any()
            assert not bad[:, np.arange(4) != j].any()
        if np.isnan(value):
            for i, j in places(n):
                if np.isfinite(t[i, j]):
                    x = ours("solve_triangular", spoilt(t, (i, j), value), b, trans, lower, unit)
                    row = i if trans == 0 else j
                    assert np.isnan(x[order][np.arange(n)[order].tolist().index(row) :]).all()


@of_values
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (2, 2), (5, 3), (3, 5), (17, 17), (97, 40), (40, 97), (300, 20), (500, 20)],
    ids=str,
)
class TestQr:
    def test_factors(self, shape, value, dtype):
        """Columns of R and of Q before it do not depend on it; those of Q from it on do, as
        LAPACK's."""
        m, n = shape
        for i, j in places(m, n):
            a = spoilt(dense(m, dtype, n), (i, j), value)
            q, r = ours("qr", a, mode="economic")
            (alone,) = ours("qr", a, mode="r")
            for x in (r, alone[: min(m, n)]):
                bad = unfinite(x).any(axis=0)
                assert bad[j]
                assert not bad[:j].any()
                if np.isnan(value):
                    assert (
                        bad
                        == np.isnan(call(PEERS, "qr", a, mode="r", check_finite=False)[0]).any(
                            axis=0
                        )
                    ).all()
            if np.isnan(value):
                assert (
                    np.isnan(q)
                    == np.isnan(call(PEERS, "qr", a, mode="economic", check_finite=False)[0])
                ).all()
            assert not unfinite(q)[:, :j].any()
            assert np.allclose(
                q[:, :j], ours("qr", dense(m, dtype, n), mode="economic")[0][:, :j], atol=1e-4
            )

    @pytest.mark.parametrize("order", ["C", "F", "-"])
    def test_full(self, order, shape, value, dtype):
        """Columns of Q beyond those of A depend on all of them."""
        m, n = shape
        for i, j in places(m, n)[1:-1:2]:
            a = spoilt(dense(m, dtype, n), (i, j), value)
            a = a[::-1, ::-1].copy()[::-1, ::-1] if order == "-" else np.array(a, order=order)
            q, peer = (
                ours("qr", a, mode="full")[0],
                call(PEERS, "qr", a, mode="full", check_finite=False)[0],
            )
            assert not unfinite(q)[:, :j].any()
            assert (np.isnan(q) == np.isnan(peer)).all() or np.isinf(value)

    def test_least_squares(self, shape, value, dtype):
        """SciPy's own loses some, and waits for ever for infinities in A."""
        if not hasattr(hs, "lstsq"):
            pytest.skip("SciPy's stands in")
        m, n = shape
        a = dense(m, dtype, n)
        b = matrices.uniform(matrices.random("b", m), (m, 3), dtype)
        for i, j in places(m, 3):
            x = outcome(OURS, "lstsq", a, spoilt(b, (i, j), value))
            assert x is None or unfinite(x[0][:, j]).all()
        for place in places(m, n):
            x = outcome(OURS, "lstsq", spoilt(a, place, value), b)
            # what divides by infinity is zero
            assert x is None or unfinite(x[0]).any() or np.isinf(value)


@of_values
@of_sizes
@pytest.mark.parametrize("of", ["rows", "columns"])
def test_gram(of, n, value, dtype):
    """The row and the column of what it is in, nothing else."""
    a = dense(n, dtype, 23)
    for i, j in places(n, 23):
        found = unfinite(call(OURS, "gram", spoilt(a, (i, j), value), of=of))
        mine = i if of == "rows" else j
        wanted = np.zeros(found.shape, bool)
        wanted[mine] = wanted[:, mine] = True
        assert (found == wanted).all()
