"""Inside a program with the drop-in library before its BLAS: which cpus its threads may run on
while it multiplies."""

import contextlib
import ctypes
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

library = ctypes.CDLL(None)


def tell_openblas(threads):
    """How many threads to use: it has one where it was loaded with one cpu."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "openblas" in line.rpartition("/")[2]:
            found = ctypes.CDLL(line.split(maxsplit=5)[5])
            names = (
                f"{prefix}openblas_set_num_threads{suffix}"
                for prefix in ("", "scipy_")
                for suffix in ("", "64_")
            )
            for name in names:
                if hasattr(found, name):
                    getattr(found, name)(threads)


def tasks():
    return {int(task) for task in os.listdir("/proc/self/task")}


tell_openblas(int(os.environ.get("TEST_THREADS", "2")))
BEFORE = tasks()  # the main thread, and those of OpenBLAS; a program adds its own
A = np.random.default_rng(1).standard_normal((150, 150))
RIGHT = np.einsum("ik,kj->ij", A, A)  # by no BLAS


def masks():
    """The cpus of each worker, as the kernel tells them. A new one may not have its name yet."""
    lines = [line for task in tasks() - BEFORE for line in status(task)]
    return sorted(cpus(line.split()[1]) for line in lines if line.startswith("Cpus_allowed_list:"))


def status(task):
    """Nothing of a worker that has ended, for a call of another thread with another mask."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/self/task/{task}/status").read_text().splitlines()
    return []


def cpus(text):
    """Parse "0-2,5"."""
    ends = [part.split("-") for part in text.split(",")]
    return [cpu for each in ends for cpu in range(int(each[0]), int(each[-1]) + 1)]


def look(patience=0.0):
    """After a product that is right: the mask, the masks of the workers, and how many there are to
    be.

    The engine exchanges the cores of two threads where another program has the core of one of them:
    two workers on one cpu are looked at again after another product, for so many seconds.
    """
    BEFORE.add(threading.get_native_id())
    end = time.monotonic() + patience
    while True:
        assert np.allclose(A @ A, RIGHT)
        found = [sorted(os.sched_getaffinity(0)), masks()]
        if not has_twice(found[1]) or time.monotonic() > end:
            return [*found, library.hetsched_blas_get_num_threads()]
        time.sleep(0.01)


def has_twice(found):
    """Whether two workers are on one cpu."""
    alone = [mask for mask in found if len(mask) == 1]
    return any(alone.count(mask) > 1 for mask in alone)


def taskset(cpus, *options):
    """Another mask for this process, by another one."""
    command = ["taskset", *options, "-pc", ",".join(map(str, cpus)), str(os.getpid())]
    given = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, env=given, check=True, stdout=subprocess.DEVNULL)


def tell(found):
    """A line of its own, whatever other processes write."""
    os.write(1, f"{json.dumps(found)}\n".encode())
