"""How many threads the library behind has: each library that can be told, before and after calls,
and beside a busy program."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest

from hetsched.machine.dropin import library

calls.skip_without_library()
HERE = Path(__file__).parent
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

#: Notes the threads of a small call and of a large one, and those that are read back after each.
NOTED = """
import ctypes, sys
from ctypes import byref, c_int
told = [int(word) for word in sys.argv[2:]]
behind, ours = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None)
noted = c_int.in_dll(behind, "noted")
for count in told:
    behind.tell(count)
for n in 2, 1000:
    info, there = c_int(5), c_int(11)
    ours.dsyevd_(b"V", b"L", byref(c_int(n)), None, byref(c_int(n)), None, None, byref(there), None,
                 byref(there), byref(info))
    print(noted.value, behind.threads_now(), info.value)
"""


@pytest.fixture(scope="module")
def noted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("governed")

    def run(kind, *told, prefix="", suffix="", **changes):
        made = folder / f"{prefix}{kind}{suffix}.so"
        if not made.exists():
            command = ["gcc", "-w", "-shared", "-fPIC", f"-DKIND={kind}"]
            if prefix or suffix:
                end = f"##{suffix}" if suffix else ""
                command.append(f"-DOPEN(x)={prefix}openblas_##x{end}")
            subprocess.run([*command, str(HERE / "governed.c"), "-o", str(made)], check=True)
        changes.setdefault("HETSCHED_BLAS_BEHIND", "3")
        env = calls.environment(report=False, **changes)
        env["LD_PRELOAD"] = f"{library()}:{made}"
        command = [sys.executable, "-c", NOTED, str(made), *map(str, told)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        assert [info for _, _, info in found] == [0, 0]
        return [(within, after) for within, after, _ in found]

    return run


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("kind", ["OPENBLAS", "MKL", "BLIS", "FLEXIBLAS"])
def test_a_library_that_can_be_told(noted, kind):
    assert noted(kind) == [(3, 8), (3, 8)]
    assert noted(kind, 2) == [(2, 2), (2, 2)]
    assert noted(kind, 1) == [(1, 1), (1, 1)]
    assert noted(kind, HETSCHED_BLAS_BEHIND="own") == [(8, 8), (8, 8)]
    for auto in ("auto", None, "nonsense", "-3", "3x"):
        (small, after), (large, after_large) = noted(kind, HETSCHED_BLAS_BEHIND=auto)
        assert (small, after, after_large) == (1, 8, 8)
        assert 1 <= large <= 8


@needs_gcc
@pytest.mark.parametrize("kind", ["SERIAL", "FLEXIBLAS_OPENMP", "UNTOLD"])
def test_a_library_that_cannot_be_told(noted, kind):
    assert noted(kind) == [(8, 8), (8, 8)]


@needs_gcc
def test_openblas_with_openmp_has_all_threads_or_one(noted):
    assert noted("OPENMP") == [(8, 8), (8, 8)]
    assert noted("OPENMP", HETSCHED_BLAS_BEHIND="1") == [(1, 8), (1, 8)]
    assert noted("OPENMP", HETSCHED_BLAS_BEHIND="auto")[0] == (1, 8)


@needs_gcc
@pytest.mark.parametrize("prefix", ["", "scipy_"])
@pytest.mark.parametrize("suffix", ["", "64_", "_64"])
def test_names_of_openblas(noted, prefix, suffix):
    assert noted("OPENBLAS", prefix=prefix, suffix=suffix) == [(3, 8), (3, 8)]


# ---- NumPy ---------------------------------------------------------------------------------------

THREADPOOL = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
def told():
    return [pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]]
A = np.eye(50)
print(told())
np.linalg.eigh(A)
print(told())
with threadpool_limits(1):
    np.linalg.eigh(A)
    print(told())
np.linalg.svd(A)
print(told())
"""


def governed(text):
    """Calls that the library behind computed, and their mean number of threads, by function."""
    found = {}
    row = r"^([sdcz][a-z0-9]+) +(\d+) +([\d.]+) +[\d.]+$"
    for name, count, threads in re.findall(row, text, re.M):
        found[name] = (int(count), float(threads))
    return found


def counted(program, least, **options):
    """What the program prints, and its report."""
    env = calls.environment(HETSCHED_BLAS_LEAST=least)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def run(program, **options):
    out, said = counted(program, "inf", **options)
    return out, governed(said)


def test_the_number_reads_back_as_set():
    pytest.importorskip("threadpoolctl")
    out, found = run(THREADPOOL)
    assert out == ["[2]", "[2]", "[1]", "[2]"]
    # one for the size of the workspace; none where one thread was wanted
    assert found == {"dsyevd": (2, 1.0), "dgesdd": (2, 1.0)}


@pytest.mark.slow
def test_tiny_calls_of_openblas_are_left_alone():
    """It gives a thread at least 4 columns. Each function asks for its workspace first."""
    _, found = run("import numpy as np\nnp.linalg.eigh(np.eye(4))\nnp.linalg.eigh(np.eye(5))")
    assert found == {"dsyevd": (2, 1.0)}


LEFT = """
import numpy as np, scipy.linalg
from threadpoolctl import threadpool_info
def told():
    return [pool["num_threads"] for pool in threadpool_info() if "scipy.libs" in pool["filepath"]]
def fail(*x): raise ArithmeticError
A = np.eye(50)
for turn in range(3):
    try: scipy.linalg.schur(A, sort=fail)
    except ArithmeticError: print("left")
scipy.linalg.eigh(A)
print(told())
"""


@pytest.mark.slow
def test_a_call_that_is_left_by_longjmp():
    """What f2py does if the function that gees calls raises an exception."""
    pytest.importorskip("threadpoolctl")
    out, found = run(LEFT)
    assert out == ["left", "left", "left", "[2]"]
    assert found["dgees"][1] == found["dsyevr"][1] == 1.0


EIGH = """
import numpy as np, time
A = np.random.default_rng(0).standard_normal((300, 300))
start = time.monotonic()
while time.monotonic() - start < 0.5:
    np.linalg.eigh(A + A.T)
    np.linalg.svd(A)
"""


@contextlib.contextmanager
def busy_programs(cpus):
    """One on each cpu."""
    busy = [
        subprocess.Popen(
            [sys.executable, "-c", "while True: pass"],
            preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, [cpu]),
        )
        for cpu in cpus
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cpus")


@pytest.mark.slow
@needs_two_cpus
def test_beside_a_busy_program():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with busy_programs(cpus[:1]):
        _, found = run(EIGH, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    assert {name: threads for name, (_, threads) in found.items()} == {"dsyevd": 1.0, "dgesdd": 1.0}


#: Until the load is known, several workers compute the calls.
UNTIL_FORWARDED = """
import numpy as np, time
A = np.random.default_rng(0).standard_normal((300, 300))
start = time.monotonic()
while time.monotonic() - start < {seconds}:
    np.linalg.eigh(A + A.T)
"""


@needs_two_cpus
@pytest.mark.parametrize(
    ("least", "forwards"), [(None, True), ("0,alone=inf", False)], ids=["usual", "all taken"]
)
def test_brief_calls_that_one_worker_is_slow_at(least, forwards):
    """The library behind computes them while the load leaves one cpu, unless all are wanted."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    program = UNTIL_FORWARDED.format(seconds=1.0 if forwards else 0.5)
    with busy_programs(cpus):
        _, said = counted(program, least, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    row = calls.table(said)["dsyevd"]
    assert row["1-thread" if forwards else "taken"] > 0
    if not forwards:
        assert row["1-thread"] == 0
