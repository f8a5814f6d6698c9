"""Machines as their /proc and /sys show them, from compact descriptions. The files are those of the
kernel's documentation: admin-guide/cputopology, ABI/stable/sysfs-devices-system-cpu,
admin-guide/cgroup-v1 and -v2, proc(5).
"""

from __future__ import annotations

from pathlib import Path

CPU = "sys/devices/system/cpu"
V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct"
V1_CPUSET = "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset"


def members(text: str) -> list[int]:
    """Of a list of cpus that is known to be right."""
    found = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


class Tree:
    """A root directory: write files, one machine after another or one file at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __str__(self) -> str:
        return str(self.root)

    def write(self, path: str, text: str) -> Tree:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        return self

    def cpus(self, online: str, allowed: str) -> Tree:
        self.write(f"{CPU}/online", online).write(
            "proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB"
        )
        return self.write(
            "proc/self/status", f"Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}"
        )

    def each(self, path: str, **values: object) -> Tree:
        """A file for every cpu of the lists: {"c0_3": 5} writes 5 for cpus 0-3; "c0_3_c8" is
        0-3,8."""
        for cpus, value in values.items():
            for cpu in members(cpus[1:].replace("_c", ",").replace("_", "-")):
                self.write(f"{CPU}/cpu{cpu}/{path}", str(value))
        return self

    def smt(self, *groups: str, name: str = "core_cpus_list") -> Tree:
        for group in groups:
            for cpu in members(group):
                self.write(f"{CPU}/cpu{cpu}/topology/{name}", group)
        return self

    def cache(self, description: str, line: int | None = 64) -> Tree:
        """One level for the cpus that share each: "2 Unified 1280K 0-1|2-3"."""
        level, kind, size, shared = description.split()
        for group in shared.split("|"):
            for cpu in members(group):
                index = len(list((self.root / f"{CPU}/cpu{cpu}/cache").glob("index*")))
                values = {
                    "level": level,
                    "type": kind,
                    "size": size,
                    "shared_cpu_list": group,
                    "coherency_line_size": line,
                }
                for name, value in values.items():
                    if value is not None:
                        self.write(f"{CPU}/cpu{cpu}/cache/index{index}/{name}", str(value))
        return self

    def node(self, *cpus: str) -> Tree:
        self.write("sys/devices/system/node/online", f"0-{len(cpus) - 1}" if len(cpus) > 1 else "0")
        for i, group in enumerate(cpus):
            self.write(f"sys/devices/system/node/node{i}/cpulist", group)
        return self

    def cgroup(self, groups: str, mounts: str) -> Tree:
        return self.write("proc/self/cgroup", groups).write("proc/self/mountinfo", mounts)

    def v1_quota(self, directory: str, quota: int, period: int = 100000) -> Tree:
        self.write(f"{directory}/cpu.cfs_period_us", str(period))
        return self.write(f"{directory}/cpu.cfs_quota_us", str(quota))


def intel_hybrid(tree: Tree) -> Tree:
    """Two performance cores of two threads and four efficiency cores that share an L2."""
    tree.cpus("0-7", "0-7").smt("0-1", "2-3", "4", "5", "6", "7").node("0-7").cgroup(
        "0::/", V2_MOUNT
    )
    tree.write("sys/devices/cpu_core/cpus", "0-3").write("sys/devices/cpu_atom/cpus", "4-7")
    tree.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: 12th Gen Intel(R) Core(TM)").write(
        "proc/loadavg", "1.5 0.5 0.25 1/9 7"
    )
    tree.each("topology/physical_package_id", c0_7=0)
    tree.each("cpufreq/cpuinfo_max_freq", c0_3=4700000, c4_7=3500000)
    tree.each("cpufreq/base_frequency", c0_3=2100000, c4_7=1500000)
    tree.cache("1 Data 48K 0-1|2-3").cache("1 Data 32K 4|5|6|7")
    tree.cache("1 Instruction 32K 0-1|2-3").cache("1 Instruction 64K 4|5|6|7")
    return (
        tree.cache("2 Unified 1280K 0-1|2-3")
        .cache("2 Unified 2048K 4-7")
        .cache("3 Unified 12288K 0-7")
    )


def rk3588(tree: Tree) -> Tree:
    """Four Cortex-A55 and four A76 in two clusters that were binned apart; the device tree knows no
    cache sizes."""
    tree.cpus("0-7", "0-7").smt(*"01234567").cgroup("0::/user.slice", V2_MOUNT)
    tree.write("proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd05").write(
        "proc/device-tree/model", "Radxa ROCK 5B\0"
    )
    tree.write("proc/loadavg", "0.00 0.01 0.05 1/200 999")
    tree.each("topology/physical_package_id", c0_7=0)
    tree.each("cpu_capacity", c0_3=414, c4_5=1003, c6_7=1024)
    tree.each("cpufreq/cpuinfo_max_freq", c0_3=1800000, c4_5=2256000, c6_7=2304000)
    tree.cache("1 Data 32K 0|1|2|3").cache("1 Data 64K 4|5|6|7").cache(
        "2 Unified 128K 0|1|2|3"
    ).cache("2 Unified 512K 4|5|6|7")
    return tree.cache("3 Unified ? 0-7")


def two_sockets(tree: Tree) -> Tree:
    """Two sockets of four cores of two threads, numbered as servers are; core 3 and the second
    thread of core 7 are offline."""
    tree.cpus("0-2,4-10,12-14", "0-511").smt("0,8", "1,9", "2,10", "4,12", "5,13", "6,14", "7")
    tree.write(f"{CPU}/offline", "3,11,15").node("0-2,8-10", "4-7,12-14").write(
        "proc/loadavg", "0.1 0.2 0.3 1/1 1"
    )
    tree.write("proc/cpuinfo", "model name\t: Intel(R) Xeon(R) Gold").cgroup("0::/", V2_MOUNT)
    tree.each("topology/physical_package_id", c0_2_c8_10=0, c4_7_c12_14=1)
    # not unique
    tree.each("topology/core_id", c0_c8=0, c1_c9=1, c2_c10=2, c4_c12=0, c5_c13=1, c6_c14=2, c7=3)
    tree.each("cpufreq/cpuinfo_max_freq", c0_2_c4_10_c12_14=3900000).each(
        "cpufreq/base_frequency", c0_2_c4_10_c12_14=2600000
    )
    return tree.cache("2 Unified 1024K 0,8|1,9|2,10|4,12|5,13|6,14|7").cache(
        "3 Unified 22528K 0-2,8-10|4-7,12-14"
    )


def amd_two_dies(tree: Tree) -> Tree:
    """Two dies of four cores of two threads, one with stacked cache and a lower boost; favoured
    cores are ranked."""
    tree.cpus("0-15", "0-15").smt(*(f"{i},{i + 8}" for i in range(8))).node("0-15").write(
        "proc/loadavg", "0 0 0 1/1 1"
    )
    tree.write("proc/cpuinfo", "model name\t: AMD Ryzen 9").cgroup("0::/", V2_MOUNT)
    tree.each("topology/physical_package_id", c0_15=0)
    tree.each("cpufreq/cpuinfo_max_freq", c0_3_c8_11=5250000, c4_7_c12_15=5750000)
    tree.each("acpi_cppc/nominal_freq", c0_15=4200)
    for i in range(8):
        tree.each("acpi_cppc/highest_perf", **{f"c{i}_c{i + 8}": 166 + 10 * i})
    tree.cache("1 Data 32K " + "|".join(f"{i},{i + 8}" for i in range(8)))
    return tree.cache("3 Unified 98304K 0-3,8-11").cache("3 Unified 32768K 4-7,12-15")


def nested_container(tree: Tree) -> Tree:
    """Eight cpus; a pod with 1.5 cpus' worth inside a group of 8, around an application without a
    quota of its own."""
    tree.cpus("0-7", "0-7").smt(*"01234567").cgroup("0::/kubepods/pod1/app", V2_MOUNT)
    tree.write("sys/fs/cgroup/kubepods/cpu.max", "800000 100000").write(
        "sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000"
    )
    tree.write("sys/fs/cgroup/kubepods/pod1/app/cpu.max", "max 100000")
    tree.write("sys/fs/cgroup/cpuset.cpus.effective", "0-7")
    return tree.write("sys/fs/cgroup/kubepods/pod1/cpuset.cpus.effective", "2-5")


def old_container(tree: Tree) -> Tree:
    """Control groups of version 1, seen from inside: the mounts show the container's own group."""
    mounts = "\n".join(mount.replace(" / ", " /docker/abc ", 1) for mount in (V1_MOUNT, V1_CPUSET))
    tree.cpus("0-7", "0-3").smt(*"01234567").cgroup(
        "4:cpuset:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc", mounts
    )
    tree.v1_quota("sys/fs/cgroup/cpu,cpuacct", 250000).write(
        "sys/fs/cgroup/cpuset/cpuset.cpus", "0-3"
    )
    return tree


def apple(tree: Tree) -> Tree:
    """Eight performance cores in two clusters and two efficiency cores."""
    return tree.write(
        "sysctl.txt",
        """\
hw.ncpu: 10
hw.byteorder: 1234
hw.activecpu: 10
hw.nperflevels: 2
hw.perflevel0.physicalcpu: 8
hw.perflevel0.physicalcpu_max: 8
hw.perflevel0.logicalcpu: 8
hw.perflevel0.logicalcpu_max: 8
hw.perflevel0.l1icachesize: 196608
hw.perflevel0.l1dcachesize: 131072
hw.perflevel0.l2cachesize: 12582912
hw.perflevel0.cpusperl2: 4
hw.perflevel0.name: Performance
hw.perflevel1.physicalcpu: 2
hw.perflevel1.physicalcpu_max: 2
hw.perflevel1.logicalcpu: 2
hw.perflevel1.logicalcpu_max: 2
hw.perflevel1.l1icachesize: 131072
hw.perflevel1.l1dcachesize: 65536
hw.perflevel1.l2cachesize: 4194304
hw.perflevel1.cpusperl2: 2
hw.perflevel1.name: Efficiency
hw.physicalcpu: 10
hw.logicalcpu: 10
hw.cachelinesize: 128
hw.l1icachesize: 131072
hw.l1dcachesize: 65536
hw.l2cachesize: 4194304
hw.packages: 1
hw.memsize: 17179869184
machdep.cpu.brand_string: Apple M1 Pro
vm.loadavg: { 2.50 2.25 2.00 }""",
    )


MACHINES = (intel_hybrid, rk3588, two_sockets, amd_two_dies, nested_container, old_container, apple)
