"""hetsched.tasks: the paper's examples, brute force over all orders, schedules that keep the bus
exclusive."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.tasks import least_time, most_tasks, most_tasks_linked

import hetsched as hs
from hetsched._engine import assign as engine

INF = math.inf
small = st.integers(1, 9).map(float)
real = st.one_of(small, st.sampled_from([0.1, 0.3, 0.7, 1 / 3]), st.floats(0.5, 9))
messages = st.one_of(st.just(0.0), small.map(lambda x: x / 4), st.sampled_from([0.1, 0.3, 1.0]))


def check_schedule(plan, limit):
    """Messages one at a time, tasks after the message, the message back after the tasks, all within
    the limit."""
    steps = plan.steps()
    slack = 1e-9 * max(limit, 1e-300)
    bus = sorted((s.start, s.end) for s in steps if s.kind == "transfer")
    assert all(a[1] <= b[0] + slack for a, b in zip(bus, bus[1:], strict=False))
    assert max((s.end for s in steps), default=0.0) == plan.makespan <= limit
    for i, count in enumerate(plan.counts.tolist()):
        own = [s for s in steps if s.worker == i]
        if count == 0:
            assert own == []
            continue
        out, back = (
            float(np.broadcast_to(m, len(plan.counts))[i]) for m in (plan.send, plan.receive)
        )
        assert [s.kind for s in own] == ["transfer"] * bool(out) + ["compute"] + [
            "transfer"
        ] * bool(back)
        assert [s.end - s.start for s in own if s.kind == "transfer"] == pytest.approx(
            [m for m in (out, back) if m], abs=slack
        )
        assert all(a.end <= b.start + slack for a, b in zip(own, own[1:], strict=False))
        compute = own[bool(out)]
        assert compute.end - compute.start == pytest.approx(count * plan.cycle_times[i])
    served = set(np.flatnonzero(plan.counts).tolist())
    assert sorted(plan.send_order.tolist()) == sorted(served)
    assert sorted(plan.receive_order.tolist()) == (sorted(served) if np.any(plan.receive) else [])
    assert hs.simulate(plan).makespan == plan.makespan
    assert json.loads(json.dumps(plan.to_dict()))["counts"] == plan.counts.tolist()


def exactly_feasible(plan):
    """Without messages back: every worker ends in time, as real numbers."""
    ends = [
        (j + 1) * Fraction(plan.send) + int(plan.counts[i]) * Fraction(float(plan.cycle_times[i]))
        for j, i in enumerate(plan.send_order.tolist())
    ]
    return max(ends, default=0) <= Fraction(
        plan.T if isinstance(plan, hs.MaxTasks) else plan.makespan
    )


@pytest.mark.parametrize(
    ("T", "times", "counts", "order", "fastest"),
    [(28, [5, 9], [5, 3], [1, 0], 7), (118, [4, 5, 9], [29, 23, 13], [2, 0, 1], 64)],
)
def test_paper(T, times, counts, order, fastest):
    plan = hs.max_tasks(T, times, send=1)
    assert plan.counts.tolist() == counts
    assert plan.send_order.tolist() == order
    assert plan.tasks == plan.upper_bound == sum(counts)
    assert plan.optimal
    assert hs.max_tasks(T, times, send=1, method="fastest").tasks == fastest
    assert hs.min_time(sum(counts), times, send=1).makespan == T
    check_schedule(plan, T)


@given(T=st.floats(0.5, 60), times=st.lists(real, min_size=1, max_size=5), send=messages)
def test_is_the_optimum(T, times, send):
    plan = hs.max_tasks(T, times, send)
    assert plan.tasks == plan.upper_bound == plan.counts.sum() == most_tasks(T, times, send)
    assert plan.optimal
    assert plan.gap == 0
    assert exactly_feasible(plan)
    check_schedule(plan, T)
    fastest = hs.max_tasks(T, times, send, method="fastest")
    assert fastest.tasks <= plan.tasks == fastest.upper_bound
    assert exactly_feasible(fastest)


@given(
    T=st.floats(20, 60),
    times=st.lists(st.floats(4, 9), min_size=1, max_size=5),
    send=st.sampled_from([0.3, 1.0, 0.7]),
)
def test_deadlines_are_as_good_as_a_matching(T, times, send):
    plan = hs.max_tasks(T, times, send)
    assert plan.method == "deadlines"
    assert plan.tasks == most_tasks(T, times, send)
    assert exactly_feasible(plan)


@given(tasks=st.integers(0, 12), times=st.lists(real, min_size=1, max_size=4), send=messages)
def test_least_time(tasks, times, send):
    plan = hs.min_time(tasks, times, send)
    best = least_time(tasks, times, send)
    assert plan.counts.sum() == plan.tasks == tasks
    assert plan.optimal
    assert Fraction(plan.makespan) >= best  # the least double that is not below the optimum
    assert tasks == 0 or Fraction(math.nextafter(plan.makespan, 0)) < best
    assert exactly_feasible(plan)
    check_schedule(plan, plan.makespan)


@given(
    T=st.floats(0.5, 40),
    times=st.lists(real, min_size=1, max_size=4),
    send=messages,
    receive=messages,
)
def test_messages_back(T, times, send, receive):
    best = most_tasks(T, times, send, receive)
    for method in ("best", "paper", "fastest"):
        plan = hs.max_tasks(T, times, send, receive, method)
        assert plan.tasks <= best <= plan.upper_bound
        assert plan.optimal == (plan.tasks == plan.upper_bound)
        check_schedule(plan, T * (1 + 1e-12))
        assert method != "best" or plan.optimal


@given(times=st.lists(st.floats(1, 9), min_size=2, max_size=4), send=small, receive=small)
def test_the_papers_guarantee(times, send, receive):
    T = 100.0  # long enough that nobody is left without tasks
    plan = hs.max_tasks(T, times, send, receive, "paper")
    assert plan.tasks >= most_tasks(T, times, send, receive) - len(times)


@given(
    tasks=st.integers(0, 12),
    times=st.lists(real, min_size=1, max_size=4),
    send=messages,
    receive=st.sampled_from([0.3, 1.0]),
)
def test_time_with_messages_back(tasks, times, send, receive):
    plan = hs.min_time(tasks, times, send, receive)
    assert plan.counts.sum() == tasks
    assert plan.lower_bound <= plan.makespan
    assert plan.optimal
    assert tasks == 0 or most_tasks(plan.makespan * (1 + 1e-12), times, send, receive) >= tasks
    assert most_tasks(plan.lower_bound * (1 - 1e-12), times, send, receive) < tasks or tasks == 0
    check_schedule(plan, plan.makespan)


link = st.lists(
    st.one_of(st.integers(0, 12).map(lambda x: x / 4), st.sampled_from([0.1, 0.3, 1e-18])),
    min_size=4,
    max_size=4,
)


@given(
    T=st.floats(0.5, 40),
    times=st.lists(real, min_size=1, max_size=4),
    sends=link,
    receives=st.one_of(link, st.just([0.0] * 4)),
)
def test_links_of_their_own(T, times, sends, receives):
    p = len(times)
    sends, receives = sends[:p], receives[:p]
    best = most_tasks_linked(T, times, sends, receives)
    for out, back in ((sends, receives), (receives, sends)):  # the same backwards in time
        plan = hs.max_tasks(T, times, out, back)
        assert plan.tasks == plan.upper_bound == best
        assert plan.optimal
        check_schedule(plan, T * (1 + 1e-12))
        fastest = hs.max_tasks(T, times, out, back, "fastest")
        assert fastest.tasks <= best <= fastest.upper_bound
        check_schedule(fastest, T * (1 + 1e-12))


@given(
    tasks=st.integers(0, 12),
    times=st.lists(real, min_size=1, max_size=4),
    sends=link,
    receives=st.one_of(link, st.just([0.0] * 4)),
)
def test_time_with_links_of_their_own(tasks, times, sends, receives):
    p = len(times)
    plan = hs.min_time(tasks, times, sends[:p], receives[:p])
    assert plan.counts.sum() == tasks
    assert plan.optimal
    check_schedule(plan, plan.makespan)
    if tasks:
        assert (
            most_tasks_linked(plan.makespan * (1 + 1e-12), times, sends[:p], receives[:p]) >= tasks
        )
        assert (
            most_tasks_linked(plan.makespan * (1 - 1e-12), times, sends[:p], receives[:p]) < tasks
        )


def exact_end(times, sends, receives, out, back, counts):
    """The least double in which workers finish a plan, by fractions."""
    bus, ends = Fraction(0), {}
    for i in out:
        bus += Fraction(sends[i])
        ends[i] = bus + counts[i] * Fraction(times[i])
    for i in back:
        if receives[i]:
            ends[i] = bus = max(bus, ends[i]) + Fraction(receives[i])
    last = max(ends.values(), default=Fraction(0))
    found = float(last)
    return math.nextafter(found, INF) if Fraction(found) < last else found


wide = st.one_of(real, st.floats(5e-324, 1e-300), st.floats(1e-20, 1e20), st.floats(1e290, 1e300))


@given(data=st.data(), p=st.integers(1, 4))
def test_end_of_a_plan(data, p):
    times = data.draw(st.lists(wide, min_size=p, max_size=p))
    sends, receives = (
        data.draw(st.lists(st.one_of(st.just(0.0), wide), min_size=p, max_size=p)) for _ in "sr"
    )
    counts = data.draw(
        st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**20)), min_size=p, max_size=p)
    )
    out, back = (data.draw(st.permutations(range(p))) for _ in "ob")
    arrays = (np.array(x) for x in (times, sends, receives, out, back, counts))
    assert engine.task_end(*arrays) == exact_end(times, sends, receives, out, back, counts)


@given(data=st.data(), p=st.integers(1, 4))
def test_workers_that_the_bus_can_serve(data, p):
    """A worker that is late by a hair, as real numbers, gets no message."""
    message = st.sampled_from([0.1, 0.3, 1 / 3, 0.7, 1e-17, 1e-300])
    send, receive, t = data.draw(message), data.draw(message), 2.0**-40
    both = Fraction(send) + Fraction(receive)
    T = float(data.draw(st.integers(1, p)) * both + Fraction(t))
    T = data.draw(st.sampled_from([T, math.nextafter(T, 0), math.nextafter(T, INF)]))
    plan = hs.max_tasks(T, [t] * p, send, receive, "fastest")
    counts = [max(int((Fraction(T) - j * both) / Fraction(t)), 0) for j in range(1, p + 1)]
    assert plan.counts.tolist() == counts


@pytest.mark.slow
def test_more_workers_than_are_proven():
    rng = np.random.default_rng(2)
    times, sends, receives = rng.uniform(1, 20, 24), rng.uniform(0, 2, 24), rng.uniform(0, 2, 24)
    for send, receive, gap in (
        (1.0, 0.7, 0.01),
        (sends, 0.0, 0.1),
        (1.0, receives, 0.1),
        (0.0, receives, 0.1),
        (sends, receives, 0.1),
    ):
        T = 30 + 1.5 * float(np.broadcast_to(send, 24).sum() + np.broadcast_to(receive, 24).sum())
        plan = hs.max_tasks(T, times, send, receive)
        assert plan.gap <= gap
        check_schedule(plan, T * (1 + 1e-12))
        assert plan.tasks > hs.max_tasks(T, times, send, receive, "fastest").tasks
        assert plan.counts.tolist() == hs.max_tasks(T, times, send, receive).counts.tolist()
    least = hs.min_time(plan.tasks, times, send, receive)
    assert least.lower_bound <= least.makespan <= T * 1.05
    assert (
        hs.max_tasks(least.lower_bound * (1 - 1e-12), times, send, receive).upper_bound < plan.tasks
    )
    check_schedule(least, least.makespan)


def test_large_counts_with_messages_back():
    """1e15 tasks are counted one by one; workers that are equal but for a task lose it in the right
    order."""
    for p, send, receive in ((2, 1.0, 2.0), (3, 0.5, 0.25)):
        times = 1.0 + np.arange(p) / 4
        assert hs.max_tasks(1e15, times, send, receive).tasks == most_tasks(
            1e15, times, send, receive
        )
    plan = hs.max_tasks(1e15, 1.0 + np.arange(14) / 4, 0.5, 0.25)
    assert plan.upper_bound - plan.tasks <= 1
    assert (
        hs.max_tasks(1e15, [1.0, 3.0], [0.5, 1.5]).tasks
        == 10**15 - 1 + (10**15 - 2) // 3
        == most_tasks_linked(1e15, [1.0, 3.0], [0.5, 1.5], [0, 0])
    )


def test_many_workers_and_large_counts():
    rng = np.random.default_rng(0)
    times = 1e4 + rng.random(10_000) * 1e5
    before = times.copy()
    plan = hs.max_tasks(1e15, times, 1.0)
    assert plan.method == "deadlines"
    assert plan.optimal
    assert exactly_feasible(plan)
    assert plan.tasks > 1e14
    assert (times == before).all()
    assert hs.min_time(plan.tasks, times, 1.0).makespan <= 1e15
    assert hs.max_tasks(1e15, [1.0, 3.0], 0.5).tasks == 10**15 - 1 + (10**15 - 1) // 3
    wide = 1 + rng.random(60) * 9
    plan = hs.max_tasks(1e15, wide, 1.0)
    assert plan.method == "matching"
    assert exactly_feasible(plan)
    assert plan.counts.tolist() == hs.max_tasks(1e15, wide.tolist(), 1.0).counts.tolist()


def test_edges():
    assert hs.max_tasks(5, [10, 20]).tasks == 0
    assert hs.max_tasks(5, [1, 1], send=6).tasks == 0
    assert hs.max_tasks(10, [1, INF], send=1).counts.tolist() == [9, 0]
    # the double 0.3 is less than three times the double 0.1
    assert hs.max_tasks(0.3, [0.1]).tasks == 2
    assert hs.max_tasks(1, [0.5], send=1e-300).tasks == 1
    assert hs.max_tasks(1, [0.5]).tasks == 2
    # the bus has no time for a third
    assert hs.max_tasks(10, [1, 1, 1], 2, 2).counts.tolist().count(0) == 1
    plan = hs.max_tasks(20, hs.Platform.star([2, 3], names=["a", "b"]), 1)
    assert plan.names == ("a", "b")
    assert "tasks 15, upper bound 15, gap 0.00%, optimal" in str(plan.certificate)
    assert hs.min_time(0, [1, 2], 1).makespan == 0


@pytest.mark.slow
def test_plot():
    pytest.importorskip("matplotlib").use("Agg")
    assert hs.max_tasks(28, [5, 9], 1, 2).plot() is not None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hs.max_tasks(0, [1]), ValueError, "T must be greater than 0"),
        (lambda: hs.max_tasks(math.nan, [1]), ValueError, "T must be finite"),
        (lambda: hs.max_tasks("1", [1]), TypeError, "T must be a number"),
        (lambda: hs.max_tasks(1, [0]), ValueError, r"cycle_times\[0\] must be positive"),
        (lambda: hs.max_tasks(1, []), ValueError, "cycle_times is empty"),
        (lambda: hs.max_tasks(1, [1], -1), ValueError, "send must be at least 0"),
        (lambda: hs.max_tasks(1, [1], 0, INF), ValueError, "receive must be finite"),
        (
            lambda: hs.max_tasks(1, [1, 1], [0.1]),
            ValueError,
            "send must be a number or have 2 entries, one for each worker, got 1",
        ),
        (
            lambda: hs.max_tasks(1, [1, 1], 0, [0.1, -1]),
            ValueError,
            r"receive\[1\] must be finite and not negative, got -1",
        ),
        (lambda: hs.max_tasks(1, [1, 1], [0.1, INF]), ValueError, r"send\[1\] must be finite"),
        (
            lambda: hs.min_time(1, [1, 1], ["a", "b"]),
            TypeError,
            "send must be a number or a sequence of numbers",
        ),
        (
            lambda: hs.max_tasks(1, [1, 1], [0.1, 0.2], 1, "paper"),
            ValueError,
            "method 'paper' is for equal messages",
        ),
        (
            lambda: hs.max_tasks(1, [1], method="x"),
            ValueError,
            "method must be one of best, paper, fastest, got 'x'",
        ),
        (lambda: hs.max_tasks(1e300, [1]), ValueError, r"T must be at most 2\*\*53 times"),
        (lambda: hs.min_time(-1, [1]), ValueError, "tasks must be in"),
        (lambda: hs.min_time(1.5, [1]), ValueError, "tasks must be an integer"),
        (lambda: hs.min_time(2, [1e308]), ValueError, "overflows"),
        (lambda: hs.min_time(2**53, [1]), ValueError, r"tasks must take less than 2\*\*52"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("p", [7, 8])
def test_answers_that_take_next_to_nothing(p):
    """Every order of the answers was tried, as none is much better than another: 15 to 75 s."""
    rng = np.random.default_rng(0)
    times, send = rng.uniform(1, 20, p), rng.uniform(0.1, 2, p)
    plan, without = (
        hs.min_time(86, times, send=send, receive=1e-12),
        hs.min_time(86, times, send=send),
    )
    assert plan.optimal
    assert without.makespan <= plan.makespan <= without.makespan + p * 1e-12 + 1e-13


def test_stacks():
    """A stack has the plans of its platforms, and says which platform has a wrong argument."""
    rng = np.random.default_rng(1)
    times = rng.uniform(1, 9, (5, 4))
    times[1, 2] = INF
    sends = rng.uniform(0, 1, (5, 4))
    sends[3] = 0.5
    for send, receive in ((0.5, 0.0), (0.25, 0.5), (sends, 0.25), (sends[0], sends)):
        for method in ("best", "fastest"):
            stack = hs.max_tasks(30.0, times, send, receive, method)
            for row in range(5):
                messages = (x[row] if np.ndim(x) == 2 else x for x in (send, receive))
                plan = hs.max_tasks(30.0, times[row], *messages, method)
                assert stack.tasks[row] == plan.tasks == stack[row].tasks
                assert stack.bound[row] == plan.bound
                assert stack.counts[row].tolist() == plan.counts.tolist()
                assert stack.optimal[row] == plan.optimal
    with pytest.raises(ValueError, match="platform 0 of the stack: method 'paper' is for equal"):
        hs.max_tasks(30.0, times, sends, 0.25, "paper")
    times[4, 1] = 1e-20
    with pytest.raises(ValueError, match=r"platform 4 of the stack: T must be at most 2\*\*53"):
        hs.max_tasks(30.0, times, 0.5)


def test_more_tasks_than_can_be_counted():
    with pytest.raises(ValueError, match=r"T allows more than 2\*\*62 tasks"):
        hs.max_tasks(1.0, [2.0**-53] * 512)
    assert hs.max_tasks(1.0, [2.0**-53] * 511).tasks == 511 * 2**53


@pytest.mark.filterwarnings("error")
def test_min_time_beside_a_message_without_end():
    """The worker with the short message does all tasks. Only without such a worker is the makespan
    out of reach."""
    plan = hs.min_time(1000, [1e-300, 1e-300], 0, [0, 1e300])
    assert plan.counts.tolist() == [1000, 0]
    assert plan.makespan == pytest.approx(1e-297)
    with pytest.raises(ValueError, match="send and receive are too long"):
        hs.min_time(1000, [1e-300, 1e-300], 0, 1e300)
