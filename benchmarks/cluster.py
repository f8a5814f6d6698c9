"""One machine made into an unequal cluster: hosts are network namespaces on a bridge, with limits
of CPU, link and memory.

    with Cluster([Host(cpu=0.4, rate="100mbit"), Host(cpu=0.1, memory="200M")]) as cluster:
        print(cluster.run([sys.executable, "program.py"]))

For root, on Linux. A host's link is limited in both directions by tbf, of which programs see about
0.956 (the rest are headers); its CPU by a quota per 10 ms of its control group, which comes before
what others do on the machine (a quota is a ceiling, and would be missed on a busy one), its memory
by the group's limit. Programs are started by Open MPI, whose remote shell is replaced by one that
enters the namespace and the group. MPI is told to use TCP alone: shared memory would go around the
links. Debian's Open MPI 4.1 and Open MPI 5.0 (PyPI) both do. The bridge lies in a namespace of its
own, so that nothing of the machine's own network is touched and several clusters may stand beside
each other.
"""

from __future__ import annotations

import ctypes.util
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
PERIOD = 10_000  # microseconds: the shortest that holds the fraction within half a per cent
PREFIX = "hscluster"
WAITING = 262_144  # bytes of a connection that may wait to be sent
GOODPUT = 0.956  # of a tbf's rate, on Ethernet
_numbers = itertools.count()


class ClusterError(RuntimeError):
    """A cluster cannot be had, or a program on it failed."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """Limits of a host; None is without a limit.

    cpu: fraction of a core, of all its processes together. rate, burst: of its link in each
    direction, as tc writes them; a message that fits the burst is not slowed. memory: of all its
    processes, such as "200M".
    """

    cpu: float | None = None
    rate: str | None = None
    burst: str | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        if self.cpu is not None and not self.cpu >= 0.1:  # a quota is 1 ms at least
            raise ValueError(f"cpu: at least a tenth of a core was expected, {self.cpu} was given")
        if self.rate is not None:
            rate_of(self.rate)
        if self.memory is not None:
            bytes_of(self.memory)


def _do(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(
            f"{' '.join(command)}: {(done.stderr or done.stdout).strip() or done.returncode}"
        )
    return done.stdout


def rate_of(text: str) -> float:
    """Bits per second of a rate as tc writes it: 10mbit, 1gbit."""
    match = re.fullmatch(r"([\d.]+)(k|m|g|)bit", text.lower())
    if match is None:
        raise ValueError(f"rate: 10kbit, 10mbit or 1gbit was expected, {text!r} was given")
    return float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2]]


def _burst_of(rate: str) -> str:
    """A millisecond of the rate, and at least ten packets: less would not reach the rate, more hide
    it from single messages."""
    return str(max(16_000, int(rate_of(rate) / 8e3)))


def bytes_of(text: str) -> int:
    """Bytes of 200M, 1G or 4096K."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if match is None:
        raise ValueError(
            f"memory: a number of bytes, with K, M or G, was expected, {text!r} was given"
        )
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


class _Group:
    """A control group of a host: of version 1, where each controller has a folder, or of version
    2."""

    def __init__(self, name: str, host: Host) -> None:
        self.folders = (
            [GROUPS / kind / name for kind in ("cpu", "memory")]
            if self.version() == 1
            else [GROUPS / name]
        )
        self.host = host

    @staticmethod
    def version() -> int:
        """0: there is none whose CPU can be limited."""
        if (GROUPS / "cpu/cpu.cfs_quota_us").exists() or list(
            (GROUPS / "cpu").glob("*/cpu.cfs_quota_us")
        ):
            return 1
        controllers = GROUPS / "cgroup.controllers"
        return 2 if controllers.exists() and "cpu" in controllers.read_text().split() else 0

    def make(self) -> None:
        second = self.version() == 2
        if second:
            with suppress(OSError):  # they may be there already
                (GROUPS / "cgroup.subtree_control").write_text("+cpu +memory")
        for folder in self.folders:
            folder.mkdir()
        cpu, memory = self.folders[0], self.folders[-1]
        if self.host.cpu is not None:
            quota = round(self.host.cpu * PERIOD)
            if second:
                (cpu / "cpu.max").write_text(f"{quota} {PERIOD}")
                (cpu / "cpu.weight").write_text("1000")
            else:
                (cpu / "cpu.shares").write_text("10240")
                (cpu / "cpu.cfs_period_us").write_text(str(PERIOD))
                (cpu / "cpu.cfs_quota_us").write_text(str(quota))
        if self.host.memory is not None:
            for name in (
                ("memory.max",)
                if second
                else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
            ):
                if (memory / name).exists():  # the last where swap is counted
                    (memory / name).write_text(str(bytes_of(self.host.memory)))

    def processes(self) -> set[int]:
        found: set[int] = set()
        for folder in self.folders:
            with suppress(OSError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
        return found

    def remove(self) -> None:
        for folder in self.folders:
            _remove_group(folder)


def _remove_group(folder: Path) -> None:
    for _ in range(200):  # a killed process leaves its group a little later
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            _kill(int(line) for line in _lines(folder / "cgroup.procs"))
            time.sleep(0.01)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _kill(processes: Iterable[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _remove_namespaces(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ClusterError):
            _kill(_in_namespace(name))
            _do("ip", "netns", "del", name)


def _in_namespace(name: str) -> list[int]:
    return [int(line) for line in _do("ip", "netns", "pids", name).split()]


def _namespaces() -> list[str]:
    return [
        line.split()[0]
        for line in _do("ip", "netns", "list").split("\n")
        if line.startswith(PREFIX)
    ]


def remove_stale() -> None:
    """Takes down what clusters of processes that are no more have left."""

    def stale(name: str) -> bool:
        match = re.match(rf"{PREFIX}-(\d+)-", name)
        return match is not None and not Path("/proc", match[1]).exists()

    _remove_namespaces(filter(stale, _namespaces()))
    for place in ("cpu", "memory", "."):
        for folder in (GROUPS / place).glob(f"{PREFIX}-*"):
            if stale(folder.name):
                _remove_group(folder)
    for folder in filter(
        lambda folder: stale(folder.name), Path(tempfile.gettempdir()).glob(f"{PREFIX}-*")
    ):
        shutil.rmtree(folder, ignore_errors=True)


class Cluster:
    """Hosts on a bridge; in a with statement they are taken down at its end, however it ends.

    hosts: their limits. mpirun: Open MPI's; without, the system's. address: the first three bytes
    of the network.
    """

    def __init__(
        self, hosts: Sequence[Host], *, mpirun: str | None = None, address: str = "10.77.0"
    ) -> None:
        if not 1 <= len(hosts) <= 250:
            raise ValueError(f"hosts: 1 to 250 were expected, {len(hosts)} were given")
        self.hosts = list(hosts)
        self.mpirun = mpirun or system_mpirun() or ""
        self._address = address
        self._name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self._groups = [_Group(self._of(i), host) for i, host in enumerate(self.hosts)]
        self._place = Path(tempfile.gettempdir(), self._name)

    @staticmethod
    def why_not(mpirun: str | None = None) -> str:
        """Why no cluster can be had here; "" where it can."""
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            return "only root makes network namespaces"
        for tool, package in (
            ("ip", "iproute2"),
            ("tc", "iproute2"),
            ("nsenter", "util-linux"),
            ("unshare", "util-linux"),
        ):
            if shutil.which(tool) is None:
                return f"{tool} is missing: apt install {package}"
        if not (mpirun or system_mpirun()):
            return "no mpirun of Open MPI: apt install openmpi-bin"
        if _Group.version() == 0:
            return "no control group limits CPU time here"
        try:
            with Cluster([Host(cpu=0.5, rate="10mbit", memory="64M")], mpirun=mpirun):
                return ""
        except (ClusterError, OSError) as error:
            return f"the kernel makes none: {error}"

    def _of(self, host: int | str) -> str:
        return f"{self._name}-{host}"

    def __enter__(self) -> Cluster:
        remove_stale()
        try:
            self._place.mkdir(mode=0o700)
            self._up()
            for group in self._groups:
                group.make()
            self._write_agent()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all programs and takes everything down; once more does nothing."""
        self._end()
        _remove_namespaces(self._namespaces())
        for group in self._groups:
            group.remove()
        shutil.rmtree(self._place, ignore_errors=True)

    def _end(self) -> None:
        for group in self._groups:
            _kill(group.processes())
        for name in self._namespaces():
            _kill(_in_namespace(name))

    def _namespaces(self) -> list[str]:
        return [name for name in _namespaces() if name.startswith(f"{self._name}-")]

    def _up(self) -> None:
        bridge = self._of("bridge")
        _do("ip", "netns", "add", bridge)
        _do("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        _do("ip", "-n", bridge, "link", "set", "br0", "up")
        for i, host in enumerate(self.hosts):
            name = self._of(i)
            _do("ip", "netns", "add", name)
            _do("ip", "-n", name, "link", "set", "lo", "up")
            _do(
                "ip",
                "link",
                "add",
                "eth0",
                "netns",
                name,
                "type",
                "veth",
                "peer",
                "name",
                f"v{i}",
                "netns",
                bridge,
            )
            _do("ip", "-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            _do("ip", "-n", name, "link", "set", "eth0", "up")
            _do("ip", "-n", bridge, "link", "set", f"v{i}", "master", "br0", "up")
            # little is sent before it is on the link: else a message is "sent" while most of it
            # waits, and the next one passes it
            _do(
                "ip",
                "netns",
                "exec",
                name,
                "sysctl",
                "-q",
                "-w",
                f"net.ipv4.tcp_wmem=4096 16384 {WAITING}",
            )
            self.limit(i, host.rate, host.burst)

    def limit(self, host: int, rate: str | None, burst: str | None = None) -> None:
        """Another rate of a host's link; None: without a limit."""
        for namespace, device in ((self._of(host), "eth0"), (self._of("bridge"), f"v{host}")):
            with suppress(ClusterError):  # there may be none
                _do("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")
            if rate is not None:
                limits = ("rate", rate, "burst", burst or _burst_of(rate), "limit", "1mb")
                _do("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", *limits)

    def address(self, host: int) -> str:
        return f"{self._address}.{host + 1}"

    def _write_agent(self) -> None:
        """The remote shell: HOST COMMAND..., in the namespace and the group of the host."""
        lines = [
            "#!/bin/sh",
            "while :; do case $1 in -l|-p|-o) shift 2;; -*) shift;; *) break;; esac; done",
            "host=$1; shift",
            "case $host in",
        ]
        for i, group in enumerate(self._groups):
            enter = "; ".join(
                f"echo $$ >{shlex.quote(str(folder / 'cgroup.procs'))}" for folder in group.folders
            )
            lines.append(f"  {self.address(i)}|h{i}) {enter}; name={self._of(i)}; host=h{i};;")
        lines += ['  *) echo "no host $host" >&2; exit 1;;', "esac"]
        lines += [
            (
                "exec nsenter --net=/run/netns/$name unshare --uts /bin/sh -c 'hostname '$host';"
                ' exec /bin/sh -c "$0"\' "$*"'
            ),
            "",
        ]
        (self._place / "agent").write_text("\n".join(lines))
        (self._place / "agent").chmod(0o755)

    def _start(
        self,
        host: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        limited: bool = True,
    ) -> subprocess.Popen[str]:
        words = [str(self._place / "agent"), f"h{host}", *(shlex.quote(word) for word in command)]
        if not limited:
            words = ["nsenter", f"--net=/run/netns/{self._of(host)}", *command]
        # a session of its own: Ctrl-C comes to Python, which ends everything at once
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, env=environment, text=True, start_new_session=True, **pipes)

    def finish(self, process: subprocess.Popen[str], what: str, timeout: float) -> str:
        """What a program that was started prints; where it fails or is not done in time, all
        programs are ended."""
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException as error:
            self._end()
            out, err = process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise ClusterError(
                    f"{what}: not done in {timeout:g} s\n{out[-2000:]}{err[-2000:]}"
                ) from None
            raise
        if process.returncode != 0:
            raise ClusterError(
                f"{what}: exit status {process.returncode}\n{out[-2000:]}{err[-2000:]}"
            )
        return out

    def start(
        self,
        host: int,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        limited: bool = True,
    ) -> subprocess.Popen[str]:
        """A program alone on a host, without MPI, ended with the cluster at the latest. Not
        limited: at the host's place in the network, but with the CPU and memory of the machine."""
        return self._start(host, command, {**os.environ, **(environment or {})}, limited)

    def run(
        self,
        command: Sequence[str],
        *,
        ranks_per_host: int = 1,
        hosts: Sequence[int] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
        options: Sequence[str] = (),
    ) -> str:
        """What an MPI program prints; ranks go over the hosts in turn, rank 0 is on the first.

        Raises ClusterError with the end of what it printed if it fails or is not done in `timeout`
        seconds; then all is ended.
        """
        chosen = list(range(len(self.hosts))) if hosts is None else list(hosts)
        hostfile = self._place / "hosts"
        hostfile.write_text("".join(f"h{i} slots={ranks_per_host}\n" for i in chosen))
        given = {**environment_of(self.mpirun), **(environment or {})}
        exports = [
            word
            for name in given
            if not name.startswith(("OMPI_", "PRTE_"))
            for word in ("-x", name)
        ]
        mpirun = [
            self.mpirun,
            *_options(self.mpirun, self._place, f"{self._address}.0/24"),
            "--hostfile",
            str(hostfile),
        ]
        mpirun += ["-n", str(len(chosen) * ranks_per_host), *exports, *options, *command]
        process = self._start(chosen[0], mpirun, {**os.environ, **given})
        return self.finish(process, " ".join(command)[:200], timeout)


def system_mpirun() -> str | None:
    """Open MPI's own name of the system's mpirun, where several MPIs may be installed."""
    return shutil.which("mpirun.openmpi") or shutil.which("mpirun")


def version_of(mpirun: str) -> str:
    """Such as "4.1.4" of an Open MPI; "" of others."""
    text = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"\((?:Open MPI|OpenRTE)\) v?(\d[\w.]*)", text)
    return match[1] if match else ""


def environment_of(mpirun: str) -> dict[str, str]:
    """What programs under this mpirun need: root's permission, and that mpi4py's wheel takes the
    library that belongs to it."""
    given = dict.fromkeys(
        (
            "OMPI_ALLOW_RUN_AS_ROOT",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "PRTE_ALLOW_RUN_AS_ROOT",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
        ),
        "1",
    )
    given["OMPI_MCA_pml"] = "ob1"  # here, as options come before it
    place = Path(mpirun).resolve().parent.parent
    if str(place) == "/usr":
        library = ctypes.util.find_library("mpi")
        return {**given, "MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": library} if library else given
    return {**given, "MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": str(place / "lib/libmpi.so.40")}


def _options(mpirun: str, place: Path, network: str) -> list[str]:
    both = {"btl": "tcp,self", "btl_tcp_if_include": network, "mpi_yield_when_idle": "1"}
    agent = str(place / "agent")
    if version_of(mpirun).startswith("5"):
        kinds = {
            "--mca": both,
            "--prtemca": {
                "plm_ssh_agent": agent,
                "prte_if_include": network,
                "prte_tmpdir_base": str(place),
            },
        }
    else:
        kinds = {
            "--mca": {
                **both,
                "plm_rsh_agent": agent,
                "oob_tcp_if_include": network,
                "orte_tmpdir_base": str(place),
            }
        }
    words = [
        word
        for kind, values in kinds.items()
        for name, value in values.items()
        for word in (kind, name, value)
    ]
    return [*words, "--bind-to", "none", "--map-by", "node"]
