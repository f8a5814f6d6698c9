"""CPU quotas that change while a program runs, in a control group of the test's own (root only)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.machine import dropin

#: What a child does with its group. Numbers of workers follow within a second or so.
STEPS = """
import os, sys, time
import numpy as np
group, version = sys.argv[1], sys.argv[2]
with open(group + "/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))

def allow(cpus):
    quota = -1 if cpus is None else int(cpus * 100000)
    if version == "2":
        text, name = f"{'max' if cpus is None else quota} 100000", "cpu.max"
    else:
        text, name = str(quota), "cpu.cfs_quota_us"
    with open(f"{group}/{name}", "w") as file:
        file.write(text)

def becomes(count, wanted):
    until = time.monotonic() + 20.0
    while (found := count()) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    print(found, flush=True)
"""

ENGINE = (
    STEPS
    + """
import hetsched as hs
from hetsched.runners.shared import shared_pool

a = np.ones((300, 300))
def workers():
    assert (hs.matmul(a, a) == 300.0).all()
    return len(shared_pool())

for cpus, wanted in ((0.5, 1), (1.5, 2), (1.0, 1), (None, 2)):
    allow(cpus)
    becomes(workers, wanted)
"""
)

DROPIN = (
    STEPS
    + """
a = np.ones((600, 600))
def workers():
    assert (a @ a == 600.0).all()
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    return names.count("hetsched-worker\\n")

allow(0.5)
becomes(workers, 0)
time.sleep(1.0)
print(workers())
allow(None)
becomes(workers, 2)
"""
)


@pytest.fixture
def group():
    """(path, version) of an empty control group with the cpu controller."""
    for root, version in (("/sys/fs/cgroup/cpu", "1"), ("/sys/fs/cgroup", "2")):
        path = Path(root) / f"hetsched-test-{os.getpid()}"
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            if (path / {"1": "cpu.cfs_quota_us", "2": "cpu.max"}[version]).exists():
                yield str(path), version
                return
        finally:
            path.rmdir()
    pytest.skip("no control group with the cpu controller can be made")


def run(code: str, group: tuple[str, str], environment: dict[str, str]) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", code, *group],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


needs_cores = pytest.mark.skipif(hs.topology().worth < 2, reason="one core, or a limit")


@needs_cores
def test_the_shared_pool_follows(group):
    if hs.topology().worth > 2:
        environment = os.environ | {"HETSCHED_NUM_THREADS": "2"}
    else:
        environment = dict(os.environ)
    assert run(ENGINE, group, environment) == [1, 2, 1, 2]


@needs_cores
def test_the_drop_in_library_follows(group):
    try:
        given = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
        environment = dropin.environment(threads=2, given=given)
    except OSError as error:
        pytest.skip(str(error))
    assert run(DROPIN, group, environment) == [0, 0, 2]
