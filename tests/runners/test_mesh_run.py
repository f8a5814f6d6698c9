"""Plans of layers on meshes and networks, run: products against NumPy, times against the links of
the network."""

from __future__ import annotations

import numpy as np
import pytest
from interrupted import interrupted

import hetsched as hs
from hetsched.planners.product_methods import plan_of_mesh

pytest.importorskip("highspy")
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")  # a loaded machine

GIGAFLOP = hs.Unit.gigaflop()
RIGHT, DOWN = np.array([[90.0], [160.0]]), np.array([[60.0, 120.0]])
MESH = hs.Platform.mesh([[3.0, 4.0], [2.0, 5.0]], RIGHT, DOWN, unit=GIGAFLOP)
LINKS = np.array([[0, 80.0, 120.0, 0], [0, 0, 0, 60.0], [0, 0, 0, 90.0], [0, 0, 0, 0]])
NET = hs.Platform.complete([9.0, 3.0, 2.0, 4.0], LINKS + LINKS.T, unit=GIGAFLOP)


def network(n, **options):
    """The diamond 0 -> 1, 2 -> 3 of NET, in its units."""
    own = NET.to(hs.Unit.multiply_add())
    links = [(i, j, own.links[i, j]) for i, j in ((0, 1), (0, 2), (1, 3), (2, 3))]
    return hs.layers_network(n, own.cycle_times, links, **options)


def arrivals(plan, layer_time):
    """(begin, end) at each node by the model: a link starts when its tail has everything, in the
    sequential modes after the links before it; a node waits for all of its links."""
    done, left = (
        {s: (0.0, 0.0) for s in plan.sources},
        set(range(len(plan.names))) - set(plan.sources),
    )
    links = plan.links.tolist()
    times = [
        flow / (2 * plan.n) * layer_time(i, j)
        for (i, j), flow in zip(links, plan.flows.tolist(), strict=True)
    ]
    while left:
        for v in sorted(left):
            into = [(e, i) for e, (i, j) in enumerate(links) if j == v]
            if all(i in done for _, i in into):
                ahead = [
                    (
                        sum(times[o] for o in range(e) if links[o][0] == i)
                        if plan.mode[0] == "s"
                        else 0.0
                    )
                    for e, i in into
                ]
                leave = [done[i][1] + wait for (_, i), wait in zip(into, ahead, strict=True)]
                last = max(x + times[e] for x, (e, _) in zip(leave, into, strict=True))
                used = [x for x, (e, _) in zip(leave, into, strict=True) if times[e] > 0]
                done[v] = (
                    max(leave) if plan.mode.endswith("ss") else min(used, default=last),
                    last,
                )
                left.remove(v)
                break
    return [done[v] for v in range(len(plan.names))]


def operands(m, k, n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for shape in ((m, k), (k, n)):
        x = rng.standard_normal(shape)
        found.append(
            (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(
                dtype
            )
        )
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("method", ["pmft", "relaxed"])
def test_products(dtype, method):
    """Of whole matrices, also where a layer of the plan is several columns, and with alpha, beta
    and C."""
    for n, shape in ((17, (5, 17, 9)), (17, (30, 34, 20)), (16, (1, 48, 2)), (1, (3, 1, 4))):
        plan = hs.layers_mesh(n, MESH, method=method)
        A, B = operands(*shape, dtype)
        with hs.Pool(4) as pool:
            C = pool.run(plan, A, B)
            close = 1e-4 if C.real.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(C, A @ B, rtol=0, atol=close)
            again = pool.run(plan, A[::-1, ::-1], B[::-1, ::-1], C.copy(), 2.0, -1.0)
            wanted = 2 * (A[::-1, ::-1] @ B[::-1, ::-1]) - C
            np.testing.assert_allclose(again, wanted, rtol=0, atol=close)


def test_empty():
    plan = hs.layers_mesh(3, MESH)
    with hs.Pool(4) as pool:
        assert pool.run(plan, np.ones((0, 3)), np.ones((3, 2))).shape == (0, 2)
        assert pool.run(plan, np.ones((2, 3)), np.ones((3, 0))).shape == (2, 0)


@pytest.mark.parametrize(
    ("plan", "platform"),
    [
        (hs.layers_mesh(120, MESH), MESH),
        (hs.layers_mesh(120, MESH, method="relaxed", source=(1, 0), source_computes=True), MESH),
        (network(120), NET),
        (network(120, source=[0, 2], source_computes=True), NET),
        *((network(120, mode=mode), NET) for mode in ("scss", "sccs", "pcss")),
        (hs.layers_mesh(120, MESH, mode="scss"), MESH),
    ],
    ids=["mesh", "relaxed", "network", "two sources", "scss", "sccs", "pcss", "mesh scss"],
)
def test_emulated(plan, platform):
    """What comes arrives when the links have carried it, in other shapes too; nobody begins
    before."""
    m, k, n = 120, 120, 90
    A, B = operands(m, k, n)
    with hs.Pool(platform, emulate=True, time_scale=3.0) as pool:
        C, trace = pool.run(plan, A, B, trace=True)
    np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
    tables = platform.links
    if tables is None:
        cost = {(0, 1): RIGHT[0, 0], (2, 3): RIGHT[1, 0], (0, 2): DOWN[0, 0], (1, 3): DOWN[0, 1]}
        tables = np.zeros((4, 4))
        for (i, j), x in cost.items():
            tables[i, j] = tables[j, i] = x
    times = arrivals(plan, lambda i, j: 8 * (m + n) * tables[i, j] / 1e9)
    counts = plan.counts.ravel()
    ends = []
    for v, (begin, end) in enumerate(times):
        own = [e for e in trace.events if e.worker == v and e.kind != "wait" and e.what != "sum"]
        computing = [e for e in own if e.kind == "compute"]
        assert len(computing) == (counts[v] > 0.5)
        overlap = plan.mode in ("scss", "pcss")
        for event in computing:
            assert event.start >= 3.0 * (begin if overlap else end) * (1 - 1e-9)
        for event in own:
            if event.kind == "transfer":
                assert event.start >= 3.0 * begin * (1 - 1e-9)
        if counts[v] > 0:
            ends.append(
                max(
                    end,
                    (begin if overlap else end)
                    + 2 * m * n * np.rint(counts[v]) * platform.cycle_times[v] / 1e9,
                )
            )
            assert trace.finish[v] >= 3.0 * end * (1 - 1e-9)
    # which is rounded to whole columns
    assert trace.predicted >= 3.0 * max(ends) * (1 - 0.05 * (plan.method == "relaxed"))
    assert trace.makespan >= trace.predicted * (1 - 1e-9)


def test_as_planned():
    """In the units of the pool the prediction is the plan's makespan, and the sum of the layers."""
    plan = hs.layers_mesh(120, MESH)
    product = plan_of_mesh(plan, 120, 120, 120, MESH, 8, 2.0)
    assert product.receive[:, 1].tolist() == pytest.approx(
        [t for t, c in zip(plan.start.flat, plan.counts.flat, strict=True) if c]
    )
    assert product.layers.start == pytest.approx(plan.makespan)
    assert not product.layers.receive.any()
    assert product.sent.sum() == pytest.approx(8 * plan.volume)


@pytest.mark.parametrize("method", ["pmft", "relaxed"])
def test_installments(method):
    """What the plan says, in its units; the same product; earlier than all at once."""
    plan, at_once = (hs.layers_mesh(240, MESH, method=method, installments=r) for r in (4, 1))
    product = plan_of_mesh(plan, 240, 240, 240, MESH, 8, 2.0)
    if method == "pmft":
        assert product.layers.start == pytest.approx(plan.makespan)
    assert product.sent.sum() == pytest.approx(8 * plan.volume)
    assert plan.makespan < 0.8 * at_once.makespan
    A, B = operands(240, 240, 100)
    with hs.Pool(MESH, emulate=True, time_scale=3.0) as pool:
        C, trace = pool.run(plan, A, B, trace=True)
    np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    assert (
        len([e for e in trace.events if e.worker == 3 and e.kind == "compute" and e.what != "sum"])
        == 4
    )
    with hs.Pool(4) as pool:
        np.testing.assert_allclose(pool.run(plan, A, B), A @ B, rtol=0, atol=1e-11)


def test_other_links():
    """Links of the pool that cost nothing take no time, and others than the plan's are refused."""
    plan = hs.layers_mesh(12, MESH)
    A, B = operands(12, 12, 12)
    with hs.Pool(hs.Platform.star([3, 4, 2, 5]), emulate=True, time_scale=10.0) as pool:
        C, trace = pool.run(plan, A, B, trace=True)
        assert not any(event.kind == "transfer" for event in trace.events)
        np.testing.assert_allclose(C, A @ B, atol=1e-12)
    linked = hs.Platform.star([3, 4, 2, 5], link_costs=[1, 1, 1, 1])
    for platform, other, words in (
        (linked, plan, "platform must be a mesh of 2 x 2 nodes"),
        (
            hs.Platform.mesh(np.ones((1, 4)), np.ones((1, 3)), np.ones((0, 4))),
            plan,
            "platform must be a mesh of 2 x 2",
        ),
        (linked, network(12), "links between every two workers"),
    ):
        with (
            hs.Pool(platform, emulate=True, time_scale=10.0) as pool,
            pytest.raises(ValueError, match=words),
        ):
            pool.run(other, A, B)


def test_refused():
    plan = hs.layers_mesh(12, MESH)
    with hs.Pool(4) as pool:
        with pytest.raises(ValueError, match="plan has n = 12, which is neither k = 10"):
            pool.run(plan, np.ones((3, 10)), np.ones((10, 4)))
        with pytest.raises(ValueError, match="must be equal|mismatch|columns"):
            pool.run(plan, np.ones((3, 12)), np.ones((11, 4)))
        with pytest.raises(ValueError, match="communication is for a partition"):
            pool.run(plan, np.ones((3, 12)), np.ones((12, 4)), communication="scss")
        with pytest.raises(ValueError, match="order is for"):
            pool.run(plan, np.ones((3, 12)), np.ones((12, 4)), order="demand")
    with (
        hs.Pool(3) as pool,
        pytest.raises(ValueError, match="plan is for 4 workers, the pool has 3"),
    ):
        pool.run(plan, np.ones((3, 12)), np.ones((12, 4)))


@pytest.mark.slow
def test_ctrl_c():
    program = """
        import time
        import numpy as np, hetsched as hs
        cycle_times, right, down = [[3.0, 4.0], [2.0, 5.0]], [[9e6], [1e7]], [[6e6, 1e7]]
        mesh = hs.Platform.mesh(cycle_times, right, down, unit=hs.Unit.gigaflop())
        plan = hs.layers_mesh(100, mesh.to(hs.Unit.multiply_add()))
        with hs.Pool(mesh, emulate=True) as pool:
            print("ready", flush=True)
            try:
                pool.run(plan, np.ones((100, 100)), np.ones((100, 100)))
            except KeyboardInterrupt:
                print("interrupted", time.monotonic())
    """
    assert interrupted(program) == []
