"""Programs with the drop-in library before their BLAS: results, where calls go, threads, forks and
signals."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import numpy as np
import pytest
from inputs import many

calls.skip_without_library()
two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="on one core the library behind has one thread, and every call is its own",
)


def ran(program, *arguments, report=True, **changes):
    """Its output, and what it said on stderr."""
    command = (
        [sys.executable, "-W", "ignore", "-c", program]
        if isinstance(program, str)
        else list(program)
    )
    done = subprocess.run(
        [*command, *map(str, arguments)],
        env=calls.environment(report, **changes),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


NUMPY = """
import sys
import numpy as np

found = {}
for name in ("float32", "float64", "complex64", "complex128"):
    rng = np.random.default_rng(5)
    def matrix():
        real, imaginary = rng.standard_normal((2, 150, 150))
        return (real + 1j * imaginary if name[0] == "c" else real).astype(name)
    one = np.eye(150, dtype=name)
    a, b = matrix() / 12 + 2 * one, matrix()
    results = {
        "product": a @ b,
        "gram": a.T @ a,
        "adjoint": a.conj().T @ b,
        "sliced": a[3:, ::2] @ b[:75, 10:],
        "vector": a @ b[0],
        "solve": np.linalg.solve(a, b),
        "inverse": np.linalg.inv(a),
        "determinant": np.linalg.slogdet(a)[1],
        "cholesky": np.linalg.cholesky(b @ b.conj().T + 150 * one),
        "q": np.linalg.qr(a)[0],
        "r": np.linalg.qr(a)[1],
        "values": np.linalg.svd(a)[1],
        "eigenvalues": np.linalg.eigvalsh(a + a.conj().T),
    }
    found |= {f"{name} {key}": value for key, value in results.items()}
np.savez(sys.argv[1], **found)
"""


@two_cores
def test_the_results_of_numpy_and_where_its_calls_went(tmp_path):
    _, said = ran(NUMPY, tmp_path / "with.npz")
    _, nothing = ran(NUMPY, tmp_path / "without.npz", LD_PRELOAD=None)
    assert nothing == ""
    with np.load(tmp_path / "with.npz") as found, np.load(tmp_path / "without.npz") as expected:
        assert set(found) == set(expected)
        for name in expected:
            assert found[name].dtype == expected[name].dtype
            precise = found[name].dtype.char in "dD"
            np.testing.assert_allclose(
                found[name], expected[name], atol=1e-11 if precise else 2e-3, err_msg=name
            )
    counted = calls.table(said)
    for letter in "sdcz":
        for routine in ("gemm", "gesv", "getrf", "potrf", "geqrf", "orgqr"):
            if letter in "sc" and routine != "gemm":
                continue  # NumPy computes these in double precision
            assert counted[letter + routine]["taken"] > 0, letter + routine
            assert sum(counted[letter + routine].values()) == counted[letter + routine]["taken"]
    for name in ("ssyrk", "dsyrk", "dgemv"):
        assert counted[name]["taken"] > 0


ONE = "import numpy as np; a = np.ones((90, 90)); assert (a @ a == 90).all()"


@pytest.mark.slow
def test_nothing_is_said_unasked():
    assert ran(ONE, report=False) == ("", "")
    assert ran(ONE, HETSCHED_BLAS_REPORT="0") == ("", "")


@two_cores
def test_the_table_is_on_stderr_and_of_this_process():
    out, said = ran("import os; print(os.getpid());" + ONE)
    assert f"calls of process {out.strip()}" in said
    assert calls.table(said)["dgemm"]["taken"] == 1
    assert ran("import numpy")[1] == ""  # no call, no table


@pytest.mark.few(1)
@pytest.mark.parametrize("word", ["off", "0"])
def test_off(word):
    assert calls.table(ran(ONE, HETSCHED_BLAS=word)[1])["dgemm"]["taken"] == 0


@pytest.mark.slow
@two_cores
def test_small_calls():
    counted = calls.table(
        ran(ONE + "; np.ones((110, 110)) @ np.ones((110, 110))", HETSCHED_BLAS_LEAST="1e6")[1]
    )["dgemm"]
    assert (counted["taken"], counted["small"]) == (1, 1)
    counted = calls.table(
        ran(ONE + "; a.astype('f') @ a.astype('f')", HETSCHED_BLAS_LEAST="gemm=0,dgemm=inf")[1]
    )
    assert (counted["dgemm"]["small"], counted["sgemm"]["taken"]) == (1, 1)


@pytest.mark.slow
def test_one_thread_of_the_library_behind():
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        changes = {"OPENBLAS_NUM_THREADS": None, name: "1"}
        counted = calls.table(ran(ONE, **changes)[1])["dgemm"]
        assert (counted["taken"], counted["1-thread"]) == (0, 1), name
    counted = calls.table(ran(ONE, HETSCHED_NUM_THREADS="1")[1])["dgemm"]
    assert (counted["taken"], counted["1-thread"]) == (0, 1)


@two_cores
def test_threadpoolctl():
    pytest.importorskip("threadpoolctl")
    program = (
        "import threadpoolctl;"
        + ONE
        + "\nwith threadpoolctl.threadpool_limits(1): a @ a @ a\na @ a"
    )
    counted = calls.table(ran(program)[1])["dgemm"]
    assert (counted["taken"], counted["1-thread"]) == (2, 2)


@pytest.mark.slow
@two_cores
def test_numpy_and_scipy_in_one_process():
    out, said = ran("""
import numpy as np, scipy.linalg
a = np.random.default_rng(0).standard_normal((150, 150)) / 12 + 2 * np.eye(150)
for turn in range(3):
    b = a @ a.T
    lu, piv = scipy.linalg.lu_factor(a)
    x = scipy.linalg.lu_solve((lu, piv), b)
    assert np.allclose(x, a.T), "lu"
    assert np.allclose(scipy.linalg.solve(b, b, assume_a="pos"), np.eye(150)), "pos"
    assert np.allclose(scipy.linalg.blas.dgemm(1.0, a, b), np.dot(a, b)), "gemm"
    lower = np.tril(a)
    x = scipy.linalg.solve_triangular(lower, b, lower=True)
    assert np.allclose(x, np.linalg.solve(lower, b)), "triangle"
    q, r = scipy.linalg.qr(a, mode="economic")
    assert np.allclose(q @ r, a), "qr"
    assert np.allclose(scipy.linalg.lstsq(a, b, lapack_driver="gelsy")[0], a.T), "lstsq"
print("right")
""")
    assert out == "right\n"
    counted = calls.table(said)
    for name in ("dgemm", "dsyrk", "dgetrf", "dgetrs", "dtrtrs", "dgeqrf", "dorgqr", "dgesv"):
        assert counted[name]["taken"] >= 3, name


def test_usual_calls_are_taken_by_every_name():
    environment_ = calls.environment(LD_PRELOAD=None)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import numpy, scipy.linalg, dropin_calls; dropin_calls.call_each()",
        ],
        env=environment_,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    widths, counted = int(done.stdout), calls.table(done.stderr)
    assert widths > 0
    expected = {"gemm": 3, "syrk": 3, "trsm": 3, "gemv": 3}
    for letter in "sdcz":
        for routine in calls.ROUTINES:
            # herk counts as syrk
            count = widths * (expected.get(routine, 1) + 3 * (routine == "syrk" and letter in "cz"))
            by_fate = dict.fromkeys(calls.COLUMNS, 0)
            assert counted[letter + routine] == {**by_fate, "taken": count}, letter + routine
        for name in (calls.usual(letter, routine) for routine in calls.SPECTRAL):
            assert counted[name] == {**by_fate, "taken": widths}, name


@pytest.mark.slow
def test_bad_arguments_are_told_as_lapack_tells_them():
    program = (
        "import sys, numpy, scipy.linalg, dropin_calls; dropin_calls.bad_arguments(sys.argv[1] =="
        " 'ours')"
    )
    ours, theirs = (
        ran(program, which, LD_PRELOAD=None, report=False) for which in ("ours", "theirs")
    )
    assert ours == theirs
    assert len(ours[0]) > 1000
    assert "DGEMM" in "".join(ours).upper()


# ---- threads, forks, signals ---------------------------------------------------------------------


@pytest.mark.slow
@two_cores
def test_many_threads_at_once():
    out, said = ran("""
import threading
import numpy as np
a = np.random.default_rng(0).standard_normal((200, 200)); b = a @ a
x = np.linalg.solve(a, b[:, :3])
wrong = []
def work():
    for turn in range(15):
        right = np.allclose(a @ a, b) and np.allclose(np.linalg.solve(a, b[:, :3]), x)
        if not right: wrong.append(turn)
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(wrong))
""")
    assert out == "0\n"
    counted = calls.table(said)["dgemm"]
    assert counted["taken"] > 0
    assert sum(counted.values()) <= 16 * 15 + 1


def test_forks_in_the_middle_of_another_threads_calls():
    out, _ = ran("""
import os, threading
import numpy as np
a = np.random.default_rng(0).standard_normal((300, 300)); b = a @ a; stop = False
def work():
    while not stop: a @ a
thread = threading.Thread(target=work); thread.start()
codes = []
for turn in range(12):
    child = os.fork()
    if child == 0:
        products = all(np.allclose(a @ a, b) for _ in range(3))
        os._exit(0 if products and np.allclose(np.linalg.solve(a, b), a) else 1)
    codes.append(os.waitpid(child, 0)[1])
stop = True; thread.join()
assert np.allclose(a @ a, b)
print(codes)
""")
    assert out == f"{[0] * 12}\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_forks_while_other_threads_hold_the_lock_of_the_loader(tmp_path):
    """The child has no such thread, and would wait for the lock for ever."""
    library, source = tmp_path / "libslow_loader.so", Path(__file__).with_name("slow_loader.c")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    preload = f"{library}:{calls.environment()['LD_PRELOAD']}"
    out, _ = ran(
        """
import os, signal, threading
import numpy as np
a = np.random.default_rng(0).standard_normal((200, 200)); b = a @ a; stop = False
def work():
    while not stop: a @ a
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
codes = []
for turn in range(5):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if np.allclose(a @ a, b) else 1)
    codes.append(os.waitpid(child, 0)[1])
    if codes[-1]: break
stop = True
for thread in threads: thread.join()
print(codes)
""",
        LD_PRELOAD=preload,
    )
    assert out == f"{[0] * 5}\n"


@pytest.mark.slow
def test_a_fork_pool_and_a_new_program():
    out, said = ran("""
import multiprocessing, subprocess, sys
import numpy as np
a = np.random.default_rng(0).standard_normal((200, 200)); b = a @ a
def work(turn): return np.allclose(a @ a, b)
with multiprocessing.get_context("fork").Pool(3) as pool: print(sum(pool.map(work, range(30))))
sys.stdout.flush()
program = "import numpy as np; a = np.ones((90, 90)); print((a @ a == 90).all())"
subprocess.run([sys.executable, "-c", program], check=True)
""")
    assert out == "30\nTrue\n"
    assert len(set(re.findall(r"calls of process (\d+)", said))) >= 2


@two_cores
def test_a_childs_calls_are_taken_again():
    _, said = ran("""
import os, sys
import numpy as np
a = np.ones((200, 200)); a @ a
child = os.fork()
if child == 0:
    a @ a; a @ a
    sys.exit()
os.waitpid(child, 0)
""")
    taken = [int(count) for count in re.findall(r"^dgemm +(\d+)", said, re.MULTILINE)]
    assert sorted(taken) == [1, 2]  # the child counts from zero


@pytest.mark.slow
def test_python_signal_handlers_that_multiply():
    out, _ = ran("""
import signal
import numpy as np
a = np.random.default_rng(0).standard_normal((200, 200)); b = a @ a; wrong = []; handled = []
def later(): signal.setitimer(signal.ITIMER_REAL, 0.002)
def handler(number, frame):
    handled.append(np.allclose(a @ a, b))
    if len(handled) < 30: later()  # only now: a busy machine may need longer than the timer
signal.signal(signal.SIGALRM, handler); later()
while len(handled) < 30: wrong.append(not np.allclose(a @ a, b))
print(sum(wrong), all(handled))
""")
    assert out == "0 True\n"


@pytest.mark.slow
def test_the_library_is_never_unloaded():
    out, _ = ran(
        """
import ctypes, _ctypes
import numpy as np
import dropin_calls
found = dropin_calls.load()
for turn in range(5): _ctypes.dlclose(found._handle)
assert dropin_calls.loaded("libhetsched_blas")
a = np.ones((90, 90))
with dropin_calls.every_call_taken(found):
    who = dropin_calls.Caller([found], "wheel64" if dropin_calls.behind("wheel64") else "plain32")
    for routine, arguments in dropin_calls.products_of("d").items():
        who.fortran("d", routine, *arguments)
print("here")
""",
        LD_PRELOAD=None,
    )
    assert out == "here\n"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "HETSCHED_BLAS_LEAST",
            [
                "gemm=x,dgemm=0",
                "x" * 100_000,
                "0," * 30_000,
                *many(["rubbish", "", "-1", "nan", "gemm=", "=5", ",,,"], ["-1", "=5"]),
            ],
        ),
        (
            "HETSCHED_BLAS_CORES",
            [
                "0,99999",
                "0," * 3000,
                "0.5,x",
                *many(["99999", "", "rubbish", "-1", "1e300", "nan"], ["-1", ""]),
            ],
        ),
        (
            "HETSCHED_BLAS_SPEEDS",
            [
                "1e-300,1",
                "1," * 3000,
                *many(["rubbish", "", "0,0", "-1,1", "inf,1", "1"], ["0,0", "1"]),
            ],
        ),
        (
            "HETSCHED_NUM_THREADS",
            ["99999999999999999999", "2x", *many(["rubbish", "", "-3", "0"], ["0"])],
        ),
        ("HETSCHED_BLAS", ["x" * 100_000, *many(["", "rubbish"], [""])]),
    ],
)
def test_settings_that_cannot_be_read(name, values):
    for value in values:
        out, said = ran(
            ONE + "; print(np.linalg.solve(a + np.eye(90), a)[0, 0].round(3))",
            report=False,
            **{name: value},
        )
        assert (out, said) == ("0.011\n", ""), value[:50]


DOMAINS = """
import ctypes, numpy as np
x = np.linalg.solve(np.eye(90) * 90 + 1, np.ones(90))
print(ctypes.CDLL(None).hetsched_blas_get_num_domains(), x[0].round(3))
"""


@pytest.mark.few(1)
@two_cores
@pytest.mark.parametrize(
    ("of", "blocks", "found"),
    [
        ("0,1", "0,0,0,0,0,0;plain:40,24,48,48,64,32", 2),
        ("1,1", "plain:0,0,0,0,0,0;0,0,0,0,0,0", 1),
        ("1,0,0", "0,0,0,0,0,0;neon:0,0,0,0,0,0", 2),  # on a processor without it: one gang
        ("0,1", "0,0,0,0,0,0", 1),
        ("0", "0,0,0,0,0,0", 1),
        ("0,-1", "0,0,0,0,0,0;0,0,0,0,0,0", 1),
        *(
            ("0,1", f"0,0,0,0,0,0;{text}", 1)
            for text in [
                "", ":0,0,0,0,0,0", "0,0,0,0,0,0,0", "9e9,0,0,0,0,0",
                *many(
                    ["x", "plain", "plain:", "-1,0,0,0,0,0", "0,0,0,0,0", "nan,0,0,0,0,0"], []
                ),
            ]
        ),
    ],
)  # fmt: skip
def test_domains(of, blocks, found):
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    changes = {"CORES": cores, "DOMAINS": of, "BLOCKS": blocks, "LEAST": "0"}
    out, said = ran(
        DOMAINS, report=False, **{f"HETSCHED_BLAS_{name}": value for name, value in changes.items()}
    )
    assert (out, said) == (f"{found} 0.006\n", "")


# ---- C programs, with a library behind of which all is known -------------------------------------

BEHIND = """
#include <stddef.h>
#include <stdint.h>
int calls;
size_t lengths[2];
#define GEMM(NAME, INT) \\
    void NAME(const char *x, const char *y, const INT *m, const INT *n, const INT *k, \\
              const double *alpha, const double *a, const INT *lda, const double *b, \\
              const INT *ldb, const double *beta, double *c, const INT *ldc, size_t p, size_t q) \\
    { \\
        (void)x, (void)y, __sync_fetch_and_add(&calls, 1), lengths[0] = p, lengths[1] = q; \\
        for (INT j = 0; j < *n; j++) for (INT i = 0; i < *m; i++) { \\
            double sum = 0; \\
            for (INT l = 0; l < *k; l++) sum += a[i + l * *lda] * b[l + j * *ldb]; \\
            c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]); \\
        } \\
    }
GEMM(dgemm_, int32_t)
GEMM(dgemm_64_, int64_t)
int32_t isamax_(const int32_t *n, const float *x, const int32_t *step)
{
    int32_t place = *n > 0;
    for (int32_t i = 1; i < *n; i++) if (x[i * *step] > x[(place - 1) * *step]) place = i + 1;
    return place;
}
"""
PROGRAM = """
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
enum { N = 160, SMALL = 24 };
extern int calls;
extern size_t lengths[2];
extern void GEMM();
static double a[N * N], c[N * N], other[SMALL * SMALL];
static volatile sig_atomic_t handled, bad;

static int product(double *to, INT n)
{
    const double one = 1, zero = 0;
    const INT lead = N;
    GEMM("N", "N", &n, &n, &n, &one, a, &lead, a, &lead, &zero, to, &n, (size_t)1, (size_t)1);
    for (int i = 0; i < n * n; i++) if (to[i] != n) return 1;
    return 0;
}
static void on_alarm(int number) { (void)number, bad += product(other, SMALL), handled++; }
int main(int count, char **words)
{
    for (int i = 0; i < N * N; i++) a[i] = 1;
    if (words[1][0] == 'p') {
        #pragma omp parallel num_threads(2)
        {
            static double mine[2][N * N];
            int me = 0;
            #ifdef _OPENMP
            extern int omp_get_thread_num(void);
            me = omp_get_thread_num();
            #endif
            for (int i = 0; i < 5; i++) bad += product(mine[me], N);
        }
    }
    if (words[1][0] == 's') {
        bad += product(c, N);
        signal(SIGALRM, on_alarm);
        const struct itimerval often = {{0, 300}, {0, 300}};
        setitimer(ITIMER_REAL, &often, NULL);
        while (handled < 300) bad += product(c, N);
        const struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &never, NULL);
    }
    bad += product(c, N);
    printf("%d %d %d %d", (int)bad, calls, (int)lengths[0], (int)lengths[1]);
    return count < 1;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """By integer type, with OpenMP and without."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "behind.c").write_text(BEHIND)
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "behind.c", "-o", "libbehind.so"], cwd=folder, check=True
    )
    for kind, gemm in (("int32_t", "dgemm_"), ("int64_t", "dgemm_64_"), ("openmp", "dgemm_")):
        words = ["-fopenmp"] if kind == "openmp" else []
        words += [
            "-w",
            "-O1",
            f"-DINT={'int32_t' if kind == 'openmp' else kind}",
            f"-DGEMM={gemm}",
            "program.c",
            "-o",
            kind,
        ]
        subprocess.run(
            ["gcc", *words, "-L.", "-lbehind", f"-Wl,-rpath,{folder}"],
            cwd=folder,
            check=kind != "openmp",
        )
    return folder


@pytest.mark.parametrize("kind", ["int32_t", "int64_t"])
def test_a_program_in_c(programs, kind):
    out, said = ran([programs / kind], "one")
    assert out == "0 0 0 0"
    assert calls.table(said)["dgemm"]["taken"] == 1
    out, said = ran([programs / kind], "one", HETSCHED_BLAS="off")
    assert out == "0 1 1 1"  # with the lengths of both letters
    assert calls.table(said)["dgemm"]["small"] == 1


def test_threads_call_at_the_same_time():
    """All calls of four threads are taken, and have the bits of the call alone."""
    program = """
import threading
import numpy as np
rng = np.random.default_rng(4)
A = rng.random((400, 400)) + 400 * np.eye(400)
alone = A @ A, np.linalg.solve(A, A), np.linalg.cholesky(A @ A.T)
wrong = []
def work():
    for _ in range(8):
        own = A @ A, np.linalg.solve(A, A), np.linalg.cholesky(A @ A.T)
        wrong.extend(1 for x, y in zip(own, alone) if not (x == y).all())
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(wrong))
"""
    out, said = ran(program)
    assert out.strip() == "0"
    for name, calls_of_it in {"dgemm": 33, "dgesv": 33, "dpotrf": 33}.items():
        assert calls.table(said)[name]["taken"] == calls_of_it


def test_in_a_parallel_region_of_openmp(programs):
    if not (programs / "openmp").exists():
        pytest.skip("gcc has no OpenMP")
    out, said = ran([programs / "openmp"], "parallel", OMP_NUM_THREADS="2")
    counted = calls.table(said)["dgemm"]
    assert out.split()[0] == "0"
    assert counted["taken"] == 1  # the last, after the region
    assert counted["parallel"] == 10


def test_a_signal_handler_in_the_middle_of_a_product(programs):
    out, said = ran([programs / "int32_t"], "signals")
    assert out.split()[0] == "0"
    counted = calls.table(said)["dgemm"]
    assert counted["taken"] > 0
    assert counted["busy"] > 0  # the handler's, while the very thread had the engine
