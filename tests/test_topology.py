"""hetsched.machine: fake /proc and /sys trees, and the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hetsched.machine import Cache, Machine, describe, machine

CPU = "sys/devices/system/cpu"
V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct"


@pytest.fixture(autouse=True)
def _no_thread_limit(monkeypatch):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


class Tree:
    """A fake root: write files, then read the machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> Tree:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        return self

    def cpus(self, online: str, allowed: str) -> Tree:
        self.write(f"{CPU}/online", online)
        return self.write("proc/self/status", f"Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}")

    def cgroup(self, groups: str, mounts: str) -> Tree:
        return self.write("proc/self/cgroup", groups).write("proc/self/mountinfo", mounts)

    def v1_quota(self, directory: str, quota: int, period: int = 100000) -> Tree:
        self.write(f"{directory}/cpu.cfs_period_us", str(period))
        return self.write(f"{directory}/cpu.cfs_quota_us", str(quota))

    def smt(self, *groups: str, name: str = "core_cpus_list") -> Tree:
        for group in groups:
            for cpu in group.split(","):
                self.write(f"{CPU}/cpu{cpu}/topology/{name}", group)
        return self

    def cache(self, cpu: int, index: int, level: str, kind: str, size: str, shared: str) -> Tree:
        values = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
        for name, value in values.items():
            self.write(f"{CPU}/cpu{cpu}/cache/index{index}/{name}", value)
        return self

    def machine(self) -> Machine:
        return machine(str(self.root))


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path).cpus("0-7", "0-7")


def quota(tree: Tree) -> tuple[float | None, str]:
    m = tree.machine()
    return m.quota, m.quota_source


class TestQuotaV2:
    def test_of_the_group_itself(self, tree):
        tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "50000 10000")
        assert quota(tree) == (5.0, "cgroup v2 /a cpu.max")

    def test_of_a_parent(self, tree):
        tree.cgroup("0::/pod/app", V2_MOUNT).write("sys/fs/cgroup/pod/cpu.max", "150000 100000")
        tree.write("sys/fs/cgroup/pod/app/cpu.max", "max 100000")
        assert quota(tree) == (1.5, "cgroup v2 /pod cpu.max")
        assert tree.machine().workers == 1

    @pytest.mark.parametrize(("outer", "inner", "tightest"), [(3, 2, (2.0, "/a/b/c")), (2, 3, (2.0, "/a"))])
    def test_tightest_of_nested(self, tree, outer, inner, tightest):
        tree.cgroup("0::/a/b/c", V2_MOUNT)
        tree.write("sys/fs/cgroup/a/cpu.max", f"{outer}00000 100000")
        tree.write("sys/fs/cgroup/a/b/c/cpu.max", f"{inner}00000 100000")
        assert quota(tree) == (tightest[0], f"cgroup v2 {tightest[1]} cpu.max")

    def test_other_groups_do_not_count(self, tree):
        tree.cgroup("0::/a/b", V2_MOUNT).write("sys/fs/cgroup/a/b/cpu.max", "400000 100000")
        for other in ("a/b/child", "a/sibling", "ab"):
            tree.write(f"sys/fs/cgroup/{other}/cpu.max", "100000 100000")
        assert tree.machine().quota == 4.0

    @pytest.mark.parametrize("text", ["max 100000", "", "nonsense", "150000", "150000 0", "-1 100000", "0 100000"])
    def test_unlimited_or_unreadable(self, tree, text):
        tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", text)
        assert quota(tree) == (None, "")
        assert tree.machine().workers == 8
        tree.write("sys/fs/cgroup/a/cpu.max", "300000 100000")
        assert tree.machine().workers == 3

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
        tree.cgroup("5:cpuset:/other\n2:cpu,cpuacct:/a/b\n1:name=systemd:/s", f"{cpuset}\n{V1_MOUNT}")
        tree.v1_quota("sys/fs/cgroup/cpuset/other", 100000).v1_quota("sys/fs/cgroup/cpu,cpuacct/s", 100000)
        tree.v1_quota("sys/fs/cgroup/cpuset/a/b", 1000, 10000)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a/b", 5000, 10000)
        assert quota(tree) == (0.5, "cgroup v1 /a/b cpu.cfs_quota_us")
        assert tree.machine().workers == 1

    def test_tightest_of_nested(self, tree):
        tree.cgroup("1:cpu:/a/b", V1_MOUNT)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 20000, 10000)  # 2 cpus: a smaller quota is not a tighter one
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a/b", 15000, 5000)
        assert quota(tree) == (2.0, "cgroup v1 /a cpu.cfs_quota_us")

    def test_unlimited(self, tree):
        tree.cgroup("1:cpu:/a", V1_MOUNT).v1_quota("sys/fs/cgroup/cpu,cpuacct", -1)
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", -1)
        assert quota(tree) == (None, "")
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 300000)
        assert tree.machine().quota == 3.0

    def test_both_hierarchies(self, tree):
        unified = V2_MOUNT.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
        tree.cgroup("1:cpu:/a\n0::/u", f"{V1_MOUNT}\n{unified}").v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 400000)
        assert quota(tree) == (4.0, "cgroup v1 /a cpu.cfs_quota_us")
        tree.write("sys/fs/cgroup/unified/u/cpu.max", "300000 100000")
        assert quota(tree) == (3.0, "cgroup v2 /u cpu.max")


class TestContainerMount:
    def test_mount_root_is_the_group(self, tree):
        mount = V1_MOUNT.replace(" / ", " /docker/abc ", 1)
        tree.cgroup("1:cpu:/docker/abc/job", mount).v1_quota("sys/fs/cgroup/cpu,cpuacct/job", 200000)
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
        tree.cgroup("0::/a", f"{elsewhere}\n{V2_MOUNT}").write("sys/fs/cgroup/a/cpu.max", "300000 100000")
        tree.write("mnt/x/cpu.max", "100000 100000")
        assert quota(tree) == (3.0, "cgroup v2 /a cpu.max")


class TestAffinity:
    def test_restricted(self, tree):
        m = tree.cpus("0-7", "0-1,4").machine()
        assert (m.logical, m.allowed, m.workers, m.cores) == (8, (0, 1, 4), 3, (0, 1, 4))

    def test_cpus_that_are_not_online_are_not_allowed(self, tree):
        m = tree.cpus("0-1,3", "0-127").machine()
        assert (m.logical, m.allowed) == (3, (0, 1, 3))

    @pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
    def test_of_this_process(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {8, 1})
        assert machine().allowed == (1, 8)

    def test_system_without_affinity(self, monkeypatch):
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        m = machine()
        assert len(m.allowed) == m.logical >= m.workers

    def test_affinity_refused(self, monkeypatch):
        def refuse(pid):
            raise PermissionError

        monkeypatch.setattr(os, "sched_getaffinity", refuse, raising=False)
        m = machine()
        assert len(m.allowed) == m.logical


class TestCores:
    def test_one_of_every_core_first(self, tree):
        tree.smt("0,4", "1,5", "2,6", "3,7")
        assert tree.machine().siblings == ((0, 4), (1, 5), (2, 6), (3, 7))
        tree.smt("0,1", "2,3", "4,5", "6,7")
        assert tree.machine().cores == (0, 2, 4, 6, 1, 3, 5, 7)

    def test_only_as_many_as_workers(self, tree, monkeypatch):
        tree.smt("0,1", "2,3", "4,5", "6,7")
        monkeypatch.setenv("HETSCHED_NUM_THREADS", "5")
        assert tree.machine().cores == (0, 2, 4, 6, 1)

    def test_four_threads_a_core(self, tree):
        assert tree.smt("0,1,2,3", "4,5,6,7").machine().cores == (0, 4, 1, 5, 2, 6, 3, 7)

    def test_siblings_that_are_not_allowed(self, tree):
        m = tree.cpus("0-7", "1-3,6").smt("0,1", "2,3", "4,5", "6,7").machine()
        assert m.siblings == ((1,), (2, 3), (6,))
        assert m.cores == (1, 2, 6, 3)

    def test_name_before_linux_5_3(self, tree):
        assert tree.smt("0,1", "2,3", name="thread_siblings_list").machine().siblings == ((0, 1), (2, 3))

    def test_hybrid_without_caches(self, tree):
        m = tree.cpus("0-5", "0-5").smt("0,1", "2,3", "4", "5").machine()
        assert m.siblings == ((0, 1), (2, 3), (4,), (5,))
        assert m.cores == (0, 2, 4, 5, 1, 3)
        assert m.caches == ()
        assert dict(describe(m))["caches"] == "unknown"

    @pytest.mark.parametrize("text", ["", "x", "0-", "9"])
    def test_unreadable_topology_is_unknown(self, tree, text):
        tree.smt("2,3").write(f"{CPU}/cpu0/topology/core_cpus_list", text)
        m = tree.machine()
        assert m.siblings == ((2, 3),)
        assert m.cores == (0, 1, 2, 4, 5, 6, 7, 3)


class TestWorkers:
    def test_least_of_the_three(self):
        def workers(allowed, quota, limit):
            return Machine("", 8, tuple(range(allowed)), quota, "", (), (), limit, "").workers

        assert workers(8, None, None) == 8
        assert workers(8, 3.0, None) == 3
        assert workers(8, 3.99, 6) == 3
        assert workers(8, 2.9999999999999996, None) == 3  # 3 cpus, up to rounding
        assert workers(8, 6.0, 2) == 2
        assert workers(4, 6.0, 5) == 4
        assert workers(8, 0.25, 4) == 1


class TestThreadLimit:
    def limit(self, tree: Tree, monkeypatch, **variables: str) -> tuple[int | None, str]:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        m = tree.machine()
        return m.thread_limit, m.thread_limit_source

    def test_none(self, tree, monkeypatch):
        assert self.limit(tree, monkeypatch) == (None, "")

    def test_own_variable_comes_first(self, tree, monkeypatch):
        found = self.limit(tree, monkeypatch, HETSCHED_NUM_THREADS=" 6 ", OMP_NUM_THREADS="2")
        assert found == (6, "HETSCHED_NUM_THREADS")

    @pytest.mark.parametrize(("text", "limit"), [("3", 3), ("4,2", 4), (" 2 , 1", 2)])
    def test_openmp(self, tree, monkeypatch, text, limit):
        assert self.limit(tree, monkeypatch, OMP_NUM_THREADS=text) == (limit, "OMP_NUM_THREADS")

    @pytest.mark.parametrize("text", ["", "0", "-2", "four", "2.5", "4_0", "0x4", "\u0664", "\u00b2", "9" * 5000, "4,"])
    def test_garbage_gives_way_to_the_next(self, tree, monkeypatch, text):
        found = self.limit(tree, monkeypatch, HETSCHED_NUM_THREADS=text, OMP_NUM_THREADS="3")
        assert found == (3, "OMP_NUM_THREADS")

    @pytest.mark.parametrize("text", ["", ",4", "0,4", "-1", "many", "\u00b2"])
    def test_garbage_is_ignored(self, tree, monkeypatch, text):
        assert self.limit(tree, monkeypatch, OMP_NUM_THREADS=text) == (None, "")
        assert tree.machine().workers == 8


class TestCaches:
    def test_of_the_first_allowed_cpu(self, tree):
        tree.cpus("0-7", "2-3")
        tree.cache(0, 0, "1", "Data", "32K", "0")
        tree.cache(2, 0, "1", "Data", "48K", "2-3").cache(2, 1, "1", "Instruction", "64K", "2-3")
        tree.cache(2, 2, "2", "Unified", "2048K", "2-3").cache(2, 3, "3", "Unified", "491520K", "0-7")
        m = tree.machine()
        assert m.caches == (
            Cache(1, "data", 48 * 1024, (2, 3)),
            Cache(1, "instruction", 64 * 1024, (2, 3)),
            Cache(2, "unified", 2 * 1024**2, (2, 3)),
            Cache(3, "unified", 480 * 1024**2, tuple(range(8))),
        )
        assert dict(describe(m))["caches"] == "L1d 48 KiB, L2 2 MiB (per core), L3 480 MiB shared by 8"

    def test_level_2_of_a_cluster(self, tree):
        tree.cache(0, 0, "1", "Data", "32K", "0").cache(0, 1, "2", "Unified", "1280K", "0-3")
        assert dict(describe(tree.machine()))["caches"] == "L1d 32 KiB (per core), L2 1.25 MiB shared by 4"

    def test_unknown_sharing(self, tree):
        m = tree.cache(0, 0, "1", "Data", "32K", "").machine()
        assert m.caches == (Cache(1, "data", 32768, ()),)
        assert dict(describe(m))["caches"] == "L1d 32 KiB"

    @pytest.mark.parametrize(
        ("level", "kind", "size"), [("", "Data", "32K"), ("1", "Odd", "32K"), ("1", "Data", ""), ("1", "Data", "0K")]
    )
    def test_incomplete_one_is_left_out(self, tree, level, kind, size):
        tree.cache(0, 0, level, kind, size, "0").cache(0, 1, "2", "Unified", "512K", "0")
        assert tree.machine().caches == (Cache(2, "unified", 512 * 1024, (0,)),)


class TestMissingFiles:
    def test_nothing_at_all(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 6)
        m = machine(str(tmp_path))
        assert m == Machine("", 6, tuple(range(6)), None, "", (), (), None, "")
        assert (m.workers, m.cores) == (6, tuple(range(6)))
        assert dict(describe(m)) == {
            "processor": "unknown",
            "cores": "6 logical, allowed 0-5, SMT groups: unknown",
            "caches": "unknown",
            "affinity": "all 6 cpus",
            "quota": "none found",
            "thread limit": "none",
            "workers": "6 (cpus 0-5)",
        }

    def test_cpu_count_unknown(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        m = machine(str(tmp_path))
        assert (m.logical, m.allowed, m.workers, m.cores) == (1, (0,), 1, (0,))

    @pytest.mark.parametrize(
        "mounts",
        ["", "garbage", "1 2 3 - cgroup2 x rw", "1 2 0:3 / /m rw - cgroup", "1 2 0:3 / /m rw - tmpfs tmpfs rw,cpu"],
    )
    def test_no_cgroup_mount(self, tree, mounts):
        tree.cgroup("0::/a\n1:cpu:/a", mounts).write("sys/fs/cgroup/a/cpu.max", "100000 100000")
        tree.write("m/a/cpu.max", "100000 100000").v1_quota("m/a", 100000)
        assert quota(tree) == (None, "")

    @pytest.mark.parametrize("groups", ["", "garbage", "0", "::", "1:cpuset:/a", "x::/a"])
    def test_no_cgroup(self, tree, groups):
        tree.cgroup(groups, f"{V2_MOUNT}\n{V1_MOUNT}").write("sys/fs/cgroup/a/cpu.max", "100000 100000")
        tree.v1_quota("sys/fs/cgroup/cpu,cpuacct/a", 100000)
        assert quota(tree) == (None, "")

    def test_directory_where_a_file_was_expected(self, tree):
        tree.cgroup("0::/a", V2_MOUNT)
        (tree.root / "sys/fs/cgroup/a/cpu.max").mkdir(parents=True)
        assert quota(tree) == (None, "")


def test_describe(tree, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    tree.cpus("0-7", "0-3,6").smt("0,1", "2,3", "6,7")
    tree.write("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 167\nmodel name\t: A: B 9000\n\nmodel name\t: Other")
    tree.cgroup("0::/a/b", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "350000 100000")
    assert describe(tree.machine()) == [
        ("processor", "A: B 9000"),
        ("cores", "8 logical, allowed 0-3,6, SMT groups: 2 of 2, 1 of 1"),
        ("caches", "unknown"),
        ("affinity", "5 of 8 cpus"),
        ("quota", "3.5 cpus (cgroup v2 /a cpu.max)"),
        ("thread limit", "4 (OMP_NUM_THREADS)"),
        ("workers", "3 (cpus 0,2,6)"),
    ]


def test_this_machine():
    m = machine()
    assert 1 <= m.workers <= len(m.allowed)
    assert len(m.cores) == len(set(m.cores)) == m.workers
    assert set(m.cores) <= set(m.allowed)
    assert set().union(*m.siblings) <= set(m.allowed)
