"""Calls of NumPy with one thread of its OpenBLAS."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import hetsched as hs
from hetsched._engine import openblas
from hetsched._engine.ffi import lib

pytestmark = pytest.mark.skipif(
    openblas.of_numpy() is None, reason="NumPy's library is not OpenBLAS, or is ours"
)


@pytest.fixture
def threads():
    """The functions that set and get the number of threads, which is 2 before the test."""
    number = openblas.of_numpy()
    before = number.get()
    number.set(2)
    yield number.set, number.get
    number.set(before)


def test_threadpoolctl_sees_the_same_number(threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    set_threads, get_threads = threads
    with threadpoolctl.threadpool_limits(1):
        assert get_threads() == 1
    assert get_threads() == 2

    def seen():
        return {
            each["num_threads"]
            for each in threadpoolctl.threadpool_info()
            if "numpy.libs" in each["filepath"]
        }

    if wheel := seen():
        assert wheel == {2}
        assert openblas.on_one_thread(seen) == {1}


def test_one_inside_and_as_before_after(threads):
    _, get_threads = threads
    seen = []

    def call(x, y):
        seen.append(get_threads())
        if y:
            openblas.on_one_thread(call, x, y - 1)
        seen.append(get_threads())
        return x + y

    assert openblas.on_one_thread(call, 3, 1) == 4
    assert seen == [1, 1, 1, 1]
    assert get_threads() == 2


def test_an_error_inside(threads):
    _, get_threads = threads
    with pytest.raises(ZeroDivisionError):
        openblas.on_one_thread(lambda: 1 / 0)
    assert get_threads() == 2


def test_a_number_that_the_program_sets_meanwhile_stays(threads):
    set_threads, get_threads = threads
    openblas.on_one_thread(set_threads, 3)
    assert get_threads() == 3


def test_threads_of_the_program(threads):
    """The last call that ends tells the number of before."""
    _, get_threads = threads
    begun, end, seen = threading.Barrier(5), threading.Event(), []

    def call():
        begun.wait()
        end.wait()
        seen.append(get_threads())

    callers = [threading.Thread(target=openblas.on_one_thread, args=(call,)) for _ in range(4)]
    for caller in callers:
        caller.start()
    begun.wait()
    assert get_threads() == 1
    end.set()
    for caller in callers:
        caller.join()
    assert seen == [1] * 4
    assert get_threads() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_fork_inside_has_the_number_of_before(threads):
    _, get_threads = threads

    def call():
        if not (child := os.fork()):
            os._exit(get_threads())
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert openblas.on_one_thread(call) == 2


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (hs.eigvalsh, "eigvalsh"),
        (hs.eigh, "eigh"),
        (hs.svd, "svd"),
        (hs.svdvals, "svd"),
        (hs.cond, "svd"),
    ],
)
def test_small_decompositions_have_one_thread(threads, monkeypatch, ours, numpys):
    _, get_threads = threads
    seen, call = [], getattr(np.linalg, numpys)

    def counted(*given, **options):
        seen.append(get_threads())
        return call(*given, **options)

    monkeypatch.setattr(np.linalg, numpys, counted)
    ours(np.eye(lib.HS__ONE_THREAD_ORDER))
    assert seen == [1]
