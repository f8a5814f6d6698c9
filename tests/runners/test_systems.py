"""Systems of every kind of matrix, inverses and determinants, and stacks of them, beside SciPy and
NumPy."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from random_matrices import (
    DTYPES,
    close,
    definite,
    dtypes,
    eps,
    laid_out,
    layouts,
    random,
    seeds,
    sizes,
    stacks,
)

import hetsched as hs

KINDS = [
    "gen",
    "general",
    "pos",
    "positive definite",
    "sym",
    "symmetric",
    "her",
    "hermitian",
    "upper triangular",
    "lower triangular",
    "diagonal",
    "tridiagonal",
    "banded",
    None,
]
STACKS = st.sampled_from(
    [((), (3,)), ((3,), ()), ((2, 1), (3,)), ((2,), (2,)), ((0,), ()), ((1, 0), (2, 1))]
)


def regular(n, dtype=np.float64, seed=0, stack=()):
    """Far from singular."""
    return (random((*stack, n, n), dtype, seed) + 2 * n**0.5 * np.eye(n)).astype(dtype)


def of_kind(kind, n, dtype, seed, stack=()):
    """The matrix meant."""
    kind = kind or "general"
    a = regular(n, dtype, seed, stack)
    turned = a.swapaxes(-1, -2)
    if kind.startswith("pos"):
        return definite(n, dtype, seed, stack)
    if kind.startswith("sym"):
        return a + turned
    if kind.startswith("her"):
        return a + turned.conj()
    if kind in ("diagonal", "tridiagonal"):
        return np.triu(np.tril(a, kind == "tridiagonal"), -(kind == "tridiagonal"))
    return {"up": np.triu, "lo": np.tril}.get(kind[:2], lambda x: x)(a)


def as_given(a, kind, lower):
    """The same with NaN where nothing is to be read."""
    n = a.shape[-1]
    a = a.copy()
    if kind in (None, "banded", "gen", "general"):
        return a
    if kind in ("diagonal", "tridiagonal"):
        rows, cols = np.indices((n, n))
        a[..., abs(rows - cols) > (kind == "tridiagonal")] = np.nan
        return a
    upper = kind.startswith("up") or not kind.startswith("low") and not lower
    rows, cols = np.tril_indices(n, -1) if upper else np.triu_indices(n, 1)
    a[..., rows, cols] = np.nan
    return a


class TestSolve:
    @given(
        n=sizes,
        k=st.integers(-1, 4),
        types=st.tuples(dtypes, dtypes),
        layout=st.tuples(layouts, layouts),
        seed=seeds,
        kind=st.sampled_from(KINDS),
        lower=st.booleans(),
        transposed=st.booleans(),
        overwrite=st.tuples(st.booleans(), st.booleans()),
    )
    def test_kinds(self, n, k, types, layout, seed, kind, lower, transposed, overwrite):
        meant = of_kind(kind, n, types[0], seed)
        a = laid_out(as_given(meant, kind, lower), layout[0])
        b = laid_out(random(n if k < 0 else (n, k), types[1], seed), layout[1])
        kept = a.copy(), b.copy()
        x = hs.solve(a, b, lower, *overwrite, False, kind, transposed)
        assert overwrite[0] or np.array_equal(a, kept[0], equal_nan=True)
        assert overwrite[1] or (b == kept[1]).all()
        expected = np.linalg.solve(
            meant.T if transposed else meant, kept[1].astype(kept[1].dtype.newbyteorder("="))
        )
        close(x, expected.astype(np.result_type(*types)), scale=100)

    @given(
        n=st.integers(0, 9),
        shapes=STACKS,
        k=st.integers(-1, 3),
        types=st.tuples(dtypes, dtypes),
        kind=st.sampled_from(KINDS),
        lower=st.booleans(),
        transposed=st.booleans(),
    )
    def test_stacks(self, n, shapes, k, types, kind, lower, transposed):
        meant = of_kind(kind, n, types[0], 1, shapes[0])
        b = random((*shapes[1], n, k) if k >= 0 else n, types[1], 2)
        x = hs.solve(
            as_given(meant, kind, lower),
            b,
            lower,
            check_finite=False,
            assume_a=kind,
            transposed=transposed,
        )
        expected = np.linalg.solve(meant.swapaxes(-1, -2) if transposed else meant, b)
        close(x, expected.astype(np.result_type(*types)), scale=100)

    @pytest.mark.parametrize(
        "kind",
        [None, "pos", "sym", "her", "upper triangular", "lower triangular", "diagonal", "banded"],
    )
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_large(self, kind, dtype):
        meant = of_kind(kind, 200, dtype, 0)
        b = random((200, 30), dtype, 1)
        for lower in (False, True):
            x = hs.solve(as_given(meant, kind, lower), b, lower, check_finite=False, assume_a=kind)
            assert abs(meant @ x - b).max() < 1e4 * eps(x) * abs(meant).max()

    def test_vectors_and_stacks_of_matrices(self):
        """NumPy's rule: only what has one dimension is one right-hand side."""
        a, b = regular(3, stack=(3,)), np.ones((3, 3))
        np.testing.assert_allclose(hs.solve(a, b), np.linalg.solve(a, b))
        assert hs.solve(a, b[0]).shape == (3, 3)
        with pytest.raises(ValueError, match="^b must have shape"):
            hs.solve(a, np.ones((2, 3)))

    def test_precision_of_both(self):
        """A matrix of single precision beside right-hand sides of double is factored in double."""
        a, b = regular(20, np.float32), random(20)
        assert abs(a.astype(np.float64) @ hs.solve(a, b) - b).max() < 1e-12

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_overwrite(self, order):
        for kind in KINDS:
            a = np.array(of_kind(kind, 12, np.float64, 0), order=order)
            b, kept = np.ones((12, 2), order="F"), a.copy()
            x = hs.solve(a, b, False, True, True, assume_a=kind)
            assert x is b
            np.testing.assert_allclose(kept @ x, 1)

    @pytest.mark.parametrize("n", [1, 9, 80, 300])
    @pytest.mark.parametrize("overwrite", [(False, True), (True, False), (True, True)])
    def test_overwrite_where_both_are_one(self, n, overwrite):
        """What shares memory with the other argument is not overwritten while that is read (SciPy's
        results are then wrong)."""
        memory = regular(n + 1)

        def same(function, of):
            """The matrix itself, its transpose and a part that overlaps it, as right-hand sides."""
            whole = np.asfortranarray(of(memory[:n, :n]))
            for right in (
                lambda a: a,
                lambda a: a.T,
                lambda a: a[:, n // 2],
                lambda a: a[:, : n // 2 + 1],
            ):
                a, b = whole.copy("F"), right(whole.copy("F"))
                expected = function(a, b, False, False)
                mine = whole.copy("F")
                np.testing.assert_allclose(
                    function(mine, right(mine), *overwrite), expected, rtol=1e-10, atol=1e-12
                )

        definite_one = definite(n, np.float64, 0)
        factors = hs.lu_factor(memory[:n, :n])[1]
        same(lambda a, b, x, y: hs.solve(a, b, overwrite_a=x, overwrite_b=y), np.copy)
        same(
            lambda a, b, x, y: hs.solve(a, b, overwrite_a=x, overwrite_b=y, assume_a="pos"),
            lambda _: definite_one,
        )
        same(lambda a, b, _, y: hs.solve_triangular(a, b, lower=True, overwrite_b=y), np.copy)
        same(lambda a, b, _, y: hs.cho_solve((a, True), b, overwrite_b=y), np.copy)
        same(lambda a, b, _, y: hs.lu_solve((a, factors), b, overwrite_b=y), np.copy)
        same(lambda a, b, x, y: hs.lstsq(a, b, overwrite_a=x, overwrite_b=y)[0], np.copy)

    def test_singular(self):
        zeros = np.array([[1.0, 2.0], [2.0, 4.0]])
        for kind in ("gen", "sym", "her"):
            with pytest.raises(
                np.linalg.LinAlgError,
                match="^a is singular: element 1 of the diagonal of U is zero$",
            ):
                hs.solve(zeros, np.ones(2), assume_a=kind)
        with pytest.raises(
            np.linalg.LinAlgError,
            match=r"^a is singular: element 1 .*, matrix \[0, 2\] of the stack$",
        ):
            hs.solve(np.stack([np.eye(2), np.eye(2), zeros])[None], np.ones(2))
        with pytest.raises(
            np.linalg.LinAlgError,
            match="^2-th leading minor of the array is not positive definite$",
        ):
            hs.solve(np.diag([1.0, -1.0]), np.ones(2), assume_a="pos")
        with pytest.raises(
            np.linalg.LinAlgError, match="^singular matrix: resolution failed at diagonal 1$"
        ):
            hs.solve(np.diag([1.0, 0.0]), np.ones(2), assume_a="upper triangular")

    @pytest.mark.parametrize(
        ("args", "options", "error", "words"),
        [
            (
                (np.eye(2), np.ones(2)),
                {"assume_a": "sparse"},
                ValueError,
                "^assume_a must be one of ",
            ),
            ((np.eye(2), np.ones(2)), {"assume_a": 3}, ValueError, "^assume_a must be"),
            ((np.eye(2), np.ones(2)), {"lower": "x"}, TypeError, "^lower must be"),
            ((np.eye(2), np.ones(2)), {"transposed": "x"}, TypeError, "^transposed must be"),
            ((np.eye(2), np.ones(2)), {"overwrite_b": "x"}, TypeError, "^overwrite_b must be"),
            ((np.eye(2), [1, np.inf]), {}, ValueError, "^array must not contain infs or NaNs$"),
            (
                ([[1, np.nan], [0, 1]], [1, 1]),
                {"assume_a": "upper triangular"},
                ValueError,
                "^array must not contain infs",
            ),
            (
                (np.ones((2, 3, 3)), np.ones((4, 3, 1))),
                {},
                ValueError,
                "^the stacks of a and b do not broadcast",
            ),
            ((np.ones((2, 3, 2)), np.ones(3)), {}, ValueError, "^a must be square"),
        ],
    )
    def test_refused(self, args, options, error, words):
        with pytest.raises(error, match=words):
            hs.solve(*args, **options)


class TestInverse:
    @given(n=sizes, dtype=dtypes, layout=layouts, seed=seeds, stack=stacks)
    def test_as_numpy(self, n, dtype, layout, seed, stack):
        a = regular(n, dtype, seed, stack)
        ours = laid_out(a, layout) if not stack else a
        found = hs.inv(ours)
        assert (ours == a).all()
        close(found, np.linalg.inv(a), scale=20)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_large(self, dtype):
        a = regular(300, dtype)
        assert abs(a @ hs.inv(a) - np.eye(300)).max() < 1e4 * eps(a)

    def test_overwrite(self):
        a = np.asfortranarray(regular(9))
        kept = a.copy()
        hs.inv(a)
        assert (a == kept).all()
        assert hs.inv(a, overwrite_a=True) is a
        close(a, np.linalg.inv(kept), scale=20)
        fixed = laid_out(kept, "read-only")
        close(hs.inv(fixed, True), a, scale=20)
        assert (fixed == kept).all()

    def test_singular(self):
        a = np.ones((3, 3))
        with pytest.raises(
            np.linalg.LinAlgError, match="^a is singular: element 1 of the diagonal of U is zero$"
        ):
            hs.inv(a)
        with pytest.raises(
            np.linalg.LinAlgError, match=r"^a is singular: .*, matrix \[1\] of the stack$"
        ):
            hs.inv(np.stack([np.eye(3), a]))
        b = np.asfortranarray(a)
        with pytest.raises(np.linalg.LinAlgError):
            hs.inv(b, overwrite_a=True)
        assert (b == a).all()

    def test_not_finite(self):
        a = regular(4)
        a[2, 1] = np.nan
        with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
            hs.inv(a)
        assert np.isnan(hs.inv(a, check_finite=False)).any()

    @pytest.mark.parametrize(
        ("bad", "words"),
        [(np.ones((2, 3)), "^a must be square"), (np.ones(3), "^a must be a matrix")],
    )
    def test_refused(self, bad, words):
        for call in (hs.inv, hs.slogdet):
            with pytest.raises(ValueError, match=words):
                call(bad)


class TestDeterminants:
    @given(n=sizes, dtype=dtypes, layout=layouts, seed=seeds, stack=stacks)
    def test_as_numpy(self, n, dtype, layout, seed, stack):
        a = regular(n, dtype, seed, stack)
        ours = laid_out(a, layout) if not stack else a
        sign, log = hs.slogdet(ours)
        expected = np.linalg.slogdet(a)
        assert type(hs.slogdet(ours)) is type(expected)
        for x, y in ((sign, expected.sign), (log, expected.logabsdet)):
            assert type(x) is type(y)
            assert x.dtype == y.dtype
            np.testing.assert_allclose(
                x, y, rtol=1e3 * eps(a) * max(1, n), atol=1e3 * eps(a) * max(1, n)
            )
        value = hs.det(ours)
        wide = a.astype(np.promote_types(dtype, np.float64))
        assert value.dtype == wide.dtype
        np.testing.assert_allclose(value, np.linalg.det(wide), rtol=1e3 * eps(a) * max(1, n))
        assert (ours == a).all()

    def test_far_out(self):
        """Of a stack each is right where its value can be written; what cannot is said once."""
        a = np.stack([np.diag([s, 1 / s, 3.0]) for s in (1.0, 1e200, 1e-200)])
        np.testing.assert_allclose(hs.det(a), 3, rtol=1e-12)
        np.testing.assert_allclose(hs.slogdet(a).logabsdet, np.log(3), rtol=1e-12)
        a[1] = np.diag([1e200, 1e200, 1.0])
        with pytest.warns(RuntimeWarning, match="^overflow encountered in det$"):
            assert hs.det(a)[1] == np.inf
        a[1] = np.diag([1e-200, 1e-200, 1.0])
        with (
            np.errstate(under="raise"),
            pytest.raises(FloatingPointError, match="underflow encountered in det"),
        ):
            hs.det(a)
        np.testing.assert_allclose(hs.slogdet(a).logabsdet[1], -400 * np.log(10))

    def test_singular(self):
        for a in (
            np.zeros((3, 3)),
            np.ones((4, 4), np.float32),
            np.zeros((2, 3, 3), np.complex128),
        ):
            found, expected = hs.slogdet(a), np.linalg.slogdet(a)
            np.testing.assert_array_equal(found.sign, expected.sign)
            np.testing.assert_array_equal(found.logabsdet, expected.logabsdet)
            assert not np.any(hs.det(a))

    def test_not_finite(self):
        a = regular(4)
        a[2, 1] = np.nan
        with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
            hs.det(a)
        assert np.isnan(hs.det(a, check_finite=False))
        assert np.isnan(hs.slogdet(a).logabsdet)

    def test_overwrite(self):
        a = np.asfortranarray(regular(9))
        kept = a.copy()
        assert hs.det(a) == hs.det(a, overwrite_a=True)
        assert not (a == kept).all()

    @pytest.mark.parametrize("given", [np.int16, np.bool_, np.float16, ">f8"])
    def test_dtypes(self, given):
        a = np.array([[1, 1], [0, 1]]).astype(given)
        assert hs.det(a) == 1
        assert hs.inv(a).dtype == (np.float32 if given is np.float16 else np.float64)
        assert hs.slogdet(a).sign == 1


class TestFactorsOfStacks:
    @given(
        n=st.integers(0, 9),
        shapes=STACKS,
        k=st.integers(-1, 3),
        types=st.tuples(dtypes, dtypes),
        trans=st.integers(0, 2),
    )
    def test_lu(self, n, shapes, k, types, trans):
        a = regular(n, types[0], 1, shapes[0])
        b = random((*shapes[1], n, k) if k >= 0 else n, types[1], 2)
        lu, piv = hs.lu_factor(a)
        assert lu.shape == a.shape
        assert piv.shape == a.shape[:-1]
        assert piv.dtype == np.int32
        turned = (a, a.swapaxes(-1, -2), a.conj().swapaxes(-1, -2))[trans]
        dtype = np.result_type(*types)
        precision = (
            np.result_type(types[0], dtype.type(0).real)
            if np.dtype(types[0]).kind == "c"
            else types[0]
        )
        found, expected = hs.lu_solve((lu, piv), b, trans), np.linalg.solve(turned, b).astype(dtype)
        assert found.shape == expected.shape
        assert found.dtype == dtype
        bound = 1e4 * max(eps(a), eps(np.empty(0, precision)))
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)

    def test_singular(self):
        with pytest.warns(RuntimeWarning, match="Diagonal number 2 is exactly zero") as caught:
            hs.lu_factor(np.stack([np.eye(2), np.ones((2, 2))]))
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("bad", [np.ones((2, 2, 3)), np.full((2, 2, 2), np.nan)])
    def test_refused(self, bad):
        with pytest.raises(ValueError, match="^a must be square|infs or NaNs"):
            hs.lu_factor(bad)
        with pytest.raises(ValueError, match=r"^piv must have shape \(2, 3\), got \(3,\)$"):
            hs.lu_solve((np.ones((2, 3, 3)), [0, 1, 2]), np.ones(3))


def test_a_pair_of_scipys_may_be_exchanged():
    a, b = definite(20), random((20, 2))
    np.testing.assert_allclose(
        hs.lu_solve(scipy.linalg.lu_factor(a), b),
        scipy.linalg.lu_solve(hs.lu_factor(a), b),
        rtol=1e-9,
    )
