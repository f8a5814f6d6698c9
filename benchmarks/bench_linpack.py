"""The Linpack benchmark: hetsched on its maps beside HPL, on the ranks of this machine.

HPL is the one in HPCC (Debian: `apt-get install hpcc`), with the BLAS that is installed for it, one
thread for each rank. It runs every process grid and block size of the lists below. hetsched runs
every map for the same block sizes. The programs take turns; for each, the configuration with the
best median counts. A figure counts only with the load of the machine beside it.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from common import parser, print_machine

MAPS = "cyclic", "columns"
LINE = re.compile(r"^W\S{7} +(\d+) +(\d+) +(\d+) +(\d+) +(\S+) +(\S+)$", re.M)
VERDICT = re.compile(r"\.{6} (PASSED|FAILED)$", re.M)
ALONE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
}

INPUT = """HPLinpack benchmark input file
written by bench_linpack.py
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}          Ns
{blocks}     # of NBs
{nbs}        NBs
0            PMAP process mapping (0=Row-,1=Column-major)
{grids}      # of process grids (P x Q)
{ps}         Ps
{qs}         Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def hpl(ranks: int, n: int, nbs: list[int]) -> dict[str, float]:
    """Gflops of each grid and block size."""
    grids = [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0]
    text = INPUT.format(
        n=n,
        blocks=len(nbs),
        nbs=" ".join(map(str, nbs)),
        grids=len(grids),
        ps=" ".join(str(p) for p, _ in grids),
        qs=" ".join(str(q) for _, q in grids),
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hpccinf.txt").write_text(text)
        command = ["/usr/bin/mpiexec", "--oversubscribe", "-n", str(ranks), "hpcc"]
        subprocess.run(
            command, cwd=folder, check=True, env=os.environ | ALONE, stdout=subprocess.DEVNULL
        )
        return found_in(Path(folder, "hpccoutf.txt").read_text(errors="replace"))


def hetsched(ranks: int, n: int, nbs: list[int]) -> dict[str, float]:
    """Gflops of each map and block size."""
    beside = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    start = [shutil.which("mpiexec", path=beside) or "mpiexec", "--oversubscribe"]
    found = {}
    for name in MAPS:
        for nb in nbs:
            options = "--n", str(n), "--nb", str(nb), "--map", name
            program = sys.executable, "-m", "hetsched", "linpack", *options
            done = subprocess.run(
                [*start, "-n", str(ranks), *program],
                check=True,
                capture_output=True,
                text=True,
                env=os.environ | ALONE,
            )
            found |= {f"{name} {key}": value for key, value in found_in(done.stdout).items()}
    return found


def found_in(text: str) -> dict[str, float]:
    """Gflops by grid and block size, from lines in the form of HPL."""
    verdicts = VERDICT.findall(text)
    lines = LINE.findall(text)
    if not lines or "FAILED" in verdicts:
        raise RuntimeError(f"no result, or a wrong one:\n{text[-2000:]}")
    return {f"{p} x {q}, NB {nb}": float(gflops) for _, nb, p, q, _, gflops in lines}


def load() -> float:
    return os.getloadavg()[0]


def main() -> None:
    made = parser(__doc__, quick=True)
    made.add_argument("--n", type=int, default=4000, help="order (default: %(default)s)")
    made.add_argument("--nb", type=int, nargs="+", default=[64, 128, 192], help="block sizes")
    made.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    made.add_argument("--rounds", type=int, default=3, help="turns (default: %(default)s)")
    given = made.parse_args()
    if given.quick:
        given.n, given.nb, given.rounds = 500, [64], 1
    programs = {"hetsched": hetsched} | ({"HPL": hpl} if shutil.which("hpcc") else {})
    print_machine()
    for ranks in given.ranks:
        speeds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        loads = [load()]
        for _ in range(given.rounds):
            for name, program in programs.items():
                for key, gflops in program(ranks, given.n, given.nb).items():
                    speeds[name][key].append(gflops)
                loads.append(load())
        print(f"{ranks} ranks, n = {given.n}, load {min(loads):.1f} to {max(loads):.1f}")
        for name, own in speeds.items():
            for key, found in sorted(own.items(), key=lambda pair: -statistics.median(pair[1])):
                middle = statistics.median(found)
                spread = f"({min(found):.1f} to {max(found):.1f})"
                print(f"  {name:8} {key:26} {middle:7.1f} Gflops  {spread}")


if __name__ == "__main__":
    main()
