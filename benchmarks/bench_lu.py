"""hetsched.lu_factor against scipy.linalg.lu_factor, StarPU and ScaLAPACK, in one run, with equal
numbers of threads, and beside our own dgemm.

SciPy's OpenBLAS is told the kernels that are fastest for its dgemm here (it does not know every
processor). The libraries take turns: a pause until the last one's threads have gone to sleep, one
call to warm up, then timed calls. Rates are of the fastest call of each (what a busy machine leaves
of it). Input by columns, both look for NaN.

StarPU is its lu_implicit_example (Debian's starpu-examples), which does not pivot, with the block
size that is fastest; ScaLAPACK is pdgetrf (libscalapack-openmpi-dev, openmpi-bin) with a process
for each thread, built from scalapack.c. Both use the system's BLAS, one thread per worker. Those
that are not there are left out.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import peer_scalapack
from common import parser, print_machine, threads_text, turns
from peer_blas import peer_environment


def output_of(command: list[str], environment: dict[str, str]) -> str:
    """What a peer prints; "" if it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def starpu_example(name: str) -> str | None:
    """Where Debian's starpu-examples or the PATH has a program."""
    places = [Path(path) for path in ("/usr/lib", "/usr/local/lib") if Path(path).exists()]
    return shutil.which(name) or next(
        (str(path) for place in places for path in place.glob(f"**/starpu/examples/{name}")), None
    )


def starpu_environment(threads: int, scheduler: str, home: str) -> dict[str, str]:
    """CPU workers only; what StarPU learns of its tasks is kept in `home`."""
    return peer_environment(
        STARPU_NCPU=str(threads),
        STARPU_NCUDA="0",
        STARPU_NOPENCL="0",
        STARPU_SILENT="1",
        STARPU_SCHED=scheduler,
        STARPU_HOME=home,
    )


def starpu(dtype: str, threads: int) -> Callable[[int], float] | str:
    """GFLOP/s of one factorisation of n x n, or why there is none."""
    kind = {"float64": "double", "float32": "float"}.get(dtype)
    name = f"lu_implicit_example_{kind}"
    found = starpu_example(name)
    if kind is None or found is None:
        return f"no {name}: apt install starpu-examples" if kind else f"not for {dtype}"
    # removed with the function that is returned
    home = tempfile.TemporaryDirectory(prefix="starpu-")
    environment = starpu_environment(threads, "lws", home.name)
    best: dict[int, int] = {}

    def rate(n: int, blocks: int) -> float:
        lines = output_of([found, "-size", str(n), "-nblocks", str(blocks)], environment).split(
            "\n"
        )
        return max(
            (
                float(line.split()[2])
                for line in lines
                if line[:1].isdigit() and len(line.split()) == 3
            ),
            default=0.0,
        )

    def run(n: int, _: object = home) -> float:
        if n not in best:
            choices = [b for b in range(2, n) if n % b == 0 and 90 <= n // b <= 500]
            choices = sorted(choices, key=lambda b: abs(n / b - 250))[:3] or [1]
            best[n] = max(choices, key=lambda b: rate(n, b))
        return rate(n, best[n])

    return run


def scalapack(dtype: str, threads: int) -> Callable[[int], float] | str:
    """GFLOP/s of one factorisation of n x n, or why there is none."""
    if dtype != "float64":
        return f"not for {dtype}"
    place = tempfile.TemporaryDirectory(prefix="scalapack-")
    try:
        program = peer_scalapack.build(place.name)
    except RuntimeError as error:
        return str(error)
    environment = peer_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    rows, cols = peer_scalapack.grids(threads)[0]

    def run(n: int, _: object = place) -> float:
        setting = peer_scalapack.Setting(rows, cols, 64 if n < 2000 else 96)
        words = peer_scalapack.command(program, "lu", n, setting, 3 if n <= 3000 else 1)
        printed = output_of(["mpirun", "--oversubscribe", "-n", str(threads), *words], environment)
        return 2 / 3 * n**3 / min(peer_scalapack.seconds_of(printed)) / 1e9 if printed else 0.0

    return run


PEERS = {"starpu": starpu, "scalapack": scalapack}


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[500, 1000, 3000, 6000, 10000],
        help="n = 10000 needs 4 GB",
    )
    options.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options.add_argument("--dtype", default="float64")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    options.add_argument(
        "--peer-rounds",
        type=int,
        default=3,
        help="of the rounds, those in which the peers take part",
    )
    given = options.parse_args()

    import numpy as np
    from scipy.linalg import lu_factor
    from threadpoolctl import threadpool_limits

    import hetsched as hs
    from hetsched._engine import dtypes

    print_machine("SciPy")
    rng = np.random.default_rng(0)
    work = dtypes.flops_per_update(np.dtype(given.dtype)) / 3
    for threads in given.threads:
        print(
            f"\n{given.dtype}, {threads_text(threads)}: GFLOP/s; ratio to SciPy (of medians),"
            " share of our dgemm"
        )
        peers: dict[str, Callable[[int], float]] = {}
        for name in given.peers:
            made = PEERS[name](given.dtype, threads)
            if isinstance(made, str):
                print(f"{name}: {made}")
            else:
                peers[name] = made
        heads = " ".join(f"{name:>9}" for name in ("hetsched", "scipy", "matmul", *peers))
        print(f"{'n':>6} {heads}   ratio  (medians)   share")
        with threadpool_limits(threads, user_api="blas"), hs.Pool(threads) as pool:
            for n in given.sizes:
                a = np.asfortranarray(rng.standard_normal((n, n)).astype(given.dtype))
                out = np.empty_like(a)
                calls = {
                    "hetsched": partial(pool.lu_factor, a),
                    "scipy": partial(lu_factor, a),
                    "matmul": partial(pool.matmul, a, a, out=out),
                }
                times: dict[str, list[float]] = {name: [] for name in calls}
                repeats = max(1, min(20, int(6e10 / n**3)))
                others = dict.fromkeys(peers, 0.0)
                for turn in range(given.rounds):
                    for name, own in turns(calls, 1, repeats).items():
                        times[name] += own
                    for name, peer in peers.items() if turn < given.peer_rounds else ():
                        others[name] = max(others[name], peer(n))
                best = {name: min(own) for name, own in times.items()}
                middle = {name: statistics.median(own) for name, own in times.items()}
                rate = {name: work * n**3 / t / 1e9 for name, t in best.items()}
                rate["matmul"] *= 3
                ratio = rate["hetsched"] / rate["scipy"]
                medians = middle["scipy"] / middle["hetsched"]
                share = rate["hetsched"] / rate["matmul"]
                rates = " ".join(f"{value:9.1f}" for value in (*rate.values(), *others.values()))
                print(
                    f"{n:>6} {rates}   {ratio:5.3f}   ({medians:5.3f})   {share:5.3f}", flush=True
                )


if __name__ == "__main__":
    main()
