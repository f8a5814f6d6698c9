"""Plans of Cholesky and QR, and the pool's runs of them."""

import numpy as np
import pytest
from random_matrices import definite

import hetsched as hs

THREE = [3.0, 5.0, 8.0]


class TestPlans:
    def test_work(self):
        """Of all tasks together: the textbook's multiply-adds, and in QR those of T besides."""
        for block in (1, 7, 40, 120):
            lu, cholesky, qr = (
                hs.plan_factor(120, 120, THREE, kind=kind, block=block)
                for kind in ("lu", "cholesky", "qr")
            )
            assert lu.flops.sum() == pytest.approx(2 / 3 * 120**3)
            assert cholesky.flops.sum() == pytest.approx(120**3 / 3)
            assert qr.flops.sum() >= 4 / 3 * 120**3
        fine = hs.plan_factor(120, 120, THREE, kind="qr", block=1)
        assert fine.flops.sum() == pytest.approx(4 / 3 * 120**3, rel=0.05)

    def test_kind_is_said(self):
        plan = hs.plan_factor(40, 40, THREE, kind="cholesky", block=10)
        assert plan.kind == "cholesky"
        assert plan != hs.plan_factor(40, 40, THREE, kind="lu", block=10)
        assert hs.plan_lu(40, 40, THREE, block=10) == hs.plan_factor(40, 40, THREE, block=10)
        assert plan.on(hs.Platform.star([1, 1, 1])).kind == "cholesky"

    @pytest.mark.parametrize(
        ("shape", "kind", "words"),
        [
            ((3, 2), "cholesky", "n must be equal to m"),
            ((3, 3), "svd", "kind must be"),
            ((3, 3), 1, "kind"),
        ],
    )
    def test_refusals(self, shape, kind, words):
        with pytest.raises((ValueError, TypeError), match=words):
            hs.plan_factor(*shape, THREE, kind=kind)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
class TestRuns:
    @pytest.mark.parametrize("lower", [True, False])
    def test_cholesky(self, dtype, lower):
        a = definite(150, dtype)
        with hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=4) as pool:
            plan = pool.plan_factor(150, 150, kind="cholesky", block=30, dtype=dtype)
            c, trace = pool.cholesky(a, lower, owner=plan, trace=True)
        assert trace.predicted == 4 * plan.makespan
        assert trace.makespan >= 0.999 * trace.predicted
        product = c @ c.conj().T if lower else c.conj().T @ c
        assert abs(product - a).max() <= 1000 * np.finfo(dtype).eps * abs(a).max()
        assert not (np.triu(c, 1) if lower else np.tril(c, -1)).any()

    @pytest.mark.parametrize("shape", [(150, 150), (200, 90), (90, 200)])
    def test_qr(self, dtype, shape):
        a = definite(200, dtype)[: shape[0], : shape[1]]
        with hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=2) as pool:
            plan = pool.plan_factor(*shape, kind="qr", block=30, dtype=dtype)
            (q, r), trace = pool.qr(a, owner=plan, trace=True)
            (alone,) = pool.qr(a, mode="r", owner=[0] * len(plan.owner), block=30)
        assert trace.predicted == 2 * plan.makespan
        assert trace.makespan >= 0.999 * trace.predicted
        limit = 1000 * np.finfo(dtype).eps
        assert abs(q @ r - a).max() <= limit * abs(a).max()
        assert abs(q.conj().T @ q - np.eye(q.shape[1])).max() <= limit
        assert abs(abs(alone[: len(r)]) - abs(r)).max() <= limit * abs(a).max()

    def test_on_real_cores(self, dtype):
        a, told = definite(400, dtype), []
        with hs.Pool(2) as pool:
            c = pool.cholesky(a, progress=told.append)
            q, r = pool.qr(a, owner="cyclic")
        limit = 1000 * np.finfo(dtype).eps * abs(a).max()
        assert abs(c @ c.conj().T - a).max() <= limit
        assert abs(q @ r - a).max() <= limit
        assert told[-1] == 1.0


class TestRefusals:
    def test_another_kind(self):
        with hs.Pool(hs.Platform.star(THREE), emulate=True) as pool:
            plan = pool.plan_factor(40, 40, block=10)
            with pytest.raises(
                ValueError, match='owner is a plan of kind "lu", this is "cholesky"'
            ):
                pool.cholesky(definite(40), owner=plan)
            with pytest.raises(ValueError, match='owner is a plan of kind "lu", this is "qr"'):
                pool.qr(definite(40), owner=plan)

    def test_not_definite(self):
        a = definite(60)
        a[40, 40] = -1
        for overwrite in (False, True):
            with (
                hs.Pool(2) as pool,
                pytest.raises(np.linalg.LinAlgError, match="^41-th leading minor"),
            ):
                pool.cholesky(np.array(a, order="F"), overwrite_a=overwrite, block=16)

    @pytest.mark.parametrize("bad", [np.ones((2, 3)), np.ones(3), [[np.nan, 0], [0, 1]]])
    def test_matrices(self, bad):
        with hs.Pool(2) as pool, pytest.raises(ValueError, match="a must be|infs or NaNs"):
            pool.cholesky(bad)


@pytest.mark.parametrize("shape", [(100, 1000), (300, 1000), (25, 100), (9, 46), (40, 12), (7, 7)])
@pytest.mark.parametrize("count", [1, 3, 6, 9])
def test_one_block_for_each_owner(shape, count):
    """The default is the least block that makes as many blocks, cut at column min(m, n), too."""
    m, n = shape

    def blocks(block):
        least = min(m, n)
        return -(-least // block) + -(-(n - least) // block)

    fitting = [block for block in range(1, n + 1) if blocks(block) == count]
    owner = hs.lu_pattern(count, [1, 2])
    if fitting:
        assert hs.plan_factor(m, n, [1, 2], owner=owner).block == fitting[0]
    else:
        with pytest.raises(ValueError, match=f"owner has {count} entries, but"):
            hs.plan_factor(m, n, [1, 2], owner=owner)
