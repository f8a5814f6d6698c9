"""The cluster made of one machine (benchmarks/cluster.py): links and quotas are what was asked for,
and nothing of it is left."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(PLACE))

from cluster import (  # noqa: E402
    GOODPUT,
    GROUPS,
    PREFIX,
    Cluster,
    ClusterError,
    Host,
    bytes_of,
    rate_of,
)
from cluster_star import inversions  # noqa: E402
from peer_scalapack import grids, seconds_of  # noqa: E402

REASON = Cluster.why_not()
HAVE_MPI = (
    subprocess.run(
        [sys.executable, "-c", "import mpi4py"], capture_output=True, check=False
    ).returncode
    == 0
)
needs_cluster = pytest.mark.skipif(bool(REASON), reason=REASON or "-")

# Rank 0 sends 2 MB to the others, one after another; then every rank counts the CPU time it gets in
# half a second.
PROBE = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
data = bytearray(2_000_000)
for other in range(1, world.size):
    world.Barrier()
    if world.rank == 0:
        start = time.monotonic()
        world.Send(data, other)
        world.recv(source=other)
        print("link", other, 8 * len(data) / (time.monotonic() - start), flush=True)
    elif world.rank == other:
        world.Recv(data, 0)
        world.send(None, 0)
world.Barrier()
start, spent = time.monotonic(), time.process_time()
while time.monotonic() < start + 0.5:
    pass
share = (time.process_time() - spent) / (time.monotonic() - start)
for rank, value in enumerate(world.gather(share) or ()):
    print("cpu", rank, value)
"""


def left(process: int) -> list[str]:
    """Namespaces, control groups and folders of a process's clusters."""
    places = (
        Path("/run/netns"),
        GROUPS,
        GROUPS / "cpu",
        GROUPS / "memory",
        Path(tempfile.gettempdir()),
    )
    return [str(path) for place in places for path in place.glob(f"{PREFIX}-{process}-*")]


@pytest.mark.slow
@needs_cluster
@pytest.mark.skipif(not HAVE_MPI, reason="needs mpi4py")
def test_links_and_quotas():
    hosts = [Host(), Host(rate="20mbit", burst="16kb"), Host(rate="10mbit", burst="16kb", cpu=0.3)]
    with Cluster(hosts) as cluster:
        lines = [
            line.split()
            for line in cluster.run([sys.executable, "-c", PROBE], timeout=30).splitlines()
        ]
    found = {(kind, int(host)): float(value) for kind, host, value in lines}
    assert found["link", 1] == pytest.approx(GOODPUT * 20e6, rel=0.05)
    assert found["link", 2] == pytest.approx(GOODPUT * 10e6, rel=0.05)
    assert found["cpu", 2] < 0.3 * 1.1  # a quota is a ceiling: others may leave less
    assert left(os.getpid()) == []


@pytest.mark.slow
@needs_cluster
def test_memory_is_capped():
    code = "b = bytearray(80_000_000); b[::4096] = bytes(len(b[::4096])); print(len(b))"
    with Cluster([Host(), Host(memory="40M")]) as cluster:
        free, capped = (cluster.start(host, [sys.executable, "-c", code]) for host in (0, 1))
        assert free.communicate(timeout=30)[0] == "80000000\n"
        assert capped.wait(timeout=30) in (-signal.SIGKILL, 128 + signal.SIGKILL)
        capped.communicate()


@pytest.mark.slow
@needs_cluster
def test_programs_that_fail_or_hang():
    with Cluster([Host(), Host()]) as cluster:
        with pytest.raises(ClusterError, match=r"exit status(.|\n)*no such thing"):
            cluster.run(["sh", "-c", "echo no such thing; exit 3"])
        start = time.monotonic()
        with pytest.raises(ClusterError, match="not done in 1 s"):
            cluster.run(["sleep", "50"], timeout=1)
        assert time.monotonic() < start + 20
        assert sorted(cluster.run(["hostname"]).split()) == ["h0", "h1"]
    assert left(os.getpid()) == []


@pytest.mark.slow
@needs_cluster
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(how):
    code = f"""
        import sys
        sys.path.insert(0, {str(PLACE)!r})
        from cluster import Cluster, Host
        with Cluster([Host(cpu=0.5), Host(rate="10mbit", memory="64M")]) as cluster:
            print("up", flush=True)
            cluster.run(["sleep", "50"], timeout=50)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline() == "up\n"
    time.sleep(0.5)
    assert left(process.pid)
    process.send_signal(how)
    process.wait(timeout=20)
    process.stdout.close()
    if how == signal.SIGKILL:  # the next one takes it down
        assert left(process.pid)
        with Cluster([Host()]):
            pass
    assert left(process.pid) == []


def test_numbers_of_limits():
    assert (rate_of("10mbit"), rate_of("1.5gbit"), rate_of("8kbit")) == (1e7, 1.5e9, 8e3)
    assert (bytes_of("200M"), bytes_of("1G"), bytes_of("77")) == (200 << 20, 1 << 30, 77)
    for kind, wrong in (
        (Host, {"cpu": 0.05}),
        (Host, {"cpu": float("nan")}),
        (Host, {"rate": "10 MB"}),
        (Host, {"memory": "2T"}),
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            kind(**wrong)
    with pytest.raises(ValueError, match="hosts"):
        Cluster([])


def test_what_peers_print():
    assert grids(4) == [(2, 2), (1, 4), (4, 1)]
    assert grids(3) == [(1, 3), (3, 1)]
    assert seconds_of("0.5\n0.25\n0.003\n") == [0.5, 0.25]
    for wrong in ("0.5\n1e12\n", "0.5\nnan\n", "-1\n0.1\n", "0.1\n"):
        with pytest.raises(RuntimeError, match="wrong"):
            seconds_of(wrong)


def test_pairs_in_another_order():
    assert inversions([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]) == (0, 3)
    assert inversions([1.0, 2.0, 3.0], [6.0, 5.0, 7.0]) == (1, 3)
    assert inversions([1.0, 1.01, 3.0], [6.0, 5.0, 4.0]) == (2, 2)  # the first two are not apart
