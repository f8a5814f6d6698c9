"""Calls inside calls: in progress functions, tiles and signal handlers, while the shared pool works
for their thread."""

import signal
import threading
import time

import numpy as np
import pytest
from progress_calls import CALLS

import hetsched as hs
from hetsched.runners import shared

S = np.random.default_rng(3).standard_normal((150, 150))
G = S @ S.T + 150 * np.eye(150)
INNER = {
    "matmul": lambda: hs.matmul(S, S),
    "array": lambda: hs.asarray(S) @ S,
    "in place": lambda: hs.matmul(S, S, out=np.empty_like(S)),
    "gram": lambda: hs.gram(S),
    "solve": lambda: hs.solve(G, S),
    "lu": lambda: hs.lu_factor(G)[0],
    "cholesky": lambda: hs.cholesky(G),
    "qr": lambda: hs.qr(G)[1],
    "lstsq": lambda: hs.lstsq(G, S)[0],
    "inverse": lambda: hs.inv(G),
}


@pytest.fixture
def own(monkeypatch):
    """This thread's pools for nested calls: none at first."""
    monkeypatch.setattr(shared._own, "nested", [])
    return shared._own.nested


def until(condition, run):
    """Run with ever larger sizes until something has happened; what is too small may end before the
    first look."""
    size = 800
    while not condition():
        assert size < 8_000
        run(size)
        size = int(1.4 * size)


@pytest.mark.few(4)
@pytest.mark.parametrize("inner", INNER)
def test_in_a_progress_function(own, inner):
    expected, seen = INNER[inner](), []

    def multiply(fraction):
        if fraction < 1.0:
            seen.append(INNER[inner]())

    until(lambda: own, lambda n: hs.matmul(np.ones((n, n)), np.ones((n, n)), progress=multiply))
    assert all(np.allclose(found, expected, rtol=1e-10) for found in seen)


def test_products_have_the_same_bits(own):
    expected, seen = hs.matmul(S, S), []
    until(
        lambda: own,
        lambda n: hs.matmul(
            np.ones((n, n)), np.ones((n, n)), progress=lambda _: seen.append(hs.matmul(S, S))
        ),
    )
    assert all(np.array_equal(found, expected) for found in seen)
    assert [len(pool) for pool in own] == [1]


def test_in_a_progress_function_of_a_nested_call(own):
    """Three deep: each has a pool of its own."""
    found = []

    def deepest(fraction):
        if fraction < 1.0:
            found.append(hs.matmul(S, S))

    def multiply(n):
        def deeper(fraction):
            if fraction < 1.0 and len(own) < 2:
                hs.matmul(np.ones((n, n)), np.ones((n, n)), progress=deepest)

        hs.matmul(np.ones((n, n)), np.ones((n, n)), progress=deeper)

    until(lambda: len(own) == 2, multiply)
    assert np.allclose(found[0], S @ S)


@pytest.mark.parametrize("name", CALLS)
def test_in_the_progress_function_of_every_call(name):
    found = []
    CALLS[name](lambda _: found.append(hs.asarray(S) @ S))
    assert found
    assert all(np.allclose(each, S @ S) for each in found)


def test_under_a_limit_of_threads(own):
    seen = []
    with hs.thread_limit(1):
        until(
            lambda: own,
            lambda n: hs.matmul(
                np.ones((n, n)), np.ones((n, n)), progress=lambda _: seen.append(hs.matmul(S, S))
            ),
        )
    assert all(np.allclose(found, S @ S) for found in seen)


def test_a_pool_of_ones_own_is_busy():
    """An explicit pool says so; the shared one is free."""
    said, found = [], []

    def multiply(fraction):
        if fraction < 1.0:
            found.append(hs.matmul(S, S))
            with pytest.raises(RuntimeError, match="use another pool inside a callback"):
                pool.matmul(S, S)
            said.append(fraction)

    with hs.Pool(2) as pool:
        until(
            lambda: said, lambda n: pool.matmul(np.ones((n, n)), np.ones((n, n)), progress=multiply)
        )
    assert np.allclose(found[0], S @ S)


def test_in_tiles_of_a_sweep():
    """Python functions that the workers of an explicit pool call, which are pinned: the shared pool
    stays what it is."""
    found, before = [], shared.shared_pool()

    def tile(image, row, col, height, width):
        found.append(np.allclose(hs.matmul(S, S), S @ S))

    with hs.Pool(2) as pool:
        pool.sweep(hs.wavefront(3, 3, [1, 1]), np.zeros((6, 6)), tile)
    assert found == [True] * 9
    assert shared.shared_pool() is before


OUTER = {
    "product": lambda n: hs.matmul(np.ones((n, n)), np.ones((n, n))),
    "array": lambda n: hs.asarray(np.ones((n, n))) @ np.ones((n, n)),
    "lu": lambda n: hs.lu_factor(np.eye(n) + 1e-3),
    "cholesky": lambda n: hs.cholesky(np.eye(n) + 1e-3),
}


@pytest.mark.few(2)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize("outer", OUTER)
def test_in_a_signal_handler(own, outer):
    product = hs.asarray(S)
    seen, ended = [], []

    def multiply(*_):
        seen.append(np.allclose(product @ S, S @ S))
        if not ended:  # a late alarm would be the one of pytest-timeout
            signal.setitimer(signal.ITIMER_REAL, 0.005)  # once more; not in the middle of this one

    before = signal.signal(signal.SIGALRM, multiply)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    try:
        until(lambda: own, OUTER[outer])
    finally:
        ended.append(True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(seen)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_in_a_signal_handler_while_the_pool_is_made(monkeypatch):
    """It has a pool before the call that it interrupts has."""
    monkeypatch.setattr(shared, "_shared", None)
    seen, making = [], shared.Pool.__init__

    def interrupted(self, *args, **kwargs):
        if not seen:
            seen.append(None)
            handler = signal.signal(signal.SIGALRM, lambda *_: seen.append(hs.matmul(S, S)))
            signal.raise_signal(signal.SIGALRM)
            while len(seen) < 2:
                time.sleep(0.001)
            signal.signal(signal.SIGALRM, handler)
        making(self, *args, **kwargs)

    monkeypatch.setattr(shared.Pool, "__init__", interrupted)
    assert np.allclose(hs.matmul(S, S), S @ S)
    assert np.allclose(seen[1], S @ S)


def test_other_threads_wait_for_their_turn(own):
    """A thread that multiplies while the shared pool works for another one, in whose progress
    function it was started."""
    found, threads = [], []

    def begin(fraction):
        if fraction < 1.0 and not threads:
            threads.append(threading.Thread(target=lambda: found.append(hs.matmul(S, S))))
            threads[0].start()
            found.append(hs.matmul(S, S))

    until(lambda: threads, lambda n: hs.matmul(np.ones((n, n)), np.ones((n, n)), progress=begin))
    threads[0].join(60)
    assert len(found) == 2
    assert all(np.allclose(each, S @ S) for each in found)
