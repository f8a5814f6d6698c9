"""Dense linear algebra of hetsched against SciPy's and NumPy's, in one run with equal numbers of
threads, beside our own dgemm.

OpenBLAS is told the kernels that are fastest for its dgemm here (it does not know every processor).
The libraries take turns: a pause until the last one's threads have gone to sleep, one call to warm
up, then timed calls; times are of the fastest call of each (what a busy machine leaves of it).
Input is stored by columns, and the check for NaN is off where there is an option for it. With
--busy another program computes on the first core all the time, and times are medians. With --mkl
the eigenvalues and singular values of MKL are a second peer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from common import busy_programs, core_type, parser, print_machine, threads_text, turns
from peer_mkl import Mkl

DEFAULT = [
    "lu:100,250,500,1000,2000",
    "cholesky:1000,3000,6000",
    "qr:1000,3000,20000x200,200000x50",
    "lstsq:20000x200",
    "triangular:3000",
    "inv:1000,3000",
    "eigvalsh:1000,3000",
    "eigh:1000,3000",
    "svdvals:1000,3000",
    "svd:1000,3000,20000x500,5000x1000",
    "pinv:2000",
    "minimum_norm:1000,5000x1000",
]


def operations(
    hs: Any, np: Any, linalg: Any, name: str, m: int, n: int, dtype: str
) -> tuple[Callable[[], Any], Callable[[], Any], float]:
    """Ours, the peer's, and the flops of both."""
    rng = np.random.default_rng(0)
    a = np.asfortranarray(rng.standard_normal((m, n)).astype(dtype))
    quick = {"check_finite": False}
    if name == "lu":
        return lambda: hs.lu_factor(a, **quick), lambda: linalg.lu_factor(a, **quick), 2 / 3 * n**3
    if name == "cholesky":
        p = np.asfortranarray(a @ a.T + n * np.eye(n, dtype=dtype))
        return (
            lambda: hs.cholesky(p, **quick),
            lambda: linalg.cholesky(p, lower=True, **quick),
            n**3 / 3,
        )
    if name == "qr":
        return (
            lambda: hs.qr(a, mode="economic", **quick),
            lambda: linalg.qr(a, mode="economic", **quick),
            4 * m * n**2 - 4 / 3 * n**3,
        )
    if name == "lstsq":
        b = rng.standard_normal(m).astype(dtype)
        return lambda: hs.lstsq(a, b), lambda: np.linalg.lstsq(a, b, rcond=None), 2 * m * n**2
    if name == "minimum_norm":  # least squares of rank n / 2
        b, half = rng.standard_normal(m).astype(dtype), n // 2
        low = np.asfortranarray(a[:, :half] @ rng.standard_normal((half, n)).astype(dtype))
        return (
            lambda: hs.lstsq(low, b, check_finite=False),
            lambda: np.linalg.lstsq(low, b, rcond=None),
            4 * m * n**2 - 4 / 3 * n**3,
        )
    if name == "triangular":
        t = np.asfortranarray(np.tril(a) / n + 2 * np.eye(n, dtype=dtype))
        b = np.asfortranarray(rng.standard_normal((n, n)))
        return (
            lambda: hs.solve_triangular(t, b, lower=True, **quick),
            lambda: linalg.solve_triangular(t, b, lower=True, **quick),
            float(n**3),
        )
    if name == "inv":
        return lambda: hs.inv(a, **quick), lambda: np.linalg.inv(a), 2.0 * n**3
    # flops of the reduction to tridiagonal or bidiagonal form; vectors take as many again, or more
    if name in ("eigvalsh", "eigh"):
        h = a + a.T
        ours, peer = getattr(hs, name), getattr(np.linalg, name)
        return lambda: ours(h, **quick), lambda: peer(h), 4 / 3 * n**3
    reduction = 4 * m * n**2 - 4 / 3 * n**3
    if name == "svdvals":
        return (
            lambda: hs.svdvals(a, **quick),
            lambda: np.linalg.svd(a, compute_uv=False),
            reduction,
        )
    if name == "svd":
        return (
            lambda: hs.svd(a, full_matrices=False, **quick),
            lambda: np.linalg.svd(a, full_matrices=False),
            reduction,
        )
    if name == "pinv":
        return lambda: hs.pinv(a, **quick), lambda: np.linalg.pinv(a), reduction
    raise SystemExit(f"no such operation: {name}")


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--operations",
        nargs="*",
        default=DEFAULT,
        help="name:size,size,... of " + " ".join(DEFAULT),
    )
    options.add_argument("--threads", type=int, nargs="*", default=[2, 1])
    options.add_argument("--dtype", default="float64")
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=0.3, help="of timed calls in a round")
    options.add_argument("--busy", action="store_true")
    options.add_argument("--mkl", help="path of libmkl_rt.so")
    options.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one is None:
        # a process for each: the pool of this machine's cores is made once
        for threads in given.threads:
            more = {"HETSCHED_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
            if kind := core_type():
                more["OPENBLAS_CORETYPE"] = kind
            command = [sys.executable, *sys.argv, "--one", str(threads)]
            subprocess.run(command, env={**os.environ, **more}, check=True)
        return
    measure(given)


def measure(given: argparse.Namespace) -> None:
    import numpy as np
    from scipy import linalg

    import hetsched as hs

    print_machine("SciPy")
    busy = ", a busy program on core 0" if given.busy else ""
    print(f"{threads_text(given.one)}, {given.dtype}{busy}")
    print(
        "                         ours ms   GFLOP/s    peer ms   ratio   of our matmul"
        "    MKL ms   ratio"
    )
    with busy_programs(int(given.busy), pinned=given.busy):
        for what in given.operations:
            name, sizes = what.split(":")
            for size in sizes.split(","):
                m, _, n = size.partition("x")
                row(hs, np, linalg, name, int(m), int(n or m), given)


def row(
    hs: Any, np: Any, linalg: Any, name: str, m: int, n: int, given: argparse.Namespace
) -> None:
    ours, peer, flops = operations(hs, np, linalg, name, m, n, given.dtype)
    side = min(m, 4000) if m == n else 2000
    c = np.ones((side, side), given.dtype)
    calls = {"ours": ours, "peer": peer, "matmul": lambda: hs.matmul(c, c)}
    if given.mkl and name in ("eigvalsh", "eigh", "svdvals", "svd"):
        a = np.random.default_rng(0).standard_normal((m, n))
        calls["mkl"] = Mkl(given.mkl, given.one).call(name, a + a.T if "eig" in name else a)
    times = turns(calls, given.rounds, enough=given.seconds)
    of = {key: (statistics.median if given.busy else min)(each) for key, each in times.items()}
    more = f" {of['mkl'] * 1e3:10.2f} {of['mkl'] / of['ours']:7.2f}" if "mkl" in of else ""
    rate, gemm = flops / of["ours"] / 1e9, 2 * side**3 / of["matmul"] / 1e9
    print(
        f"{name:>11} {m:>7} x {n:<5} {of['ours'] * 1e3:9.2f} {rate:9.1f} {of['peer'] * 1e3:10.2f}"
        f" {of['peer'] / of['ours']:7.2f} {rate / gemm:10.2f}{more}",
        flush=True,
    )


if __name__ == "__main__":
    main()
