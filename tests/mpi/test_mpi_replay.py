"""Programs for SimGrid: the bytes of a run on ranks, the flops of the plan, and the times of an
interpreter of our own and of SimGrid itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inputs import many
from mpi_fake import good, on_ranks
from oracles.replay import flops, read, replayed, sent

import hetsched as hs
from hetsched.mpi import panels, replay

pytestmark = pytest.mark.usefixtures("fake_ranks")
METHODS = ("best", "columns", "rectangles", "layers")


def complete(times, seed=0, cost=1.0):
    links = cost * np.random.default_rng(seed).uniform(0.5, 2.0, (len(times), len(times)))
    np.fill_diagonal(links, 0.0)
    return hs.Platform.complete(times, links)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("replay")


@pytest.mark.slow
@settings(max_examples=40)
@given(
    sizes=st.tuples(*[st.sampled_from([1, 2, 7, 24, 60, 300])] * 3),
    times=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=4),
    method=st.sampled_from(METHODS),
    dtype=st.sampled_from(["float32", "float64", "complex128"]),
    linked=st.booleans(),
)
def test_bytes_of_ranks_and_flops_of_the_plan(pools, folder, sizes, times, method, dtype, linked):
    m, n, k = sizes
    platform = complete(times) if linked else hs.Platform.star(times)
    try:
        plan = hs.plan_matmul(m, n, k, platform, method=method, dtype=dtype)
    except hs.InfeasibleError:  # fewer blocks than workers
        assume(False)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    np.testing.assert_allclose(flops(programs), plan.flops, rtol=1e-12)
    np.testing.assert_allclose(speeds, 1e9 / plan.cycle_times)
    size = len(times)
    A, B = np.ones((m, k), dtype), np.ones((k, n), dtype)

    def zones(X):
        call = lambda r: hs.mpi.scatter(r, *((X, plan) if r.rank == 0 else (None, None)))  # noqa: E731
        return good(on_ranks(size, call)[0])

    a, b = zones(A), zones(B)
    found, bytes_sent = on_ranks(
        size, lambda r: hs.mpi.matmul(r, a[r.rank], b[r.rank], plan, pool=pools[r.rank])
    )
    good(found)
    out = sent(programs)
    assert [sum(out[i, j] for j in range(size)) for i in range(size)] == bytes_sent.tolist()
    end = replayed(speeds, bandwidth, programs)
    alone = (plan.flops * plan.cycle_times).max(initial=0.0) / 1e9
    assert end >= alone * (1 - 1e-9)
    if not linked:  # messages take no time
        assert end <= alone * (1 + 1e-6) + 1e-9


@st.composite
def wavefronts(draw):
    axis = draw(st.integers(0, 1))
    return hs.wavefront(
        draw(st.integers(1, 9)),
        draw(st.integers(1, 9)),
        draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=4)),
        mask=["W", "N", *(["SW" if axis else "NE"] if draw(st.booleans()) else [])],
        axis=axis,
        order=draw(st.sampled_from(["across", "along"])),
        method=draw(st.sampled_from(["panels", "cyclic"])),
    )


@given(wavefronts(), st.integers(0, 9), st.integers(0, 9))
def test_makespan_and_bytes_of_a_wavefront(pools, folder, plan, more_rows, more_cols):
    """Messages take no time, so the makespan is the plan's."""
    shape = plan.shape[0] + more_rows, plan.shape[1] + more_cols
    hs.mpi.save_replay(plan, folder, shape=shape)
    speeds, bandwidth, programs = read(folder)
    assert replayed(speeds, bandwidth, programs) == pytest.approx(plan.makespan, rel=1e-6)
    tiles = plan.counts * plan.shape[1 - plan.axis]
    np.testing.assert_allclose(flops(programs), 1e9 * tiles)
    size, image = len(plan.names), np.ones(shape)
    zones = good(
        on_ranks(
            size,
            lambda r: hs.mpi.scatter(r, *((image, plan) if r.rank == 0 else (None, None))),
        )[0]
    )
    stencil = hs.Stencil([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])
    found, bytes_sent = on_ranks(
        size, lambda r: hs.mpi.sweep(r, plan, zones[r.rank], stencil, pool=pools[r.rank])
    )
    good(found)
    out = sent(programs)
    assert [sum(out[i, j] for j in range(size)) for i in range(size)] == bytes_sent.tolist()


def test_a_border_over_a_slow_link(folder):
    """Two rows and two columns of tiles, by hand: a border takes 5, and a tile 1."""
    plan = hs.wavefront(2, 2, [1.0, 1.0], method="cyclic")
    hs.mpi.save_replay(plan, folder, shape=(20, 2), links=5e9 / 10, itemsize=1)
    # the first border leaves at 1, and the second one at 2: they share the link until 10
    assert replayed(*read(folder)) == pytest.approx(12.0)


@given(
    shape=st.tuples(*[st.integers(1, 7)] * 3),
    workers=st.lists(
        st.tuples(
            st.sampled_from([1.0, 2.0, 5.0, 30.0]),
            st.sampled_from([0.0, 0.5, 1.0, 8.0]),
            st.sampled_from([3, 5, 12, 21, 40]),
        ),
        min_size=1,
        max_size=4,
    ),
    method=st.sampled_from(
        ["best", "overlap", "het", "ommoml", "oddoml", "bmm", "maxreuse", "search"]
    ),
    eager=st.booleans(),
)
def test_makespan_of_a_star(folder, shape, workers, method, eager):
    """A block update is a gigaflop."""
    platform = hs.Platform.star(*zip(*workers, strict=True))
    try:
        plan = hs.plan_product(*shape, platform, method, **({"returns": "eager"} if eager else {}))
    except hs.InfeasibleError:  # no worker has the memory for it
        assume(False)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    assert replayed(speeds, bandwidth, programs) == pytest.approx(plan.makespan, rel=1e-6)
    np.testing.assert_allclose(flops(programs), [0, *1e9 * plan.updates])
    costs = np.array([cost for _, cost, _ in workers])
    out = sent(programs)
    traffic = np.array([out[0, i] + out[i, 0] for i in range(1, len(workers) + 1)])
    busy = np.zeros(len(workers))
    np.add.at(busy, plan.messages["worker"], plan.messages["end"] - plan.messages["start"])
    linked = costs > 0
    blocks = busy[linked] / costs[linked]
    if blocks.sum():
        np.testing.assert_allclose(
            traffic[linked] * blocks.sum(), blocks * traffic[linked].sum(), rtol=1e-9
        )


@contextmanager
def small_segments():
    """A panel has several segments."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (replay, panels):
            patch.setattr(module, "SEGMENT", 100)
        yield


@settings(max_examples=many(40, 15))
@given(
    n=st.sampled_from([0, 1, 5, 16, 33, 64]),
    block=st.sampled_from([1, 5, 8]),
    times=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=4),
    kind=st.sampled_from(["lu", "cholesky"]),
    owner=st.sampled_from(["pattern", "cyclic", "contiguous"]),
    slow_panels=st.booleans(),
    look_ahead=st.booleans(),
)
def test_makespan_and_bytes_of_a_factorisation(
    pools, folder, n, block, times, kind, owner, slow_panels, look_ahead
):
    """Messages take no time, so the makespan is the plan's."""
    size = len(times)
    options = {"look_ahead": look_ahead}
    if slow_panels:
        options["panel_times"] = [3.0] * size
    plan = hs.plan_factor(n, n, times, kind=kind, owner=owner, block=block, **options)
    with small_segments():
        hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    assert replayed(speeds, bandwidth, programs) == pytest.approx(plan.makespan, rel=1e-6, abs=1e-9)
    blocks = -(-n // block)
    if not n or block != -(-n // blocks):  # scatter cuts it into other blocks
        return
    A, columns = np.eye(n) * n + 1.0, hs.lu_pattern(blocks, times, owner=plan.owner)
    zones = good(
        on_ranks(
            size, lambda r: hs.mpi.scatter(r, *((A, columns) if r.rank == 0 else (None, None)))
        )[0]
    )
    factor = hs.mpi.lu_factor if kind == "lu" else hs.mpi.cholesky
    with small_segments():
        found, bytes_sent = on_ranks(size, lambda r: factor(r, zones[r.rank], pool=pools[r.rank]))
    good(found)
    out = sent(programs)
    between = [
        sum(out[i, j] for i in (host, size + host) for j in range(2 * size) if (j - i) % size)
        for host in range(size)
    ]
    assert between == bytes_sent.tolist()


@given(
    owner=st.lists(st.integers(0, 2), min_size=1, max_size=7),
    links=st.lists(st.sampled_from([0.0, 1.0, 1e9]), min_size=9, max_size=9),
    kind=st.sampled_from(["lu", "cholesky"]),
)
def test_panels_arrive_over_any_links(folder, owner, links, kind):
    costs = np.array(links).reshape(3, 3) * (1.0 - np.eye(3))
    options = {"owner": owner, "block": 4, "link_costs": costs}
    n = 4 * len(owner)
    plan = hs.plan_factor(n, n, [1.0, 2.0, 3.0], kind=kind, **options)
    with small_segments():
        hs.mpi.save_replay(plan, folder)
    computing = plan.tasks["end"] - plan.tasks["start"]
    longest = np.bincount(plan.tasks["worker"], computing).max()
    found = replayed(*read(folder))
    assert found >= longest * (1 - 1e-9)
    if kind == "cholesky":  # without messages of pivots, which the plan does not have
        assert found <= plan.makespan * (1 + 1e-6)


@given(
    owner=st.lists(st.integers(0, 1), min_size=1, max_size=9),
    there=st.sampled_from([1.0, 1e5, 1e7, 1e9]),
    back=st.sampled_from([1.0, 1e5, 1e7, 1e9]),
)
def test_makespan_of_two_ranks_with_links(folder, owner, there, back):
    """Two ranks have one message at a time in each direction, as in the plan."""
    costs, n = [[0.0, there], [back, 0.0]], 4 * len(owner)
    plan = hs.plan_factor(n, n, [1.0, 2.0], kind="cholesky", owner=owner, block=4, link_costs=costs)
    hs.mpi.save_replay(plan, folder)
    assert replayed(*read(folder)) == pytest.approx(plan.makespan, rel=1e-6)


def test_panels_over_slow_links(folder):
    """Three block columns of 2 rows and columns each, on three hosts, by hand: panels take 1."""
    plan = hs.plan_factor(
        6, 6, [1.0] * 3, kind="cholesky", owner=[0, 1, 2], block=2, panel_times=[1.0] * 3
    )
    tasks = plan.tasks.copy()
    tasks["start"] = [0, 1, 2, 2, 3, 4]
    tasks["end"] = tasks["start"] + 1.0
    tasks["worker"] = plan.owner[tasks["block"]]
    links = (1.0 - np.eye(3)) * 1e9 / 48  # an element of 8 bytes takes 1 / 6
    hs.mpi.save_replay(replace(plan, tasks=tasks, links=links), folder)
    # panel 0 of 6 x 2 elements is sent from 1 to 3 to host 1, which passes it on until 5; panel 1
    # of 4 x 2 elements is factored from 4 to 5 and sent until 5 + 4 / 3; then an update and panel 2
    assert replayed(*read(folder)) == pytest.approx(5 + 4 / 3 + 2)


@pytest.mark.slow
@given(
    blocks=st.integers(1, 9),
    width=st.integers(1, 3),
    workers=st.lists(
        st.tuples(
            st.sampled_from([1.0, 2.0, 5.0]),
            st.sampled_from([0.0, 0.5, 2.0]),
            st.sampled_from([3, 12, 45]),
        ),
        min_size=1,
        max_size=3,
    ),
    master_time=st.sampled_from([0.5, 3.0, 20.0]),
    method=st.sampled_from(["oddoml", "overlap", "search"]),
)
def test_makespan_of_lu_on_a_star(folder, blocks, width, workers, master_time, method):
    platform = hs.Platform.star(*zip(*workers, strict=True))
    options = {"width": min(width, blocks), "master_time": master_time}
    plan = hs.plan_star_lu(blocks, platform, method, **options)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    assert replayed(speeds, bandwidth, programs) == pytest.approx(plan.makespan, rel=1e-6)
    np.testing.assert_allclose(flops(programs)[1:-1], 1e9 * plan.updates)


TASK_TIMES = st.lists(st.sampled_from([1.0, 2.0, 5.0, np.inf]), min_size=1, max_size=5)


@given(
    times=TASK_TIMES.filter(lambda times: min(times) < np.inf),
    send=st.sampled_from([0.0, 0.5, 3.0]),
    receive=st.sampled_from([0.0, 0.25, 3.0]),
    kind=st.sampled_from(["min_time", "max_tasks", "divisible_load"]),
)
def test_makespan_of_tasks_and_loads(folder, times, send, receive, kind):
    if kind == "min_time":
        plan = hs.min_time(9, times, send, receive)
    elif kind == "max_tasks":
        plan = hs.max_tasks(12.0, times, send, receive)
    else:
        plan = hs.divisible_load(9.0, times, send, return_ratio=receive)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    assert replayed(speeds, bandwidth, programs) == pytest.approx(plan.makespan, rel=1e-6)
    work = plan.shares if kind == "divisible_load" else plan.counts
    np.testing.assert_allclose(flops(programs), [0, *1e9 * work])


@given(
    times=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=4),
    shape=st.sampled_from([(1, 9), (2, 9), (3, 4), (9, 60), (40, 300)]),
    steps=st.integers(0, 20),
    cost=st.sampled_from([0.0, 1.0, 100.0]),
    paid=st.booleans(),
)
def test_bytes_and_flops_of_an_iteration(folder, times, shape, steps, cost, paid):
    """No later than the plan, in which messages and updates take turns."""
    with hs.Pool(complete(times, cost=cost), emulate=True) as pool:
        overheads = 1e-6 * np.arange(1.0, 1.0 + len(times)) if paid else None
        plan = pool.plan_stencil(*shape, steps, overheads=overheads)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    in_ring = np.isin(np.arange(len(times)), plan.ring)
    inner, working = max(shape[0] - 2, 0), steps if shape[0] > 2 else 0
    expected = 7.0 * inner * plan.counts * steps
    if paid:
        expected = expected + in_ring * overheads * working / plan.cycle_times * 1e9
    np.testing.assert_allclose(flops(programs), expected, rtol=1e-12)
    size, out = len(times), sent(programs)
    bytes_sent = [sum(out[i, j] for j in range(size)) for i in range(size)]
    assert bytes_sent == (2 * 8 * inner * steps * in_ring * (len(plan.ring) > 1)).tolist()
    end = replayed(speeds, bandwidth, programs)
    assert end >= (expected * plan.cycle_times).max() / 1e9 * (1 - 1e-9)
    if not paid:
        assert end <= plan.makespan * (1 + 1e-6)


def test_halos_over_a_slow_link(folder):
    """Two ranks and 13 steps, by hand: updates take 2 in a step, messages 3, and overheads 1."""
    column, byte = 3 * 7 / 1e9, 3 * 8 / 1e9  # of three inner rows
    platform = hs.Platform.complete([2 / (10 * column)] * 2, [[0, 1.5 / byte], [1.5 / byte, 0]])
    with hs.Pool(platform, emulate=True) as pool:
        plan = pool.plan_stencil(5, 20, 13, ring=[0, 1], overheads=[1.0, 1.0])
    assert plan.counts.tolist() == [10, 10]
    hs.mpi.save_replay(plan, folder)
    # the two messages to a rank share its link
    assert replayed(*read(folder)) == pytest.approx(13 * (3 + 1))


def test_two_steps_ahead(folder):
    """Eight steps of 150 layers. Rank 0 holds the columns of A for the first four, and rank 1 the
    columns for the last four. Each has all rows of its columns of B."""
    plan = hs.plan_matmul(40, 40, 1200, complete([1.0, 1.0]), method="columns")
    hs.mpi.save_replay(plan, folder)
    letters = {"irecv": "r", "wait": "w", "compute": "c"}
    found = [
        "".join(letters.get(x[0], "") for x in actions if x[0] != "wait" or int(x[1]) != rank)
        for rank, actions in enumerate(read(folder)[2])
    ]
    assert sorted(found) == sorted(["ccrcrcrwcrwcwcwc", "rrrwcrwcwcwccccc"])


def test_the_interpreter_by_hand(folder):
    """Two ranks: two messages share a link of 10 bytes per second, while the receiver computes."""
    programs = [
        ["init", "isend 1 0 30", "isend 1 1 10", "wait 0 1 1", "compute 8", "wait 0 1 0"],
        ["init", "irecv 0 0 30", "irecv 0 1 10", "compute 1", "wait 0 1 0", "compute 3"],
    ]
    actions = [[line.split() for line in program] for program in programs]
    # the small one ends at 2 s, the large one at 4 s
    assert replayed([4.0, 1.0], {(0, 1): 10.0, (1, 0): 1.0}, actions) == pytest.approx(7.0)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "method", [*METHODS, "wavefront", "stencil", "star", "tasks", "lu", "star lu"]
)
@pytest.mark.parametrize("cost", [0.0, 300.0, 30_000.0])
def test_simgrid_finds_the_same_time(tmp_path, method, cost):
    if shutil.which("smpirun") is None:
        pytest.skip("no smpirun: install libsimgrid-dev")
    platform = complete([3000.0, 5000.0, 8000.0, 2000.0], 1, cost)
    if method == "wavefront":
        plan, options = hs.wavefront(9, 40, platform), {"shape": (900, 800)}
        options["links"] = 100.0 * platform.links
    elif method == "star":
        links = [1e-3 * cost, 3e-3 * cost, 0.0]
        star = hs.Platform.star([3.0, 5.0, 8.0], link_costs=links, memory=[12, 21, 45])
        plan, options = hs.plan_product(20, 18, 12, star), {}
    elif method == "star lu":
        links = [1e-3 * cost, 3e-3 * cost, 0.0]
        star = hs.Platform.star([3.0, 5.0, 8.0], link_costs=links, memory=[12, 21, 45])
        plan, options = hs.plan_star_lu(20, star, "oddoml", width=2, master_time=9.0), {}
    elif method == "lu":
        plan, options = hs.plan_factor(800, 800, platform, block=64), {}
    elif method == "tasks":
        plan, options = hs.min_time(40, [3.0, 5.0, 8.0], 1e-3 * cost, 2e-3 * cost), {}
    elif method == "stencil":
        with hs.Pool(platform, emulate=True) as pool:
            plan, options = pool.plan_stencil(4000, 500, 20, ring=[2, 0, 3, 1]), {}
    else:
        plan, options = hs.plan_matmul(300, 280, 320, platform, method=method), {}
    command = hs.mpi.save_replay(plan, tmp_path, **options)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        command, text=True, cwd=tmp_path, start_new_session=True, **pipes
    ) as process:
        try:
            _, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:  # smpirun is a script, and does not end its program
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, said
    found = re.findall(r"Simulation time (\S+)", said)[-1]
    np.testing.assert_allclose(float(found), replayed(*read(tmp_path)), rtol=1e-4, atol=1e-6)


def test_errors(tmp_path):
    plan = hs.plan_matmul(30, 30, 30, hs.Platform.star([1.0, 2.0]))
    with pytest.raises(
        TypeError, match="plan must be a plan of plan_matmul, plan_product, .*, got"
    ):
        hs.mpi.save_replay(hs.distribute(3, [1.0]), tmp_path)
    with pytest.raises(ValueError, match="shape and links are for a Wavefront"):
        hs.mpi.save_replay(plan, tmp_path, shape=(30, 30))
    with pytest.raises(ValueError, match="shape and links are for a Wavefront"):
        hs.mpi.save_replay(plan, tmp_path, links=0.0)
    tiles = hs.wavefront(3, 3, [1.0, 2.0])
    for options, kind, words in [
        ({}, ValueError, "shape must be given for a Wavefront"),
        ({"shape": (2, 9)}, ValueError, "plan has 3 x 3 tiles, the image only 2 x 9"),
        ({"shape": (9,)}, ValueError, "shape"),
        ({"shape": (9, 9.5)}, ValueError, r"shape\[1\]"),
        ({"shape": (9, 9), "itemsize": 0}, ValueError, "itemsize"),
        ({"shape": (9, 9), "links": np.zeros((3, 3))}, ValueError, "links"),
        ({"shape": (9, 9), "links": -1.0}, ValueError, "links"),
    ]:
        with pytest.raises(kind, match=words):
            hs.mpi.save_replay(tiles, tmp_path, **options)
    for other in (
        hs.plan_factor(6, 6, [1.0, 2.0], kind="qr", block=2),
        hs.plan_factor(6, 6, [1.0, 2.0], owner=[[0, 1], [1, 0]], block=3),
        hs.plan_factor(6, 9, [1.0, 2.0], block=3),
    ):
        with pytest.raises(ValueError, match="plan must be for LU or Cholesky of a square matrix"):
            hs.mpi.save_replay(other, tmp_path)
    for load in (1e-301, 1e300):
        share = hs.divisible_load(load, [1.0, 2.0], [0.5, 1.0], return_ratio=0.5)
        with pytest.raises(ValueError, match=r"plan has (messages|work) of .* in another unit"):
            hs.mpi.save_replay(share, tmp_path)
    columns = hs.wavefront(1, 2, [1.0, 1.0], method="cyclic")
    with pytest.raises(ValueError, match="plan has a message of 2147483648 bytes, and SimGrid"):
        hs.mpi.save_replay(columns, tmp_path, shape=(2**28, 2))
    with pytest.raises(FileNotFoundError):
        hs.mpi.save_replay(plan, tmp_path / "none")
    with hs.Pool(2) as pool, pytest.raises(ValueError, match="plan is for one machine"):
        hs.mpi.save_replay(pool.plan(300, 300, 300), tmp_path)
    with hs.Pool(2) as pool:
        long, other = pool.plan_stencil(9, 90, 2**30 - 1), pool.plan_stencil(9, 90, 3)
    with pytest.raises(ValueError, match="1073741823 steps of . ranks have more than 3000000 act"):
        hs.mpi.save_replay(long, tmp_path)
    with pytest.raises(ValueError, match="for a Wavefront: a StencilPlan has its own"):
        hs.mpi.save_replay(other, tmp_path, shape=(9, 90))
    assert not list(tmp_path.iterdir())
