"""Products of files larger than memory: hetsched against numpy.memmap and dask.array under the same
hard limit.

Each contender runs in a process of its own, in a memory cgroup of its own: the limit counts
everything, the interpreter and the cached pages of files as well. Before each run the system's
cache of files is dropped, where that is permitted. The contenders take turns; the others with each
of several chunk sizes, of which the best counts. What is timed does not include the imports.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import parser, print_machine

CODE = {
    "hetsched": (
        """
import hetsched as hs
start()
done = hs.matmul_files("A.npy", "B.npy", "C.npy", memory=limit - PROGRAM)
print(done.plan.describe(), file=sys.stderr)
"""
    ),
    "numpy": (
        """
A, B = np.load("A.npy", mmap_mode="r"), np.load("B.npy", mmap_mode="r")
C = np.lib.format.open_memmap("C.npy", "w+", A.dtype, (len(A), B.shape[1]))
start()
np.matmul(A, B, out=C)
C.flush()
"""
    ),
    "numpy slabs": (
        """
A, B = np.load("A.npy", mmap_mode="r"), np.load("B.npy", mmap_mode="r")
C = np.lib.format.open_memmap("C.npy", "w+", A.dtype, (len(A), B.shape[1]))
start()
for row in range(0, len(A), chunk):  # what one would write by hand
    np.matmul(A[row : row + chunk], B, out=C[row : row + chunk])
C.flush()
"""
    ),
    "dask": (
        """
import dask, dask.array as da
A, B = np.load("A.npy", mmap_mode="r"), np.load("B.npy", mmap_mode="r")
C = np.lib.format.open_memmap("C.npy", "w+", A.dtype, (len(A), B.shape[1]))
start()
with dask.config.set(scheduler="threads"):
    tiles = [da.from_array(matrix, chunks=chunk) for matrix in (A, B)]
    da.store(da.matmul(*tiles), C, lock=False)
C.flush()
"""
    ),
    "dask panels": (
        """
import dask, dask.array as da
A, B = np.load("A.npy", mmap_mode="r"), np.load("B.npy", mmap_mode="r")
C = np.lib.format.open_memmap("C.npy", "w+", A.dtype, (len(A), B.shape[1]))
start()
with dask.config.set(scheduler="threads"):
    rows, columns = da.from_array(A, chunks=(chunk, -1)), da.from_array(B, chunks=(-1, chunk))
    da.store(da.matmul(rows, columns), C, lock=False)
C.flush()
"""
    ),
}
CHUNKED = ("numpy slabs", "dask", "dask panels")
FRAME = """
import os, sys, time
import numpy as np
PROGRAM = 80 * 2**20  # the interpreter, NumPy and room for cached pages
limit, chunk = int(sys.argv[1]), int(sys.argv[2])
def start():
    global begin
    begin = time.perf_counter()
{code}
file = os.open("C.npy", os.O_RDONLY)
os.fsync(file)
seconds = time.perf_counter() - begin
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(seconds, int(status["VmHWM"].split()[0]) / 1024)
"""


class Limit:
    """A memory cgroup with a limit: version 1 directly, version 2 by way of systemd-run; else no
    limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.group = limit, Path(f"/sys/fs/cgroup/memory/hetsched-bench-{os.getpid()}")
        self.how = "no limit: cgroups are not permitted here"
        try:
            self.group.mkdir()
            (self.group / "memory.limit_in_bytes").write_text(str(limit))
            self.prefix = ["sh", "-c", f'echo $$ > {self.group}/cgroup.procs; exec "$@"', "sh"]
            self.how = "cgroup v1"
        except OSError:
            self.group, self.prefix = Path("/nonexistent"), []
            scope = [
                "systemd-run",
                "--scope",
                "-q",
                "-p",
                f"MemoryMax={limit}",
                "-p",
                "MemorySwapMax=0",
            ]
            if (
                shutil.which("systemd-run")
                and subprocess.run([*scope, "true"], capture_output=True).returncode == 0
            ):
                self.prefix, self.how = scope, "cgroup v2 by systemd-run"

    def close(self) -> None:
        if self.group.is_dir():
            self.group.rmdir()


def drop_caches() -> None:
    os.sync()
    with contextlib.suppress(OSError):
        Path("/proc/sys/vm/drop_caches").write_text("3")


def run(name: str, limit: Limit, folder: str, chunk: int, timeout: float) -> tuple[float, float]:
    """Seconds and peak resident MiB; infinite seconds for one that was killed, or took longer than
    the timeout."""
    for path in Path(folder).glob("C.npy*"):
        path.unlink()
    drop_caches()
    code = FRAME.format(code=CODE[name])
    command = [*limit.prefix, sys.executable, "-c", code, str(limit.limit), str(chunk)]
    try:
        result = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return float("inf"), 0.0
    if result.returncode:
        print(f"  {name}: status {result.returncode} {result.stderr.strip()[-200:]}")
        return float("inf"), 0.0
    if result.stderr:
        print("  " + result.stderr.strip().replace("\n", "\n  "))
    seconds, peak = map(float, result.stdout.split())
    return seconds, peak


def check(folder: str) -> float:
    """Largest difference of some rows from NumPy's, relative to the largest element."""
    A, B, C = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "ABC")
    rows = np.linspace(0, len(A) - 1, 5).astype(int)
    want = A[rows] @ B
    return float(np.abs(C[rows] - want).max() / np.abs(want).max())


def main() -> None:
    options = parser(__doc__)
    options.add_argument("-n", "--size", type=int, default=8000)
    options.add_argument(
        "--limit",
        type=int,
        default=256,
        metavar="MIB",
        help="of everything a contender takes (default: %(default)s)",
    )
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--chunks", type=int, nargs="*", default=[500, 1000], help="of dask, and rows of a slab"
    )
    options.add_argument("--contenders", nargs="*", default=list(CODE), choices=list(CODE))
    options.add_argument(
        "--folder", default=".", help="where the files go; three of them of size^2 x 8 bytes"
    )
    options.add_argument("--timeout", type=float, default=600.0)
    given = options.parse_args()
    print_machine()
    n, limit = given.size, Limit(given.limit * 2**20)
    flops = 2.0 * n**3
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rng = np.random.default_rng(0)
        for name in "AB":
            matrix = np.lib.format.open_memmap(f"{folder}/{name}.npy", "w+", np.float64, (n, n))
            for row in range(0, n, 500):
                matrix[row : row + 500] = rng.standard_normal((min(500, n - row), n))
            del matrix
        print(
            f"{n} x {n} float64, {3 * 8 * n * n / 1e9:.3g} GB of files, limit {given.limit} MiB"
            f" ({limit.how})",
            flush=True,
        )
        contenders = [
            (name, c)
            for name in given.contenders
            for c in (given.chunks if name in CHUNKED else [0])
        ]
        times: dict[tuple[str, int], list[float]] = {contender: [] for contender in contenders}
        for _ in range(given.rounds):
            for name, chunk in contenders:
                own = times[name, chunk]
                if own and own[-1] == float("inf"):
                    continue  # once is enough
                seconds, peak = run(name, limit, folder, chunk, given.timeout)
                own.append(seconds)
                label = f"{name} {chunk or ''}".strip()
                if seconds == float("inf"):
                    print(f"{label:<16} killed, or longer than {given.timeout:.0f} s", flush=True)
                    continue
                rate = f"{seconds:7.2f} s {flops / seconds / 1e9:7.1f} GFLOP/s"
                print(
                    f"{label:<16} {rate}, resident at most {peak:.0f} MiB, error"
                    f" {check(folder):.0e}",
                    flush=True,
                )
        ours = times.pop(("hetsched", 0))
        for what, of in (("median", statistics.median), ("fastest", min)):
            best = min(times, key=lambda contender: of(times[contender]))
            own, rest = of(ours), of(times[best])
            print(
                f"{what}: hetsched {own:.2f} s, best of the others {best[0]} {best[1] or ''}"
                f" {rest:.2f} s: ratio {rest / own:.2f}"
            )
    limit.close()


if __name__ == "__main__":
    main()
