"""Measured blocks: kept for a machine, used by its pools, shown, and in the files of platforms."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched import Blocking, topology
from hetsched._engine import kernels
from hetsched.cli import main as cli
from hetsched.machine import blocks, measure
from hetsched.machine.block_search import Found
from hetsched.machine.blocks import MeasuredBlocks, gangs, kept
from hetsched.runners.pool import resources_of
from hetsched.runners.shared import renew_shared_pool
from hetsched.runners.workers import Workers

SMALL = {"kernels": ["gemm"], "dtypes": ["float64"], "sizes": {"gemm": [32]}, "seconds": 0.02}
FOUND = Blocking("plain", (64, 48), (32, 16), (128, 64))


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS", "HETSCHED_TOPOLOGY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path / "cache/hetsched"
    renew_shared_pool()


@pytest.fixture
def two_kinds(tmp_path, monkeypatch):
    """Four cpus of two kinds, in three domains."""
    text = '[[domain]]\ncpus = "0-1"\nl2 = 1048576\n' + "".join(
        f'[[domain]]\ncpus = "{cpu}"\nkind = "efficiency"\nkernel = "plain"\nl1d = 32768\nl2 ='
        " 524288\n"
        for cpu in (2, 3)
    )
    path = tmp_path / "machine.toml"
    path.write_text(text)
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    monkeypatch.setattr(topology().__class__, "_limited", lambda self, count: count)
    return topology()


@pytest.fixture
def planted(monkeypatch):
    """A search that finds FOUND for every kind; what it is asked."""
    asked = []

    def search(kinds, timer, is_late):
        asked.append((kinds, timer))
        return Found((FOUND,) * len(kinds), True)

    monkeypatch.setattr(blocks, "search", search)
    return asked


def test_what_is_tried(two_kinds, planted):
    blocks.measured(two_kinds, 1.0)
    (((first, second), _),) = planted
    assert (first.workers, second.workers) == (2, 2)
    in_use = kernels.kernel()
    own = {name for name in kernels.SETS if blocks._is_there(name)} - (
        {in_use["set"]} if in_use["name"] == "c" else set()
    )
    assert list(first.starts)[0] is None
    assert set(first.starts) == {None, *own}
    assert list(second.starts) == ["plain"]
    # the model's are in use, for cores unlike the first
    model, kernels_own = second.starts["plain"]
    assert kernels_own == Blocking(
        "plain", *zip(*(x.blocks for x in kernels.sizes("plain")), strict=True)
    )
    assert model.depth != kernels_own.depth
    assert all(
        min(x.depth + x.rows + x.cols) > 0
        for kind in (first, second)
        for starts in kind.starts.values()
        for x in starts
    )


@pytest.mark.filterwarnings("ignore:the host could not keep up")
def test_the_same_blocks_for_any_number_of_workers(planted):
    """What is measured holds for workers on no cpu in particular, too: another depth would give
    other bits."""
    hs.measure(blocks=True, **SMALL)
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((120, 110)), rng.standard_normal((110, 100))
    platform = hs.Platform.star(speeds=[1, 2])
    with hs.Pool(1) as one, hs.Pool(9) as many, hs.Pool(platform, emulate=True) as paced:
        C = one.matmul(A, B)
        for pool in (many, paced):
            assert resources_of(pool).workers.domains == (FOUND,)
            assert (pool.matmul(A, B, method="columns") == C).all()
    assert (hs.matmul(A, B) == C).all()
    with hs.thread_limit(1):
        assert (hs.matmul(A, B) == C).all()
    renew_shared_pool()


def test_kept_for_each_domain(two_kinds, planted):
    assert kept(two_kinds) is None
    found = blocks.measured(two_kinds, 1.0)
    assert found.of == {0: FOUND, 1: FOUND, 2: FOUND}
    assert kept(two_kinds) == found
    assert MeasuredBlocks.of_record(json.loads(json.dumps(found.record()))) == found
    assert gangs(two_kinds, two_kinds.members(4)) == ((FOUND,) * 3, (0, 0, 1, 2))
    assert gangs(two_kinds, two_kinds.members(2)) == ((FOUND,), (0, 0))
    assert Workers(4, False, 1.0).domains == (FOUND,) * 3
    other = replace(two_kinds, model="another")
    assert kept(other) is None


def test_workers_on_efficiency_cores_only(tmp_path, monkeypatch):
    """Their blocks are those that they have beside workers on the usual cores."""
    path = tmp_path / "machine.toml"
    path.write_text(
        '[[domain]]\ncpus = "0-1"\nl2 = 2097152\n'
        '[[domain]]\ncpus = "2-3"\nkind = "efficiency"\nl1d = 32768\nl2 = 262144\n'
    )
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    host = topology()
    both, _ = gangs(host, (0, 1))
    assert gangs(host, (1,)) == (both[1:], (0,))
    assert both[1] != Blocking()


def test_the_kernels_own_are_zeros(monkeypatch):
    """So that a machine whose best blocks are those in use has the same pools as before."""
    own = Blocking(None, *zip(*(x.blocks for x in kernels.sizes(None)), strict=True))
    monkeypatch.setattr(blocks, "search", lambda kinds, *_: Found((own,) * len(kinds), True))
    host = topology()
    found = blocks.measured(host, 1.0)
    assert set(found.of.values()) == {Blocking()}
    if len(host.domains) == 1:
        assert gangs(host, host.members(host.worth)) == (None, None)
        assert "measured on" in blocks.describe(host)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("blocks"),
        lambda r: r.__setitem__("blocks", 3),
        lambda r: r["blocks"].append(3),
        lambda r: r["blocks"][0].pop("domain"),
        lambda r: r["blocks"][0].__setitem__("domain", 99),
        lambda r: r["blocks"][0].__setitem__("domain", math.inf),
        lambda r: r["blocks"][0].__setitem__("kernel", "skx"),
        lambda r: r["blocks"][0].__setitem__("depth", [1]),
        lambda r: r["blocks"][0].__setitem__("rows", [-1, 2]),
        lambda r: r["blocks"][0].__setitem__("cols", "12"),
        lambda r: r["blocks"][0].__setitem__("more", 1),
        lambda r: r.__setitem__("measured", "yesterday"),
        lambda r: r["fingerprint"].__setitem__("model", "B"),
    ],
)
def test_damaged_files(planted, cache, change):
    host = topology()
    blocks.measured(host, 1.0)
    (path,) = cache.iterdir()
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    assert kept(host) is None
    assert len(hs.Pool()) == host.worth


@pytest.mark.slow
def test_measure_finds_them_only_when_asked(planted, cache):
    here = hs.measure(**SMALL)
    assert (here.blocks, planted) == ({}, [])
    assert "blocks" not in here.record()
    here = hs.measure(**SMALL, blocks=True)
    assert len(planted) == 1
    assert set(here.blocks.values()) == {FOUND}
    assert (
        "kernel plain, float32 depth 64, rows 32, columns 128, float64 depth 48, rows 16,"
        " columns 64" in here.table()
    )
    assert here.platform("float64").blocks == here.blocks
    hs.measure(**SMALL, blocks=True)
    assert len(planted) == 1
    assert hs.measure(**SMALL, refresh=True).blocks == here.blocks  # new speeds, the same blocks
    assert len(planted) == 1
    hs.measure(**SMALL, blocks=True, refresh=True)
    hs.measure(**SMALL, blocks=True, max_age=0)
    assert len(planted) == 3


def test_blocks_do_not_grow_old_with_the_speeds(planted, monkeypatch):
    host = topology()
    hs.measure(**SMALL, blocks=True)
    later = measure.time.time() + 1e7
    monkeypatch.setattr(measure.time, "time", lambda: later)
    assert measure.recent(host) is None
    assert set(kept(host).of.values()) == {FOUND}


def test_measure_refuses_what_is_no_flag(planted):
    with pytest.raises(TypeError, match="blocks must be True or False, got 'gemm'"):
        hs.measure(blocks="gemm")
    assert planted == []


def test_products_by_measured_blocks(planted):
    """The numbers are right, and with the kernel in use and its depth they have the same bits."""
    A = np.random.default_rng(0).standard_normal((301, 307))
    with hs.Pool() as pool:
        usual = pool.matmul(A, A.T @ A)
    host = topology()
    blocks.measured(host, 1.0)
    with hs.Pool() as pool:
        assert resources_of(pool).workers.domains == (FOUND,) * len(set(host.members(host.worth)))
        np.testing.assert_allclose(pool.matmul(A, A.T @ A), usual, atol=1e-9)
    sizes = kernels.sizes(None)
    same = Blocking(
        None, rows=tuple(3 * x.tile[0] for x in sizes), cols=tuple(5 * x.tile[1] for x in sizes)
    )
    platform = hs.Platform(hs.Platform.star([1] * host.worth).workers, blocks={None: same})
    with hs.Pool(platform) as pool:
        assert resources_of(pool).workers.domains == (same,) * len(set(host.members(host.worth)))
        if kernels.kernel()["name"] != "openblas":
            np.testing.assert_array_equal(pool.matmul(A, A.T @ A), usual)


LARGE = 2**20
EXTREMES = [(1, 1, 1), (3, 5, 7), (LARGE, 1, 1), (1, LARGE, 1), (1, 1, LARGE), (LARGE,) * 3]
TYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("kernel", [None, "plain"])
@pytest.mark.parametrize(
    ("sizes", "dtype"),
    [
        (sizes, dtype)
        for turn, sizes in enumerate(EXTREMES)
        for dtype in many(TYPES, TYPES[turn % 2 :: 2])
    ],
)
def test_extreme_blocks(dtype, kernel, sizes):
    """Blocks of less than a tile hold one, those of more than the operands are cut: the numbers are
    right, memory suffices."""
    depth, rows, cols = sizes
    rng = np.random.default_rng(1)
    A, B = (
        rng.standard_normal((200, 200, 2)).astype(dtype)
        @ np.array([1, 1j if "complex" in dtype else 1], dtype)
        for _ in range(2)
    )
    given = Blocking(kernel, (depth, depth), (rows, rows), (cols, cols))
    platform = hs.Platform(hs.Platform.star([1] * topology().worth).workers, blocks={None: given})
    near = 1e-2 if dtype in ("float32", "complex64") else 1e-9
    with hs.Pool(platform) as pool:
        np.testing.assert_allclose(pool.matmul(A, B), A @ B, atol=near)
        for m, n in ((130, 2), (130, 70)):
            Q, R = pool.qr(A[:m, :n])
            np.testing.assert_allclose(Q @ R, A[:m, :n], atol=near)
        L = pool.cholesky(A @ A.conj().T + 200 * np.eye(200, dtype=dtype))
        np.testing.assert_allclose(
            L @ L.conj().T, A @ A.conj().T + 200 * np.eye(200), atol=100 * near
        )


def test_the_timer(two_kinds, monkeypatch):
    """Products of a kind's workers, for real, in a pool for each of the last blocks."""
    made, shape = [], blocks.Shape(20, 30, 40)

    class Threads(blocks.run.Threads):
        def __init__(self, *given):
            made.append(given)
            super().__init__(*given)

    monkeypatch.setattr(blocks.run, "Threads", Threads)
    timer = blocks._products(two_kinds, two_kinds.members(4), [[0, 1], [2, 3]])
    for _ in range(2):
        assert timer(0, "float32", Blocking("plain"), shape) > 0
        assert timer(1, "float64", FOUND, shape) > 0
    assert [(p, own, of) for p, _, own, of in made] == [
        (2, [Blocking("plain")], [0, 0]),
        (2, [FOUND] * 2, [0, 1]),
    ]


def test_the_whole_search_in_no_time():
    """All of it with the engine; the time is over at once, so that what is in use stays."""
    host = topology()
    found = blocks.measured(host, seconds=0.0)
    assert not found.whole
    assert "there was not time" in blocks.table_of(found)
    if len(host.domains) == 1:
        assert gangs(host, host.members(host.worth)) == (None, None)


def test_info_and_measure(planted, capsys):
    assert cli.main(["info"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("blocks"))
    assert line.endswith("(the kernel's own)") or len(topology().domains) > 1
    assert cli.main(["measure", "--seconds", "0.05", "--dtype", "float32", "--blocks"]) == 0
    assert "blocks, measured on 20" in capsys.readouterr().out
    assert cli.main(["info"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("blocks"))
    assert "kernel plain, float32 depth 64" in line
    assert "(measured on 20" in line


# ---- platforms -----------------------------------------------------------------------------------


def test_platforms_have_blocks():
    platform = hs.Platform(
        hs.Platform.star([3, 5, 8], domains=[0, "b", None]).workers,
        unit=hs.Unit.gigaflop(),
        blocks={"b": FOUND},
    )
    assert platform.blocks == {"b": FOUND}
    assert platform != hs.Platform(platform.workers, unit=platform.unit)
    assert platform.to(hs.Unit.block_update(80)).blocks == platform.blocks
    assert hs.Platform.join([platform, platform]).blocks == {"node0/b": FOUND, "node1/b": FOUND}
    assert hs.Platform.star([1]).blocks == {}


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_files_keep_blocks(tmp_path, suffix):
    workers = hs.Platform.star([3, 5, 8], domains=[0, "b", None]).workers
    platform = hs.Platform(
        workers, blocks={0: Blocking(), "b": FOUND, None: Blocking(depth=(8, 8))}
    )
    platform.save(tmp_path / f"x{suffix}")
    assert hs.Platform.load(tmp_path / f"x{suffix}") == platform


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blocks = 3", "blocks must be tables, got 3"),
        ("blocks = [3]", "blocks 0: it must be a table"),
        ("[[blocks]]\ndepht = [1, 2]", "blocks 0: unknown key 'depht'; did you mean 'depth'"),
        (
            "[[blocks]]\ndepth = [1]",
            "blocks 0: depth must be a pair, for float32 and float64, got 1 numbers",
        ),
        (
            "[[blocks]]\nkernel = 'skx'",
            "blocks 0: kernel must be one of avx512, avx2, neon, plain, got 'skx'",
        ),
        ("[[blocks]]\n[[blocks]]", "blocks 1: domain None occurs twice"),
        ("[[blocks]]\ndomain = 7", "blocks has the domain 7, but no worker is in that domain"),
    ],
)
def test_wrong_files(tmp_path, text, message):
    path = tmp_path / "x.toml"
    path.write_text(f"{text}\n[[worker]]\ncycle_time = 3\n")
    with pytest.raises(ValueError, match=message):
        hs.Platform.load(path)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, TypeError, "blocks must map domains to Blockings, got 3"),
        ({"a": FOUND}, ValueError, "blocks has the domain 'a', but no worker is in that domain"),
        ({None: (1, 2)}, TypeError, r"blocks\[None\] must be a Blocking, got tuple"),
    ],
)
def test_wrong_blocks(given, error, message):
    with pytest.raises(error, match=message):
        hs.Platform([hs.Worker(1.0)], blocks=given)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"kernel": "skx"}, ValueError, "kernel must be one of"),
        ({"depth": 3}, TypeError, "depth must be a pair of integers, got 3"),
        (
            {"rows": (1, 2, 3)},
            ValueError,
            "rows must be a pair, for float32 and float64, got 3 numbers",
        ),
        ({"cols": (1, -1)}, ValueError, r"cols\[1\] must be"),
        ({"cols": (2**20 + 1, 1)}, ValueError, r"cols\[0\] must be"),
    ],
)
def test_wrong_blocking(given, error, message):
    with pytest.raises(error, match=message):
        Blocking(**given)


def test_given_blocks_come_first(two_kinds, planted):
    """Those of a platform, for domains whose workers have one and the same."""
    blocks.measured(two_kinds, 1.0)
    mine = Blocking(rows=(96, 96))
    workers = hs.Platform.star([1] * 4, domains=["x", "y", "y", "x"]).workers
    platform = hs.Platform(workers, blocks={"y": mine})
    assert gangs(two_kinds, two_kinds.members(4), platform) == ((FOUND, mine, FOUND), (0, 0, 1, 2))
