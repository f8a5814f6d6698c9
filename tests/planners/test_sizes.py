"""Who is fast, said in three ways: sizes, cycle_times= and speeds= lead to the same plans, and two
of them are refused."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import hetsched as hs

TIMES = [3.0, 5.0, 8.0, 0.7]
SPEEDS = [1 / t for t in TIMES]

BY_SIZE = {
    "partition": (hs.partition, "areas", {"method": "columns"}),
    "best": (hs.partition, "areas", {}),
    "matrix": (hs.partition, "areas", {"shape": (7, 9)}),
    "cuboids": (hs.cuboids, "volumes", {}),
    "recut": (lambda *a, **k: hs.partition([1, 2, 3, 4]).recut(*a, **k).plan, "areas", {}),
    "compare": (lambda *a, **k: hs.compare_partitions(*a, **k)["rows"], "areas", {}),
}
BY_TIME = {
    "distribute": lambda **k: hs.distribute(50, **k),
    "lu_pattern": lambda **k: hs.lu_pattern(9, **k),
    "lu_grid": lambda **k: hs.lu_grid(5, **k),
    "wavefront": lambda **k: hs.wavefront(5, 6, **k),
    "max_tasks": lambda **k: hs.max_tasks(30.0, **k),
    "min_time": lambda **k: hs.min_time(12, **k),
    "divisible_load": lambda **k: hs.divisible_load(10.0, link_costs=0.1, **k),
    "dynamic_product": lambda **k: hs.dynamic_product(6, **k),
    "slice_ring": lambda **k: hs.slice_ring(links=0.5, work=9.0, volume=1.0, **k),
    "ring_profile": lambda **k: hs.ring_profile(links=0.5, **k),
    "layers_star": lambda **k: hs.layers_star(20, link_costs=[0.1] * 4, **k),
    "Platform.complete": lambda **k: hs.Platform.complete(links=np.ones((4, 4)), **k),
}


@pytest.mark.parametrize("name", BY_SIZE)
def test_sizes_cycle_times_and_speeds(name):
    planner, first, options = BY_SIZE[name]
    listed = planner(SPEEDS, **options)  # a bare list is sizes
    assert listed.cycle_times == pytest.approx(np.divide(1.0, getattr(listed, first)), rel=1e-15)
    by_time, by_speed = planner(cycle_times=TIMES, **options), planner(speeds=SPEEDS, **options)
    for found in (
        by_time,
        by_speed,
        planner(hs.Platform.star(TIMES), **options),
        planner(cycle_times=hs.Platform.star(TIMES)),
    ):
        assert getattr(found, first) == pytest.approx(getattr(listed, first), rel=1e-15)
        assert found.cycle_times == pytest.approx(TIMES, rel=1e-15)
    assert by_time.cycle_times.tolist() == TIMES
    assert by_time.cost == pytest.approx(listed.cost, rel=1e-12)
    assert planner(**{first: SPEEDS}, **options).to_dict() == listed.to_dict()


@pytest.mark.parametrize("name", BY_SIZE)
def test_two_ways_or_none_are_refused(name):
    planner, first, options = BY_SIZE[name]
    for given in (
        {},
        {first: SPEEDS, "speeds": SPEEDS},
        {"cycle_times": TIMES, "speeds": SPEEDS},
        {first: SPEEDS, "cycle_times": TIMES},
    ):
        with pytest.raises(TypeError, match=f"give one of {first}, cycle_times and speeds"):
            planner(**given, **options)


@pytest.mark.parametrize("name", ["partition", "cuboids"])
def test_what_cannot_work_gets_nothing(name):
    planner, first, _ = BY_SIZE[name]
    for given in ({"cycle_times": [np.inf, 2.0, 4.0]}, {"speeds": [0, 4, 2]}):
        plan = planner(**given)
        assert getattr(plan, first) == pytest.approx([0, 2 / 3, 1 / 3])
        assert plan.cycle_times[0] == np.inf
    for wrong, message in (
        ({"cycle_times": [1, 0]}, r"cycle_times\[1\] must be positive"),
        ({"speeds": [0, 0]}, "speeds are all zero"),
    ):
        with pytest.raises(ValueError, match=message):
            planner(**wrong)


def test_names_of_a_platform_by_keyword():
    platform = hs.Platform.star([1, 2], names=["a", "b"])
    assert (
        hs.partition(cycle_times=platform).names
        == hs.cuboids(cycle_times=platform).names
        == ("a", "b")
    )
    assert hs.partition([2, 1]).recut(cycle_times=platform).plan.names == ("a", "b")


@pytest.mark.parametrize("name", BY_TIME)
def test_speeds_wherever_cycle_times(name):
    planner = BY_TIME[name]
    by_time, by_speed = planner(cycle_times=TIMES), planner(speeds=SPEEDS)
    assert by_speed.cycle_times == pytest.approx(TIMES, rel=1e-15)
    assert type(by_time) is type(by_speed)
    for given in ({}, {"cycle_times": TIMES, "speeds": SPEEDS}):
        with pytest.raises(TypeError, match="give either cycle_times or speeds"):
            planner(**given)


def test_no_planner_takes_cycle_times_alone():
    """Of all public functions: map_tasks' cycle_times are of processes that it paces, not of a
    plan."""
    for name in hs.__all__:
        function = getattr(hs, name)
        if inspect.isfunction(function) and name != "map_tasks":
            parameters = inspect.signature(function).parameters
            assert ("cycle_times" in parameters) <= ("speeds" in parameters), name


# ---- methods side by side ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_comparison_says_what_it_left_out():
    found = hs.compare_partitions(np.arange(1.0, 41.0))
    assert not set(found) & set(found.skipped)
    assert set(found) | set(found.skipped) == set(hs.planners.partition.METHODS)
    assert found.skipped == {
        "guillotine": "for at most 16 workers, got 40",
        "contiguous": "needs shape, because it distributes whole cells",
    }
    assert repr(found).splitlines()[-2].split(None, 1) == [
        "guillotine",
        "left out: " + found.skipped["guillotine"],
    ]
    assert hs.compare_partitions([3, 2, 1], ["rows"]).skipped == {}
    assert (
        hs.compare_partitions([3, 2, 1], groups=[0, 0, 1]).skipped["rows"] == "does not take groups"
    )


@pytest.mark.slow
def test_a_comparison_without_a_method_that_would_not_end():
    """Where link costs are too far apart for a method, it is left out with its own words; asked for
    by name it is refused."""
    costs, areas = 10.0 ** np.linspace(-20, 20, 60), np.arange(1.0, 61.0)
    with pytest.raises(hs.InfeasibleError, match="too far apart") as refused:
        hs.compare_partitions(areas, ["interval"], link_costs=costs)
    found = hs.compare_partitions(areas, link_costs=costs)
    assert found.skipped["interval"] == str(refused.value)
    assert "best" in found


def test_nobody_is_left_out_of_what_cannot_be():
    with pytest.raises(hs.InfeasibleError, match="fewer than the 3 workers"):
        hs.compare_partitions([1, 1, 1], shape=(1, 2))


def test_own_algorithms_are_judged_by_what_they_return():
    """None is not a call for the planner's own, and one algorithm cannot change the next one's
    areas."""
    areas = [3.0, 2.0, 1.0]
    given = []

    def spoils(own):
        given.append(own.tolist())
        zones = hs.partition(own, "rows").rects
        own *= 0.0
        return zones

    found = hs.compare_partitions(areas, ["rows"], own={"first": spoils, "second": spoils})
    assert given[0] == given[1] == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert found["first"].cost == found["second"].cost == found["rows"].cost
    for nothing in (None, lambda own: None):
        with pytest.raises(TypeError, match=r"own\['mine'\] must be rectangles or return them"):
            hs.compare_partitions(areas, ["rows"], own={"mine": nothing})
