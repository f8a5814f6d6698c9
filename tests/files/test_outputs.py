"""Files that are written: what cannot be replaced, and what the same call reads, is refused before
the work."""

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
    return [
        (str(path), path.lstat().st_ino, path.lstat().st_mode, path.is_file() and path.read_bytes())
        for path in files
    ]


def work(*_args, **_options):
    raise AssertionError("the work was begun")


#: What writes after long work: the suffix of its file, what it does first, and how it is called.
#: Commands that fail return 1.
WRITERS = {
    "files": (".npy", (product, "Journal"), lambda out: hs.matmul_files(A, B, out, memory="16M")),
    "files, HDF5": (
        ".h5",
        (product, "Journal"),
        lambda out: hs.matmul_files(A, B, out, memory="16M"),
    ),
    "run": (
        ".npy",
        (cli_run, "read_matrix"),
        lambda out: cli.main(["run", "A.npy", "B.npy", "-o", out]),
    ),
    "run --memory": (
        ".npy",
        (product, "Journal"),
        lambda out: cli.main(["run", "A.npy", "B.npy", "-o", out, "--memory", "16M"]),
    ),
    "run --trace": (
        ".json",
        (cli_run, "read_matrix"),
        lambda out: cli.main(["run", "A.npy", "B.npy", "-o", "D.npy", "--trace", out]),
    ),
    "study": (".csv", None, lambda out: hs.study(work, {"x": [1]}, path=out)),
    "bench": (".json", (bench, "_timed"), lambda out: cli.main(["bench", "-o", out])),
    "measure": (
        ".toml",
        (measure.measuring, "measure"),
        lambda out: cli.main(["measure", "-o", out]),
    ),
    "plan --plot": (
        ".svg",
        (planning, "plan_matmul"),
        lambda out: cli.main(["plan", "6", "6", "6", "--platform", "p.toml", "--plot", out]),
    ),
    "platform": (".toml", None, PLATFORM.save),
}


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
    monkeypatch.setattr(
        os,
        "access",
        lambda where, mode: Path(where).resolve() != path.parent.resolve() or not mode & os.W_OK,
    )


def unwritable(path, monkeypatch):
    """The superuser may write all files but those that cannot change, on a file system that is
    mounted read-only for instance."""
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
@pytest.mark.parametrize(
    ("writer", "linked"),
    [*((writer, False) for writer in WRITERS), ("files", True), ("platform", True)],
)
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


@pytest.mark.slow
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
    other = (
        Path("host.npy")
        if place == "the same file system"
        else Path("/dev/shm") / f"hetsched-{os.getpid()}.npy"
    )
    other.write_bytes(b"old")
    try:
        mount = 'mount --bind "$0" "C 1.npy" && exec "$1" -c "$2"'
        command = [
            "unshare",
            "-m",
            "sh",
            "-c",
            mount,
            str(other),
            sys.executable,
            textwrap.dedent(program),
        ]
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
    "symbolic link": lambda path: (
        os.symlink(path, f"link{Path(path).suffix}") or f"link{Path(path).suffix}"
    ),
    "hard link": lambda path: (
        os.link(path, f"link{Path(path).suffix}") or f"link{Path(path).suffix}"
    ),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [(), ("--memory", "16M")])
@pytest.mark.parametrize("argument", ["A", "B"])
def test_the_product_in_the_place_of_an_operand(capsys, argument, memory, name):
    out = NAMES[name](f"{argument}.npy")
    before = state()
    assert cli.main(["run", "A.npy", "B.npy", "-o", out, *memory]) == 1
    assert (
        f"{'out' if memory else '--output'} and {argument} are the same file"
        in capsys.readouterr().err
    )
    assert state() == before


@pytest.mark.parametrize("option", [("A", "A.npy"), ("B", "B.npy"), ("--platform", "p.toml")])
def test_a_trace_in_the_place_of_what_is_read(capsys, option):
    argument, path = option
    os.symlink(path, "t.json")
    before = state()
    assert (
        cli.main(
            ["run", "A.npy", "B.npy", "-o", "C.npy", "--platform", "p.toml", "--trace", "t.json"]
        )
        == 1
    )
    assert f"--trace and {argument} are the same file" in capsys.readouterr().err
    assert state() == before


def test_a_trace_in_the_place_of_the_product(capsys):
    os.symlink("C.npy", "t.json")
    before = state()
    for _ in range(2):
        assert (
            cli.main(
                [
                    "run",
                    "A.npy",
                    "B.npy",
                    "-o",
                    "C.npy",
                    "--platform",
                    "p.toml",
                    "--trace",
                    "t.json",
                ]
            )
            == 1
        )
        assert "--trace and --output are the same file" in capsys.readouterr().err
        assert state() == before
        np.save("C.npy", A)
        before = state()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", ["path", "dataset"])
@pytest.mark.parametrize("chunks", [None, (2, 2)])
def test_the_product_in_the_place_of_a_dataset(chunks, given, name):
    h5py = pytest.importorskip("h5py")
    with h5py.File("X.h5", "w") as file:
        file.create_dataset("C", data=A, chunks=chunks)
    out = NAMES[name]("X.h5")
    before = state()
    with (
        h5py.File("X.h5", "r") as file,
        pytest.raises(ValueError, match="out and A are the same file"),
    ):
        hs.matmul_files("X.h5:C" if given == "path" else file["C"], B, out, memory="16M")
    assert state() == before


@pytest.mark.parametrize("suffix", [".partial", ".journal"])
def test_files_beside_the_output_that_cannot_be_replaced(monkeypatch, suffix):
    path = Path(f"C.npy{suffix}")
    path.touch()
    mount_point(path, monkeypatch)
    monkeypatch.setattr(product, "Journal", work)
    with pytest.raises(OSError, match="mount point"):
        hs.matmul_files(A, B, "C.npy", memory="16M")


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("C.h5:/", "'/' is not the name"), ("C.h5:.", "'.' is not"),
        ("C.h5:a\0b", "is not the name"), ("C.h5:\udcff", "text in UTF-8"),
        ("C.mat:é", "MATLAB variable"), ("C.mat:_a", "MATLAB variable"),
        ("C.mat:" + 64 * "a", "MATLAB variable"),
    ],
)  # fmt: skip
def test_names_that_no_dataset_has(out, words):
    pytest.importorskip("h5py")
    before = state()
    with pytest.raises(ValueError, match=f"^out .*{words}"):
        hs.matmul_files(A, B, out, memory="16M")
    assert state() == before


@pytest.mark.parametrize("link", ["external", "soft", "soft in a group"])
def test_links_that_would_be_lost(link):
    h5py = pytest.importorskip("h5py")
    with h5py.File("a.h5", "w") as file:
        file["A"] = A
    with h5py.File("X.h5", "w") as file:
        name = "g/l" if link == "soft in a group" else "l"
        file[name] = h5py.ExternalLink("a.h5", "/A") if link == "external" else h5py.SoftLink("/C")
    before = state()
    with pytest.raises(ValueError, match=f"also holds {name}, which would be lost"):
        hs.matmul_files(A, B, "X.h5:C", memory="16M")
    assert state() == before


def test_a_broken_file_is_not_replaced():
    pytest.importorskip("h5py")
    Path("C.h5").write_bytes(b"\x89HDF\r\n\x1a\n".ljust(1000, b"x"))
    before = state()
    with pytest.raises(ValueError, match="^out .* is not HDF5 that can be read"):
        hs.matmul_files(A, B, "C.h5", memory="16M")
    assert state() == before


def test_datasets_that_take_no_product():
    h5py = pytest.importorskip("h5py")
    with h5py.File("X.h5", "w") as file:
        closed = file.create_dataset("closed", (3, 2), "f8")
        empty = file.create_dataset("empty", data=h5py.Empty("f8"))
        time = h5py.h5d.create(
            file.id, b"time", h5py.h5t.UNIX_D64LE, h5py.h5s.create_simple((3, 2))
        )
        with pytest.raises(ValueError, match="^out has shape None"):
            hs.matmul_files(A, B, empty, memory="16M")
        with pytest.raises(TypeError, match="^out has a type of HDF5 that NumPy has not"):
            hs.matmul_files(A, B, h5py.Dataset(time), memory="16M")
    with pytest.raises(ValueError, match="^out is a dataset of a file that is closed"):
        hs.matmul_files(A, B, closed, memory="16M")


@pytest.mark.parametrize("which", ["A", "B"])
def test_a_dataset_in_memory_that_is_read(which):
    h5py = pytest.importorskip("h5py")
    with h5py.File("nowhere.h5", "w", driver="core", backing_store=False) as file:
        file["X"] = np.eye(4)
        a, b = (file["X"], np.eye(4)) if which == "A" else (np.eye(4), file["/X"])
        with pytest.raises(ValueError, match=f"^out and {which} are the same dataset"):
            hs.matmul_files(a, b, file["X"], memory="16M")


def test_a_dataset_of_a_file_that_has_lost_its_name():
    """The file is known by its descriptor: another one of its name may be read, itself by another
    name may not."""
    h5py = pytest.importorskip("h5py")
    with h5py.File("X.h5", "w") as file:
        out = file.create_dataset("C", (4, 4), "f8")
        file["A"] = np.eye(4)
        file.flush()
        os.rename("X.h5", "old.h5")
        np.save("X.npy", 3 * np.eye(4))
        os.rename("X.npy", "X.h5")
        hs.matmul_files("X.h5", np.eye(4), out, memory="16M")
        np.testing.assert_array_equal(out, 3 * np.eye(4))
        with pytest.raises(ValueError, match="^out and A are the same file"):
            hs.matmul_files("old.h5:A", np.eye(4), out, memory="16M")


def methods_with_a_path():
    plan = hs.distribute(10, PLATFORM)
    trace = hs.Trace.from_steps([(0, "compute", 0, 1, "")], ["P0"], kind="run", speeds=[1])
    grid = hs.lu_grid(4, PLATFORM)
    return {
        "Plan.save": plan.save,
        "Plan.load": hs.Plan.load,
        "Plan.save_plot": plan.save_plot,
        "Platform.save": PLATFORM.save,
        "Platform.load": hs.Platform.load,
        "Trace.to_chrome": trace.to_chrome,
        "Trace.to_csv": trace.to_csv,
        "Trace.to_html": trace.to_html,
        "Trace.to_paje": trace.to_paje,
        "LuGrid.to_chameleon": grid.to_chameleon,
        "load_checkpoint": hs.mpi.load_checkpoint,
        "study": lambda path: hs.study(work, {"x": [1]}, path=path),
    }


@pytest.mark.parametrize("given", [5, ["a"], "", b""], ids=repr)
@pytest.mark.parametrize("name", methods_with_a_path())
def test_arguments_that_are_no_path(name, given):
    kind = ValueError if isinstance(given, str | bytes) else TypeError
    with pytest.raises(kind, match=r"^path must "):
        methods_with_a_path()[name](given)


def test_a_path_as_bytes():
    PLATFORM.save(b"as_bytes.toml")
    assert hs.Platform.load(b"as_bytes.toml") == PLATFORM
