"""Layers of a product that stay on disk: their files beside products of their parts, sums, times,
memory, and what goes wrong."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.runners import layers as layers_run

RNG = np.random.default_rng(11)
STAR = hs.Platform.star([30.0, 50, 80], link_costs=[200.0, 300, 0])


def parts(plan, A, B):
    """The product of each worker's columns of A and rows of B."""
    block = -(-A.shape[1] // max(plan.n, 1))
    own = [
        slice(block * first, block * (first + count))
        for first, count in zip(plan.displs, plan.counts, strict=True)
    ]
    return {i: A[:, cut] @ B[cut] for i, cut in enumerate(own) if plan.counts[i]}


@given(
    m=st.sampled_from([1, 2, 63, 64, 65, 150]), n=st.integers(1, 60), k=st.integers(1, 40),
    dtype=st.sampled_from(["float32", "float64", "complex64", "complex128"]),
    block=st.integers(1, 3), alpha=st.sampled_from([1.0, -2.5]),
    strip=st.sampled_from([1, 2**14, 2**24]), data=st.data(),
)  # fmt: skip
def test_files_are_the_layers(tmp_path_factory, m, n, k, dtype, block, alpha, strip, data):
    """Whatever the strips in which they are written; and their sum is the product."""
    A, B = (RNG.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    A = A[:, ::-1] if data.draw(st.booleans()) else A
    p = data.draw(st.integers(1, 4))
    plan = hs.layers_star(
        -(-k // block), data.draw(st.lists(st.floats(1, 9), min_size=p, max_size=p)), disk=True
    )
    if -(-k // -(-k // plan.n)) != plan.n:
        return
    folder = tmp_path_factory.mktemp("layers")
    with hs.Pool(p) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers_run, "_STRIP", strip)
        layers, trace = pool.run(plan, A, B, alpha=alpha, layers=folder, trace=True)
    wanted = parts(plan, A, B)
    assert [path.name for path in layers.files] == [f"layer-{i}.npy" for i in wanted]
    assert sorted(folder.iterdir()) == sorted(layers.files)
    close = {
        "rtol": 0,
        "atol": (
            1e-3 if np.dtype(dtype).itemsize < 16 and dtype in ("float32", "complex64") else 1e-11
        ),
    }
    for path, layer in zip(layers.files, wanted.values(), strict=True):
        found = np.load(path)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, alpha * layer, **close)
    assert (layers.shape, layers.dtype) == ((m, n), dtype)
    np.testing.assert_allclose(layers.sum(), alpha * (A @ B), **close)
    computed = [e.what for e in trace.events if e.kind == "compute"]
    assert all(f" x {n} x " in what for what in computed)
    assert {int(what.split()[0]) for what in computed} == {m} or (strip < 2**24 and m > 64)


def test_sum_of_rows(tmp_path, monkeypatch):
    """To the last bit the same as of all rows, however few are read at a time."""
    A, B = RNG.standard_normal((90, 70)), RNG.standard_normal((70, 30))
    with hs.Pool(3) as pool:
        layers = pool.run(hs.layers_star(70, [1.0, 2.0, 3.0]), A, B, layers=tmp_path)
    whole = layers.sum()
    np.testing.assert_array_equal(
        whole,
        ((0 + np.load(layers.files[0])) + np.load(layers.files[1])) + np.load(layers.files[2]),
    )
    monkeypatch.setattr(layers_run, "_BAND", 100)
    for rows in (
        slice(None),
        slice(10, 20),
        slice(-5, None),
        slice(0, 0),
        slice(50, 20),
        slice(85, 999),
        None,
    ):
        np.testing.assert_array_equal(layers.sum(rows), whole if rows is None else whole[rows])
    assert hs.LayerFiles(layers.files) == layers == pickle.loads(pickle.dumps(layers))
    assert hs.LayerFiles(layers.files[:2]) != layers
    for rows, error in (
        (3, TypeError),
        (slice(0, 9, 2), ValueError),
        (slice(9, 0, -1), ValueError),
    ):
        with pytest.raises(error, match="rows must be a slice"):
            layers.sum(rows)


@pytest.mark.parametrize("mode", ["scss", "sccs", "pccs", "pcss"])
def test_emulated(tmp_path, mode, monkeypatch):
    """Paced by the plan, without a sum; strips wait for the message as the whole does."""
    monkeypatch.setattr(layers_run, "_STRIP", 1)
    A, B = RNG.standard_normal((200, 600)), RNG.standard_normal((600, 50))
    plan = hs.layers_star(600, 2e-9 * STAR.cycle_times, 8e-9 * STAR.link_costs, mode)
    with hs.Pool(STAR, emulate=True) as pool:
        summed, with_sum = pool.run(plan, A, B, trace=True)
        layers, trace = pool.run(plan, A, B, layers=tmp_path, trace=True)
    np.testing.assert_allclose(layers.sum(), summed, rtol=0, atol=1e-11)
    assert trace.predicted < with_sum.predicted
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    assert not [e for e in trace.events if e.what == "sum"]
    computed = [
        sum(e.end - e.start for e in trace.events if e.kind == "compute" and e.worker == w)
        for w in range(3)
    ]
    assert (
        np.array(computed) >= 2 * 200 * 50 * plan.counts * STAR.cycle_times / 1e9 * (1 - 1e-6)
    ).all()
    assert (np.array(trace.finish) >= np.array(trace.predicted_finish) * (1 - 1e-9)).all()


def test_installments(tmp_path):
    """Several parts of the depth to a worker add up in its layer."""
    pytest.importorskip("highspy")
    mesh = hs.Platform.mesh(
        [[30.0, 40.0], [20.0, 50.0]], [[90.0], [160.0]], [[60.0, 120.0]], unit=hs.Unit.gigaflop()
    )
    A, B = RNG.standard_normal((150, 60)), RNG.standard_normal((60, 40))
    for installments in (1, 3):
        plan = hs.layers_mesh(60, mesh, installments=installments)
        with hs.Pool(mesh, emulate=True) as pool:
            layers, trace = pool.run(plan, A, B, layers=tmp_path, trace=True)
        assert len(layers.files) == (plan.counts > 0).sum()
        np.testing.assert_allclose(layers.sum(), A @ B, rtol=0, atol=1e-11)
        assert trace.makespan >= trace.predicted * (1 - 1e-9)


@pytest.mark.parametrize(
    "sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1, 1), (1, 2, 1)]
)
def test_empty(tmp_path, sizes):
    m, n, k = sizes
    with hs.Pool(2) as pool:
        layers = pool.run(
            hs.layers_star(k, [1.0, 1.0]), np.ones((m, k)), np.ones((k, n)), layers=tmp_path
        )
    np.testing.assert_array_equal(layers.sum(), np.full((m, n), float(k)))


def test_zero_times(tmp_path):
    """alpha 0 reads nothing."""
    with hs.Pool(2) as pool:
        layers = pool.run(
            hs.layers_star(4, [1.0, 1.0]),
            np.full((5, 4), np.nan),
            np.ones((4, 3)),
            alpha=0,
            layers=tmp_path,
        )
    np.testing.assert_array_equal(layers.sum(), np.zeros((5, 3)))


def test_files_are_replaced_as_a_whole(tmp_path, monkeypatch):
    A, B = np.ones((9, 8)), np.ones((8, 7))
    plan = hs.layers_star(8, [1.0, 1.0])
    with hs.Pool(2) as pool:
        before = pool.run(plan, A, B, layers=tmp_path)
        kept = [path.read_bytes() for path in before.files]
        monkeypatch.setattr(
            layers_run.product, "run", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            pool.run(plan, 2 * A, B, layers=tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted(before.files)
        assert [path.read_bytes() for path in before.files] == kept
        monkeypatch.undo()
        assert pool.run(plan, 2 * A, B, layers=str(tmp_path)).sum()[0, 0] == 16.0
        for worker in (0, 5):
            (tmp_path / f"layer-{worker}.npy").touch()
        with pytest.raises(ValueError, match="holds layer-5.npy, which is of another product"):
            pool.run(plan, A, B, layers=tmp_path)


@pytest.mark.slow
def test_interrupted(tmp_path):
    """Ctrl-C leaves no file, and soon."""
    program = f"""
import signal, threading, time
import numpy as np, hetsched as hs
A = np.ones((600, 600))
plan = hs.layers_star(600, [1.0, 1.0])
with hs.Pool(hs.Platform.star([100.0, 100.0]), emulate=True) as pool:
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    try:
        pool.run(plan, A, A, layers={str(tmp_path)!r})
    except KeyboardInterrupt:
        print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_peak_memory(tmp_path):
    """With less private memory than a layer, or C, takes: enough for layers in files, too little
    without."""
    program = """
import resource, sys
import numpy as np, hetsched as hs
def data():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
m, k = 3000, 40
A, B = np.ones((m, k)), np.ones((k, m))
plan = hs.layers_star(k, [1.0, 1.0], disk=True)
with hs.Pool(2) as pool:
    # a small product, so that the pool has its own memory before the limit is set
    pool.run(hs.layers_star(8, [1.0, 1.0]), np.ones((200, 8)), np.ones((8, 200)))
    room = data() + 30 * 2**20  # C, and each layer, is 72 MB
    resource.setrlimit(resource.RLIMIT_DATA, (room, room))
    layers = pool.run(plan, A, B, layers=sys.argv[1])
    print(layers.sum(slice(1000, 1300)).mean())
    try:
        pool.run(plan, A, B)
    except MemoryError:
        print("no memory")
"""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.splitlines() == ["40.0", "no memory"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"layers": 7}, TypeError, "layers must be a path, got 7"),
        ({"layers": "/nowhere/at/all"}, FileNotFoundError, "layers must be a folder that exists"),
        (
            {"out": np.zeros((6, 6))},
            TypeError,
            "layers is for a plan of layers and without out, got a LayersPlan and out",
        ),
        (
            {"plan": hs.partition([1, 1], shape=(6, 6))},
            TypeError,
            "layers is for a plan of layers and without out, got a Partition",
        ),
        ({"plan": hs.max_tasks(9, [1.0, 2.0])}, TypeError, "and layers are for products"),
        ({"plan": hs.layers_star(6, [1.0])}, ValueError, "plan is for 1 workers, the pool has 2"),
        ({"beta": 1.0}, ValueError, "beta needs out"),
        ({"order": "demand"}, ValueError, "order is for a plan of plan_product"),
        ({"rebalance": 2}, (TypeError, ValueError), "rebalance"),
        ({"layers": ""}, ValueError, "layers must be a path, got ''"),
    ],
)
def test_bad_arguments(tmp_path, change, error, message):
    given = {
        "plan": hs.layers_star(6, [1.0, 1.0]),
        "A": np.ones((6, 6)),
        "B": np.ones((6, 6)),
        "layers": tmp_path,
    } | change
    with hs.Pool(2) as pool, pytest.raises(error, match=message):
        pool.run(**given)
    assert list(tmp_path.iterdir()) == []


def test_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(layers_run.shutil, "disk_usage", lambda _: type("usage", (), {"free": 100}))
    with (
        hs.Pool(2) as pool,
        pytest.raises(OSError, match="no space left: 576 bytes are needed, 100 are free"),
    ):
        pool.run(hs.layers_star(6, [1.0, 1.0]), np.ones((6, 6)), np.ones((6, 6)), layers=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_layers(tmp_path):
    one, other, text = (tmp_path / name for name in ("one.npy", "other.npy", "text.npy"))
    np.save(one, np.ones((3, 4)))
    np.save(other, np.ones((3, 5)))
    text.write_text("no matrix")
    with pytest.raises(ValueError, match="files must name at least one layer"):
        hs.LayerFiles([])
    with pytest.raises(TypeError, match="files must be a sequence of paths"):
        hs.LayerFiles(str(one))
    with pytest.raises(
        ValueError,
        match=r"files\[1\] .* must be a matrix as the first layer: it is \(3, 5\) float64",
    ):
        hs.LayerFiles([one, other])
    with pytest.raises(ValueError, match=r"files\[0\] .* is not a .npy file"):
        hs.LayerFiles([text])
    text.write_bytes(one.read_bytes()[:70])
    with pytest.raises(ValueError, match=r"files\[0\] .* is not a complete .npy file"):
        hs.LayerFiles([text])
    np.savez(tmp_path / "two.npz", np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"files\[0\] .* is not a .npy file"):
        hs.LayerFiles([tmp_path / "two.npz"])
    np.save(other, np.ones(3))
    with pytest.raises(ValueError, match=r"files\[0\] .* must be a matrix, it has shape \(3,\)"):
        hs.LayerFiles([other])
    with pytest.raises(TypeError, match=r"files\[1\] must be a path, got 3"):
        hs.LayerFiles([one, 3])
    for wrong in (slice(0.0, 2.0), slice(None, None, 0)):
        with pytest.raises((TypeError, ValueError), match="^rows: slice"):
            hs.LayerFiles([one]).sum(wrong)
    with pytest.raises(FileNotFoundError):
        hs.LayerFiles([tmp_path / "none.npy"])
    np.save(tmp_path / "vector.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"files\[0\] .* must be a matrix"):
        hs.LayerFiles([tmp_path / "vector.npy"])
    layers = hs.LayerFiles([one])
    np.save(one, np.ones((9, 4)))
    with pytest.raises(ValueError, match=r"files\[0\] .* has changed: it must be a matrix"):
        layers.sum()
    assert math.isclose(hs.LayerFiles([one]).sum().sum(), 36.0)
