"""hetsched.topology: recorded /proc and /sys trees, sysctl's text, and the environment."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import (
    CPU,
    MACHINES,
    V1_CPUSET,
    V1_MOUNT,
    V2_MOUNT,
    Tree,
    amd_two_dies,
    apple,
    intel_hybrid,
    nested_container,
    old_container,
    rk3588,
    two_sockets,
)

import hetsched as hs
from hetsched import Cache, Cpu, Topology, topology
from hetsched.machine import hwloc as _hwloc
from hetsched.machine import linux as _linux
from hetsched.machine import macos as _macos
from hetsched.machine.linux import cpu_list, memory_room, ranges


@pytest.fixture(autouse=True)
def _no_thread_limit(monkeypatch):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path).cpus("0-7", "0-7")


def read(tree: Tree) -> Topology:
    return topology(str(tree))


def quota(tree: Tree) -> tuple[float | None, str]:
    m = read(tree)
    return m.quota, m.quota_source


class TestQuotaV2:
    def test_of_the_group_itself(self, tree):
        tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "50000 10000")
        assert quota(tree) == (5.0, "cgroup v2 /a cpu.max")

    def test_of_a_parent(self, tree):
        tree.cgroup("0::/pod/app", V2_MOUNT).write("sys/fs/cgroup/pod/cpu.max", "150000 100000")
        tree.write("sys/fs/cgroup/pod/app/cpu.max", "max 100000")
        assert quota(tree) == (1.5, "cgroup v2 /pod cpu.max")
        assert read(tree).worth == 2

    @pytest.mark.parametrize(
        ("outer", "inner", "tightest"), [(3, 2, (2.0, "/a/b/c")), (2, 3, (2.0, "/a"))]
    )
    def test_tightest_of_nested(self, tree, outer, inner, tightest):
        tree.cgroup("0::/a/b/c", V2_MOUNT)
        tree.write("sys/fs/cgroup/a/cpu.max", f"{outer}00000 100000")
        tree.write("sys/fs/cgroup/a/b/c/cpu.max", f"{inner}00000 100000")
        assert quota(tree) == (tightest[0], f"cgroup v2 {tightest[1]} cpu.max")

    def test_other_groups_do_not_count(self, tree):
        tree.cgroup("0::/a/b", V2_MOUNT).write("sys/fs/cgroup/a/b/cpu.max", "400000 100000")
        for other in ("a/b/child", "a/sibling", "ab"):
            tree.write(f"sys/fs/cgroup/{other}/cpu.max", "100000 100000")
        assert read(tree).quota == 4.0

    @pytest.mark.parametrize(
        "text", ["max 100000", "", "nonsense", "150000", "150000 0", "-1 100000", "0 100000"]
    )
    def test_unlimited_or_unreadable(self, tree, text):
        tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", text)
        assert quota(tree) == (None, "")
        assert read(tree).worth == 8
        tree.write("sys/fs/cgroup/a/cpu.max", "300000 100000")
        assert read(tree).worth == 3

    def test_namespace_where_the_group_is_the_top(self, tree):
        tree.cgroup("0::/", V2_MOUNT).write("sys/fs/cgroup/cpu.max", "250000 100000")
        assert quota(tree) == (2.5, "cgroup v2 / cpu.max")

    def test_mounted_elsewhere_with_a_space_in_the_path(self, tree):
        tree.cgroup("0::/my group:1", V2_MOUNT.replace("/sys/fs/cgroup", "/mnt/c\\040g"))
        tree.write("mnt/c g/my group:1/cpu.max", "200000 100000")
        tree.write("sys/fs/cgroup/my group:1/cpu.max", "100000 100000")
        assert quota(tree) == (2.0, "cgroup v2 /my group:1 cpu.max")


class TestQuotaV1:
    def test_quota_of_the_cpu_controller(self, tree):
        cpuset = "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset"
        tree.cgroup(
            "5:cpuset:/other\n2:cpu,cpuacct:/a/b\n1:name=systemd:/s", f"{cpuset}\n{V1_MOUNT}"
        )
        tree.v1_quota("sys/fs/cgroup/cpuset/other", 100000).v1_quota(
            "sys/fs/cgroup/cpu,cpuacct/s", 100000
        )
        tree.v1_quota("sys/fs/cgroup/cpuset/a/b", 1000, 10000)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a/b", 5000, 10000)
        assert quota(tree) == (0.5, "cgroup v1 /a/b cpu.cfs_quota_us")
        assert read(tree).worth == 1

    def test_tightest_of_nested(self, tree):
        tree.cgroup("1:cpu:/a/b", V1_MOUNT)
        # 2 cpus: a smaller quota is not a tighter one
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 20000, 10000)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a/b", 15000, 5000)
        assert quota(tree) == (2.0, "cgroup v1 /a cpu.cfs_quota_us")

    def test_unlimited(self, tree):
        tree.cgroup("1:cpu:/a", V1_MOUNT).v1_quota("sys/fs/cgroup/cpu,cpuacct", -1)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", -1)
        assert quota(tree) == (None, "")
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 300000)
        assert read(tree).quota == 3.0

    def test_both_hierarchies(self, tree):
        unified = V2_MOUNT.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
        tree.cgroup("1:cpu:/a\n0::/u", f"{V1_MOUNT}\n{unified}").v1_quota(
            "sys/fs/cgroup/cpu,cpuacct/a", 400000
        )
        assert quota(tree) == (4.0, "cgroup v1 /a cpu.cfs_quota_us")
        tree.write("sys/fs/cgroup/unified/u/cpu.max", "300000 100000")
        assert quota(tree) == (3.0, "cgroup v2 /u cpu.max")


class TestContainerMount:
    def test_mount_root_is_the_group(self, tree):
        mount = V1_MOUNT.replace(" / ", " /docker/abc ", 1)
        tree.cgroup("1:cpu:/docker/abc/job", mount).v1_quota(
            "sys/fs/cgroup/cpu,cpuacct/job", 200000
        )
        assert quota(tree) == (2.0, "cgroup v1 /docker/abc/job cpu.cfs_quota_us")
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct", 100000)
        assert quota(tree) == (1.0, "cgroup v1 /docker/abc cpu.cfs_quota_us")

    @pytest.mark.parametrize("path", ["/kubepods/pod1/abc", "/docker/abcdef", "/", "/../other"])
    def test_path_not_under_the_mount_root(self, tree, path):
        mount = V2_MOUNT.replace(" / ", " /docker/abc ", 1)
        tree.cgroup(f"0::{path}", mount).write("sys/fs/cgroup/cpu.max", "150000 100000")
        for wrong in ("kubepods/pod1/abc", "ef", "other"):
            tree.write(f"sys/fs/cgroup/{wrong}/cpu.max", "100000 100000")
        tree.write("sys/fs/other/cpu.max", "100000 100000")
        assert quota(tree) == (1.5, "cgroup v2 /docker/abc cpu.max")

    def test_path_outside_the_namespace(self, tree):
        tree.cgroup("0::/../other", V2_MOUNT).write("sys/fs/cgroup/cpu.max", "150000 100000")
        tree.write("sys/fs/other/cpu.max", "100000 100000")
        assert quota(tree) == (1.5, "cgroup v2 / cpu.max")

    def test_directory_missing_under_the_mount(self, tree):
        tree.cgroup("0::/docker/abc", V2_MOUNT).write("sys/fs/cgroup/cpu.max", "250000 100000")
        assert quota(tree) == (2.5, "cgroup v2 / cpu.max")

    def test_a_mount_that_shows_the_group_wins(self, tree):
        elsewhere = V2_MOUNT.replace(" / /sys/fs/cgroup ", " /x /mnt/x ")
        tree.cgroup("0::/a", f"{elsewhere}\n{V2_MOUNT}").write(
            "sys/fs/cgroup/a/cpu.max", "300000 100000"
        )
        tree.write("mnt/x/cpu.max", "100000 100000")
        assert quota(tree) == (3.0, "cgroup v2 /a cpu.max")


class TestCpuset:
    def test_nearest_of_version_2(self, tree):
        tree.cgroup("0::/a/b", V2_MOUNT).write("sys/fs/cgroup/a/cpuset.cpus.effective", "1-3")
        t = read(tree)
        assert (t.allowed, t.cpuset_source) == ((1, 2, 3), "cgroup v2 /a cpuset.cpus.effective")
        # a partition: its parent does not have 4
        tree.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "2,4")
        assert read(tree).allowed == (2, 4)

    @pytest.mark.parametrize("name", ["cpuset.effective_cpus", "cpuset.cpus"])
    def test_version_1(self, tree, name):
        tree.cgroup("3:cpuset:/a\n2:cpu:/b", f"{V1_MOUNT}\n{V1_CPUSET}").write(
            f"sys/fs/cgroup/cpuset/a/{name}", "0-1"
        )
        tree.write(f"sys/fs/cgroup/cpuset/b/{name}", "7").write(
            f"sys/fs/cgroup/cpu,cpuacct/a/{name}", "7"
        )
        assert (read(tree).allowed, read(tree).cpuset_source) == ((0, 1), f"cgroup v1 /a {name}")

    def test_effective_ones_count(self, tree):
        tree.cgroup("3:cpuset:/", V1_CPUSET).write("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7")
        assert read(tree.write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "5")).allowed == (5,)

    def test_with_a_mask(self, tree):
        tree.cpus("0-7", "0-3").cgroup("0::/a", V2_MOUNT).write(
            "sys/fs/cgroup/a/cpuset.cpus.effective", "2-5"
        )
        assert read(tree).allowed == (2, 3)

    @pytest.mark.parametrize("text", ["", "6-7"])
    def test_none_in_common(self, tree, text):
        tree.cpus("0-7", "0-3").cgroup("0::/a", V2_MOUNT).write(
            "sys/fs/cgroup/a/cpuset.cpus.effective", text
        )
        assert read(tree).allowed == (0, 1, 2, 3)

    def test_of_all_cpus_says_nothing(self, tree):
        tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-7")
        assert read(tree).cpuset_source == ""


class TestAffinity:
    def test_restricted(self, tree):
        t = read(tree.cpus("0-7", "0-1,4"))
        assert (t.online, t.cpus, t.allowed, t.worth, t.places) == (8, 3, (0, 1, 4), 3, (0, 1, 4))

    def test_cpus_that_are_not_online_are_not_allowed(self, tree):
        t = read(tree.cpus("0-1,3", "0-127"))
        assert (t.online, t.allowed) == (3, (0, 1, 3))

    def test_cpus_of_large_numbers(self, tree):
        """Masks of more than the 64 bits of a word, of the 1024 of a cpu_set_t, of the largest
        number that a pool pins to."""
        t = read(
            tree.cpus("0-1,63-64,1023-1024,65535", "1,64,1024,65535").smt(
                "0-1", "63-64", "1023-1024", "65535"
            )
        )
        assert (t.online, t.allowed, t.worth) == (7, (1, 64, 1024, 65535), 4)
        assert t.places == (1, 64, 1024, 65535)

    def test_unreadable_mask_is_unknown(self, tree):
        assert "affinity" not in read(tree).unknown
        t = read(tree.write("proc/self/status", "Name:\tpython"))
        assert t.allowed == tuple(range(8))
        assert "affinity" in t.unknown

    @pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
    def test_of_this_process(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {8, 1})
        monkeypatch.setattr(_linux, "cpuset", lambda root: ((), ""))
        assert topology().allowed == (1, 8)

    def test_system_without_affinity(self, monkeypatch):
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        t = topology()
        assert t.cpus == t.online >= t.worth
        assert "affinity" in t.unknown

    def test_affinity_refused(self, monkeypatch):
        def refuse(pid):
            raise PermissionError

        monkeypatch.setattr(os, "sched_getaffinity", refuse, raising=False)
        t = topology()
        assert t.cpus == t.online


def cores(t: Topology) -> tuple[tuple[int, ...] | None, ...]:
    return tuple(dict.fromkeys(cpu.siblings for cpu in t.logical))


class TestCores:
    def test_one_of_every_core_first(self, tree):
        t = read(tree.smt("0,4", "1,5", "2,6", "3,7"))
        assert cores(t) == ((0, 4), (1, 5), (2, 6), (3, 7))
        assert [cpu.core for cpu in t.logical] == [0, 1, 2, 3] * 2
        t = read(tree.smt("0,1", "2,3", "4,5", "6,7"))
        assert (t.worth, t.places) == (4, (0, 2, 4, 6, 1, 3, 5, 7))

    def test_only_as_many_as_the_limit(self, tree, monkeypatch):
        tree.smt("0,1", "2,3", "4,5", "6,7")
        monkeypatch.setenv("HETSCHED_NUM_THREADS", "5")
        t = read(tree)
        assert (t.worth, t.places) == (4, (0, 2, 4, 6, 1))
        monkeypatch.setenv("HETSCHED_NUM_THREADS", "3")
        t = read(tree)
        assert (t.worth, t.places) == (3, (0, 2, 4))

    def test_four_threads_a_core(self, tree):
        t = read(tree.smt("0-3", "4-7"))
        assert (t.worth, t.places) == (2, (0, 4, 1, 5, 2, 6, 3, 7))

    def test_siblings_that_are_not_allowed(self, tree):
        t = read(tree.cpus("0-7", "1-3,6").smt("0,1", "2,3", "4,5", "6,7"))
        assert cores(t) == ((0, 1), (2, 3), (6, 7))
        assert (t.cores, t.worth, t.places) == (3, 3, (1, 2, 6, 3))

    def test_name_before_linux_5_3(self, tree):
        assert cores(read(tree.smt("0,1", "2,3", name="thread_siblings_list"))) == (
            (0, 1),
            (2, 3),
            None,
        )

    @pytest.mark.parametrize("text", ["", "9"])
    def test_a_list_without_the_cpu_is_unknown(self, tree, text):
        t = read(tree.smt("2,3").write(f"{CPU}/cpu0/topology/core_cpus_list", text))
        assert cores(t) == (None, (2, 3))
        assert t.logical[0] == Cpu(0)
        assert (t.cores, t.worth, t.places) == (None, 7, (0, 1, 2, 4, 5, 6, 7, 3))
        assert t.types == {"unknown": 7}
        assert "core" in t.unknown
        assert t.why == "one for each of 8 cpus (cores unknown)"


class TestWorth:
    def workers(self, cpus: int, quota: float | None, limit: int | None) -> Topology:
        logical = tuple(Cpu(i, core=i) for i in range(cpus))
        return Topology(None, logical, 8, (), None, "", quota, "q", "", limit, "L", None, ())

    @pytest.mark.parametrize(
        ("cpus", "quota", "limit", "worth", "why"),
        [
            (8, None, None, 8, "one for each of 8 cores"),
            (8, 3.0, None, 3, "8 cores, but a quota of 3 cpus (q)"),
            (8, 3.99, 6, 4, "8 cores, but a quota of 3.99 cpus (q)"),
            (8, 3.3, None, 4, "8 cores, but a quota of 3.3 cpus (q)"),  # the rest adds a tenth
            (8, 3.29, None, 3, "8 cores, but a quota of 3.29 cpus (q)"),
            (8, 1.09, None, 1, "8 cores, but a quota of 1.09 cpus (q)"),
            (8, 1.1, None, 2, "8 cores, but a quota of 1.1 cpus (q)"),
            (8, 3.99, 3, 3, "8 cores, but L says 3"),
            (4, 3.99, None, 4, "one for each of 4 cores"),
            # up to rounding
            (8, 2.9999999999999996, None, 3, "8 cores, but a quota of 3 cpus (q)"),
            (8, 6.0, 2, 2, "8 cores, but L says 2"),
            (4, 6.0, 5, 4, "one for each of 4 cores"),
            (8, 0.25, 4, 1, "8 cores, but a quota of 0.25 cpus (q)"),
            (1, 0.25, 4, 1, "1 core"),
        ],
    )
    def test_least_of_the_three(self, cpus, quota, limit, worth, why):
        t = self.workers(cpus, quota, limit)
        assert (t.worth, t.why, len(t.places)) == (worth, why, worth)

    def test_pool_takes_them(self, tree, monkeypatch):
        from hetsched._engine import run
        from hetsched.runners import workers

        t = read(two_sockets(tree))
        monkeypatch.setattr(workers, "topology", lambda: t)
        # those cpus need not be here
        monkeypatch.setattr(run, "Threads", lambda size, cores, *_, **__: (size, cores))
        for count, cpus in (
            (None, (0, 1, 2, 4, 5, 6, 7)),
            (9, (0, 1, 2, 4, 5, 6, 7, 8, 9)),
            (14, None),
        ):
            with hs.Pool(count) as p:
                assert p._own.resources.threads == (count or 7, cpus)


class TestThreadLimit:
    def limit(self, tree: Tree, monkeypatch, **variables: str) -> tuple[int | None, str]:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        m = read(tree)
        return m.thread_limit, m.thread_limit_source

    def test_none(self, tree, monkeypatch):
        assert self.limit(tree, monkeypatch) == (None, "")

    def test_own_variable_comes_first(self, tree, monkeypatch):
        found = self.limit(tree, monkeypatch, HETSCHED_NUM_THREADS=" 6 ", OMP_NUM_THREADS="2")
        assert found == (6, "HETSCHED_NUM_THREADS")

    @pytest.mark.parametrize(("text", "limit"), [("3", 3), ("4,2", 4), (" 2 , 1", 2)])
    def test_openmp(self, tree, monkeypatch, text, limit):
        assert self.limit(tree, monkeypatch, OMP_NUM_THREADS=text) == (limit, "OMP_NUM_THREADS")

    @pytest.mark.parametrize(
        "text", ["", "0", "-2", "four", "2.5", "4_0", "0x4", "\u0664", "\u00b2", "9" * 5000, "4,"]
    )
    def test_garbage_gives_way_to_the_next(self, tree, monkeypatch, text):
        found = self.limit(tree, monkeypatch, HETSCHED_NUM_THREADS=text, OMP_NUM_THREADS="3")
        assert found == (3, "OMP_NUM_THREADS")

    @pytest.mark.parametrize("text", ["", ",4", "0,4", "-1", "many", "\u00b2"])
    def test_garbage_is_ignored(self, tree, monkeypatch, text):
        assert self.limit(tree, monkeypatch, OMP_NUM_THREADS=text) == (None, "")
        assert read(tree).worth == 8


class TestCaches:
    def test_of_the_allowed_cpus(self, tree):
        tree.cpus("0-7", "2-3")
        tree.cache("1 Data 32K 0").cache("1 Data 48K 2-3").cache("1 Instruction 64K 2-3", line=None)
        tree.cache("2 Unified 2048K 2|3").cache("3 Unified 491520K 0-7", line=128)
        t = read(tree)
        assert t.caches == (
            Cache(1, "data", 48 * 1024, 64, (2, 3)),
            Cache(1, "instruction", 64 * 1024, None, (2, 3)),
            Cache(2, "unified", 2 * 1024**2, 64, (2,)),
            Cache(2, "unified", 2 * 1024**2, 64, (3,)),
            Cache(3, "unified", 480 * 1024**2, 128, tuple(range(8))),
        )
        assert (
            dict(t.describe())["caches"]
            == "L1d 48 KiB (cpus 2-3); L2 2 x 2 MiB; L3 480 MiB (cpus 0-7)"
        )
        assert "cache lines" in t.unknown
        assert not {"caches", "cache sizes", "cache sharing"} & set(t.unknown)

    def test_other_indices_on_other_cpus(self, tree):
        """One core has no second level: its third is at another index."""
        tree.cpus("0-1", "0-1").cache("2 Unified 512K 0").cache("3 Unified 4096K 0-1").cache(
            "2 Unified 256K 1"
        )
        assert [(c.level, c.bytes, c.shared_by) for c in read(tree).caches] == [
            (2, 524288, (0,)),
            (2, 262144, (1,)),
            (3, 4194304, (0, 1)),
        ]

    def test_unknown_sharing(self, tree):
        tree.cpus("0-1", "0-1").cache("1 Data 32K 0|1")
        for cpu in (0, 1):
            tree.write(f"{CPU}/cpu{cpu}/cache/index0/shared_cpu_list", "")
        t = read(tree)
        assert t.caches == (Cache(1, "data", 32768, 64, None),) * 2
        assert "cache sharing" in t.unknown
        assert dict(t.describe())["caches"] == "L1d 2 x 32 KiB"

    @pytest.mark.parametrize("size", ["", "0K", "32", "K", "3M", "-4K"])
    def test_unknown_size(self, tree, size):
        tree.cache("1 Data 32K 0").write(f"{CPU}/cpu0/cache/index0/size", size)
        t = read(tree)
        assert t.caches == (Cache(1, "data", None, 64, (0,)),)
        assert "cache sizes" in t.unknown
        assert dict(t.describe())["caches"] == "L1d unknown size (cpu 0)"

    @pytest.mark.parametrize(("level", "kind"), [("x", "Data"), ("1", "Odd"), ("0", "Data")])
    def test_incomplete_one_is_left_out(self, tree, level, kind):
        tree.cache(f"{level} {kind} 32K 0").cache("2 Unified 512K 0")
        assert read(tree).caches == (Cache(2, "unified", 512 * 1024, 64, (0,)),)


class TestTypes:
    def types(self, tree: Tree) -> str:
        return "".join(cpu.type[0] for cpu in read(tree).logical)

    def test_devices_come_first(self, tree):
        intel_hybrid(tree).each("cpu_capacity", c0_3=100, c4_7=1024)
        assert self.types(tree) == "ppppeeee"

    def test_third_device(self, tree):
        intel_hybrid(tree).write("sys/devices/cpu_atom/cpus", "4-5").write(
            "sys/devices/cpu_lowpower/cpus", "6-7"
        )
        assert self.types(tree) == "ppppeeee"
        assert read(tree).type_source == "cpu_core and cpu_atom and cpu_lowpower"

    @pytest.mark.parametrize(
        ("allowed", "types"), [("0-1", {"performance": 1}), ("4,6", {"efficiency": 2})]
    )
    def test_of_a_mask_with_one_type(self, tree, allowed, types):
        assert read(intel_hybrid(tree).cpus("0-7", allowed)).types == types
        assert read(rk3588(Tree(tree.root / "arm")).cpus("0-7", "0")).types == {"efficiency": 1}

    def test_a_device_alone_tells_nothing(self, tree):
        """Where the efficiency cores are switched off, or a virtual machine shows one type."""
        tree.write("sys/devices/cpu_core/cpus", "0-7").each("cpu_capacity", c0_7=1024)
        assert self.types(tree) == "u" * 8
        assert read(tree).type_source == ""
        assert "type" not in read(tree).unknown  # all are the same

    def test_cpu_listed_by_no_device(self, tree):
        assert (
            self.types(intel_hybrid(tree).write("sys/devices/cpu_atom/cpus", "4-6")) == "ppppeeeu"
        )

    def test_three_capacities(self, tree):
        """One prime, three large and four small cores: the widest gap is before the small ones."""
        tree.each("cpu_capacity", c0_3=250, c4_6=780, c7=1024)
        assert self.types(tree) == "eeeepppp"

    @pytest.mark.parametrize(
        ("slow", "types"), [(800, "eeeepppp"), (801, "u" * 8), (1000, "u" * 8)]
    )
    def test_width_of_the_gap(self, tree, slow, types):
        assert self.types(tree.each("cpu_capacity", c0_3=slow, c4_7=1000)) == types

    def test_frequencies_and_ranks_are_hints(self, tree):
        tree.each("acpi_cppc/highest_perf", c0_3=200, c4_7=120)
        assert (self.types(tree), read(tree).type_source) == (
            "ppppeeee",
            "acpi_cppc highest_perf, a hint",
        )
        tree.each("cpufreq/cpuinfo_max_freq", c0_3=3300000, c4_7=5100000)
        assert (self.types(tree), read(tree).type_source) == ("eeeepppp", "max frequencies, a hint")
        # as some systems have it: then the rest decides
        tree.each("cpufreq/cpuinfo_max_freq", c0_7=3500000)
        assert self.types(tree) == "ppppeeee"
        assert self.types(tree.each("cpu_capacity", c0=500, c1_7=1024)) == "eppppppp"

    def test_not_known_of_all(self, tree):
        tree.each("cpu_capacity", c0_3=250, c4_6=1024)
        assert self.types(tree) == "u" * 8
        assert "type" in read(tree).unknown

    def test_cpus_that_are_offline_do_not_count(self, tree):
        tree.cpus("0-5", "0-5").each("cpu_capacity", c0_3=250, c4_5=1024)
        assert self.types(tree) == "eeeepp"

    def test_performance_cores_first(self, tree, monkeypatch):
        t = read(rk3588(tree))
        assert t.places == (4, 5, 6, 7, 0, 1, 2, 3)
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        t = read(tree)
        assert (t.worth, t.places) == (3, (4, 5, 6))
        assert read(intel_hybrid(Tree(tree.root / "intel"))).places == (0, 2, 4)


class TestRecorded:
    """Whole machines."""

    def test_intel_hybrid(self, tree):
        t = read(intel_hybrid(tree))
        assert (t.cpus, t.cores, t.packages, t.nodes, t.worth) == (8, 6, 1, 1, 6)
        assert t.types == {"performance": 2, "efficiency": 4}
        assert t.type_source == "cpu_core and cpu_atom"
        assert t.logical[3] == Cpu(
            3, 2, 0, 0, (2, 3), "performance", None, 4_700_000_000, 2_100_000_000
        )
        assert t.logical[5] == Cpu(
            5, 5, 0, 0, (5,), "efficiency", None, 3_500_000_000, 1_500_000_000
        )
        assert t.places == (0, 2, 4, 5, 6, 7, 1, 3)
        assert Cache(2, "unified", 2 * 1024**2, 64, (4, 5, 6, 7)) in t.caches
        assert len(t.caches) == 2 + 4 + 2 + 4 + 2 + 1 + 1
        assert (t.load, t.model, t.unknown) == ((1.5, 0.5, 0.25), "12th Gen Intel(R) Core(TM)", ())
        assert str(t).splitlines() == [
            "processor     12th Gen Intel(R) Core(TM)",
            "affinity      all 8 online cpus (0-7)",
            (
                "cores         6: 2 performance (cpus 0-3, 2 threads each, max 4.7 GHz, base 2.1"
                " GHz), 4 efficiency (cpus 4-7, 1 thread each, max 3.5 GHz, base 1.5 GHz); told"
                " apart by cpu_core and cpu_atom"
            ),
            (
                "caches        L1d 2 x 48 KiB (2 cpus each), 4 x 32 KiB; L2 2 x 1.25 MiB (2 cpus"
                " each), 2 MiB (cpus 4-7); L3 12 MiB (cpus 0-7)"
            ),
            "domains       2: cpus 0-3 (performance), cpus 4-7 (efficiency)",
            "memory        16 GiB, 1 package, 1 NUMA node",
            "quota         none",
            "thread limit  none",
            "load          1.5, 0.5, 0.25 threads over 1, 5, 15 minutes",
            "workers       6 worth starting: one for each of 6 cores; on cpus 0,2,4-7",
        ]
        assert (
            repr(t) == "<Topology: 8 cpus, 6 cores (2 performance, 4 efficiency), 6 worth starting>"
        )

    def test_rk3588(self, tree):
        t = read(rk3588(tree))
        assert (t.cpus, t.cores, t.nodes, t.worth, t.model) == (8, 8, None, 8, "Radxa ROCK 5B")
        assert (t.types, t.type_source) == ({"performance": 4, "efficiency": 4}, "cpu_capacity")
        assert t.logical[4] == Cpu(4, 4, 0, None, (4,), "performance", 1003, 2_256_000_000)
        assert t.unknown == ("node", "base frequency", "cache sizes")
        assert (
            "4 performance (cpus 4-7, 1 thread each, capacity 1003 to 1024, max 2.26 to 2.3 GHz)"
            in str(t)
        )
        assert "L3 unknown size (cpus 0-7)" in str(t)
        assert "1 package, NUMA nodes unknown" in str(t)

    def test_two_sockets(self, tree):
        t = read(two_sockets(tree))
        assert (t.online, t.cpus, t.cores, t.packages, t.nodes, t.worth) == (13, 13, 7, 2, 2, 7)
        assert t.allowed == (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14)
        assert (
            [cpu.node for cpu in t.logical]
            == [cpu.package for cpu in t.logical]
            == [0] * 3 + [1] * 4 + [0] * 3 + [1] * 3
        )
        assert t.places == (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14)
        assert t.logical[6].siblings == (7,)
        assert t.types == {"unknown": 7}
        assert "2 packages, 2 NUMA nodes: node 0 (cpus 0-2,8-10), node 1 (cpus 4-7,12-14)" in str(t)
        assert "1 to 2 threads each" in str(t)
        assert (
            "L2 6 x 1 MiB (2 cpus each), 1 MiB (cpu 7); L3 22 MiB (cpus 0-2,8-10), 22 MiB (cpus"
            " 4-7,12-14)" in str(t)
        )
        t = read(tree.cpus("0-2,4-10,12-14", "4-7"))
        assert (t.cores, t.packages, t.nodes, t.worth) == (4, 1, 1, 4)
        assert [cache.shared_by for cache in t.caches if cache.level == 3] == [
            (4, 5, 6, 7, 12, 13, 14)
        ]

    def test_amd_two_dies(self, tree):
        """Neither the boost, 9 % apart, nor the ranks of favoured cores make two types."""
        t = read(amd_two_dies(tree))
        assert (t.cpus, t.cores, t.types, t.type_source) == (16, 8, {"unknown": 8}, "")
        assert [(c.bytes, c.shared_by[0]) for c in t.caches if c.level == 3] == [
            (96 * 1024**2, 0),
            (32 * 1024**2, 4),
        ]
        assert {cpu.base_frequency for cpu in t.logical} == {4_200_000_000}
        assert "L3 96 MiB (cpus 0-3,8-11), 32 MiB (cpus 4-7,12-15)" in str(t)
        assert "8 (cpus 0-15, 2 threads each, max 5.25 to 5.75 GHz, base 4.2 GHz)" in str(t)
        assert repr(t) == "<Topology: 16 cpus, 8 cores, 8 worth starting>"
        assert t.unknown == ()

    def test_nested_container(self, tree):
        t = read(nested_container(tree))
        assert (t.quota, t.quota_source, t.worth) == (1.5, "cgroup v2 /kubepods/pod1 cpu.max", 2)
        assert (t.allowed, t.cpuset_source) == (
            (2, 3, 4, 5),
            "cgroup v2 /kubepods/pod1 cpuset.cpus.effective",
        )
        text = (
            "2 worth starting: 4 cores, but a quota of 1.5 cpus (cgroup v2 /kubepods/pod1 cpu.max);"
            " where cores are free"
        )
        assert dict(t.describe())["workers"] == text

    def test_old_container(self, tree):
        t = read(old_container(tree))
        assert (t.quota, t.quota_source, t.worth) == (
            2.5,
            "cgroup v1 /docker/abc cpu.cfs_quota_us",
            3,
        )
        assert (t.allowed, t.cpuset_source) == ((0, 1, 2, 3), "cgroup v1 /docker/abc cpuset.cpus")

    def test_apple(self, tmp_path):
        t = read(apple(Tree(tmp_path)))
        assert (t.cpus, t.online, t.cores, t.packages, t.nodes, t.worth) == (
            10,
            10,
            10,
            1,
            None,
            10,
        )
        assert (t.types, t.type_source) == ({"performance": 8, "efficiency": 2}, "hw.perflevel")
        assert (t.model, t.memory, t.load, t.quota) == (
            "Apple M1 Pro",
            2**34,
            (2.5, 2.25, 2.0),
            None,
        )
        assert t.caches[0] == Cache(1, "data", 128 * 1024, 128, (0,))
        assert t.caches[-3:] == (
            Cache(2, "unified", 12 * 1024**2, 128, (0, 1, 2, 3)),
            Cache(2, "unified", 12 * 1024**2, 128, (4, 5, 6, 7)),
            Cache(2, "unified", 4 * 1024**2, 128, (8, 9)),
        )
        assert t.unknown == ("cpu numbers", "node", "max frequency", "base frequency")
        assert "cpus" not in dict(t.describe())["workers"]  # threads are not pinned there


class TestApple:
    def other(self, root: Path, *changes: tuple[str, str]) -> Topology:
        text = (apple(Tree(root)).root / "sysctl.txt").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return read(Tree(root).write("sysctl.txt", text))

    def test_without_names(self, tmp_path):
        """They came with macOS 12; the first level is the fastest."""
        t = self.other(
            tmp_path,
            ("hw.perflevel0.name: Performance\n", ""),
            ("hw.perflevel1.name: Efficiency\n", ""),
        )
        assert t.types == {"performance": 8, "efficiency": 2}

    def test_other_names(self, tmp_path):
        t = self.other(
            tmp_path,
            ("name: Performance", "name: Super"),
            ("name: Efficiency", "name: Performance"),
        )
        assert t.types == {"performance": 10}

    def test_one_level(self, tmp_path):
        """As virtual machines have it."""
        t = self.other(tmp_path, ("hw.nperflevels: 2", "hw.nperflevels: 1"))
        assert (t.cpus, t.types) == (8, {"unknown": 8})
        assert "type" not in t.unknown

    def test_incomplete(self, tmp_path):
        t = self.other(tmp_path, ("hw.perflevel1.logicalcpu: 2", ""))
        assert (t.cpus, t.cores, t.types) == (10, 10, {"unknown": 10})
        assert {"type", "cache sharing"} <= set(t.unknown)

    def test_intel(self, tmp_path):
        text = (
            "hw.physicalcpu: 4\nhw.logicalcpu: 8\nhw.l1dcachesize: 32768\nhw.l3cachesize:"
            " 6291456\nhw.cpufrequency: 2400000000"
        )
        t = read(
            Tree(tmp_path).write(
                "sysctl.txt", f"{text}\nmachdep.cpu.brand_string: Intel(R) Core(TM) i5"
            )
        )
        assert (t.cpus, t.cores, t.packages, t.worth, t.places) == (
            8,
            4,
            None,
            4,
            (0, 2, 4, 6, 1, 3, 5, 7),
        )
        assert t.logical[3] == Cpu(3, core=2, siblings=(2, 3), base_frequency=2_400_000_000)
        assert t.caches[1] == Cache(1, "data", 32768, None, (2, 3))
        assert t.caches[-1] == Cache(3, "unified", 6 * 1024**2, None, None)
        assert "type" not in t.unknown
        assert {"cache sharing", "load", "package"} <= set(t.unknown)

    def test_two_packages(self, tmp_path):
        """As old Mac Pros had: which core is on which is not said."""
        t = self.other(tmp_path, ("hw.packages: 1", "hw.packages: 2"))
        assert t.packages is None
        assert "package" in t.unknown

    def test_cores_that_do_not_divide(self, tmp_path):
        t = read(Tree(tmp_path).write("sysctl.txt", "hw.physicalcpu: 3\nhw.logicalcpu: 8"))
        assert (t.cpus, t.cores, t.worth) == (8, None, 8)
        assert {"core", "type", "model"} <= set(t.unknown)


class TestLoad:
    @pytest.mark.parametrize("text", ["", "1 2", "x y z"])
    def test_unreadable(self, tree, text):
        t = read(tree.write("proc/loadavg", text))
        assert t.load is None
        assert "load" in t.unknown

    def test_busy(self, tree, monkeypatch):
        """Half a second: cpu 0 works half of it, cpu 1 waits for a disk, cpu 2 loses it to other
        guests, cpu 3 stands still."""
        lines = [
            "cpu  1 1 1 1 1 1 1 1 0 0",
            *(f"cpu{i} 10 0 5 100 7 0 0 0 3 0" for i in range(4)),
            "intr 5",
            "cpufoo 1 2 3 4 5",
        ]
        tree.cpus("0-4", "0-4").write("proc/stat", "\n".join(lines))
        after = [
            "cpu0 30 0 10 125 7 0 0 0 9 9",
            "cpu1 10 0 5 100 57 0 0 0 3 0",
            "cpu2 10 0 5 100 7 0 0 50 3 0",
            lines[4],
        ]
        slept: list[float] = []

        def sleep(seconds):
            slept.append(seconds)
            tree.write("proc/stat", "\n".join(after))

        monkeypatch.setattr(time, "sleep", sleep)
        t = topology(str(tree), sample=0.5)
        assert [cpu.busy for cpu in t.logical] == [0.5, 0.0, 1.0, None, None]
        assert slept == [0.5]
        assert "busy" in t.unknown
        assert dict(t.describe())["load"] == "unknown; busy now: cpu 0 50%, cpu 1 0%, cpu 2 100%"

    def test_not_watched(self, tree, monkeypatch):
        monkeypatch.delattr(time, "sleep")
        assert "busy" not in read(tree).unknown

    @pytest.mark.parametrize(
        ("sample", "error"), [(-1, ValueError), (float("nan"), ValueError), ("1", TypeError)]
    )
    def test_bad_sample(self, sample, error):
        with pytest.raises(error, match="sample"):
            topology(sample=sample)


class TestMissingFiles:
    @pytest.fixture
    def nothing(self, monkeypatch):
        """A system that says nothing of itself."""
        monkeypatch.setattr(_linux, "read", lambda root, path: "")
        monkeypatch.setattr(_macos, "sysctl", lambda root: "")
        monkeypatch.setattr(_hwloc, "lstopo", lambda: b"")
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    def test_nothing_at_all(self, nothing, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 6)
        t = topology()
        assert t.logical == tuple(map(Cpu, range(6)))
        assert (t.worth, t.places, t.cores, t.packages, t.nodes) == (
            6,
            tuple(range(6)),
            None,
            None,
            None,
        )
        assert set(t.unknown) == {
            "affinity",
            "type",
            "quota",
            "core",
            "package",
            "node",
            "max frequency",
            "base frequency",
            "caches",
            "memory",
            "model",
            "load",
        }
        assert dict(t.describe()) == {
            "processor": "unknown",
            "affinity": "all 6 online cpus (0-5)",
            "cores": "unknown, cpus: 6 (cpus 0-5)",
            "caches": "unknown",
            "memory": "size unknown, packages unknown, NUMA nodes unknown",
            "quota": "unknown",
            "thread limit": "none",
            "load": "unknown",
            "workers": "6 worth starting: one for each of 6 cpus (cores unknown); on cpus 0-5",
            "unknown": ", ".join(t.unknown),
        }
        assert repr(t) == "<Topology: 6 cpus, cores unknown, 6 worth starting>"

    def test_cpu_count_unknown(self, nothing, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        t = topology()
        assert (t.online, t.allowed, t.worth, t.places) == (1, (0,), 1, (0,))

    @pytest.mark.parametrize("text", ["-1", "", "x"])
    def test_package_unknown(self, tree, text):
        t = read(intel_hybrid(tree).write(f"{CPU}/cpu2/topology/physical_package_id", text))
        assert (t.logical[2].package, t.packages) == (None, None)
        assert t.unknown == ("package",)

    def test_quota_unknown_without_a_mount(self, tree):
        assert "quota" in read(tree.cgroup("0::/a", "")).unknown
        assert "quota" not in read(tree.cgroup("0::/a", V2_MOUNT)).unknown
        assert dict(read(tree).describe())["quota"] == "none"

    @pytest.mark.parametrize(
        "mounts",
        [
            "",
            "garbage",
            "1 2 3 - cgroup2 x rw",
            "1 2 0:3 / /m rw - cgroup",
            "1 2 0:3 / /m rw - tmpfs tmpfs rw,cpu",
        ],
    )
    def test_no_cgroup_mount(self, tree, mounts):
        tree.cgroup("0::/a\n1:cpu:/a", mounts).write("sys/fs/cgroup/a/cpu.max", "100000 100000")
        tree.write("m/a/cpu.max", "100000 100000").v1_quota("m/a", 100000)
        assert quota(tree) == (None, "")

    @pytest.mark.parametrize("groups", ["", "garbage", "0", "::", "1:cpuset:/a", "x::/a"])
    def test_no_cgroup(self, tree, groups):
        tree.cgroup(groups, f"{V2_MOUNT}\n{V1_MOUNT}").write(
            "sys/fs/cgroup/a/cpu.max", "100000 100000"
        )
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 100000)
        assert quota(tree) == (None, "")

    def test_directory_where_a_file_was_expected(self, tree):
        tree.cgroup("0::/a", V2_MOUNT)
        (tree.root / "sys/fs/cgroup/a/cpu.max").mkdir(parents=True)
        assert quota(tree) == (None, "")


@given(st.sets(st.integers(0, 600)))
def test_lists_of_cpus_round_trip(cpus):
    assert cpu_list(ranges(cpus)) == tuple(sorted(cpus))
    assert not re.search(r"(\d+)-\1\b", ranges(cpus))


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), min_size=1))
def test_lists_of_cpus_overlap_in_any_order(pairs):
    text = ",".join(f"{low}-{low + more}" if more else str(low) for low, more in pairs)
    assert cpu_list(f" {text}\n") == tuple(
        sorted({cpu for low, more in pairs for cpu in range(low, low + more + 1)})
    )


@given(st.text("0129,-x: \n\u0664", max_size=12))
def test_lists_of_cpus_or_nothing(text):
    """What is not a list, every range of it forwards, is none at all."""
    whole = re.fullmatch(r"\s*\d+\s*(-\s*\d+\s*)?(,\s*\d+\s*(-\s*\d+\s*)?)*", text, re.ASCII)
    parts = [re.findall(r"\d+", part) for part in text.split(",")] if whole else []
    right = parts and all(int(part[0]) <= int(part[-1]) < 2**20 for part in parts)
    expected = (
        sorted({cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)})
        if right
        else []
    )
    assert cpu_list(text) == tuple(expected)


@pytest.mark.parametrize(
    "text",
    ["0-31:2", "3-1", "0-99999999", "1,,2", ",", "-", "0x3", "1-2-3", "0-1048575," * 2 + "0"],
)
def test_lists_of_cpus_that_are_none(text):
    assert cpu_list(text) == ()


@pytest.mark.few(1)
@pytest.mark.parametrize("build", MACHINES, ids=lambda build: build.__name__)
def test_forms(build, tmp_path):
    """Plain values, HTML and equality, of every recorded machine."""
    t = read(build(Tree(tmp_path)))
    content = json.loads(json.dumps(t.to_dict()))
    assert content["worth"] == t.worth
    assert content["types"] == t.types
    assert [cpu["number"] for cpu in content["logical"]] == list(t.allowed)
    assert len(content["caches"]) == len(t.caches)
    assert t._repr_html_().count("<tr>") == len(t.describe())
    assert read(Tree(tmp_path)) == t
    assert 1 <= t.worth <= len(t.places) <= t.cpus
    assert sum(t.types.values()) == t.cores
    with pytest.raises(FrozenInstanceError):
        t.quota = 3.0  # type: ignore[misc]


def test_html_is_escaped(tree):
    t = replace(read(tree), model="<b>")
    assert "<b>" not in t._repr_html_()
    assert "&lt;b&gt;" in t._repr_html_()


def test_describe(tree, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2,2")
    tree.cpus("0-7", "0-3,6").smt("0,1", "2,3", "6,7")
    tree.write(
        "proc/cpuinfo",
        "processor\t: 0\nmodel\t\t: 167\nmodel name\t: A: B 9000\n\nmodel name\t: Other",
    )
    tree.cgroup("0::/a/b", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "350000 100000")
    assert dict(read(tree).describe()) == {
        "processor": "A: B 9000",
        "affinity": "5 of 8 online cpus (0-3,6)",
        "cores": "3 (cpus 0-3,6, 1 to 2 threads each)",
        "caches": "unknown",
        "memory": "16 GiB, packages unknown, NUMA nodes unknown",
        "quota": "3.5 cpus (cgroup v2 /a cpu.max)",
        "thread limit": "2 (OMP_NUM_THREADS)",
        "load": "unknown",
        "workers": "2 worth starting: 3 cores, but OMP_NUM_THREADS says 2; where cores are free",
        "unknown": "type, package, node, max frequency, base frequency, caches, load",
    }


def test_this_machine():
    t = topology()
    assert 1 <= t.worth <= t.cpus
    assert len(t.places) == len(set(t.places)) >= t.worth
    assert set(t.places) <= set(t.allowed)
    assert all(cpu.siblings is None or cpu.number in cpu.siblings for cpu in t.logical)


class TestMemoryRoom:
    """What may keep files: the available memory, or the tightest limit."""

    def test_available(self, tree):
        tree.write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    3000 kB")
        assert memory_room(str(tree)) == 3000 * 1024

    @pytest.mark.parametrize(
        ("inner", "outer", "want"),
        [("1000000", "max", 10**6), ("max", "500000", 5 * 10**5), ("max", "max", 3072000)],
    )
    def test_v2(self, tree, inner, outer, want):
        tree.write("proc/meminfo", "MemAvailable: 3000 kB").cgroup("0::/a/b", V2_MOUNT)
        tree.write("sys/fs/cgroup/a/memory.max", outer).write("sys/fs/cgroup/a/b/memory.max", inner)
        assert memory_room(str(tree)) == want

    def test_v1(self, tree):
        mount = V1_MOUNT.replace("cpu,cpuacct", "memory")
        tree.write("proc/meminfo", "MemAvailable: 3000 kB").cgroup("4:memory:/a\njunk", mount)
        tree.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "70000")
        assert memory_room(str(tree)) == 70000

    def test_unknown(self, tree):
        assert memory_room(str(tree)) == 2**62
