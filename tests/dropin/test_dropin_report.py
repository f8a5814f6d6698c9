"""The report of programs: records of processes however they end, their text, `exec --report`, and
`exec --explain`."""

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest
from inputs import many

from hetsched.cli import main as cli
from hetsched.machine import dropin

calls.skip_without_library()
HERE = Path(__file__).parent
TIMEOUT = 120

#: Two small products: a process that has made them has a table with two.
TWO = "import numpy as np; a = np.ones((20, 20)); a @ a; a @ a\n"


def environment(report, **changes):
    """No call is taken, so that nothing depends on the number of cores."""
    made = calls.environment(False, **{"HETSCHED_BLAS_LEAST": "inf", **changes})
    made.pop("HETSCHED_BLAS_REPORT", None)
    if report:
        made["HETSCHED_BLAS_REPORT"] = str(report)
    return made


def ran(program, report, status=0, prepare=None, **changes):
    """The standard output and error of a program that ends with this status."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment(report, **changes),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        preexec_fn=prepare,
    )
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def counted(text, name="dgemm", column="small"):
    """Calls of each process, and not of all together."""
    found = {}
    for part in re.split(r"^hetsched: calls of ", text, flags=re.M)[1:]:
        if part.startswith("process "):
            table = calls.table(part)
            found[int(part.split()[1])] = table.get(name, {}).get(column, 0)
    return found


def pids(text):
    return [int(word) for word in text.split()]


# ---- the end of a process ------------------------------------------------------------------------


def test_a_process_that_ends_by_os_exit():
    out, said = ran("import os, sys\n" + TWO + "print(os.getpid(), flush=True); os._exit(0)", 1)
    assert counted(said) == {int(out): 2}


def test_forked_processes_count_from_zero_and_have_a_table_each():
    program = f"""
import os
{TWO}
a @ a
children = [os.fork()]
if children[0] == 0:
    a @ a
    os._exit(0)
os.waitpid(children[0], 0)
children.append(os.fork())
if children[1] == 0: os._exit(0)  # without a call
os.waitpid(children[1], 0)
print(os.getpid(), children[0])
"""
    out, said = ran(program, 1)
    parent, child = pids(out)
    assert counted(said) == {parent: 3, child: 1}


@pytest.mark.slow
def test_a_program_that_is_not_found_prints_nothing_for_its_parent():
    """The child that looks for it has the memory of the parent, and ends by _exit."""
    program = f"""
import os, subprocess
{TWO}
for turn in range(3):
    try: subprocess.Popen(["/nowhere/to/be/found"])
    except FileNotFoundError: pass
a @ a
print(os.getpid())
"""
    out, said = ran(program, 1)
    assert counted(said) == {int(out): 3}


# ---- records -------------------------------------------------------------------------------------


def test_a_process_without_calls_has_no_record(tmp_path):
    assert ran("import numpy", f"{tmp_path}/") == ("", "")
    assert not list(tmp_path.iterdir())
    assert dropin.report(tmp_path) == "hetsched: no call of BLAS or LAPACK was seen\n"


ENDINGS = {
    "return": "pass",
    "os._exit": "os._exit(0)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), 11)",
    "execve": "os.execv('/bin/true', ['true'])",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_record_is_kept_however_the_process_ends(ending, tmp_path):
    program = f"""
import os, resource, signal
{TWO}
print(os.getpid(), flush=True)
child = os.fork()
if child == 0:
    a @ a
    a @ a
    a @ a
    {ENDINGS[ending]}
    os._exit(0)
print(child)
os.waitpid(child, 0)
"""
    out, said = ran(program, tmp_path)
    parent, child = pids(out)
    assert said == ""
    text = dropin.report(tmp_path)
    assert counted(text) == {parent: 2, child: 3}
    assert "hetsched: calls of all 2 processes" in text
    assert len(list(tmp_path.iterdir())) == 2
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    by_itself = ending in ("return", "os._exit")
    assert ("ended by a signal" in text) == (not by_itself)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_multiprocessing(method, tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    script = tmp_path / "script.py"
    script.write_text(f"""
import multiprocessing, os
import numpy as np
a = np.ones((20, 20))
def work(turn):
    a @ a
    return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        print(*pool.map(work, range(40), chunksize=1))
""")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    worked = pids(done.stdout)
    assert counted(dropin.report(folder)) == {pid: worked.count(pid) for pid in worked}


@pytest.mark.slow
def test_no_call_of_several_threads_is_lost(tmp_path):
    """Each thread calls the library without Python's lock."""
    if not calls.behind("wheel64") and not calls.behind("wheel32"):
        pytest.skip("NumPy and SciPy have BLAS libraries of other names")
    program = """
import threading
import numpy as np
from scipy.linalg.blas import dgemm
import dropin_calls as calls, ctypes
width = "wheel64" if calls.behind("wheel64") else "wheel32"
name = {"wheel64": "scipy_dgemm_64_", "wheel32": "scipy_dgemm_"}[width]
call = getattr(ctypes.CDLL(None), name)
integer = np.array([2], calls.WIDTHS[width]).ctypes.data
one = np.array([1.0]).ctypes.data
go = threading.Barrier(4)
def work():
    letters = ctypes.create_string_buffer(b"NN")
    number = np.array([2], calls.WIDTHS[width])
    n, scalar = number.ctypes.data_as(ctypes.c_void_p), np.array([1.0])
    s, A = scalar.ctypes.data_as(ctypes.c_void_p), np.ones((2, 2))
    C = A.copy()
    a, c = (x.ctypes.data_as(ctypes.c_void_p) for x in (A, C))
    go.wait()
    for _ in range(5000): call(letters, letters, n, n, n, s, a, n, a, n, s, c, n)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    assert ran(program, tmp_path) == ("", "")
    text = dropin.report(tmp_path)
    assert list(counted(text).values()) == [20000]
    assert ", from 4 threads\n" in text


def test_relative_directories_are_those_of_the_start(tmp_path):
    (tmp_path / "here").mkdir()
    program = f"import os; os.chdir('/')\n{TWO}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment("./here"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "here").iterdir())) == 1


@pytest.mark.slow
def test_a_record_can_be_read_whatever_the_umask(tmp_path):
    assert ran("import os; os.umask(0o777)\n" + TWO, tmp_path) == ("", "")
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["missing", "a file", "not writable", "a long name"])
def test_a_program_runs_on_without_its_records(where, tmp_path):
    (tmp_path / "a file").write_text("")
    folder = {"not writable": "/proc", "a long name": "/" + "x" * 5000}.get(where)
    program = "print('ran')\n" + TWO + "print(np.linalg.det(a) == 0)"
    assert ran(program, folder or tmp_path / where) == ("ran\nTrue\n", "")


@pytest.mark.slow
def test_a_limit_of_the_length_of_files_ends_no_program(tmp_path):
    """The system would send a signal that ends it."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    program = (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + TWO + "print('ran')"
    )
    out, said = ran(program, tmp_path, prepare=limit, PYTHONDONTWRITEBYTECODE="1")
    assert (out, said) == ("ran\n", "")
    assert not list(tmp_path.iterdir())


# ---- the text of records -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record of two calls, and its name."""
    folder = tmp_path_factory.mktemp("record")
    ran(TWO, folder)
    (path,) = folder.iterdir()
    return path.name, path.read_bytes()


def with_last(content, value):
    return content[: -len(value)] + value


DAMAGES = {
    "empty": (lambda content: b"", "is not a record"),
    "the head cut": (lambda content: content[:20], "is not a record"),
    "cut": (lambda content: content[:-1], "it is cut"),
    "cut to the head": (lambda content: content[:100], "it is cut"),
    "doubled": (lambda content: content * 2, "it is too long"),
    "foreign": (lambda content: b"# Notes\n" * 4000, "is not a record"),
    "of another version": (
        lambda content: content[:8] + b"\xff" + content[9:],
        "another version of hetsched made it",
    ),
    "not a number": (lambda content: with_last(content, b"\xff" * 8), "it is damaged"),
    "negative": (lambda content: with_last(content, b"\x00" * 6 + b"\xf0\xbf"), "it is damaged"),
    "too many": (lambda content: content[:-8] + b"\xff" * 8, "it is damaged"),
    "zeros": (lambda content: b"\x00" * len(content), "is not a record"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_record_is_named(damage, record, tmp_path):
    name, content = record
    change, said = DAMAGES[damage]
    (tmp_path / name).write_bytes(change(content))
    lines = dropin.report(tmp_path).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"hetsched: the file {name} is left out of the report: ")
    assert said in lines[0]
    assert lines[1] == "hetsched: no call of BLAS or LAPACK was seen"


def test_any_bytes_of_a_record_may_be_wrong(record, tmp_path):
    name, content = record
    path = tmp_path / name
    for at in [*range(0, 250), *range(250, len(content), many(397, 1999))]:
        for byte in many((0x00, 0x7F, 0xFF), (0x00, 0xFF)):
            path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            text = dropin.report(tmp_path)
            assert text.isascii()
            assert text.startswith("hetsched: ") or text.startswith("taken: ")
            assert all(character.isprintable() or character == "\n" for character in text)


def test_good_records_are_reported_beside_bad_files(record, tmp_path):
    name, content = record
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"copy-of-{name}").write_bytes(content)
    (tmp_path / "\x1b[31mred\n").write_bytes(content[:1000])
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    text = dropin.report(tmp_path)
    assert list(counted(text).values()) == [2]
    left_out = dict(
        re.findall(r"^hetsched: the file (.*) is left out of the report: (.*)$", text, re.M)
    )
    assert left_out == {
        "?[31mred?": "it is cut",
        f"copy-of-{name}": "it is a copy, or was renamed",
        "folder": "it is not a regular file",
        "link": "it is a link",
        "pipe": "it is not a regular file",
    }


def test_names_of_programs_command_no_terminal(record, tmp_path):
    name, content = record
    assert content.count(b"python") == 1
    (tmp_path / name).write_bytes(content.replace(b"python", b"\x1b[31m\n"))
    assert "(?[31m?" in dropin.report(tmp_path)


def test_the_sentence_of_a_process(tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core no call is taken")
    program = """
import numpy as np
a = np.random.default_rng(0).standard_normal((200, 200))
a @ a
np.linalg.solve(a, a)
np.linalg.svd(a)
np.linalg.eig(a)
"""
    ran(program, tmp_path, HETSCHED_BLAS_LEAST="0")
    sentence = dropin.report(tmp_path).splitlines()[-1]
    number = r"[\d.e+-]+"
    families = (
        rf"{number} s of {number} s were products, {number} s solves(, {number} s factorisations)?"
        rf", {number} s eigenvalues and singular values"
    )
    forwarded = rf"dgeev \(eig\) was forwarded on {number} threads?, {number} s"
    found = re.fullmatch(rf"hetsched: {families}(; other .* meanwhile)?; {forwarded}", sentence)
    assert found, sentence


def test_the_sentence_says_why_no_call_was_taken(record, tmp_path):
    name, content = record
    (tmp_path / name).write_bytes(content)
    sentence = dropin.report(tmp_path).splitlines()[-1]
    assert "no call was taken; the reason of 2 of 2 calls: small" in sentence


# ---- exec --report -------------------------------------------------------------------------------


def exec_(*words, **options):
    given = {key: value for key, value in os.environ.items() if not key.startswith("HETSCHED_")}
    given |= options.pop("changes", {})
    command = [sys.executable, "-m", "hetsched", "exec", *words]
    return subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=TIMEOUT, **options
    )


def test_exec_reports_all_processes(tmp_path):
    program = f"""
import os
{TWO}
print(os.getpid(), flush=True)
child = os.fork()
if child == 0:
    a @ a
    os.kill(os.getpid(), 9)
print(child, flush=True)
os.waitpid(child, 0)
os._exit(5)
"""
    done = exec_(
        "--report",
        "--least",
        "inf",
        sys.executable,
        "-c",
        program,
        changes={"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 5
    parent, child = pids(done.stdout)
    assert counted(done.stderr) == {parent: 2, child: 1}
    assert done.stderr.splitlines()[-1].startswith("hetsched: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_exec_reports_that_there_was_no_call():
    done = exec_("--report", "true")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "hetsched: no call of BLAS or LAPACK was seen\n"


@pytest.mark.slow
def test_records_are_kept_and_printed_later(tmp_path):
    done = exec_("--records", str(tmp_path), "--least", "inf", sys.executable, "-c", TWO)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = exec_("--records", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(counted(done.stdout).values()) == [2]
    # a report is of one run, whatever earlier runs have left there
    done = exec_("--report", "--records", str(tmp_path), "true")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "hetsched: no call of BLAS or LAPACK was seen\n"
    assert exec_("--records", str(tmp_path / "none")).returncode == 1
    done = exec_("--records", "", "true")
    assert (done.returncode, "--records must name a directory" in done.stderr) == (1, True)


@pytest.mark.few(1)
@pytest.mark.parametrize("status", many([0, 1, 7, 130, 255], [0, 255]))
def test_the_status_of_a_program_with_a_report(status):
    done = exec_("--report", sys.executable, "-c", f"raise SystemExit({status})")
    assert (done.returncode, done.stdout) == (status, "")


@pytest.mark.slow
# SIGABRT would leave a core, and Python ignores SIGPIPE
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGPIPE],
)
def test_the_signal_that_ended_a_program_with_a_report(number, tmp_path):
    """The program leaves no core here, and hetsched none of its own."""

    def allow_cores():
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    program = f"ulimit -S -c 0; kill -{int(number)} $$"
    done = exec_("--report", "sh", "-c", program, cwd=tmp_path, preexec_fn=allow_cores)
    assert done.returncode == -number
    assert done.stderr == "hetsched: no call of BLAS or LAPACK was seen\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_input_and_output_are_those_of_a_program_with_a_report():
    given = "\n".join(map(str, range(1000)))
    done = exec_("--report", "cat", input=given)
    assert done.stdout == given


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--report"]])
def test_a_program_has_the_usual_action_for_a_broken_pipe(words):
    """Python itself ignores it, and a new program would inherit that."""
    done = exec_(*words, "sh", "-c", "grep SigIgn /proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & 1 << signal.SIGPIPE - 1


#: Waits for signals, and says which one has come, how often.
WAITING = """
import os, signal, sys, time
seen = []
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, _: seen.append(number))
print("ready", os.getppid(), os.getpgrp(), flush=True)
until = time.monotonic() + 60
while not seen and time.monotonic() < until: time.sleep(0.01)
time.sleep(0.3)
print(*map(int, seen), flush=True)
sys.exit(3)
"""


@pytest.fixture
def waiting():
    """Starts such a program with a report, in a process group of its own."""
    started = []

    def start(prepare=None):
        given = {key: value for key, value in os.environ.items() if not key.startswith("HETSCHED_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "hetsched", "exec", "--report", sys.executable, "-c", WAITING],
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=prepare,
        )
        started.append(process)
        word, parent, group = process.stdout.readline().split()
        assert (word, int(parent), int(group)) == ("ready", process.pid, process.pid)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_a_signal_is_forwarded(number, waiting):
    process = waiting()
    process.send_signal(number)
    out, said = process.communicate(timeout=TIMEOUT)
    assert (out, process.returncode) == (f"{int(number)}\n", 3)
    assert said == "hetsched: no call of BLAS or LAPACK was seen\n"


def test_ctrl_c_reaches_the_program_once(waiting):
    process = waiting()
    os.killpg(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=TIMEOUT)
    assert (out, process.returncode) == (f"{int(signal.SIGINT)}\n", 3)
    assert said == "hetsched: no call of BLAS or LAPACK was seen\n"


@pytest.mark.slow
def test_an_interrupt_is_left_to_the_terminal(waiting):
    """It sends one to the program, too."""
    process = waiting()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=TIMEOUT)
    assert (out, process.returncode) == (f"{int(signal.SIGTERM)}\n", 3)


@pytest.mark.slow
def test_signals_that_were_ignored_stay_ignored(waiting):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = waiting(ignore)
    os.killpg(process.pid, signal.SIGHUP)
    os.killpg(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=TIMEOUT)
    assert (out, process.returncode) == (f"{int(signal.SIGTERM)}\n", 3)


@pytest.mark.slow
def test_the_status_is_not_lost_where_ends_of_children_are_ignored(waiting):
    process = waiting(lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 3


@pytest.mark.slow
def test_a_full_standard_error_changes_no_status():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "hetsched", "exec", "--report", "sh", "-c", "exit 4"]
        done = subprocess.run(command, stderr=full, timeout=TIMEOUT, check=False)
    assert done.returncode == 4


@pytest.mark.parametrize("words", [[], ["--report"], ["--records"]])
def test_a_directory_without_files_is_refused_before_the_start(
    words, tmp_path, monkeypatch, capsys
):
    for name in ("execvpe", "fork"):
        monkeypatch.setattr(os, name, lambda *arguments: pytest.fail("a program was run"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was run"))
    monkeypatch.setattr(dropin, "preloaded", lambda library, _: str(library))
    missing = str(tmp_path / "missing")
    if words == ["--records"]:
        words = ["--records", missing]
    elif words == ["--report"]:
        words = ["--report", "--records", missing]
    else:
        monkeypatch.setenv("HETSCHED_BLAS_REPORT", missing)
    assert cli.main(["exec", *words, "true"]) == 1
    out, told = capsys.readouterr()
    assert out == ""
    assert f"{missing!r}: there is no such directory" in told


# ---- exec --explain ------------------------------------------------------------------------------


def explained(program, *words, **changes):
    made = environment(None, HETSCHED_BLAS_EXPLAIN="1", **changes)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=made,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return re.findall(r"^hetsched\[\d+\]: (.*)$", done.stderr, re.M)


def test_each_kind_of_call_is_explained_once():
    lines = explained("""
import numpy as np
a = np.eye(20)
for turn in range(5):
    a @ a
    np.linalg.solve(a, a)
    np.linalg.eigh(a)
    np.linalg.eig(a)
    a[:10] @ a
""")
    assert len(lines) == len(set(lines))
    assert [line for line in lines if not line.endswith(", inside another call")] == [
        "dgemm, 8.0e+03 multiply-adds: small, forwarded",
        "dgesv, 1.1e+04 multiply-adds: small, forwarded on 1 thread",
        "dsyevd, 8.0e+03 multiply-adds: small, forwarded on 1 thread",
        "dgeev, 8.0e+03 multiply-adds: not computed by hetsched, forwarded on 1 thread",
        "dgemm, 4.0e+03 multiply-adds: small, forwarded",
    ]


@pytest.mark.slow
def test_a_call_that_is_taken_is_explained():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core no call is taken")
    program = "import numpy as np; a = np.ones((90, 90)); a @ a.copy(); a @ a.copy()"
    lines = explained(program, HETSCHED_BLAS_LEAST="0")
    assert lines == ["dgemm, 7.3e+05 multiply-adds: taken, 2 workers"]
    lines = explained(program, HETSCHED_BLAS_LEAST="0", HETSCHED_NUM_THREADS="1")
    assert lines == ["dgemm, 7.3e+05 multiply-adds: taken, 1 worker"]
    lines = explained(program, HETSCHED_BLAS_LEAST="0,alone=inf", HETSCHED_NUM_THREADS="1")
    (line,) = lines
    assert "one thread is asked for or one cpu is left, forwarded" in line


@pytest.mark.slow
def test_what_is_explained_is_bounded():
    lines = explained("""
import numpy as np
for letter in "fdFD":
    for power in range(2):
        for n in range(10, 100):
            size = n * 10**power
            np.ones((2, size), letter) @ np.ones((size, 2), letter)
            np.ones((2, size), letter) @ np.ones(size, letter)
""")
    assert len(lines) == len(set(lines)) == 513
    assert lines[-1] == "more than 512 kinds of calls; the rest is not shown"
    assert explained(
        "import numpy as np\nfor n in range(400, 450): np.ones((2, n)) @ np.ones((n, 2))"
    ) == [f"dgemm, 1.{digit}e+03 multiply-adds: small, forwarded" for digit in "678"]


@pytest.mark.slow
def test_explaining_to_a_pipe_that_is_closed_ends_no_program():
    program = (
        "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n" + TWO + "print('ran')"
    )
    read, write = os.pipe()
    os.close(read)
    for report in (None, 1):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            env=environment(report, HETSCHED_BLAS_EXPLAIN="1"),
            stdout=subprocess.PIPE,
            stderr=write,
            text=True,
            timeout=TIMEOUT,
        )
        assert (done.returncode, done.stdout) == (0, "ran\n")
    os.close(write)


@pytest.mark.slow
def test_text_for_a_file_that_is_as_long_as_allowed_ends_no_program(tmp_path):
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
"""
    for name in ("HETSCHED_BLAS_EXPLAIN", "HETSCHED_BLAS_REPORT"):
        with open(tmp_path / "text", "w") as text:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", program + TWO],
                env=environment(None, **{name: "1"}),
                stderr=text,
                timeout=TIMEOUT,
            )
        assert done.returncode == 0, name


@pytest.mark.slow
def test_a_file_in_the_place_of_a_closed_standard_error_gets_no_text(tmp_path):
    """The first file that such a program opens has the number of stderr."""
    path = tmp_path / "data"
    program = f"""
file = open({str(path)!r}, "w")
assert file.fileno() == 2
{TWO}
file.write("data")
"""
    for name in ("HETSCHED_BLAS_EXPLAIN", "HETSCHED_BLAS_REPORT"):
        ran(program, None, prepare=lambda: os.close(2), **{name: "1"})
        assert path.read_text() == "data", name


def test_exec_explains():
    done = exec_("--explain", "--report", "--least", "inf", sys.executable, "-c", TWO)
    assert done.returncode == 0
    assert done.stderr.count("multiply-adds: small, forwarded\n") == 1
    assert list(counted(done.stderr).values()) == [2]
