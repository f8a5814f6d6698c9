"""Several threads that use one pool at the same time: no call waits for another one, and each has
the bits that it has alone."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hetsched as hs

N = 200
rng = np.random.default_rng(35)
A, B = rng.standard_normal((2, N, N)) + 2 * N * np.eye(N)
SPD = A @ A.T
STACK = rng.standard_normal((40, 12, 12))
CALLS = {
    "product": lambda pool, told: pool.matmul(A, B, progress=told),
    "vector": lambda pool, told: pool.matmul(A, B[0], progress=told),
    "stack": lambda pool, told: pool.matmul(STACK, STACK, progress=told),
    "lu": lambda pool, told: pool.lu_factor(A, progress=told)[0],
    "cholesky": lambda pool, told: pool.cholesky(SPD, progress=told),
    "qr": lambda pool, told: pool.qr(A, mode="r", progress=told),
    "tall": lambda pool, told: pool.qr(np.vstack([A] * 20)[:, :9], mode="r", progress=told),
}


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(2) as made:
        yield made


@pytest.mark.few(3)
@pytest.mark.parametrize("late", CALLS)
@pytest.mark.parametrize("first", ["product", "lu"])
def test_no_call_waits_for_another(pool, first, late):
    """The first call of a thread does not end before another thread has had a result."""
    inside, may_end = threading.Event(), threading.Event()

    def hold(_):
        inside.set()
        assert may_end.wait(100)

    big = np.ones((1500, 1500)) + 1500 * np.eye(1500)
    endless = (
        (lambda: pool.matmul(big, big, progress=hold))
        if first == "product"
        else (lambda: pool.lu_factor(big, progress=hold))
    )
    with ThreadPoolExecutor(1) as other:
        held = other.submit(endless)
        assert inside.wait(100)
        try:
            found = CALLS[late](pool, None)
            assert not held.done()
        finally:
            may_end.set()
        held.result()
    np.testing.assert_array_equal(found, CALLS[late](pool, None))


def test_what_needs_the_whole_pool_waits(pool):
    """A plan by zones gives each worker its part, so it begins when the other thread has ended."""
    inside, may_end, whole = threading.Event(), threading.Event(), []
    big, product = np.ones((1500, 1500)), np.zeros((1500, 1500))

    def hold(_):
        inside.set()
        assert may_end.wait(100)

    def look(done):
        if done > 0.0:  # it is also called while the run waits
            whole.append((product == 1500).all())

    with ThreadPoolExecutor(2) as others:
        held = others.submit(pool.matmul, big, big, out=product, progress=hold)
        assert inside.wait(100)
        zones = hs.partition([1, 1], shape=(N, N))
        waits = others.submit(pool.run, zones, A, B, progress=look)
        assert not waits.done()
        may_end.set()
        held.result()
        waits.result()
    assert whole
    assert all(whole)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_bits_of_each_call_alone(workers):
    with hs.Pool(workers) as pool, ThreadPoolExecutor(6) as threads:
        alone = {name: np.array(call(pool, None)) for name, call in CALLS.items()}
        for _ in range(5):
            found = {name: threads.submit(call, pool, None) for name, call in CALLS.items()}
            for name, result in found.items():
                np.testing.assert_array_equal(result.result(), alone[name], err_msg=name)


def test_threads_of_the_shared_pool():
    """`hs.matmul` and its like use one pool of this machine for all threads."""
    expected = hs.matmul(A, B), hs.solve(A, B), hs.cholesky(SPD)

    def all_of_them(_):
        for _ in range(5):
            for x, y in zip(
                (hs.matmul(A, B), hs.solve(A, B), hs.cholesky(SPD)), expected, strict=True
            ):
                np.testing.assert_array_equal(x, y)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(all_of_them, range(8)))


def test_an_error_of_one_call_is_its_own(pool):
    """An exception of a progress function ends its call alone."""

    def stop(_):
        raise RuntimeError("enough")

    big = np.ones((800, 800))
    expected = pool.matmul(big, big)
    with ThreadPoolExecutor(2) as threads:
        for _ in range(5):
            stopped = threads.submit(pool.matmul, big, big, progress=stop)
            whole = threads.submit(pool.matmul, big, big)
            np.testing.assert_array_equal(whole.result(), expected)
            with pytest.raises(RuntimeError, match="enough"):
                stopped.result()
