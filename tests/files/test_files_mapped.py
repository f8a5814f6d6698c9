"""Memory maps of files: the product has the array's own numbers, whatever has the file's name by
now."""

import os
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.files import mapped, matrices
from hetsched.files.stored import STAGE, Held, Raw

A = np.arange(12.0).reshape(3, 4)
LINUX = pytest.mark.skipif(
    not os.path.exists("/proc/self/maps"), reason="what is mapped is known on Linux alone"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", A)
    np.save("fortran.npy", np.asfortranarray(A))


def opened(array):
    """The numbers that products read, and how."""
    with ExitStack() as stack:
        matrix = matrices.open_matrix("A", array, 0, stack)
        (rows, cols), stage = matrix.shape, np.empty(STAGE, np.uint8)
        found = matrix.read(
            (0, rows), (0, cols), np.empty(rows * cols, matrix.dtype), stage, lambda: False
        ).copy()
        assert matrix.unchanged()
        return found, matrix


def product(array):
    out = np.empty(array.shape)
    hs.matmul_files(array, np.eye(array.shape[1]), out, memory="16M")
    return out


VIEWS = {
    "whole": lambda a: a,
    "rows": lambda a: a[1:],
    "a row": lambda a: a[1:2],
    "transposed": lambda a: a.T,
    "last": lambda a: a[-1:],
    "part": lambda a: a[:, 1:3],
    "steps": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "both backwards": lambda a: a[::-1, ::-1],
    "a column": lambda a: a[:, 1:2],
    "nothing": lambda a: a[1:1],
}


def replaced():
    np.save("next.npy", A + 100)
    os.replace("next.npy", "A.npy")


def same_size():
    Path("A.npy").unlink()
    Path("A.npy").write_bytes(b"\xff" * (128 + A.nbytes))


def empty():
    Path("A.npy").unlink()
    Path("A.npy").touch()


def linked():
    os.rename("A.npy", "old.npy")
    np.save("B.npy", A + 100)
    os.symlink("B.npy", "A.npy")


def swapped():
    np.save("B.npy", A + 100)
    os.rename("A.npy", "C.npy")
    os.rename("B.npy", "A.npy")
    os.rename("C.npy", "B.npy")


CHANGES = {
    "replaced": replaced,
    "removed": lambda: os.remove("A.npy"),
    "renamed": lambda: os.rename("A.npy", "B.npy"),
    "of the same size": same_size,
    "an empty one": empty,
    "a link": linked,
    "swapped": swapped,
    "a folder": lambda: (os.remove("A.npy"), os.mkdir("A.npy")),
    "a pipe": lambda: (os.remove("A.npy"), os.mkfifo("A.npy")),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("change", CHANGES)
def test_another_file_of_that_name(change, mode):
    array = np.load("A.npy", mmap_mode=mode)
    CHANGES[change]()
    for view in VIEWS.values():
        found, matrix = opened(view(array))
        np.testing.assert_array_equal(found, view(A))
        assert isinstance(matrix, Held)
        assert matrix.path is None
    np.testing.assert_array_equal(product(array), A)


@LINUX
@pytest.mark.parametrize("path", ["A.npy", "fortran.npy"])
def test_the_file_itself(path):
    """Contiguous lines are read as a file: pages of the map would count as the process's memory."""
    array = np.load(path, mmap_mode="r")
    for view in VIEWS.values():
        found, matrix = opened(view(array))
        np.testing.assert_array_equal(found, view(array))
        assert isinstance(matrix, Raw if view(array).flags.forc and view(array).size else Held)
        assert matrix.path == (os.path.abspath(path) if view(array).size else None)
    np.testing.assert_array_equal(product(array), A)


def from_file_object(mode):
    with open("A.npy", "rb+") as file:
        return np.memmap(file, float, mode, 128, (3, 4))


def from_path(mode):
    return np.memmap(Path("A.npy"), float, mode, 128, (3, 4))


def from_another_folder(mode):
    """The name that NumPy makes of the relative one is that of another file."""
    with open("A.npy", "rb+") as file:
        os.mkdir("other")
        os.chdir("other")
        np.save("A.npy", A + 100)
        return np.memmap(file, float, mode, 128, (3, 4))


def after_a_change_of_folder(mode):
    array = np.memmap("A.npy", float, mode, 128, (3, 4))
    os.mkdir("other")
    os.chdir("other")
    np.save("A.npy", A + 100)
    return array


def without_a_name(mode):
    with open(os.open("A.npy", os.O_RDWR), "rb+") as file:
        return np.memmap(file, float, mode, 128, (3, 4))


def through_a_hard_link(mode):
    os.link("A.npy", "link.npy")
    array = np.memmap("link.npy", float, mode, 128, (3, 4))
    os.remove("A.npy")
    return array


def through_a_symbolic_link(mode):
    os.symlink("A.npy", "link.npy")
    return np.memmap("link.npy", float, mode, 128, (3, 4))


def far_into_the_file(mode):
    """Beyond the first page of the file, and of the map."""
    with open("long.npy", "wb") as file:
        file.write(b"\xff" * 9000 + A.tobytes() + b"\xff" * 9000)
    return np.memmap("long.npy", float, mode, 9000, (3, 4))


def big_endian(mode):
    A.astype(">f8").tofile("big")
    return np.memmap("big", ">f8", mode, 0, (3, 4))


def of_bytes_alone(mode):
    """The map is a field of another array's bytes."""
    return np.load("A.npy", mmap_mode=mode).view(np.uint8).view(float)


MADE = [
    from_file_object,
    from_path,
    from_another_folder,
    after_a_change_of_folder,
    without_a_name,
    through_a_hard_link,
    through_a_symbolic_link,
    far_into_the_file,
    big_endian,
    of_bytes_alone,
]


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("make", MADE)
def test_ways_to_map(make, mode):
    array = make(mode)
    for view in VIEWS.values():
        found, _ = opened(view(array))
        np.testing.assert_array_equal(found, view(A))
    np.testing.assert_array_equal(product(array), A)


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_changes_in_memory(mode):
    """Those that the file has not yet, and those that it will never have."""
    array = np.load("A.npy", mmap_mode=mode)
    array[1] = 77
    want = np.vstack([A[0], np.full(4, 77.0), A[2]])
    np.testing.assert_array_equal(opened(array)[0], want)
    np.testing.assert_array_equal(product(array), want)
    np.testing.assert_array_equal(np.load("A.npy"), want if mode == "r+" else A)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("size", [0, 100, 128 + A.nbytes - 1])
def test_a_file_that_was_cut_short(mode, size):
    """To read what is no longer there ends the process with a signal."""
    array = np.load("A.npy", mmap_mode=mode)
    os.truncate("A.npy", size)
    with pytest.raises(
        ValueError, match=f"^A is cut short: {128 + A.nbytes} bytes were expected, it has {size}"
    ):
        hs.matmul_files(array, np.eye(4), "C.npy", memory="16M")
    assert sorted(os.listdir()) == ["A.npy", "fortran.npy"]


def test_a_file_that_has_grown():
    array = np.load("A.npy", mmap_mode="r")
    with open("A.npy", "ab") as file:
        file.write(b"more")
    np.testing.assert_array_equal(product(array), A)


def test_what_is_no_map_of_it():
    """Results of operations are memmaps to NumPy, and copies have the attributes of what they were
    copied from."""
    array = np.load("A.npy", mmap_mode="r")
    for other in (
        array + 1,
        array.copy(),
        np.array(array, subok=True),
        array.astype("f4"),
        np.asarray(array),
    ):
        found, matrix = opened(other)
        np.testing.assert_array_equal(found, other)
        assert isinstance(matrix, Held)


@pytest.mark.parametrize(
    "content", [None, "", "7f0000000000-7f0000001000 r--p 00000000 00:00 0 \n"]
)
def test_a_system_that_does_not_say(monkeypatch, content):
    if content is not None:
        Path("maps").write_text(content)
    monkeypatch.setattr(mapped, "_MAPS", "maps")
    array = np.load("A.npy", mmap_mode="r")
    found, matrix = opened(array)
    np.testing.assert_array_equal(found, A)
    assert isinstance(matrix, Held)


@LINUX
@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a file system in memory")
def test_a_file_system_in_memory():
    path = Path(f"/dev/shm/hetsched-{os.getpid()}.npy")
    try:
        np.save(path, A)
        found, matrix = opened(np.load(path, mmap_mode="r"))
        np.testing.assert_array_equal(found, A)
        assert isinstance(matrix, Raw)
    finally:
        path.unlink()


@LINUX
def test_names_with_anything_in_them():
    for name in (" a  b ", "new\nline", "(deleted)", "a (deleted)", "\\012", "\udcff"):
        Path(name).write_bytes(bytes(128) + A.tobytes())
        array = np.memmap(name, float, "r", 128, (3, 4))
        found, matrix = opened(array)
        np.testing.assert_array_equal(found, A)
        assert isinstance(matrix, Raw)
        os.remove(name)
        assert isinstance(opened(array)[1], Held)


@pytest.mark.parametrize("mode", ["r", "c"])
def test_the_product_in_the_place_of_the_mapped_file(mode):
    before = Path("A.npy").read_bytes()
    array = np.load("A.npy", mmap_mode=mode)
    for view in (array, array[:, ::2]):
        with pytest.raises(ValueError, match="out and A are the same file"):
            hs.matmul_files(view, np.eye(view.shape[1]), "A.npy", memory="16M")
    assert Path("A.npy").read_bytes() == before


def test_a_map_of_the_operand_under_another_name():
    """The map of a file that was renamed still writes to it."""
    np.save("X.npy", A)
    out = np.load("X.npy", mmap_mode="r+")
    os.rename("X.npy", "Y.npy")
    for argument, operands in (
        ("A", ("Y.npy", np.eye(A.shape[1]))),
        ("B", (np.eye(len(A)), "Y.npy")),
    ):
        with pytest.raises(ValueError, match=f"^out and {argument} are the same file"):
            hs.matmul_files(*operands, out, memory="16M")
    np.testing.assert_array_equal(np.load("Y.npy"), A)


@pytest.mark.parametrize("size", [0, 128, 128 + A.nbytes - 1])
def test_an_output_that_was_cut_short(size):
    """To write to it would kill the process."""
    np.save("X.npy", A)
    out = np.load("X.npy", mmap_mode="r+")
    os.truncate("X.npy", size)
    with pytest.raises(ValueError, match="^out is cut short"):
        hs.matmul_files(A, np.eye(A.shape[1]), out, memory="16M")


@pytest.mark.slow
def test_interrupted_products_go_on(monkeypatch):
    """The journal knows the operand again, mapped in another process or read from the file of that
    name."""
    from hetsched.files import plan

    monkeypatch.setattr(plan, "RESERVE", 0)
    np.save("A.npy", np.arange(1600.0).reshape(40, 40))
    program = """
    import os, sys, numpy as np, hetsched as hs
    from hetsched.files import plan, product
    plan.RESERVE = 0
    write, count = product.Raw.write, [0]
    def die(*arguments):
        write(*arguments)
        count[0] += 1
        if count[0] == 3:
            os._exit(3)
    product.Raw.write = die
    hs.matmul_files(np.load("A.npy", mmap_mode="r"), np.eye(40), "C.npy", memory=int(sys.argv[1]))
    """
    with pytest.raises(hs.InfeasibleError) as least:
        hs.plan_files("A.npy", np.eye(40), "C.npy", memory=1)
    memory = int(str(least.value).split("at least ")[1].split()[0]) + 1000
    assert (
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(memory)], timeout=120
        ).returncode
        == 3
    )
    done = hs.matmul_files(np.load("A.npy", mmap_mode="r"), np.eye(40), "C.npy", memory=memory)
    assert done.resumed > 0
    np.testing.assert_array_equal(np.load("C.npy"), np.load("A.npy"))


def test_a_mapped_file_that_changes_meanwhile():
    array = np.load("A.npy", mmap_mode="r")
    with ExitStack() as stack:
        matrix = matrices.open_matrix("A", array, 0, stack)
        assert matrix.unchanged()
        os.utime("A.npy")
        assert not matrix.unchanged()
