"""Programs with several processes or threads, and with one thread: results, how many threads there
are, and which calls the engine computes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest
from inputs import many

calls.skip_without_library()
two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one cpu is for one thread in any case"
)
#: Each call is large enough.
EVERY = {"HETSCHED_BLAS_LEAST": "0"}


def ran(program, *before, arguments=(), **changes):
    """Its lines, and the calls of all processes."""
    command = [*before, sys.executable, "-W", "ignore", "-c", program, *arguments]
    done = subprocess.run(
        list(map(str, command)),
        env=calls.environment(**(EVERY | changes)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


# ---- one thread ----------------------------------------------------------------------------------

ONE = """
import numpy as np
from dropin_processes import helpers, system
A, b = system(0)
x = np.linalg.solve(A, b)
L = np.linalg.cholesky(A @ A.T)
q, r = np.linalg.qr(A)
print(np.abs(A @ x - b).max() < 1e-12, np.abs(q @ r - A).max() < 1e-12, len(helpers()))
"""
ROUTINES = ["dgesv", "dpotrf", "dgeqrf", "dorgqr"]


def taken(text):
    """Functions of which the engine computed calls."""
    return {name for name, row in calls.table(text).items() if row["taken"]}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "changes",
    [
        {"OPENBLAS_NUM_THREADS": "1"},
        {"OPENBLAS_NUM_THREADS": None, "OMP_NUM_THREADS": "1"},
        {"HETSCHED_NUM_THREADS": "1"},
        {"HETSCHED_BLAS_CORES": str(min(os.sched_getaffinity(0)))},
    ],
    ids=str,
)
def test_a_process_that_is_to_have_one_thread_gets_no_other(changes):
    out, said = ran(ONE, **changes)
    assert out == ["True True 0"]
    assert taken(said) >= {*ROUTINES}


@pytest.mark.skipif(shutil.which("taskset") is None, reason="there is no taskset")
def test_a_mask_of_one_cpu():
    out, said = ran(ONE, "taskset", "-c", min(os.sched_getaffinity(0)))
    assert out == ["True True 0"]
    assert taken(said) >= {*ROUTINES}


def test_sizes_for_one_thread():
    for least, expected in {
        "0,alone=inf": [],
        "0,alone=inf,alone:potrf=0": ["dpotrf"],
        "0,alone=inf,alone:dpotrf=0,alone:sgesv=0": ["dpotrf"],
        "inf,alone=1e6": [*ROUTINES],
        "alone=0,alone:potrf=inf,3e6,alone:potrf=1e6": ["dpotrf", "dgeqrf", "dorgqr"],
    }.items():
        _, said = ran(ONE, OPENBLAS_NUM_THREADS="1", HETSCHED_BLAS_LEAST=least)
        found = taken(said)
        assert [name for name in ROUTINES if name in found] == expected, least


@pytest.mark.slow
@two_cores
def test_sizes_for_several_threads():
    for least, expected in {"inf,alone=0": [], "0,alone=inf": [*ROUTINES]}.items():
        _, said = ran(ONE, HETSCHED_BLAS_LEAST=least)
        counted = calls.table(said)
        assert [name for name in ROUTINES if counted[name]["taken"]] == expected, least
        assert all(counted[name]["taken"] or counted[name]["small"] for name in ROUTINES), least


SHAPES = """
import numpy as np
from scipy.linalg import blas, lapack
def solves(cols):
    A, B = np.asfortranarray(np.eye(50)), np.ones((50, cols), order="F")
    assert (lapack.dtrtrs(A, B)[0] == 1).all() and (lapack.dpotrs(A, B)[0] == 1).all()
    assert (lapack.dgetrs(A, np.arange(50), B)[0] == 1).all()
    assert (blas.dtrsm(1.0, A, B) == 1).all() and (blas.dtrsm(1.0, A, B.T, side=1) == 1).all()
solves(39)
solves(40)
for shape in (60, 50), (50, 50), (50, 60):
    lapack.dgetrf(np.ones(shape, order="F"))
"""


@pytest.mark.slow
def test_shapes_that_need_several_workers():
    """Few right-hand sides, and the LU factorisation of tall matrices."""
    _, said = ran(SHAPES, OPENBLAS_NUM_THREADS="1")
    counted = calls.table(said)
    assert {name: (row["taken"], row["1-thread"]) for name, row in counted.items()} == {
        "dtrtrs": (1, 1),
        "dpotrs": (1, 1),
        "dgetrs": (1, 1),
        "dtrsm": (2, 2),
        "dgetrf": (2, 1),
    }
    if len(os.sched_getaffinity(0)) > 1:
        _, said = ran(SHAPES)
        assert all(not row["1-thread"] for row in calls.table(said).values())


SOLVES = """
import numpy as np
from scipy.linalg import blas, lapack
for n, cols in (30, 2000), (200, 200), (300, 1500):
    A, B = np.asfortranarray(np.eye(n)), np.ones((n, cols), order="F")
    assert (lapack.dtrtrs(A, B)[0] == 1).all() and (lapack.dpotrs(A, B)[0] == 1).all()
    assert (lapack.dgetrs(A, np.arange(n), B)[0] == 1).all()
    assert (blas.dtrsm(1.0, A, B) == 1).all() and (blas.dtrsm(1.0, A, B.T, side=1) == 1).all()
"""


@pytest.mark.slow
def test_a_small_triangle_stays_small_on_one_thread():
    """However many right-hand sides there are."""
    _, said = ran(SOLVES, OPENBLAS_NUM_THREADS="1", HETSCHED_BLAS_LEAST="5e5")
    counted = calls.table(said)
    assert {name: (row["taken"], row["1-thread"]) for name, row in counted.items()} == {
        "dtrtrs": (2, 1),
        "dpotrs": (2, 1),
        "dgetrs": (2, 1),
        "dtrsm": (4, 2),
    }


INVERSES = """
import numpy as np
for n in 40, 70, 130:
    assert (np.linalg.inv(np.eye(n)) == np.eye(n)).all()
    assert (np.linalg.solve(np.eye(n), np.ones((n, 3))) == 1).all()
"""


@pytest.mark.parametrize(("least", "expected"), [("gesv=4e4", (3, 3)), ("0", (6, 0))])
def test_systems_with_many_right_hand_sides(least, expected):
    """On one thread the engine computes them from larger orders on: of these inverses, the one of
    order 130."""
    _, said = ran(INVERSES, OPENBLAS_NUM_THREADS="1", HETSCHED_BLAS_LEAST=least)
    row = calls.table(said)["dgesv"]
    assert (row["taken"], row["1-thread"] + row["small"]) == expected


def test_names_of_sizes_for_one_thread():
    found = calls.load()
    get, put = found.hetsched_blas_get_least, found.hetsched_blas_set_least
    names = ["sgemm", "dgemm", "dgels"]
    before = {name: get(name.encode()) for name in [*names, *(f"alone:{n}" for n in names)]}

    def all_of(text):
        put(text)
        return [get(name.encode()) for name in before]

    try:
        assert all_of(b"7,alone=5") == [7.0] * 3 + [5.0] * 3
        assert all_of(b"alone:gemm=6,gels=4") == [7.0, 7.0, 4.0, 6.0, 6.0, 4.0]
        assert all_of(b"dgemm=2,alone:dgemm=3") == [7.0, 2.0, 4.0, 6.0, 3.0, 4.0]
        for unknown in (b"alone:=1", b"alonegemm=1", b"alone:x=1", b"=1", b"alone:alone:gemm=1"):
            assert all_of(unknown) == [7.0, 2.0, 4.0, 6.0, 3.0, 4.0], unknown
        for name in (b"alone", b"alone:", b"alone:gemm", b"alone:xgemm", None):
            assert get(name) != get(name), name
    finally:
        put(",".join(f"{name}={value!r}" for name, value in before.items()).encode())


@pytest.mark.slow
@two_cores
def test_a_limit_of_one_thread_for_a_while():
    pytest.importorskip("threadpoolctl")
    program = f"""
import time
import numpy as np
from threadpoolctl import threadpool_limits
with threadpool_limits(1):
{"".join(f"    {line}" for line in ONE.strip().splitlines(keepends=True))}
np.linalg.solve(np.eye(300), np.eye(300))
until = time.monotonic() + 60
while len(helpers()) < 2 and time.monotonic() < until:  # a thread gets its name when it runs
    time.sleep(0.01)
print(len(helpers()))
"""
    out, said = ran(program)
    assert out == ["True True 0", "2"]
    assert calls.table(said)["dgesv"]["taken"] == 2


#: Calls of all sizes: small ones of the caller alone, and such as workers share.
BITS = """
import hashlib, sys
import numpy as np, scipy.linalg as sl
for dtype in map(np.dtype, sys.argv[1:]):
    for n in 50, 130, 330:
        rng = np.random.default_rng(n)
        A, B = (rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)) for _ in "AB")
        if dtype.kind == "f":
            A, B = A.real, B.real
        A, B = A.astype(dtype), B.astype(dtype)
        tall = np.vstack([A, B, A[::-1], B[::-1], A + B])
        found = [
            A @ B, A @ A.T, np.linalg.solve(A, B), np.linalg.inv(A), *sl.lu_factor(A),
            np.linalg.cholesky(A @ A.conj().T + n * np.eye(n, dtype=dtype)), *np.linalg.qr(A),
            *np.linalg.qr(tall), sl.solve_triangular(A + n * np.eye(n, dtype=dtype), B),
            sl.lapack.get_lapack_funcs("gels", (tall,))(tall, np.vstack([B] * 5))[1],
            *sl.eigh(A + A.conj().T), *sl.svd(A, lapack_driver="gesvd"),
            *sl.svd(tall, False, lapack_driver="gesvd"),
        ]
        print(n, *(hashlib.sha1(np.ascontiguousarray(x)).hexdigest()[:8] for x in found))
"""


@pytest.mark.slow
@two_cores
def test_the_bits_of_a_deterministic_pool():
    one, two = sorted(os.sched_getaffinity(0))[:2]
    dtypes = ["f", "d", "F", "D"]
    found = [
        ran(BITS, arguments=dtypes, HETSCHED_DETERMINISTIC="1", OPENBLAS_NUM_THREADS="4", **changes)
        for changes in (
            {"HETSCHED_NUM_THREADS": "1"},
            {"HETSCHED_BLAS_CORES": f"{one},{two}"},
            {"HETSCHED_BLAS_CORES": f"{one},{two},{one}"},
        )
    ]
    assert found[0][0] == found[1][0] == found[2][0]
    counted = [calls.table(said) for _, said in found]
    fates = [{name: (row["taken"], row["1-thread"]) for name, row in c.items()} for c in counted]
    assert fates[0] == fates[1] == fates[2]
    assert all(one_thread == 0 for _, one_thread in fates[0].values())


WAITING = """
import ctypes, sys, threading, time
import numpy as np
a = np.ones((100, 100))  # for fewer, NumPy keeps the lock of the interpreter
a @ a
path = sys.argv[2].encode()
assert ctypes.CDLL(sys.argv[1]).load_in_thread(path) == 0
time.sleep(0.1)
threads = [threading.Thread(target=lambda: a @ a) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
@two_cores
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_a_deterministic_process_waits_for_the_gate(tmp_path):
    """A thread that finds its pool waits for the dynamic linker, which runs a slow constructor. The
    calls of the others are not forwarded: they would have other bits."""
    source, paths = Path(__file__).with_name("slow_load.c"), []
    for name, words in {"load": [], "slow": ["-DSLOW"]}.items():
        paths.append(tmp_path / f"lib{name}.so")
        command = ["gcc", "-shared", "-fPIC", *words, source, "-o", paths[-1], "-ldl", "-pthread"]
        subprocess.run(command, check=True)
    _, said = ran(WAITING, arguments=paths, HETSCHED_DETERMINISTIC="1")
    assert (row := calls.table(said)["dgemm"])["taken"] == 5, row


# ---- several processes or threads ----------------------------------------------------------------

#: How a program shares its calls: the expression for the results of `solve`.
SHARED = {
    "loky": "Parallel(2)(delayed(solve)(i) for i in range(COUNT))",
    "loky with two threads each": "Parallel(2)(delayed(solve)(i) for i in range(COUNT))",
    "joblib's threads": "Parallel(2, backend='threading')(delayed(solve)(i) for i in range(COUNT))",
    "joblib's forks": (
        "Parallel(2, backend='multiprocessing')(delayed(solve)(i) for i in range(COUNT))"
    ),
    "processes": "list(ProcessPoolExecutor(2).map(solve, range(COUNT)))",
    "threads": "list(ThreadPoolExecutor(2).map(solve, range(COUNT)))",
}
PROGRAM = """
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from dropin_processes import COUNT, solve
if __name__ == "__main__":
    expected = [solve(i) for i in range(COUNT)] if {before} else []
    with {limit}, {inner}:
        found = {shared}
    expected = expected or [solve(i) for i in range(COUNT)]
    print(all(np.allclose(x, y, rtol=0, atol=1e-12) for (x, *_), (y, *_) in zip(found, expected)))
    print(len({{pid for _, pid, _ in found}} - {{os.getpid()}}) > 0)
    print(max(len(helpers) for _, _, helpers in found))
"""


FORKED_OR_THREADS = many(
    ["joblib's forks", "processes", "joblib's threads", "threads"], ["joblib's forks", "threads"]
)


@pytest.mark.few(2)
@two_cores
@pytest.mark.parametrize(
    ("how", "limited", "before"),
    [
        *((how, False, False) for how in SHARED),
        *((how, True, False) for how in FORKED_OR_THREADS),
        *((how, False, True) for how in FORKED_OR_THREADS),
    ],
)
def test_shared_by_processes_or_threads(how, limited, before):
    """limited: to one thread by threadpoolctl; before: the process has made such calls before."""
    pytest.importorskip("joblib")
    pytest.importorskip("threadpoolctl")
    each = "parallel_config('loky', inner_max_num_threads=2)" if "each" in how else "nullcontext()"
    program = PROGRAM.format(
        limit="threadpool_limits(1)" if limited else "nullcontext()",
        inner=each,
        shared=SHARED[how],
        before=before,
    )
    out, _ = ran(program, OPENBLAS_NUM_THREADS=None)
    assert out[:2] == ["True", str(how not in ("joblib's threads", "threads"))]
    # loky gives each of two processes half of the cpus. A forked process has the limit of its
    # parent.
    is_single = limited or (how == "loky" and len(os.sched_getaffinity(0)) < 4)
    assert int(out[2]) == 0 if is_single else int(out[2]) <= len(os.sched_getaffinity(0))


@pytest.mark.slow  # each process imports it
def test_scikit_learn():
    pytest.importorskip("sklearn")
    program = """
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20)), rng.standard_normal(300)
    model, grid = KernelRidge(kernel="rbf", gamma=0.05), {"alpha": [0.1, 1.0]}
    scores = [cross_val_score(model, X, y, cv=4, n_jobs=jobs) for jobs in (2, 1)]
    found = [GridSearchCV(model, grid, cv=3, n_jobs=jobs).fit(X, y) for jobs in (2, 1)]
    print(np.allclose(*scores, rtol=1e-9), found[0].best_params_ == found[1].best_params_)
"""
    assert ran(program)[0] == ["True True"]
