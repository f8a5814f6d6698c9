"""Limits of threads: of threadpoolctl for the process, of hs.thread_limit for a thread."""

import importlib
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import hetsched as hs
from hetsched.runners import workers
from hetsched.runners.shared import shared_pool

threadpoolctl = pytest.importorskip("threadpoolctl")
A = np.random.default_rng(1).standard_normal((300, 300))

importlib.import_module("hetsched.runners.threadpool")  # which registers


@pytest.fixture
def whole(monkeypatch):
    """The shared pool has three workers, on whatever machine."""
    monkeypatch.setenv("HETSCHED_NUM_THREADS", "3")
    pool = hs.Pool(3)
    monkeypatch.setattr("hetsched.runners.shared._shared", pool)
    monkeypatch.setattr(workers, "here", lambda: 3)
    return pool


def used():
    """How many workers a product has, by its trace."""
    C, trace = hs.matmul(A, A, trace=True)
    assert np.allclose(C, A @ A)
    return len(trace.workers)


def own():
    """What threadpoolctl says of the shared pool."""
    (found,) = (one for one in threadpoolctl.threadpool_info() if one["prefix"] == "_hetsched")
    return found


def test_info(whole):
    found = own()
    assert {
        name: found[name] for name in ("user_api", "internal_api", "num_threads", "version")
    } == {
        "user_api": "blas",
        "internal_api": "hetsched",
        "num_threads": 3,
        "version": hs.__version__,
    }


@pytest.mark.parametrize("kind", [{}, {"user_api": "blas"}])
@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (3, 3), (7, 3)])
def test_the_process_is_limited(whole, kind, limit, count):
    with threadpoolctl.threadpool_limits(limit, **kind):
        assert (used(), own()["num_threads"]) == (count, count)
    assert (used(), own()["num_threads"]) == (3, 3)


def test_by_the_name_of_the_library(whole):
    with threadpoolctl.threadpool_limits({"_hetsched": 2}):
        assert used() == 2
    with threadpoolctl.threadpool_limits({"libscipy_openblas": 1}):
        assert used() == 3


def test_limits_of_the_process_are_nested(whole):
    with threadpoolctl.threadpool_limits(1):
        with threadpoolctl.threadpool_limits(2):
            assert used() == 2
        assert used() == 1
    assert used() == 3


def test_all_threads_are_limited_with_the_process(whole):
    seen = []
    with threadpoolctl.threadpool_limits(2):
        thread = threading.Thread(target=lambda: seen.append(used()))
        thread.start()
        thread.join()
    assert seen == [2]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (np.int64(2), 2), (3, 3), (7, 3)])
def test_a_thread_is_limited(whole, limit, count):
    with hs.thread_limit(limit):
        assert used() == count
        assert own()["num_threads"] == 3  # the limit of the process
    assert used() == 3


def test_the_smaller_limit_holds(whole):
    with hs.thread_limit(2):
        with hs.thread_limit(3):
            assert used() == 2
        with hs.thread_limit(1):
            assert used() == 1
        with threadpoolctl.threadpool_limits(1):
            assert used() == 1
        assert used() == 2
    with threadpoolctl.threadpool_limits(1), hs.thread_limit(2):
        assert used() == 1
    assert used() == 3


def test_it_ends_with_an_error(whole):
    with pytest.raises(ZeroDivisionError), hs.thread_limit(1):
        raise ZeroDivisionError
    assert used() == 3


def test_as_a_decorator(whole):
    limited = hs.thread_limit(1)(used)
    assert [limited(), used(), limited()] == [1, 3, 1]


def test_other_threads_have_no_limit(whole):
    """Each has its own, or none, while the others are inside theirs."""
    inside, seen = threading.Barrier(4), {}

    def run(limit):
        with hs.thread_limit(limit):
            inside.wait(30)
            seen[limit] = used()
            inside.wait(30)

    threads = [threading.Thread(target=run, args=(limit,)) for limit in (1, 2, 9)]
    for thread in threads:
        thread.start()
    inside.wait(30)
    assert used() == 3
    inside.wait(30)
    for thread in threads:
        thread.join()
    assert seen == {1: 1, 2: 2, 9: 3}


def test_threads_under_a_limit_have_pools_of_their_own(whole):
    """The same one again in a thread, so that no thread is started for each call."""
    pools, start = [], threading.Barrier(2)

    def run():
        with hs.thread_limit(1):
            pools.append((shared_pool(), shared_pool()))
            start.wait(30)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (a, b), (c, d) = pools
    assert a is b
    assert c is d
    assert a is not c


def test_pools_keep_their_workers(whole):
    with hs.Pool(2) as pool, hs.thread_limit(1), threadpoolctl.threadpool_limits(1):
        assert len(pool.matmul(A, A, trace=True)[1].workers) == 2


def test_all_that_shares_the_pool_is_limited(whole):
    b = A[:, 0]
    with hs.thread_limit(2):
        assert len(shared_pool()) == 2
        assert np.allclose(A @ hs.solve(A, b), b)
        assert np.allclose(hs.gram(A), A @ A.T)
        assert np.allclose(hs.asarray(A) @ A, A @ A)
        assert np.allclose(hs.inv(A) @ A, np.eye(300))


@pytest.mark.parametrize("bad", [0, -1, 1.5, "1", None, float("nan")])
def test_bad_limits(bad):
    with pytest.raises((ValueError, TypeError), match=r"^n "):
        hs.thread_limit(bad)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_limited(whole):
    with hs.thread_limit(2):
        assert used() == 2
        child = os.fork()
        if not child:
            os._exit(used() if len(shared_pool()) == 2 else 100)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def in_a_process(code, *before, **env):
    """What the code prints as JSON, in a new interpreter, behind `before`."""
    command = [*before, sys.executable, "-c", f"import json\n{code}\nprint(json.dumps(result))"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=100, env=os.environ | env, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PREFIXES = (
    "prefixes = sorted(x['prefix'] for x in threadpool_info() if x['internal_api'] == 'hetsched')"
)


def test_known_from_the_import_on():
    code = "from threadpoolctl import threadpool_info\nimport hetsched"
    assert in_a_process(f"{code}\n{PREFIXES}\nresult = prefixes") == ["_hetsched"]


@pytest.mark.slow
def test_known_from_the_first_use_on():
    code = "import hetsched, sys\nbefore = 'threadpoolctl' in sys.modules\nhetsched.matmul"
    code = f"{code}\nfrom threadpoolctl import threadpool_info"
    assert in_a_process(f"{code}\n{PREFIXES}\nresult = [before, prefixes]") == [
        False,
        ["_hetsched"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["None", "type(sys)('threadpoolctl')"], ids=["missing", "old"])
def test_without_threadpoolctl(gone):
    code = (
        f"import sys\nsys.modules['threadpoolctl'] = {gone}\nimport hetsched as hs\nwith"
        " hs.thread_limit(1):"
    )
    assert in_a_process(f"{code}\n    result = hs.matmul([[2.0]], [[3.0]]).tolist()") == [[6.0]]


@pytest.mark.slow
def test_workers_of_joblib():
    """Processes keep to what joblib tells them; and threads to a limit inside."""
    pytest.importorskip("joblib")
    code = """
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
import hetsched as hs
hs.matmul  # its controller is there before the limits
def size(limit=None):
    import hetsched as hs
    from hetsched.runners.shared import shared_pool
    if limit is None:
        return len(shared_pool())
    from threadpoolctl import threadpool_limits
    hs.matmul
    with threadpool_limits(limit):
        return len(shared_pool())
with parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
    told = Parallel()(delayed(size)() for _ in range(2))
with parallel_config("loky", n_jobs=2):
    limited = Parallel()(delayed(size)(1) for _ in range(2))
# The limit is one for the process, not for each thread.
with parallel_config("threading", n_jobs=2), threadpool_limits(1):
    threads = Parallel()(delayed(size)() for _ in range(2))
result = [told, limited, threads]
from joblib.externals.loky import get_reusable_executor
get_reusable_executor().shutdown()
"""
    assert in_a_process(code) == [[1, 1]] * 3


def test_an_estimator_of_scikit_learn(whole, monkeypatch):
    """KMeans limits the BLAS to one thread around its iterations: what is called there has one
    worker."""
    kmeans = pytest.importorskip("sklearn.cluster._kmeans")
    # made before hetsched was known
    monkeypatch.setattr("sklearn.utils.parallel._threadpool_controller", None)
    inertia, seen = kmeans._inertia_dense, []

    def watched(*args):
        seen.append(used())
        return inertia(*args)

    monkeypatch.setattr(kmeans, "_inertia_dense", watched)
    kmeans.KMeans(2, n_init=1, random_state=0).fit(A)
    assert set(seen) == {1}
    assert used() == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the drop-in library is built on Linux")
def test_the_dropin_library():
    code = f"""
import ctypes
import threadpoolctl, hetsched
from threadpoolctl import threadpool_info, threadpool_limits
{PREFIXES}
count = ctypes.CDLL(None).hetsched_blas_get_num_threads
ctypes.CDLL(None).hetsched_blas_set_num_threads(2)
before = count()
with threadpool_limits(1):
    inside = count()
versions = {{x["version"] for x in threadpool_info() if x["internal_api"] == "hetsched"}}
result = [prefixes, inside, count() == before, versions == {{hetsched.__version__}}]
"""
    before = [sys.executable, "-m", "hetsched", "exec", "--"]
    assert in_a_process(code, *before) == [["_hetsched", "libhetsched_blas"], 1, True, True]
