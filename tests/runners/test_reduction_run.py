"""Runs of plans of `plan_reduction`: the band has the eigenvalues of the matrix, the same bits for
all owners; emulated workers take the times of the plan."""

from __future__ import annotations

import numpy as np
import pytest

import hetsched as hs

sl = pytest.importorskip("scipy.linalg")
DTYPES = ["float32", "float64", "complex64", "complex128"]


def hermitian(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((n, n))
    return (a + a.conj().T).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 18, 33, 100])
def test_eigenvalues(n, dtype):
    a = hermitian(n, dtype)
    bands = []
    for times in ([1.0], [1.0, 2.0, 4.0]):
        plan = hs.plan_reduction(n, times, block=16, dtype=dtype)
        with hs.Pool(len(times)) as pool:
            band = pool.run(plan, np.tril(a))
        assert band.shape == (17, n)
        assert band.dtype == dtype
        bands.append(band)
    assert np.array_equal(*bands)
    if n:
        wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
        found = sl.eig_banded(bands[0][:n].astype(wide), lower=True, eigvals_only=True)
        wanted = np.linalg.eigvalsh(a.astype(wide))
        assert abs(found - wanted).max() <= n * np.finfo(dtype).eps * abs(wanted).max()


def test_any_strides_and_scales():
    a = hermitian(70, "float64")
    plan = hs.plan_reduction(70, [1.0, 2.0])
    wide = np.zeros((140, 70))
    wide[::2] = a
    with hs.Pool(2) as pool:
        band = pool.run(plan, a)
        assert np.array_equal(band, pool.run(plan, np.asfortranarray(a)))
        assert np.array_equal(band, pool.run(plan, wide[::2]))
        for scale in (2.0**-1000, 2.0**990):
            assert np.allclose(pool.run(plan, a * scale) / scale, band, rtol=0, atol=1e-12)


def test_emulated():
    """The trace has the times of the plan, and a row of tasks for each worker."""
    platform = hs.Platform.star([1.0, 2.0, 3.0], names=["a", "b", "c"])
    plan = hs.plan_reduction(200, platform)
    with hs.Pool(platform, emulate=True, time_scale=40.0) as pool:
        _, trace = pool.run(plan, hermitian(200, "float64"), trace=True)
    assert trace.predicted == pytest.approx(40 * plan.makespan)
    assert trace.makespan == pytest.approx(trace.predicted, rel=1e-9)
    planned, done = (
        [event for event in each.events if event.kind == "compute"]
        for each in (hs.simulate(plan), trace)
    )
    assert len(done) == len(plan.tasks)
    for wanted, event in zip(planned, done, strict=True):
        assert (event.worker, event.what) == (wanted.worker, wanted.what)
        times = event.start, event.end
        assert times == pytest.approx((40 * wanted.start, 40 * wanted.end), rel=1e-9, abs=1e-12)


def test_emulated_panels_have_times_of_their_own():
    platform = hs.Platform.star([1.0, 2.0])
    plan = hs.plan_reduction(100, platform, panel_times=[8.0, 2.0], block=16)
    with hs.Pool(platform, emulate=True, time_scale=100.0) as pool:
        _, trace = pool.run(plan, hermitian(100, "float64"), trace=True)
    assert trace.makespan == pytest.approx(100 * plan.makespan, rel=1e-9)


def test_plan_from_a_file(tmp_path):
    plan = hs.plan_reduction(50, [1.0, 2.0])
    plan.save(tmp_path / "plan.json")
    again = hs.Plan.load(tmp_path / "plan.json")
    assert again == plan
    a = hermitian(50, "float64")
    with hs.Pool(2) as pool:
        assert np.array_equal(pool.run(plan, a), pool.run(again, a))


def test_an_error_of_progress_ends_the_run():
    plan = hs.plan_reduction(600, [1.0, 2.0])
    a = hermitian(600, "float64")

    def refuse(done):
        raise RuntimeError("enough")

    platform = hs.Platform.star([1.0, 2.0])
    with (
        hs.Pool(platform, emulate=True, time_scale=10.0) as pool,
        pytest.raises(RuntimeError, match="enough"),
    ):
        pool.run(plan, a, progress=refuse)


def test_errors():
    a = hermitian(40, "float64")
    plan = hs.plan_reduction(40, [1.0, 2.0], block=16)
    with hs.Pool(2) as pool:
        for wrong, error, text in (
            (np.ones((40, 41)), ValueError, "A must be"),
            (np.ones((39, 39)), ValueError, "plan is for 40 x 40"),
            (a.astype("float32"), ValueError, "float64"),
            (np.full((40, 40), np.nan), ValueError, "finite|NaN"),
            (np.ones((2, 40, 40)), ValueError, "A|plan"),
        ):
            with pytest.raises(error, match=text):
                pool.run(plan, wrong)
        with pytest.raises(TypeError, match="B is for products"):
            pool.run(plan, a, a)
        with pytest.raises(TypeError, match="out"):
            pool.run(plan, a, out=np.zeros((17, 40)))
        for block in (8, 80):
            with pytest.raises(ValueError, match="multiple of 16"):
                pool.run(hs.plan_reduction(40, [1.0, 2.0], block=block), a)
        with pytest.raises(ValueError, match="3 workers"):
            pool.run(hs.plan_reduction(40, [1.0, 2.0, 3.0], block=16), a)
    with (
        hs.Pool(hs.Platform.star([1.0, 3.0]), emulate=True, time_scale=1000.0) as pool,
        pytest.raises(ValueError, match="cycle-times"),
    ):
        pool.run(plan, a)
