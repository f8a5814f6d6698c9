"""`hetsched run`: multiply the matrices of two files."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .._base import check
from .._base.replace import replace_file, require_others, require_replaceable
from .._engine.dtypes import DTYPES
from ..errors import EmulationWarning
from ..files.matrices import read_matrix, split_name
from ..files.product import matmul_files, plan_files
from ..machine import linux
from ..platform import Platform
from ..runners.pool import Pool
from .output import require_trace, worker_table, write_trace
from .streams import say


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    run = commands.add_parser(
        "run",
        help="multiply the matrices of two files",
        description=(
            "Multiply the matrices of two files (.npy, HDF5 or .mat) on this machine's cores or on"
            " an emulated platform. With --memory the files may be larger than memory, and the same"
            " command continues an interrupted product."
        ),
    )
    run.add_argument(
        "A", help="left operand: .npy, .mat (file.mat:name) or HDF5 (file.h5:/group/name)"
    )
    run.add_argument("B", help="right operand")
    run.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="C",
        help=(
            "file for the product: .npy, with --memory also .mat or HDF5; replaced only when the"
            " product is complete"
        ),
    )
    run.add_argument(
        "--memory",
        metavar="BYTES",
        help="read and write tile by tile within this memory, such as 512M or 2G",
    )
    run.add_argument(
        "--dtype", help="with --memory: compute in float32, float64, complex64 or complex128"
    )
    run.add_argument(
        "--platform", metavar="FILE", help="workers and their cycle-times, .toml or .json"
    )
    run.add_argument(
        "--emulate", action="store_true", help="make each worker as slow as the platform says"
    )
    run.add_argument(
        "--time-scale",
        type=float,
        default=1.0,
        metavar="X",
        help="with --emulate: real seconds per platform second",
    )
    run.add_argument(
        "--method",
        default="auto",
        help="auto, columns, rows, layers, cuboids or a method of partition (default: auto)",
    )
    run.add_argument(
        "--block",
        type=int,
        default=1,
        metavar="Q",
        help="cut at multiples of Q elements (default: 1)",
    )
    run.add_argument(
        "--trace",
        metavar="FILE",
        help="write the trace: .json (Perfetto), .html (a browser), .paje, .csv or a picture",
    )
    run.set_defaults(command=_run)


def _run(given: argparse.Namespace) -> None:
    if given.memory is not None:
        _run_files(given)
        return
    if Path(given.output).suffix.lower() != ".npy":
        raise ValueError(
            f"--output ({given.output}) must end in .npy;"
            " with --memory, .mat and HDF5 are allowed too"
        )
    if given.dtype is not None:
        raise ValueError("--dtype needs --memory")
    if given.time_scale != 1.0 and not given.emulate:
        raise ValueError("--time-scale needs --emulate")
    for option, path in (("--platform", given.platform), ("--trace", given.trace)):
        if path is not None:
            check.path(option, path)
    if given.emulate and not given.platform:
        raise ValueError("--emulate needs --platform, which says how fast each worker is")
    inputs = {"A": split_name(given.A)[0], "B": split_name(given.B)[0]}
    require_replaceable(given.output)
    require_others("--output", given.output, inputs)
    if given.trace:
        require_trace("--trace", given.trace)
        require_others(
            "--trace",
            given.trace,
            inputs | ({"--platform": given.platform} if given.platform else {}),
        )
        if os.path.realpath(given.trace) == os.path.realpath(given.output):
            raise ValueError(
                f"--trace and --output are the same file, {given.output};"
                " give --trace a name of its own"
            )
    platform = Platform.load(given.platform) if given.platform else None
    a, b = read_matrix("A", given.A), read_matrix("B", given.B)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"A and B must be matrices, got shapes {a.shape} and {b.shape}")
    planned = (
        np.result_type(a, b) in DTYPES
        or given.emulate
        or given.trace
        or (given.method, given.block) != ("auto", 1)
    )
    plan = trace = None
    with (
        Pool(platform, emulate=given.emulate, time_scale=given.time_scale) as pool,
        warnings.catch_warnings(record=True) as caught,
        replace_file(given.output) as file,
    ):
        warnings.simplefilter("always", EmulationWarning)
        start = time.perf_counter()
        if planned:
            product, trace = pool.matmul(
                a, b, method=given.method, block=given.block, trace=True, progress=True
            )
        else:
            product = pool.matmul(a, b, progress=True)
        seconds = trace.makespan if trace is not None else time.perf_counter() - start
        np.lib.format.write_array(file, product, allow_pickle=False)
        m, n = product.shape
        if planned:
            plan = pool.plan(
                m, n, a.shape[1], dtype=product.dtype, method=given.method, block=given.block
            )
    if given.trace and trace is not None:
        write_trace(trace, given.trace)

    rate = "" if plan is None else f", {float(plan.flops.sum()) / seconds / 1e9:.4g} GFLOP/s"
    print(f"{given.output}: {m} x {n} {product.dtype}, {seconds:.3g} s{rate}")
    if given.emulate and plan is not None and trace is not None:
        print(worker_table(plan, trace))
        print(
            f"makespan: predicted {trace.predicted:.4f} s, measured {trace.makespan:.4f} s; plan:"
            f" {plan.certificate}"
        )
    for warning in caught:
        say(f"warning: {warning.message}")


def _run_files(given: argparse.Namespace) -> None:
    for option, value, usual in (
        ("--emulate", given.emulate, False),
        ("--trace", given.trace, None),
        ("--method", given.method, "auto"),
        ("--block", given.block, 1),
        ("--time-scale", given.time_scale, 1.0),
    ):
        if value != usual:
            raise ValueError(f"{option} is for products in memory and cannot be used with --memory")
    arguments = {"memory": given.memory, "dtype": given.dtype}
    with Pool(Platform.load(given.platform) if given.platform else None) as pool:
        plan = plan_files(given.A, given.B, given.output, pool=pool, **arguments)
        print(plan.describe(), flush=True)
        with _PeakMemory() as memory:
            try:
                done = matmul_files(
                    given.A, given.B, given.output, pool=pool, progress=True, **arguments
                )
            except KeyboardInterrupt:
                raise KeyboardInterrupt("; run the same command again to continue") from None
    m, n, _ = done.plan.shape
    rate = done.flops / done.seconds / 1e9
    print(f"{given.output}: {m} x {n} {done.plan.dtype}, {done.seconds:.3g} s, {rate:.4g} GFLOP/s")
    if done.resumed:
        print(f"resumed: {done.resumed} of {done.tiles} tiles were already done")
    peak = "unknown" if memory.peak is None else f"{memory.peak / 2**20:.4g} MiB"
    print(
        f"read {done.bytes_read / 1e9:.4g} GB, wrote {done.bytes_written / 1e9:.4g} GB; "
        f"peak memory {peak} (predicted {done.plan.peak / 2**20:.4g} MiB)"
    )


class _PeakMemory:
    """`peak`: most bytes that the process used in the block, beyond its use before the block.

    None if the system does not report it, or does not let the process reset it.
    """

    peak: int | None = None

    def __enter__(self) -> _PeakMemory:
        self._before = None
        with contextlib.suppress(OSError):
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # resets the peak
            self._before = self._read("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        after = self._read("VmHWM")
        if self._before is not None and after is not None:
            self.peak = after - self._before

    @staticmethod
    def _read(key: str) -> int | None:
        kibibytes = linux.natural(
            linux.value(linux.read("/", "proc/self/status"), key).removesuffix("kB")
        )
        return None if kibibytes is None else 1024 * kibibytes
