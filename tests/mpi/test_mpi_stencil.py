"""Iterations on slices of ranks, against a NumPy loop: on ranks that are threads, and on those of a
real MPI program."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import mpi_run
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake import good, on_ranks
from oracles.stencil import iterated

import hetsched as hs
from hetsched.mpi import ring
from hetsched.mpi.zones import Zone

pytestmark = pytest.mark.usefixtures("fake_ranks")
PROGRAM = Path(__file__).with_name("mpi_cases_stencil.py")
MOST = 5


def results(pools, size, *at_root, root=0, others=(), each=None, **options):
    """What `hs.mpi.stencil` returns on each rank, and the bytes that each has sent. at_root: the
    matrix and the steps; options may be functions of the rank."""

    def call(ranks):
        me = ranks.rank
        matrix = each[me] if each else at_root[0] if me == root else None
        given = {k: v(me) if callable(v) else v for k, v in options.items()}
        if me != root:
            given = {k: v for k, v in given.items() if k not in ("plan", "platform")}
        return hs.mpi.stencil(ranks, matrix, at_root[1], root=root, pool=pools[me], **given)

    found, sent = on_ranks(size, call)
    return found, sent


def complete(times):
    links = np.full((len(times), len(times)), 0.01)
    np.fill_diagonal(links, 0.0)
    return hs.Platform.complete(times, links)


def planned(shape, steps, times, ring=None):
    """Slices of all ranks: a plan that is made with the call leaves a small matrix on one rank."""
    with hs.Pool(complete(times), emulate=True) as pool:
        return pool.plan_stencil(*shape, steps, ring=ring)


@st.composite
def problems(draw):
    size = draw(st.integers(1, MOST))
    shape = draw(
        st.sampled_from([(1, 1), (1, 7), (2, 3), (3, 1), (3, 2), (4, 9), (9, 40), (6, 90)])
    )
    steps = draw(st.integers(0, 20))
    times = draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=size, max_size=size))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return size, shape, steps, times, dtype, draw(st.integers(0, size - 1))


@pytest.mark.slow
@given(problems())
def test_the_bits_of_one_machine(pools, problem):
    size, shape, steps, times, dtype, root = problem
    U = np.random.default_rng(steps).standard_normal(shape).astype(dtype)
    plan = planned(shape, steps, times)
    found, _ = results(pools, size, U, steps, root=root, plan=plan, weight=0.2)
    good(found)
    np.testing.assert_array_equal(found[root], iterated(U, steps, 0.2), strict=True)
    assert [x is None for x in found] == [rank != root for rank in range(size)]


def test_bytes_are_those_of_the_plan(pools):
    """A column in each direction for each step, and once the ends of the halos; besides, slices on
    the way there and back."""
    U, steps = np.random.default_rng(1).standard_normal((12, 60)), 30
    plan = planned((12, 60), steps, [1.0, 2.0, 3.0, 2.0])
    assert len(plan.ring) == 4
    found, sent = results(pools, 4, U, steps, plan=plan)
    np.testing.assert_array_equal(good(found)[0], iterated(U, steps, 0.25))
    halo = min(8, plan.counts.min())
    moved = 12 * 8 * plan.counts[1:].sum()
    assert sent.sum() == 2 * moved + 4 * 2 * 8 * (10 * steps + 2 * halo)


def test_zones_stay_and_a_rank_without_columns(pools):
    """The second run begins where the first one left the slices."""
    U = np.random.default_rng(2).standard_normal((7, 33))
    boxes = np.array([[0, 0, 0, 7, 33]])
    zones = [Zone(U.shape, boxes, i, (U,) if i == 0 else (), U.dtype) for i in range(3)]
    plan = planned((7, 33), 5, [1.0, 2.0, 3.0], ring=[2, 0])
    first, _ = results(pools, 3, None, 5, each=zones, plan=plan)
    assert [zone.own.tolist() for zone in good(first)][1] == []
    plan = planned((7, 33), 4, [1.0, 1.0, 1.0], ring=[0, 1, 2])
    then, _ = results(pools, 3, None, 4, each=first, plan=plan)
    whole = np.empty_like(U)
    for zone in good(then):
        for (_, r, c, h, w), part in zip(zone.own.tolist(), zone.parts, strict=True):
            whole[r : r + h, c : c + w] = part
    np.testing.assert_array_equal(whole, iterated(U, 9, 0.25))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_it_ends_when_nothing_changes(pools, size):
    U = np.random.default_rng(3).standard_normal((6, 20))
    last, changes = U, []
    for _ in range(400):
        new = iterated(last, 1, 0.25)
        changes.append(np.abs(new - last).max())
        last = new
    for tolerance in (0.1, 1e-3, 0.0):
        found, _ = results(pools, size, U, 400, tolerance=tolerance, every=7)
        at = [k for k in range(6, 400, 7) if changes[k] <= tolerance]
        steps = at[0] + 1 if at else 400
        compared = steps - 1 if at else 400 // 7 * 7 - 1
        for each in good(found):
            assert (each.steps, each.change) == (steps, changes[compared])
        np.testing.assert_array_equal(found[0].value, iterated(U, steps, 0.25))
    # an element that is not a number never settles
    U[3, 3] = np.nan
    found, _ = results(pools, size, U, 30, tolerance=1e9, every=2)
    assert [each.steps for each in good(found)] == [30] * size


def test_columns_move_to_faster_ranks(pools, monkeypatch):
    """Rank 0 takes ten times as long as the others, which the plan does not know."""
    do = ring._Run._do

    def slow(self, *arguments):
        spent = self._spent
        ended = do(self, *arguments)
        parts, steps, _ = arguments
        columns = sum(part.shape[1] for part in parts)
        self._spent = spent + steps * columns * (10.0 if self._loop.rank == 0 else 1.0)
        return ended

    monkeypatch.setattr(ring._Run, "_do", slow)
    U = np.random.default_rng(4).standard_normal((9, 120))
    boxes = np.array([[0, 0, 0, 9, 120]])
    zones = [Zone(U.shape, boxes, i, (U,) if i == 0 else (), U.dtype) for i in range(3)]
    plan = planned(U.shape, 100, [1.0, 1.0, 1.0])
    found, _ = results(pools, 3, None, 100, each=zones, plan=plan, rebalance=20)
    widths = [int(zone.own[:, 4].sum()) for zone in good(found)]
    assert widths[0] < 12
    assert sum(widths) == 120
    gathered, _ = on_ranks(3, lambda ranks: hs.mpi.gather(ranks, found[ranks.rank]))
    np.testing.assert_array_equal(good(gathered)[0], iterated(U, 100, 0.25))
    still, _ = results(pools, 3, None, 100, each=zones, plan=plan)
    assert [int(zone.own[:, 4].sum()) for zone in good(still)] == [40, 40, 40]


def test_a_checkpoint_goes_on(pools, tmp_path):
    U = np.random.default_rng(5).standard_normal((8, 30)).astype(np.float32)
    path = tmp_path / "heat.npz"
    found, _ = results(pools, 3, U, 25, checkpoint=path, checkpoint_every=10)
    matrix, done = hs.mpi.load_checkpoint(path)
    assert done == 20
    np.testing.assert_array_equal(matrix, iterated(U, 20, 0.25), strict=True)
    more, _ = results(
        pools, 2, matrix, 25 - done, root=1, checkpoint=path, checkpoint_every=5, done=done
    )
    np.testing.assert_array_equal(good(more)[1], good(found)[0], strict=True)
    assert list(tmp_path.iterdir()) == [path]
    again, done = hs.mpi.load_checkpoint(path)
    assert done == 25
    np.testing.assert_array_equal(again, good(found)[0], strict=True)
    # also where the iteration ends before its last step
    results(pools, 2, np.ones((4, 12)), 30, tolerance=1.0, every=5, checkpoint=path, done=7,
            checkpoint_every=5)  # fmt: skip
    assert hs.mpi.load_checkpoint(path)[1] == 12


def test_a_trace_by_a_given_plan_has_no_bound(pools):
    with hs.Pool(2) as pool:
        plan = pool.plan_stencil(20, 12, 10)
    found, _ = results(pools, 2, np.ones((20, 12)), 10, plan=plan, trace=True)
    assert good(found)[0][1].ideal is None
    assert 0.0 < good(found)[0][1].efficiency <= 1.0


def test_what_is_no_checkpoint(tmp_path):
    path = tmp_path / "a.npz"
    whole = {"U": np.ones((2, 2)), "steps": np.int64(3)}
    np.savez(path, **whole)
    content = path.read_bytes()
    for wrong in (
        {"U": np.ones((2, 2))},
        whole | {"U": np.ones(2)},
        whole | {"U": np.ones((2, 2), int)},
        whole | {"U": np.ones((0, 2))},
        whole | {"U": np.array([[object()]])},
        whole | {"steps": np.int64(-1)},
        whole | {"steps": np.array([1])},
        whole | {"steps": 1.5},
    ):
        np.savez(path, **wrong)
        with pytest.raises(ValueError, match=r"a\.npz"):
            hs.mpi.load_checkpoint(path)
    for size in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"a\.npz is not a checkpoint"):
            hs.mpi.load_checkpoint(path)
    with pytest.raises(FileNotFoundError):
        hs.mpi.load_checkpoint(tmp_path / "none")


@pytest.mark.parametrize("size", [1, 3])
def test_a_trace_of_all_ranks(pools, size):
    U = np.random.default_rng(6).standard_normal((9, 60))
    plan = planned(U.shape, 12, [1.0] * size)
    found, _ = results(pools, size, U, 12, trace=True, plan=plan)
    (value, trace), *others = good(found)
    assert others == [(None, None)] * (size - 1)
    np.testing.assert_array_equal(value, iterated(U, 12, 0.25))
    assert {event.worker for event in trace.events if event.kind == "compute"} == set(range(size))
    whats = {event.what for event in trace.events if event.kind == "compute"}
    assert whats == ({"steps 0 to 11"} if size == 1 else {"steps 0 to 7", "steps 8 to 11"})
    assert trace.predicted > 0.0


def plan_made(pools, monkeypatch, size, U, steps, exchange, **options):
    """The plan that the root makes if an exchange of halos takes so many seconds of a core."""
    made, ticks = [], threading.local()
    run = ring._Run.__init__

    def tick():
        ticks.last = getattr(ticks, "last", 0.0) + 1.0
        return ticks.last

    def kept(self, call, plan, *rest):
        made.append(plan)
        run(self, call, plan, *rest)

    with monkeypatch.context() as changed:
        changed.setattr(ring._Run, "__init__", kept)
        changed.setattr(ring, "_exchange_time", lambda *_: exchange)
        # one core: as much time of the process as by the clock
        changed.setattr(ring, "time", SimpleNamespace(process_time=tick, perf_counter=tick))
        found, _ = results(pools, size, U, steps, **options)
    np.testing.assert_array_equal(good(found)[0], iterated(U, steps, 0.25))
    assert len({plan.makespan for plan in made}) == 1
    return made[0]


def test_halos_and_exchanges_are_charged(pools, monkeypatch):
    """48 columns in each step, and an eighth of an exchange; a rank alone has neither."""
    U = np.random.default_rng(8).standard_normal((34, 600))
    times = np.array([1.0, 2.0, 1.0])
    column = 32 * 7 / 1e9  # seconds, with a cycle-time of 1
    for exchange in (0.0, 1e-5):
        platform = complete(times)
        plan = plan_made(pools, monkeypatch, 3, U, 16, exchange, platform=platform)
        assert plan.overheads == pytest.approx(48 * column * times + exchange / 8)
        assert (plan.counts[[0, 2]] > plan.counts[1]).all()
        busy = plan.counts * column * times + plan.overheads
        assert plan.step_time >= busy.max()
    for slow, order in ((1.0, None), (0.0, hs.slice_ring([1.0, 2.0, 3.0], 0.0, 1, 0, "all"))):
        plan = plan_made(pools, monkeypatch, 3, U, 16, slow, platform=platform, plan=order)
        assert (len(plan.ring) == 1) == (order is None)
    alone = plan_made(pools, monkeypatch, 3, U, 16, 1.0, platform=platform)
    assert alone.overheads is None
    assert alone.step_time == pytest.approx(600 * column)
    assert alone.counts.tolist() in ([600, 0, 0], [0, 0, 600])
    # 60 columns are not worth 48 more on each rank
    assert len(plan_made(pools, monkeypatch, 3, U[:, :60], 16, 0.0, platform=platform).ring) == 1


def test_one_rank_on_a_given_platform_measures_nothing(pools, monkeypatch):
    monkeypatch.setattr(ring, "_measured", None)
    U = np.random.default_rng(9).standard_normal((9, 60))
    found, _ = results(pools, 1, U, 12, platform=hs.Platform.star([1.0]))
    np.testing.assert_array_equal(good(found)[0], iterated(U, 12, 0.25))


def test_what_an_exchange_takes_is_measured(pools):
    def call(ranks):
        return [ring._exchange_time(ranks, rows, np.dtype(float)) for rows in (1, 40)]

    for size in (1, 2, 3):
        found, _ = on_ranks(size, call)
        for seconds in good(found):
            assert all((each > 0) == (size > 1) for each in seconds)


def test_refused_on_every_rank(pools, tmp_path):
    U = np.ones((4, 12))
    with hs.Pool(2) as pool:
        small, fitting = pool.plan_stencil(4, 9, 3), pool.plan_stencil(4, 12, 3)
    cases = [
        ({"steps": -1}, ValueError, "steps must be"),
        ({"U": np.ones((4, 12), int)}, TypeError, "U has dtype int64"),
        ({"U": np.ones((4, 12), complex)}, TypeError, "a stencil takes float32 and float64"),
        ({"U": np.ones((0, 12))}, ValueError, "U must have at least one element"),
        ({"U": np.ones(12)}, ValueError, "U must be a matrix"),
        ({"U": None}, ValueError, "U must be given at the root"),
        ({"weight": np.inf}, ValueError, "weight must be finite"),
        ({"weight": lambda rank: 0.1 * rank}, ValueError, "weight must be the same on all ranks"),
        ({"tolerance": -1.0}, ValueError, "tolerance must be"),
        ({"every": 0}, ValueError, "every must be"),
        ({"rebalance": 0}, ValueError, "rebalance must be"),
        ({"checkpoint_every": 0}, ValueError, "checkpoint_every must be"),
        ({"checkpoint": tmp_path / "none" / "a.npz"}, OSError, "none"),
        ({"checkpoint": True}, TypeError, "checkpoint must be a path"),
        ({"done": -1}, ValueError, "done must be"),
        ({"platform": [1.0, 2.0]}, TypeError, "platform must be a Platform"),
        ({"plan": small}, ValueError, "plan is for a matrix of 4 x 9"),
        ({"plan": hs.distribute(3, [1, 2])}, TypeError, "plan must be one of plan_stencil"),
        ({"platform": hs.Platform.star([1, 2, 3])}, ValueError, "platform has 3 workers"),
        (
            {"platform": hs.Platform.star([1, 2], link_costs=[1, 2])},
            ValueError,
            "links between every two",
        ),
    ]
    for changes, kind, words in cases:
        options = {"steps": 3, "U": U} | changes
        found, _ = results(pools, 2, options.pop("U"), options.pop("steps"), **options)
        for each in found:
            assert isinstance(each, kind), (changes, each)
            assert words in str(each)
    found, _ = results(pools, 3, U, 3, plan=fitting)
    assert all("plan is for 2 ranks, the communicator has 3" in str(each) for each in found)
    found, _ = results(pools, 2, U, 5, plan=fitting)  # for other steps
    np.testing.assert_array_equal(good(found)[0], iterated(U, 5, 0.25))


@pytest.fixture(scope="module", params=(1, 4))
def real(request):
    return mpi_run.results(request.param, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_on_ranks(real, case):
    assert not real[case], real[case]
