"""Nothing that a plan gives can be written to: fields, properties, arrays in tuples, what they are
views of, what is kept."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from inputs import many
from instances import INSTANCES
from metamorphic import CALLS

import hetsched as hs
from hetsched._base import check

SEEDS = many(8, 3)
MUTABLE = (list, dict, set, bytearray)


def held(where: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The value with all that can be reached from it, each with its path."""
    if id(value) in seen:
        return
    seen.add(id(value))
    yield where, value
    if isinstance(value, np.ndarray):
        if value.base is not None:
            yield from held(f"{where}.base", value.base, seen)
    elif isinstance(value, tuple):
        for i, entry in enumerate(value):
            yield from held(f"{where}[{i}]", entry, seen)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in [n for n in dir(value) if not n.startswith("_")]:
            try:
                found = getattr(value, name)
            except (TypeError, AttributeError):  # what only a mesh has, a bound on the other side
                continue
            if not callable(found) and found is getattr(value, name):  # else the caller's own
                yield from held(f"{where}.{name}", found, seen)
        for name, found in vars(value).items():
            yield from held(f"{where}.__dict__[{name!r}]", found, seen)


def check_frozen(plan: Any) -> None:
    name = type(plan).__name__
    for where, value in list(held(name, plan, set())):
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, f"{where} can be written to"
            if value.size:
                with pytest.raises(ValueError, match="read-only"):
                    value.flat[0] = value.flat[0]
        elif type(value) is check.FrozenDict:
            for write in (
                lambda d: d.update(a=1.0),
                lambda d: d.pop("work"),
                lambda d: d.__setitem__("work", 0.0),
            ):
                with pytest.raises(TypeError, match="cannot be changed"):
                    write(value)
            assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value == dict(value)
        else:
            assert isinstance(value, MUTABLE) <= where.endswith("['_waiting']"), (
                f"{where} is a {type(value).__name__}"
            )
    for field in dataclasses.fields(plan):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(plan, field.name, None)


@pytest.mark.parametrize("call", INSTANCES)
def test_no_plan_can_be_written_to(call):
    for seed in range(SEEDS):
        args, options = INSTANCES[call](np.random.default_rng([seed, *call.encode()]))
        try:
            plan = CALLS[call].run(*args, **options)
        except (ValueError, hs.InfeasibleError):
            continue
        check_frozen(plan)
        if isinstance(plan, hs.Partition) and plan.floorplan and (plan.areas > 0).all():
            change = plan.recut(plan.areas)
            check_frozen(change.plan)


def test_parts_of_a_stack_cannot_be_written_to():
    stack = hs.distribute([[78, 10], [1, 2]], np.ones((2, 2, 3)))
    for part in (stack, stack[0], stack[0, 1]):
        check_frozen(part)


def test_what_was_given_stays_writable():
    areas, times, links = np.ones(3), np.ones(3), np.ones((3, 3))
    for plan in (
        hs.partition(areas),
        hs.partition(cycle_times=times),
        hs.cuboids(speeds=times),
        hs.distribute(5, times),
    ):
        check_frozen(plan)
    hs.slice_ring(times, links, 1.0, 1.0)
    assert areas.flags.writeable
    assert times.flags.writeable
    assert links.flags.writeable


def others() -> dict[str, Any]:
    """Results that are no plans."""
    plan = hs.partition(areas=[3, 2, 1], shape=(8, 9))
    complete = hs.Platform.complete([3, 5], [[0, 1], [2, 0]])
    return {
        "complete": complete,
        "mesh": hs.Platform.mesh([[3, 5], [4, 6]], [[1], [2]], [[1, 3]]),
        "stencil": hs.Stencil([[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        "assignment": hs.assign([[3, 1], [2, 5]]),
        "recut": plan.recut([1, 2, 3]),
        "ring": hs.ring_profile(complete),
        "trace": hs.simulate(hs.distribute(10, [3, 5])),
        "comparison": hs.compare_partitions([5, 3, 2]),
    }


@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
@pytest.mark.parametrize("name", others())
def test_others_stay_as_they_are(name, how):
    value = others()[name]
    again = how(value)
    assert type(again) is type(value)
    assert again == value
    if name not in ("complete", "mesh", "comparison"):
        assert hash(again) == hash(value)
    for where, array in held(name, again, set()):
        assert not isinstance(array, np.ndarray) or not array.flags.writeable, (
            f"{where} can be written to"
        )


def test_others_that_differ():
    assert hs.assign([[3, 1], [2, 5]]) != hs.assign([[3, 1], [2, 6]])
    assert hs.simulate(hs.distribute(10, [3, 5])) != hs.simulate(hs.distribute(11, [3, 5]))
    assert hs.Stencil(np.ones((3, 3))) != "a stencil"


def test_the_flag_cannot_be_set():
    for array in (
        hs.distribute(10, [3, 5]).counts,
        hs.partition(areas=[3, 2]).pieces,
        hs.Platform.complete([1, 2], np.eye(2)).links,
    ):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_comparisons_cannot_be_written_to():
    found = hs.compare_partitions([5, 3, 2])
    for write in (
        lambda: found.pop("best"),
        lambda: found.update(x=1),
        lambda: found.skipped.clear(),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            write()
    with pytest.raises(AttributeError, match="cannot be changed"):
        found.skipped = {}
    assert pickle.loads(pickle.dumps(found)).skipped == found.skipped
