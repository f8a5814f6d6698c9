"""The peers' BLAS at its best setting on this machine, whatever the environment says. To be
imported before NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

from common import core_type

KINDS = ("", "SKYLAKEX", "HASWELL", "ZEN")

PRODUCT = """
import time, numpy as np
from scipy.linalg.blas import dgemm
a = np.asfortranarray(np.random.default_rng(0).standard_normal((700, 700)))
times = []
for _ in range(15):
    start = time.perf_counter(); dgemm(1.0, a, a); times.append(time.perf_counter() - start)
print(min(times))
"""


def fastest_openblas() -> str:
    """The OPENBLAS_CORETYPE with the fastest product; "" for its own choice: it does not know every
    processor."""
    times = {}
    for kind in KINDS:
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            **({"OPENBLAS_CORETYPE": kind} if kind else {}),
        }
        done = subprocess.run(
            [sys.executable, "-c", PRODUCT],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:  # another one is an instruction that this processor does not have
            times[kind] = float(done.stdout)
    best = min(times, key=times.__getitem__)
    return best if times[best] < 0.97 * times[""] else ""


def use_best() -> None:
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    if kind := fastest_openblas():
        os.environ["OPENBLAS_CORETYPE"] = kind


def blis_arch_type() -> str | None:
    """BLIS_ARCH_TYPE of the kernels that hetsched has chosen for this processor; None where BLIS
    chooses them itself."""
    from hetsched._engine import kernels

    names = {"skx": "0", "knl": "1", "haswell": "3", "zen3": "6", "zen2": "7", "zen": "8"}
    return names.get(kernels.kernel()["set"])


def peer_environment(**more: str) -> dict[str, str]:
    """One thread of the system's BLAS, which may be BLIS or an OpenBLAS, with the kernels that suit
    this processor."""
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "BLIS_NUM_THREADS": "1",
        **more,
    }
    if kind := blis_arch_type():
        environment.setdefault("BLIS_ARCH_TYPE", kind)
    if kind := core_type():
        environment["OPENBLAS_CORETYPE"] = kind
    return environment


use_best()
