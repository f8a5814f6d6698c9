"""Cpus of pools: masks that change after they were made, threads that OpenMP binds, systems that
refuse threads."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from openmp import BINDINGS, CPUS, ONE, OTHER, RUNTIMES, is_there

import hetsched as hs
from hetsched._engine import ffi, run
from hetsched.machine import mask
from hetsched.runners import shared

linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no masks here")
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="one cpu has one mask")

SETUP = """
import json, os, sys, threading, time, warnings
import numpy as np
import hetsched as hs
A = np.random.default_rng(0).standard_normal((130, 130))
RIGHT = np.einsum("ik,kj->ij", A, A)
tasks = lambda: {int(task) for task in os.listdir("/proc/self/task")}
BEFORE = tasks()
def workers():
    return sorted(sorted(os.sched_getaffinity(task)) for task in tasks() - BEFORE)
def look(pool=hs):
    assert np.allclose(pool.matmul(A, A), RIGHT)
    return [sorted(os.sched_getaffinity(0)), workers()]
def own(mask):
    # the caller's cpus, and of the workers a core for each of two, or what both share
    return [mask, [[cpu] for cpu in mask] if len(mask) == 2 else [mask] * 2]
def settled(wanted, pool):
    # The engine exchanges the cores of two threads where another program has the core of one, which
    # goes back to its own core when that program lets it.
    end = time.monotonic() + 60
    while (found := look(pool)) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return found
def tell(found):
    os.write(1, f"{json.dumps(found)}\\n".encode())
"""


def results(code, *before, check=True, **changes):
    """What a program prints as JSON, a value of each line."""
    given = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HETSCHED_", "OMP_"))
    } | changes
    command = [*before, sys.executable, "-W", "ignore", "-c", SETUP + code]
    done = subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


STEPS = [[ONE, OTHER], [ONE], [OTHER], [ONE, OTHER]]
EACH = f"for mask in {STEPS}:\n    os.sched_setaffinity(0, mask)\n    tell("


@linux
@needs_two
def test_the_shared_pool_has_the_cpus_of_the_mask():
    for mask_, found in results(f"{EACH}settled(own(mask), hs) if len(mask) == 2 else look())"):
        assert found == [[cpu] for cpu in mask_]


@pytest.mark.slow
@linux
@needs_two
@pytest.mark.parametrize("pool", ["hs.Pool(2)", "hs.Pool(hs.Platform.star([1, 2]))", "hs.Pool()"])
def test_an_explicit_pool_keeps_its_workers_and_follows_the_mask(pool):
    """Where they are more than cpus, none is pinned."""
    for mask_, found, size in results(
        f"pool = {pool}\n{EACH}[*settled(own(mask), pool), len(pool)])"
    ):
        assert size == 2
        assert found == ([[cpu] for cpu in mask_] if len(mask_) == 2 else [mask_] * 2)


@pytest.mark.few(1)
@linux
@needs_two
@pytest.mark.parametrize(
    "setup",
    [
        (
            "pool = hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True, time_scale=9); call ="
            " lambda: pool.matmul(A, A)"
        ),
        "pool = hs.Pool(5); call = lambda: pool.matmul(A, A)",
        "call = hs.thread_limit(1)(lambda: hs.matmul(A, A))",
        "call = lambda: hs.asarray(A) @ A",
    ],
)
def test_no_worker_stays_outside_the_mask(setup):
    # the shared pool is not used then
    hold = "hs.matmul(A, A)\nBEFORE = tasks()" if "limit" in setup else ""
    for mask_, found in results(
        f"{hold}\n{setup}\ncall()\n{EACH}[mask, call() is not None and workers()])"
    ):
        assert found
        assert all(set(cpus) <= set(mask_) for cpus in found)


@pytest.mark.slow
@linux
@needs_two
def test_threads_with_masks_of_their_own():
    code = f"""
def work(mask):
    BEFORE.add(threading.get_native_id())
    os.sched_setaffinity(0, mask)
    for turn in range(20):
        assert np.allclose(hs.matmul(A, A), RIGHT) and np.allclose(pool.matmul(A, A), RIGHT)
    done.append(mask)
done, pool = [], hs.Pool(2)
threads = [threading.Thread(target=work, args=(mask,)) for mask in ([{ONE}], [{OTHER}], {CPUS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
tell(len(done))
"""
    assert results(code) == [3]


@pytest.mark.slow
@linux
@needs_two
@pytest.mark.parametrize(
    ("pool", "workers"), [("hs", 1), ("hs.Pool(2)", 2), ("hs.Pool(hs.Platform.star([1, 2]))", 2)]
)
def test_a_forked_child_with_another_mask(pool, workers):
    code = f"""
pool = {pool}
look(pool)
child = os.fork()
if child == 0:
    BEFORE = tasks()
    os.sched_setaffinity(0, [{OTHER}])
    tell(look(pool))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tell(settled([{CPUS}, [[{ONE}], [{OTHER}]]], pool))
"""
    child, parent = results(code)
    assert child == [[OTHER], [[OTHER]] * workers]
    assert parent == [CPUS, [[ONE], [OTHER]]]


@pytest.mark.parametrize("name", ["solve", "inv", "det", "gram", "cholesky", "qr", "lu_factor"])
def test_a_small_call_looks_at_the_mask_once(monkeypatch, name):
    """A look takes as long as the rest of such a call, and reads the mask by a system call."""
    a, looks, stamp = 4.0 * np.eye(8), [], run.cpus_stamp
    call = getattr(hs, name)
    call(*[a] * (1 + (name == "solve")))
    monkeypatch.setattr(run, "cpus_stamp", lambda: looks.append(name) or stamp())
    call(*[a] * (1 + (name == "solve")))
    assert looks == [name]


@linux
def test_the_stamp_is_one_of_the_mask():
    before, stamp = os.sched_getaffinity(0), run.cpus_stamp()
    assert stamp == run.cpus_stamp()
    if len(before) > 1:
        try:
            os.sched_setaffinity(0, [min(before)])
            assert run.cpus_stamp() != stamp
        finally:
            os.sched_setaffinity(0, before)
    assert run.cpus_stamp() == stamp


# ---- OpenMP --------------------------------------------------------------------------------------


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    if not is_there(request.param):
        pytest.skip(f"there is no {request.param}")
    return request.param


@pytest.mark.few(2)
@linux
@needs_two
@pytest.mark.parametrize("binding", BINDINGS, ids=lambda x: "+".join(x))
def test_a_thread_that_openmp_binds_has_the_cpus_of_its_process(runtime, binding):
    """Pinned workers are on all of them, others may run on all of them; the thread itself stays
    bound."""
    code = f"""
import ctypes
omp = ctypes.CDLL({runtime!r})
omp.omp_get_num_places()
BEFORE = tasks()
bound = os.sched_getaffinity(0)
own, both = sorted(bound), [[{ONE}], [{OTHER}]]
pinned = settled([own, both], hs)[1]
unpinned = settled([own, sorted([*both, *[{CPUS}] * 3])], hs.Pool(3))[1]
tell([hs.topology().cpus, pinned, unpinned, os.sched_getaffinity(0) == bound])
"""
    ((cpus, pinned, unpinned, stays),) = results(code, LD_PRELOAD=runtime, **binding)
    assert cpus == 2
    assert pinned == [[ONE], [OTHER]]
    assert unpinned == sorted([[ONE], [OTHER], *[CPUS] * 3])
    assert stays


@pytest.mark.slow
@linux
@needs_two
@pytest.mark.skipif(shutil.which("taskset") is None, reason="there is no taskset")
def test_one_cpu_remains_one_under_openmp(runtime):
    code = "tell([hs.topology().cpus, look()[1]])"
    for cpu, binding in zip(CPUS, BINDINGS[:2], strict=True):
        assert results(code, "taskset", "-c", str(cpu), LD_PRELOAD=runtime, **binding) == [
            [1, [[cpu]]]
        ]


def test_a_mask_that_is_not_told(monkeypatch):
    def refused(_):
        raise OSError(1, "not permitted")

    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", refused)
    assert mask.cpus() == frozenset()
    with mask.whole():
        pass
    assert "affinity" in hs.topology().unknown


@linux
def test_places_of_another_mask(monkeypatch):
    """Any other mask than just one place was set by something else."""
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    places = [frozenset({0, 8}), frozenset({1, 9}), frozenset({2})]
    monkeypatch.setattr(mask, "_places", lambda: iter([[], places]))
    for own, expected in [
        ({0, 8}, {0, 1, 2, 8, 9}),
        ({2}, {0, 1, 2, 8, 9}),
        ({0}, {0}),
        ({0, 1}, {0, 1}),
        ({5}, {5}),
    ]:
        monkeypatch.setattr(mask, "_own", lambda own=own: frozenset(own))
        assert mask.cpus() == expected
    monkeypatch.delenv("OMP_PROC_BIND")
    assert mask.cpus() == {5}


# ---- no threads ----------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    """Engines with so many threads at most."""

    def set_(most):
        own = run.Threads.__init__

        def limited(self, workers, *args, **kwargs):
            if workers > max(1, most):
                raise run.ThreadsRefused(f"workers is {workers}: the system refuses")
            own(self, workers, *args, **kwargs)

        monkeypatch.setattr(run.Threads, "__init__", limited)

    return set_


@pytest.mark.parametrize("most", [0, 1, 2])
def test_the_default_pool_has_the_workers_that_could_be_started(few, most, monkeypatch):
    monkeypatch.setattr("hetsched.runners.workers.worth_here", lambda *_: 3)
    monkeypatch.setattr(shared, "_shared", None)
    few(most)
    A = np.random.default_rng(0).standard_normal((130, 130))
    size = max(1, most)
    with pytest.warns(RuntimeWarning, match=f"threads for 3 workers: this pool has {size}"):
        pool = hs.Pool()
    assert len(pool) == size
    assert np.allclose(pool.matmul(A, A), A @ A)
    with pytest.warns(RuntimeWarning, match=f"this pool has {size}"):
        assert np.allclose(hs.matmul(A, A), A @ A)
    assert len(shared.shared_pool()) == size
    with pytest.raises(RuntimeError, match="workers is 3"):
        hs.Pool(3)


#: As a system does that has no more processes for this user, or for the cgroup.
LIMITED = """
import importlib, pkgutil, resource
import hetsched.runners
from hetsched.machine import measure
for each in pkgutil.iter_modules(hetsched.runners.__path__, "hetsched.runners."):
    importlib.import_module(each.name)  # the user of limit() may not read where these lie
threading.main_thread()
def limit():
    if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)  # limits do not bind root
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
"""


@linux
@needs_two
def test_a_user_without_processes():
    """RLIMIT_NPROC itself, of a user who has one process: this one."""
    code = f"""{LIMITED}
limit()
try:
    threading.Thread(target=print).start()
    tell("not limited")
except RuntimeError:
    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as said:
        found = [look()[1], np.allclose(hs.solve(A, A), np.eye(130)), hs.Pool(1).matmul(A, A).shape]
        tell([[str(one.message) for one in said], *found])
    try:
        hs.Pool(2)
    except RuntimeError as error:
        tell(str(error))
    tell(workers())
"""
    found = results(code)
    if found == ["not limited"]:
        pytest.skip("this system lets it start threads nevertheless")
    (said, alone, solved, shape), error, left = found
    assert alone == left == []
    assert len(said) == 1
    assert "this pool has 1" in said[0]
    assert solved
    assert shape == [130, 130]
    assert "workers is 2: the system refuses to start so many threads" in error
    assert "RLIMIT_NPROC" in error


@pytest.mark.slow
@linux
@pytest.mark.parametrize("left", [0, 2])
def test_threads_that_the_engine_does_not_get(tmp_path, left):
    """In C: none is left of a pool that could not be made, and a pool of one worker does
    without."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    source = Path(__file__).parents[1] / "dropin" / "refusing.c"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", source, "-o", "librefusing.so", "-ldl"],
        cwd=tmp_path,
        check=True,
    )
    code = f"""
import ctypes
refuse = ctypes.CDLL(None).threads_left
refuse({left})
for size in (1, 2, 3):
    try:
        tell([size, len(look(hs.Pool(size))[1])])
    except RuntimeError as error:
        tell([size, str(error)])
    tell(len(workers()))
"""
    found = results(code, LD_PRELOAD=str(tmp_path / "librefusing.so"))
    for size, (told, after) in enumerate(zip(found[::2], found[1::2], strict=True), 1):
        assert after == 0
        if size <= max(1, left):
            assert told == [size, min(size, left)]
        else:
            assert told[1].startswith(
                f"workers is {size}: the system refuses to start so many threads"
            )


def test_a_planner_without_a_thread_beside_it(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ffi._thread, "start_new_thread", refused)
    assert threading.current_thread() is threading.main_thread()
    called = []
    ffi.cancellable(lambda cancel: called.append(cancel) or 0, True)
    assert len(called) == 1
    with pytest.raises(ZeroDivisionError):
        ffi.cancellable(lambda cancel: 1 // 0, True)
