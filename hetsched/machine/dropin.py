"""The drop-in library, which programs call as their BLAS and LAPACK without change: its path and
its settings."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

import numpy as np

from .._base import check
from .._engine.blas import library as library
from .._engine.blas import report_of
from .._engine.kernels import Blocking
from .blocks import gangs
from .least import checked, kept
from .measure import recent
from .preload import preloaded
from .topology import topology


def environment(
    *,
    threads: int | None = None,
    least: str | None = None,
    behind: str | int | None = None,
    report: bool | str | os.PathLike[str] = False,
    explain: bool = False,
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment for a program in which the drop-in library comes before its BLAS.

    Parameters
    ----------
    threads : int, optional
        The largest number of workers. Default: one for each core, at most the thread limit. There
        are never more than the CPU quota makes worthwhile at the time of a call.
    least : str, optional
        Multiply-adds from which the engine computes a call, such as "1e6" or "gemm=1e6,dgetrf=3e5".
        Default: the measured values, or else the library's own.
    behind : {"auto", "own"} or int, optional
        Threads of the program's own library in the calls that it computes: as many as are good at
        that moment, as many as the program asked for, or at most this number. Never more than the
        program asked for. Default: that of `given`, or "auto".
    report : bool or path
        Print tables of the calls when a process ends by itself. Or the directory in which each
        process keeps its counts as a file, which `report` reads. They are complete however the
        process ends.
    explain : bool
        Print for each kind of call, once, where it goes and why, when it happens.
    given : mapping, optional
        The environment to add to. Default: the environment of this process.

    Raises
    ------
    ValueError
        The message names the argument.
    OSError
        There is no drop-in library, or the system's loader does not load it. Or no file can be made
        in the directory of `report`, or of HETSCHED_BLAS_REPORT in `given`.
    """
    made = dict(os.environ if given is None else given)
    host = topology()
    if threads is None:
        count = host.most_workers
    else:
        count = min(check.integer("threads", threads, low=1), len(host.candidates))
    made["LD_PRELOAD"] = ":".join(
        [preloaded(library(), made), *filter(None, [made.get("LD_PRELOAD")])]
    )
    cores = host.candidates[: max(count, len(host.groups()))]
    there = [cpu for cpu in cores if cpu not in host.absent]
    made["HETSCHED_BLAS_CORES"] = ",".join(map(str, there))
    for name in ("WORKERS", "DOMAINS", "BLOCKS", "SPEEDS"):
        # of other cpus, if this process itself was started by `hetsched exec`
        made.pop(f"HETSCHED_BLAS_{name}", None)
    if count < len(there):
        made["HETSCHED_BLAS_WORKERS"] = str(count)
    blocks, of = gangs(host, [host.domain_of(cpu) for cpu in there])
    if blocks and of:
        made["HETSCHED_BLAS_DOMAINS"] = ",".join(map(str, of))
        made["HETSCHED_BLAS_BLOCKS"] = ";".join(map(_text, blocks))
    found = recent(host)
    if found is not None and found.cpus == tuple(there):
        speeds = found.relative(np.float64)
        if speeds is not None:
            made["HETSCHED_BLAS_SPEEDS"] = ",".join(f"{speed:.6g}" for speed in speeds)
    least = kept(host) if least is None else checked(least)
    if least:
        made["HETSCHED_BLAS_LEAST"] = least
    if behind is not None:
        made["HETSCHED_BLAS_BEHIND"] = _behind(behind)
    if report:
        made["HETSCHED_BLAS_REPORT"] = "1" if report is True else os.path.abspath(report)
    if os.sep in made.get("HETSCHED_BLAS_REPORT", ""):
        made["HETSCHED_BLAS_REPORT"] = _writable(made["HETSCHED_BLAS_REPORT"])
    if explain:
        made["HETSCHED_BLAS_EXPLAIN"] = "1"
    return made


def report(directory: str | os.PathLike[str], without: Collection[str] = ()) -> str:
    """The report of all processes that have kept their counts as files in a directory.

    The text has tables and a sentence for each process, and a line for each file that is not such a
    record.

    without : names of files that are left out

    Raises
    ------
    OSError
        The directory cannot be read, or there is no drop-in library.
    """
    names = sorted(set(os.listdir(directory)) - set(without))
    return report_of([os.path.join(directory, name) for name in names])


def _writable(directory: str) -> str:
    """The absolute path of a directory in which files can be made."""
    path = os.path.abspath(directory)
    if not os.path.isdir(path) or not os.access(path, os.W_OK | os.X_OK):
        raise OSError(
            f"the counts of calls cannot be kept in {path!r}: there is no such directory, or no"
            " file can be made in it"
        )
    return path


def _behind(behind: str | int) -> str:
    """The text of HETSCHED_BLAS_BEHIND."""
    if behind in ("auto", "own"):
        return behind
    try:
        return str(
            check.integer("behind", int(behind) if isinstance(behind, str) else behind, low=1)
        )
    except ValueError:
        raise ValueError(
            f"behind must be auto, own or a number of threads, got {behind!r}"
        ) from None


def _text(blocking: Blocking) -> str:
    """A domain in the format of HETSCHED_BLAS_BLOCKS."""
    sizes = ",".join(
        str(size) for sizes in (blocking.depth, blocking.rows, blocking.cols) for size in sizes
    )
    return sizes if blocking.kernel is None else f"{blocking.kernel}:{sizes}"
