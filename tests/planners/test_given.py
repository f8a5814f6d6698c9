"""Certificates for what users made themselves: the same value, bound and gap as of a planner's
plan, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest
from inputs import many
from validators import validate

import hetsched as hs

TIMES = [3, 5, 8]
INF = float("inf")


def test_counts():
    plan = hs.distribute(78, TIMES, counts=[41, 24, 13])
    validate(plan)
    assert (plan.method, plan.makespan, plan.lower_bound, plan.gap, plan.optimal) == (
        "given",
        123.0,
        120.0,
        0.025,
        False,
    )
    assert plan.displs.tolist() == [0, 41, 65]
    best = hs.distribute(78, TIMES, counts=hs.distribute(78, TIMES).counts)
    assert (best.optimal, best.gap, best.scope) == (True, 0.0, "all allocations")
    assert hs.distribute(3, [INF, 2], counts=[0, 3]).makespan == 6.0
    assert hs.distribute(0, TIMES, counts=[0, 0, 0]).optimal
    assert hs.simulate(plan).makespan == 123.0


@pytest.mark.parametrize("seed", range(many(20, 5)))
def test_planners_solutions_given_back(seed):
    """What a planner found has the same certificate when it is given."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(1, 9, 5)
    grid = hs.lu_grid(6, times)
    pattern = hs.lu_pattern(12, times, method="cyclic")
    shape = (9, 11) if seed % 2 else None
    method = ["best", "columns", "nonrectangular", "snrpp"][seed % 4]
    zones = hs.partition(cycle_times=times, method=method, shape=shape)
    again = (
        (
            grid,
            hs.lu_grid(6, times, owner=grid.owner),
            ("makespan", "cost", "lower_bound", "optimal"),
        ),
        (
            pattern,
            hs.lu_pattern(12, times, owner=pattern.owner),
            ("cost", "lower_bound", "optimal", "period"),
        ),
        (
            zones,
            hs.partition(cycle_times=times, shape=shape, rects=zones.rects),
            ("cost", "lower_bound", "optimal", "imbalance"),
        ),
    )
    for plan, given, names in again:
        assert given.method == "given"
        validate(given)
        for name in names:
            assert getattr(given, name) == getattr(plan, name), name
    assert again[2][1].pieces.tolist() == zones.pieces.tolist()


def test_owners_that_are_no_planners():
    pattern = hs.lu_pattern(4, [1, 2], owner=[1, 1, 0, 0])
    assert (pattern.cost, pattern.lower_bound) == (2 + 2 + 1, 2 + 2 + 1)
    assert hs.lu_pattern(4, [1, 2], owner=[0, 0, 1, 1]).gap > 0
    grid = hs.lu_grid(2, [1, 2], owner=[[0, 0], [0, 1]], link_cost=1.0)
    assert (grid.makespan, grid.cost, grid.lower_bound, grid.gap) == (2.0, 4.0, 1.0, 3.0)
    assert grid.traffic.tolist() == [2, 0]


def test_zones_that_are_no_planners():
    halves = hs.partition([3, 1], rects=[[0, 0, 1, 0.5], [0, 0.5, 1, 0.5]])
    assert (halves.cost, halves.imbalance) == (3.0, 2.0)
    assert halves.actual_areas.tolist() == [0.5, 0.5]
    ring = hs.partition(
        [8, 1],
        shape=(3, 3),
        rects=[
            [[0, 0, 1, 3], [1, 0, 1, 1], [1, 2, 1, 1], [2, 0, 1, 3]],
            [[1, 1, 1, 1]] * 1 + [[0] * 4] * 3,
        ],
    )
    validate(ring)
    assert ring.cost == 8
    # a worker without a zone
    some = hs.partition([1, 1, 0], rects=[[0, 0, 1, 1], [0] * 4, [0] * 4])
    assert some.pieces.tolist() == [[0, 0, 0, 1, 1]]
    with pytest.raises(ValueError, match='method "given" has no cuts'):
        some.recut([1, 1, 0])


def test_zones_of_other_areas_prove_nothing():
    """They reach the bound of the areas that they have, not of those that were asked for."""
    for plan in (
        hs.partition([1] * 4, rects=[[0, 0, 1, 1]] + [[0] * 4] * 3),
        hs.partition([1] * 4, shape=(8, 8), rects=[[0, 0, 8, 8]] + [[0] * 4] * 3),
        hs.partition(areas=[3, 1], rects=HALVES),
    ):
        assert (plan.gap, plan.optimal, plan.scope) == (
            0.0,
            False,
            "zones of the areas that they have",
        )
        assert "optimal among zones of the areas that they have (given)" in str(plan.certificate)
    exact = hs.partition(
        [1] * 4,
        rects=[[0, 0, 0.5, 0.5], [0, 0.5, 0.5, 0.5], [0.5, 0, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]],
    )
    assert (exact.gap, exact.optimal, exact.scope) == (0.0, True, "")
    # less than a cell from 1.5 each
    cells = hs.partition([1, 1], shape=(3, 1), rects=[[0, 0, 1, 1], [1, 0, 2, 1]])
    assert cells.optimal == (cells.gap < 1e-12)


HALVES = [[0, 0, 1, 0.5], [0, 0.5, 1, 0.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hs.distribute(5, TIMES, counts=[5, 0]),
            r"counts must have 3 entries, .*, got shape \(2,\)",
        ),
        (lambda: hs.distribute(5, TIMES, counts=[5, 1, 0]), "counts must sum to n = 5, got 6"),
        (lambda: hs.distribute(5, TIMES, counts=[6, -1, 0]), r"counts\[1\] must be an integer in"),
        (
            lambda: hs.distribute(5, TIMES, counts=[2.5, 2.5, 0]),
            r"counts\[0\] must be an integer in",
        ),
        (lambda: hs.distribute(5, [1, INF], counts=[4, 1]), r"counts\[1\] must be 0: .* infinite"),
        (
            lambda: hs.distribute(5, [[1, 2]], counts=[4, 1]),
            "counts are for cycle_times of one dimension",
        ),
        (
            lambda: hs.lu_pattern(3, TIMES, owner=[0, 1]),
            r"owner must have shape \(3,\), got \(2,\)",
        ),
        (
            lambda: hs.lu_pattern(3, TIMES, owner=[0, 1, 3]),
            r"owner\[2\] must be an integer in \[0, 2\]",
        ),
        (
            lambda: hs.lu_pattern(3, [1, INF], owner=[0, 1, 0]),
            r"owner\[1\] is 1, a worker with an infinite",
        ),
        (
            lambda: hs.lu_pattern(3, TIMES, owner=[0, 1, 0], method="cyclic"),
            "owner must be given without method",
        ),
        (lambda: hs.lu_pattern(3, TIMES, 2, owner=[0, 1, 0]), "owner must be given without method"),
        (
            lambda: hs.lu_pattern(3, TIMES, owner=[0, 1, 0], method="pattern"),
            "owner must be given without method",
        ),
        (lambda: hs.lu_grid(2, TIMES, owner=[0, 1]), r"owner must have shape \(2, 2\)"),
        (
            lambda: hs.lu_grid(2, [1, INF], owner=[[0, 0], [1, 0]]),
            r"owner\[1, 0\] is 1, a worker with an infinite",
        ),
        (
            lambda: hs.lu_grid(2, TIMES, "cyclic", owner=[[0, 0], [1, 0]]),
            "owner must be given without method",
        ),
        (lambda: hs.partition([1, 1], "rows", rects=HALVES), "rects must be given without method"),
        (
            lambda: hs.partition([1, 1], rects=HALVES, groups=[0, 0]),
            "rects must be given without method",
        ),
        (lambda: hs.partition([1, 1], rects=HALVES[:1]), r"rects must have shape \(2, 4\) or"),
        (
            lambda: hs.partition([1, 1], rects=[[0, 0, 1, 0.5], [0, 0.4, 1, 0.5]]),
            "rects must not overlap",
        ),
        (
            lambda: hs.partition([1, 1], rects=[[0, 0, 1, 0.5], [0, 0.5, 1, 0.4]]),
            "rects must cover the 1 x 1 box",
        ),
        (
            lambda: hs.partition([1, 1], rects=[[0, 0, 1, 0.5], [0, 0.5, 1, 0.6]]),
            "rects must lie in the 1 x 1 box",
        ),
        (
            lambda: hs.partition([1, 1], rects=[[0, 0, 1, 0.5], [0, 0.5, 1, np.nan]]),
            "rects must be finite",
        ),
        (
            lambda: hs.partition([1, 1], rects=[[0, 0, 1, 0.5], [0, -0.5, 1, 1]]),
            "rects must be finite and not negative",
        ),
        (lambda: hs.partition([1, 0], rects=HALVES), r"rects\[1\] must be all zero"),
        (
            lambda: hs.partition([1, 1], shape=(2, 2), rects=HALVES),
            r"rects\[0, 3\] must be an integer",
        ),
        (
            lambda: hs.partition([1, 1], shape=(2, 2), rects=[[0, 0, 2, 1], [0, 1, 1, 1]]),
            "cover 3 of its area 4",
        ),
        (
            lambda: hs.partition([1, 1], shape=(2, 2), rects=[[0, 0, 2, 1], [1, 0, 1, 2]]),
            "rects must not overlap",
        ),
    ],
)
def test_what_is_no_solution_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="rects must be an array of real numbers, got 'abc'"):
        hs.partition([1, 1], rects="abc")
    with pytest.raises(TypeError, match="counts must be an integer or an array"):
        hs.distribute(2, [1, 1], counts="ab")


def test_what_was_given_is_copied():
    counts, owner, rects = np.array([2, 1]), np.array([0, 1], np.int32), np.array(HALVES)
    plans = (
        hs.distribute(3, [1, 1], counts=counts),
        hs.lu_pattern(2, [1, 1], owner=owner),
        hs.partition([1, 1], rects=rects),
    )
    counts[:], owner[:], rects[:] = 0, 0, 0
    assert plans[0].counts.tolist() == [2, 1]
    assert plans[1].owner.tolist() == [0, 1]
    assert plans[2].rects.tolist() == HALVES
