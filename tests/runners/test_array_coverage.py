"""hs.coverage: which calls on Arrays hetsched takes, and which it leaves to NumPy."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import hetsched as hs

LARGE, SMALL = 300, 4
rng = np.random.default_rng(0)
X = hs.asarray(rng.standard_normal((LARGE, LARGE)))
x = hs.asarray(rng.standard_normal((SMALL, SMALL)))


def counts(tallies):
    return {name: tally.calls for name, tally in tallies.items()}


def test_products_and_what_is_left():
    with hs.coverage() as seen:
        for _ in range(3):
            X @ X
        np.dot(X, X)
        x @ x
        X @ X.view(np.ndarray).astype(int)  # no dtype of ours
        np.linalg.solve(X, X[:, 0])
        np.linalg.eigvals(X)
        np.linalg.eigvals(X)
        np.linalg.inv(x)
        np.exp(X) + 1
    assert counts(seen.taken) == {"matmul": 3, "dot": 1, "solve": 1}
    assert counts(seen.left) == {"matmul": 2, "eigvals": 2, "inv": 1}
    assert str(seen) == "4 products, 1 solve taken, 2 products, 2 eigvals, 1 inv left"
    assert repr(seen) == f"<Coverage: {seen}>"
    rows = {row["function"]: (row["taken"], row["left"]) for row in seen.table()}
    assert rows == {
        "dot": (1, 0),
        "eigvals": (0, 2),
        "inv": (0, 1),
        "matmul": (3, 2),
        "solve": (1, 0),
    }
    assert all(
        tally.seconds > 0 for tallies in (seen.taken, seen.left) for tally in tallies.values()
    )


def test_results_are_the_same():
    with hs.coverage():
        watched = X @ X, x @ x, np.linalg.det(X), x + x
    alone = X @ X, x @ x, np.linalg.det(X), x + x
    for a, b in zip(watched, alone, strict=True):
        assert np.array_equal(a, b)
        assert type(a) is type(b)


def test_what_is_inside_counts():
    with hs.coverage() as seen:
        np.linalg.multi_dot([X, X, X])
        np.linalg.multi_dot([x, x, x])
        np.linalg.matrix_power(X, 2)
    assert seen.taken["dot"].calls + seen.taken["matmul"].calls == 3
    assert "matrix_power" not in seen.left
    assert counts(seen.left) == {"multi_dot": 1}


def test_what_is_left_counts_once():
    """Also if NumPy calls other functions that are counted."""
    with hs.coverage() as seen:
        np.linalg.matmul(x, x)
        np.linalg.outer(x[0], x[0])
        np.linalg.tensordot(x, x)
        np.linalg.svdvals(x)
        np.linalg.matrix_power(x, 3)
    assert not seen.taken
    assert counts(seen.left) == dict.fromkeys(
        ("matmul", "outer", "tensordot", "svdvals", "matrix_power"), 1
    )


def test_outputs_in_place_and_out():
    out = np.empty((LARGE, LARGE))
    with hs.coverage() as seen:
        np.matmul(X, X, out=out)
        np.matmul(X, X, out=out, casting="safe")  # an option that we do not take
        Y = X.copy()
        Y @= X
    assert counts(seen.taken) == {"matmul": 2}
    assert counts(seen.left) == {"matmul": 1}


def test_nothing_is_counted_outside():
    X @ X
    with hs.coverage() as first:
        with hs.coverage() as second:
            X @ X
        X @ X
    X @ X
    np.ones((LARGE, LARGE)) @ np.ones((LARGE, LARGE))
    assert counts(first.taken) == {"matmul": 2}
    assert counts(second.taken) == {"matmul": 1}
    assert first.left == second.left == {}


def test_plain_arrays_are_not_counted():
    with hs.coverage() as seen:
        np.ones((LARGE, LARGE)) @ np.ones((LARGE, LARGE))
        np.linalg.eigvalsh(np.eye(3))
    assert str(seen) == "nothing of linear algebra was called on Arrays"
    assert list(seen.table()) == []


def test_errors_pass_and_count_as_left():
    with hs.coverage() as seen:
        with pytest.raises(ValueError, match="mismatch"):
            x @ X
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.inv(hs.asarray(np.zeros((3, 3))))
    assert counts(seen.left) == {"matmul": 1, "inv": 1}
    with pytest.raises(ZeroDivisionError), hs.coverage() as seen:
        raise ZeroDivisionError
    X @ X
    assert seen.taken == {}


def test_of_all_threads():
    with hs.coverage() as seen:
        threads = [threading.Thread(target=lambda: [x @ x for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts(seen.left) == {"matmul": 200}
    assert str(seen) == "200 products left"
