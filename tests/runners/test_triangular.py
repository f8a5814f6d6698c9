"""Triangular systems, beside SciPy."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from random_matrices import DTYPES, close, dtypes, laid_out, layouts, random, seeds, sizes

import hetsched as hs

TRANS = [0, 1, 2, "N", "T", "C"]


def triangle(n, dtype=np.float64, seed=0, stack=()):
    """A full matrix, both triangles of which are well conditioned."""
    return (random((*stack, n, n), dtype, seed) / max(1, n) + 2 * np.eye(n)).astype(dtype)


@given(
    n=sizes, k=st.integers(-1, 5), types=st.tuples(dtypes, dtypes),
    layout=st.tuples(layouts, layouts), seed=seeds, trans=st.sampled_from(TRANS),
    lower=st.booleans(), unit=st.booleans(), overwrite=st.booleans(),
)  # fmt: skip
def test_as_scipy(n, k, types, layout, seed, trans, lower, unit, overwrite):
    a = laid_out(triangle(n, types[0], seed), layout[0])
    b = laid_out(random(n if k < 0 else (n, k), types[1], seed + 1), layout[1])
    before = a.copy(), b.copy()
    x = hs.solve_triangular(a, b, trans, lower, unit, overwrite)
    assert (a == before[0]).all()
    assert overwrite or (b == before[1]).all()
    close(x, scipy.linalg.solve_triangular(*before, trans, lower, unit), scale=4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [False, True])
def test_large(dtype, trans, lower):
    a, b = triangle(200, dtype), random((200, 65), dtype, 1)
    close(
        hs.solve_triangular(a, b, trans, lower),
        scipy.linalg.solve_triangular(a, b, trans, lower),
        scale=4,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "k"), [(40, 3000), (48, 911), (1500, 1), (1500, 5)])
def test_by_one_thread_in_parts(dtype, n, k):
    """Many short right-hand sides, or a few long ones: the thread looks for Ctrl-C in between."""
    a, b = triangle(n, dtype), random((n, k), dtype, 1)
    for lower in (False, True):
        close(
            hs.solve_triangular(a, b, 0, lower),
            scipy.linalg.solve_triangular(a, b, 0, lower),
            scale=4,
        )


@given(
    n=st.integers(0, 9),
    shapes=st.sampled_from([((), (3,)), ((3,), ()), ((2, 1), (3,)), ((2,), (2,)), ((0,), ())]),
    k=st.integers(0, 3), dtype=dtypes, lower=st.booleans(), trans=st.sampled_from(TRANS),
)  # fmt: skip
def test_stacks(n, shapes, k, dtype, lower, trans):
    a, b = triangle(n, dtype, 1, shapes[0]), random((*shapes[1], n, k), dtype, 2)
    x = hs.solve_triangular(a, b, trans, lower)
    stack = np.broadcast_shapes(*shapes)
    assert x.shape == (*stack, n, k)
    wide = np.broadcast_to(a, (*stack, n, n)), np.broadcast_to(b, (*stack, n, k))
    for index in np.ndindex(stack):
        close(
            x[index],
            scipy.linalg.solve_triangular(wide[0][index], wide[1][index], trans, lower),
            scale=4,
        )
    assert hs.solve_triangular(a, random(n, dtype), trans, lower).shape == (*shapes[0], n)


def test_in_place():
    a = triangle(6)
    for b in (np.ones(6), np.ones((6, 3), order="F"), np.ones((6, 3))):
        assert hs.solve_triangular(a, b, overwrite_b=True) is b
        close(b, scipy.linalg.solve_triangular(a, np.ones_like(b)))
    b = np.ones(6, np.float32)
    assert hs.solve_triangular(a, b, overwrite_b=True) is not b
    assert (b == 1).all()


def test_zero_on_the_diagonal():
    a = np.triu(np.ones((5, 5)))
    a[3, 3] = a[1, 1] = 0
    for call in (hs.solve_triangular, scipy.linalg.solve_triangular):
        with pytest.raises(
            np.linalg.LinAlgError, match="^singular matrix: resolution failed at diagonal 1$"
        ):
            call(a, np.ones(5))
        assert np.isfinite(call(a, np.ones(5), unit_diagonal=True)).all()
    with pytest.raises(
        np.linalg.LinAlgError, match=r"failed at diagonal 1, matrix \[1\] of the stack$"
    ):
        hs.solve_triangular(np.stack([np.eye(5), a]), np.ones(5))


def test_not_finite():
    for bad in (np.nan, np.inf):
        a, b = triangle(5), np.ones(5)
        a[3, 1] = b[4] = bad
        for call in (hs.solve_triangular, scipy.linalg.solve_triangular):
            with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
                call(a, np.ones(5))
            with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
                call(np.eye(5), b)
        found = [
            call(a, b, lower=True, check_finite=False)
            for call in (hs.solve_triangular, scipy.linalg.solve_triangular)
        ]
        np.testing.assert_array_equal(np.isfinite(found[0]), np.isfinite(found[1]))


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        ((np.ones((2, 3)), np.ones(2)), {}, ValueError, r"^a must be square, got shape \(2, 3\)$"),
        ((np.ones(3), np.ones(3)), {}, ValueError, "^a must be a matrix"),
        ((np.eye(3), np.ones(2)), {}, ValueError, "^b must have shape"),
        ((np.eye(3), 1.0), {}, ValueError, "^b must have shape"),
        ((np.eye(3), ["x"] * 3), {}, TypeError, "^b has dtype"),
        (
            (np.eye(3), np.ones(3)),
            {"trans": 3},
            ValueError,
            "^trans must be 0, 1, 2, 'N', 'T' or 'C', got 3$",
        ),
        ((np.eye(3), np.ones(3)), {"trans": "H"}, ValueError, "^trans must be"),
        ((np.eye(3), np.ones(3)), {"trans": [0]}, ValueError, "^trans must be"),
        ((np.eye(3), np.ones(3)), {"lower": "x"}, TypeError, "^lower must be"),
        ((np.eye(3), np.ones(3)), {"unit_diagonal": "x"}, TypeError, "^unit_diagonal must be"),
        (
            (np.ones((2, 3, 3)), np.ones((4, 3, 1))),
            {},
            ValueError,
            "^the stacks of a and b do not broadcast",
        ),
    ],
)
def test_refused(args, options, error, words):
    with pytest.raises(error, match=words):
        hs.solve_triangular(*args, **options)
