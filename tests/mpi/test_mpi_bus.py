"""Plans for one bus on ranks that are threads, and on those of a real MPI program: against a loop
in Python, the orders of the plan, and bytes counted from it."""

from __future__ import annotations

import itertools
import pickle
import random
from pathlib import Path

import mpi_run
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake import good, on_ranks

import hetsched as hs
from hetsched.mpi import bus

pytestmark = pytest.mark.usefixtures("fake_ranks")
PROGRAM = Path(__file__).with_name("mpi_cases_bus.py")


def run(plan, function, tasks, *, root=0, size=None, **options):
    """What map_tasks returns or raises on each rank, and the bytes that each has sent."""
    size = len(plan.names) + 1 if size is None else size

    def call(ranks):
        mine = ranks.rank == root
        return hs.mpi.map_tasks(
            ranks, function, tasks if mine else None, root, plan=plan if mine else None, **options
        )

    return on_ranks(size, call)


def square(x):
    return x * x


def some_plan(rng):
    """A plan of tasks of a few workers, one of which may be unable."""
    p = rng.randint(1, 4)
    times = [rng.choice([1.0, 2.0, 5.0, np.inf]) for _ in range(p)]
    times[rng.randrange(p)] = 1.0
    send, receive = rng.choice([0.0, 0.3]), rng.choice([0.0, 0.2])
    if rng.random() < 0.5:
        return hs.max_tasks(rng.randint(1, 20), times, send=send, receive=receive)
    return hs.min_time(rng.randint(0, 20), times, send=send, receive=receive)


def pickled_bytes(items):
    return len(pickle.dumps(items, pickle.HIGHEST_PROTOCOL))


@given(seed=st.integers(0, 10**6), root=st.integers(0, 4))
def test_tasks(seed, root):
    rng = random.Random(seed)
    plan = some_plan(rng)
    root = min(root, len(plan.names))
    tasks = list(range(plan.tasks))
    found, sent = run(plan, square, tasks, root=root)
    assert good(found)[root] == [x * x for x in tasks]
    assert [each for rank, each in enumerate(found) if rank != root] == [None] * len(plan.names)
    first, wanted = 0, 0
    others = [rank for rank in range(len(plan.names) + 1) if rank != root]
    for i in plan.send_order.tolist():
        own = tasks[first : first + plan.counts[i]]
        first += len(own)
        wanted += pickled_bytes(own)
        assert sent[others[i]] == pickled_bytes([x * x for x in own])
    assert sent[root] == wanted
    assert sent.sum() == wanted + sum(sent[others[i]] for i in plan.send_order.tolist())


@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(0, 40),
    dtype=st.sampled_from(["f8", "c8", "i2", "U3", "M8[s]", "O"]),
)
def test_loads(seed, rows, dtype):
    """The bytes are the rows of each share, and of its result."""
    rng = random.Random(seed)
    p = rng.randint(1, 4)
    times, costs = ([rng.uniform(0.1, 3.0) for _ in range(p)] for _ in range(2))
    plan = hs.divisible_load(7.5, times, costs, return_ratio=rng.choice([0.0, 0.5]))
    load = np.arange(rows * 3).reshape(rows, 3).astype(dtype)[:, ::-1]
    found, sent = run(plan, lambda rows: rows[::-1], load)
    ends = [round(x) for x in np.cumsum(plan.shares[plan.send_order]) * (rows / 7.5)]
    pieces = [load[a:b][::-1] for a, b in itertools.pairwise([0, *ends[:-1], rows])]
    wanted = np.concatenate(pieces)
    if rows == 0:
        assert good(found)[0].shape == (0,)
        assert not sent.any()
        return
    np.testing.assert_array_equal(good(found)[0], wanted, strict=True)
    if dtype != "O":
        own = {i: piece.nbytes for i, piece in zip(plan.send_order.tolist(), pieces, strict=True)}
        assert sent.tolist() == [load.nbytes, *(own.get(i, 0) for i in range(p))]


def test_results_of_another_width():
    plan = hs.divisible_load(1.0, [1.0, 2.0], [0.1, 0.1], return_ratio=0.2)
    load = np.arange(24.0).reshape(12, 2)
    found, sent = run(plan, lambda rows: rows.sum(axis=1), load)
    np.testing.assert_array_equal(good(found)[0], load.sum(axis=1), strict=True)
    assert (sent[0], sent[1:].sum()) == (load.nbytes, 12 * 8)


@pytest.mark.parametrize("root", [0, 2])
def test_messages_in_the_order_of_the_plan(root):
    plan = hs.min_time(13, [2.0, 1.0, 4.0], send=0.2, receive=0.1)
    told = []
    found, _ = run(plan, square, range(13), root=root, trace=True, progress=told.append)
    values, trace = good(found)[root]
    assert values == [x * x for x in range(13)]
    assert [each for rank, each in enumerate(found) if rank != root] == [(None, None)] * 3
    port = [event for event in trace.events if event.kind == "transfer"]
    port.sort(key=lambda event: event.start)
    assert [event.worker for event in port if event.what == "out"] == plan.send_order.tolist()
    assert [event.worker for event in port if event.what == "back"] == plan.receive_order.tolist()
    assert all(b.start >= a.end for a, b in itertools.pairwise(port))
    tasks = {event.worker: event.what for event in trace.events if event.kind == "compute"}
    shares = [(i, int(plan.counts[i])) for i in plan.send_order.tolist()]
    assert tasks == {i: f"{n} task{'s' * (n != 1)}" for i, n in shares}
    assert trace.workers == plan.names
    assert trace.clock_error >= 0.0
    assert told[0] == pytest.approx(2 / len(port))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_message_waits_for_the_one_before(monkeypatch):
    """The first worker is slow to receive: nothing is announced to the next one meanwhile."""
    said = []
    tell = bus.Loop.tell

    def noted(loop, what, to):
        if loop.rank == 0:
            said.append((to, None if what is None else what[0]))
        tell(loop, what, to)

    monkeypatch.setattr(bus.Loop, "tell", noted)
    plan = hs.min_time(9, [1.0, 2.0], send=0.1, receive=0.1)
    good(run(plan, square, range(9))[0])
    outward = [
        (1 + i, first)
        for i, first in zip(plan.send_order, (0, plan.counts[plan.send_order[0]]), strict=True)
    ]
    assert said == outward + [(1 + i, None) for i in plan.receive_order]


def fails(x):
    if x == 5:
        raise KeyError("five")
    return x


def test_a_task_that_fails():
    plan = hs.min_time(12, [1.0, 2.0, 3.0], send=0.1)
    found, _ = run(plan, fails, range(12))
    assert isinstance(found[0], hs.TaskError)
    assert found[0].index == 5
    assert isinstance(found[0].__cause__, KeyError)
    for other in found[1:]:
        assert isinstance(other, RuntimeError)
        assert "task 5 failed: KeyError: 'five'" in str(other)


def test_rows_that_do_not_fit():
    plan = hs.divisible_load(1.0, [1.0, 2.0], 0.1)
    for function in (len, lambda rows: rows[1:]):
        for rank, error in enumerate(run(plan, function, np.ones((9, 2)))[0]):
            assert isinstance(error, ValueError)
            assert "function must return an array with a row for each of its" in str(error)
            assert str(error).startswith("rank 0: ") == (rank > 0)


def test_results_that_cannot_be_pickled():
    plan = hs.min_time(4, [1.0, 2.0], send=0.1)
    for error in run(plan, lambda x: lambda: x, range(4))[0]:
        assert isinstance(error, Exception)
        assert "pickle" in str(error)


@pytest.mark.parametrize(
    ("plan", "tasks", "options", "kind", "words"),
    [
        (hs.min_time(3, [1, 2]), range(4), {}, ValueError, "tasks must have the 3 tasks"),
        (hs.min_time(3, [1, 2]), 3, {}, TypeError, "tasks must be an iterable of tasks"),
        (hs.divisible_load(1, [1, 2], 0), 3.0, {}, ValueError, "tasks must be an array whose rows"),
        (
            hs.min_time(3, [1]),
            range(3),
            {"size": 3},
            ValueError,
            "plan is for 1 workers, there are 2",
        ),
        (hs.min_time(3, [1, 2]), range(3), {"trace": "yes"}, TypeError, "trace must be"),
        (
            hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]), budget=0),
            range(3),
            {},
            TypeError,
            "got StarPlan: use hs.mpi.matmul",
        ),
        (hs.wavefront(8, 8, [1, 2]), range(3), {}, TypeError, "got Wavefront: use hs.mpi.sweep"),
    ],
)
def test_refused_on_every_rank(plan, tasks, options, kind, words):
    found, sent = run(plan, square, tasks, **options)
    for error in found:
        assert isinstance(error, kind), error
        assert words in str(error)
    assert not sent.any()


def test_a_plan_only_elsewhere_and_a_trace_without_one():
    plan = hs.min_time(3, [1, 2])

    def only_elsewhere(ranks):
        mine = ranks.rank == 0
        own = None if mine else plan
        return hs.mpi.map_tasks(ranks, square, range(3) if mine else None, plan=own)

    for error in on_ranks(3, only_elsewhere)[0]:
        assert "plan must be given at the root" in str(error)
    for error in on_ranks(
        2, lambda ranks: hs.mpi.map_tasks(ranks, square, None if ranks.rank else [], trace=True)
    )[0]:
        assert "trace is for a plan" in str(error)


@pytest.fixture(scope="module")
def results():
    return mpi_run.results(4, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_real_ranks(results, case):
    assert results[case] == ""
