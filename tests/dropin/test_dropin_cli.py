"""`hetsched exec`, from whatever path, `hetsched measure --blas`, and what is kept of this
machine."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dropin_calls as calls
import pytest
from inputs import many

import hetsched as hs
from hetsched._engine import blas
from hetsched.cli import main as cli
from hetsched.cli import measure as measuring
from hetsched.machine import dropin, kept, least

calls.skip_without_library()


def exec_(*words, **changes):
    given = {
        key: value for key, value in os.environ.items() if not key.startswith("HETSCHED_")
    } | changes
    command = [sys.executable, "-m", "hetsched", "exec", *words]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60)


# ---- exec ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "command is missing"),
        (["--"], "command is missing"),
        (["--report"], "command is missing"),
        (["no-such-program-anywhere"], "'no-such-program-anywhere' is not found"),
        (["/etc/passwd"], "'/etc/passwd' is not found, or is not executable"),
        (["--threads", "0", "true"], "threads must be"),
        (["--threads", "-2", "true"], "threads must be"),
        (["--threads", "many", "true"], "invalid int value: 'many'"),
        (["--behind", "0", "true"], "behind must be auto, own or a number of threads, got '0'"),
        (["--behind", "all", "true"], "behind must be auto, own or a number of threads, got 'all'"),
        (["--nothing", "true"], "--nothing"),
    ],
)
def test_exec_says_what_is_wrong(words, said, monkeypatch, capsys):
    monkeypatch.setattr(os, "execvpe", lambda *arguments: pytest.fail("a program was run"))
    try:
        status = cli.main(["exec", *words])
    except SystemExit as ended:
        status = ended.code
    assert status in (1, 2)
    out, told = capsys.readouterr()
    assert out == ""
    assert said in told
    assert "Traceback" not in told


@pytest.mark.parametrize("status", many([0, 1, 7, 130], [130]))
def test_the_programs_own_status(status):
    done = exec_("--", sys.executable, "-c", f"raise SystemExit({status})")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.slow
def test_arguments_are_passed_on_as_they_are():
    words = ["--threads", "3", "--", "-x", "", "a b", "--report", "*", "$HOME"]
    done = exec_(sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert done.stdout == f"{words}\n"
    done = exec_(
        "--threads", "1", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words
    )
    assert done.stdout == f"{words}\n"


def environment_of(*words, **changes):
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    return json.loads(exec_(*words, sys.executable, "-c", program, **changes).stdout)


def test_nothing_is_said_of_the_cpus_of_another_exec():
    """What one `hetsched exec` has found out of its cpus is not that of the cpus of one inside
    it."""
    names = [
        "HETSCHED_BLAS_CORES",
        "HETSCHED_BLAS_WORKERS",
        "HETSCHED_BLAS_SPEEDS",
        "HETSCHED_BLAS_DOMAINS",
        "HETSCHED_BLAS_BLOCKS",
    ]
    outer = dict.fromkeys(names, "the outer one's")
    assert dropin.environment(given=outer) == dropin.environment(given={})


def test_the_programs_environment():
    host = hs.topology()
    found = environment_of(
        "--threads",
        "1",
        "--least",
        "gemm=5",
        "--behind",
        "own",
        "--report",
        LD_PRELOAD="/nowhere/other.so",
        KEPT="a=b",
    )
    assert found["LD_PRELOAD"] == f"{dropin.library()}:/nowhere/other.so"
    cores = host.candidates[: len(host.groups())]  # a worker may run on any of them
    assert found["HETSCHED_BLAS_CORES"] == ",".join(map(str, cores))
    assert found.get("HETSCHED_BLAS_WORKERS", "1") == "1"
    assert ("HETSCHED_BLAS_WORKERS" in found) == (len(cores) > 1)
    assert found["HETSCHED_BLAS_LEAST"] == "gemm=5"
    assert os.path.basename(found["HETSCHED_BLAS_REPORT"]).startswith("hetsched-records-")
    assert found["HETSCHED_BLAS_BEHIND"] == "own"
    assert found["KEPT"] == "a=b"
    found = environment_of()
    assert found["HETSCHED_BLAS_CORES"] == ",".join(map(str, cores))
    assert ("HETSCHED_BLAS_WORKERS" in found) == (host.most_workers < len(cores))
    assert "HETSCHED_BLAS_REPORT" not in found
    assert "HETSCHED_BLAS_EXPLAIN" not in found
    assert "HETSCHED_BLAS_BEHIND" not in found
    assert "HETSCHED_BLAS_LEAST" not in found  # nothing has been measured
    assert "HETSCHED_BLAS_SPEEDS" not in found
    found = environment_of("--threads", "100000", "--behind", "3", "--explain")
    assert found["HETSCHED_BLAS_BEHIND"] == "3"
    assert found["HETSCHED_BLAS_EXPLAIN"] == "1"
    assert found["HETSCHED_BLAS_CORES"] == ",".join(map(str, host.candidates))


def test_input_and_output_are_the_programs():
    given = "\n".join(map(str, range(1000)))
    command = [sys.executable, "-m", "hetsched", "exec", "cat"]
    assert (
        subprocess.run(command, input=given, capture_output=True, text=True, timeout=60).stdout
        == given
    )


# ---- paths ---------------------------------------------------------------------------------------

PATHS = ["a b", "a:b", "$x\tgrün\n;%d"]
SEEN = (
    "import numpy as np; A = np.eye(300); A @ A; print('libhetsched_blas' in"
    " open('/proc/self/maps').read())"
)


@pytest.fixture(scope="module")
def installations(tmp_path_factory):
    """Of this package, in folders of any name: hard links to one copy."""
    base = tmp_path_factory.mktemp("installed") / "base"
    shutil.copytree(
        Path(hs.__file__).parent, base / "hetsched", ignore=shutil.ignore_patterns("__pycache__")
    )
    compiled = Path(blas._hetsched.__file__).parent  # of an editable installation elsewhere
    shutil.copytree(compiled, base / "hetsched" / "_engine", dirs_exist_ok=True)

    def install(name):
        return shutil.copytree(
            base, tmp_path_factory.mktemp("installed") / name, copy_function=os.link
        )

    return install


def of_folder(folder):
    """The command line of the package there, not of an editable installation."""
    return f"""
import sys
editable = "ScikitBuildRedirectingFinder"
sys.meta_path = [finder for finder in sys.meta_path if type(finder).__name__ != editable]
sys.path.insert(0, {str(folder)!r})
from hetsched.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def from_folder(folder, *words, **changes):
    """`hetsched exec` of the package in that folder."""
    given = {
        key: value for key, value in os.environ.items() if not key.startswith("HETSCHED_")
    } | changes
    command = [sys.executable, "-c", of_folder(folder), "exec", *words]
    return subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_an_installation_of_any_path(installations, name):
    folder = installations(name)
    done = from_folder(folder, "--", sys.executable, "-c", SEEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    kept_links = [
        path
        for path in Path(os.environ["XDG_CACHE_HOME"], "hetsched").glob("*")
        if path.is_symlink()
    ]
    assert [os.readlink(path) for path in kept_links] == [
        str(folder / "hetsched" / "_engine" / "lib")
    ]


@pytest.mark.slow
def test_a_link_is_made_once_and_mended(installations, tmp_path):
    folder = installations("a b")
    assert from_folder(folder, "--", "true").returncode == 0
    (link,) = Path(os.environ["XDG_CACHE_HOME"], "hetsched").iterdir()
    made = os.lstat(link).st_ino
    assert from_folder(folder, "--", "true").returncode == 0
    assert os.lstat(link).st_ino == made
    link.unlink()
    link.symlink_to(tmp_path)  # somewhere else
    assert from_folder(folder, "--", sys.executable, "-c", SEEN).stdout == "True\n"
    assert [path.name for path in link.parent.iterdir()] == [link.name]
    link.unlink()
    link.write_text("")
    assert kept.keep_link(folder) != kept.keep_link(tmp_path)


@pytest.mark.slow
def test_the_users_own_preload_stays(installations):
    folder = installations("a b")
    program = "import os; print(os.environ['LD_PRELOAD'])"
    done = from_folder(
        folder, "--", sys.executable, "-c", program, LD_PRELOAD="/nowhere/x.so /nowhere/y.so"
    )
    assert done.stdout.strip().endswith("/libhetsched_blas.so:/nowhere/x.so /nowhere/y.so")


@pytest.mark.slow
def test_by_its_real_path(installations, tmp_path):
    """Where only the way to it has a space, there is a path without a link of ours."""
    folder = installations("plain")
    way = tmp_path / "a b"
    way.symlink_to(folder)
    assert from_folder(way, "--", sys.executable, "-c", SEEN).stdout == "True\n"
    assert not Path(os.environ["XDG_CACHE_HOME"], "hetsched").exists()


@pytest.mark.slow
def test_no_path_names_the_library(installations, tmp_path):
    folder = installations("a b")
    refused = {
        "set XDG_CACHE_HOME to another folder": tmp_path / "x y",
        "others can write to it": tmp_path / "open",
        "a link to it was not made": tmp_path / "file",
    }
    (tmp_path / "open" / "hetsched").mkdir(parents=True)
    (tmp_path / "open" / "hetsched").chmod(0o777)
    (tmp_path / "file").write_text("")
    for said, cache in refused.items():
        done = from_folder(folder, "--", "echo", "started", XDG_CACHE_HOME=str(cache))
        assert done.returncode == 1
        assert done.stdout == ""
        assert said in done.stderr
        assert "LD_PRELOAD cannot name" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "empty", "cut short", "another machine's"])
def test_a_library_that_does_not_load(installations, fault):
    """The program is not started without it."""
    folder = installations("plain")
    library = folder / "hetsched" / "_engine" / "lib" / "libhetsched_blas.so"
    content = library.read_bytes()
    library.unlink()
    machine = content[:18] + (0x2A).to_bytes(2, "little") + content[20:]  # SuperH
    wrong = {
        "missing": None,
        "empty": b"",
        "cut short": content[:1000],
        "another machine's": machine,
    }[fault]
    if wrong is not None:
        library.write_bytes(wrong)
    done = from_folder(folder, "--", "echo", "started")
    assert done.returncode == 1
    assert done.stdout == ""
    assert str(library) in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_process_beside_it(monkeypatch):
    """Where a user has no more processes, exec still becomes the program."""

    def refused(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "run", refused)
    assert dropin.environment(given={})["LD_PRELOAD"] == str(dropin.library())


@pytest.mark.slow
def test_a_relative_installation(installations, tmp_path):
    folder = installations("plain")
    program = (
        f"import os; os.chdir({str(tmp_path)!r}); os.execv({sys.executable!r}, [{sys.executable!r},"
        f" '-c', {SEEN!r}])"
    )
    given = {
        key: value
        for key, value in os.environ.items()
        if key != "PATH" and not key.startswith("HETSCHED_")
    }
    command = [sys.executable, "-c", of_folder("."), "exec", "--", sys.executable, "-c", program]
    done = subprocess.run(
        command, env=given, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_not_on_this_system(monkeypatch, tmp_path):
    monkeypatch.setattr(blas._hetsched, "__file__", str(tmp_path / "_hetsched.so"))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="built on Linux; this is darwin"):
        dropin.library()


# ---- measure --blas ------------------------------------------------------------------------------


def test_measure_blas(monkeypatch, capsys):
    names = [letter + routine for letter in "sdcz" for routine in ("gemm", "potrf")]
    found = dict.fromkeys(names, 1e6) | dict.fromkeys([f"alone:{name}" for name in names], 3e5)
    found |= {"dpotrf": None, "alone:sgemm": None}
    monkeypatch.setattr(measuring.least, "measured", lambda host, library: found)
    assert cli.main(["measure", "--blas", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert cli.main(["measure", "--blas"]) == 0
    tables = [
        {line.split()[0]: line.split()[1:] for line in table.splitlines()}
        for table in capsys.readouterr().out.split("the same for calls on one thread\n")
    ]
    assert [table["gemm"] for table in tables] == [["1.0e+06"] * 4, ["-", *["3.0e+05"] * 3]]
    assert [table["potrf"] for table in tables] == [
        ["1.0e+06", "-", "1.0e+06", "1.0e+06"],
        ["3.0e+05"] * 4,
    ]


@pytest.mark.slow
def test_each_function_is_measured():
    sizes = (
        "import hetsched.machine.least as least; least._SIZES = (2, 3, 4);"
        " least.compare(__import__('sys').argv[1])"
    )
    if not calls.behind("wheel64") and not calls.behind("plain32"):
        pytest.skip("NumPy has a BLAS of other names")
    given = os.environ | {"HETSCHED_BLAS_CORES": calls.two_cores(), "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", sizes, str(dropin.library())]
    done = subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    assert len(found) == 4 * len(calls.ROUTINES)
    assert {calls.usual(letter, routine) for letter in "sdcz" for routine in calls.ROUTINES} == set(
        found
    )
    assert all(value is None or value > 0 for value in found.values())


def test_what_was_measured_is_kept_for_exec(monkeypatch):
    host = hs.topology()
    answers = {None: {"dgemm": 12345.678, "zungqr": None}, "1": {"dgemm": None, "zungqr": 3e20}}

    def ran(*arguments, env, **options):
        found = answers[env.get("OPENBLAS_NUM_THREADS")]
        return subprocess.CompletedProcess([], 0, json.dumps(found), "")

    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(subprocess, "run", ran)
    assert least.kept(host) is None
    answer = {"dgemm": 12345.678, "zungqr": None, "alone:dgemm": None, "alone:zungqr": 3e20}
    assert least.measured(host, dropin.library()) == answer
    assert least.kept(host) == "dgemm=1.235e+04,zorgqr=inf,alone:dgemm=inf,alone:zorgqr=3e+20"
    assert dropin.environment(given={})["HETSCHED_BLAS_LEAST"] == least.kept(host)
    assert dropin.environment(least="7", given={})["HETSCHED_BLAS_LEAST"] == "7"
    assert least.kept(replace(host, model="another")) is None
    library = calls.load()
    before = {
        name: library.hetsched_blas_get_least(name)
        for name in (b"dgemm", b"zorgqr", b"alone:dgemm", b"alone:zorgqr")
    }
    library.hetsched_blas_set_least(least.kept(host).encode())
    found = [library.hetsched_blas_get_least(name) for name in before]
    assert found == [12350, float("inf"), float("inf"), 3e20]
    library.hetsched_blas_set_least(
        b",".join(b"%s=%a" % (name, value) for name, value in before.items())
    )


def test_a_measurement_that_fails(monkeypatch):
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda *arguments, **options: subprocess.CompletedProcess([], 1, "", "a\nwhy\n"),
    )
    with pytest.raises(OSError, match="NumPy's BLAS could not be compared with.*why"):
        least.measured(hs.topology(), dropin.library())


# ---- what is kept --------------------------------------------------------------------------------


def test_kept_is_of_one_kind_and_machine():
    host = hs.topology()
    assert kept.kept_record(host, "speeds") is None
    record = {**kept.header(host, "speeds"), "a": [1, 2.5, "x"]}
    kept.keep(record)
    assert kept.kept_record(host, "speeds") == record
    assert kept.kept_record(host, "blas") is None
    assert kept.kept_record(replace(host, quota=0.125), "speeds") is None
    kept.keep(record | {"a": 3})
    assert kept.kept_record(host, "speeds")["a"] == 3
    folder = Path(os.environ["XDG_CACHE_HOME"], "hetsched")
    assert [path.name.split("-")[0] for path in folder.iterdir()] == ["speeds"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff", b'{"format": "hetsched-blas"}', b"[" * 100_000]
)
def test_what_cannot_be_read_is_not_there(content):
    host = hs.topology()
    kept.keep({**kept.header(host, "blas"), "least": {"dgemm": 1.0}})
    assert least.kept(host) == "dgemm=1"
    (path,) = Path(os.environ["XDG_CACHE_HOME"], "hetsched").iterdir()
    path.write_bytes(content)
    assert kept.kept_record(host, "blas") is None
    assert least.kept(host) is None


@pytest.mark.parametrize("found", [None, [], "gemm", {}, {"dgemm": "x"}, 3])
def test_a_record_without_numbers(found):
    host = hs.topology()
    kept.keep({**kept.header(host, "blas"), "least": found})
    assert not least.kept(host)
    assert "HETSCHED_BLAS_LEAST" not in dropin.environment(given={})


def test_a_home_that_cannot_be_written_to(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    host = hs.topology()
    kept.keep({**kept.header(host, "blas"), "least": {"dgemm": 1.0}})
    assert kept.kept_record(host, "blas") is None


@pytest.mark.parametrize("behind", [0, -1, 1.5, "2.0", "", True])
def test_behind_that_is_none(behind):
    with pytest.raises((TypeError, ValueError), match="^behind must"):
        dropin.environment(behind=behind)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads_that_are_none(threads):
    with pytest.raises((TypeError, ValueError), match="^threads must"):
        dropin.environment(threads=threads)
