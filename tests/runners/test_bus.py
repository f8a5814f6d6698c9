"""Plans of a master with one bus, run: tasks and divided loads, there and back, in emulated
time."""

from __future__ import annotations

import itertools
import sys
import threading
import time

import numpy as np
import pytest
from interrupted import interrupted

import hetsched as hs

UNIT = hs.Unit("task", "message")


def platform_of(times):
    return hs.Platform.star(times, unit=UNIT)


def chain(plan, amounts, times, sends, receives):
    """The model: messages out one after the other from the start, back as soon as the bus and the
    worker are ready."""
    bus, ends = 0.0, {}
    for i in plan.send_order.tolist():
        bus += sends[i]
        ends[i] = bus + amounts[i] * times[i]
    for i in plan.receive_order.tolist():
        bus = max(bus, ends[i]) + receives[i]
    return max([bus, *ends.values()])


def require_one_bus(trace):
    messages = sorted((e.start, e.end) for e in trace.events if e.kind == "transfer")
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(messages))


@pytest.mark.parametrize(
    ("times", "send", "receive"),
    [
        ([5e-3, 9e-3], 8e-3, 2e-3),
        ([4e-3, 5e-3, 9e-3], 4e-3, 0.0),
        ([6e-3], 0.0, 3e-3),
        ([4e-3, 8e-3], [2e-3, 6e-3], [1e-3, 5e-3]),
    ],
)
@pytest.mark.parametrize("least", [False, True])
@pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")
def test_tasks(times, send, receive, least):
    plan = (
        hs.min_time(30, times, send, receive) if least else hs.max_tasks(0.15, times, send, receive)
    )
    called = []
    with hs.Pool(platform_of(times), emulate=True) as pool:
        results, trace = pool.run(
            plan, lambda x: called.append(x) or x * x, iter(range(plan.tasks)), trace=True
        )
    assert results == [x * x for x in range(plan.tasks)]
    assert sorted(called) == list(range(plan.tasks))
    p = len(times)
    sends, receives = (np.broadcast_to(np.asarray(m), p).tolist() for m in (send, receive))
    counts = plan.counts.tolist()
    assert trace.predicted == pytest.approx(chain(plan, counts, times, sends, receives), rel=1e-12)
    assert trace.predicted == pytest.approx(plan.makespan, rel=1e-12)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    require_one_bus(trace)
    # nobody works before its tasks have come, or sends them back before they are done
    for i in plan.send_order.tolist():
        own = [(e.kind, e.start, e.end) for e in trace.events if e.worker == i and e.kind != "wait"]
        assert [kind for kind, _, _ in own] == ["transfer"] * (sends[i] > 0) + ["compute"] + [
            "transfer"
        ] * (receives[i] > 0)
        assert all(a[2] <= b[1] for a, b in itertools.pairwise(own))


@pytest.mark.parametrize("rows", [1, 2, 7, 500])
@pytest.mark.parametrize("method", ["fifo", "lifo"])
@pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")
def test_a_divided_load(rows, method):
    times, costs = [1e-3, 2e-3, 3e-3], [1e-4, 3e-4, 1e-4]
    plan = hs.divisible_load(60, times, costs, return_ratio=0.5, method=method)
    array = np.arange(2.0 * rows).reshape(rows, 2)
    sizes = []
    with hs.Pool(platform_of(times), emulate=True, time_scale=2.0) as pool:
        result, trace = pool.run(
            plan, lambda part: sizes.append(len(part)) or 2 * part, array, trace=True
        )
    assert (result == 2 * array).all()
    assert sum(sizes) == rows
    assert min(sizes) >= 1
    assert all(
        abs(size - share / 60 * rows) <= 1
        for size, share in zip(sorted(sizes), sorted(plan.shares)[-len(sizes) :], strict=True)
    )
    # a row more or less for each
    assert abs(trace.predicted / 2 - plan.makespan) <= 60 / rows * 8e-3
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    require_one_bus(trace)


def test_another_time_scale_and_platform():
    """The work takes the pool's times, the messages the plan's."""
    plan = hs.min_time(4, [1e-3, 1e-3], 1e-3, 1e-3)
    slower = [2e-3, 4e-3]
    with hs.Pool(platform_of(slower), emulate=True, time_scale=3.0) as pool:
        _, trace = pool.run(plan, abs, [1, 2, 3, 4], trace=True)
    assert trace.predicted == pytest.approx(
        3 * chain(plan, plan.counts.tolist(), slower, [1e-3] * 2, [1e-3] * 2)
    )


def test_real_speed():
    plan = hs.min_time(9, [1.0, 2.0, 3.0], 5.0, 5.0)
    seen = []
    start = time.monotonic()
    with hs.Pool(3) as pool:
        results, trace = pool.run(plan, str, range(9), trace=True, progress=seen.append)
        loads = pool.run(hs.divisible_load(3, [1, 1, 1], [1, 1, 1]), np.negative, np.arange(12))
    assert results == [str(i) for i in range(9)]
    assert (loads == -np.arange(12)).all()
    assert (trace.kind, trace.predicted) == ("real", None)
    assert seen[-1] == 1.0
    assert time.monotonic() - start < 20  # not what the plan says


def test_nothing_to_do():
    with hs.Pool(2) as pool:
        assert pool.run(hs.max_tasks(0.5, [1.0, 1.0]), abs, []) == []
        assert pool.run(hs.divisible_load(1, [1, 1]), abs, np.empty((0, 3))).size == 0


def test_errors():
    plan = hs.min_time(4, [1.0, 2.0])
    load = hs.divisible_load(4, [1.0, 1.0])
    with hs.Pool(2) as pool:
        for wrong, message in (
            ((plan, 3, [1] * 4), "A must be a function for a plan of type MinTime, got int"),
            ((plan, abs, [1] * 5), "B must have the 4 tasks of the plan, got 5"),
            ((hs.min_time(4, [1.0]), abs, [1] * 4), "plan is for 1 workers, the pool has 2"),
            ((load, abs, 3.0), "B must be an array whose rows are the load, got a number"),
            (
                (load, lambda x: x[1:], np.arange(8)),
                "A must return an array with a row for each of its 4 rows",
            ),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                pool.run(*wrong)
        with pytest.raises(TypeError, match="are for products"):
            pool.run(plan, abs, [1] * 4, alpha=2.0)
        with pytest.raises(hs.TaskError, match="task 2 failed: ZeroDivisionError") as failed:
            pool.run(plan, lambda x: 1 // x, [1, 1, 0, 1])
        assert failed.value.index == 2
        assert isinstance(failed.value.__cause__, ZeroDivisionError)
        assert pool.run(plan, abs, [1, -1, 1, 1]) == [1] * 4  # the pool goes on
    assert not [t for t in threading.enumerate() if t.name.startswith("hetsched-")]


def test_ctrl_c():
    """In the middle of a share of half a minute."""
    assert (
        interrupted("""
        import time
        import hetsched as hs
        platform = hs.Platform.star([30.0, 30.0], unit=hs.Unit("task", "message"))
        with hs.Pool(platform, emulate=True) as pool:
            print("ready", flush=True)
            try:
                pool.run(hs.min_time(4, platform), abs, [1] * 4)
            except KeyboardInterrupt:
                print("interrupted", time.monotonic())
    """)
        == []
    )


@pytest.mark.parametrize("emulate", [False, True])
def test_a_task_that_exits_is_a_failed_task(emulate):
    """Its thread ends, and the master does not wait for it."""
    plan = hs.min_time(4, [1e-3, 2e-3])
    pool = hs.Pool(platform_of([1e-3, 2e-3]), emulate=True) if emulate else hs.Pool(2)
    with pool, pytest.raises(hs.TaskError):
        pool.run(plan, sys.exit, range(4))


@pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")
def test_the_trace_has_the_speeds_of_the_workers_that_ran():
    with hs.Pool(platform_of([1e-3, 4e-3]), emulate=True) as pool:
        _, trace = pool.run(hs.min_time(4, [1e-3, 1e-3]), abs, range(4), trace=True)
        assert trace.speeds == pytest.approx((1.0, 0.25))
        assert {e.what for e in trace.events if e.kind == "compute"} == {"2 tasks"}
        load = hs.divisible_load(1.0, [1e-3, 1e-3])
        _, trace = pool.run(load, np.negative, np.ones((4, 3)), trace=True)
        assert {e.what for e in trace.events if e.kind == "compute"} == {"2 rows"}
