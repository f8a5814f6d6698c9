"""hetsched.topology of recorded trees: odd machines, old kernels, broken copies, and hwloc's
collection where it is at hand.

The collection is the folder tests/hwloc/linux of the repository open-mpi/hwloc. With HWLOC_TREES
naming that folder, and lstopo installed, both read each tree: `HWLOC_TREES=hwloc/tests/hwloc/linux
pytest tests/machine/test_recorded.py -k lstopo`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import CPU, Tree, members

from hetsched import Topology, topology
from hetsched.machine.linux import cpu_mask

NODE = "sys/devices/system/node"


@pytest.fixture(autouse=True)
def _another_machine(monkeypatch):
    """What this machine says of itself must not be asked for."""
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delattr(os, "cpu_count")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def read(tree: Tree) -> Topology:
    return topology(str(tree))


def counts(t: Topology) -> tuple[int | None, ...]:
    return (
        t.cpus,
        t.cores,
        t.packages,
        t.nodes,
        len([cache for cache in t.caches if cache.level == 3]),
    )


def mask(cpus: str, words: int = 1) -> str:
    """As the kernel writes it: words of 32 bits, the highest first."""
    digits = f"{sum(1 << cpu for cpu in members(cpus)):0{8 * words}x}"
    return ",".join(digits[i : i + 8] for i in range(0, len(digits), 8))


def threads_of_two(tree: Tree, last: int = 7) -> Tree:
    """Cpus 0 to last, two to a core, one package, one node, one L3, in lists."""
    whole = f"0-{last}"
    tree.write(f"{CPU}/online", whole).smt(*(f"{i}-{i + 1}" for i in range(0, last, 2)))
    tree.each("topology/physical_package_id", **{f"c0_{last}": 0}).node(whole)
    return tree.cache(f"3 Unified 8192K {whole}")


def change(tree: Tree, edit: Callable[[bytes], bytes]) -> Tree:
    for file in tree.root.rglob("*"):
        if file.is_file():
            file.write_bytes(edit(file.read_bytes()))
    return tree


def with_masks(tree: Tree, words: int, names: dict[str, str]) -> Tree:
    """In the place of lists."""
    for file in list(tree.root.rglob("*")):
        if file.name in names:
            file.with_name(names[file.name]).write_text(
                mask(file.read_text().strip(), words) + "\n"
            )
            file.unlink()
    return tree


MASKS = {"core_cpus_list": "core_cpus", "shared_cpu_list": "shared_cpu_map", "cpulist": "cpumap"}
OLD_MASKS = MASKS | {"core_cpus_list": "thread_siblings"}


class TestText:
    """How lists are written."""

    @pytest.mark.parametrize("end", [b"", b"\n", b"\0", b"\n\0", b"\0\n\0\0", b"\r\n", b" \n"])
    def test_ends(self, tree, end):
        t = read(change(threads_of_two(tree), lambda text: text.strip() + end))
        assert counts(t) == (8, 4, 1, 1, 1)
        assert t.caches[0].bytes == 8 * 2**20

    @pytest.mark.parametrize("names", [MASKS, OLD_MASKS])
    @pytest.mark.parametrize("words", [2, 3, 32])
    def test_masks(self, tree, names, words):
        t = read(with_masks(threads_of_two(tree, 39), words, names))
        assert counts(t) == (40, 20, 1, 1, 1)
        assert t.logical[33].siblings == (32, 33)
        assert t.caches[0].shared_by == tuple(range(40))

    def test_masks_that_end_in_nul(self, tree):
        t = read(change(with_masks(threads_of_two(tree), 1, OLD_MASKS), lambda text: text + b"\0"))
        assert counts(t) == (8, 4, 1, 1, 1)

    def test_a_list_without_the_cpu_gives_way_to_the_mask(self, tree):
        """As in trees that were made of the files of one cpu."""
        threads_of_two(tree, 3).cache("2 Unified 512K 0-1|2-3")
        for cpu in range(4):
            own = "0-1" if cpu < 2 else "2-3"
            tree.write(f"{CPU}/cpu{cpu}/topology/core_cpus_list", "0-1").write(
                f"{CPU}/cpu{cpu}/topology/core_cpus", mask(own)
            )
            tree.write(f"{CPU}/cpu{cpu}/cache/index1/shared_cpu_list", "0-1")
            tree.write(f"{CPU}/cpu{cpu}/cache/index1/shared_cpu_map", mask(own))
        t = read(tree)
        assert t.cores == 2
        assert [cache.shared_by for cache in t.caches if cache.level == 2] == [(0, 1), (2, 3)]


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(10, 40))
def test_masks_round_trip(cpus, words):
    assert cpu_mask(mask(",".join(map(str, cpus)), words)) == tuple(sorted(cpus))


@pytest.mark.parametrize(
    "text",
    ["", "g", "0x3", "123456789", "ff,", ",ff", "ff,,ff", "-1", "f f", "ff,fffffffff", "0-3"],
)
def test_what_is_no_mask(text):
    assert cpu_mask(text) is None


def test_masks_of_no_cpu():
    assert cpu_mask("00000000,00000000\n") == ()


class TestOnline:
    def test_folders(self, tree):
        threads_of_two(tree)
        (tree.root / CPU / "online").unlink()
        for other in ("cpufreq", "cpuidle", "cpu", "cpux", "cpu-1"):
            (tree.root / CPU / other).mkdir()
        assert counts(read(tree)) == (8, 4, 1, 1, 1)

    def test_folders_of_cpus_that_are_offline(self, tree):
        threads_of_two(tree)
        (tree.root / CPU / "online").unlink()
        tree.each("online", c1_2=1, c3=0, c6_7=0)
        t = read(tree)
        assert t.allowed == (0, 1, 2, 4, 5)
        assert (t.online, t.cores, t.logical[2].siblings) == (5, 3, (2,))

    def test_a_folder_without_topology(self, tree):
        tree.each("online", c0_1=1)
        t = read(tree)
        assert (t.allowed, t.cores) == ((0, 1), None)

    def test_offline_cpus_that_lists_still_have(self, tree):
        """As lists were recorded before the cpus went."""
        t = read(threads_of_two(tree).write(f"{CPU}/online", "0-2,5-7"))
        assert counts(t) == (6, 4, 1, 1, 1)
        assert [cpu.siblings for cpu in t.logical] == [(0, 1), (0, 1), (2,), (5,), (6, 7), (6, 7)]
        assert t.caches[0].shared_by == (0, 1, 2, 5, 6, 7)

    def test_holes(self, tree):
        """Of a machine whose boards were taken out."""
        tree.write(f"{CPU}/online", "0-1,64-65,640-641").smt("0-1", "64-65", "640-641").node(
            "0-1", "64-65,640-641"
        )
        t = read(tree)
        assert (t.cores, t.nodes, t.worth, t.places) == (3, 2, 3, (0, 64, 640, 1, 65, 641))

    @pytest.mark.parametrize(
        "text",
        [
            # x86
            "processor\t: 0\nmodel name\t: A\n\nprocessor\t: 1\nmodel name\t: A\n\nprocessor\t: 5",
            "Processor\t: ARMv7 rev 2\nprocessor\t: 0\nprocessor\t: 1\nprocessor\t: 5",
            (
                "vendor_id       : IBM/S390\nprocessor 0: version = FF\nprocessor 1: version ="
                " FF\nprocessor 5: version = FF"
            ),
        ],
    )
    def test_cpuinfo_alone(self, tree, text):
        t = read(tree.write("proc/cpuinfo", text))
        assert (t.allowed, t.cores) == ((0, 1, 5), None)

    def test_smt_that_is_off(self, tree):
        tree.write(f"{CPU}/online", "0,2,4,6").smt("0", "2", "4", "6").write(
            f"{CPU}/smt/control", "off"
        )
        assert (read(tree).cores, read(tree).worth) == (4, 4)


class TestPackages:
    def test_sockets_of_books(self, tree):
        """An s390: the same numbers in each book."""
        tree.write(f"{CPU}/online", "0-7").smt(*"01234567", name="thread_siblings_list")
        for low in range(0, 8, 2):
            for cpu in (low, low + 1):
                tree.write(f"{CPU}/cpu{cpu}/topology/core_siblings", mask(f"{low}-{low + 1}", 2))
                tree.write(f"{CPU}/cpu{cpu}/topology/physical_package_id", str(low // 2 % 2))
                tree.write(f"{CPU}/cpu{cpu}/topology/book_id", str(low // 4))
        t = read(tree)
        assert (t.cores, t.packages) == (8, 4)
        assert [cpu.package for cpu in t.logical] == [0, 0, 2, 2, 4, 4, 6, 6]

    def test_packages_without_numbers(self, tree):
        """POWER: -1, and eight threads to a core."""
        tree.write(f"{CPU}/online", "0-31").smt(
            "0-7", "8-15", "16-23", "24-31", name="thread_siblings_list"
        )
        for cpu in range(32):
            own = "0-15" if cpu < 16 else "16-31"
            tree.write(f"{CPU}/cpu{cpu}/topology/core_siblings_list", own)
            tree.write(f"{CPU}/cpu{cpu}/topology/physical_package_id", "-1")
        t = read(tree)
        assert (t.cores, t.packages, t.worth) == (4, 2, 4)
        assert t.places[:5] == (0, 8, 16, 24, 1)

    def test_their_own_numbers(self, tree):
        threads_of_two(tree, 3).each("topology/physical_package_id", c0_1=3, c2_3=36)
        for cpu in range(4):
            tree.write(f"{CPU}/cpu{cpu}/topology/package_cpus", mask("0-1" if cpu < 2 else "2-3"))
        assert [cpu.package for cpu in read(tree).logical] == [3, 3, 36, 36]

    def test_not_known_of_all(self, tree):
        threads_of_two(tree, 3).each("topology/physical_package_id", c0_1=0, c2_3=-1)
        tree.write(f"{CPU}/cpu0/topology/package_cpus_list", "0-1")
        assert [cpu.package for cpu in read(tree).logical] == [0, 0, None, None]


class TestNodes:
    @pytest.fixture
    def nodes(self, tree):
        return threads_of_two(tree).node("0-3", "4-7")

    def of(self, tree: Tree) -> list[int | None]:
        return [cpu.node for cpu in read(tree).logical]

    def test_without_cpus(self, nodes):
        """Of memory alone: persistent, of a GPU, MCDRAM."""
        nodes.write(f"{NODE}/online", "0-3,8").write(f"{NODE}/node2/cpulist", "").write(
            f"{NODE}/node3/cpumap", mask("0")[:-1] + "0"
        )
        nodes.write(f"{NODE}/node8/distance", "10")
        assert (self.of(nodes), read(nodes).nodes) == ([0] * 4 + [1] * 4, 2)

    def test_listed_but_not_there(self, nodes):
        nodes.write(f"{NODE}/online", "0-1,5-1048575")
        assert read(nodes).nodes == 2
        shutil.rmtree(nodes.root / NODE / "node1")
        assert (self.of(nodes), read(nodes).nodes) == ([0] * 4 + [None] * 4, None)

    def test_there_but_not_listed(self, nodes):
        assert self.of(nodes.write(f"{NODE}/online", "1")) == [None] * 4 + [1] * 4

    def test_folders(self, nodes):
        (nodes.root / NODE / "online").unlink()
        assert self.of(nodes) == [0] * 4 + [1] * 4

    def test_within_each_other(self, nodes):
        """The smallest; of equal ones the first."""
        nodes.node("0-7", "4-7", "4-7", "0-7")
        assert self.of(nodes) == [0] * 4 + [1] * 4


class TestMachines:
    def test_amd_with_an_l3_to_each_complex(self, tree):
        tree.write(f"{CPU}/online", "0-15").smt(*(f"{i},{i + 8}" for i in range(8))).node("0-15")
        tree.cache("3 Unified 16384K 0-3,8-11|4-7,12-15")
        t = read(with_masks(tree, 4, MASKS))
        assert counts(t) == (16, 8, None, 1, 2)
        assert [domain.cpus for domain in t.domains] == [
            (0, 1, 2, 3, 8, 9, 10, 11),
            (4, 5, 6, 7, 12, 13, 14, 15),
        ]

    def test_knights_landing(self, tree):
        """Four threads to a core, an L2 to each two cores, a node of MCDRAM without cpus."""
        tree.write(f"{CPU}/online", "0-15").smt(
            "0,4,8,12", "1,5,9,13", "2,6,10,14", "3,7,11,15"
        ).node("0-15", "")
        tree.cache("2 Unified 1024K 0-1,4-5,8-9,12-13|2-3,6-7,10-11,14-15")
        t = read(tree)
        assert (t.cores, t.nodes, t.worth, t.places[:5]) == (4, 1, 4, (0, 1, 2, 3, 4))
        assert len(t.domains) == 2

    def test_ia64_with_caches_of_no_cpu(self, tree):
        """The masks are empty: the cache is the core's."""
        threads_of_two(tree, 3)
        for cpu in range(4):
            index = tree.root / f"{CPU}/cpu{cpu}/cache/index0"
            (index / "shared_cpu_list").unlink()
            (index / "shared_cpu_map").write_text(mask("0")[:-1] + "0\n")
        assert [cache.shared_by for cache in read(tree).caches] == [(0, 1), (2, 3)]

    def test_caches_without_a_type(self, tree):
        threads_of_two(tree, 3)
        for cpu in range(4):
            (tree.root / f"{CPU}/cpu{cpu}/cache/index0/type").unlink()
        assert [cache.type for cache in read(tree).caches] == ["unified"]

    def test_intel_hybrid(self, tree):
        tree.write(f"{CPU}/online", "0-7").smt("0-1", "2-3", *"4567")
        tree.write("sys/devices/cpu_core/cpus", "0-3").write("sys/devices/cpu_atom/cpus", "4-7")
        t = read(change(with_masks(tree, 1, OLD_MASKS), lambda text: text + b"\0"))
        assert t.types == {"performance": 2, "efficiency": 4}

    def test_arm_in_clusters(self, tree):
        tree.write(f"{CPU}/online", "0-5").smt(*"012345").each("cpu_capacity", c0_3=430, c4_5=1024)
        tree.each("topology/cluster_cpus_list", c0_3="0-3", c4_5="4-5").each(
            "topology/physical_package_id", c0_5=-1
        )
        tree.cache("2 Unified 512K 0-3").cache("2 Unified 1024K 4-5")
        t = read(with_masks(tree, 1, MASKS))
        assert (t.cores, t.packages, t.types) == (6, None, {"performance": 2, "efficiency": 4})
        assert [domain.cpus for domain in t.domains] == [(4, 5), (0, 1, 2, 3)]


class TestAllowed:
    """Trees with /proc/mounts, which hwloc-gather-topology records, in the place of mountinfo."""

    @pytest.mark.parametrize(
        ("mount", "file", "source"),
        [
            ("none /dev/cpuset cpuset rw 0 0", "dev/cpuset/job/cpus", "cgroup v1 /job cpus"),
            (
                "none /dev/cpuset cgroup rw,cpuset,noprefix 0 0",
                "dev/cpuset/job/cpus",
                "cgroup v1 /job cpus",
            ),
            (
                "none /dev/c\\040s cgroup rw,cpuset 0 0",
                "dev/c s/job/cpuset.cpus",
                "cgroup v1 /job cpuset.cpus",
            ),
            (
                "none /sys/fs/cgroup cgroup2 rw 0 0",
                "sys/fs/cgroup/job/cpuset.cpus.effective",
                "cgroup v2 /job cpuset.cpus.effective",
            ),
        ],
    )
    @pytest.mark.parametrize("named", ["proc/self/cpuset", "proc/self/cgroup"])
    def test_cpusets(self, tree, mount, file, source, named):
        threads_of_two(tree).write("proc/mounts", f"proc /proc proc rw 0 0\nshort\n{mount}").write(
            file, "2-5\0"
        )
        tree.write("proc/self/cpuset", "/job")
        # kernels that mount cpusets so have no such file
        if named == "proc/self/cgroup" and " cpuset " not in mount:
            tree.write("proc/self/cpuset", "").write(named, "3:cpuset:/job\n0::/job")
        t = read(tree)
        assert (t.allowed, t.online, t.cpuset_source, t.cores) == ((2, 3, 4, 5), 8, source, 2)

    def test_of_the_nearest_that_says(self, tree):
        threads_of_two(tree).write("proc/mounts", "none /dev/cpuset cpuset rw 0 0").write(
            "proc/self/cpuset", "/a/b"
        )
        assert read(tree.write("dev/cpuset/a/cpus", "0-3")).allowed == (0, 1, 2, 3)
        assert read(tree.write("dev/cpuset/a/b/cpus", "1")).allowed == (1,)

    def test_mounts_outside_the_tree(self, tree, tmp_path):
        """The files of the machine that asks stay out."""
        inner = (
            threads_of_two(Tree(tmp_path / "inner"))
            .write("proc/mounts", "none /../cg cpuset rw 0 0")
            .write("proc/self/cpuset", "/")
        )
        tree.write("cg/cpus", "0-3")
        assert read(inner).cpus == 8

    def test_quota(self, tree):
        threads_of_two(tree).write("proc/mounts", "none /cg cgroup rw,cpu 0 0").write(
            "proc/self/cgroup", "1:cpu:/a"
        )
        assert read(tree.v1_quota("cg/a", 150000)).quota == 1.5

    def test_mask_of_the_process(self, tree):
        threads_of_two(tree).write(
            "proc/self/status", f"Name:\tx\nCpus_allowed:\t{mask('2-3,40', 2)}"
        )
        t = read(tree)
        assert t.allowed == (2, 3)
        assert "affinity" not in t.unknown


def pipe(file: Path) -> None:
    os.mkfifo(file)


def loop(file: Path) -> None:
    file.symlink_to(file.name)


def large(file: Path) -> None:
    file.touch()
    os.truncate(file, 2**32)


class TestRefused:
    """With a name of the directory and of the file."""

    def refuse(self, tree: Tree, file: str, words: str = "") -> None:
        with pytest.raises((ValueError, OSError)) as refused:
            read(tree)
        message = str(refused.value)
        assert str(tree) in message
        assert file in message
        assert words in message

    def test_empty_folder(self, tree):
        self.refuse(tree, f"{CPU}/online", "must have the tree of a recorded machine")

    def test_folder_of_other_things(self, tree):
        self.refuse(
            tree.write("sys/README", "0-7")
            .write("proc/cpuinfo", "bogomips: 3")
            .write("online", "0-7"),
            "proc/cpuinfo",
        )

    @pytest.mark.parametrize(
        "text",
        [
            "0-4294967295",
            "-1",
            "0--3",
            "7-0",
            "x",
            "0-7;",
            "1,,2",
            "0-3:2",
            "0x3",
            "0-\u0663",
            "0-9" * 10**5,
            "0-1048576",
            "0\x001",
        ],
    )
    @pytest.mark.parametrize(
        "file",
        [
            f"{CPU}/online",
            f"{CPU}/cpu2/topology/core_cpus_list",
            f"{NODE}/online",
            f"{NODE}/node0/cpulist",
        ],
    )
    def test_lists(self, tree, file, text):
        self.refuse(threads_of_two(tree).write(file, text), file, "a list such as")

    @pytest.mark.parametrize(
        "file",
        [
            f"{CPU}/cpu1/topology/core_cpus",
            f"{CPU}/cpu0/cache/index0/shared_cpu_map",
            f"{NODE}/node0/cpumap",
        ],
    )
    @pytest.mark.parametrize(
        "text", ["0x3", "f" * 9, ",".join(["ffffffff"] * 2**15 + ["1"]), "-1", "0-7"]
    )
    def test_masks(self, tree, file, text):
        with_masks(threads_of_two(tree), 1, MASKS)
        self.refuse(tree.write(file, text), file, "words of 32 bits")

    @pytest.mark.parametrize(
        "file",
        [
            "sys/devices/cpu_core/cpus",
            "sys/devices/cpu_atom/cpus",
            f"{CPU}/cpu0/cache/index0/shared_cpu_list",
        ],
    )
    def test_other_lists(self, tree, file):
        self.refuse(threads_of_two(tree).write(file, "junk"), file)

    @pytest.mark.parametrize(
        "line", ["Cpus_allowed_list:\tall", "Cpus_allowed:\tx", "Cpus_allowed_list:\t3-1"]
    )
    def test_status(self, tree, line):
        self.refuse(threads_of_two(tree).write("proc/self/status", line), "proc/self/status")

    def test_own_file_of_a_cpu(self, tree):
        threads_of_two(tree).write(f"{CPU}/cpu3/online", "yes")
        (tree.root / CPU / "online").unlink()
        self.refuse(tree, f"{CPU}/cpu3/online", "must be 0 or 1")

    def test_too_many_cpus(self, tree):
        self.refuse(
            tree.write(f"{CPU}/online", "0-65536"),
            f"{CPU}/online",
            "at most 65536 cpus, it lists 65537",
        )

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
    @pytest.mark.parametrize("make", [pipe, loop, large])
    @pytest.mark.parametrize(
        "file",
        [
            f"{CPU}/online",
            f"{CPU}/cpu1/topology/core_cpus_list",
            f"{NODE}/node0/cpulist",
            "proc/cpuinfo",
            "proc/mounts",
            "sysctl.txt",
        ],
    )
    def test_what_is_no_file(self, tree, make, file):
        path = threads_of_two(tree).write("proc/self/cgroup", "0::/a").root / file
        path.unlink(missing_ok=True)
        make(path)
        self.refuse(tree, file)

    @pytest.mark.parametrize(
        "text",
        [
            "hw.ncpu: 8",
            "hw.logicalcpu: 0",
            "hw.logicalcpu: 99999999",
            "hw.nperflevels: 123456789012",
        ],
    )
    def test_sysctl_without_a_number_of_cpus(self, tree, text):
        self.refuse(tree.write("sysctl.txt", text), "sysctl.txt", "hw.logicalcpu from 1 to 65536")


# ---- hwloc's collection --------------------------------------------------------------------------

LSTOPO = shutil.which("lstopo-no-graphics") or shutil.which("lstopo") or ""
COLLECTION = sorted(Path(os.environ.get("HWLOC_TREES", "/nowhere")).glob("*.tar.*"))

#: Ours and lstopo's, where they differ, and why. Nodes are None where the node of some cpu is not
#: known.
_NO_NODES = "lstopo makes up a node where the kernel has none"
_MEMORY = "lstopo counts nodes of memory alone, to which it gives the cpus that are near"
_DISALLOWED = "lstopo leaves out nodes whose memory the cpuset does not allow"
EXPLAINED: dict[str, tuple[dict[str, tuple[int | None, int]], str]] = {
    "16amd64-4n4c-cgroup-distance-merge": ({"nodes": (1, 0)}, _DISALLOWED),
    "16amd64-8n2c-cpusets": ({"nodes": (6, 3)}, _DISALLOWED),
    "20s390-2g6s4c": ({"nodes": (None, 1)}, _NO_NODES),
    "2arm-2c": ({"nodes": (None, 1)}, _NO_NODES),
    "2i386-2c-nohugepage": ({"nodes": (None, 1)}, _NO_NODES),
    "2i386-2t-hugepagesizecount": ({"nodes": (None, 1)}, _NO_NODES),
    "2ps3-2t": ({"packages": (None, 0), "nodes": (None, 1)}, _NO_NODES),
    "40intel64-4n10c+pci-conflicts": (
        {"packages": (4, 3), "L3": (4, 3)},
        "lstopo drops a package that conflicts with PCI's locality",
    ),
    "4fake-4gr1nu1pu": ({"cores": (None, 0), "nodes": (2, 1)}, _DISALLOWED),
    "64amd64-4s2n4ca2co": (
        {"cores": (32, 64)},
        "lstopo counts a compute unit of AMD's family 15h as two cores; they share one FPU",
    ),
    "fakeheterocpunuma": ({"nodes": (None, 4)}, "four cpus are in no node"),
    "fakeheteromemtiers": ({"nodes": (3, 7)}, _MEMORY),
    "fakememinitiators-1np2c+1npp+gi": ({"nodes": (4, 6)}, _MEMORY),
    "nvidiagpunumanodes": (
        {"cpus": (16, 32), "cores": (4, 8), "packages": (1, 2), "nodes": (1, 2), "L3": (2, 4)},
        "lstopo reads cpuset.cpus, which has more than cpuset.effective_cpus",
    ),
    "offline-cpu0-node0": ({"nodes": (None, 1)}, "the node of the even cpus is offline"),
}


@pytest.mark.skipif(
    not COLLECTION, reason="HWLOC_TREES names no folder with hwloc's recorded trees"
)
@pytest.mark.skipif(not LSTOPO, reason="hwloc's lstopo is not installed")
@pytest.mark.parametrize("archive", COLLECTION, ids=lambda path: path.name.partition(".")[0])
def test_as_lstopo_reads_it(archive, tmp_path):
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    written = subprocess.run(
        [LSTOPO, "--input", str(root), "--if", "fsroot", "--of", "xml"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    objects = list(ET.fromstring(written.stdout).iter("object"))

    def count(kind: str) -> int:
        return sum(
            int(one.get("cpuset", "").replace(",", "").replace("0x", "") or "0", 16) > 0
            for one in objects
            if one.get("type") == kind
        )

    kinds = ("PU", "Core", "Package", "NUMANode", "L3Cache")
    theirs = dict(zip(("cpus", "cores", "packages", "nodes", "L3"), map(count, kinds), strict=True))
    t = topology(root)
    ours = dict(zip(theirs, counts(t), strict=True))
    differences = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert differences == EXPLAINED.get(archive.name.partition(".tar")[0], ({}, ""))[0]
    several = len(list(ET.fromstring(written.stdout).iter("cpukind"))) > 1
    assert (len(t.types) == 2) == several
