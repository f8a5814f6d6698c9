"""Places of zones on platforms where every two workers have a link: against all assignments of
workers to zones, priced element by element, and against the zones as they were cut."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validators import validate

import hetsched as hs
from hetsched.planners.product_methods import plan_of_partition


def random_links(p, seed):
    """Links of two decades."""
    rng = np.random.default_rng(seed)
    return 10 ** rng.uniform(0, 2, (p, p)) * (1 - np.eye(p))


def two_racks(p, seed, far):
    """Links of workers that are divided at random between two racks, and the rack of each."""
    rack = np.random.default_rng(seed).permutation(p) % 2
    return np.where(rack[:, None] == rack, 1.0, far) * (1 - np.eye(p)), rack


def makespan(owner, times, links, *, parallel):
    """End of a product of order n whose worker of each element of C is given. A and B lie as C
    does. A worker receives what it needs and does not own, then computes."""
    n, port, end = len(owner), 0.0, 0.0
    for i in range(len(times)):
        rows, cols = (owner == i).any(axis=1), (owner == i).any(axis=0)
        needed = np.bincount(owner[rows].ravel(), minlength=len(times))
        needed += np.bincount(owner[:, cols].ravel(), minlength=len(times))
        receives = sum(8e-9 * needed[j] * links[j, i] for j in range(len(times)) if j != i)
        port = receives if parallel else port + receives
        end = max(end, port + 2e-9 * n * (owner == i).sum() * times[i])
    return end


def owners(plan):
    owner = np.full(plan.shape[:2], -1)
    for worker, row, col, _, height, width, _ in plan.boxes.tolist():
        owner[row : row + height, col : col + width] = worker
    return owner


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [3, 4, 5, 6])
def test_equal_workers_exchange_zones_as_well_as_in_any_order(p, seed):
    links, n = random_links(p, seed), 60
    platform = hs.Platform.complete(np.ones(p), links)
    plan = hs.plan_matmul(n, n, n, platform, method="rectangles", communication="once")
    validate(plan)
    found = owners(plan)
    assert plan.makespan == pytest.approx(makespan(found, np.ones(p), links, parallel=False))
    orders = map(np.array, permutations(range(p)))
    best = min(makespan(order[found], np.ones(p), links, parallel=False) for order in orders)
    assert plan.makespan <= best * (1 + 1e-9)


@given(
    st.integers(2, 9),
    st.integers(0, 999),
    st.sampled_from(["columns", "interval", "nonrectangular", "contiguous"]),
    st.sampled_from(["once", "parallel", "pccs"]),
)
def test_zones_are_never_dearer_than_where_they_were_cut(p, seed, method, communication):
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 4, p).astype(float)
    platform = hs.Platform.complete(times, random_links(p, seed))
    cut = hs.partition(platform, method, (24, 24))
    before = plan_of_partition(cut, 24, 24, 24, platform, 8, 2.0, communication)
    name = "rectangles" if method == "columns" else method
    plan = hs.plan_matmul(24, 24, 24, platform, method=name, block=1, communication=communication)
    validate(plan)
    assert plan.makespan <= before.makespan
    assert plan.lower_bound == pytest.approx(before.lower_bound, rel=1e-12)
    # workers of equal speed exchange zones, and no others: the loads of each speed are as before
    for time in set(times.tolist()):
        same = times == time
        np.testing.assert_allclose(np.sort(plan.flops[same]), np.sort(before.flops[same]))


def test_units_do_not_matter():
    links, times = random_links(7, 3), np.array([1.0, 2, 2, 3, 3, 3, 4])
    plan = hs.plan_matmul(90, 80, 70, hs.Platform.complete(times, links), block=5)
    twice = hs.plan_matmul(90, 80, 70, hs.Platform.complete(2 * times, 2 * links), block=5)
    assert twice.makespan == 2 * plan.makespan
    assert twice.boxes.tolist() == plan.boxes.tolist()


def test_equal_links_leave_the_zones_where_they_are():
    platform = hs.Platform.complete(np.ones(6), 1 - np.eye(6))
    plan = hs.plan_matmul(60, 60, 60, platform, method="rectangles", communication="parallel")
    cut = hs.partition(platform, "columns", (60, 60))
    assert plan.makespan == pytest.approx(
        plan_of_partition(cut, 60, 60, 60, platform, 8, 2.0, "parallel").makespan, rel=1e-12
    )


@pytest.mark.parametrize("p", [6, 8])
@pytest.mark.parametrize("unequal", [False, True])
def test_racks_that_are_not_declared_are_found(p, unequal):
    """Within 10 % of the same platform with its racks declared."""
    links, rack = two_racks(p, seed=p, far=50.0)
    times = np.random.default_rng(p).uniform(1, 3, p) if unequal else np.ones(p)
    platform = hs.Platform.complete(times, links)
    plan = hs.plan_matmul(600, 600, 600, platform, block=25)
    validate(plan)
    assert "nodes" in plan.tried
    parts = [
        hs.Platform.complete(times[rack == k], links[np.ix_(rack == k, rack == k)]) for k in (0, 1)
    ]
    declared = hs.Platform.join(parts, links=[[0, 50.0], [50.0, 0]])
    known = hs.plan_matmul(600, 600, 600, declared, block=25)
    assert plan.makespan <= 1.1 * known.makespan
    cut = hs.partition(platform, shape=(24, 24))
    before = plan_of_partition(cut, 600, 600, 600, platform, 8, 2.0, "once")
    assert plan.makespan < 0.8 * before.makespan
