"""ScaLAPACK (libscalapack-openmpi-dev) as a peer: the program of scalapack.c, which times pdgemm
and pdgetrf."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

#: Residuals in units of n times rounding; a wrong block gives 1e10 and more.
WRONG = 100.0


class Setting(NamedTuple):
    """Processes in rows and columns, and the side of a block."""

    rows: int
    cols: int
    block: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.cols}, blocks of {self.block}"


def grids(size: int) -> list[tuple[int, int]]:
    """All grids of a number of processes, the squarest ones first."""
    found = [(rows, size // rows) for rows in range(1, size + 1) if size % rows == 0]
    return sorted(found, key=lambda grid: (abs(grid[0] - grid[1]), grid))


def build(place: str | Path) -> str:
    """The program, built in a folder; RuntimeError where that cannot be done."""
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("mpirun") is None:
        raise RuntimeError("no cc" if compiler is None else "no mpirun: apt install openmpi-bin")
    program = str(Path(place, "scalapack"))
    source = str(Path(__file__).with_name("scalapack.c"))
    done = subprocess.run(
        [compiler, "-O2", source, "-lscalapack-openmpi", "-lblas", "-lm", "-o", program],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError("scalapack.c does not link: apt install libscalapack-openmpi-dev")
    return program


def command(
    program: str, kind: str, n: int, setting: Setting, rounds: int, *, from_root: bool = False
) -> list[str]:
    """What mpirun is given: `kind` is "product" or "lu"."""
    rows, cols, block = setting
    return [program, kind, *map(str, (n, block, rows, cols, rounds, int(from_root)))]


def seconds_of(printed: str) -> list[float]:
    """Of each round; RuntimeError where the result was wrong."""
    *times, residual = map(float, printed.split())
    if not residual < WRONG or min(times, default=-1.0) <= 0:
        raise RuntimeError(f"ScaLAPACK's result is wrong: residual {residual:g}")
    return times


def blas_folders() -> dict[str, str]:
    """Debian's libraries by name, as folders for LD_LIBRARY_PATH."""
    found = {}
    for name in ("openblas-pthread", "openblas-serial", "blis-pthread"):
        places = [path.parent for path in Path("/usr/lib").glob(f"*/{name}/libblas.so.3")]
        if places:
            found[name] = str(places[0])
    return found


def environment(blas: str) -> dict[str, str]:
    """Another of Debian's BLAS under a program that is linked with libblas.so.3."""
    return {"LD_LIBRARY_PATH": blas_folders()[blas]}
