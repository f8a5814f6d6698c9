"""Domains of a machine: what shares a cache, described machines, block sizes by the model, and the
pools that go by them."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from interrupted import interrupted
from trees import MACHINES, Tree, amd_two_dies, apple, intel_hybrid, rk3588, two_sockets

import hetsched as hs
from hetsched import Cache, Domain, topology
from hetsched._engine import kernels
from hetsched._engine.kernels import Blocking
from hetsched.cli import main as cli
from hetsched.machine import dropin, measure
from hetsched.machine.domains import blocking_of
from hetsched.runners.workers import Workers

LSTOPO = Path(__file__).parent / "lstopo"
TWO = """
model = "two clusters"
[[domain]]
cpus = "0-3"
kind = "performance"
node = 0
l1d = 49152
l1d_ways = 12
l2 = 2097152
l3 = 33554432
[[domain]]
cpus = "4-5,8"
kind = "efficiency"
kernel = "plain"
node = 1
l1d = 32768
l2 = 524288
l2_ways = 16
"""


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch, tmp_path):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS", "HETSCHED_TOPOLOGY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def describe(tmp_path, monkeypatch):
    """HETSCHED_TOPOLOGY with such a text."""

    def written(text: str, name: str = "machine.toml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
        return path

    return written


# ---- of the caches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "cpus"),
    [
        (intel_hybrid, [(0, 1, 2, 3), (4, 5, 6, 7)]),  # one L3 for both kinds
        (rk3588, [(4, 5, 6, 7), (0, 1, 2, 3)]),  # the fast ones first
        (two_sockets, [(0, 1, 2, 8, 9, 10), (4, 5, 6, 7, 12, 13, 14)]),
        (amd_two_dies, [(0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)]),
    ],
)
def test_domains_share_a_cache_and_a_kind(build, cpus, tmp_path):
    t = topology(str(build(Tree(tmp_path))))
    assert [domain.cpus for domain in t.domains] == cpus
    assert [t.domain_of(own[0]) for own in cpus] == list(range(len(cpus)))
    with pytest.raises(ValueError, match=r"cpu must be one of .*, got 99"):
        t.domain_of(99)


def _by_definition(t: hs.Topology) -> set[frozenset[int]]:
    """Cpus are together if kind and node are the same and they have the same last cache, an L3 or
    else an L2 of several cores."""

    def last(cpu: hs.Cpu) -> object:
        own = {
            c.level: c
            for c in t.caches
            if c.type != "instruction" and cpu.number in (c.shared_by or ())
        }
        l2 = [x for x in t.logical if 2 in own and x.number in own[2].shared_by]
        clustered = len({x.number if x.core is None else ("core", x.core) for x in l2}) > 1
        return own[3].shared_by if 3 in own else own[2].shared_by if clustered else None

    return {
        frozenset(
            y.number for y in t.logical if (y.type, y.node, last(y)) == (x.type, x.node, last(x))
        )
        for x in t.logical
    }


@pytest.mark.parametrize("build", MACHINES)
def test_domains_by_definition(build, tmp_path):
    t = topology(str(build(Tree(tmp_path))))
    if "cpu numbers" in t.unknown:
        assert [domain.cpus for domain in t.domains] == [t.allowed]
    else:
        assert {frozenset(domain.cpus) for domain in t.domains} == _by_definition(t)
        assert sorted(cpu for domain in t.domains for cpu in domain.cpus) == list(t.allowed)


def test_labels_are_no_domains(tmp_path):
    assert len(topology(str(apple(Tree(tmp_path)))).domains) == 1


def test_clusters_of_a_second_level_where_there_is_no_third(tmp_path):
    tree = Tree(tmp_path).cpus("0-7", "0-7").smt(*"01234567")
    assert [d.cpus for d in topology(str(tree.cache("2 Unified 512K 0-3|4-7"))).domains] == [
        (0, 1, 2, 3),
        (4, 5, 6, 7),
    ]


def test_private_caches_make_no_domains(tmp_path):
    tree = (
        Tree(tmp_path)
        .cpus("0-7", "0-7")
        .smt("0-1", "2-3", "4-5", "6-7")
        .cache("2 Unified 512K 0-1|2-3|4-5|6-7")
    )
    (domain,) = topology(str(tree)).domains
    assert domain.cpus == tuple(range(8))
    assert domain.l2 == Cache(2, "unified", 512 * 1024, 64, (0, 1))


def test_ways_are_read(tmp_path):
    tree = Tree(tmp_path).cpus("0", "0").cache("1 Data 48K 0")
    tree.write("sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity", "12")
    assert topology(str(tree)).domains[0].l1d == Cache(1, "data", 48 * 1024, 64, (0,), 12)


def test_domains_of_a_file_of_hwloc():
    t = topology(LSTOPO / "rk3588.xml")
    assert len(t.domains) == len(_by_definition(t))


def test_domains_are_plain_in_a_dict(tmp_path):
    content = topology(str(intel_hybrid(Tree(tmp_path)))).to_dict()
    assert json.loads(json.dumps(content))["domains"][1]["cpus"] == [4, 5, 6, 7]


# ---- described machines --------------------------------------------------------------------------


def test_a_described_machine(describe):
    real = topology()
    path = describe(TWO)
    t = topology()
    fast, slow = t.domains
    assert fast == Domain(
        (0, 1, 2, 3),
        "performance",
        0,
        Cache(1, "data", 49152, None, (0,), 12),
        Cache(2, "unified", 2**21, None, (0,)),
        Cache(3, "unified", 2**25, None, (0, 1, 2, 3)),
    )
    assert slow.cpus == (4, 5, 8)
    assert (slow.kernel, slow.l2, slow.l3) == (
        "plain",
        Cache(2, "unified", 2**19, None, (4, 5, 8), 16),
        None,
    )
    assert (t.model, t.described, t.places) == (
        "two clusters",
        str(path),
        (0, 1, 2, 3, 4, 5, 8)[: len(t.places)],
    )
    assert (t.quota, t.quota_source, t.memory) == (real.quota, real.quota_source, real.memory)
    assert set(t.absent) == set(t.allowed) - set(real.allowed)
    assert topology(path).domains == t.domains
    assert topology(path).absent == ()
    assert f"described by {path} (HETSCHED_TOPOLOGY)" in str(t)


def test_a_machine_that_hwloc_describes(monkeypatch):
    path = LSTOPO / "rk3588.xml"
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    assert topology().logical == topology(path).logical


def test_only_this_machine_is_described(describe, tmp_path):
    describe(TWO)
    assert topology(str(intel_hybrid(Tree(tmp_path)))).described == ""


def test_workers_are_pinned_only_to_what_there_is(describe):
    own = topology().allowed
    describe(f'[[domain]]\ncpus = "{own[0]}"\n')
    assert topology().pins(1) == own[:1]
    assert topology().pins(2) is None
    absent = max(own) + 1
    describe(f'[[domain]]\ncpus = "{own[0]},{absent}"\n')
    t = topology()
    assert (t.absent, t.pins(1)) == ((absent,), own[:1])
    assert t.pins(2) is None
    describe('[[domain]]\ncpus = "60000-60002"\n')
    A = np.random.default_rng(0).standard_normal((200, 200))
    with hs.Pool(3) as pool:
        np.testing.assert_allclose(pool.matmul(A, A), A @ A, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = 3\n[[domain]]\ncpus='0'", "model must be a string, got 3"),
        ("", r"needs tables \[\[domain\]\]"),
        ("domain = 3", r"needs tables \[\[domain\]\]"),
        ("domain = [3]", "domain 0: it must be a table, got 3"),
        ("cpu = 3", "cpu"),
        ("[[domain]]\ncpus = '0'\nl4 = 3", "domain 0: .*l4"),
        ("[[domain]]", 'domain 0: cpus must be a list such as "0-3,8"'),
        ("[[domain]]\ncpus = 3", "domain 0: cpus must be a list .* got 3"),
        ("[[domain]]\ncpus = '3-1'", "domain 0: cpus must be a list .* got '3-1'"),
        ("[[domain]]\ncpus = '0-65536'", "numbers below 65536, got '0-65536'"),
        ("[[domain]]\ncpus = '0-4096'", "the domains have 4097 cpus, more than 4096"),
        (
            "[[domain]]\ncpus = '0-3'\n[[domain]]\ncpus = '3-4'",
            "domain 1: cpus has 3, which domain 0 has too",
        ),
        (
            "[[domain]]\ncpus = '0'\nkind = 'fast'",
            "domain 0: kind must be one of performance, efficiency, unknown, got 'fast'",
        ),
        (
            "[[domain]]\ncpus = '0'\nkernel = 'skx'",
            "domain 0: kernel must be one of avx512, avx2, neon, plain, got 'skx'",
        ),
        ("[[domain]]\ncpus = '0'\nnode = -1", "domain 0: node must be .*-1"),
        ("[[domain]]\ncpus = '0'\nl1d = 0", "domain 0: l1d must be .*0"),
        ("[[domain]]\ncpus = '0'\nl2 = '1M'", "domain 0: l2 must be .*'1M'"),
        ("[[domain]]\ncpus = '0'\nl3_ways = 8", "domain 0: l3_ways needs l3, its bytes"),
        ("[[domain]\ncpus = '0'", "line 1"),
    ],
)
def test_wrong_descriptions(describe, text, message):
    path = describe(text)
    with pytest.raises(ValueError, match=message) as error:
        topology()
    assert str(error.value).startswith(f"HETSCHED_TOPOLOGY: {path}: ")


def test_descriptions_that_are_not_there(monkeypatch, tmp_path):
    for path in (tmp_path / "none.toml", tmp_path / "none.xml", tmp_path):
        monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
        with pytest.raises(OSError, match="HETSCHED_TOPOLOGY names a file that cannot be read"):
            topology()
    monkeypatch.setenv("HETSCHED_TOPOLOGY", "")
    assert topology().described == ""


def test_what_is_measured_of_one_description_is_not_another_s(describe):
    own = topology().allowed[0]
    found = []
    for l2 in (2**19, 2**20):
        describe(f'[[domain]]\ncpus = "{own}"\nl2 = {l2}\n')
        found.append(measure.header(topology(), "measure"))
    assert found[0] != found[1]


# ---- blocks --------------------------------------------------------------------------------------


def _ways_that_fit(
    size: int, ways: int, sharing: int, tile: tuple[int, int], itemsize: int
) -> tuple[int, int]:
    """Of L1, by trying all: the most ways of A so that those of B's share and a line of C are left,
    and the depth of that."""
    rows, cols = tile
    of_a = max(a for a in range(ways) if a == 0 or a + Fraction(a * cols, rows) <= ways - 1)
    return of_a, int(Fraction(size // ways * of_a, sharing * rows * itemsize))


@given(
    st.integers(12, 256), st.integers(4, 16), st.integers(128, 4096), st.integers(4, 20),
    st.integers(1, 8), st.tuples(st.integers(1, 32), st.integers(1, 16)), st.sampled_from([4, 8]),
)  # fmt: skip
def test_blocks_by_counting_ways(l1, ways, l2, ways2, sharing, tile, itemsize):
    rows, cols = tile
    sizes = [l1 * 1024, l2 * 1024, 0]
    depth, height, width = kernels.blocking(
        sizes, [ways, ways2, 0], [1, sharing, 1], tile, itemsize
    )
    of_a, wanted = _ways_that_fit(sizes[0], ways, 1, tile, itemsize)
    if of_a and 16 <= wanted <= 2**20:
        assert depth == wanted // 8 * 8 or depth == 16 > wanted // 8 * 8
    way = math.ceil(Fraction(sizes[1], ways2))
    others = math.ceil(Fraction(sharing * cols * depth * itemsize, way))
    if ways2 - 1 - others >= 1:
        most = sizes[1] // ways2 * (ways2 - 1 - others) // (sharing * depth * itemsize)
        assert height == max(most // rows * rows, rows)
    assert width == 0


def test_blocks_of_blis():
    """Those of its configurations for Sandy Bridge, Haswell and Penryn (BLIS 0.9.0, double
    precision), as far as they are the model's."""
    caches = [32 * 1024, 256 * 1024, 0], [8, 8, 0], [1, 1, 1]
    assert kernels.blocking(*caches, (8, 4), 8)[:2] == (256, 96)
    assert kernels.blocking(*caches, (6, 8), 8)[0] == 256
    assert kernels.blocking(*caches, (4, 4), 8)[0] == 384


def test_sizes_are_those_in_use():
    info = kernels.kernel()
    if info["name"] == "c":
        assert kernels.sizes(info["set"]) == kernels.sizes(None)
    assert [own.tile for own in kernels.sizes(None)] == [
        info["kernels"][name][1:] for name in ("float32", "float64")
    ]
    assert all(size > 0 for own in kernels.sizes("plain") for size in (*own.tile, *own.blocks))
    with pytest.raises(NotImplementedError):
        kernels.sizes("skx")


def _domain(cpus: tuple[int, ...], l2: int, **more) -> Domain:
    return Domain(
        cpus,
        l1d=Cache(1, "data", 2**15, 64, cpus[:1], 8),
        l2=Cache(2, "unified", l2, 64, cpus, 16),
        **more,
    )


def test_domains_like_the_first_keep_the_kernels_own_blocks():
    like = [_domain((0, 1), 2**20), _domain((2, 3), 2**20, kernel="plain")]
    assert blocking_of(like, [2, 2]) == (Blocking(), Blocking("plain"))


def test_other_domains_have_the_model_s():
    domains = [
        _domain((0, 1), 2**20),
        _domain((2, 3), 2**19, kernel="plain"),
        _domain((4, 5), 2**20, kind="efficiency", kernel="plain"),
    ]
    first, small, other = blocking_of(domains, [2, 2, 1])
    assert first == Blocking()
    tiles = [own.tile for own in kernels.sizes("plain")]
    for found, l2, sharing in ((small, 2**19, 2), (other, 2**20, 1)):
        for i, itemsize in enumerate((4, 8)):
            wanted = kernels.blocking(
                [2**15, l2, 0], [8, 16, 0], [1, sharing, 1], tiles[i], itemsize
            )
            assert (found.depth[i], found.rows[i], found.cols[i]) == wanted
    assert other.rows[1] > small.rows[1]


def test_a_kernel_that_is_not_there(monkeypatch):
    def none(name, sizes=kernels.sizes):
        if name is None:
            return sizes(name)
        raise NotImplementedError

    monkeypatch.setattr(kernels, "sizes", none)
    with pytest.raises(
        ValueError,
        match="the domain of cpus 2-3 has kernel 'neon', which this processor does not have",
    ):
        blocking_of([_domain((0, 1), 2**20), _domain((2, 3), 2**20, kernel="neon")], [1, 1])


# ---- pools ---------------------------------------------------------------------------------------


def test_one_domain_changes_nothing():
    own = topology()
    if len(own.domains) == 1:
        workers = Workers(own.worth, False, 1.0)
        assert (workers.domains, workers.domain_of, set(workers.platform.domains)) == (
            None,
            None,
            {None},
        )


def test_workers_of_domains(describe):
    describe(TWO)
    workers = Workers(7, False, 1.0)
    assert workers.domain_of == (0, 0, 0, 0, 1, 1, 1)
    assert workers.platform.domains == workers.domain_of
    assert workers.domains[0] == Blocking()
    assert workers.domains[1].kernel == "plain"
    assert min(workers.domains[1].depth) > 0
    assert workers.cores is None or os.cpu_count() >= 9


def test_domains_without_workers_are_left_out(describe):
    describe(TWO)
    assert (Workers(3, False, 1.0).domains, Workers(3, False, 1.0).domain_of) == (None, None)
    describe('[[domain]]\ncpus = "0-1"\nkernel = "plain"\n')
    assert (Workers(2, False, 1.0).domains, Workers(2, False, 1.0).domain_of) == (
        (Blocking("plain"),),
        (0, 0),
    )


def test_emulated_workers_and_too_many_are_one_gang(describe):
    describe(TWO)
    assert Workers(8, False, 1.0).domains is None
    slow = hs.Platform.star([1e3] * 7)
    assert Workers(slow, True, 1.0).domain_of is None


def test_emulation_is_bounded_by_the_cores_that_are_there(describe):
    fast = hs.Platform.star(speeds=[1e5] * 3)
    with pytest.raises(ValueError, match="too fast") as real:
        Workers(fast, True, 1.0)
    describe('[[domain]]\ncpus = "0-63"\n')
    with pytest.raises(ValueError, match="too fast") as described:
        Workers(fast, True, 1.0)
    cores = [
        str(error.value).rpartition("float32, ")[2].partition(" core")[0]
        for error in (real, described)
    ]
    assert float(cores[1]) <= os.cpu_count()
    assert float(cores[0]) <= float(cores[1])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_pool_of_domains_computes_what_scipy_does(describe, dtype):
    describe(TWO)
    rng = np.random.default_rng(3)
    n, limit = 260, 1e3 * np.finfo(dtype).eps
    a, b = (
        rng.standard_normal((n, n)).astype(dtype) + 3 * n * np.eye(n, dtype=dtype) for _ in range(2)
    )
    with hs.Pool(7) as pool:
        assert len(pool.platform.domains) == 7
        assert np.abs(pool.matmul(a, b) - a @ b).max() < limit * n * n
        lu, piv = pool.lu_factor(a)
        wanted, order = scipy.linalg.lu_factor(a)
        assert np.array_equal(piv, order)
        assert np.abs(lu - wanted).max() < limit * n
        spd = a @ a.conj().T
        assert np.abs(pool.cholesky(spd) - np.linalg.cholesky(spd)).max() < limit * n
        q, r = pool.qr(a)
        assert np.abs(q @ r - a).max() < limit * n
        assert np.abs(q.conj().T @ q - np.eye(n)).max() < limit


@pytest.mark.few(1)
@pytest.mark.parametrize("call", ["pool.matmul(a, a)", "pool.lu_factor(a, check_finite=False)"])
def test_ctrl_c_on_several_domains(describe, call):
    describe(TWO)
    program = f"""
        import time
        import numpy as np, hetsched as hs
        a = np.eye(4000)
        with hs.Pool(7) as pool:
            print("ready", flush=True)
            try:
                while True:
                    {call}
            except KeyboardInterrupt:
                print("interrupted", time.monotonic())
    """
    assert interrupted(program) == []


@pytest.mark.slow
def test_measured_platforms_have_domains(describe):
    own = topology().allowed
    describe("".join(f'[[domain]]\ncpus = "{cpu}"\nnode = {i}\n' for i, cpu in enumerate(own[:2])))
    here = hs.measure(
        kernels=["gemm"], dtypes=["float64"], sizes={"gemm": [32]}, seconds=0.02, max_age=0
    )
    if len(here) == 2:
        assert (here.domains, here.nodes) == ((0, 1), ("node0", "node1"))
        assert here.platform("float64").domains == (0, 1)
        assert hs.measure(kernels=["gemm"], dtypes=["float64"], sizes={"gemm": [32]}).domains == (
            0,
            1,
        )


def test_the_drop_in_library_gets_cpus_that_are_there(describe, monkeypatch, tmp_path):
    monkeypatch.setattr(dropin, "library", lambda: tmp_path)
    monkeypatch.setattr(dropin, "preloaded", lambda library, environment: str(library))
    own = topology().allowed[0]
    describe(f'[[domain]]\ncpus = "{own},60000"\n')
    assert dropin.environment()["HETSCHED_BLAS_CORES"] == str(own)


def test_the_drop_in_library_gets_domains(describe, monkeypatch, tmp_path):
    monkeypatch.setattr(dropin, "library", lambda: tmp_path)
    monkeypatch.setattr(dropin, "preloaded", lambda library, environment: str(library))
    assert (
        "HETSCHED_BLAS_DOMAINS" not in dropin.environment(given={}) or len(topology().domains) > 1
    )
    cpus = topology().allowed[:2]
    describe(
        "".join(
            f'[[domain]]\ncpus = "{cpu}"\nnode = {i}\nkernel = "plain"\n'
            for i, cpu in enumerate(cpus)
        )
    )
    made = dropin.environment(given={})
    assert made["HETSCHED_BLAS_DOMAINS"] == "0,1"[: 2 * len(cpus) - 1]
    assert made["HETSCHED_BLAS_BLOCKS"] == ";".join(["plain:0,0,0,0,0,0"] * len(cpus))


def test_info_shows_the_blocks(describe, capsys):
    describe(TWO)
    assert cli.main(["info"]) == 0
    lines = {line.partition(" ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["domains"].endswith(
        "2: cpus 0-3 (performance), cpus 4-5,8 (efficiency, kernel plain)"
    )
    assert "cpus 0-3: kernel as above, float32 depth" in lines["blocks"]
    assert "(the kernel's own); cpus 4-5,8: kernel plain, float32 depth" in lines["blocks"]
    assert lines["blocks"].endswith("(by the model of its caches)")


# ---- platforms -----------------------------------------------------------------------------------


def test_workers_know_their_domain():
    assert hs.Worker(1.0).domain is None
    assert (hs.Worker(1.0, domain=2).domain, hs.Worker(1.0, domain="left").domain) == (2, "left")
    platform = hs.Platform.star([3, 5, 8], domains=[0, "b", None], unit=hs.Unit.gigaflop())
    assert platform.domains == (0, "b", None)
    assert platform.to(hs.Unit.block_update(80)).domains == platform.domains
    assert hs.Platform.join([platform, platform]).domains[:3] == ("node0/0", "node0/b", None)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "", [0]])
def test_worker_refuses_domains(wrong):
    with pytest.raises((TypeError, ValueError), match="domain must be"):
        hs.Worker(1.0, domain=wrong)


def test_star_needs_a_domain_for_each_worker():
    with pytest.raises(ValueError, match="domains"):
        hs.Platform.star([3, 5], domains=[0])
    with pytest.raises(TypeError, match="domains"):
        hs.Platform.star([3, 5], domains=3)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_files_keep_domains(tmp_path, suffix):
    platform = hs.Platform.star([3, 5, 8], domains=[0, "b", None])
    platform.save(tmp_path / f"x{suffix}")
    assert hs.Platform.load(tmp_path / f"x{suffix}") == platform


def test_files_without_domains_load(tmp_path):
    (tmp_path / "x.toml").write_text("[[worker]]\ncycle_time = 3\n")
    assert hs.Platform.load(tmp_path / "x.toml").domains == (None,)
