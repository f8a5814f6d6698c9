"""hetsched.assignment: the least cost, and prices that prove it exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import hetsched as hs

INF = math.inf
whole = st.one_of(st.integers(0, 3), st.integers(-50, 50), st.integers(-(2**58), 2**58))
real = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.2, 0.3, 1 / 3]), st.integers(0, 3).map(float)
)


def matrices(entries, largest=5):
    sizes = st.tuples(st.integers(1, largest), st.integers(1, largest))
    return sizes.flatmap(
        lambda s: st.lists(
            st.lists(entries, min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0]
        )
    )


def brute_force(costs, maximize):
    """The optimum over all injections, exactly; None if a forbidden pair is in each."""
    wide = (
        costs
        if len(costs) <= len(costs[0])
        else [list(column) for column in zip(*costs, strict=True)]
    )
    sums = []
    for chosen in permutations(range(len(wide[0])), len(wide)):
        pairs = [row[j] for row, j in zip(wide, chosen, strict=True)]
        if not any(isinstance(c, float) and math.isinf(c) for c in pairs):
            sums.append(sum(map(Fraction, pairs)))
    return (max if maximize else min)(sums) if sums else None


def check_proof(costs, found, maximize):
    """Pairs that are pairs; prices that are feasible as real numbers, so that the bound is a
    bound."""
    m, n = len(costs), len(costs[0])
    rows, cols = found.rows.tolist(), found.cols.tolist()
    assert rows == sorted(set(rows))
    assert len(set(cols)) == len(rows) == len(cols) == min(m, n)
    sign = -1 if maximize else 1
    u, v = (
        [Fraction(x) for x in prices.tolist()] for prices in (found.row_prices, found.col_prices)
    )
    for i in range(m):
        for j in range(n):
            c = costs[i][j]
            if not (isinstance(c, float) and math.isinf(c)):
                assert sign * (Fraction(c) - u[i] - v[j]) >= 0
    assert all(sign * x <= 0 for x in (v if m < n else u if m > n else []))
    assert sign * (sum(u) + sum(v) - Fraction(found.bound)) >= 0


@given(costs=matrices(whole), maximize=st.booleans())
def test_integers_are_exact(costs, maximize):
    found = hs.assign(costs, maximize)
    check_proof(costs, found, maximize)
    assert found.cost == found.bound == brute_force(costs, maximize)
    assert found.cost == sum(costs[i][j] for i, j in zip(found.rows, found.cols, strict=True))
    assert found.optimal is True


@example(
    costs=[[0.0, 0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.3, 0.0], [0.0, 1.0, 0.0, 0.3, 0.0]],
    maximize=True,
)
@example(
    costs=[[0.0, 0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0], [0.3, 0.0, 0.0, 0.3, 0.0]],
    maximize=True,
)
@given(costs=matrices(real), maximize=st.booleans())
def test_reals(costs, maximize):
    found = hs.assign(costs, maximize)
    check_proof(costs, found, maximize)
    assert found.optimal
    assert found.cost == pytest.approx(float(brute_force(costs, maximize)), rel=1e-12, abs=1e-9)
    sign = -1 if maximize else 1
    assert sign * found.bound <= sign * found.cost


@given(
    costs=matrices(st.one_of(st.integers(0, 4).map(float), st.just(INF))), maximize=st.booleans()
)
def test_forbidden_pairs(costs, maximize):
    if maximize:
        costs = [[-c for c in row] for row in costs]
    best = brute_force(costs, maximize)
    if best is None:
        with pytest.raises(hs.InfeasibleError, match="costs allow no assignment"):
            hs.assign(costs, maximize)
        return
    found = hs.assign(costs, maximize)
    check_proof(costs, found, maximize)
    assert found.cost == found.bound == best


def cases():
    rng = np.random.default_rng(7)
    for m, n in [
        (63, 64),
        (64, 64),
        (65, 65),
        (130, 130),
        (200, 77),
        (77, 200),
        (71, 73),
        (8, 300),
    ]:
        yield rng.random((m, n))
        yield rng.integers(0, 9, (m, n))
        yield np.outer(rng.random(m), rng.random(n))
        yield np.outer(rng.integers(1, m, m), rng.integers(1, n, n))
        yield np.ones((m, n))
        yield np.abs(np.subtract.outer(rng.random(m), rng.random(n)))
        yield np.add.outer(rng.integers(0, 99, m), rng.integers(0, 99, n))
        yield np.where(rng.random((m, n)) < 0.6, INF, rng.random((m, n)))


@pytest.mark.parametrize(
    "costs", list(cases()), ids=lambda costs: f"{costs.shape[0]}x{costs.shape[1]}"
)
def test_against_scipy(costs):
    """And that the order in memory does not matter, nor that it is a view."""
    before = costs.copy()
    best = costs[linear_sum_assignment(costs)].sum()
    wide = np.full((costs.shape[0], costs.shape[1] * 2), 5, costs.dtype)
    wide[:, ::2] = costs
    for given_costs in (
        costs,
        np.asfortranarray(costs),
        wide[:, ::2],
        np.ascontiguousarray(costs[:, ::-1])[:, ::-1],
    ):
        found = hs.assign(given_costs)
        assert found.cost == pytest.approx(best, rel=1e-12)
        assert found.optimal
        assert (costs - found.row_prices[:, None] - found.col_prices >= -1e-12).all()
    assert (costs == before).all()
    again = hs.assign(costs)
    assert again.cols.tolist() == hs.assign(costs.tolist()).cols.tolist()
    assert not any(
        a.flags.writeable for a in (again.rows, again.cols, again.row_prices, again.col_prices)
    )
    assert repr(again).startswith(f"<Assignment: {min(costs.shape)} pairs, cost ")


@pytest.mark.parametrize(
    ("costs", "maximize", "error", "message"),
    [
        (
            [[1.0, math.nan]],
            False,
            ValueError,
            r"costs\[0, 1\] must be at most 2\*\*990 in magnitude or inf, got nan",
        ),
        ([[1.0], [-INF]], False, ValueError, r"costs\[1, 0\] must be .* or inf, got -inf"),
        ([[1.0], [INF]], True, ValueError, r"costs\[1, 0\] must be .* or -inf, got inf"),
        ([[1e300]], False, ValueError, "got 1e\\+300"),
        ([[2**58 + 1]], False, ValueError, r"costs must be at most 2\*\*58"),
        ([[-(2**58) - 1]], True, ValueError, r"costs must be at most 2\*\*58"),
        (np.array([[2**64 - 1]], np.uint64), False, ValueError, r"costs must be at most 2\*\*58"),
        ([1.0, 2.0], False, ValueError, r"costs must be a matrix .* got shape \(2,\)"),
        (np.zeros((0, 3)), False, ValueError, "at least one row"),
        ([[1, 2], [3]], False, TypeError, "unequal lengths"),
        ([["a"]], False, TypeError, "real numbers"),
        ([[True]], False, TypeError, "got dtype bool"),
        ([[1j]], False, TypeError, "real numbers"),
        ([[1]], 1, TypeError, "maximize must be True or False, got 1"),
    ],
)
def test_bad_input(costs, maximize, error, message):
    with pytest.raises(error, match=message):
        hs.assign(costs, maximize)
