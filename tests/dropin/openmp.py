"""OpenMP runtimes, and environments in which they bind threads to the first and the last cpu."""

import os
import subprocess
import sys

CPUS = sorted(os.sched_getaffinity(0))[:2] if hasattr(os, "sched_getaffinity") else [0]
ONE, OTHER = CPUS[0], CPUS[-1]
RUNTIMES = ["libgomp.so.1", "libomp.so.5", "libomp.so"]

BINDINGS = [
    {"OMP_PROC_BIND": "true"},
    {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"},
    {"OMP_PLACES": f"{{{ONE}}},{{{OTHER}}}"},
    {"GOMP_CPU_AFFINITY": f"{ONE} {OTHER}"},
]


def is_there(runtime):
    return (
        subprocess.run(
            [sys.executable, "-c", f"import ctypes; ctypes.CDLL({runtime!r})"], capture_output=True
        ).returncode
        == 0
    )
