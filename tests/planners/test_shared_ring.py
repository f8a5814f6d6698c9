"""Rings over shared links: bandwidths against SciPy and closed forms, rings against all rings, and
every plan against the links of its network."""

import itertools
import math

import numpy as np
import pytest
from inputs import many
from validators import validate

import hetsched as hs

optimize = pytest.importorskip("scipy.optimize")


def network(rng, p, routers=2, more=2):
    """A random connected network of p workers and some routers."""
    nodes = p + routers
    costs = [0.1, 0.3, 1.0, 2.0]
    tree = [(int(rng.integers(0, k)), k, float(rng.choice(costs))) for k in range(1, nodes)]
    pairs = [rng.choice(nodes, 2, replace=False).tolist() for _ in range(more)]
    return tree + [(a, b, float(rng.choice(costs))) for a, b in pairs]


def problem(rng, p):
    return {
        "cycle_times": rng.uniform(1.0, 5.0, p).tolist(),
        "network": network(rng, p),
        "work": float(rng.choice([5.0, 20.0, 100.0])),
        "volume": 1.0,
        "duplex": bool(rng.integers(0, 2)),
    }


def by_scipy(given, ring, routes):
    """Time of a step of a ring with the best bandwidths, by sequential quadratic programming."""
    q, volume, work = len(ring), given["volume"], given["work"]
    messages = [(k, (k + step) % q) for k in range(q) for step in (1, -1)]
    rows = {}
    for column, (k, other) in enumerate(messages):
        node = ring[k]
        for link in routes[ring[k], ring[other]]:
            a, b, cost = given["network"][link]
            key = link, given["duplex"] and node == b
            rows.setdefault(key, np.zeros(2 * q))[column] = cost
            node = a + b - node
    capacity, speeds = np.array(list(rows.values())), 1.0 / np.array(given["cycle_times"])[ring]
    first = np.full(2 * q, 0.9 / capacity.sum(axis=1).max())

    def paid(x):
        return (volume / (x[:-1] * first)).reshape(q, 2).sum(axis=1)

    def together(x):
        return (work + speeds @ paid(x)) / speeds.sum()

    start = np.append(np.ones(2 * q), 1.0)
    unit = max(together(start), paid(start).max())
    limits = [
        lambda x: 1.0 - capacity @ (x[:-1] * first),
        lambda x: x[-1] - together(x) / unit,
        lambda x: x[-1] - paid(x) / unit,
    ]
    found = optimize.minimize(
        lambda x: x[-1],
        start,
        method="SLSQP",
        bounds=[(1e-3, 1e4)] * (2 * q + 1),
        constraints=[{"type": "ineq", "fun": limit} for limit in limits],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return found.fun * unit if found.success else None


def all_rings(p):
    for q in range(1, p + 1):
        for ring in itertools.permutations(range(p), q):
            if ring[0] == min(ring) and (q < 3 or ring[1] < ring[-1]):
                yield list(ring)


def routes_of(plan):
    routes = {}
    for i, j, link in plan.hops.tolist():
        routes.setdefault((i, j), []).append(link)
    return routes


@pytest.mark.parametrize("seed", range(many(24, 6)))
def test_bandwidths_of_a_ring_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    given = problem(rng, int(rng.integers(2, 6)))
    p = len(given["cycle_times"])
    ring = rng.permutation(p)[: int(rng.integers(2, p + 1))].tolist()
    plan = hs.shared_ring(**given, ring=ring)
    validate(plan)
    wanted = by_scipy(given, plan.ring, routes_of(plan))
    if wanted is not None:
        assert plan.makespan == pytest.approx(wanted, rel=1e-7)
    assert plan.makespan <= (wanted or math.inf) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(many(10, 3)))
def test_exact_is_the_best_of_all_rings(seed):
    rng = np.random.default_rng(100 + seed)
    given = problem(rng, int(rng.integers(3, 6)))
    plan = hs.shared_ring(**given)
    validate(plan)
    p = len(given["cycle_times"])
    best = min(hs.shared_ring(**given, ring=ring).makespan for ring in all_rings(p))
    assert plan.makespan == pytest.approx(best, rel=1e-9)
    assert plan.gap < 1e-7
    assert plan.scope == "all rings with these routes"
    for method in ("search", "greedy"):
        other = hs.shared_ring(**given, method=method)
        validate(other)
        assert other.makespan >= plan.makespan * (1 - 1e-9)
        assert other.bound <= plan.makespan * (1 + 1e-12)
    assert hs.shared_ring(**given, method="search").makespan <= plan.makespan * (1 + 1e-9)


def test_two_workers_on_one_link():
    """All four messages share it: bandwidths go with the square roots of the speeds."""
    times, cost, work, volume = [1.0, 4.0], 0.5, 100.0, 2.0
    plan = hs.shared_ring(times, [(0, 1, cost)], work, volume, ring=[0, 1])
    roots = 1.0 + 0.5
    wanted = (work + 4 * cost * volume * roots**2) / (1.0 + 0.25)
    assert plan.makespan == pytest.approx(wanted, rel=1e-12)
    assert 1 / plan.links[0, 1] == pytest.approx(2 / plan.links[1, 0], rel=1e-6)


def test_a_relay_has_no_work():
    """Where the messages of a member take the whole step, it gets more than its fair bandwidth."""
    star = [(0, 4, 1.0), (1, 4, 1.0), (2, 4, 3.0), (3, 4, 1.0)]
    given = {"cycle_times": [1.0, 1.0, 1.0, 50.0], "network": star, "work": 1.0, "volume": 1.0}
    plan = hs.shared_ring(**given, ring=[0, 1, 2, 3])
    validate(plan)
    wanted = by_scipy(given | {"duplex": False}, plan.ring, routes_of(plan))
    assert plan.makespan == pytest.approx(wanted, rel=1e-7)
    assert plan.transfers.max() == pytest.approx(plan.makespan, rel=1e-9)
    assert hs.shared_ring(**given).ring.tolist() == [0]


@pytest.mark.parametrize("seed", range(4))
def test_links_of_their_own_give_the_plan_of_slice_ring(seed):
    rng = np.random.default_rng(seed)
    p = 6
    times, costs = rng.uniform(1, 4, p), rng.uniform(0.1, 2.0, (p, p))
    costs = costs + costs.T
    cables = [(i, j, costs[i, j]) for i, j in itertools.combinations(range(p), 2)]
    plan = hs.shared_ring(times, cables, 200.0, 1.0, duplex=True)
    alone = hs.slice_ring(times, costs, 200.0, 1.0, relays=True)
    assert len(alone.ring) > 2
    assert plan.ring.tolist() == alone.ring.tolist()
    assert plan.makespan == pytest.approx(alone.makespan, rel=1e-12)
    assert plan.optimal
    np.fill_diagonal(costs, 0.0)
    np.testing.assert_array_equal(plan.links, costs)


@pytest.mark.parametrize("seed", range(many(6, 2)))
def test_relations(seed):
    rng = np.random.default_rng(1000 + seed)
    given = problem(rng, 5)
    times, cables = np.array(given["cycle_times"]), np.array(given["network"])
    time = hs.shared_ring(**given).makespan

    def again(**changed):
        return hs.shared_ring(**given | changed).makespan

    slower = cables * [1, 1, 3]
    assert again(cycle_times=times * 3, network=slower) == pytest.approx(3 * time, rel=1e-8)
    assert again(network=slower, volume=1 / 3) == pytest.approx(time, rel=1e-8)
    assert again(network=slower) >= time * (1 - 1e-9)
    order = rng.permutation(5)
    place = np.argsort(order)
    renamed = cables.copy()
    ends = renamed[:, :2]
    ends[ends < 5] = place[ends[ends < 5].astype(int)]
    # other numbers could choose other routes of the same length
    routes = {
        (int(place[i]), int(place[j])): links
        for ring in all_rings(5)
        if len(ring) == 2
        for (i, j), links in routes_of(hs.shared_ring(**given, ring=ring)).items()
    }
    moved = again(cycle_times=times[order], network=renamed, routes=routes)
    assert moved == pytest.approx(time, rel=1e-8)
    # a router becomes a worker that cannot work
    assert again(cycle_times=[*times, math.inf]) == pytest.approx(time, rel=1e-8)


@pytest.mark.parametrize(("clusters", "gap"), [(3, 0.01), (5, 0.05)])
def test_many_workers_have_a_bound(clusters, gap):
    p, rng = 4 * clusters, np.random.default_rng(3)
    cables = [(i, p + i // 4, 0.2) for i in range(p)]
    cables += [(p + k, p + clusters, 0.5) for k in range(clusters)]
    plan = hs.shared_ring(rng.uniform(1, 5, p), cables, 30.0 * p, 1.0, "greedy")
    validate(plan)
    assert plan.gap < gap
    if clusters == 3:  # the bound counts that links are shared
        routes = hs.shared_ring(plan.cycle_times, cables, plan.work, plan.volume, ring=[0])
        alone = hs.slice_ring(plan.cycle_times, routes.links, plan.work, 1.0, relays=True)
        assert plan.bound > alone.makespan


def test_routes_are_shortest_and_then_widest_or_given():
    cables = [(0, 2, 1.0), (2, 1, 1.0), (0, 3, 0.5), (3, 1, 0.25), (0, 4, 0.1), (4, 5, 0.1),
              (5, 1, 0.1)]  # fmt: skip
    plan = hs.shared_ring([1.0, 1.0], cables, 100.0, 1.0, ring=[0, 1])
    assert plan.hops.tolist() == [[0, 1, 2], [0, 1, 3], [1, 0, 3], [1, 0, 2]]
    own = hs.shared_ring([1.0, 1.0], cables, 100.0, 1.0, ring=[0, 1], routes={(0, 1): [4, 5, 6]})
    assert own.hops.tolist() == [[0, 1, 4], [0, 1, 5], [0, 1, 6], [1, 0, 3], [1, 0, 2]]
    assert own.makespan < plan.makespan


def test_a_plan_is_simulated_put_elsewhere_and_saved(tmp_path):
    star = [(i, 4, 1.0) for i in range(4)]
    plan = hs.shared_ring([1.0, 1.0, 2.0, 2.0], star, 60.0, 1.0, overheads=0.5, latencies=0.1)
    validate(plan)
    assert hs.simulate(plan).makespan == pytest.approx(plan.makespan, rel=1e-12)
    slower = plan.on([1.0, 1.0, 2.0, 4.0])
    validate(slower)
    assert slower.makespan > plan.makespan
    assert slower.network is not None
    assert hs.replan(plan, [1.0, 1.0, 2.0, 4.0]).makespan < slower.makespan
    complete = hs.Platform.complete(plan.cycle_times, plan.links)
    there = plan.on(complete)
    assert there.network is None
    assert there.makespan == pytest.approx(plan.makespan, rel=1e-12)
    plan.save(tmp_path / "ring.json")
    content = plan.to_dict()
    assert hs.SliceRing.load(tmp_path / "ring.json") == plan
    for name, wrong in (
        ("network", [[a, b, 2 * cost] for a, b, cost in star]),
        ("network", None),
        ("hops", content["hops"][1:]),
        ("hops", [*content["hops"], [0, 1, 9]]),
    ):
        with pytest.raises(ValueError, match=r"network|hops"):
            hs.SliceRing.from_dict(content | {name: wrong})


def test_it_runs_on_a_platform_with_its_bandwidths():
    star = [(i, 2, 2.0) for i in range(2)]
    plan = hs.shared_ring([1.0, 1.5], star, 1.0, 1e-3)
    with hs.Pool(hs.Platform.complete(plan.cycle_times, plan.links), emulate=True) as pool:
        u = np.random.default_rng(0).random((40, 30))
        result, trace = pool.stencil(u, 3, plan=plan, trace=True)
    with hs.Pool(2) as pool:
        np.testing.assert_allclose(result, pool.stencil(u, 3), rtol=1e-12)
    assert {event.kind for event in trace.events} >= {"compute", "transfer"}


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"network": None}, TypeError, "network must be given"),
        ({"network": [(0, 1)]}, ValueError, "shape"),
        ({"network": [(0, 0, 1.0)]}, ValueError, "itself"),
        ({"network": [(0, 1, -1.0)]}, ValueError, r"network\[0\]\[2\]"),
        ({"network": [(0, 1, math.nan)]}, ValueError, "network"),
        ({"network": [(0, 1.5, 1.0)]}, (ValueError, TypeError), "network"),
        ({"network": [(0, 3, 1.0)]}, hs.InfeasibleError, "connect"),
        ({"cycle_times": [1.0] * 11, "method": "exact"}, hs.InfeasibleError, "up to 10"),
        ({"method": "all"}, ValueError, "method"),
        ({"duplex": 1}, TypeError, "duplex"),
        ({"ring": []}, ValueError, "ring"),
        ({"ring": [0, 0]}, ValueError, "twice"),
        ({"ring": [0, 2]}, ValueError, "ring"),
        ({"routes": {(0, 1): []}}, ValueError, "lead from 0 to 1"),
        ({"routes": {(0, 1): [1]}}, ValueError, "routes"),
        ({"routes": {0: [0]}}, TypeError, "pair"),
        ({"routes": [0]}, TypeError, "routes"),
        ({"work": 0.0}, ValueError, "work"),
        ({"volume": math.inf}, ValueError, "volume"),
        ({"cycle_times": [math.inf, math.inf]}, ValueError, "cycle_times"),
    ],
)
def test_wrong_arguments(changed, error, match):
    given = {"cycle_times": [1.0, 2.0], "network": [(0, 1, 1.0)], "work": 10.0, "volume": 1.0}
    with pytest.raises(error, match=match):
        hs.shared_ring(**given | changed)


@pytest.mark.parametrize("method", ["best", "exact", "search", "greedy"])
def test_least_sizes(method):
    plan = hs.shared_ring([2.0], [], 10.0, 1.0, method)
    assert (plan.makespan, plan.ring.tolist()) == (20.0, [0])
    free = hs.shared_ring([2.0, 2.0], [(0, 1, 0.0)], 10.0, 1.0, method)
    assert free.makespan == 10.0
    none = hs.shared_ring([2.0, 2.0], [(0, 1, 5.0)], 10.0, 0.0, method)
    assert none.makespan == 10.0
