"""Files from outside that are not what they should be: each kind, damaged or replaced in every way,
is read or refused with an error that names it; no reader waits for ever, and none takes memory that
the size of its file does not justify.
"""

from __future__ import annotations

import os
import re
import resource
import socket
import struct
import zlib
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from trees import V2_MOUNT, Tree

import hetsched as hs
from hetsched.cli import bench, study
from hetsched.files.matrices import read_matrix
from hetsched.machine.topology import topology

FLIPS = 60  # bits of each kind of file
ROOM = 2**30  # bytes of memory beside what the process has

DESCRIPTION = """model = "two kinds"
[[domain]]
cpus = "0-3"
kind = "performance"
l2 = 1048576
[[domain]]
cpus = "4-11"
kind = "efficiency"
"""


def a_matrix():
    return np.random.default_rng(0).integers(-9, 10, (12, 7)).astype(float)


def save_platform(path):
    hs.Platform.star(
        [2, 3, 4],
        [1, 2, 1],
        memory=[12, 21, None],
        names=["a", "b", "c"],
        unit=hs.Unit.block_update(80),
    ).save(path)


def save_plan(path):
    hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]), budget=0).save(path)


def save_hwloc(path):
    path.write_bytes((Path(__file__).parents[1] / "machine/lstopo/rk3588.xml").read_bytes())


def save_npy(path):
    np.save(path, a_matrix())


def save_hdf5(path, **options):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=a_matrix(), **options)


def save_old_mat(path, compressed=False):
    pytest.importorskip("scipy.io").savemat(
        path, {"a": a_matrix() + 0.5j}, do_compression=compressed
    )


def save_text(text):
    return lambda path: path.write_text(text)


def read_a(path):
    return read_matrix("A", str(path))


BENCH = (
    '{"format": "hetsched bench 1", "seconds": {"matmul 500": {"hetsched": 0.01, "NumPy": 0.02}}}'
)
STUDY = 'study = "rings"\nseed = 3\n[grid]\nx = [1, 2.5, "a"]\n'
#: Name of the file -> how it is made, how it is read, and whether bits are flipped in it: not where
#: a library in C reads it all.
KINDS = {
    "platform.json": (save_platform, hs.Platform.load, True),
    "platform.toml": (save_platform, hs.Platform.load, True),
    "plan.json": (save_plan, hs.Plan.load, False),  # tests/files/test_plan_files.py has more
    "machine.toml": (save_text(DESCRIPTION), topology, True),
    "machine.xml": (save_hwloc, topology, True),
    "a.npy": (save_npy, read_a, True),
    "layer.npy": (save_npy, lambda path: hs.LayerFiles([path]).sum(), True),
    "a.h5": (save_hdf5, read_a, False),
    "chunked.h5": (partial(save_hdf5, chunks=(5, 4), compression="gzip"), read_a, False),
    "a.mat": (save_old_mat, read_a, True),
    "compressed.mat": (partial(save_old_mat, compressed=True), read_a, True),
    "study.toml": (save_text(STUDY), study._read, True),
    "bench.json": (save_text(BENCH), bench._read, True),
}


@pytest.fixture(autouse=True)
def _little_memory():
    """What takes more is a MemoryError."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def mutants(whole, flips):
    """Other contents for a file."""
    rng = Random(0)
    yield from (
        b"",
        b"\0",
        b"\n",
        bytes(len(whole)),
        whole * 2,
        whole[::-1],
        whole.replace(b"1", b"9" * 5000),
        whole[:-1],
    )
    yield from (whole[: rng.randrange(len(whole))] for _ in range(12))
    yield from (
        whole[: (place := rng.randrange(len(whole)))] + b"\0" * 8 + whole[place:] for _ in range(6)
    )
    text = whole.decode("latin-1")
    yield from (text.encode(code) for code in ("utf-8", "utf-16", "utf-32", "utf-8-sig"))
    yield from (
        b"[" * 50_000,
        b'{"a":' * 50_000,
        b"<a>" * 50_000,
        b"a=[" * 50_000,
        b"[" + b"a." * 9999 + b"a]",
        b"1" * 9999,
    )
    for _ in range(flips):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        yield bytes(damaged)


def refused(read, path):
    """Whether it is; fails for an error of another kind, and for one that does not say which file
    it is."""
    error = None
    try:
        read(path)
    except (ValueError, TypeError, OSError) as caught:
        error = str(caught)
    assert error is None or path.name in error
    return error is not None


@pytest.mark.few(2)
@pytest.mark.filterwarnings("ignore:.*invalid escape")  # NumPy evaluates headers
@pytest.mark.parametrize("name", KINDS)
def test_damaged(tmp_path, name):
    make, read, flipped = KINDS[name]
    path = tmp_path / name
    make(path)
    assert not refused(read, path)
    whole = path.read_bytes()
    found = []
    for content in mutants(whole, FLIPS * flipped):
        path.write_bytes(content)
        found.append(refused(read, path))
    assert sum(found) > len(found) / 3


def socket_at(path):
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(path))


def large(path):
    with open(path, "wb") as file:
        file.truncate(2**36)


#: What may be in the place of a file.
OTHERS = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": socket_at,
    "a device without end": lambda path: path.symlink_to("/dev/zero"),
    "a device without content": lambda path: path.symlink_to("/dev/null"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a large file": large,
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", KINDS)
def test_something_else(tmp_path, monkeypatch, name, other):
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    OTHERS[other](path)
    assert refused(KINDS[name][1], path)


@pytest.mark.parametrize("name", ["platform.toml", "machine.toml", "study.toml"])
def test_long_keys(tmp_path, name):
    """Read as it is, such a key takes tomllib a minute."""
    path = tmp_path / name
    path.write_text(".".join("a" * 50_000) + " = 1\n")
    with pytest.raises(ValueError, match=f"{name}: a key has 50000 parts"):
        KINDS[name][1](path)


def told(root):
    """The number of cpus of a tree, or why it is refused; half of a list may be a list."""
    try:
        return str(topology(root).cpus)
    except ValueError as error:
        return str(error)


def test_a_tree_with_pipes(tmp_path):
    """The files of a machine that was recorded, each of them replaced."""
    tree = (
        Tree(tmp_path).cpus("0-3", "0-3").each("cpufreq/cpuinfo_max_freq", c0_3=2000000).node("0-3")
    )
    tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "200000 100000")
    whole = topology(tmp_path)
    assert (whole.cpus, whole.quota) == (4, 2.0)
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        for make in (os.mkfifo, OTHERS["a device without end"], large):
            path.unlink(missing_ok=True)
            make(path)
            with pytest.raises(OSError, match=re.escape(str(path))):
                topology(tmp_path)
        path.unlink()
        path.mkdir()
        assert topology(tmp_path).cpus == 4
        path.rmdir()
        for damaged in (
            b"",
            b"\0" * 20,
            b"9" * 10_000,
            content * 2,
            content[: len(content) // 2],
            b"\xff" * 20,
        ):
            path.write_bytes(damaged)
            assert told(tmp_path) in (
                "4",
                "1",
            ) or f"{tmp_path}: {path.relative_to(tmp_path)}" in told(tmp_path)
        path.write_bytes(content)


# ---- what a matrix says that it has ----


@pytest.mark.parametrize("compressed", [False, True])
def test_old_mat_files_of_other_elements(tmp_path, compressed):
    """Types that are none crash SciPy: where the real parts and the imaginary ones say theirs."""
    path, plain = tmp_path / "a.mat", tmp_path / "plain.mat"
    save_old_mat(plain)
    whole = plain.read_bytes()
    for place in (176, 176 + 8 + 12 * 7 * 8):  # 12 x 7 doubles lie between them
        for kind in (0, 8, 14, 15, 18, 19, 255, 65535):
            damaged = bytearray(whole)
            damaged[place : place + 2] = kind.to_bytes(2, "little")
            if compressed:
                packed = zlib.compress(damaged[128:])
                damaged[128:] = struct.pack("<II", 15, len(packed)) + packed
            path.write_bytes(damaged)
            with pytest.raises(
                ValueError,
                match=rf"A \(.*a.mat\) is not a .mat file .* its elements are of type {kind}",
            ):
                read_a(path)


def npy(path, shape, dtype, content=b""):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": dtype, "fortran_order": False, "shape": shape}
        )
        file.write(content)


@pytest.mark.parametrize("read", [read_a, KINDS["layer.npy"][1]], ids=["whole", "layer"])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((10**9, 5), "<f8"), ((5, 10**9), "<f4"), ((2**62, 2**62), "<c16"), ((2**40, 1), "|i1"),
        ((10**9, 5), "|V100"), ((10**6, 5), "<f8"),
    ],
)  # fmt: skip
def test_npy_headers_that_promise(tmp_path, shape, dtype, read):
    path = tmp_path / "a.npy"
    npy(path, shape, dtype, bytes(800))
    assert refused(read, path)


def test_npy_elements_of_no_size(tmp_path):
    path = tmp_path / "a.npy"
    npy(path, (10**9, 5), "|S0")
    with pytest.raises(TypeError, match=r"A \(.*a.npy\) has dtype \|S0; numbers are needed"):
        read_a(path)
    with pytest.raises(
        ValueError, match=r"files\[0\] \(.*a.npy\) must be a matrix of numbers, it has dtype \|S0"
    ):
        hs.LayerFiles([path])


def test_npy_files_with_holes(tmp_path):
    """A file may be larger than all memory, and take no room on a disk."""
    path = tmp_path / "a.npy"
    npy(path, (10**12, 1), "<f8")
    os.truncate(path, path.stat().st_size + 8 * 10**12)
    with pytest.raises(
        ValueError,
        match=r"A \(.*a.npy\) has 8000000000000 bytes and this computer \d+; hs.matmul_files reads",
    ):
        read_a(path)


@pytest.mark.parametrize(
    "options", [{}, {"chunks": (1000, 5)}, {"chunks": (1000, 5), "compression": "gzip"}]
)
def test_hdf5_datasets_that_promise(tmp_path, options):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("a", (10**8, 5), "f8", **options)
        if options:
            dataset[:10] = 1.0
    with pytest.raises(
        ValueError, match=r"A \(.*a.h5\) is cut short: 4000000000 bytes were expected, it has "
    ):
        read_a(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("a", (1000, 5), "f8", **options, fillvalue=2.0)
    assert (read_a(path) == 2.0).all()  # a few may be left out


# ---- what is written ----


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, socket_at, OTHERS["a device without content"]],
    ids=["pipe", "socket", "device"],
)
@pytest.mark.parametrize("name", ["p.json", "C.npy", "C.npy.partial", "C.npy.journal"])
def test_only_files_are_replaced(tmp_path, monkeypatch, make, name):
    monkeypatch.chdir(tmp_path)
    make(Path(name))
    a = np.ones((2, 2))
    write = (
        partial(hs.Platform.star([1]).save, name)
        if name == "p.json"
        else partial(hs.matmul_files, a, a, "C.npy", memory="64M")
    )
    with pytest.raises(OSError, match="is a pipe, a socket or a device, not a file"):
        write()
    assert os.listdir() == [name]
    assert not os.path.isfile(name)
