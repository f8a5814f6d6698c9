"""`replan`: the same work for other workers."""

import numpy as np
import pytest

import hetsched as hs

STAR = hs.Platform.star([3, 5, 8], [0.1, 0.2, 0.3])
LIMITED = hs.Platform.star([3, 5, 8], [0.1, 0.2, 0.3], [60, 60, 60])
COMPLETE = hs.Platform.complete([3, 5, 8], np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]) / 50)

LATENCIES = np.array([[0, 1, 2], [1, 0, 2], [2, 2, 0]]) / 10

#: Plans and their platforms: every kind that can be planned again, with options that it holds.
PLANS = {
    "distribute": (lambda on: hs.distribute(78, on), STAR),
    "divisible": (lambda on: hs.divisible_load(10, on, return_ratio=0.5, method="lifo"), STAR),
    "qr": (lambda on: hs.plan_factor(400, 300, on, kind="qr", dtype="complex64"), STAR),
    "layers": (lambda on: hs.layers_star(30, on, mode="scss", disk=True), STAR),
    "lu grid": (lambda on: hs.lu_grid(12, on, method="1d1d", link_cost=0.5), STAR),
    "lu pattern": (lambda on: hs.lu_pattern(12, on, method="cyclic"), STAR),
    "tasks": (lambda on: hs.min_time(20, on, send=[1, 2, 1], receive=0.5), STAR),
    "zones": (lambda on: hs.partition(on, "columns", (40, 50), objective="max"), STAR),
    "product": (lambda on: hs.plan_matmul(40, 50, 60, on, dtype="complex64"), STAR),
    "layers of a product": (lambda on: hs.plan_matmul(40, 50, 60, on, method="layers"), STAR),
    "messages": (lambda on: hs.plan_matmul(40, 50, 60, on, communication="parallel"), COMPLETE),
    "ring": (lambda on: hs.slice_ring(on, work=10, volume=1, latencies=LATENCIES), COMPLETE),
    "star": (lambda on: hs.plan_product(8, 9, 10, on, method="oddoml", returns="eager"), LIMITED),
    "wavefront": (lambda on: hs.wavefront(10, 12, on, order="along", mask=["W", "N", "NW"]), STAR),
}


@pytest.mark.parametrize("name", PLANS)
def test_same_workers_give_the_same_plan(name):
    make, platform = PLANS[name]
    plan = make(platform)
    assert hs.replan(plan, platform) == plan


@pytest.mark.parametrize("name", PLANS)
def test_other_workers_give_the_planners_plan(name):
    make, platform = PLANS[name]
    other = platform.replace(P0=24.0)
    again = hs.replan(make(platform), other)
    assert again == make(other)
    assert again != make(platform)


def test_more_workers_and_bare_cycle_times():
    plan = hs.distribute(78, [3, 5, 8])
    assert hs.replan(plan, [3, 5, 8, 2]) == hs.distribute(78, [3, 5, 8, 2])


def test_plans_given_by_hand_are_planned():
    given = hs.distribute(78, [3, 5, 8], counts=[26, 26, 26])
    assert hs.replan(given, [3, 5, 8]).makespan == 120.0
    mapped = hs.lu_grid(4, [3, 5], owner=np.zeros((4, 4), int))
    assert hs.replan(mapped, [3, 5]) == hs.lu_grid(4, [3, 5])


def test_the_unit_of_the_plan_holds():
    blocks = LIMITED.workers
    plan = hs.plan_product(8, 9, 10, hs.Platform(blocks, unit=hs.Unit.block_update(80)), budget=0)
    other = hs.Platform.star([1.0], [1.0], unit=hs.Unit("task", "message"))
    with pytest.raises(ValueError, match="task"):
        hs.replan(plan, other)


def test_partitions_for_another_number_of_workers():
    plan = hs.partition(cycle_times=[1, 2, 3.0], shape=(20, 20))
    assert len(hs.replan(plan, [1, 2, 3, 4.0]).names) == 4


def test_steps_keep_their_width():
    star = hs.Platform.star([1, 2, 3.0], link_costs=[1, 1, 1])
    plan = hs.plan_matmul(
        800, 800, 800, star, method="rectangles", communication="sequential", block=100
    )
    assert hs.replan(plan, star) == plan


def test_errors():
    with pytest.raises(TypeError, match="plan must be a plan, such as distribute makes, got list"):
        hs.replan([1, 2], STAR)
    with pytest.raises(TypeError, match="plan must be one of Distribution.*got a Cuboids"):
        hs.replan(hs.cuboids([1, 2]), STAR)
    with pytest.raises(TypeError, match="platform"):
        hs.replan(hs.distribute(78, [3, 5, 8]), "fast")
    with pytest.raises(TypeError, match="plan was made from profiles"):
        hs.replan(hs.plan_matmul(4, 4, 4, hs.Platform.star([1, 2]), profiles=[3, 5]), STAR)
    for plan, platform in (
        (hs.distribute(78, [3, 5, 8]), [1.7e308, 1.7e308]),
        (hs.plan_factor(100, 100, [1, 2]), [1e-320, 1.0]),
        (hs.layers_star(20, [1, 2], [0.1, 0.2]), [1e300, 1.0]),
        (hs.partition([1, 2], shape=(10, 10), link_costs=[1, 2]), STAR),
        (hs.plan_product(8, 9, 10, LIMITED, budget=0), COMPLETE),
    ):
        with pytest.raises(ValueError, match="^platform"):
            hs.replan(plan, platform)
    star = hs.plan_matmul(40, 50, 60, COMPLETE)
    with pytest.raises(TypeError, match="^platform does not suit the plan: links must be given"):
        hs.replan(hs.slice_ring(COMPLETE, work=10, volume=1), STAR)
    assert hs.replan(star, STAR).messages is None
