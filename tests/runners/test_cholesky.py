"""Cholesky factors and systems by them, beside SciPy."""

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

BOTH = pytest.mark.parametrize("lower", [False, True])


def half(a, lower, other=np.nan):
    """The matrix with something else in the triangle that is not to be read."""
    a = a.copy()
    place = (np.triu_indices if lower else np.tril_indices)(a.shape[-1], 1 if lower else -1)
    a[..., place[0], place[1]] = other
    return a


class TestCholesky:
    @given(n=sizes, dtype=dtypes, layout=layouts, lower=st.booleans(), seed=seeds)
    def test_as_scipy(self, n, dtype, layout, lower, seed):
        kept = half(definite(n, dtype, seed), lower, 7)
        a = laid_out(kept, layout)
        c = hs.cholesky(a, lower)
        # in this machine's byte order: in the other SciPy 1.18 is wrong
        close(c, scipy.linalg.cholesky(kept, lower), scale=4)
        assert (a == kept).all()
        assert not (np.triu(c, 1) if lower else np.tril(c, -1)).any()

    @given(n=sizes, dtype=dtypes, lower=st.booleans(), seed=seeds, stack=stacks)
    def test_stacks(self, n, dtype, lower, seed, stack):
        a = half(definite(n, dtype, seed, stack), lower)
        c = hs.cholesky(a, lower, check_finite=False)
        assert c.shape == a.shape
        for index in np.ndindex(stack):
            close(c[index], scipy.linalg.cholesky(a[index], lower, check_finite=False), scale=4)

    @BOTH
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", [97, 300])
    def test_large(self, n, dtype, lower):
        a = definite(n, dtype)
        c = hs.cholesky(a, lower)
        product = c @ c.conj().T if lower else c.conj().T @ c
        assert abs(product - a).max() < 10 * n * eps(a) * abs(a).max()

    @BOTH
    def test_the_other_triangle_is_not_read(self, lower):
        a = definite(70)
        close(hs.cholesky(half(a, lower), lower, check_finite=False), hs.cholesky(a, lower))
        with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
            hs.cholesky(half(a, lower), lower)

    def test_the_diagonal_is_real(self):
        a = definite(5, np.complex128)
        close(hs.cholesky(a + 3j * np.eye(5)), hs.cholesky(a))

    @BOTH
    @pytest.mark.parametrize("minor", [1, 2, 17, 60])
    def test_minor(self, minor, lower):
        a = definite(60)
        a[minor - 1, minor - 1] = -1
        words = f"^{minor}-th leading minor of the array is not positive definite"
        for call in (hs.cholesky, hs.cho_factor):
            with pytest.raises(np.linalg.LinAlgError, match=words + "$"):
                call(a, lower)
        # in other words in SciPy 1.18
        with pytest.raises(np.linalg.LinAlgError, match=rf"\b{minor}\b"):
            scipy.linalg.cholesky(a, lower)
        stack = np.stack([definite(60)] * 6).reshape(2, 3, 60, 60)
        stack[1, 0] = a
        with pytest.raises(np.linalg.LinAlgError, match=words + r", matrix \[1, 0\] of the stack$"):
            hs.cholesky(stack, lower)

    @pytest.mark.parametrize("bad", [0.0, -0.0, -1.0])
    def test_first_minor(self, bad):
        with pytest.raises(np.linalg.LinAlgError, match="^1-th leading minor"):
            hs.cholesky([[bad, 0], [0, 1]])

    @BOTH
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_overwrite(self, order, lower):
        a = np.array(half(definite(30), lower, 7.0), order=order)
        kept, expected = a.copy(), scipy.linalg.cholesky(a, lower)
        close(hs.cholesky(a, lower), expected)
        assert (a == kept).all()
        c = hs.cholesky(a, lower, overwrite_a=True)
        assert np.shares_memory(a, c)
        close(c, expected)
        c, flag = hs.cho_factor(a := kept.copy(order), lower, overwrite_a=True)
        assert flag is lower
        assert np.shares_memory(a, c)
        assert (
            np.triu(c, 1) == np.triu(kept, 1) if lower else np.tril(c, -1) == np.tril(kept, -1)
        ).all()

    @pytest.mark.parametrize("layout", ["read-only", "sliced", "swapped"])
    def test_overwrite_where_it_cannot(self, layout):
        kept = definite(8)
        a = laid_out(kept, layout)
        close(hs.cholesky(a, overwrite_a=True), scipy.linalg.cholesky(kept, lower=True))
        assert (a == kept).all()

    @BOTH
    def test_not_finite(self, lower):
        """A NaN is seen, or reaches all that it must: never a finite answer."""
        for place in ((0, 0), (3, 3), (4, 2) if lower else (2, 4)):
            for bad in (np.nan, np.inf):
                a = definite(6)
                a[place] = bad
                try:
                    c = hs.cholesky(a, lower, check_finite=False)
                except np.linalg.LinAlgError:
                    continue
                assert not np.isfinite(c).all()


class TestSystems:
    @given(
        n=sizes,
        k=st.integers(0, 5),
        types=st.tuples(dtypes, dtypes),
        layout=layouts,
        lower=st.booleans(),
        seed=seeds,
        overwrite=st.booleans(),
    )
    def test_as_scipy(self, n, k, types, layout, lower, seed, overwrite):
        a = definite(n, types[0], seed)
        b = laid_out(random((n, k) if k else n, types[1], seed), layout)
        kept = b.copy()
        c = hs.cho_factor(a, lower)
        x = hs.cho_solve(c, b, overwrite_b=overwrite)
        close(x, scipy.linalg.cho_solve(c, kept), scale=20)
        assert overwrite or (b == kept).all()
        theirs = scipy.linalg.cho_factor(a, lower)
        close(hs.cho_solve(theirs, kept), scipy.linalg.cho_solve(theirs, kept), scale=20)

    @given(
        n=st.integers(1, 9),
        shapes=st.sampled_from([((), (3,)), ((3,), ()), ((2, 1), (3,)), ((2,), (2,)), ((0,), ())]),
        k=st.integers(0, 3),
        dtype=dtypes,
        lower=st.booleans(),
    )
    def test_stacks(self, n, shapes, k, dtype, lower):
        a, b = definite(n, dtype, 1, shapes[0]), random((*shapes[1], n, k), dtype, 2)
        x = hs.cho_solve(hs.cho_factor(a, lower), b)
        close(x, np.linalg.solve(a, b).astype(dtype), scale=20)
        one = hs.cho_solve(hs.cho_factor(a, lower), random(n, dtype, 3))
        close(one, np.linalg.solve(a, random(n, dtype, 3)).astype(dtype), scale=20)

    @BOTH
    @pytest.mark.parametrize(
        "flag", [bool, int, np.bool_, np.array, np.int32, lambda lower: np.array(lower, np.int64)]
    )
    def test_kinds_of_flags(self, flag, lower):
        """SciPy 1.18 returns `lower` as an array of no dimension; it is one for each option that is
        a flag."""
        a, b = definite(7, np.complex128), random((7, 2))
        c, found = hs.cho_factor(a, flag(lower), overwrite_a=flag(False), check_finite=flag(True))
        assert found is lower
        for pair in ((c, flag(lower)), [c, flag(lower)]):
            close(hs.cho_solve(pair, b, overwrite_b=flag(False)), np.linalg.solve(a, b), scale=20)
        half_way = hs.solve_triangular(
            c, b, 0 if lower else 2, lower=flag(lower), unit_diagonal=flag(False)
        )
        close(
            hs.solve_triangular(c, half_way, 2 if lower else 0, flag(lower)),
            np.linalg.solve(a, b),
            scale=20,
        )
        close(
            hs.solve(half(a, lower, 7), b, assume_a="pos", lower=flag(lower)),
            np.linalg.solve(a, b),
            scale=20,
        )

    @pytest.mark.parametrize("lower", [False, True, 0, 1, 1.0])
    @pytest.mark.parametrize("sides", [(), (3,), (5, 2, 3)], ids=str)
    def test_stacks_as_scipy_flags_them(self, lower, sides):
        """SciPy has a flag for each matrix of a stack."""
        a, b = definite(4, np.complex64, 1, (2, 3)), random((*sides, 4, 2), np.complex64, 2)
        c, _ = hs.cho_factor(a, lower)
        for flags in (np.tile(lower, (2, 3)), np.tile(lower, (2, 3)).astype(np.int8)):
            x = hs.cho_solve((c, flags), b)
            close(x, np.linalg.solve(a, b), scale=20)
        assert hs.cho_solve((c[:0], flags[:0]), random((4, 2))).shape == (0, 3, 4, 2)
        theirs = scipy.linalg.cho_factor(a[0, 0], lower)
        close(
            hs.cho_solve(theirs, np.ones(4, np.float32)),
            np.linalg.solve(a[0, 0], np.ones(4)).astype(np.complex64),
            scale=20,
        )

    def test_stacks_of_both_triangles(self):
        a, b = definite(6, stack=(3, 2)), random((6, 2))
        flags = np.array([[True, False], [False, False], [False, True]])
        c = np.where(flags[..., None, None], hs.cholesky(a, True), hs.cholesky(a, False))
        close(hs.cho_solve((c, flags), b), np.linalg.solve(a, b), scale=20)

    def test_in_place(self):
        b = np.ones(5)
        assert hs.cho_solve(hs.cho_factor(definite(5)), b, overwrite_b=True) is b

    def test_zero_on_the_diagonal(self):
        c = np.diag([1.0, 0.0])
        assert not np.isfinite(hs.cho_solve((c, True), [1.0, 1.0])).all()


class TestArguments:
    @pytest.mark.parametrize("call", [hs.cholesky, hs.cho_factor])
    def test_matrices(self, call):
        for bad, error, words in (
            (1.0, ValueError, r"^a must be a matrix, got shape \(\)$"),
            (np.ones(3), ValueError, r"^a must be a matrix, got shape \(3,\)$"),
            (np.ones((2, 3)), ValueError, r"^a must be square, got shape \(2, 3\)$"),
            ([[1, "x"], [2, 3]], TypeError, "^a has dtype"),
            (np.eye(2, dtype=object), TypeError, "^a has dtype object"),
        ):
            with pytest.raises(error, match=words):
                call(bad)
        for option in ("lower", "overwrite_a", "check_finite"):
            with pytest.raises(TypeError, match=f"^{option} must be True or False"):
                call(np.eye(2), **{option: "x"})

    def test_systems(self):
        c = hs.cho_factor(np.eye(3))
        for pair, b, error, words in (
            (c, np.ones(2), ValueError, r"^b must have shape \(3,\) or \(..., 3, k\), got \(2,\)"),
            (c, 1.0, ValueError, "^b must have shape"),
            (c, [1, np.nan, 1], ValueError, "infs or NaNs"),
            ((np.ones((3, 2)), True), np.ones(3), ValueError, "^c must be square"),
            ((np.eye(3), "x"), np.ones(3), TypeError, "^lower must be"),
            (
                (np.eye(3), np.array("x")),
                np.ones(3),
                TypeError,
                "^lower must be True or False, got ",
            ),
            (
                (np.eye(3), np.ones(3, bool)),
                np.ones(3),
                ValueError,
                r"^lower must be .* of shape \(\), got shape \(3,\)$",
            ),
            (
                (np.ones((2, 3, 3)), np.ones(3)),
                np.ones(3),
                ValueError,
                r"^lower must be .* of shape \(2,\), got shape \(3,\)$",
            ),
            (
                (np.ones((2, 3, 3)), np.array(["x", "y"])),
                np.ones(3),
                TypeError,
                "^lower must be .* got an array of dtype <U1$",
            ),
            (np.eye(3), np.ones(3), TypeError, "^c_and_lower must be a pair"),
            (
                (np.ones((2, 3, 3)), True),
                np.ones((4, 3, 1)),
                ValueError,
                "^the stacks of c and b do not broadcast",
            ),
        ):
            with pytest.raises(error, match=words):
                hs.cho_solve(pair, b)

    @pytest.mark.parametrize(
        ("given", "found"),
        [(np.int8, "f8"), (np.bool_, "f8"), (np.float16, "f4"), (">f4", "f4"), ("u8", "f8")],
    )
    def test_dtypes(self, given, found):
        a = np.eye(3).astype(given)
        assert hs.cholesky(a).dtype == found
        assert hs.cholesky(a.tolist()).dtype == np.float64
        assert hs.cho_solve((a, True), np.ones(3, given)).dtype == found

    def test_empty(self):
        assert hs.cholesky(np.empty((0, 0), np.float32)).dtype == np.float32
        assert hs.cholesky(np.empty((4, 0, 0))).shape == (4, 0, 0)
