"""Sweeps by wavefronts on ranks, against sweeps element by element: on ranks that are threads, and
on ranks of a real MPI program."""

from __future__ import annotations

import random
import threading
import time
from itertools import pairwise
from pathlib import Path

import mpi_run
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake import FakeRanks, good, on_ranks
from oracles.wavefront import neighbours, runs, sequences, swept, validate

import hetsched as hs
from hetsched.mpi import wavefront
from hetsched.mpi.loop import Loop

pytestmark = pytest.mark.usefixtures("fake_ranks")
PROGRAM = Path(__file__).with_name("mpi_cases_sweep.py")
MOST = 5
INF = np.inf
GAUSS_SEIDEL = hs.Stencil([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])
WEST_NORTH = hs.Stencil([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])
CHAMFER = hs.Stencil([[4, 3, 4], [3, 0, INF], [INF, INF, INF]], "min")


def results(pools, size, plan, image, kernel, root=0, **options):
    """What `hs.mpi.sweep` returns on each rank, and the bytes that each has sent. Arguments may be
    lists, of what each rank gives; an array is given by the root."""

    def call(ranks):
        me = ranks.rank
        own = {"plan": plan, "image": image, "kernel": kernel} | options
        own = {k: v[me] if isinstance(v, list) else v for k, v in own.items()}
        if me != root and not isinstance(image, list):
            own["image"] = None
        return hs.mpi.sweep(ranks, root=root, pool=pools[me], **own)

    return on_ranks(size, call)


def some(value, size, *ranks):
    """The value on these ranks, None on the other ones."""
    return [value if rank in ranks else None for rank in range(size)]


@st.composite
def problems(draw):
    """Plan, image and stencil, and what a sequential sweep makes of the image."""
    size = draw(st.integers(1, MOST))
    rule = draw(st.sampled_from(["sum", "min"]))
    unused = 0.0 if rule == "sum" else INF
    weights = np.array(
        draw(st.lists(st.sampled_from([unused, 0.1, 0.25, 1 / 3, 1.0]), min_size=9, max_size=9))
    ).reshape(3, 3)
    axis, corners = draw(st.integers(0, 1)), draw(st.booleans())
    if not corners:
        weights[0, 2] = weights[2, 0] = unused
    if (weights == unused).all():
        weights[1, 1] = 0.5
    m, n = draw(st.integers(1, 14)), draw(st.integers(1, 14))
    rows, cols = draw(st.integers(1, m)), draw(st.integers(1, n))
    mask = ["W", "N"]
    if corners:
        mask.append("SW" if axis else "NE")
        rows, cols = (rows, n) if axis else (m, cols)
    plan = hs.wavefront(
        rows,
        cols,
        draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=size, max_size=size)),
        mask=mask,
        axis=axis,
        order=draw(st.sampled_from(["across", "along"])),
        method=draw(st.sampled_from(["panels", "cyclic"])),
    )
    dtype = draw(st.sampled_from("fd"))
    image = np.random.default_rng(draw(st.integers(0, 99))).standard_normal((m, n)).astype(dtype)
    want = swept(image, weights, rule, by_columns=corners and axis == 1)
    return plan, image, hs.Stencil(weights, rule), want


@given(problems(), st.data())
def test_the_bits_of_the_sequential_sweep(pools, problem, data):
    plan, image, stencil, want = problem
    size = len(plan.names)
    root = data.draw(st.integers(0, size - 1))
    given_image = image.copy()
    plans, stencils = some(plan, size, root, 0), some(stencil, size, root, 1)
    found, _ = results(pools, size, plans, given_image, stencils, root)
    good(found)
    np.testing.assert_array_equal(found[root], want, strict=True)
    np.testing.assert_array_equal(given_image, image)
    assert [x is None for x in found] == [rank != root for rank in range(size)]


def sequential(image, stencil):
    return swept(image, stencil.weights, stencil.rule)


def chunks_of(plan, shape):
    """Rank, first line of elements and number of them, of each chunk."""
    size, parts = shape[plan.axis], plan.shape[plan.axis]
    cuts = [size // parts * i + size % parts * i // parts for i in range(parts + 1)]
    return [
        (int(plan.owner[run[0]]), cuts[run[0]], cuts[run[-1] + 1] - cuts[run[0]])
        for run in runs(plan.owner)
    ]


def scattered(size, image, plan, root=0):
    def call(ranks):
        given = (image, plan) if ranks.rank == root else (None, None)
        return hs.mpi.scatter(ranks, *given, root)

    return good(on_ranks(size, call)[0])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("root", [0, 2])
@pytest.mark.parametrize(("stencil", "after"), [(WEST_NORTH, 0), (GAUSS_SEIDEL, 1)])
def test_bytes_and_messages_are_those_of_the_plan(pools, monkeypatch, axis, root, stencil, after):
    """A line of elements between two chunks, in a message for each tile, and the line after a chunk
    if the stencil needs it; besides, the chunks on their way there and back."""
    plan = hs.wavefront(6, 6, [1.0, 2.0, 1.0], period=3, axis=axis)
    image = np.random.default_rng(1).standard_normal((20, 25))
    chunks = chunks_of(plan, image.shape)
    length, borders = image.shape[1 - axis], len(chunks) - 1
    assert borders > 2
    messages, send = [], Loop.send

    def counted(loop, array, to, tag):
        if tag == wavefront._BORDER:
            messages.append(array.size)
        return send(loop, array, to, tag)

    monkeypatch.setattr(Loop, "send", counted)
    found, sent = results(pools, 3, plan, image, stencil, root)
    np.testing.assert_array_equal(good(found)[root], sequential(image, stencil))
    away = [(number, count) for number, (rank, _, count) in enumerate(chunks) if rank != root]
    there = sum(count + after * (number < borders) for number, count in away)
    assert sent.sum() == 8 * length * (there + sum(count for _, count in away) + borders)
    cuts = [length // 6 * i + length % 6 * i // 6 for i in range(7)]
    assert sorted(messages) == sorted(borders * [b - a for a, b in pairwise(cuts)])

    zones = scattered(3, image, plan, root)
    found, sent = results(pools, 3, plan, zones, stencil, root)
    assert sent.sum() == 8 * length * borders * (1 + after)
    for zone in good(found):
        assert [tuple(box) for box in zone.boxes[:, [0, 1 + axis, 3 + axis]].tolist()] == chunks


def test_zones_stay_where_they_are_swept(pools):
    """The first image is held in rectangles, the second one as the first sweep has left it."""
    image = np.random.default_rng(2).standard_normal((21, 33))
    plan = hs.wavefront(5, 11, [1.0, 2.0, 3.0], period=4)
    zones = scattered(3, image, hs.partition([3.0, 1.0, 2.0], "columns", (21, 33)))
    kept = [[part.copy() for part in zone.parts] for zone in zones]
    first, _ = results(pools, 3, plan, zones, GAUSS_SEIDEL)
    then, _ = results(pools, 3, plan, good(first), GAUSS_SEIDEL)
    gathered, _ = on_ranks(3, lambda ranks: hs.mpi.gather(ranks, then[ranks.rank]))
    want = sequential(sequential(image, GAUSS_SEIDEL), GAUSS_SEIDEL)
    np.testing.assert_array_equal(good(gathered)[0], want)
    for zone, parts in zip(zones, kept, strict=True):  # inputs are not changed
        assert all(map(np.array_equal, zone.parts, parts))


@pytest.mark.parametrize("method", ["panels", "cyclic"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("side", [1, 2, 7, 8, 9, 16])
def test_sides_around_the_number_of_tiles(pools, side, axis, method):
    for parts in {1, 2, min(side, 8)} - set(range(side + 1, 9)):
        plan = hs.wavefront(parts, parts, [1.0, 1.0, 3.0, INF], axis=axis, method=method)
        image = np.random.default_rng(side).standard_normal((side, side + 1))
        found, _ = results(pools, 4, plan, image, GAUSS_SEIDEL, 3)
        np.testing.assert_array_equal(good(found)[3], sequential(image, GAUSS_SEIDEL))


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_all_workers_of_a_pool_share_a_tile(axis):
    """Tiles of 100 x 150 elements beside borders, and images by columns or with gaps."""
    image = np.random.default_rng(4).standard_normal((300, 450)).astype("f")
    stencil = hs.Stencil([[0.1, 0.2, 0], [0.2, 0.1, 0.3], [0, 0.2, 0.1]])
    plan = hs.wavefront(3, 3, [1.0, 1.0], mask=stencil.mask, axis=axis)
    assert len(plan.chunks) > 1
    spread = np.zeros((600, 900), "f")[::2, ::2]
    spread[...] = image
    pools = [hs.Pool(2), hs.Pool(3)]
    for given_image in (image, np.asfortranarray(image), spread[::-1, ::-1].copy()[::-1, ::-1]):
        found, _ = results(pools, 2, plan, given_image, stencil)
        np.testing.assert_array_equal(good(found)[0], sequential(image, stencil))
    for pool in pools:
        pool.close()
    found, _ = results(pools, 2, plan, image, stencil)
    for rank, error in enumerate(found):
        assert isinstance(error, ValueError), rank
        assert "the pool is closed" in str(error)


def count(a, row, col, height, width):
    """Count the places above and to the left at which the two neighbours differ."""
    for i in range(row, row + height):
        for j in range(col, col + width):
            if i and j:
                a[i, j] += a[i - 1, j - 1] + (a[i - 1, j] != a[i, j - 1])


class TestFunctions:
    @pytest.mark.parametrize("axis", [0, 1])
    @pytest.mark.parametrize("dtype", ["?", "i1", "<i8", ">i4", "f2", "complex64"])
    def test_any_numbers(self, pools, axis, dtype):
        image = np.random.default_rng(0).integers(0, 3, (20, 30)).astype(dtype)
        plan = hs.wavefront(7, 9, [1.0, 2.0, 1.0], period=4, axis=axis)
        want = image.astype(image.dtype.newbyteorder("="))
        count(want, 0, 0, 20, 30)
        with hs.Pool(3) as pool:
            np.testing.assert_array_equal(pool.sweep(plan, image, count), want)
        found, _ = results(pools, 3, plan, image, count, 1)
        np.testing.assert_array_equal(good(found)[1], want, strict=True)
        zones = [
            hs.mpi.Zone((20, 30), np.array([[0, 0, 0, 20, 30]]), i, (image,)[i:], image.dtype)
            for i in range(3)
        ]
        found, _ = results(pools, 3, plan, zones, count)
        gathered, _ = on_ranks(3, lambda ranks: parts_of(found[ranks.rank]))
        whole = np.zeros_like(image)
        for parts in good(gathered):
            for (_, r, c, h, w), part in parts:
                whole[r : r + h, c : c + w] = part
        np.testing.assert_array_equal(whole, want)

    def test_indices_are_those_of_the_image(self, pools):
        """The edit distance of two texts: a tile needs the letters at its rows and columns."""
        rng = random.Random(3)
        first, second = ("".join(rng.choices("abc", k=k)) for k in (40, 55))

        def edit(a, row, col, height, width):
            for i in range(row, row + height):
                for j in range(col, col + width):
                    if i and j:
                        other = a[i - 1, j - 1] + (first[i - 1] != second[j - 1])
                        a[i, j] = min(a[i - 1, j] + 1, a[i, j - 1] + 1, other)
                    else:
                        a[i, j] = i + j

        want = np.zeros((41, 56), int)
        edit(want, 0, 0, 41, 56)
        for axis in (0, 1):
            plan = hs.wavefront(6, 8, [1.0, 2.0, 2.0], mask="W N NW", period=3, axis=axis)
            found, _ = results(pools, 3, plan, np.zeros((41, 56), int), edit)
            np.testing.assert_array_equal(good(found)[0], want)

    @pytest.mark.parametrize("order", ["across", "along"])
    @pytest.mark.parametrize(("axis", "mask"), [(0, "W N"), (1, "W N"), (0, "NE"), (1, "SW")])
    def test_tiles_in_the_order_of_the_plan_and_what_they_see(self, pools, axis, mask, order):
        """An element of the image is a tile. A tile that is done is 1, and one that is not is 0."""
        mask = ("W", "N", *(name for name in [mask] if name in ("NE", "SW")))
        times = [1.0, 1.0, 2.0]
        plan = hs.wavefront(9, 10, times, 5, mask=mask, axis=axis, order=order)
        done, seen, lock = {}, [], threading.Lock()

        def mark(a, row, col, height, width):
            start = time.perf_counter()
            assert a.shape == (9, 10)
            assert (height, width) == (1, 1)
            after = (row, col + 1) if axis else (row + 1, col)
            seen.append(([a[t] for t in neighbours((row, col), (9, 10), mask)], after, a.copy()))
            a[row, col] += 1
            with lock:
                done[row, col] = threading.get_ident(), start, time.perf_counter()

        found, _ = results(pools, 3, plan, np.zeros((9, 10)), mark)
        assert (good(found)[0] == 1).all()
        for before, after, array in seen:
            assert before == [1] * len(before)
            assert after[axis] == (9, 10)[axis] or array[after] == 0
        events = [
            (int(plan.owner[tile[axis]]), "compute", start, end, f"tile {tile}")
            for tile, (_, start, end) in done.items()
        ]
        validate(events, (9, 10), plan.owner.tolist(), mask, axis)
        for rank, tiles in sequences((9, 10), plan.owner.tolist(), mask, order, axis).items():
            assert [tile for tile in done if plan.owner[tile[axis]] == rank] == tiles

    def test_an_error_arrives_on_every_rank(self, pools):
        plan = hs.wavefront(10, 10, [1.0, 1.0, 2.0], period=5)
        done = []

        def fail(a, row, col, height, width):
            if (row, col) == (5, 5):
                raise ZeroDivisionError("here")
            done.append((row, col))

        found, _ = results(pools, 3, plan, np.ones((10, 10)), fail)
        owner = plan.owner[5]
        for rank, error in enumerate(found):
            if rank == owner:
                assert isinstance(error, ZeroDivisionError)
            else:
                assert str(error) == f"rank {owner} stopped: ZeroDivisionError: here"
        assert (9, 9) not in done
        found, _ = results(pools, 3, plan, np.ones((10, 10)), lambda *_: None)
        assert (good(found)[0] == 1).all()


def parts_of(zone):
    return list(zip(zone.own.tolist(), zone.parts, strict=True))


@pytest.mark.parametrize("size", [1, 3])
def test_a_trace_of_all_ranks(pools, monkeypatch, size):
    image = np.random.default_rng(6).standard_normal((30, 40))
    plan = hs.wavefront(5, 8, [1.0] * size, period=min(size, 4))
    times = [1.0, 2.0, 4.0][:size]

    def kept(ranks, key, find):
        assert min(find()) > 0.0
        return times

    monkeypatch.setattr(FakeRanks, "kept", kept)
    found, _ = results(pools, size, plan, image, GAUSS_SEIDEL, trace=True)
    (value, trace), *others = good(found)
    assert others == [(None, None)] * (size - 1)
    np.testing.assert_array_equal(value, sequential(image, GAUSS_SEIDEL))
    measured = plan.on(times)
    assert (trace.predicted, trace.ideal) == (measured.makespan, measured.lower_bound)
    done = {e.what: e for e in trace.events if e.kind == "compute"}
    assert len(done) == sum(e.kind == "compute" for e in trace.events) == 40
    for row, col in np.ndindex(5, 8):
        event = done[f"tile ({row}, {col})"]
        assert event.worker == plan.owner[col]
        for other in neighbours((row, col), (5, 8), plan.mask):
            # the clocks of two ranks differ by at most twice the error
            assert done[f"tile {other}"].end <= event.start + 2 * trace.clock_error + 1e-9
    chunks = chunks_of(plan, image.shape)
    borders = [sum(rank == i for rank, *_ in chunks[1:]) for i in range(size)]
    assert list(trace.received) == [8 * 30 * count for count in borders]
    found, _ = results(pools, size, plan, image, lambda *_: None, trace=True)
    value, trace = good(found)[0]
    np.testing.assert_array_equal(value, image)
    assert (trace.predicted, trace.ideal) == (plan.makespan, plan.lower_bound)


@pytest.mark.parametrize("root", [0, 1])
def test_the_root_reports_the_progress(pools, root):
    image, plan = np.ones((40, 40)), hs.wavefront(10, 10, [1.0, 2.0, INF])
    seen, elsewhere = [], []
    watch = [seen.append if rank == root else elsewhere.append for rank in range(3)]
    results(pools, 3, plan, image, GAUSS_SEIDEL, root, progress=watch)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 10
    assert not elsewhere


def test_refused_on_every_rank(pools):
    image = np.ones((4, 12))
    plan = hs.wavefront(2, 3, [1.0, 1.0])
    other = hs.wavefront(2, 3, [1.0, 2.0])
    rows = hs.wavefront(2, 3, [1.0, 1.0], mask="W N NE", axis=0)
    zones = scattered(2, image, plan)
    cases = [
        ({"plan": None}, ValueError, "plan must be given at the root, rank 0"),
        ({"plan": [plan, other]}, ValueError, "plan on rank 1 is not the same"),
        ({"plan": [None, plan]}, ValueError, "plan must be given at the root, rank 0"),
        ({"plan": hs.wavefront(2, 3, [1.0])}, ValueError, "plan is for 1 ranks"),
        ({"plan": hs.distribute(3, [1, 2])}, TypeError, "plan must be a plan of wavefront"),
        ({"plan": [plan, "plan"]}, TypeError, "plan"),
        ({"plan": hs.wavefront(5, 3, [1.0, 1.0])}, ValueError, "plan has 5 x 3 tiles"),
        ({"plan": hs.wavefront(2, 13, [1.0, 1.0])}, ValueError, "plan has 2 x 13 tiles"),
        ({"kernel": None}, ValueError, "kernel must be given at the root, rank 0"),
        ({"kernel": [None, WEST_NORTH]}, ValueError, "kernel must be given at the root"),
        ({"kernel": [GAUSS_SEIDEL, WEST_NORTH]}, ValueError, "kernel on rank 1 is not the same"),
        ({"kernel": [GAUSS_SEIDEL, count]}, ValueError, "kernel on rank 1 is not the same"),
        ({"kernel": [count, None]}, ValueError, "rank 1 must also give it"),
        ({"kernel": [count, GAUSS_SEIDEL]}, ValueError, "rank 1 must also give it"),
        ({"kernel": (1, 2)}, TypeError, "addresses are for Pool.sweep"),
        ({"kernel": "sum"}, TypeError, "kernel must be a Stencil or a function"),
        ({"kernel": CHAMFER}, ValueError, "the kernel also needs SW"),
        ({"kernel": CHAMFER, "plan": rows}, ValueError, "needs all 4 rows one by one"),
        ({"image": None}, ValueError, "image must be given at the root"),
        ({"image": np.ones((0, 12))}, ValueError, "the image only 0 x 12"),
        ({"image": np.ones(12)}, ValueError, "image must be a matrix"),
        ({"image": np.ones((4, 12), int)}, TypeError, "image has dtype int64; a Stencil takes"),
        ({"image": np.full((4, 12), "a")}, TypeError, "image has dtype <U1"),
        ({"image": [image, image]}, ValueError, "image must be None on rank 1"),
        ({"image": [zones[0], None]}, ValueError, "rank 1 must give its zone"),
        ({"image": [zones[1], zones[0]]}, ValueError, "image is the zone of rank"),
        ({"trace": "no"}, TypeError, "trace"),
        ({"progress": 5}, TypeError, "progress must be a function"),
    ]
    for changes, kind, words in cases:
        options = {"plan": plan, "image": image, "kernel": GAUSS_SEIDEL} | changes
        given = (options.pop(name) for name in ("plan", "image", "kernel"))
        found, sent = results(pools, 2, *given, **options)
        for each in found:
            assert isinstance(each, kind), (changes, each)
            assert words in str(each)
        assert not sent.any()
    found, _ = results(pools, 2, plan, image, GAUSS_SEIDEL)
    np.testing.assert_array_equal(good(found)[0], sequential(image, GAUSS_SEIDEL))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("length", [1, 2, 3, 9])
@pytest.mark.parametrize("reach", [0, 1])
@pytest.mark.parametrize("order", ["across", "along"])
def test_stretches(length, count, reach, order):
    """All tiles in the order of the plan; only the first tile of a stretch is in the first line, if
    the stretch has more than one, and only the last one in the last line."""
    mask = ("W", "N", "SW")[: 2 + reach]
    found = list(wavefront.stretches(length, count, reach, order))
    wanted = sequences((length, count), [0] * count, mask, order, 1)[0]
    assert [tile for tiles in found for tile in tiles] == wanted
    for tiles in found:
        assert tiles
        assert all(line > 0 for _, line in tiles[1:])
        assert all(line < count - 1 for _, line in tiles[:-1])


@pytest.fixture(scope="module", params=(1, 4))
def real(request):
    return mpi_run.results(request.param, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_on_ranks(real, case):
    assert not real[case], real[case]
