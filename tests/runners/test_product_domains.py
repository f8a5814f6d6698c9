"""Products divided between the domains of a machine: `plan_matmul(method="domains")`."""

from __future__ import annotations

import os
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from validators import validate

import hetsched as hs
from hetsched._engine import kernels as engine
from hetsched.planners.product_domains import counted

TWO = st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(0, 1)), min_size=1, max_size=8)
TIMES = st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(0, 3)), min_size=1, max_size=8)


def platform_of(workers: list[tuple[float, int]], nodes: list[str] | None = None) -> hs.Platform:
    star = hs.Platform.star(
        [time for time, _ in workers], domains=[domain for _, domain in workers]
    )
    return hs.Platform(star.workers, nodes=nodes)


def plan_of(m: int, k: int, n: int, platform: hs.Platform, **options) -> hs.ProductPlan:
    plan = hs.plan_matmul(m, n, k, platform, method="domains", **options)
    validate(plan)
    return plan


@settings(max_examples=many(25, 15))
@given(TWO, st.integers(0, 50), st.integers(0, 50))
def test_two_domains_by_speed(workers, m, n):
    """The longer side of C is divided between two domains as by `distribute` of their speeds; so
    is, of each zone, its own."""
    platform = platform_of(workers)
    plan = plan_of(m, 5, n, platform)
    speeds = defaultdict(float)
    for worker in platform.workers:
        speeds[worker.domain] += worker.speed
    areas = np.bincount(plan.boxes[:, 0], plan.boxes[:, 4] * plan.boxes[:, 5], len(platform))
    if not (m and n):
        return
    of = np.array([list(speeds).index(worker.domain) for worker in platform.workers])
    strips = np.bincount(of, areas) / min(m, n)
    as_fast(strips, max(m, n), list(speeds.values()))
    for domain, strip in enumerate(strips):
        if strip:
            as_fast(
                areas[of == domain] / min(strip, min(m, n)),
                max(strip, min(m, n)),
                platform.speeds[of == domain],
            )


@settings(max_examples=many(25, 15))
@given(TIMES, st.integers(20, 90), st.integers(20, 90))
def test_many_domains_by_speed(workers, m, n):
    """Each domain has a rectangle, as large as its speed says but for a line at each of the cuts
    that made it."""
    platform = platform_of(workers)
    boxes = plan_of(m, 5, n, platform).boxes
    names = list(dict.fromkeys(platform.domains))
    of = np.array([names.index(domain) for domain in platform.domains])
    speeds = np.bincount(of, platform.speeds)
    for domain, ideal in enumerate(speeds / speeds.sum() * m * n):
        own = boxes[of[boxes[:, 0]] == domain]
        area = (own[:, 4] * own[:, 5]).sum()
        assert abs(area - ideal) <= (len(names) - 1) * max(m, n)
        if len(own):
            low, high = own[:, 1:3].min(axis=0), (own[:, 1:3] + own[:, 4:6]).max(axis=0)
            assert np.prod(high - low) == area


def test_sixteen_domains_pack_little():
    """Four by four: a quarter of A and of B for each, where strips would take all of one."""
    platform = hs.Platform.star([1.0] * 32, domains=np.repeat(np.arange(16), 2).tolist())
    found = plan_of(1024, 1024, 1024, platform).domains
    assert (found.packed == 8 * 1024 * (256 + 256)).all()


def as_fast(counts: np.ndarray, n: float, speeds: list[float]) -> None:
    """Whole numbers that add up to n, in the least time; ties may go to anybody."""
    np.testing.assert_array_equal(counts, np.rint(counts))
    assert counts.sum() == n
    assert (counts / speeds).max() == pytest.approx(
        hs.distribute(int(n), speeds=speeds).makespan, rel=1e-9
    )


@settings(max_examples=many(25, 15))
@given(TIMES, st.integers(1, 40), st.integers(1, 40), st.randoms(use_true_random=False))
def test_relations(workers, m, n, random):
    """Other units of time, another order of workers, other names of domains, a worker of no use."""
    platform = platform_of(workers)
    plan = plan_of(m, 5, n, platform)
    scaled = plan_of(m, 5, n, platform_of([(4.0 * time, domain) for time, domain in workers]))
    np.testing.assert_array_equal(scaled.boxes, plan.boxes)
    assert scaled.makespan == pytest.approx(4.0 * plan.makespan, rel=1e-12)
    named = hs.Platform.star(
        [t for t, _ in workers], domains=[f"L3 {domain}" for _, domain in workers]
    )
    np.testing.assert_array_equal(plan_of(m, 5, n, named).boxes, plan.boxes)
    more = plan_of(m, 5, n, platform_of([*workers, (1e12, 9)]))  # ties may fall otherwise
    assert len(workers) not in more.boxes[:, 0]
    shuffled = random.sample(workers, len(workers))
    assert plan_of(m, 5, n, platform_of(shuffled)).lower_bound == pytest.approx(
        plan.lower_bound, rel=1e-12
    )


@settings(max_examples=many(25, 15))
@given(TIMES, st.integers(1, 40), st.integers(1, 40))
def test_turned(workers, m, n):
    """Of the transposed product, where C is not square, each worker has as much."""
    platform = platform_of(workers)
    a, b = plan_of(m, 3, n, platform), plan_of(n, 3, m, platform)
    if m != n and all(d.size == 0 or d[:, 4].max() != d[:, 5].max() for d in (a.boxes, b.boxes)):
        np.testing.assert_array_equal(a.flops, b.flops)


def test_one_domain_is_as_slices():
    times = [3.0, 5.0, 8.0]
    for m, n, method in ((30, 50, "columns"), (50, 30, "rows")):
        own = plan_of(m, 7, n, hs.Platform.star(times))
        assert own.domains.names == ("",)
        assert (
            own.makespan == hs.plan_matmul(m, n, 7, hs.Platform.star(times), method=method).makespan
        )


@pytest.mark.parametrize(
    "sizes", [(0, 3, 3), (3, 0, 3), (3, 3, 0), (1, 1, 1), (2, 1, 2), (1, 2, 1)]
)
@pytest.mark.parametrize("p", [1, 2, 5])
def test_edges(sizes, p):
    plan = plan_of(*sizes, hs.Platform.star(np.arange(1.0, p + 1), domains=np.arange(p) % 2))
    assert plan.method == "domains"
    assert hs.Plan.from_dict(plan.to_dict()) == plan


def test_blocks():
    plan = plan_of(100, 10, 130, hs.Platform.star([1, 2, 3, 4], domains=[0, 0, 1, 1]), block=16)
    ends = plan.boxes[:, [1, 2]] + plan.boxes[:, [4, 5]]
    assert not (plan.boxes[:, [1, 2]] % 16).any()
    assert all(end % 16 == 0 or end in (100, 130) for end in ends.ravel().tolist())


def test_what_domains_move():
    """Two domains of equal speed on two nodes; A of 1000 x 600, B of 600 x 10000: each strip has
    two panels of columns."""
    platform = platform_of([(1.0, 0), (1.0, 0), (1.0, 1), (1.0, 1)], ["a", "a", "b", "b"])
    found = plan_of(1000, 600, 10000, platform).domains
    each = 8 * 600 * (2 * 1000 + 5000)
    assert found.names == ("0", "1")
    assert found.of.tolist() == [0, 0, 1, 1]
    assert found.packed.tolist() == [each, each]
    assert found.traffic.tolist() == [[0.0, each / 2], [each, each / 2]]
    assert found.synchronisations.tolist() == [2 * 3 * 2, 2 * 3 * 2]
    half = plan_of(1000, 600, 10000, platform, dtype="float32").domains
    assert half.packed.tolist() == [each / 2, each / 2]


def test_panels_of_other_sizes():
    platform = platform_of([(1.0, 0), (1.0, 1)])
    plan = plan_of(100, 600, 1000, platform)
    found = counted(plan.boxes[:, [0, 1, 2, 4, 5]], 600, platform, 8, (100, 250))
    assert found.packed.tolist() == [8 * 600 * (2 * 100 + 500)] * 2
    assert found.synchronisations.tolist() == [2 * 6] * 2


def test_without_nodes_nothing_is_far():
    assert not plan_of(10, 10, 10, platform_of([(1.0, 0), (1.0, 1)])).domains.traffic.any()


def test_other_methods_have_no_domains():
    platform = platform_of([(1.0, 0), (2.0, 1)])
    assert hs.plan_matmul(9, 9, 9, platform, method="columns").domains is None
    assert hs.plan_matmul(9, 9, 9, platform).method != "domains"


def test_saved(tmp_path):
    plan = plan_of(30, 20, 50, platform_of([(1.0, 0), (2.0, 1), (3.0, 1)], ["a", "b", "b"]))
    plan.save(tmp_path / "x.json")
    loaded = hs.Plan.load(tmp_path / "x.json")
    assert loaded == plan
    assert loaded.domains.names == plan.domains.names
    assert loaded.domains.packed.dtype == np.float64


@pytest.mark.parametrize("communication", ["once", "sequential"])
def test_run(communication):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((70, 40)), rng.standard_normal((40, 90))
    platform = hs.Platform.star([300.0, 500.0, 800.0], domains=[0, 1, 1])
    with hs.Pool(platform, emulate=True) as pool:
        plan = pool.plan(70, 90, 40, method="domains", block=8, communication=communication)
        np.testing.assert_allclose(pool.run(plan, A, B), A @ B, atol=1e-12)
    with hs.Pool(3) as pool:
        np.testing.assert_allclose(pool.matmul(A, B, method="domains"), A @ B, atol=1e-12)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one worker for each of two domains")
def test_a_pool_divides_as_its_engine(tmp_path, monkeypatch):
    """At whole register tiles, which a platform does not know."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    path = tmp_path / "two.toml"
    path.write_text(f'[[domain]]\ncpus = "{first}"\n[[domain]]\ncpus = "{second}"\n')
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    platform = hs.Platform.star([1.0, 2.0], domains=["fast", "slow"])
    with hs.Pool(platform) as pool:
        for dtype in ("float64", "float32"):
            tile = engine.kernel()["kernels"][dtype][1:]
            for m, n in ((500, 1000), (1000, 500)):
                plan = pool.plan(m, n, 300, dtype=dtype, method="domains")
                cut = plan.boxes[:, 2 if n > m else 1].max()
                exact = 2 * max(m, n) / 3  # the first domain is twice as fast
                # the kernel may compute the transpose
                assert any(cut % side == 0 and abs(cut - exact) < side for side in tile)
        assert pool.plan(500, 1000, 300, method="domains", block=7).boxes[:, 2].max() % 7 == 0
        A, B = np.ones((500, 30)), np.ones((30, 1000))
        plan = pool.plan(500, 1000, 30, method="domains")
        np.testing.assert_array_equal(pool.run(plan, A, B), A @ B)
