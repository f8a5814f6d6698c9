"""hetsched.topology of hwloc's XML: files that lstopo wrote of recorded trees, lstopo itself where
it is installed, bad files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import Tree, intel_hybrid, members, rk3588, two_sockets

from hetsched import Cache, Cpu, Topology, topology
from hetsched.machine import hwloc as _hwloc
from hetsched.machine import linux as _linux
from hetsched.machine.hwloc import _bitmap, _members, facts

FILES = Path(__file__).with_name("lstopo")
LSTOPO = shutil.which("lstopo-no-graphics") or shutil.which("lstopo") or ""
needs_lstopo = pytest.mark.skipif(not LSTOPO, reason="hwloc's lstopo is not installed")


@pytest.fixture(autouse=True)
def _no_thread_limit(monkeypatch):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def text_of(name: str) -> str:
    return (FILES / f"{name}.xml").read_text()


def read(tmp_path: Path, text: str | bytes) -> Topology:
    file = tmp_path / "node.xml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return topology(file)


def write_masks(tree: Tree) -> Tree:
    """The files that hwloc reads: masks beside the lists, the cpus of each package, the memory of
    each node."""
    packages: dict[str, list[Path]] = {}
    lists = {
        "core_cpus_list": "core_cpus",
        "shared_cpu_list": "shared_cpu_map",
        "cpulist": "cpumap",
    }
    for file in [file for file in tree.root.rglob("*") if file.is_file()]:
        if file.name in lists:
            file.with_name(lists[file.name]).write_text(
                f"{sum(1 << cpu for cpu in members(file.read_text())):08x}\n"
            )
        elif file.name == "physical_package_id":
            packages.setdefault(file.read_text(), []).append(file)
    for files in packages.values():
        mask = sum(1 << int(file.parent.parent.name[3:]) for file in files)
        for file in files:
            file.with_name("package_cpus").write_text(f"{mask:08x}\n")
    nodes = list(tree.root.glob("sys/devices/system/node/node*"))
    for node in nodes:
        (node / "meminfo").write_text(
            f"Node {node.name[4:]} MemTotal: {16777216 // len(nodes)} kB\n"
        )
    return tree


def same(ours: Topology, theirs: Topology) -> None:
    """What both say of a machine is the same."""
    for name in ("logical", "online", "caches", "cores", "packages", "types", "worth", "places"):
        assert getattr(theirs, name) == getattr(ours, name), name


RECORDED = {"intel_hybrid": intel_hybrid, "rk3588": rk3588, "two_sockets": two_sockets}


class TestRecorded:
    """Files of lstopo 2.9 of the trees in trees.py; the CoreType of the hybrid was added, as later
    versions write it."""

    @pytest.mark.parametrize("name", RECORDED)
    def test_as_linux_says(self, name, tmp_path):
        tree, file = topology(str(RECORDED[name](Tree(tmp_path)))), topology(FILES / f"{name}.xml")
        # hwloc makes one node where the kernel tells of none, and does not know the device tree
        if name == "rk3588":
            tree = replace(
                tree, logical=tuple(replace(cpu, node=0) for cpu in tree.logical), model=None
            )
        same(tree, file)
        assert (file.model, file.memory) == (tree.model, tree.memory)
        assert (file.quota, file.load, file.cpuset_source) == (None, None, "")
        assert {"affinity", "quota", "load"} <= set(file.unknown)
        assert not {"type", "online", "core", "package", "node", "max frequency", "caches"} & set(
            file.unknown
        )
        assert json.loads(json.dumps(file.to_dict()))["worth"] == tree.worth

    def test_intel_hybrid(self):
        t = topology(str(FILES / "intel_hybrid.xml"))
        assert t.logical[3] == Cpu(
            3, 2, 0, 0, (2, 3), "performance", None, 4_700_000_000, 2_100_000_000
        )
        assert (t.type_source, t.places, t.memory) == (
            "hwloc CoreType",
            (0, 2, 4, 5, 6, 7, 1, 3),
            16 * 2**30,
        )
        assert t.unknown == ("affinity", "quota", "load")
        assert Cache(1, "instruction", 64 * 1024, 64, (7,)) in t.caches
        assert "16 GiB, 1 package, 1 NUMA node" in str(t)

    def test_rk3588(self):
        t = topology(FILES / "rk3588.xml")
        assert (t.type_source, t.types) == (
            "hwloc LinuxCapacity",
            {"performance": 4, "efficiency": 4},
        )
        assert t.logical[6].capacity == 1024
        assert Cache(3, "unified", None, 64, tuple(range(8))) in t.caches
        assert "cache sizes" in t.unknown

    def test_synthetic(self):
        """lstopo -i "pack:2 [numa] core:3 pu:2": no caches, no kinds."""
        t = topology(FILES / "synthetic.xml")
        assert (t.cpus, t.cores, t.packages, t.nodes, t.worth, t.caches) == (12, 6, 2, 2, 6, ())
        assert (
            [cpu.node for cpu in t.logical]
            == [cpu.package for cpu in t.logical]
            == [0] * 6 + [1] * 6
        )
        assert (t.types, t.memory, t.logical[7].siblings) == ({"unknown": 6}, 2 * 2**30, (6, 7))
        assert {"type", "caches", "model", "max frequency"} <= set(t.unknown)


class TestVariants:
    def test_version_3(self, tmp_path):
        t = read(tmp_path, text_of("intel_hybrid").replace('version="2.0"', 'version="3.0"'))
        assert t == topology(FILES / "intel_hybrid.xml")

    def test_allowed(self, tmp_path):
        t = read(
            tmp_path,
            text_of("two_sockets").replace(
                'allowed_cpuset="0x000077f7"', 'allowed_cpuset="0x00003002"'
            ),
        )
        assert (t.allowed, t.online, t.cpuset_source, t.nodes) == (
            (1, 12, 13),
            13,
            "hwloc allowed_cpuset",
            2,
        )
        assert t.logical[0].siblings == (1, 9)
        assert [cache.shared_by for cache in t.caches if cache.level == 2] == [
            (1, 9),
            (4, 12),
            (5, 13),
        ]
        text = text_of("two_sockets").replace(
            'allowed_cpuset="0x000077f7"', 'allowed_cpuset="0xf...f,0xfffffffe"'
        )
        assert read(tmp_path, text).allowed == (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14)
        text = re.sub(r' allowed_cpuset="\w*"', "", text_of("two_sockets"))
        assert read(tmp_path, text).allowed == topology(FILES / "two_sockets.xml").allowed

    def test_more_in_the_machine(self, tmp_path):
        text = text_of("two_sockets").replace(
            'complete_cpuset="0x000077f7" allowed', 'complete_cpuset="0x1,,0x0000ffff" allowed'
        )
        t = read(tmp_path, text)
        assert (t.online, t.cpus) == (17, 13)
        assert "online" in t.unknown
        text = text_of("two_sockets").replace(
            'complete_cpuset="0x000077f7" allowed', 'complete_cpuset="0xf...f" allowed'
        )
        assert read(tmp_path, text).online == 13

    def test_no_cores(self, tmp_path):
        t = read(tmp_path, text_of("synthetic").replace('"Core"', '"Group"'))
        assert (t.cpus, t.cores, t.worth) == (12, None, 12)
        assert "core" in t.unknown

    def test_windows(self, tmp_path):
        """It numbers neither packages nor cores, and ranks the kinds."""
        text = re.sub(
            r'type="(Package|Core)" os_index="\d+"', r'type="\1"', text_of("intel_hybrid")
        )
        text = re.sub(r'\n *<info name="(CoreType|Frequency.*)".*/>', "", text)
        text = text.replace(
            '<cpukind cpuset="0x000000f0"', '<cpukind cpuset="0x000000f0" forced_efficiency="0"'
        )
        ranked = text.replace(
            '<cpukind cpuset="0x0000000f"', '<cpukind cpuset="0x0000000f" forced_efficiency="1"'
        )
        t = read(tmp_path, ranked)
        assert (t.types, t.type_source, t.packages) == (
            {"performance": 2, "efficiency": 4},
            "hwloc efficiency",
            1,
        )
        assert "type" not in t.unknown
        half = read(tmp_path, text)
        assert (half.types, "type" in half.unknown) == ({"unknown": 6}, True)
        equal = read(tmp_path, ranked.replace('efficiency="1"', 'efficiency="0"'))
        assert (equal.types, "type" in equal.unknown) == ({"unknown": 6}, False)

    def test_three_ranks(self, tmp_path):
        """Only the highest is performance; where there are capacities their gaps decide instead, if
        there are any."""
        text = re.sub(r'\n *<info name="(LinuxCapacity|Frequency.*)".*/>', "", text_of("rk3588"))
        t = read(tmp_path, text)
        assert [cpu.type for cpu in t.logical] == ["efficiency"] * 6 + ["performance"] * 2
        t = read(tmp_path, text_of("rk3588").replace('"414"', '"990"').replace('"1800"', '"2200"'))
        assert (t.types, t.type_source, "type" in t.unknown) == ({"unknown": 8}, "", False)

    def test_frequencies_are_a_hint(self, tmp_path):
        text = re.sub(r'\n *<info name="CoreType".*/>', "", text_of("intel_hybrid"))
        assert read(tmp_path, text).type_source == "hwloc FrequencyMaxMHz, a hint"
        near = read(tmp_path, text.replace("3500", "4000"))
        assert (near.types, near.type_source, near.unknown) == (
            {"unknown": 6},
            "",
            ("affinity", "quota", "load"),
        )

    def test_low_power_cores(self, tmp_path):
        t = read(tmp_path, text_of("intel_hybrid").replace("IntelAtom", "IntelLowPower"))
        assert (t.types, t.type_source) == ({"performance": 2, "efficiency": 4}, "hwloc CoreType")
        t = read(tmp_path, text_of("intel_hybrid").replace("IntelAtom", "IntelCore"))
        assert t.type_source == "hwloc FrequencyMaxMHz, a hint"

    def test_nearest_node(self, tmp_path):
        """A node of a package and one of fast memory for the same cpus; one of slow memory for
        all."""
        slow = '<object type="NUMANode" os_index="0" cpuset="0x00000fff" local_memory="5"/>'
        fast = '<object type="NUMANode" os_index="7" cpuset="0x0000003f" local_memory="3"/>'
        text = text_of("synthetic").replace(
            'os_index="0" cpuset="0x0000003f"', 'os_index="2" cpuset="0x0000003f"'
        )
        assert text != text_of("synthetic")
        t = read(
            tmp_path,
            text.replace(
                '    <object type="Package"', f'{slow}{fast}    <object type="Package"', 1
            ),
        )
        assert [cpu.node for cpu in t.logical] == [2] * 6 + [1] * 6
        assert t.memory == 2 * 2**30 + 8

    def test_comments_and_devices(self, tmp_path):
        device = (
            '<object type="OSDev" name="L2Cache" osdev_type="0"><info name="Size"'
            ' value="1"/></object>'
        )
        memory_side = (
            '<object type="MemCache" cpuset="0x00000fff" cache_size="7" depth="1" cache_type="0"/>'
        )
        text = text_of("synthetic").replace(
            "  <support", f"  <!-- a < b -->{device}{memory_side}<support", 1
        )
        assert read(tmp_path, text) == topology(FILES / "synthetic.xml")

    def test_busy_is_unknown(self):
        assert "busy" in topology(FILES / "synthetic.xml", sample=0.5).unknown
        assert "busy" not in topology(FILES / "synthetic.xml").unknown


DTD = '<!DOCTYPE topology SYSTEM "hwloc2.dtd"'
PU = '<object type="PU" os_index="0" cpuset="0x1"/>'


class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "no element found"),
            ("not XML", "syntax error"),
            (b"<topology>\xff", "not well-formed"),
            ('<?xml version="1.0" encoding="none"?><topology/>', "unknown encoding"),
            ('<?xml version="1.0" encoding="big5"?><topology/>', "multi-byte encodings"),
            ("<html/>", "its root is <html>"),
            ("<info/>", "its root is <info>"),
            (f"<topology>\n{PU}</topology>", "its version is 1"),
            (f'<topology version="4.0">{PU}</topology>', "its version is 4.0"),
            ('<topology version="2.0"/>', "no PU"),
            ('<topology version="2.0"><object type="Machine" cpuset="0x1"/></topology>', "no PU"),
            (f'<topology version="2.0">{PU}{PU}</topology>', "not every PU has its own os_index"),
            (
                '<topology version="2.0"><object type="PU"/></topology>',
                "not every PU has its own os_index",
            ),
            (
                f'<topology version="2.0">{PU.replace("0", "9" * 12, 1)}</topology>',
                "not every PU has its own os_index",
            ),
            (
                f'<topology version="2.0">{PU.replace("0x1", "1-3")}</topology>',
                "'1-3' is no bitmap",
            ),
            (
                f'<topology version="2.0"><object allowed_cpuset="0x2"/>{PU}</topology>',
                "none of its cpus is allowed",
            ),
        ],
    )
    def test_told_apart(self, tmp_path, text, words):
        with pytest.raises(
            ValueError, match=rf"node\.xml must be a directory or XML .*{re.escape(words)}"
        ):
            read(tmp_path, text)

    def test_what_they_lack_is_enough(self, tmp_path):
        t = read(tmp_path, f'<topology version="2.0">{PU}</topology>')
        assert (t.logical, t.worth) == ((Cpu(0),), 1)

    @given(st.floats(0, 0.999))
    def test_cut_short(self, part):
        whole = (FILES / "two_sockets.xml").read_bytes().rstrip()
        with pytest.raises(ValueError, match=r": line \d+, column \d+$"):
            facts(whole[: int(part * len(whole))])

    @pytest.mark.parametrize(
        "inner",
        [
            '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">',
            '<!ENTITY a SYSTEM "file:///etc/passwd">',
            '<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;',
            f'<!ATTLIST object name CDATA "{"x" * 100}">',
        ],
    )
    def test_definitions_of_their_own(self, tmp_path, inner):
        text = text_of("synthetic").replace(DTD, f"{DTD} [{inner}]")
        with pytest.raises(ValueError, match="definitions of its own in its DOCTYPE"):
            read(tmp_path, text)

    @pytest.mark.parametrize(("depth", "more"), [(300, ""), (100_000, "<")])
    def test_deep(self, tmp_path, depth, more):
        """Also where it is cut short; 20 elements within each other are well."""
        group, end = '<object type="Group">', "</object>"
        read(tmp_path, f'<topology version="2.0">{PU}{group * 20}{end * 20}</topology>')
        with pytest.raises(ValueError, match="more than 256 elements within each other"):
            read(
                tmp_path,
                f'<topology version="2.0">{PU}{group * depth}{end * depth}</topology>{more}',
            )

    def test_objects_of_all_cpus(self, tmp_path):
        """What 400 KB would say is p times p cpus."""
        units = "".join(f'<object type="PU" os_index="{i}" cpuset="0xf...f"/>' for i in range(8000))
        with pytest.raises(ValueError, match="too many objects have the same cpus"):
            read(
                tmp_path,
                '<topology version="2.0"><object type="Machine"'
                f' cpuset="0xf...f">{units}</object></topology>',
            )

    def test_not_there(self, tmp_path):
        for name in ("node.xml", "tree"):
            with pytest.raises(FileNotFoundError, match=name):
                topology(tmp_path / name)


@given(st.sets(st.integers(0, 300)), st.booleans())
def test_bitmaps(cpus, ones):
    """As hwloc prints them: words of zeros are empty but for the last."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [bits >> shift & 0xFFFFFFFF for shift in range(288, -1, -32)]
    printed = [f"0x{word:08x}" if word else "" for word in words[:-1]] + [f"0x{words[-1]:x}"]
    assert _members(_bitmap(",".join(printed))) == tuple(sorted(cpus))
    assert _bitmap(",".join(["0xf...f", *printed])) == bits - (1 << 320)


class TestHere:
    """A system whose /proc and /sys are empty."""

    @pytest.fixture(autouse=True)
    def _nothing(self, monkeypatch):
        monkeypatch.setattr(_linux, "read", lambda root, path: "")
        monkeypatch.setattr(os, "cpu_count", lambda: 6)
        monkeypatch.setattr(sys, "platform", "freebsd14")
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        _hwloc.lstopo.cache_clear()
        yield
        _hwloc.lstopo.cache_clear()

    def install(self, monkeypatch, tmp_path: Path, script: str, name: str = "lstopo") -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    def test_lstopo_is_asked_once(self, monkeypatch, tmp_path):
        file = FILES / "intel_hybrid.xml"
        self.install(
            monkeypatch,
            tmp_path,
            f'echo "$*" >>{tmp_path}/calls; while read -r line; do echo "$line"; done <{file}',
        )
        t = topology()
        same(topology(file), t)
        assert (t.memory, t.type_source, t.model) == (
            16 * 2**30,
            "hwloc CoreType",
            "12th Gen Intel(R) Core(TM)",
        )
        assert t.unknown == ("affinity", "quota", "load")
        assert topology() == t
        assert (tmp_path / "calls").read_text() == "--of xml --disallowed --no-io\n"

    def test_affinity(self, monkeypatch, tmp_path):
        self.install(
            monkeypatch,
            tmp_path,
            f"while read -r line; do echo $line; done <{FILES}/intel_hybrid.xml",
            "lstopo-no-graphics",
        )
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 4, 5}, raising=False)
        t = topology()
        assert (t.allowed, t.online, t.worth, t.places) == ((1, 4, 5), 8, 3, (1, 4, 5))
        assert t.logical[0].siblings == (0, 1)
        assert len([cache for cache in t.caches if cache.level == 2]) == 2
        assert "affinity" not in t.unknown

    @pytest.mark.parametrize(
        "script",
        ["exit 1", "echo nothing", f"read line <{FILES}/synthetic.xml; echo $line", "exit 0"],
    )
    def test_counts_where_it_fails(self, monkeypatch, tmp_path, script):
        self.install(monkeypatch, tmp_path, script)
        t = topology()
        assert (t.logical, t.cores, t.worth) == (tuple(map(Cpu, range(6))), None, 6)

    def test_counts_where_it_hangs(self, monkeypatch, tmp_path):
        self.install(monkeypatch, tmp_path, "")

        def hang(command, *, timeout, **options):
            raise subprocess.TimeoutExpired(command, timeout)

        monkeypatch.setattr(subprocess, "run", hang)
        assert topology().logical == tuple(map(Cpu, range(6)))

    def test_counts_without_it(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(subprocess, "run", None)
        assert topology().logical == tuple(map(Cpu, range(6)))


def test_linux_starts_no_process(monkeypatch):
    if not any(cpu.core is not None for cpu in _linux.facts("/", 0.0)["logical"]):
        pytest.skip("/sys knows no cores here")
    monkeypatch.setattr(_hwloc, "lstopo", None)
    assert topology().cores


@needs_lstopo
class TestLstopo:
    @pytest.mark.parametrize("name", RECORDED)
    def test_recorded_trees(self, name, tmp_path):
        tree = write_masks(RECORDED[name](Tree(tmp_path / "root")))
        command = [
            LSTOPO,
            "-i",
            str(tree),
            "--if",
            "fsroot",
            "--disallowed",
            "--of",
            "xml",
            str(tmp_path / "node.xml"),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        ours, theirs = topology(FILES / f"{name}.xml"), topology(tmp_path / "node.xml")
        same(ours, theirs)
        assert (theirs.memory, theirs.model) == (ours.memory, ours.model)

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with /sys")
    def test_this_machine(self, tmp_path):
        ours = topology()
        if ours.cores is None or not ours.caches:
            pytest.skip("/sys is empty")
        command = [LSTOPO, "--disallowed", "--of", "xml", str(tmp_path / "node.xml")]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        theirs = topology(tmp_path / "node.xml")
        by_number = {cpu.number: cpu for cpu in theirs.logical}
        for cpu in ours.logical:  # the mask of this process may leave fewer
            for name in ("core", "package", "node", "siblings", "type"):
                assert getattr(by_number[cpu.number], name) == getattr(cpu, name), name
        assert [
            cache
            for cache in theirs.caches
            if not set(cache.shared_by or ()).isdisjoint(ours.allowed)
        ] == list(ours.caches)
        assert theirs.model == ours.model
