"""hetsched.mesh: the paper's program by SciPy, all counts, a replay in fractions, symmetric meshes,
what is refused."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inputs import many
from oracles.mesh import (
    best_counts,
    best_links,
    program,
    program_in_installments,
    program_in_mode,
    replay,
    replay_installments,
)

import hetsched as hs
from hetsched.planners import mesh as mesh_module
from hetsched.planners.mesh import METHODS

pytest.importorskip("highspy")
INF, NAN = math.inf, math.nan
CLOSE = 1e-7  # SciPy's tolerances; ours are finer
WHOLE = [method for method in METHODS if method != "relaxed"]


def paper_mesh(rows, columns, seed):
    """A mesh of section 6.2."""
    rng = np.random.default_rng(seed)
    shapes = ((rows, columns), (rows, columns - 1), (rows - 1, columns))
    return tuple(
        rng.uniform(low, low + 5e-4, shape)
        for low, shape in zip((2e-4, 3e-4, 3e-4), shapes, strict=True)
    )


def triples(plan):
    return [
        (tail, head, cost)
        for (tail, head), cost in zip(plan.links.tolist(), plan.link_costs.tolist(), strict=True)
    ]


def check(plan):
    """The model, the certificate, and what is derived from flows."""
    replay(plan)
    assert 0 < plan.lower_bound <= plan.makespan
    assert plan.optimal == (plan.gap <= 1e-12)
    assert plan.volume == pytest.approx(float(plan.flows.sum()))
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(plan.makespan, rel=1e-12)
    assert (
        trace.finish == pytest.approx(plan.finish.ravel().tolist(), rel=1e-12, abs=1e-12)
        or (plan.counts == 0).any()
    )
    assert plan.lp_solves >= 1
    assert plan.planning_time > 0
    beside = plan.n if plan.disk else plan.n**2
    relays = plan.elements_held.ravel() - (plan.counts.ravel() > 0) * float(beside)
    assert (plan.elements_held.ravel() <= plan.memory * (1 + 1e-9)).all()
    assert plan.elements_on_disk.tolist() == ((plan.counts > 0) * plan.n**2.0 * plan.disk).tolist()
    assert (relays[list(plan.sources)] == 2 * plan.n**2).all()
    for v in range(len(plan.cycle_times)):
        if v not in plan.sources:
            assert relays[v] == pytest.approx(
                plan.flows[plan.links[:, 1] == v].sum(), rel=1e-12, abs=1e-6
            )
    busy = int((np.delete(plan.counts.ravel(), plan.sources) > 0).sum())
    sums = (plan.volume_with_sum - plan.volume) / plan.n**2
    assert busy - 1e-6 <= sums <= len(plan.cycle_times) - 1 + 1e-6


# ---- golden values -------------------------------------------------------------------------------

STAR = ([1.0, 2e-4, 3e-4, 5e-4, 7e-4], [(0, 1, 3e-4), (0, 2, 8e-4), (0, 3, 5e-4), (0, 4, 4e-4)])


def test_star_of_the_specification():
    """A star is a network: N = 100, the mode PCCS in closed form and with whole layers."""
    relaxed = hs.layers_network(100, *STAR, method="relaxed")
    assert relaxed.makespan == pytest.approx(122421165 / 1394639, rel=1e-10)
    assert relaxed.optimal
    for method in WHOLE:
        plan = hs.layers_network(100, *STAR, method=method)
        assert plan.makespan == pytest.approx(88.58, rel=1e-12)
        assert plan.counts.tolist() == [0, 43, 28, 17, 12]
        assert plan.volume == pytest.approx(2 * 100**2)
        assert plan.volume_with_sum == pytest.approx(6 * 100**2)
        assert plan.optimal == (plan.method == "milp") == (method in ("best", "milp"))
        check(plan)


def test_a_network_is_no_platform():
    with pytest.raises(TypeError, match="got a Platform: a Platform.mesh is for layers_mesh"):
        hs.layers_network(20, hs.Platform.complete([1, 2], [[0, 1], [1, 0]]))


def test_chain_in_closed_form():
    """1 x 3, relaxed: node 1 gets a, node 2 the rest; both end together."""
    plan = hs.layers_mesh(10, [[1.0, 2.0, 3.0]], [[0.5, 0.25]], method="relaxed")
    # starts: 20 * 10 * 0.5 = 100; then 20 k2 * 0.25; 100 + 200 k1 = 100 + 5 k2 + 300 k2
    k2 = 2000 / 505
    assert plan.counts[0].tolist() == pytest.approx([0, 10 - k2, k2], rel=1e-9)
    assert plan.makespan == pytest.approx(100 + 200 * (10 - k2), rel=1e-9)
    assert plan.flows.tolist() == pytest.approx([200, 20 * k2], rel=1e-9)


@pytest.mark.parametrize("seed", range(many(3, 1)))
def test_paper_mesh(seed):
    """Gaps of the specification, on 4 x 4: the search finds the optimum, PMFT and the heuristic
    come close."""
    mesh = paper_mesh(4, 4, seed)
    plans = {method: hs.layers_mesh(600, *mesh, method=method) for method in METHODS}
    for plan in plans.values():
        check(plan)
    best = plans["milp"]
    assert best.optimal
    assert plans["relaxed"].makespan == pytest.approx(
        program(600, mesh[0].ravel(), triples(best)), rel=CLOSE
    )
    assert best.makespan == pytest.approx(
        program(600, mesh[0].ravel(), triples(best), whole=True), rel=1e-6
    )
    assert plans["neighbours"].makespan == pytest.approx(best.makespan, rel=1e-6)
    assert best.makespan <= plans["pmft"].makespan * (1 + 1e-9) <= best.makespan * 1.015
    assert best.makespan <= plans["heuristic"].makespan * (1 + 1e-9) <= best.makespan * 1.023
    assert plans["heuristic"].lp_solves in (2, 3)
    assert plans["relaxed"].lp_solves == 1
    assert plans["pmft"].iterations > plans["relaxed"].iterations > 0
    assert all(
        plan.lower_bound >= plans["relaxed"].makespan * (1 - 1e-9) for plan in plans.values()
    )


def test_pruned_is_better_where_links_differ_much():
    rng = np.random.default_rng(3)
    times, right, down = paper_mesh(4, 4, 0)
    times, right, down = (
        np.exp(rng.normal(0, 1.2, a.shape)) * b
        for a, b in ((times, 5e-4), (right, 1e-2), (down, 1e-2))
    )
    usual, pruned = (
        hs.layers_mesh(1000, times, right, down, "relaxed", prune=prune) for prune in (False, True)
    )
    check(usual)
    check(pruned)
    assert pruned.makespan < 0.93 * usual.makespan
    assert pruned.lower_bound < pruned.makespan
    assert not pruned.optimal
    assert len(pruned.flows) == 24


# ---- small networks against SciPy and all counts -------------------------------------------------

time = st.one_of(st.integers(1, 5).map(float), st.floats(0.1, 10))
cost = st.one_of(st.just(0.0), st.integers(1, 5).map(float), st.floats(0.05, 20))


@st.composite
def networks(draw, most=5, links=7):
    """Nodes in any order, every one reached, sometimes with two links between the same nodes and
    nodes that only send on."""
    p = draw(st.integers(2, most))
    times = [INF if draw(st.integers(0, 5)) == 0 else draw(time) for _ in range(p)]
    name = draw(st.permutations(range(p)))
    if all(math.isinf(t) for v, t in enumerate(times) if v != name[0]):
        times[name[1]] = 1.0
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, p)]
    for _ in range(draw(st.integers(0, links - p + 1))):
        i = draw(st.integers(1, p - 1))
        pairs.append((draw(st.integers(0, i - 1)), i))
    return times, [(name[i], name[j], draw(cost)) for i, j in draw(st.permutations(pairs))], name[0]


@pytest.mark.slow
@settings(max_examples=25)
@given(networks(), st.integers(1, 60), st.booleans())
# HiGHS 1.16 says "solve error" with the start, and solves it without
@example(([9.9375, 5.0], [(0, 1, 0.0)], 0), 29, True)
def test_methods_on_networks(network, n, source_computes):
    times, links, source = network
    before = [*times], [*links]
    options = {"source_computes": source_computes}
    plans = {method: hs.layers_network(n, *network, method=method, **options) for method in METHODS}
    assert ([*times], [*links]) == before
    wanted = program(n, times, links, source, **options)
    assert plans["relaxed"].makespan == pytest.approx(wanted, rel=CLOSE)
    for method, plan in plans.items():
        check(plan)
        assert plan.lower_bound >= wanted * (1 - CLOSE)
        assert (plan.counts.dtype.kind == "i") == (method != "relaxed")
        if method != "relaxed":
            fixed = program(n, times, links, source, counts=plan.counts.tolist(), **options)
            assert plan.makespan == pytest.approx(fixed, rel=CLOSE)
    order = [plans[method].makespan for method in ("relaxed", "milp", "neighbours", "pmft")]
    assert all(a <= b * (1 + 1e-9) for a, b in zip(order, order[1:], strict=False))
    assert plans["milp"].optimal
    assert plans["heuristic"].makespan >= order[1] * (1 - 1e-9)


MODES = ("scss", "sccs", "pccs", "pcss")


@pytest.mark.slow
@given(networks(), st.integers(1, 40), st.booleans(), st.booleans(), st.data())
def test_memory_on_networks(network, n, source_computes, disk, data):
    """The programs with rows for what comes in; every method keeps to them, or all refuse."""
    times, links, source = network
    beside = n if disk else n**2
    room = data.draw(
        st.lists(
            st.one_of(st.just(INF), st.integers(0, n + 3)), min_size=len(times), max_size=len(times)
        )
    )
    memory = [
        2.0 * n * layers + data.draw(st.sampled_from([0, beside, beside, beside + 1]))
        for layers in room
    ]
    options = {"source_computes": source_computes, "memory": memory, "disk": disk}
    own = {"source_computes": source_computes, "memory": memory, "beside": beside}
    wanted = program(n, times, links, source, **own)
    if wanted is None:
        for method in METHODS:
            with pytest.raises(hs.InfeasibleError, match="memory"):
                hs.layers_network(n, *network, method=method, **options)
        return
    plans = {method: hs.layers_network(n, *network, method=method, **options) for method in METHODS}
    assert plans["relaxed"].makespan == pytest.approx(wanted, rel=CLOSE)
    assert plans["milp"].makespan == pytest.approx(
        program(n, times, links, source, whole=True, **own), rel=1e-6
    )
    free = hs.layers_network(n, *network, method="milp", source_computes=source_computes)
    for method, plan in plans.items():
        check(plan)
        assert plan.memory.tolist() == [INF if v == source else m for v, m in enumerate(memory)]
        assert plan.counts.sum() == pytest.approx(n)
        assert plan.lower_bound >= wanted * (1 - CLOSE)
        if method != "relaxed":
            assert plan.makespan >= free.makespan * (1 - 1e-6)
            fixed = program(n, times, links, source, counts=plan.counts.tolist(), **own)
            assert plan.makespan == pytest.approx(fixed, rel=CLOSE)
    order = [plans[method].makespan for method in ("relaxed", "milp", "neighbours", "pmft")]
    assert all(a <= b * (1 + 1e-9) for a, b in zip(order, order[1:], strict=False))
    endless = hs.layers_network(n, *network, memory=INF, disk=disk, source_computes=source_computes)
    assert (
        endless.counts.tolist()
        == hs.layers_network(n, *network, source_computes=source_computes).counts.tolist()
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", MODES)
def test_memory_of_a_mesh(mode):
    times, right, down = paper_mesh(3, 3, 4)
    unit = hs.Unit.multiply_add()
    usual = hs.layers_mesh(60, times, right, down, "milp", mode=mode)
    least = int(usual.elements_held.ravel()[1:].max()) - 400
    mesh = hs.Platform.mesh(times, right, down, unit=unit)
    short = hs.Platform(
        [hs.Worker(w.cycle_time, memory=least) for w in mesh.workers],
        shape=(3, 3),
        right=right,
        down=down,
        unit=unit,
    )
    plans = [
        hs.layers_mesh(60, short, method="milp", mode=mode),
        hs.layers_mesh(60, mesh, method="milp", mode=mode, memory=least),
    ]
    for plan in plans:
        check(plan)
        assert plan.memory.tolist() == [INF] + [least] * 8
        assert plan.makespan > usual.makespan
    assert plans[0] == plans[1]
    assert hs.Plan.from_dict(plans[0].to_dict()) == plans[0]
    moved = plans[0].on(short)
    check(moved)
    assert moved.makespan == pytest.approx(plans[0].makespan, rel=1e-9)
    with pytest.raises(ValueError, match="plan needs .* elements of memory at worker"):
        usual.on(short)


def test_memory_for_what_is_sent_on():
    """A node holds what it sends on; one that cannot have a layer needs no room for it."""
    chain = [(0, 1, 1e-4), (1, 2, 1e-4)]
    options = {"method": "milp", "memory": [0, 10 * 40, INF]}
    with pytest.raises(
        hs.InfeasibleError,
        match="memory: the nodes on the way to those that compute have no room for all layers",
    ):
        hs.layers_network(20, [1.0, INF, 1.0], chain, **options)
    plan = hs.layers_network(20, [1.0, INF, 1.0], chain, **options | {"memory": [0, 20 * 40, INF]})
    check(plan)
    assert plan.counts.tolist() == [0, 0, 20]
    both = hs.layers_network(20, [1.0, 1.0, 1.0], chain, **options | {"memory": 20 * 40 + 400})
    assert both.counts.tolist() == [0, 10, 10]
    with pytest.raises(
        hs.InfeasibleError,
        match=(
            "memory has room for 12 of 20 layers: each layer takes 40 elements .* 400 elements"
            " more; with disk"
        ),
    ):
        hs.layers_network(20, [1.0, 1.0, 1.0], chain, memory=6 * 40 + 400)


@pytest.mark.slow
@given(networks(), st.integers(1, 60), st.booleans(), st.sampled_from(MODES))
def test_modes_on_networks(network, n, source_computes, mode):
    """The least that a program of its own finds; plans that hold; more freedom is never later."""
    times, links, source = network
    options = {"source_computes": source_computes, "mode": mode}
    wanted = program_in_mode(n, times, links, source, mode, source_computes=source_computes)
    if mode == "pccs":
        assert wanted == pytest.approx(
            program(n, times, links, source, source_computes=source_computes), rel=CLOSE
        )
    for method in ("relaxed", "pmft", "milp"):
        plan = hs.layers_network(n, *network, method=method, **options)
        check(plan)
        assert plan.mode == mode
        if mode in ("pccs", "pcss"):
            assert plan.lower_bound >= wanted * (1 - CLOSE)
        else:  # for every order
            at_once = program_in_mode(
                n, times, links, source, "pc" + mode[2:], source_computes=source_computes
            )
            assert plan.lower_bound == pytest.approx(at_once, rel=CLOSE)
            if method == "milp":
                assert (
                    plan.optimal
                    or plan.scope == "plans whose nodes serve their links in this order"
                )
        if method == "relaxed":
            assert plan.makespan == pytest.approx(wanted, rel=CLOSE)
        else:
            fixed = program_in_mode(
                n,
                times,
                links,
                source,
                mode,
                source_computes=source_computes,
                counts=plan.counts.tolist(),
            )
            assert plan.makespan == pytest.approx(fixed, rel=CLOSE)
        again = hs.Plan.from_dict(plan.to_dict())
        assert again == plan
        assert again.begin.tolist() == plan.begin.tolist()
    for freer in {"scss": ("pcss",), "sccs": ("scss", "pccs"), "pccs": ("pcss",), "pcss": ()}[mode]:
        other = hs.layers_network(
            n, *network, method="relaxed", source_computes=source_computes, mode=freer
        )
        assert other.makespan <= wanted * (1 + CLOSE)


@pytest.mark.slow
@given(
    st.lists(st.tuples(time, cost), min_size=1, max_size=5),
    st.integers(1, 80),
    st.sampled_from(MODES),
)
def test_a_star_is_a_star(workers, n, mode):
    """As of `layers_star`, whose plans come from closed forms and dynamic programming."""
    times, costs = zip(*sorted(workers, key=lambda worker: worker[1]), strict=True)
    links = [(0, i + 1, c) for i, c in enumerate(costs)]
    star = hs.layers_star(n, times, costs, mode)
    plan = hs.layers_network(n, [INF, *times], links, method="milp", mode=mode)
    assert plan.makespan == pytest.approx(star.makespan, rel=1e-6)
    relaxed = hs.layers_network(n, [INF, *times], links, method="relaxed", mode=mode)
    assert relaxed.makespan == pytest.approx(star.relaxed, rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_modes_of_a_mesh_on_other_platforms(mode):
    rng = np.random.default_rng(4)
    mesh = hs.Platform.mesh(
        *(rng.uniform(1, 3, shape) * 1e-4 for shape in ((3, 3), (3, 2), (2, 3)))
    )
    plan = hs.layers_mesh(40, mesh, mode=mode)
    check(plan)
    same = plan.on(mesh)
    assert same.makespan == pytest.approx(plan.makespan)
    slow = hs.Platform.mesh(2 * mesh.cycle_times.reshape(3, 3), 2 * mesh.right, 2 * mesh.down)
    assert plan.on(slow).makespan == pytest.approx(2 * plan.makespan)
    check(plan.on(slow))


@pytest.mark.slow
@settings(max_examples=25)
@given(networks(), st.integers(1, 60), st.booleans(), st.integers(2, 5))
def test_installments(network, n, source_computes, rounds):
    """The least of a program of its own, never later than with fewer; whole layers near it; times
    by a replay in fractions."""
    times, links, source = network
    options = {"source_computes": source_computes, "installments": rounds}
    wanted = program_in_installments(
        n, times, links, source, rounds, source_computes=source_computes
    )
    plan = hs.layers_network(n, *network, "relaxed", **options)
    assert isinstance(plan, hs.InstallmentPlan)
    assert plan.installments == rounds
    assert plan.makespan == pytest.approx(wanted, rel=CLOSE)
    assert plan.makespan <= hs.layers_network(
        n, *network, "relaxed", source_computes=source_computes
    ).makespan * (1 + 1e-9)
    whole = hs.layers_network(n, *network, **options)
    assert whole.method == "rounded"
    assert whole.round_counts.dtype == whole.counts.dtype == np.int64
    assert whole.lower_bound >= wanted * (1 - CLOSE)
    for one in (plan, whole):
        replay_installments(one)
        assert hs.simulate(one).makespan == pytest.approx(one.makespan, rel=1e-12)
        assert one.counts.ravel().tolist() == pytest.approx(one.round_counts.sum(axis=0).tolist())
        assert one.counts.sum() == pytest.approx(n)
        assert one.flows.tolist() == pytest.approx(one.round_flows.sum(axis=0).tolist())
        assert one.finish.max() == one.makespan
        assert hs.Plan.from_dict(one.to_dict()) == one


def test_installments_where_links_are_slow():
    """On a chain of equal links store and forward waits for everything at every node; in parts the
    links work side by side."""
    p, n = 6, 600
    links = [(v, v + 1, 2e-2) for v in range(p - 1)]
    makespans = [
        hs.layers_network(
            n, [INF, *[1e-4] * (p - 1)], links, method="relaxed", installments=r
        ).makespan
        for r in (1, 2, 4, 8)
    ]
    assert all(b < 0.95 * a for a, b in zip(makespans, makespans[1:], strict=False))
    assert makespans[-1] >= n * n * 1e-4 * n / (p - 1)


def test_installments_of_a_mesh_on_other_platforms():
    rng = np.random.default_rng(5)
    mesh = hs.Platform.mesh(
        *(rng.uniform(1, 3, shape) * 1e-3 for shape in ((3, 3), (3, 2), (2, 3)))
    )
    plan = hs.layers_mesh(40, mesh, installments=3)
    assert plan.begin.shape == plan.start.shape == (3, 3)
    assert (plan.begin <= plan.start).all()
    assert plan.on(mesh).makespan == pytest.approx(plan.makespan)
    slow = hs.Platform.mesh(2 * mesh.cycle_times.reshape(3, 3), 2 * mesh.right, 2 * mesh.down)
    other = plan.on(slow)
    assert other.makespan == pytest.approx(2 * plan.makespan)
    replay_installments(other)
    assert plan.flows_right.shape == (3, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"installments": 0}, "installments must be in"),
        ({"installments": 65}, "installments must be in"),
        ({"installments": 2, "mode": "scss"}, "installments are for"),
        ({"installments": 2, "prune": True}, "installments are for"),
        ({"installments": 2, "method": "milp"}, "installments are for"),
    ],
)
def test_bad_installments(options, words):
    with pytest.raises(ValueError, match=words):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], **options)


def test_bad_modes():
    with pytest.raises(ValueError, match="mode must be one of scss"):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], mode="xcss")
    with pytest.raises(ValueError, match='prune is for the mode "pccs"'):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], mode="scss", prune=True)
    with pytest.raises(ValueError, match="memory is for one installment, got installments 2"):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], installments=2, memory=100)
    with pytest.raises(ValueError, match=r"memory\[0, 1\] must not be negative, got -1"):
        hs.layers_mesh(3, [[1, 1]], [[1]], memory=[[3, -1]])
    with pytest.raises(
        ValueError,
        match=r"memory of shape \(3,\) does not broadcast to \(2,\), a number for each node",
    ):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], memory=[1, 2, 3])
    with pytest.raises(TypeError, match="disk must be True or False"):
        hs.layers_network(3, [1, 1], [(0, 1, 1)], disk="yes")


@pytest.mark.slow
@settings(max_examples=25)
@given(networks(), st.integers(1, 40), st.booleans(), st.data())
def test_sources(network, n, source_computes, data):
    """As from one node before them, over links without cost; what one gives, more never make
    later."""
    times, links, source = network
    p = len(times)
    others = data.draw(
        st.lists(st.integers(0, p - 1).filter(lambda v: v != source), unique=True, max_size=p - 1)
    )
    sources = [source, *others]
    own = [math.inf if v in sources and not source_computes else t for v, t in enumerate(times)] + [
        math.inf
    ]
    if all(math.isinf(t) for t in own):
        with pytest.raises(hs.InfeasibleError, match="no node except the source can compute"):
            hs.layers_network(n, times, links, sources)
        return
    before = [*[link for link in links if link[1] not in sources], *((p, v, 0.0) for v in sources)]
    wanted = program(n, own, before, p, source_computes=False)
    for method in ("relaxed", "pmft", "milp"):
        plan = hs.layers_network(n, times, links, sources, method, source_computes=source_computes)
        check(plan)
        assert plan.lower_bound >= wanted * (1 - CLOSE)
        assert plan.sources == tuple(sources)
        assert not np.isin(plan.links[:, 1], sources).any()
        assert hs.Plan.from_dict(plan.to_dict()) == plan
        if method == "relaxed":
            assert plan.makespan == pytest.approx(wanted, rel=CLOSE)
    alone = hs.layers_network(n, times, links, [source], "milp", source_computes=source_computes)
    assert alone == hs.layers_network(
        n, times, links, source, "milp", source_computes=source_computes
    )
    if source_computes:
        assert plan.makespan <= alone.makespan * (1 + 1e-9)


def test_both_ends_of_a_chain():
    """Two sources halve it."""
    chain = [(0, 1, 1e-4), (1, 2, 1e-4), (4, 3, 1e-4), (3, 2, 1e-4)]
    half = hs.layers_network(60, [1e-3] * 5, chain, [0, 4], source_computes=True)
    one = [(i, i + 1, 1e-4) for i in range(4)]
    assert abs(half.counts[1] - half.counts[3]) <= 1
    assert half.makespan < hs.layers_network(60, [1e-3] * 5, one, source_computes=True).makespan


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ([], ValueError, "source must name a node, got none"),
        ([0, 0], ValueError, r"source must name each node once, got \[0, 0\]"),
        ([0, 3], ValueError, r"source\[1\]"),
        (["a"], TypeError, r"source\[0\]"),
        ("0", TypeError, "source"),
        ([1], ValueError, "links do not lead from the source, node 1, to node 0"),
    ],
)
def test_bad_sources(source, error, words):
    with pytest.raises(error, match=words):
        hs.layers_network(10, [1e-3] * 3, [(0, 1, 1e-4), (1, 2, 1e-4)], source)


@pytest.mark.slow
@settings(max_examples=20)
@given(networks(most=4, links=4), st.integers(1, 5), st.booleans())
def test_all_counts(network, n, source_computes):
    plan = hs.layers_network(n, *network, method="milp", source_computes=source_computes)
    assert plan.makespan == pytest.approx(
        best_counts(n, *network, source_computes=source_computes), rel=CLOSE
    )


@pytest.mark.slow
@settings(max_examples=20)
@given(
    networks(most=4, links=5),
    st.integers(1, 20),
    st.sampled_from(["relaxed", "pmft", "neighbours"]),
)
def test_all_sets_of_links(network, n, method):
    """The lower bound of a pruned plan holds for every set of links; it is never longer than the
    usual plan."""
    plan = hs.layers_network(n, *network, method=method, prune=True)
    check(plan)
    best = best_links(n, *network, whole=method != "relaxed")
    assert plan.lower_bound <= best * (1 + CLOSE)
    assert plan.makespan >= best * (1 - CLOSE)
    assert plan.makespan <= hs.layers_network(n, *network, method=method).makespan * (1 + 1e-9)


def test_neighbours_tries_all_that_could_help():
    """No move of one layer shortens the plan, by SciPy."""
    times, right, down = paper_mesh(2, 3, 7)
    plan = hs.layers_mesh(40, times, right, down, "neighbours")
    counts = plan.counts.ravel()
    for a in np.flatnonzero(counts):
        for b in range(1, 6):
            moved = counts.copy()
            moved[a] -= 1
            moved[b] += 1
            other = program(40, times.ravel(), triples(plan), counts=moved)
            assert other >= plan.makespan * (1 - CLOSE)


# ---- the source anywhere -------------------------------------------------------------------------


@pytest.mark.parametrize("source", [(0, 0), (0, 2), (2, 3), (1, 1), (2, 0), (1, 3)])
def test_source_anywhere(source):
    mesh = paper_mesh(3, 4, 5)
    plan = hs.layers_mesh(300, *mesh, source=source)
    check(plan)
    assert plan.source == 4 * source[0] + source[1]
    assert plan.counts[source] == 0
    assert plan.start[source] == 0
    places = np.stack(np.divmod(plan.links, 4))  # row and column, link, end
    away = np.abs(places - np.array(source)[:, None, None]).sum(0)
    assert (away[:, 1] == away[:, 0] + 1).all()
    assert len({tuple(sorted(pair)) for pair in plan.links.tolist()}) == 17
    for (i, j), price in zip(plan.links.tolist(), plan.link_costs.tolist(), strict=True):
        row, column = divmod(min(i, j), 4)
        assert price == (mesh[1][row, column] if abs(i - j) == 1 else mesh[2][row, column])
    with_source = hs.layers_mesh(300, *mesh, source=source, source_computes=True)
    check(with_source)
    assert with_source.counts[source] > 0
    assert with_source.makespan < plan.makespan


@pytest.mark.slow
@pytest.mark.parametrize("method", ["relaxed", "milp"])
def test_mirrored(method):
    """The same mesh from each of its corners, and turned."""
    times, right, down = paper_mesh(3, 3, 2)
    usual = hs.layers_mesh(200, times, right, down, method)
    for other, source in (
        ((times[:, ::-1], right[:, ::-1], down[:, ::-1]), (0, 2)),
        ((times[::-1], right[::-1], down[::-1]), (2, 0)),
        ((times[::-1, ::-1], right[::-1, ::-1], down[::-1, ::-1]), (2, 2)),
        ((times.T, down.T, right.T), (0, 0)),
    ):
        plan = hs.layers_mesh(200, *other, method, source=source)
        assert plan.makespan == pytest.approx(usual.makespan, rel=1e-8)
        check(plan)


def test_directed_flows():
    mesh = paper_mesh(3, 4, 8)
    plan = hs.layers_mesh(300, *mesh, source=(1, 2))
    across, along = plan.flows_right, plan.flows_down
    assert across.shape == (3, 3)
    assert along.shape == (2, 4)
    assert (across[:, :2] <= 0).all()
    assert (across[:, 2] >= 0).all()
    assert (along[0] <= 0).all()
    assert (along[1] >= 0).all()
    assert np.abs(across).sum() + np.abs(along).sum() == pytest.approx(plan.volume)
    comes = np.zeros((3, 4))
    comes[:, 1:] += across
    comes[:, :-1] -= across
    comes[1:] += along
    comes[:-1] -= along
    comes[1, 2] += 2 * 300**2
    assert comes == pytest.approx(2 * 300 * plan.counts, abs=1e-6)
    with pytest.raises(TypeError, match="only a mesh"):
        _ = hs.layers_network(10, *STAR).flows_down


def test_torus_and_tree():
    """A ring both ways, and a tree by its closed form: T = (n + sum start / a) / sum 1 / a where
    links are free."""
    ring = [(0, 1, 1e-3), (1, 2, 1e-3), (0, 4, 1e-3), (4, 3, 1e-3), (2, 5, 1e-3), (3, 5, 1e-3)]
    plan = hs.layers_network(60, [1e-3] * 6, ring, method="milp")
    check(plan)
    assert plan.counts[1] == plan.counts[4] >= plan.counts[2] == plan.counts[3] >= plan.counts[5]
    tree = [(0, 1, 0.0), (0, 2, 0.0), (1, 3, 0.0), (1, 4, 0.0)]
    assert hs.layers_network(120, [1, 1, 2, 3, 6], tree).counts.tolist() == [0, 60, 30, 20, 10]


# ---- small cases ---------------------------------------------------------------------------------


def test_one_row_one_column_one_node():
    row = hs.layers_mesh(30, [[1, 2, 3]], [[0.1, 0.2]], source=(0, 1))
    column = hs.layers_mesh(30, [[1], [2], [3]], down=[[0.1], [0.2]], source=(1, 0))
    assert row.counts.ravel().tolist() == column.counts.ravel().tolist()
    assert row.makespan == column.makespan
    alone = hs.layers_mesh(7, [[2.0]], source_computes=True, method="milp")
    assert (alone.makespan, alone.counts.tolist(), alone.volume, alone.optimal) == (
        7 * 49 * 2.0,
        [[7]],
        0.0,
        True,
    )
    for plan in (row, column, alone):
        check(plan)
    with pytest.raises(
        hs.InfeasibleError, match="no node except the source can compute: give source_computes=True"
    ):
        hs.layers_mesh(7, [[2.0]])


def test_idle_nodes():
    """Speed 0: only sends on; a link that is never worth while."""
    plan = hs.layers_mesh(20, speeds=[[0, 0, 4]], right=[[0.01, 0.02]])
    assert plan.counts.tolist() == [[0, 0, 20]]
    assert plan.elements_held.tolist() == [[800, 800, 1200]]
    assert plan.volume_with_sum == plan.volume + 2 * 400
    check(plan)
    assert hs.layers_network(1, [1, 5, 1], [(0, 1, 0), (0, 2, 0)]).counts.tolist() == [0, 0, 1]


def test_parallel_links_share():
    plan = hs.layers_network(10, [1, 1], [(0, 1, 3.0), (0, 1, 1.0)], method="relaxed")
    assert plan.flows.tolist() == pytest.approx([50, 150])


def test_platform(tmp_path):
    times, right, down = paper_mesh(3, 2, 1)
    platform = hs.Platform.mesh(times, right, down, names=[*"abcdef"])
    for suffix in (".toml", ".json"):
        platform.save(tmp_path / f"mesh{suffix}")
        assert hs.Platform.load(tmp_path / f"mesh{suffix}") == platform
    plan = hs.layers_mesh(50, platform)
    assert plan.names == tuple("abcdef")

    assert plan.to_dict()["counts"] == hs.layers_mesh(50, times, right, down).counts.tolist()
    with pytest.raises(TypeError, match="right and down must not be given"):
        hs.layers_mesh(50, platform, right)
    with pytest.raises(TypeError, match="either cycle_times or speeds"):
        hs.layers_mesh(50, platform, speeds=times)
    with pytest.raises(TypeError, match="not a mesh: make one with Platform.mesh"):
        hs.layers_mesh(50, hs.Platform.star([1, 2]))


def test_deterministic_and_frozen():
    mesh = paper_mesh(4, 3, 4)
    copies = [a.copy() for a in mesh]
    first, second = (hs.layers_mesh(300, *mesh).to_dict() for _ in range(2))
    for key in ("planning_time",):
        del first[key], second[key]
    assert first == second
    assert all((a == b).all() for a, b in zip(mesh, copies, strict=True))
    plan = hs.layers_mesh(300, *mesh)
    for array in (
        plan.counts,
        plan.flows,
        plan.start,
        plan.finish,
        plan.links,
        plan.cycle_times,
        plan.link_costs,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_scales():
    """Units do not matter, up to the tolerance."""
    times, right, down = paper_mesh(3, 3, 6)
    usual = hs.layers_mesh(100, times, right, down)
    for factor in (2.0**-150, 2.0**150):
        plan = hs.layers_mesh(100, times * factor, right * factor, down * factor)
        assert plan.counts.tolist() == usual.counts.tolist()
        assert plan.makespan == pytest.approx(usual.makespan * factor, rel=1e-9)
    large = hs.layers_mesh(10**6, times, right, down)
    check(large)
    assert large.gap < 1e-4


def test_flows_are_made_to_conserve():
    """Whatever the solver's rounding did to them; and what is lost in it goes over the link that
    had most."""
    times, right, down = paper_mesh(4, 4, 9)
    source, links, costs = mesh_module.mesh_edges(right, down, (1, 1))
    network = mesh_module.network_of(100, times.ravel(), links, costs, [source], False)
    plan = hs.layers_mesh(100, times, right, down, source=(1, 1))
    counts, noise = plan.counts.ravel(), np.random.default_rng(0).uniform(-1e-6, 1e-6, len(links))
    for flows in (plan.flows / 200 + noise, np.where(links[:, 1] == 0, 1e-12, plan.flows / 200)):
        exact = network.conserved(counts, flows)
        comes = np.bincount(links[:, 1], exact, 16) - np.bincount(links[:, 0], exact, 16)
        comes[source] += 100
        assert comes == pytest.approx(counts, abs=1e-12)
        assert (exact >= 0).all()


# ---- branch and bound ----------------------------------------------------------------------------


@pytest.mark.slow
def test_limits():
    mesh = paper_mesh(7, 7, 0)
    searched = hs.layers_mesh(1500, *mesh, method="neighbours")
    early = hs.layers_mesh(1500, *mesh, method="milp", budget=0)
    coarse = hs.layers_mesh(1500, *mesh, method="milp", gap=0.5, budget=math.inf)
    for plan in (early, coarse):
        check(plan)
        assert plan.makespan <= searched.makespan * (1 + 1e-9)
        assert plan.lower_bound >= searched.lower_bound * (1 - 1e-9)
        assert not plan.optimal


def test_interrupt(monkeypatch):
    """Ctrl-C ends branch and bound, and the solver can be used again."""
    monkeypatch.setattr(mesh_module, "_neighbours", lambda program, found: found)
    mesh = paper_mesh(9, 9, 0)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hs.layers_mesh(1500, *mesh, method="milp", budget=math.inf)
    timer.join()
    check(hs.layers_mesh(30, *paper_mesh(2, 2, 0), method="milp"))


def test_silent():
    """In a process of its own: C's output waits in a buffer until the end."""
    plan = (
        "import hetsched as hs; hs.layers_mesh(100, [[1, 2, 3]], [[1, 1]], method='milp',"
        " prune=True)"
    )
    done = subprocess.run([sys.executable, "-c", plan], capture_output=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_without_highspy(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(
        ImportError, match="the linear program of layers needs highspy: pip install highspy"
    ):
        hs.layers_mesh(10, [[1, 2]], [[1]])


def test_a_start_that_is_optimal():
    """HiGHS 1.16 then says that the objective is 0."""
    links = [
        (1, 4, 1.0),
        (1, 4, 1.0),
        (1, 3, 0.0),
        (1, 4, 1.0),
        (1, 2, 0.0),
        (1, 0, 0.0),
        (1, 2, 0.0),
    ]
    plan = hs.layers_network(1, [math.inf, 1.0, 1.0, 1.0, 1.0], links, 1, method="milp")
    assert plan.optimal
    assert plan.makespan == 1.0


def test_unsolved(monkeypatch):
    """What HiGHS cannot solve is an error, never a plan."""
    monkeypatch.setattr(
        mesh_module.Program, "_fix", lambda self, *_: self._solver.changeRowBounds(0, 1.0, 0.0)
    )
    with pytest.raises(RuntimeError, match="HiGHS did not solve the linear program of layers: "):
        hs.layers_mesh(10, [[1, 2, 3]], [[1, 1]])


# ---- what is refused -----------------------------------------------------------------------------

GOOD = {"n": 10, "cycle_times": [[1, 2], [3, 4]], "right": [[1], [2]], "down": [[1, 2]]}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"n": 0}, ValueError, r"n must be in \[1, 1000000\], got 0"),
        ({"n": 1.5}, ValueError, "n must be an integer"),
        (
            {"cycle_times": [1, 2]},
            ValueError,
            r"cycle_times must have 2 dimensions .*got shape \(2,\)",
        ),
        ({"cycle_times": [[]]}, ValueError, "cycle_times must have 2 dimensions"),
        (
            {"cycle_times": [[1, 2], [NAN, 4]]},
            ValueError,
            r"cycle_times\[1, 0\] must be from .*, got nan",
        ),
        (
            {"cycle_times": [[1, 2], [0, 4]]},
            ValueError,
            r"cycle_times\[1, 0\] must be from .*, got 0",
        ),
        ({"cycle_times": [[1, -2], [3, 4]]}, ValueError, r"cycle_times\[0, 1\] must be .*, got -2"),
        (
            {"cycle_times": [["a", 2], [3, 4]]},
            TypeError,
            "cycle_times must be an array of real numbers",
        ),
        ({"cycle_times": None}, TypeError, "give either cycle_times or speeds"),
        ({"speeds": [[1, 2], [3, 4]]}, TypeError, "give either cycle_times or speeds"),
        (
            {"cycle_times": None, "speeds": [[1, 2], [-3, 4]]},
            ValueError,
            r"speeds\[1, 0\] must be 0 or .*, got -3",
        ),
        (
            {"cycle_times": [[1, INF], [INF, INF]]},
            hs.InfeasibleError,
            "no node except the source can compute",
        ),
        (
            {"right": [[1, 2]]},
            ValueError,
            r"right must have shape \(2, 1\) for a mesh of 2 x 2 nodes, got shape \(1, 2\)",
        ),
        ({"right": None}, ValueError, r"right must have shape \(2, 1\) .*, got None"),
        (
            {"right": [[1], [-1]]},
            ValueError,
            r"right\[1, 0\] must be finite and not negative, got -1",
        ),
        (
            {"down": [[1, INF]]},
            ValueError,
            r"down\[0, 1\] must be finite and not negative, got inf",
        ),
        ({"down": [[1, 1e300]]}, ValueError, r"the link from node 1 to 3 must cost 0 or from"),
        ({"down": [[1, 1e12]]}, ValueError, "The ratio must be at most 1e\\+06"),
        (
            {"method": "simplex"},
            ValueError,
            "method must be one of best, relaxed, pmft, heuristic, neighbours, milp, got 'simplex'",
        ),
        ({"method": 3}, ValueError, "method must be one of"),
        ({"source": 3}, TypeError, "source must be a row and a column, got 3"),
        ({"source": (0, 2)}, ValueError, r"source\[1\] must be in \[0, 1\], got 2"),
        ({"source": (-1, 0)}, ValueError, r"source\[0\] must be in \[0, 1\], got -1"),
        ({"source_computes": 1}, TypeError, "source_computes must be True or False, got 1"),
        ({"prune": "yes"}, TypeError, "prune must be True or False, got 'yes'"),
        ({"gap": -1}, ValueError, "gap must be at least 0"),
        ({"budget": NAN}, ValueError, "budget must be finite"),
    ],
)
def test_bad_mesh(change, error, words):
    with pytest.raises(error, match=words):
        hs.layers_mesh(**(GOOD | change))


@pytest.mark.parametrize(
    ("links", "options", "error", "words"),
    [
        (None, {}, TypeError, "links must be given"),
        ([(0, 1)], {}, ValueError, r"links must have shape \(m, 3\)"),
        ([(0, 1, "x")], {}, TypeError, "links must be triples of numbers"),
        (
            [(0, 1, 1), (0, 3, 1)],
            {},
            ValueError,
            r"links\[1, 1\] must be an integer in \[0, 2\], got 3",
        ),
        (
            [(0, 1, 1), (1, 1, 1), (0, 2, 1)],
            {},
            ValueError,
            r"links\[1\] leads from node 1 to itself",
        ),
        (
            [(0, 1, 1), (2, 1, 1)],
            {},
            ValueError,
            "links do not lead from the source, node 0, to node 2",
        ),
        (
            [(0, 1, 1), (1, 2, 1), (2, 1, 1)],
            {},
            ValueError,
            "links must not have a cycle, node 1 is on or behind one",
        ),
        ([(0, 1, 1), (1, 2, 1), (2, 0, 1)], {}, ValueError, "links must not have a cycle"),
        (
            [(0, 1, 1), (0, 2, NAN)],
            {},
            ValueError,
            "the link from node 0 to 2 must cost .*, got nan",
        ),
        ([(0, 1, 1), (0, 2, -1)], {}, ValueError, "the link from node 0 to 2 must cost .*, got -1"),
        ([(0, 1, 1), (0, 2, 1)], {"source": 3}, ValueError, r"source must be in \[0, 2\], got 3"),
        (
            [(0, 1, 1), (0, 2, 1)],
            {"source": 1},
            ValueError,
            "links do not lead from the source, node 1, to node 0",
        ),
        (
            [(0, 1, 1), (0, 2, 1)],
            {"cycle_times": [[1, 2, 3]]},
            ValueError,
            "cycle_times must have 1 dimension ",
        ),
        ([], {}, ValueError, "links do not lead from the source"),
    ],
)
def test_bad_network(links, options, error, words):
    with pytest.raises(error, match=words):
        hs.layers_network(**({"n": 10, "cycle_times": [1, 2, 3], "links": links} | options))


@pytest.mark.parametrize("links", [3, 2**63, "x", [[0, 1, 1.0], [1]], [None]])
def test_links_of_other_types(links):
    with pytest.raises((ValueError, TypeError), match="links must"):
        hs.layers_network(3, [1, 2], links)
