"""The search for blocks, among planted times: it finds the planted best, noise does not move it,
and all kinds get one depth."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsched._engine.kernels import Blocking
from hetsched.machine.block_search import Kind, is_sooner, search

TILE = (8, 4)
START = Blocking(None, (256, 256), (192, 192), (1024, 1024))
NEAR = 0.25  # octaves: half a step of 4/3, and what 2 % of the planted times are


def never():
    return False


def kind(*starts, workers=2, **others):
    """A Kind with the kernel in use, and optionally other kernels with the same starts."""
    own = {None: starts or (START,)}
    own |= {
        name: [Blocking(name, x.depth, x.rows, x.cols) for x in own[None]]
        for name in others.get("kernels", ())
    }
    return Kind(workers, own, {name: others.get("tiles", (TILE, TILE)) for name in own})


class Planted:
    """Times that grow with the distance, in octaves, of the depth, of rows x depth and of columns
    from the best of a kind."""

    def __init__(self, *best, rates=None, slow=None, noise=0.0, weight=0.3):
        self.best, self.rates = best, rates or [100e9] * len(best)
        self.slow, self.noise, self.weight = slow or {}, noise, weight
        self.random, self.seen = random.Random(1), []

    def cost(self, i, dtype, x):
        t = dtype == "float64"
        depth, rows, cols = self.best[i]
        off = (x.depth[t] / depth, x.rows[t] * x.depth[t] / (rows * depth), x.cols[t] / cols)
        return (1 + self.weight * sum(abs(math.log2(y)) for y in off)) * self.slow.get(
            x.kernel, 1.0
        )

    def __call__(self, i, dtype, x, shape):
        self.seen.append((i, dtype, x, shape))
        return (
            shape.flops
            / self.rates[i]
            * self.cost(i, dtype, x)
            * (1 + self.noise * self.random.uniform(-1, 1))
        )


def octaves(found, wanted):
    return [abs(math.log2(x / y)) for x, y in zip(found, wanted, strict=True)]


@settings(max_examples=15)
@given(
    st.sampled_from([64, 128, 192, 256, 384, 512]),
    st.sampled_from([64, 96, 192, 288, 400]),
    st.sampled_from([512, 768, 1024, 2048]),
)
def test_the_planted_best_is_found(depth, rows, cols):
    found = search([kind()], Planted((depth, rows, cols)), never)
    assert found.whole
    (best,) = found.blocks
    for t in (0, 1):
        assert octaves(
            (best.depth[t], best.depth[t] * best.rows[t]), (depth, depth * rows)
        ) == pytest.approx([0, 0], abs=NEAR)
        assert best.rows[t] % TILE[0] == best.cols[t] % TILE[1] == 0
        assert octaves((best.cols[t],), (cols,))[0] <= octaves((1024,), (cols,))[0]


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05, 0.2])
def test_noise_moves_nothing(noise):
    """Where all sizes are as fast, what is in use stays."""
    planted = Planted((256, 192, 1024), noise=noise, weight=0.0)
    assert search([kind(kernels=("avx2", "plain"))], planted, never).blocks == (START,)


def test_noise_does_not_hide_what_is_much_better():
    planted = Planted((512, 192, 1024), noise=0.03, weight=0.5)
    (best,) = search([kind()], planted, never).blocks
    assert planted.cost(0, "float64", best) < 0.8 * planted.cost(0, "float64", START)


def test_what_is_better_by_less_than_a_fiftieth_stays():
    assert not is_sooner(lambda: 0.985, lambda: 1.0)
    assert is_sooner(lambda: 0.975, lambda: 1.0)
    assert not is_sooner(lambda: 1.0, lambda: 1.0)


def test_outliers_do_not_choose():
    late = iter([1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert not is_sooner(lambda: 1.0, lambda: next(late))


def test_the_fastest_kernel():
    planted = Planted((256, 192, 1024), slow={None: 1.3, "avx2": 1.0, "plain": 5.0})
    assert search([kind(kernels=("plain", "avx2"))], planted, never).blocks[0].kernel == "avx2"
    planted = Planted((256, 192, 1024), slow={"avx2": 0.99})
    assert search([kind(kernels=("avx2",))], planted, never).blocks[0].kernel is None


def test_the_better_start():
    model = Blocking(None, (2048, 128), (192, 384), (1024, 1024))
    planted = Planted((128, 384, 1024), weight=0.1)
    first = search([kind(START, model, tiles=None)], planted, never).blocks[0]
    # of float64 the model's, and of float32 not
    assert (first.depth, first.rows) == ((256, 128), (192, 384))


def test_what_cannot_be_changed_is_not():
    planted = Planted((128, 384, 512))
    assert search([kind(tiles=None)], planted, never).blocks == (START,)


def test_one_depth_for_all():
    """All kinds get the depth with which they are fastest together: here that of the fast kind."""
    for best, rates in (
        (((512, 192, 1024), (128, 192, 1024)), [200e9, 10e9]),
        (((128, 192, 1024), (512, 192, 1024)), [200e9, 10e9]),
    ):
        planted = Planted(*best, rates=rates)
        fast, slow = search([kind(), kind()], planted, never).blocks
        for t in (0, 1):
            assert fast.depth[t] == slow.depth[t]
            assert abs(math.log2(fast.depth[t] / best[0][0])) < NEAR
            assert abs(math.log2(slow.rows[t] * slow.depth[t] / (best[1][0] * best[1][1]))) < NEAR


def test_late():
    """After the time limit nothing is measured, but all kinds still get one depth: the least."""
    other = Blocking(None, (128, 512), (192, 192), (1024, 1024))
    planted = Planted((512, 96, 512), (512, 96, 512))
    found = search([kind(), kind(other)], planted, lambda: True)
    assert not found.whole
    assert [x.depth for x in found.blocks] == [(128, 256), (128, 256)]
    assert found.blocks[0].rows == (384, 192)


def test_float64_comes_first():
    """If there is no time for both types, float64 is searched."""
    planted = Planted((512, 96, 512))
    (best,) = search(
        [kind()],
        planted,
        lambda: any(dtype == "float32" and x != START for _, dtype, x, _ in planted.seen),
    ).blocks
    assert (best.depth[0], best.rows[0]) == (256, 192)
    assert best.depth[1] != 256


def test_products_show_the_size_that_is_tried():
    """Each product has at least three of the larger blocks, and takes at most half a second."""
    planted = Planted((256, 192, 1024))
    search([kind(workers=3)], planted, never)
    for _, _, x, shape in planted.seen:
        assert shape.m >= 3 * 3 * max(x.rows)
        assert shape.flops / 100e9 < 0.5 * 1.01
        if shape.k >= 3 * max(x.depth) and shape.n > 512:
            assert shape.n <= 2048
    wide = [
        (x, shape)
        for _, _, x, shape in planted.seen
        if shape.n == 3 * max(x.cols) and shape.k == max(x.depth)
    ]
    assert wide
    for x, (m, k, n) in wide:
        assert m * n + k * (m + n) >= 20 * k * (2 * max(x.cols) + 3 * max(x.rows))


@pytest.mark.parametrize("size", [4, 16, 2**20])
def test_extreme_sizes_end(size):
    start = (
        Blocking(None, (16, 16), (8, 8), (4, 4))
        if size < 2**20
        else Blocking(None, (size, size), (8, 8), (4, 4))
    )
    found = search([kind(start)], Planted((size, size, size), rates=[1e30]), never)
    assert all(16 <= x <= 2**20 for x in found.blocks[0].depth)
