"""`hetsched bench`: times on this machine, compared with NumPy and with another day or commit."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.progress import ProgressBar
from .._base.regular import read_text
from .._base.replace import replace_file
from .._base.table import table
from .._base.version import __version__
from .announcing import announcing
from .output import require_output

_EXAMPLES = """examples:
  hetsched bench                                  products and solves against NumPy, 10 s
  hetsched bench --sizes 1000 4000 --dtype float32
  hetsched bench -o before.json                   then, after a change or on another day:
  hetsched bench -o after.json --compare before.json
"""
_FORMAT = "hetsched bench 1"
_PAUSE = 0.1  # seconds before a call: threads of the library before it spin for up to 30 ms

Array = NDArray[Any]


class Case(NamedTuple):
    """A computation to time, by hetsched and, if it has the same, by NumPy."""

    name: str
    ours: Callable[[], object]
    numpy: Callable[[], object] | None


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "bench",
        help="measure times on this machine and compare them with NumPy or an earlier run",
        description=(
            "Time products, factorisations and planners, alternating with NumPy. Print medians"
            " and ratios. With -o and --compare, compare with an earlier run, for example of"
            " another commit."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[500, 1000, 2000],
        metavar="N",
        help="sizes of the matrices",
    )
    parser.add_argument(
        "--dtype", default="float64", metavar="D", help="dtype of the matrices (default: float64)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        metavar="R",
        help="calls per case; the median is reported (default: 5)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the times as JSON")
    parser.add_argument(
        "--compare", metavar="FILE", help="compare with the times in a file written by -o"
    )
    parser.add_argument("--json", action="store_true", help="print the times as JSON")
    parser.set_defaults(command=_bench)


def _bench(given: argparse.Namespace) -> None:
    rounds = check.integer("--rounds", given.rounds, low=1, high=10**6)
    sizes = [check.integer("--sizes", n, low=1, high=10**5) for n in given.sizes]
    dtype = check.dtype(
        given.dtype,
        [np.dtype(d) for d in ("float32", "float64", "complex64", "complex128")],
        "--dtype",
    )
    if given.output:
        require_output("--output", given.output)
    before = _read(given.compare) if given.compare else {}
    times: dict[str, dict[str, float]] = {}
    rows = [
        (
            "",
            "hetsched",
            "NumPy",
            "NumPy / hetsched",
            *(["before", "before / now"] if before else []),
        )
    ]
    what = f"timing products, solves and planners, {rounds} rounds of each"
    with announcing(what, given.quiet), closing(ProgressBar()) as bar:
        cases = list(_cases(sizes, dtype))
        for done, case in enumerate(cases, 1):
            times[case.name] = own = _timed(case, rounds)
            rows.append((case.name, *_cells(own, before.get(case.name), bool(before))))
            bar.update(done / len(cases))
    content = {
        "format": _FORMAT,
        "hetsched": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": _machine(),
        "dtype": dtype.name,
        "rounds": rounds,
        "seconds": times,
    }
    if given.output:
        with replace_file(given.output) as file:
            file.write((json.dumps(content, indent=1) + "\n").encode())
    if given.json:
        print(json.dumps(content, indent=1))
    else:
        print(
            f"{_machine()}; hetsched {__version__}, NumPy {np.__version__}; {dtype.name},"
            f" medians of {rounds}"
        )
        print(table(rows, "<>"))


def _machine() -> str:
    from ..machine.topology import topology

    host = topology()
    return (
        f"{host.model or platform.machine()},"
        f" {host.worth} workers on {host.cpus} of {host.online} cpus"
    )


def _read(path: str) -> dict[str, dict[str, float]]:
    """Read the times from a file of this command."""
    try:
        content = json.loads(read_text(path))
        if content["format"] != _FORMAT:
            raise KeyError("format")
        return {
            name: {who: float(t) for who, t in own.items()}
            for name, own in content["seconds"].items()
        }
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ValueError(
            f"--compare: {path} was not written by hetsched bench -o ({type(error).__name__}:"
            f" {error})"
        ) from None


def _cases(sizes: list[int], dtype: np.dtype[Any]) -> Iterator[Case]:
    import hetsched as hs

    rng = np.random.default_rng(0)
    for n in sizes:
        A: Array = rng.standard_normal((n, n)).astype(dtype)
        S: Array = A @ A.conj().T + n * np.eye(n, dtype=dtype)
        b: Array = A[:, 0].copy()
        yield Case(f"matmul {n}", lambda A=A: hs.matmul(A, A), lambda A=A: A @ A)  # type: ignore[misc]
        yield Case(f"gram {n}", lambda A=A: hs.gram(A), lambda A=A: A @ A.conj().T)  # type: ignore[misc]
        yield Case(
            f"solve {n}",
            lambda A=A, b=b: hs.solve(A, b),  # type: ignore[misc]
            lambda A=A, b=b: np.linalg.solve(A, b),  # type: ignore[misc]
        )
        yield Case(f"cholesky {n}", lambda S=S: hs.cholesky(S), lambda S=S: np.linalg.cholesky(S))  # type: ignore[misc]
        yield Case(f"qr {n}", lambda A=A: hs.qr(A, mode="economic"), lambda A=A: np.linalg.qr(A))  # type: ignore[misc]
    speeds = rng.lognormal(size=100_000)
    yield Case("distribute, 100000 workers", lambda: hs.distribute(10**9, speeds=speeds), None)
    yield Case(
        "partition by columns, 100000 workers", lambda: hs.partition(speeds, "columns"), None
    )
    yield Case("partition, 8 workers", lambda: hs.partition(speeds[:8]), None)
    yield Case(
        "slice_ring, 13 workers",
        lambda: hs.slice_ring(hs.datasets.strasbourg(), work=100, volume=1),
        None,
    )


def _timed(case: Case, rounds: int) -> dict[str, float]:
    """Median times of alternating calls. The first call of each does not count."""
    sides = {"hetsched": case.ours, **({} if case.numpy is None else {"numpy": case.numpy})}
    seconds: dict[str, list[float]] = {who: [] for who in sides}
    for k in range(rounds + 1):
        for who, call in sides.items():
            time.sleep(_PAUSE if len(sides) > 1 else 0.0)
            start = time.perf_counter()
            call()
            if k:
                seconds[who].append(time.perf_counter() - start)
    return {who: statistics.median(found) for who, found in seconds.items()}


def _cells(
    own: dict[str, float], before: dict[str, float] | None, compared: bool
) -> tuple[str, ...]:
    ours, peer = own["hetsched"], own.get("numpy")
    cells = [
        _time(ours),
        "" if peer is None else _time(peer),
        "" if peer is None else f"{peer / ours:.2f}",
    ]
    if compared:
        known = before is not None and before.get("hetsched")
        cells += [_time(known), f"{known / ours:.2f}"] if known else ["", ""]
    return tuple(cells)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
