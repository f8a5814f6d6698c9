"""Files that are written: what cannot be replaced, and what the same call reads, is refused before the work."""

import errno
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched._base import replace
from hetsched.cli import bench, measure, planning
from hetsched.cli import main as cli
from hetsched.cli import run as cli_run
from hetsched.files import product

A, B = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(4, 2)
PLATFORM = hs.Platform.star([2, 3])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", A)
    np.save("B.npy", B)
    PLATFORM.save("p.toml")


def state():
    """Names, contents and what each file is."""
    files = sorted(path for path in Path(".").rglob("*") if not path.is_dir())
    return [(str(path), path.lstat().st_ino, path.lstat().st_mode, path.is_file() and path.read_bytes()) for path in files]


def work(*_args, **_options):
    raise AssertionError("the work was begun")


#: What writes after long work: the suffix of its file, what it does first, and how it is called. Commands that fail return 1.
WRITERS = {
    "files": (".npy", (product, "Journal"), lambda out: hs.matmul_files(A, B, out, memory="16M")),
    "files, HDF5": (".h5", (product, "Journal"), lambda out: hs.matmul_files(A, B, out, memory="16M")),
    "run": (".npy", (cli_run, "read_matrix"), lambda out: cli.main(["run", "A.npy", "B.npy", "-o", out])),
    "run --memory": (
        ".npy", (product, "Journal"), lambda out: cli.main(["run", "A.npy", "B.npy", "-o", out, "--memory", "16M"])
    ),
    "run --trace": (
        ".json", (cli_run, "read_matrix"), lambda out: cli.main(["run", "A.npy", "B.npy", "-o", "D.npy", "--trace", out])
    ),
    "study": (".csv", None, lambda out: hs.study(work, {"x": [1]}, path=out)),
    "bench": (".json", (bench, "_timed"), lambda out: cli.main(["bench", "-o", out])),
    "measure": (".toml", (measure.measuring, "measure"), lambda out: cli.main(["measure", "-o", out])),
    "plan --plot": (
        ".svg", (planning, "plan_matmul"), lambda out: cli.main(["plan", "6", "6", "6", "--platform", "p.toml", "--plot", out])
    ),
    "platform": (".toml", None, PLATFORM.save),
}  # fmt: skip


def read_only(path, monkeypatch):
    path.chmod(0o444)


def mount_point(path, monkeypatch):
    """As the system lists one; with spaces in its name as octal numbers."""
    name = str(path.resolve()).replace(" ", "\\040")
    line = f"36 35 98:0 /a {name} rw,noatime master:1 - ext4 /dev/root rw\n"
    Path("mounts").write_text("23 28 0:22 / /proc rw - proc proc rw\n" + line)
    monkeypatch.setattr(replace, "_MOUNTS", "mounts")


def another_users(path, monkeypatch):
    """In a folder such as /tmp only the owners may rename a file to one that is there."""
    path.parent.chmod(0o1777)
    path.chmod(0o666)
    user = os.geteuid() + 12345
    monkeypatch.setattr(os, "geteuid", lambda: user)


def closed_folder(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda where, mode: Path(where).resolve() != path.parent.resolve() or not mode & os.W_OK)


def unwritable(path, monkeypatch):
    """The superuser may write all files but those that cannot change, on a file system that is mounted read-only for instance."""
    real = os.open

    def refusing(name, flags, *more, **options):
        if Path(name).resolve() == path.resolve() and flags & os.O_WRONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)
        return real(name, flags, *more, **options)

    monkeypatch.setattr(os, "open", refusing)


OBSTACLES = {
    "read-only": (read_only, PermissionError, "is read-only"),
    "mount point": (mount_point, OSError, "is a mount point, which cannot be replaced"),
    "another user's": (another_users, PermissionError, "it is another user's"),
    "closed folder": (closed_folder, PermissionError, "its folder cannot be written to"),
    "unwritable": (unwritable, OSError, "Read-only file system"),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize(("writer", "linked"), [*((writer, False) for writer in WRITERS), ("files", True), ("platform", True)])
def test_what_cannot_be_replaced(monkeypatch, capsys, writer, obstacle, linked):
    suffix, first, write = WRITERS[writer]
    hinder, error, words = OBSTACLES[obstacle]
    os.mkdir("a folder")
    out = there = f"a folder/C{suffix}"
    Path(there).write_bytes(b"")
    if linked:
        out = f"link{suffix}"
        Path(out).symlink_to(there)
    if writer == "study":  # of a study that is complete the file is read
        Path(f"{out}.journal").touch()
    if first is not None:
        monkeypatch.setattr(*first, work)
    hinder(Path(there), monkeypatch)
    before = state()
    try:
        failed = write(out)
    except error as caught:
        text = str(caught)
    else:
        assert failed == 1
        text = capsys.readouterr().err
    assert words in text
    assert out in text
    assert state() == before


def test_complete_studies_are_read_where_they_cannot_be_written():
    pytest.importorskip("pandas")
    hs.study(lambda x: x, {"x": [1]}, path="C.csv")
    os.chmod("C.csv", 0o444)
    assert hs.study(lambda x: x, {"x": [1]}, path="C.csv")["value"].tolist() == [1]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
@pytest.mark.parametrize("place", ["the same file system", "another file system"])
def test_a_bind_mount(place):
    """As in a container with docker -v file:file: nothing is begun, and the file is as it was."""
    Path("C 1.npy").write_bytes(b"old")
    program = """
    import hetsched as hs, numpy as np
    try:
        hs.matmul_files(np.eye(3), np.eye(3), "C 1.npy", memory="16M")
    except OSError as error:
        print(error)
    """
    other = Path("host.npy") if place == "the same file system" else Path("/dev/shm") / f"hetsched-{os.getpid()}.npy"
    other.write_bytes(b"old")
    try:
        mount = 'mount --bind "$0" "C 1.npy" && exec "$1" -c "$2"'
        command = ["unshare", "-m", "sh", "-c", mount, str(other), sys.executable, textwrap.dedent(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if "not permitted" in done.stderr or "denied" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stderr
        assert "C 1.npy" in done.stdout
        assert "is a mount point" in done.stdout
        assert other.read_bytes() == b"old"
    finally:
        other.unlink()
    assert not list(Path(".").glob("C 1.npy.*"))


# ---- what is read ----

NAMES = {
    "the name": lambda path: path,
    "another way": lambda path: f"{Path('..') / Path.cwd().name / path}",
    "absolute": os.path.abspath,
    "symbolic link": lambda path: os.symlink(path, f"link{Path(path).suffix}") or f"link{Path(path).suffix}",
    "hard link": lambda path: os.link(path, f"link{Path(path).suffix}") or f"link{Path(path).suffix}",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [(), ("--memory", "16M")])
@pytest.mark.parametrize("argument", ["A", "B"])
def test_the_product_in_the_place_of_an_operand(capsys, argument, memory, name):
    out = NAMES[name](f"{argument}.npy")
    before = state()
    assert cli.main(["run", "A.npy", "B.npy", "-o", out, *memory]) == 1
    assert f"{'out' if memory else '--output'} and {argument} are the same file" in capsys.readouterr().err
    assert state() == before


@pytest.mark.parametrize("option", [("A", "A.npy"), ("B", "B.npy"), ("--platform", "p.toml")])
def test_a_trace_in_the_place_of_what_is_read(capsys, option):
    argument, path = option
    os.symlink(path, "t.json")
    before = state()
    assert cli.main(["run", "A.npy", "B.npy", "-o", "C.npy", "--platform", "p.toml", "--trace", "t.json"]) == 1
    assert f"--trace and {argument} are the same file" in capsys.readouterr().err
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", ["path", "dataset"])
@pytest.mark.parametrize("chunks", [None, (2, 2)])
def test_the_product_in_the_place_of_a_dataset(chunks, given, name):
    h5py = pytest.importorskip("h5py")
    with h5py.File("X.h5", "w") as file:
        file.create_dataset("C", data=A, chunks=chunks)
    out = NAMES[name]("X.h5")
    before = state()
    with h5py.File("X.h5", "r") as file, pytest.raises(ValueError, match="out and A are the same file"):
        hs.matmul_files("X.h5:C" if given == "path" else file["C"], B, out, memory="16M")
    assert state() == before
