"""Products of files: the numbers, the plan, the memory, and what is left when they are stopped."""

import contextlib
import errno
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
from hetsched.cli import main as cli
from hetsched.files import plan as files_plan
from hetsched.files import product as outofcore
from hetsched.files.journal import Journal
from hetsched.files.plan import Problem, Side

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """No reserve, so that little memory makes many tiles; no waiting for the disk."""
    monkeypatch.setattr(files_plan, "RESERVE", 0)
    monkeypatch.setattr(os, "fsync", lambda file: None)


def integers(shape, dtype, seed):
    """Small ones: every product is exact in every dtype."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9, shape)
    return (
        values + 1j * rng.integers(-9, 9, shape) if np.dtype(dtype).kind == "c" else values
    ).astype(dtype)


def least(A, B, **options):
    with pytest.raises(hs.InfeasibleError) as caught:
        hs.plan_files(A, B, "C.npy", memory=1, **options)
    return int(re.search(r"at least (\d+) are", str(caught.value))[1])


# ---- numbers ----


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.tuples(*[st.integers(0, 12)] * 3),
    dtypes=st.tuples(*[st.sampled_from([*DTYPES, np.int8])] * 2),
    orders=st.tuples(*[st.sampled_from("CF")] * 2),
    out=st.sampled_from(["C.npy", "C.mat", None]),
    more=st.sampled_from([0, 300, 1500, 10**6]),
)
@example((5, 4, 0), (np.float64, np.float64), "CC", "C.npy", 0)
@example((12, 12, 12), (np.float64, np.float64), "CC", "C.npy", 0)  # 144 tiles
@example((1, 12, 12), (np.float32, np.complex64), "FC", "C.mat", 300)
@example((12, 12, 12), (np.int8, np.float64), "CF", None, 300)
def test_equals_numpy(quick, shape, dtypes, orders, out, more):
    m, n, k = shape
    A, B = (integers(s, d, 7) for s, d in zip(((m, k), (k, n)), dtypes, strict=True))
    np.save("A.npy", np.asarray(A, order=orders[0]))
    np.save("B.npy", np.asarray(B, order=orders[1]))
    want = A.astype(np.complex128) @ B.astype(np.complex128)
    memory = least("A.npy", "B.npy") + more
    kind = hs.plan_files("A.npy", "B.npy", "C.npy", memory=memory).dtype
    target = np.full((m, n), 99, kind) if out is None else out
    if out == "C.mat":
        pytest.importorskip("h5py")
    done = hs.matmul_files("A.npy", "B.npy", target, memory=memory)
    if out == "C.mat":
        hs.matmul_files("C.mat", np.eye(n, dtype=kind), "C.npy", memory="9M")
    C = target if out is None else np.load("C.npy")
    np.testing.assert_array_equal(C, want)
    assert done.plan.peak <= memory
    assert done.bytes_read == sum(done.plan.read)
    assert done.bytes_written == done.plan.written
    assert not set(os.listdir(".")) - {"A.npy", "B.npy", "C.npy", "C.mat"}


def test_short_reads_and_writes(quick, monkeypatch):
    """The system may do less than it was asked for."""
    A, B = integers((30, 40), float, 1), integers((40, 20), float, 2)
    np.save("A.npy", A)
    np.save("B.npy", B)
    preadv, pwrite = os.preadv, os.pwrite
    monkeypatch.setattr(
        os, "preadv", lambda file, buffers, offset: preadv(file, [buffers[0][:11]], offset)
    )
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: pwrite(file, data[:13], offset))
    hs.matmul_files("A.npy", "B.npy", "C.npy", memory=least("A.npy", "B.npy") + 3000)
    np.testing.assert_array_equal(np.load("C.npy"), A @ B)


def test_rounding_and_speeds(quick):
    """Real numbers in tiles, by a pool with unequal workers."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((300, 500)), rng.standard_normal((500, 200))
    np.save("A.npy", A)
    with hs.Pool(hs.Platform.star(speeds=[3, 1])) as pool:
        done = hs.matmul_files("A.npy", B, "C.npy", memory=least("A.npy", B) + 500_000, pool=pool)
    assert done.tiles > 1
    np.testing.assert_allclose(np.load("C.npy"), A @ B, atol=1e-11)


def test_progress(quick, monkeypatch):
    """Also where every update is too short to report anything."""
    monkeypatch.setattr(outofcore, "_BEAT", 0)
    seen = []
    A, B = np.ones((40, 40)), np.ones((40, 40))
    done = hs.matmul_files(A, B, "C.npy", memory=least(A, B) + 5000, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > np.prod(done.plan.grid) > 1
    assert hs.matmul_files(A, B, "C.npy", memory="9M", progress=True).tiles == 1


# ---- the plan ----


def problem(m, n, k, memory, a=False, b=False, c=False):
    return Problem(
        (m, n, k), np.dtype(np.float64), *(Side(8, t, None, 0) for t in (a, b, c)), memory, 2
    )


def traffic(plan):
    """Bytes read and written, block by block; what stays is remembered."""
    (m, n, k), (h, v), d = plan.shape, plan.tile, plan.depth
    rows, cols, depths = range(0, m, h), range(0, n, v), range(0, k, d)
    tiles = (
        [(i, j) for j in cols for i in rows]
        if plan.stationary == "B"
        else [(i, j) for i in rows for j in cols]
    )
    total, had = 0, (None, None)
    for i, j in tiles:
        height, width = min(h, m - i), min(v, n - j)
        for t in depths:
            depth = min(d, k - t)
            total += 0 if plan.stationary == "A" and had[0] == i else height * depth
            total += 0 if plan.stationary == "B" and had[1] == j else depth * width
        total += height * width
        had = i, j
    return 8 * total


@given(
    st.tuples(*[st.integers(1, 3000)] * 3),
    st.integers(6 * 2**20, 60 * 2**20),
    st.tuples(*[st.booleans()] * 3),
)
def test_plan(shape, memory, orders):
    plan = files_plan.plan_tiles(problem(*shape, memory, *orders))
    assert plan.peak <= memory
    assert plan.traffic == traffic(plan) == sum(plan.read) + plan.written
    assert plan.lower_bound <= plan.traffic
    m, n, k = shape
    assert plan.compulsory == 8 * (m * n + m * k + k * n)
    assert plan.lower_bound == max(plan.compulsory, plan.io_bound)
    assert plan.optimal == (plan.traffic == plan.compulsory or plan.traffic <= plan.io_bound)


def test_communication_bound():
    """2 m n k / sqrt(M) - 2 M elements: M = 10^6 doubles, or twice as many floats."""
    plan = files_plan.plan_tiles(problem(4000, 5000, 10_000, 8 * 10**6))
    assert plan.io_bound == pytest.approx(8 * (4e11 / 1000 - 2e6), rel=1e-12)
    half = problem(4000, 5000, 10_000, 8 * 10**6)._replace(b=Side(4, False, None, 0))
    assert files_plan.plan_tiles(half).io_bound == pytest.approx(
        4 * (4e11 / 2e6**0.5 - 4e6), rel=1e-12
    )


def test_what_stays():
    """Short inner dimensions keep rows or columns, long ones tiles of C; what fits is read once."""
    assert files_plan.plan_tiles(problem(50_000, 50_000, 50_000, 2**30)).stationary == "C"
    low = files_plan.plan_tiles(problem(50_000, 500, 500, 2**26))
    assert (low.stationary, low.optimal) == ("B", True)
    wide = files_plan.plan_tiles(problem(500, 50_000, 500, 2**26))
    assert wide.optimal
    small = files_plan.plan_tiles(problem(500, 500, 500, 2**26))
    assert (small.tile, small.optimal) == ((500, 500), True)


def test_the_order_of_the_file_counts():
    """Pieces of lines are long: along rows where rows are contiguous."""
    by_rows = files_plan.plan_tiles(problem(20_000, 20_000, 20_000, 2**27))
    by_columns = files_plan.plan_tiles(problem(20_000, 20_000, 20_000, 2**27, True, True, True))
    assert by_rows.tile[1] > by_rows.tile[0]
    assert by_columns.tile[0] > by_columns.tile[1]


def test_twice_the_bound_at_most():
    for memory in (2**27, 2**29, 2**31):
        plan = files_plan.plan_tiles(problem(40_000, 40_000, 40_000, memory))
        assert plan.gap < 1.5


def test_plan_shows_itself(capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A, B = np.ones((300, 200)), np.ones((200, 100))
    plan = hs.plan_files(A, B, "C.npy", memory="20M")
    assert "in memory" in plan.describe()
    assert "<svg" in plan._repr_html_()
    assert plan.to_dict()["tile"] == [300, 100]
    assert plan.names == ("this machine",)
    with pytest.raises(TypeError, match="cannot be simulated"):
        hs.simulate(plan)
    assert os.listdir(".") == []


# ---- stopped and resumed ----


@pytest.fixture
def pair(quick):
    """A.npy and B.npy, and memory that makes about a hundred tiles."""
    A, B = integers((90, 64), float, 1), integers((64, 80), float, 2)
    np.save("A.npy", A)
    np.save("B.npy", B)
    return A @ B, least("A.npy", "B.npy") + 8000


class Stop(Exception):
    pass


def stop_after(calls, error=Stop):
    """A progress function that fails."""
    left = [calls]

    def progress(_):
        left[0] -= 1
        if left[0] == 0:
            raise error

    return progress


def begin(memory, calls=150, **options):
    with pytest.raises(Stop):
        hs.matmul_files(
            "A.npy", "B.npy", "C.npy", memory=memory, progress=stop_after(calls), **options
        )
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy.journal", "C.npy.partial"]


def finish(memory, want, **options):
    done = hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory, **options)
    np.testing.assert_array_equal(np.load("C.npy"), want)
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy"]
    return done


def reporting(monkeypatch):
    """Every update reports progress, however short it is."""

    def accumulate(pool, a, b, c, alpha, onto, poll):
        poll(0.5)
        if poll.error is not None:
            raise poll.error
        c[...] = alpha * (a @ b) + (c if onto else 0)

    monkeypatch.setattr(outofcore, "accumulate", accumulate)


def test_resumes(pair, monkeypatch):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    done = finish(memory, want)
    assert 0 < done.resumed < done.tiles
    assert done.bytes_written < done.plan.written


@pytest.mark.slow
def test_more_memory_keeps_the_tiles(pair, monkeypatch):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    done = finish("1G", want)
    assert done.resumed > 0
    assert done.tiles > 1


def test_less_memory_is_refused(pair, monkeypatch):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    with pytest.raises(
        ValueError, match=r"C.npy.partial was begun with tiles that need \d+ bytes, memory is"
    ):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory - 5000)
    finish(memory, want)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change", ["input", "dtype", "alpha", "no partial", "short partial", "old journal"]
)
def test_other_products_begin_anew(pair, monkeypatch, change):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    options = {}
    if change == "input":
        np.save("A.npy", 2 * np.load("A.npy"))
        want = 2 * want
    elif change == "dtype":
        options = {"dtype": np.float32}
    elif change == "alpha":
        options, want = {"alpha": 3}, 3 * want
    elif change == "no partial":
        os.unlink("C.npy.partial")
    elif change == "short partial":
        os.truncate("C.npy.partial", 500)
    else:  # its lines of tiles were "5 12345"
        lines = [
            line.rpartition(b" ")[0] for line in Path("C.npy.journal").read_bytes().splitlines()
        ]
        older = [
            line.replace(b'"version": 2', b'"version": 1').removeprefix(b"C ")
            for line in lines
            if line[:1] not in b"AB"
        ]
        Path("C.npy.journal").write_bytes(
            b"".join(b"%s %08x\n" % (line, zlib.crc32(line)) for line in older)
        )
    assert finish(memory, want, **options).resumed == 0


def save_input(A, kind):
    """A in a file, and its path."""
    if kind == "npy":
        np.save("A.npy", A)
        return "A.npy"
    if kind == "mat":
        pytest.importorskip("scipy.io").savemat("A.mat", {"A": A})
        return "A.mat"
    h5py = pytest.importorskip("h5py")
    with h5py.File("A.h5", "w", track_order=False) as file:
        file.create_dataset("A", data=A, chunks=(16, 16))
    return "A.h5"


REPLACED = {
    "cp -p": lambda path: shutil.copy2("new", path),  # the same inode
    "rsync -t": lambda path: os.replace(shutil.copy2("new", ".A.tmp"), path),
    "mv": lambda path: os.replace("new", path),
    "in place": lambda path: Path(path).write_bytes(Path("new").read_bytes()),
}


def stop_when_one_is_done(_):
    if b"\nC " in Path("C.npy.journal").read_bytes():
        raise Stop


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("how", "kind"),
    many(
        list(itertools.product(REPLACED, ["npy", "h5", "mat"])),
        [("cp -p", "npy"), ("rsync -t", "h5"), ("mv", "mat"), ("in place", "npy")],
    ),
)
def test_replaced_inputs_are_noticed(pair, monkeypatch, how, kind):
    """Of the same size, and the times say nothing; one row is another, or all."""
    reporting(monkeypatch)
    A, B = np.load("A.npy"), np.load("B.npy")
    for rows in (slice(0, 1), slice(None)):
        changed = A.copy()
        changed[rows] += 1
        os.rename(save_input(changed, kind), "new")
        path = save_input(A, kind)
        status = os.stat(path)
        memory = 8000 + (
            least(A, "B.npy") + 2 * A.nbytes if kind == "mat" else least(path, "B.npy")
        )
        with pytest.raises(Stop):
            hs.matmul_files(path, "B.npy", "C.npy", memory=memory, progress=stop_when_one_is_done)
        assert os.stat("new").st_size == status.st_size
        os.utime("new", ns=(status.st_atime_ns, status.st_mtime_ns))
        REPLACED[how](path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        done = hs.matmul_files(path, "B.npy", "C.npy", memory=memory)
        np.testing.assert_array_equal(np.load("C.npy"), changed @ B)
        assert done.resumed == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["touched", "restored", "chmod", "linked", "not yet read"])
def test_inputs_of_the_same_content_are_the_same(pair, monkeypatch, how):
    """As far as they have been read."""
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    if how == "touched":
        os.utime("B.npy")
    elif how == "restored":
        for name in ("A.npy", "B.npy"):
            shutil.copy(name, "copy")
            os.replace("copy", name)
    elif how == "chmod":
        os.chmod("A.npy", 0o400)
    elif how == "linked":
        os.link("A.npy", "backup")
        os.unlink("backup")
    else:
        A = np.load("A.npy")
        A[-1] += 1
        np.save("A.npy", A)
        want = A @ np.load("B.npy")
    assert finish(memory, want).resumed > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("matrix", [b"A", b"B"])
def test_tiles_of_unknown_origin_do_not_count(pair, monkeypatch, matrix):
    """Where the journal does not say what they were made of."""
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    lines = Path("C.npy.journal").read_bytes().splitlines(keepends=True)
    Path("C.npy.journal").write_bytes(
        b"".join(line for line in lines if not line.startswith(matrix))
    )
    assert finish(memory, want).resumed == 0


def test_the_journal_says_what_tiles_are_made_of(pair, monkeypatch):
    """Before it says that they are done; of each block once, also over two calls."""
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    seen = []
    add = Journal.add
    monkeypatch.setattr(
        Journal, "add", lambda self, *block: (seen.append(block[:2]), add(self, *block))
    )
    journal = Path("C.npy.journal").read_text().splitlines()[2:]
    done = finish(memory, want)
    rows, cols, chunks = done.plan.grid
    before = [(line.split()[0], int(line.split()[1])) for line in journal]
    blocks = [*before, *seen]
    assert len(set(blocks)) == len(blocks) == rows * chunks + cols * chunks + rows * cols
    for matrix, tile in blocks:
        if matrix == "C":
            i, j = divmod(tile, cols)
            for chunk in range(chunks):
                assert blocks.index(("A", i * chunks + chunk)) < blocks.index(("C", tile))
                assert blocks.index(("B", j * chunks + chunk)) < blocks.index(("C", tile))


def test_damaged_tiles_are_computed_again(pair, monkeypatch):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    with open("C.npy.partial", "r+b") as file:
        file.seek(128)
        file.write(bytes([1, 2, 3]))
    finish(memory, want)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("place", "out"),
    many(
        list(itertools.product([0, 9, 100, -1], ["C.npy", "C.h5", "C.mat"])),
        [(0, "C.mat"), (9, "C.npy"), (100, "C.h5"), (-1, "C.npy"), (-1, "C.mat")],
    ),
)
def test_a_damaged_header_begins_anew(pair, monkeypatch, out, place):
    """What is not elements would otherwise end up in the output."""
    want, memory = pair
    if out != "C.npy":
        pytest.importorskip("h5py")
    reporting(monkeypatch)
    with pytest.raises(Stop):
        hs.matmul_files("A.npy", "B.npy", out, memory=memory, progress=stop_after(150))
    content = bytearray(Path(out + ".partial").read_bytes())
    content[place] ^= 255
    Path(out + ".partial").write_bytes(content)
    done = hs.matmul_files("A.npy", "B.npy", out, memory=memory)
    assert (done.resumed == 0) == (place >= 0)  # the last byte is an element
    hs.matmul_files(out, np.eye(want.shape[1]), "D.npy", memory="64M")
    np.testing.assert_array_equal(np.load("D.npy"), want)


@pytest.mark.parametrize(
    "content", [b"notes\n", b"notes", b'{"x": 1}', b'{"x": 1}\n', b"{} 99999999\n"]
)
def test_a_file_that_is_no_journal_is_kept(pair, content):
    _, memory = pair
    Path("C.npy.journal").write_bytes(content)
    with pytest.raises(FileExistsError, match="no earlier call wrote it") as caught:
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    assert caught.value.filename.endswith("C.npy.journal")
    assert Path("C.npy.journal").read_bytes() == content
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy.journal"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("old", "calls"),
    many(
        list(itertools.product([True, False], range(1, 9))),
        [*((True, calls) for calls in range(1, 9)), (False, 1), (False, 8)],
    ),
)
def test_killed_while_it_begins(pair, monkeypatch, old, calls):
    """After every step of the preparation there is something that the next call can begin from."""
    want, memory = pair
    reporting(monkeypatch)
    if old:
        begin(memory, alpha=2)
    left = [calls]
    with monkeypatch.context() as killed:
        for name in ("unlink", "write", "ftruncate", "fsync", "posix_fallocate"):
            real = getattr(os, name)

            def step(*arguments, real=real):
                left[0] -= 1
                if left[0] < 0:  # nothing happens any more
                    raise Stop
                return real(*arguments)

            killed.setattr(os, name, step)
        with pytest.raises(Stop):
            hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    finish(memory, want)


@pytest.mark.few(1)
@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_torn_line_does_not_count(pair, monkeypatch, cut):
    want, memory = pair
    reporting(monkeypatch)
    begin(memory)
    os.truncate("C.npy.journal", os.path.getsize("C.npy.journal") - cut)
    with pytest.raises(Stop):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory, progress=stop_after(30))
    assert all(
        re.fullmatch(rb"(.*) [0-9a-f]{8}", line)
        for line in Path("C.npy.journal").read_bytes().splitlines()[:-40]
    )
    finish(memory, want)


def test_old_output_stays_until_the_new_is_complete(pair, monkeypatch):
    want, memory = pair
    Path("C.npy").write_bytes(b"old")
    os.chmod("C.npy", 0o600)
    reporting(monkeypatch)
    with pytest.raises(Stop):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory, progress=stop_after(50))
    assert Path("C.npy").read_bytes() == b"old"
    finish(memory, want)
    assert os.stat("C.npy").st_mode & 0o777 == 0o600


def test_arrays_are_known_by_their_content(pair, monkeypatch):
    want, memory = pair
    reporting(monkeypatch)
    A = np.load("A.npy")
    with pytest.raises(Stop):
        hs.matmul_files(A, "B.npy", "C.npy", memory=memory, progress=stop_after(150))
    assert hs.matmul_files(A.copy(), "B.npy", "C.npy", memory=memory).resumed > 0
    np.testing.assert_array_equal(np.load("C.npy"), want)


def test_input_changed_meanwhile(pair, monkeypatch):
    _, memory = pair
    reporting(monkeypatch)

    def touch(_):
        os.utime("A.npy", ns=(1, 1))

    with pytest.raises(
        OSError, match="A .* was changed while it was read; the product is not written"
    ):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory, progress=touch)
    assert not os.path.exists("C.npy")


@pytest.mark.few(1)
@pytest.mark.parametrize("how", REPLACED)
def test_input_replaced_meanwhile(pair, how, monkeypatch):
    """With the times of the old one."""
    _, memory = pair
    reporting(monkeypatch)
    status = os.stat("A.npy")
    shutil.copy2("A.npy", "new")

    def replace(_):
        if os.path.exists("new"):
            REPLACED[how]("A.npy")
            os.utime("A.npy", ns=(status.st_atime_ns, status.st_mtime_ns))
            Path("new").unlink(missing_ok=True)

    # short for a moment in which cp writes
    with pytest.raises(OSError, match="A .* was (changed|cut short) while it was read"):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory, progress=replace)
    assert not os.path.exists("C.npy")


@pytest.mark.few(1)
@pytest.mark.parametrize("function", ["pwrite", "write"])
def test_disk_full_in_the_middle(pair, monkeypatch, function):
    """What is done is kept, of the tiles as of the journal."""
    want, memory = pair
    true, add, left, tiles = getattr(os, function), Journal.add, [80], []

    def full(*arguments):
        left[0] -= 1
        # on a busy machine many blocks may be read before the first tile is written
        if left[0] < 0 and tiles:
            raise OSError(errno.ENOSPC, "No space left on device")
        return true(*arguments)

    def noted(self, matrix, number, checksum):
        add(self, matrix, number, checksum)
        if matrix == "C":
            tiles.append(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, function, full)
        patch.setattr(Journal, "add", noted)
        with pytest.raises(OSError, match="no space left; what is done is kept") as caught:
            hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    assert caught.value.errno == errno.ENOSPC
    assert finish(memory, want).resumed > 0


@pytest.mark.parametrize("how", ["usage", "reservation"])
def test_disk_full_at_the_start(pair, monkeypatch, how):
    _, memory = pair
    if how == "usage":
        monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
    else:

        def refuse(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match="(?i)no space left"):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy"]


@pytest.mark.few(1)
@pytest.mark.parametrize("function", ["preadv", "pwrite"])
def test_failing_disk(pair, monkeypatch, function):
    """An error on the other threads is raised, and nothing hangs."""
    want, memory = pair
    true, left = getattr(os, function), [40]

    def fail(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.EIO, "Input/output error")
        return true(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(OSError, match="Input/output error"):
            hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    finish(memory, want)


def test_one_writer_at_a_time(pair):
    want, memory = pair
    held = Journal("C.npy.journal", "C.npy")
    with pytest.raises(BlockingIOError, match="another process is writing it"):
        hs.matmul_files("A.npy", "B.npy", "C.npy", memory=memory)
    held.remove()
    held.close()
    finish(memory, want)


def test_journal(tmp_path):
    journal = Journal("j", "C")
    assert journal.read() == (None, {})
    journal.start()
    assert journal.read() == ({}, {})
    journal.describe({"x": 1})
    journal.add("A", 3, 12345)
    journal.add("C", 3, 0)
    assert journal.read() == ({"x": 1}, {("A", 3): 12345, ("C", 3): 0})
    content = Path("j").read_bytes()
    for end in range(len(content)):  # killed at any byte
        Path("k").write_bytes(content[:end])
        other = Journal("k", "C")
        header, tiles = other.read()
        assert header in (None, {}, {"x": 1})
        assert set(tiles.items()) <= {(("A", 3), 12345), (("C", 3), 0)}
        if header:
            other.add("B", 5, zlib.crc32(b""))
            assert other.read()[1]["B", 5] == 0
        other.close()
    journal.start()
    journal.describe({"y": 2})
    assert journal.read() == ({"y": 2}, {})
    journal.close()


# ---- in a process of its own ----


def child(code, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


PRODUCT = """
    import hetsched as hs
    from hetsched.files import plan as files_plan
    files_plan.RESERVE = 0
    print("ready", flush=True)
    hs.matmul_files("A.npy", "B.npy", "C.npy", memory=2_000_000)
"""


def test_killed_at_any_moment():
    """Each time there is no output or a resumable one; in the end the product is right."""
    A, B = integers((700, 600), float, 1), integers((600, 800), float, 2)
    np.save("A.npy", A)
    np.save("B.npy", B)
    rng = random.Random(0)
    for _ in range(many(5, 3)):
        process = child(PRODUCT)
        process.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, 0.12))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if os.path.exists("C.npy"):
            np.testing.assert_array_equal(np.load("C.npy"), A @ B)
            os.unlink("C.npy")
    process = child(PRODUCT)
    assert process.communicate()[1] == ""
    np.testing.assert_array_equal(np.load("C.npy"), A @ B)
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy"]


@pytest.mark.slow
def test_interrupted_command():
    """Ctrl-C: status 130, words, and the same command goes on."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1500, 1500))
    np.save("A.npy", A)
    command = [
        sys.executable,
        "-m",
        "hetsched",
        "run",
        "A.npy",
        "A.npy",
        "-o",
        "C.npy",
        "--memory",
        "12M",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 20
    while time.monotonic() < limit and process.poll() is None:
        if os.path.exists("C.npy.journal") and b"\nC " in Path("C.npy.journal").read_bytes():
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.002)
    out, error = process.communicate(timeout=20)
    if process.returncode == 0:
        pytest.skip("it was faster")
    assert process.returncode == 130
    assert error == "hetsched: interrupted; run the same command again to continue\n"
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "resumed: " in result.stdout
    np.testing.assert_allclose(np.load("C.npy"), A @ A, atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize("kind", ["npy", "converted", "map"])
def test_peak_memory(kind):
    """Files of 5 times the memory; the peak beside what the process has before stays below what is
    allowed and predicted."""
    m, n, k = 2000, 1600, 1800
    np.save("A.npy", np.ones((m, k), np.float32 if kind == "converted" else float, order="F"))
    np.save("B.npy", np.full((k, n), 2.0))
    process = child(f"""
        import numpy as np, hetsched as hs
        def status(key):
            with open("/proc/self/status") as file:
                return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))
        A = np.load("A.npy", mmap_mode="r") if {kind!r} == "map" else "A.npy"
        pool = hs.Pool(2)
        before = status("VmRSS")
        done = hs.matmul_files(A, "B.npy", "C.npy", memory="16M", pool=pool)
        print(status("VmHWM") - before, done.plan.peak)
    """)
    out, error = process.communicate()
    assert error == ""
    measured, predicted = map(int, out.split())
    assert measured <= predicted <= 16 * 2**20
    C = np.load("C.npy", mmap_mode="r")
    assert C.min() == C.max() == 2.0 * k


# ---- the command ----


def test_command(capsys):
    A, B = integers((50, 60), np.int32, 1), integers((60, 70), np.int32, 2)
    np.save("A.npy", A)
    np.save("B.npy", B)
    assert (
        cli.main(["run", "A.npy", "B.npy", "-o", "C.npy", "--memory", "8M", "--dtype", "float32"])
        == 0
    )
    np.testing.assert_array_equal(np.load("C.npy"), A @ B)
    out = capsys.readouterr().out
    for words in (
        "C (50 x 70) = A (50 x 60) B (60 x 70), float32",
        "plan: 1 x 1 tiles of 50 x 70",
        "predicted peak",
        "gap 0.0%",
        "C.npy: 50 x 70 float32",
        "GFLOP/s",
        "peak memory",
    ):
        assert words in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "1K"], "memory of 1024 bytes is too little"),
        (["--memory", "8M", "--emulate"], "--emulate is for products in memory"),
        (["--memory", "8M", "--trace", "t.json"], "--trace is for products in memory"),
        (["--memory", "8M", "--method", "rows"], "--method is for products in memory"),
        (["--memory", ""], "memory must be a number of bytes or a text"),
        (["--memory", "8M", "--dtype", "double32"], "dtype must be one of float32, float64"),
        (["--dtype", "float32"], "--dtype needs --memory"),
    ],
)
def test_command_errors(capsys, options, words):
    np.save("A.npy", np.ones((5, 5)))
    assert cli.main(["run", "A.npy", "A.npy", "-o", "C.npy", *options]) == 1
    assert words in capsys.readouterr().err
    assert os.listdir(".") == ["A.npy"]
