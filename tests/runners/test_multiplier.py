"""What multiplies without a plan: one look at the arguments, and one rule for all callers."""

import numpy as np
import pytest

import hetsched as hs
from hetsched.runners import array, product, shared
from hetsched.runners.operands import operands
from hetsched.runners.product import ENGINE, NUMPY, STACK, multiplier

RNG = np.random.default_rng(1)


def random(*shape, dtype=np.float64):
    return RNG.standard_normal(shape).astype(dtype)


def columns_apart(m, n):
    """Neither its rows nor its columns are contiguous."""
    return random(2 * m, 2 * n)[::2, ::2]


#: Operands, and what multiplies them on two workers.
CASES = {
    "small": (random(100, 100), random(100, 100), NUMPY),
    "medium": (random(101, 100), random(100, 100), ENGINE),
    "by columns": (random(120, 120).T, random(120, 120), ENGINE),
    "strided": (columns_apart(120, 120), random(120, 120), ENGINE),
    "mixed": (random(120, 120, dtype=np.float32), random(120, 120), ENGINE),
    "integer": (np.ones((120, 120), int), np.ones((120, 120), int), NUMPY),
    "vector": (random(1200, 1000), random(1000), NUMPY),
    "thin": (random(1000, 1000), random(1000, 4), ENGINE),
    "thin strided": (columns_apart(1000, 1000), random(1000, 4), NUMPY),
    "small stack": (random(10, 40, 40), random(40, 40), NUMPY),
    "stack": (random(40, 40, 40), random(40, 40), STACK),
    "stack of few": (random(7, 110, 110), random(110, 110), ENGINE),
    "stack of eight": (random(8, 110, 110), random(110, 110), STACK),
}


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(2) as found:
        yield found


@pytest.fixture
def looks(monkeypatch):
    """What has multiplied, and how often arguments have been checked."""
    found = {"checked": 0, "by": []}

    def checked(*args, **options):
        found["checked"] += 1
        return operands(*args, **options)

    def multiply(resources, x, by, progress, own=product.multiply):
        found["by"].append(by)
        own(resources, x, by, progress)

    for module in (product, array):
        monkeypatch.setattr(module, "operands", checked)
    monkeypatch.setattr(product, "multiply", multiply)
    return found


@pytest.mark.parametrize("case", CASES)
def test_all_callers_decide_alike(case, pool, looks, monkeypatch):
    a, b, by = CASES[case]
    monkeypatch.setattr(shared, "_shared", pool)
    monkeypatch.setattr("hetsched._engine.fast.product", lambda *_: None)
    assert multiplier(operands(a, b, None, 1.0, 0.0, others=True), lambda: pool._workers) == by
    for call in (hs.matmul, pool.matmul):
        np.testing.assert_allclose(call(a, b), np.matmul(a, b), rtol=1e-4, atol=1e-4)
    assert looks == {"checked": 2, "by": [by] * 2}
    # An Array leaves to NumPy what NumPy multiplies.
    np.testing.assert_allclose(hs.asarray(a) @ b, np.matmul(a, b), rtol=1e-4, atol=1e-4)
    assert looks["by"][2:] == [by] * (by != NUMPY)
    assert looks["checked"] <= 3


@pytest.mark.parametrize(
    ("items", "sides", "by"),
    [(7, (110, 110, 110), ENGINE), (8, (110, 110, 110), STACK), (63, (320, 320, 320), ENGINE)],
)
def test_the_number_of_workers_does_not_count_in_a_deterministic_pool(items, sides, by):
    m, k, n = sides
    x = operands(np.empty((items, m, k)), np.empty((k, n)), None, 1.0, 0.0)
    for workers in (1, 2, 3):
        with hs.Pool(workers, deterministic=True) as pool:
            assert multiplier(x, lambda pool=pool: pool._workers) == by
