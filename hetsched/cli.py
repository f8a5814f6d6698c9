"""The command `hetsched`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .errors import EmulationWarning

if TYPE_CHECKING:
    from .product import ProductPlan
    from .trace import Trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status: 0, 1 for an error, 2 for wrong usage, 130 after Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stopped:
        print(f"hetsched: interrupted{stopped}", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        print(f"hetsched: {_sentence(error)}", file=sys.stderr)
        return 1
    return 0


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hetsched", description="Plan, simulate and run dense linear algebra on workers of unequal speed."
    )
    parser.add_argument("--version", action="version", version=f"hetsched {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="multiply real arrays on unequal workers and show what happened")
    demo.add_argument("-o", "--output", default=".", metavar="DIR", help="where the HTML report goes (default: here)")
    demo.add_argument("-n", "--size", type=int, default=4000, help="side of the large product (default: %(default)s)")
    demo.set_defaults(command=_demo)

    info = commands.add_parser("info", help="what multiplies, on which cores, and how many workers are worth starting")
    info.set_defaults(command=_info)

    measure = commands.add_parser(
        "measure",
        help="how fast each core is, by kernel, type and size",
        description="Measure the speed of each core in matrix products, panels of LU factorisations and triangular solves, one "
        "core at a time and all at once. The result is kept, and matmul and lu_factor divide by it.",
    )
    measure.add_argument("--seconds", type=float, default=1.5, metavar="T", help="about how long (default: %(default)s)")
    measure.add_argument("--cores", choices=["auto", "all", "types"], default="auto", help="each core, or one of each type")
    measure.add_argument(
        "--dtype", action="append", metavar="D", help="float32, float64, complex64 or complex128; may be repeated"
    )
    measure.add_argument(
        "--max-age", type=float, metavar="T", help="seconds for which an earlier measurement is good (default: a week)"
    )
    measure.add_argument("--refresh", action="store_true", help="measure anew")
    measure.add_argument("--plot", metavar="FILE", help="draw the speeds: .png, .svg or .pdf")
    measure.add_argument("--json", action="store_true", help="print all of it as JSON")
    measure.set_defaults(command=_measure)

    run = commands.add_parser(
        "run",
        help="multiply two files",
        description="Multiply two .npy files on this machine's cores or on an emulated platform. With --memory also files that "
        "are larger than memory, and HDF5 and .mat files; an interrupted product goes on when the same command is given again.",
    )
    run.add_argument("A", help="left operand: .npy; with --memory also .mat and HDF5 (file.h5:/group/name)")
    run.add_argument("B", help="right operand")
    run.add_argument("-o", "--output", required=True, metavar="C", help="the product; replaced only when complete")
    run.add_argument("--memory", metavar="BYTES", help="read and write tile by tile within this memory, such as 512M or 2G")
    run.add_argument("--dtype", help="with --memory: compute in float32, float64, complex64 or complex128")
    run.add_argument("--platform", metavar="FILE", help="workers and their cycle-times, .toml or .json")
    run.add_argument("--emulate", action="store_true", help="pace the workers as the platform says")
    run.add_argument("--time-scale", type=float, default=1.0, metavar="X", help="emulated: real seconds per platform second")
    run.add_argument("--method", default="auto", help="auto, columns, rows, layers, cuboids or one of partition (default: auto)")
    run.add_argument("--block", type=int, default=1, metavar="Q", help="cut at multiples of Q elements (default: 1)")
    run.add_argument("--trace", metavar="FILE", help="write the trace: .json (Perfetto), .paje or .csv")
    run.set_defaults(command=_run)

    reproduce = commands.add_parser(
        "reproduce",
        help="the numbers of a paper again",
        description="Plan the instances of a paper, print its figures as tables and its claims beside ours. ppopp2008: matrix "
        "product on master-worker platforms, in simulation. static2001: static allocation, with LU on emulated workers. "
        "layers: layer based partition, on stars and meshes.",
    )
    reproduce.add_argument("paper", choices=list(_STUDIES))
    reproduce.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="draw the figures too: .png, .svg or .pdf; a file for each part where there are several",
    )
    reproduce.set_defaults(command=_reproduce)
    return parser


def _measure(given: argparse.Namespace) -> None:
    import json
    from pathlib import Path

    from ._files import replace_file
    from .measure import measure

    kind = Path(given.plot).suffix[1:] if given.plot else ""
    if given.plot and kind not in ("png", "svg", "pdf"):
        raise ValueError(f"--plot must end in .png, .svg or .pdf, got {given.plot!r}")
    options = {"dtypes": given.dtype, "max_age": given.max_age}
    options = {name: value for name, value in options.items() if value is not None}
    found = measure(cores=given.cores, seconds=given.seconds, refresh=given.refresh, **options)
    print(json.dumps(found.record(), indent=1) if given.json else found.table())
    if given.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 5.0), layout="constrained")
        found.plot(figure.add_subplot())
        with replace_file(given.plot) as file:
            figure.savefig(file, format=kind)


def _info(_: argparse.Namespace) -> None:
    from . import _engine
    from .measure import describe, recent
    from .topology import topology
    from .worth import workers_worth

    kernel, host = _engine.kernel(), topology()
    sources = {"c": "hetsched's own", "blis": "BLIS's", "openblas": "OpenBLAS's"}
    kernels = ", ".join(f"{name} {sources[source]} {rows} x {cols}" for name, (source, rows, cols) in kernel["kernels"].items())
    library = "hetsched's own kernels in C" if kernel["name"] == "c" else f"{kernel['name']} {kernel['version']}".strip()
    without = "" if kernel["name"] == "blis" else f" ({kernel['refused'] or 'no BLIS in this build'})"
    lines = [
        ("hetsched", f"{__version__} (engine {_engine.version()})"),
        ("library", library + without),
        ("kernel set", f"{kernel['set']} ({kernel['reason']})"),
        ("micro-kernels", kernels),
        *host.describe(),
        ("speeds", describe(recent(host))),
        ("worth it", workers_worth(4000, 4000, 4000).describe()),
    ]
    width = max(len(label) for label, _ in lines)
    print("\n".join(f"{label:<{width}}  {text}" for label, text in lines))


def _demo(given: argparse.Namespace) -> None:
    from .demo import run_demo

    run_demo(given.output, given.size)


def _load(name: str, path: str) -> np.ndarray[Any, Any]:
    from .files import npy_header

    try:
        with open(path, "rb") as file:
            if file.read(6) == b"\x93NUMPY":
                file.seek(0)
                npy_header(f"{name} ({path})", file)
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} ({path}) is not a complete .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} ({path}) is an archive of arrays, not a .npy file")
    return array


def _run(given: argparse.Namespace) -> None:
    import time
    import warnings
    from pathlib import Path

    from ._files import replace_file
    from .platform import Platform
    from .pool import Pool

    if given.memory is not None:
        _run_files(given)
        return
    if given.dtype is not None:
        raise ValueError("--dtype needs --memory")
    if given.emulate and not given.platform:
        raise ValueError("--emulate needs --platform: it says how fast each worker is")
    writers = {".json": "to_chrome", ".paje": "to_paje", ".csv": "to_csv"}
    if given.trace and Path(given.trace).suffix not in writers:
        raise ValueError(f"--trace must end in {', '.join(writers)}, got {given.trace!r}")
    platform = Platform.load(given.platform) if given.platform else None
    a, b = _load("A", given.A), _load("B", given.B)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"A and B must be matrices, their shapes are {a.shape} and {b.shape}")
    with (
        Pool(platform, emulate=given.emulate, time_scale=given.time_scale) as pool,
        warnings.catch_warnings(record=True) as caught,
        replace_file(given.output) as file,
    ):
        warnings.simplefilter("always", EmulationWarning)
        start = time.perf_counter()
        with ProgressBar() as bar:
            product, trace = pool.matmul(a, b, method=given.method, block=given.block, trace=True, progress=bar.update)
        seconds = time.perf_counter() - start
        np.lib.format.write_array(file, product, allow_pickle=False)
        m, n = product.shape
        plan = pool.plan(m, n, a.shape[1], dtype=product.dtype, method=given.method, block=given.block)
    if given.trace:
        getattr(trace, writers[Path(given.trace).suffix])(given.trace)

    flops = float(plan.flops.sum())
    print(f"{given.output}: {m} x {n} {product.dtype}, {seconds:.3g} s, {flops / seconds / 1e9:.4g} GFLOP/s")
    if given.emulate:
        print(worker_table(plan, trace))
        print(f"makespan: predicted {trace.predicted:.4f} s, measured {trace.makespan:.4f} s; plan: {plan.certificate()}")
    for warning in caught:
        print(f"hetsched: warning: {warning.message}", file=sys.stderr)


#: Papers that are reproduced: of each part its name, the module and the function.
_STUDIES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ppopp2008": (("all", "reproduce", "reproduce_ppopp2008"),),
    "static2001": (("all", "reproduce_static", "reproduce_static2001"),),
    "layers": (("star", "reproduce_layers", "reproduce_star"), ("mesh", "reproduce_mesh", "reproduce_layers_mesh")),
}


def _reproduce(given: argparse.Namespace) -> None:
    from importlib import import_module
    from pathlib import Path

    from ._files import replace_file

    output = Path(given.output or "none.png")
    if output.suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--output must end in .png, .svg or .pdf, got {given.output!r}")
    parts = _STUDIES[given.paper]
    for name, module, function in parts:
        study = getattr(import_module(f".{module}", __package__), function)()
        print(study, flush=True)
        if given.output:
            with replace_file(output if len(parts) == 1 else output.with_stem(f"{output.stem}-{name}")) as file:
                study.plot().savefig(file, format=output.suffix[1:])


def _run_files(given: argparse.Namespace) -> None:
    from .outofcore import matmul_files, plan_files
    from .platform import Platform
    from .pool import Pool

    for option, value, usual in (
        ("--emulate", given.emulate, False), ("--trace", given.trace, None), ("--method", given.method, "auto"),
        ("--block", given.block, 1), ("--time-scale", given.time_scale, 1.0),
    ):  # fmt: skip
        if value != usual:
            raise ValueError(f"{option} is for products in memory, without --memory")
    arguments = {"memory": given.memory, "dtype": given.dtype}
    with Pool(Platform.load(given.platform) if given.platform else None) as pool:
        plan = plan_files(given.A, given.B, given.output, pool=pool, **arguments)
        print(plan.describe(), flush=True)
        with ProgressBar() as bar, _PeakMemory() as memory:
            try:
                done = matmul_files(given.A, given.B, given.output, pool=pool, progress=bar.update, **arguments)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("; the same command goes on where this one stopped") from None
    m, n, _ = done.plan.shape
    rate = done.flops / done.seconds / 1e9
    print(f"{given.output}: {m} x {n} {done.plan.dtype}, {done.seconds:.3g} s, {rate:.4g} GFLOP/s")
    if done.resumed:
        print(f"resumed: {done.resumed} of {done.tiles} tiles were done already")
    peak = "not known" if memory.peak is None else f"{memory.peak / 2**20:.4g} MiB"
    print(
        f"read {done.bytes_read / 1e9:.4g} GB, wrote {done.bytes_written / 1e9:.4g} GB; "
        f"peak memory {peak} (predicted {done.plan.peak / 2**20:.4g} MiB)"
    )


class _PeakMemory:
    """`peak`: most bytes that the process took in the block beside what it had before; None where the system does not say."""

    peak: int | None = None

    def __enter__(self) -> _PeakMemory:
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts anew
        self._before = self._read("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        after = self._read("VmHWM")
        if self._before is not None and after is not None:
            self.peak = after - self._before

    @staticmethod
    def _read(key: str) -> int | None:
        try:
            with open("/proc/self/status") as file:
                return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))
        except (OSError, StopIteration):
            return None


def worker_table(plan: ProductPlan, trace: Trace) -> str:
    """Predicted against measured ends, one line per worker."""
    predicted = trace.predicted_finish or (0.0,) * len(plan.names)
    whole = float(plan.flops.sum()) or 1.0
    width = max(6, *(len(name) for name in plan.names))
    lines = [f"{'worker':<{width}}  cycle-time   share  predicted   measured  difference"]
    for i, name in enumerate(plan.names):
        p, m = predicted[i], trace.finish[i]
        difference = f"{m / p - 1:+10.2%}" if p > 0 else f"{'-':>10}"
        share, time = plan.flops[i] / whole, plan.cycle_times[i]
        lines.append(f"{name:<{width}}  {time:10.4g}  {share:6.1%}  {p:7.4f} s  {m:7.4f} s  {difference}")
    return "\n".join(lines)


class ProgressBar:
    """A tqdm bar for work that takes longer than a second; nothing where tqdm or the terminal is missing."""

    def __enter__(self) -> ProgressBar:
        try:
            from tqdm import tqdm
        except ImportError:
            self._bar = None
        else:
            self._bar = tqdm(
                total=1.0,
                disable=None,
                delay=1.0,
                leave=False,
                bar_format="{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left",
            )
        return self

    def update(self, fraction: float) -> None:
        """Show that this fraction of the work is done; the first call may say what had been done before."""
        if self._bar is not None:
            if self._bar.n == 0:
                self._bar.initial = fraction
            self._bar.update(fraction - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


if __name__ == "__main__":
    sys.exit(main())
