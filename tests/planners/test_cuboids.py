"""hetsched.cuboids: exact tilings of the iterations, the least cost among guillotine tilings, and
true bounds."""

from __future__ import annotations

import importlib
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import stages
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.cuboids import (
    covers_exactly,
    guillotine_cost,
    half_perimeters,
    least_separate_cost,
    tile_load,
)

import hetsched as hs
from hetsched.planners.cuboids import METHODS
from hetsched.plots.canvas import digits

INF, NAN = math.inf, math.nan
LEAST, MOST = math.ulp(0.0), float(np.finfo(float).max)


def volumes_lists(
    max_size: int, *, min_size: int = 1, zeros: bool = True
) -> st.SearchStrategy[list[float]]:
    zero = [st.just(0.0)] if zeros else []
    kinds = [
        st.floats(1e-3, 1.0),
        st.integers(1, 5).map(float),
        st.sampled_from([1.0, 1.0 + 2**-52, 2.0, 4.0, 8.0]),
        st.floats(-60, 60).map(lambda x: 10.0**x),
    ]
    return st.one_of(
        *(st.lists(st.one_of(kind, *zero), min_size=min_size, max_size=max_size) for kind in kinds)
    ).filter(any)


weight = st.one_of(st.just(1.0), st.floats(0.1, 10.0), st.sampled_from([1e-9, 1e9]))
weights = st.tuples(weight, weight, weight)


def shares(volumes: list[float]) -> list[Fraction]:
    total = sum(map(Fraction, volumes))
    return [Fraction(volume) / total for volume in volumes]


def plan_of(volumes, faces, **options) -> hs.Cuboids:
    alpha, beta, gamma = faces
    return hs.cuboids(volumes, gamma, alpha=alpha, beta=beta, **options)


def check_unit_cube(plan: hs.Cuboids, volumes: list[float]) -> None:
    """Volumes right, inside the cube, no two overlap: then the boxes tile it, as the volumes sum to
    1."""
    boxes = plan.boxes.tolist()
    for box, share in zip(boxes, shares(volumes), strict=True):
        if share == 0:
            assert box == [0.0] * 6
        else:
            assert min(box[3:]) > 0
            assert math.prod(box[3:]) == pytest.approx(float(share), rel=1e-12)
        for start, side in zip(box[:3], box[3:], strict=True):
            assert 0 <= start <= start + side <= 1 + 1e-12
    for a, b in itertools.combinations([box for box in boxes if box[3]], 2):
        common = [min(a[q] + a[q + 3], b[q] + b[q + 3]) - max(a[q], b[q]) for q in range(3)]
        assert min(common) <= 1e-12


# ---- known values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volumes", "faces", "cost"),
    [
        ([1], (1, 1, 1), 3),
        ([1], (2, 3, 5), 10),
        ([1, 3], (2, 3, 5), 12),  # one cut, across the cheapest face
        ([7] * 8, (1, 1, 1), 6),
        ([0.3] * 27, (1, 1, 1), 9),
        ([LEAST] * 8, (1, 1, 1), 6),
        ([MOST] * 8, (1, 1, 1), 6),
        ([1] * 16, (1, 1, 4), 12),  # 4 x 4 x 1
        ([1] * 4, (1, 1, 100), 104),
        ([0, 0, 5, 0], (1, 1, 1), 3),
        ([1] * 9, (1, 1, 0), 2),
        ([1] * 9, (0, 1, 1), 2),
        ([1] * 9, (1, 0, 3), 4),
        ([1] * 5, (0, 0, 3), 3),
        ([5, 4, 3, 2, 1, 1], (1, 1, 1e-3), 2 + 6e-3),  # layers
        ([1] * 8, (MOST / 16, MOST / 16, MOST / 16), 6 * (MOST / 16)),
        ([1] * 8, (1e-300, 1e-300, 1e-300), 6e-300),
        ([1] * 8, (1e-300, 1e-300, 1.0), 1.0),
    ],
)
def test_known_values(volumes, faces, cost):
    plan = plan_of(volumes, faces)
    assert plan.cost == pytest.approx(cost, rel=1e-12)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert plan.optimal


def test_means_of_the_specification():
    """gamma = 1, eight uniform speeds: 3-D 1.030, 2-D 1.121, layers 1.75 of the bound; here over 60
    draws."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(60):
        volumes = rng.random(8)
        bound = 3 * ((volumes / volumes.sum()) ** (2 / 3)).sum()
        ratios.append(
            [hs.cuboids(volumes, method=m).cost / bound for m in ("best", "rectangles", "layers")]
        )
    assert np.mean(ratios, axis=0) == pytest.approx([1.030, 1.121, 1.75], abs=0.015)


# ---- the least cost ------------------------------------------------------------------------------


@given(volumes_lists(4, zeros=False), weights)
@example([1.0, 1.0, 1.0, 1.0], (1.0, 1.0, 1.0))
@example([1.0, 1.0, 1.0, 5.0], (1.0, 2.0, 4.0))
@example([1e-60, 1.0, 1e60], (1.0, 1e-9, 1e9))
def test_least_cost_of_up_to_four(volumes, faces):
    """All trees of all set partitions; so few boxes have no other tilings, so this is the
    optimum."""
    best = guillotine_cost(shares(volumes), [Fraction(f) for f in faces])
    for method in ("best", "guillotine"):
        plan = plan_of(volumes, faces, method=method)
        assert plan.cost == pytest.approx(float(best), rel=1e-11)
        assert plan.optimal
        assert plan.scope == "guillotine tilings"
    for method in ("interval", "layers", "rectangles"):
        plan = plan_of(volumes, faces, method=method)
        assert plan.cost >= float(best) * (1 - 1e-11)
        assert plan.lower_bound == pytest.approx(float(best), rel=1e-11)


@pytest.mark.parametrize("seed", range(8))
def test_least_cost_of_five(seed):
    rng = np.random.default_rng(seed)
    volumes = (
        rng.integers(1, 9, 5).astype(float).tolist()
        if seed % 2
        else rng.lognormal(0, 2, 5).tolist()
    )
    faces = (1.0, 1.0, 1.0) if seed < 3 else tuple((10.0 ** rng.uniform(-1, 1, 3)).tolist())
    best = guillotine_cost([float(s) for s in shares(volumes)], faces, sides=(1.0, 1.0, 1.0))
    assert plan_of(volumes, faces).cost == pytest.approx(best, rel=1e-11)


@given(volumes_lists(4, zeros=False), weights)
def test_rectangles_are_the_two_dimensional_partition(volumes, faces):
    """alpha = beta = 1: half perimeters + gamma."""
    exact = shares(volumes)
    plan = hs.cuboids(volumes, faces[2], method="rectangles")
    assert plan.cost - plan.weights[2] == pytest.approx(float(half_perimeters(exact)), rel=1e-6)
    assert plan.cost == pytest.approx(float(half_perimeters(exact)) + faces[2], rel=1e-11)
    enrolled = plan.boxes[:, 3] > 0
    assert plan.boxes[enrolled][:, [2, 5]].tolist() == [[0.0, 1.0]] * len(volumes)
    plan = plan_of(volumes, faces, method="rectangles")
    assert plan.cost == pytest.approx(
        float(guillotine_cost(exact, [Fraction(f) for f in faces], (0, 1))), rel=1e-11
    )
    assert plan.scope == "guillotine tilings without cuts across the depth"


@pytest.mark.parametrize("p", [11, 14, 30])
def test_rectangles_of_many(p):
    """The search over orders is no worse than the best full columns."""
    areas = np.random.default_rng(p).random(p) + 0.05
    plan = hs.cuboids(areas, 7.0, method="rectangles", orders=20)
    assert plan.cost - 7 <= hs.partition(areas, "columns").cost * (1 + 1e-12)
    check_unit_cube(plan, areas.tolist())
    assert set(plan.boxes[:, 5].tolist()) == {1.0}
    assert plan.scope == ""


@given(volumes_lists(12), weights)
def test_layers(volumes, faces):
    plan = plan_of(volumes, faces, method="layers")
    enrolled = sum(volume > 0 for volume in volumes)
    assert plan.cost == pytest.approx(faces[0] + faces[1] + enrolled * faces[2], rel=1e-12)
    assert plan.scope == "layers"
    depths = [box[2] for box in plan.boxes.tolist() if box[3]]
    assert depths == sorted(depths)  # in the workers' order
    assert all(box[3:5] == [1.0, 1.0] for box in plan.boxes.tolist() if box[3])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("p", "kind"), [(6, "uniform"), (8, "lognormal"), (9, "uniform"), (10, "lognormal")]
)
def test_the_interval_dp_and_the_search_come_close_to_the_exact_search(p, kind):
    rng = np.random.default_rng(11)
    faces = np.array([1.0, 1.0, 2.0])
    for _ in range(4):
        volumes = rng.random(p) + 0.05 if kind == "uniform" else rng.lognormal(0, 1.6, p)
        volumes /= volumes.sum()
        _, exact = stages.partition_cuboids_exact(volumes, faces, 7)
        _, interval = stages.partition_cuboids(volumes, faces, 7, None, 0, 0)
        _, searched = stages.partition_cuboids(volumes, faces, 7, None, 200, 5)
        assert exact <= searched * (1 + 1e-12)
        assert exact <= interval * (1 + 1e-12)
        assert searched <= exact * 1.003
        assert interval <= exact * 1.03


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("p", "gap"),
    [
        (12, 0.02),
        (16, 0.025),
        (24, 0.02),
        (32, 0.015),
        (64, 0.012),
        (65, 0.02),
        (100, 0.015),
        (700, 0.01),
    ],
)
def test_many_volumes_are_close_to_the_bound(p, gap):
    volumes = np.random.default_rng(2).random(p) + 0.02
    plan = hs.cuboids(volumes, orders=3)
    assert plan.gap < gap
    assert plan.actual_volumes == pytest.approx(volumes / volumes.sum(), rel=1e-12)
    if p <= 100:
        check_unit_cube(plan, volumes.tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("gamma", [1e-3, 0.2, 30.0])
@pytest.mark.parametrize("p", [20, 90])
def test_weights_of_many(p, gamma):
    volumes = np.random.default_rng(4).lognormal(0, 1, p)
    plan = hs.cuboids(volumes, gamma, orders=0)
    check_unit_cube(plan, volumes.tolist())
    assert plan.gap < 0.05
    for method in ("layers", "interval", "rectangles"):
        assert plan.cost <= hs.cuboids(volumes, gamma, method=method, orders=0).cost * 1.001


@pytest.mark.parametrize("ratio", [0.5, 1e-3, 1e-60])
def test_volumes_far_apart(ratio):
    """More than the DP takes at once: the large ones come last, alone."""
    volumes = [max(ratio**i, 1e-290) for i in range(80)]
    check_unit_cube(hs.cuboids(volumes), volumes)


# ---- properties ----------------------------------------------------------------------------------


@given(volumes_lists(14), weights, st.sampled_from(METHODS))
def test_tiles_the_unit_cube(volumes, faces, method):
    if method == "guillotine" and sum(v > 0 for v in volumes) > 10:
        return
    plan = plan_of(volumes, faces, method=method, orders=2)
    check_unit_cube(plan, volumes)
    sides = plan.boxes[:, 3:].tolist()
    assert plan.cost == pytest.approx(
        sum(faces[0] * h * d + faces[1] * d * w + faces[2] * h * w for h, w, d in sides)
    )
    assert plan.boxes.dtype == np.float64
    assert 0 < plan.lower_bound <= plan.cost
    assert plan.gap >= 0
    assert plan.imbalance == pytest.approx(1, rel=1e-12)
    assert plan.weights == faces


@given(volumes_lists(7), weights)
def test_permuting_the_faces_permutes_the_cost(volumes, faces):
    cost = plan_of(volumes, faces).cost
    for permuted in itertools.permutations(faces):
        assert plan_of(volumes, permuted).cost == pytest.approx(cost, rel=1e-11)


@given(volumes_lists(7), st.randoms(use_true_random=False), weights)
def test_order_and_unit_do_not_matter(volumes, random, faces):
    cost = plan_of(volumes, faces).cost
    assert plan_of(random.sample(volumes, len(volumes)), faces).cost == pytest.approx(
        cost, rel=1e-11
    )
    assert (
        plan_of([v * 0.25 for v in volumes], faces).boxes.tolist()
        == plan_of(volumes, faces).boxes.tolist()
    )
    assert plan_of(volumes, [8 * f for f in faces]).cost == pytest.approx(8 * cost, rel=1e-12)


@given(volumes_lists(7), st.lists(st.floats(0, 20), min_size=3, max_size=3).map(sorted))
def test_the_least_cost_is_monotone_and_concave_in_gamma(volumes, gammas):
    """The minimum of straight lines."""
    low, middle, high = gammas
    costs = [hs.cuboids(volumes, gamma).cost for gamma in gammas]
    assert costs[0] <= costs[1] * (1 + 1e-12)
    assert costs[1] <= costs[2] * (1 + 1e-12)
    if high > low:
        part = (middle - low) / (high - low)
        assert costs[1] >= (costs[0] * (1 - part) + costs[2] * part) * (1 - 1e-11)


@given(volumes_lists(12, min_size=3), weights)
def test_no_method_beats_best(volumes, faces):
    plan = plan_of(volumes, faces, orders=20)
    for method in ("interval", "layers"):
        assert plan.cost <= plan_of(volumes, faces, method=method).cost * (1 + 1e-9)
    assert plan.cost <= plan_of(volumes, faces, orders=0).cost


@given(st.floats(1e-4, 1.0), weights)
@example(0.125, (1.0, 1.0, 1.0))
@example(0.5, (1.0, 1.0, 1e-9))
@example(0.1, (1e9, 1.0, 1e-9))
@example(0.01, (1.0, 20.0, 1.0))
def test_a_box_by_itself(volume, faces):
    volumes = [volume, 1.0 - volume]
    bound = stages.cuboids_bound(np.array(volumes), np.array(faces))
    least = sum(least_separate_cost(v, faces, 300) for v in volumes if v > 0)
    assert bound <= least * (1 + 1e-9)
    assert bound >= least * (1 - 1e-2)


def test_a_box_by_itself_in_a_shape():
    """The rest of the matrices is one more box: it spans the longer sides."""
    for weights, shape, small, rest in [
        ((1, 1, 1), (9, 9, 9), 12, 3 * 721 ** (2 / 3)),
        ((1, 1, 1), (1, 9, 9), 8 + 2 * math.sqrt(8), 73 + 2 * math.sqrt(73)),
        ((1, 1, 0), (2, 3, 9), 8 / 2 + 8 / 3, 46 / 2 + 46 / 3),
        ((0, 0, 2), (2, 3, 9), 2 * 8 / 9, 2 * 46 / 9),
    ]:
        m, n, k = shape
        faces = np.array([weights[0] * m * k, weights[1] * k * n, weights[2] * m * n], float)
        bound = stages.cuboids_bound(np.array([8.0, 0.0, m * n * k - 8.0]), faces)
        assert bound == pytest.approx(small + rest, rel=1e-12)


@pytest.mark.parametrize("p", [15, 18])
def test_search_is_deterministic_and_follows_its_seed(p):
    volumes = np.random.default_rng(1).lognormal(0, 1.6, p)
    plans = [hs.cuboids(volumes, seed=seed, orders=60) for seed in (0, 0, 1, 2, 3)]
    assert plans[0].boxes.tolist() == plans[1].boxes.tolist()
    assert len({plan.cost for plan in plans}) > 1
    first = hs.cuboids(volumes, orders=0)
    assert first.boxes.tolist() == hs.cuboids(volumes, method="interval").boxes.tolist()
    assert min(plan.cost for plan in plans) < first.cost


def test_results_are_read_only_and_inputs_untouched():
    volumes = np.array([0.3, 0.0, 0.5, 0.2])
    plan = hs.cuboids(volumes, shape=(4, 5, 6))
    assert volumes.tolist() == [0.3, 0.0, 0.5, 0.2]
    assert volumes.flags.writeable
    assert not any(
        a.flags.writeable for a in (plan.boxes, plan.volumes, plan.cycle_times, plan.actual_volumes)
    )
    with pytest.raises(AttributeError):
        plan.cost = 0.0


def test_certificate_and_dict():
    plan = hs.cuboids([5, 3, 2, 2, 2], 2.0)
    assert "optimal among guillotine tilings (guillotine)" in str(plan.certificate)
    content = json.loads(json.dumps(plan.to_dict()))
    assert content["type"] == "Cuboids"
    assert content["weights"] == [1.0, 1.0, 2.0]
    assert content["boxes"] == plan.boxes.tolist()
    assert "not proven optimal (interval)" in str(
        hs.cuboids([5, 3, 2, 2, 2], method="interval").certificate
    )


# ---- integers ------------------------------------------------------------------------------------


@st.composite
def products(draw):
    return tuple(draw(st.integers(1, 14)) for _ in range(3)), draw(volumes_lists(12))


@given(products(), weights, st.sampled_from(METHODS))
@example(((1, 1, 1), [3.0]), (1.0, 1.0, 1.0), "best")
@example(((1, 1, 12), [1.0] * 12), (1.0, 1.0, 1.0), "best")
@example(((14, 1, 1), [1.0] * 12), (1.0, 1.0, 1.0), "layers")
@example(((5, 5, 5), [0.0, 1e-60, 1e60, 0.0, 1.0]), (1.0, 1.0, 1.0), "best")
def test_tiles_the_iterations_exactly(case, faces, method):
    shape, volumes = case
    enrolled = sum(v > 0 for v in volumes)
    if method == "guillotine" and enrolled > 10:
        return
    if enrolled > math.prod(shape):
        with pytest.raises(
            hs.InfeasibleError,
            match=f"{math.prod(shape)} iterations, fewer than the {enrolled} workers",
        ):
            plan_of(volumes, faces, method=method, shape=shape)
        return
    plan = plan_of(volumes, faces, method=method, shape=shape, orders=2)
    boxes = plan.boxes.tolist()
    assert plan.boxes.dtype == np.int64
    assert plan.shape == shape
    assert covers_exactly(shape, boxes)
    for volume, box in zip(volumes, boxes, strict=True):
        if volume == 0 or 0 in box[3:]:
            assert box == [0] * 6
    assert plan.cost == pytest.approx(
        sum(faces[0] * h * d + faces[1] * d * w + faces[2] * h * w for _, _, _, h, w, d in boxes)
    )
    assert plan.scope == ""
    assert plan.lower_bound <= plan.cost
    ratios = [
        Fraction(math.prod(b[3:]), math.prod(shape)) / s
        for b, s in zip(boxes, shares(volumes), strict=True)
        if s
    ]
    assert plan.imbalance == pytest.approx(float(max(ratios)), rel=1e-12)
    assert plan.imbalance >= 1 - 1e-12


@given(
    st.tuples(*[st.integers(1, 9)] * 3),
    st.one_of(
        st.lists(st.integers(1, 5).map(float), min_size=1, max_size=5),
        volumes_lists(5, zeros=False),
    ),
)
@example((9, 1, 1), [1.0, 1.0, 3.0, 4.0])
@example((9, 9, 2), [3.0, 1.0, 2.0, 5.0, 1.0])
def test_integer_cuts_balance_as_well_as_they_can(shape, volumes):
    """The least load over all cuts within 2 of the ideal, by enumeration; all cuts do little
    better."""
    given_volumes = np.array(volumes)
    tree, _ = stages.partition_cuboids_exact(given_volumes, np.ones(3), 7)
    boxes = stages.tile_cuboids(shape, given_volumes, tree)
    exact = shares(volumes)
    sizes = boxes[:, 3:].prod(axis=1)
    load = max(
        Fraction(int(size), math.prod(shape)) / share
        for size, share in zip(sizes, exact, strict=True)
    )
    assert float(load) == pytest.approx(float(tile_load(tree.tolist(), exact, shape, 2)), rel=1e-9)


def test_integer_cuts_are_better_than_rounding_each():
    """24 cubed over 16 workers."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(5):
        volumes = rng.random(16) + 0.2
        plan = hs.cuboids(volumes, shape=(24, 24, 24), orders=0)
        unit = plan_of(volumes, (1, 1, 1), orders=0)
        start, end = (
            np.rint(unit.boxes[:, :3] * 24),
            np.rint((unit.boxes[:, :3] + unit.boxes[:, 3:]) * 24),
        )
        naive = ((end - start).prod(axis=1) / 24**3 / plan.volumes).max()
        ratios.append((plan.imbalance, naive))
    assert all(ours <= naive * (1 + 1e-12) for ours, naive in ratios)
    assert sum(ours < naive - 0.01 for ours, naive in ratios) >= 2


def test_the_shape_enters_the_cost():
    """A long inner dimension is cut, short ones are not."""
    assert {tuple(b[3:5]) for b in hs.cuboids([1] * 4, shape=(10, 10, 1000)).boxes.tolist()} == {
        (10, 10)
    }
    assert {b[5] for b in hs.cuboids([1] * 4, shape=(1000, 1000, 10)).boxes.tolist()} == {10}


@pytest.mark.parametrize("shape", [(2**53, 2**53, 2**53), (2**53, 1, 2**53), (3, 2**53, 1)])
def test_the_largest_products(shape):
    plan = hs.cuboids([1, 2, 1, 3, 5], shape=shape)
    assert sum(math.prod(b[3:]) for b in plan.boxes.tolist()) == math.prod(shape)
    assert plan.imbalance == pytest.approx(1, rel=1e-9)


# ---- platforms and simulation --------------------------------------------------------------------


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=9))
def test_volumes_of_a_platform_are_its_speeds(times):
    platform = hs.Platform.star(times, names=[f"node{i}" for i in range(len(times))])
    plan = hs.cuboids(platform)
    assert plan.cost == pytest.approx(hs.cuboids(1 / np.array(times)).cost, rel=1e-11)
    assert plan.cycle_times.tolist() == times
    assert plan.names == platform.names
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(1 / math.fsum(1 / t for t in times), rel=1e-12)
    assert trace.efficiency == pytest.approx(1, rel=1e-12)


def test_simulated_iterations():
    plan = hs.cuboids(hs.Platform.star([1, 2, 4]), shape=(7, 4, 3))
    cells = plan.boxes[:, 3:].prod(axis=1).tolist()
    trace = hs.simulate(plan)
    assert trace.finish == pytest.approx([c * t for c, t in zip(cells, [1, 2, 4], strict=True)])
    assert trace.ideal == pytest.approx(84 / 1.75)
    height, width, length = plan.boxes[0, 3:].tolist()
    assert trace.events[0].what == f"{height} x {width} x {length}"


def test_simulated_without_cycle_times():
    trace = hs.simulate(hs.cuboids([3, 0, 1, 1e-300]))
    assert trace.finish == pytest.approx([1, 0, 1, 1], rel=1e-9)


def test_platform_of_extreme_speeds():
    assert hs.cuboids(hs.Platform.star([1e-310, 1.0]), shape=(4, 4, 4)).boxes.tolist() == [
        [0, 0, 0, 4, 4, 4],
        [0] * 6,
    ]


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("volumes", "options"),
    [
        ([1], {}),
        ([3, 2, 1], {}),
        ([5, 0, 3, 2, 2, 1, 4, 4], {"shape": (20, 30, 9)}),
        (list(range(5, 25)), {"orders": 0}),
        ([1] * 6, {"method": "layers"}),
        ([3, 1, 2], {"shape": (1, 4, 3000)}),
    ],
)
def test_picture_shows_every_box(volumes, options):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    plan = hs.cuboids(volumes, **options)
    ax = plan.plot()
    ax.figure.canvas.draw()
    enrolled = [i for i, box in enumerate(plan.boxes.tolist()) if box[3]]
    solids, *sections = ax.collections
    assert len(solids.get_paths()) == 3 * len(enrolled)
    assert sum(len(section.get_paths()) for section in sections) >= len(enrolled)
    assert {t.get_text().split()[0] for t in ax.texts} >= {f"P{i}" for i in enrolled}
    assert min(t.get_fontsize() for t in ax.texts) >= 7
    assert f"cost {digits(plan.cost)}" in ax.get_title(loc="left")
    assert "<svg" in plan._repr_html_()
    pyplot.close("all")


@pytest.mark.parametrize("volumes", [[1, 1e-10], [1e-10, 1], [1e-10, 1, 1e-12]])
def test_boxes_that_are_too_thin_to_be_seen(volumes):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    solids = hs.cuboids(volumes).plot().collections[0]
    assert len(solids.get_paths()) == 3 * len(volumes)
    pyplot.close("all")


def test_boxes_in_front_are_drawn_last():
    from hetsched.plots.boxes import _back_to_front

    plan = hs.cuboids(np.random.default_rng(0).random(30), orders=0)
    low, high = plan.boxes[:, :3], plan.boxes[:, :3] + plan.boxes[:, 3:]
    order = _back_to_front(low, high)
    assert sorted(order) == list(range(30))
    rank = np.argsort(order)
    for i, j in itertools.permutations(range(30), 2):
        # a point of i that is seen through j: further down, left and back on one line of sight
        beyond = (low[i] - high[j] > -1e-9) * np.array([1, 0, 1]) + (
            low[j] - high[i] > -1e-9
        ) * np.array([0, 1, 0])
        nearer = (low[j] - high[i] > -1e-9) * np.array([1, 0, 1]) + (
            low[i] - high[j] > -1e-9
        ) * np.array([0, 1, 0])
        if beyond.any() and not nearer.any():
            assert rank[i] < rank[j]


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volumes", "error", "message"),
    [
        ([1, NAN], ValueError, r"volumes\[1\] is NaN"),
        ([1, 0, -1], ValueError, r"volumes\[2\] must be finite and not negative, got -1"),
        ([INF, 1], ValueError, r"volumes\[0\] must be finite and not negative, got inf"),
        ([0, 0.0, -0.0], ValueError, "volumes are all zero"),
        ([], ValueError, "volumes is empty"),
        ([[1, 2]], ValueError, r"volumes must be one-dimensional, got shape \(1, 2\)"),
        ("abc", TypeError, "volumes must be a sequence of real numbers"),
        ([True], TypeError, "volumes must be a sequence of real numbers"),
        (None, TypeError, "give one of volumes, cycle_times and speeds"),
    ],
)
def test_bad_volumes(volumes, error, message):
    with pytest.raises(error, match=message):
        hs.cuboids(volumes)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gamma": -1}, ValueError, "gamma must be at least 0, got -1"),
        ({"gamma": INF}, ValueError, "gamma must be finite"),
        ({"gamma": NAN}, ValueError, "gamma must be finite"),
        ({"gamma": None}, TypeError, "gamma must be a number"),
        ({"alpha": -0.5}, ValueError, "alpha must be at least 0"),
        ({"beta": "1"}, TypeError, "beta must be a number"),
        ({"alpha": 0, "beta": 0, "gamma": 0}, ValueError, "alpha, beta and gamma are all zero"),
        (
            {"method": "nope"},
            ValueError,
            "method must be one of best, guillotine, interval, layers, rectangles, got 'nope'",
        ),
        ({"method": None}, ValueError, "method must be one of"),
        ({"seed": -1}, ValueError, r"seed must be in \[0, "),
        ({"seed": 2**63}, ValueError, r"seed must be in \[0, "),
        ({"seed": "x"}, TypeError, "seed must be an integer"),
        ({"orders": -1}, ValueError, r"orders must be in \[0, "),
        ({"orders": 0.5}, ValueError, "orders must be an integer"),
        ({"shape": (0, 5, 5)}, ValueError, r"shape\[0\] must be in \[1, "),
        ({"shape": (5, 5, 2.5)}, ValueError, r"shape\[2\] must be an integer, got 2.5"),
        ({"shape": (5, 2**53 + 1, 5)}, ValueError, r"shape\[1\] must be in"),
        ({"shape": (5, True, 5)}, TypeError, r"shape\[1\] must be an integer, got True"),
        ({"shape": (5, 5)}, TypeError, r"shape must be three integers, got \(5, 5\)"),
        ({"shape": 5}, TypeError, "shape must be three integers, got 5"),
        (
            {"shape": (1, 1, 1)},
            hs.InfeasibleError,
            r"shape \(1, 1, 1\) has 1 iterations, fewer than the 2 workers of volumes",
        ),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hs.cuboids([1, 2], **options)


def test_the_exact_search_has_a_limit():
    assert hs.cuboids([1.0, 0] * 10, method="guillotine").optimal is False
    with pytest.raises(
        ValueError,
        match="method 'guillotine' takes at most 10 positive volumes, got 11; 'best' takes more",
    ):
        hs.cuboids([1.0] * 11, method="guillotine")


def test_oracles():
    assert covers_exactly((2, 1, 2), [[0, 0, 0, 1, 1, 2], [1, 0, 0, 1, 1, 2], [0] * 6])
    assert not covers_exactly((2, 1, 2), [[0, 0, 0, 1, 1, 2], [1, 0, 0, 1, 1, 1]])  # a hole
    assert not covers_exactly((2, 1, 2), [[0, 0, 0, 2, 1, 2], [1, 0, 0, 1, 1, 2]])  # an overlap
    assert not covers_exactly((2, 1, 2), [[0, 0, 0, 2, 1, 3]])
    one = [Fraction(1)] * 3
    assert guillotine_cost([Fraction(1, 8)] * 2 + [Fraction(3, 4)], one) == 3 + 1 + Fraction(1, 4)
    assert half_perimeters([Fraction(1, 4)] * 4) == 4
    assert tile_load([0, 1, -1], [Fraction(1, 3), Fraction(2, 3)], (2, 1, 1), None) == Fraction(
        3, 2
    )


def test_a_cost_that_overflows_is_no_optimum():
    with pytest.raises(
        ValueError, match="the cost overflows: give alpha, beta and gamma in a larger unit"
    ):
        hs.cuboids([1, 1, 4], 1.7e308, shape=(3, 10, 1))
    with pytest.raises(ValueError, match="method must be one of"):
        hs.cuboids([1, 1], method=np.ones((2, 2)))
