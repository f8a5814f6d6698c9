"""Measures the size from which hetsched is faster than a program's own BLAS or LAPACK."""

from __future__ import annotations

import ctypes
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.table import table as lines_of
from .kept import header, keep, kept_record
from .topology import Topology

#: Sides of the matrices in the measurement.
_SIZES = (25, 33, 50, 65, 100, 130, 200, 260, 390, 520)
#: Functions with a least size that is not measured here.
_UNMEASURED = (
    *("syev", "heev", "syevd", "heevd", "syevr", "heevr"),
    *("sygv", "hegv", "sygvd", "hegvd", "gesdd", "gesvd", "gelsd", "gelss"),
)
#: Before the name of a function whose calls have one thread.
_ALONE = "alone"
#: What tells the usual libraries to use one thread.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
_TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
_KIND = "blas"


def kept(host: Topology) -> str | None:
    """The result of `measured` on this machine in the format of HETSCHED_BLAS_LEAST, or None."""
    record = kept_record(host, _KIND)
    found = record.get("least") if record else None
    if not isinstance(found, dict) or not found:
        return None
    numbers = {name: math.inf if value is None else value for name, value in found.items()}
    return ",".join(
        f"{_as_real(name)}={value:.4g}"
        for name, value in numbers.items()
        if isinstance(value, float)
    )


def checked(text: str) -> str:
    """Return a user's text in this format; ValueError if it is wrong."""
    routines = (*_CALLS, *_UNMEASURED)
    names = {*routines, *(letter + routine for letter in _TYPES for routine in routines)}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if equals and name != _ALONE and name.removeprefix(f"{_ALONE}:") not in names:
            raise ValueError(
                f"least names {name!r}, which is no function that is taken over; such are"
                f" {', '.join(routines)}, dgemm, {_ALONE}:dgemm"
            )
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not value >= 0.0:
            raise ValueError(
                'least must be a number of multiply-adds, or some such as "gemm=1e6,dgetrf=inf",'
                f" got {text!r}"
            )
    return text


def measured(host: Topology, library: Path) -> dict[str, float | None]:
    """Compare the library with NumPy's BLAS, for each function and type. Takes about a minute.

    Keeps and returns, for each function, the multiply-adds from which hetsched is no slower, or
    None if it never is. The names "alone:dgemm" are for one thread of each library. There, hetsched
    must be faster.
    """
    least = _compared(library, os.environ)
    alone = _compared(library, {**os.environ, **_ONE_THREAD})
    least.update({f"{_ALONE}:{name}": value for name, value in alone.items()})
    keep({**header(host, _KIND), "least": least})
    return least


def _compared(library: Path, environment: Mapping[str, str]) -> dict[str, float | None]:
    """What `compare` prints in a process of its own, which ends if a library lacks one of the
    functions."""
    child = [sys.executable, "-c", f"from {__name__} import compare; compare({str(library)!r})"]
    done = subprocess.run(
        child,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise OSError(
            "NumPy's BLAS could not be compared with:"
            f" {done.stderr.strip().splitlines()[-1:] or done.returncode}"
        )
    found: dict[str, float | None] = json.loads(done.stdout)
    return found


def table(least: dict[str, float | None]) -> str:
    """Text for people: one row for each function, one column for each type."""
    alone = {name: value for name, value in least.items() if name.startswith(_ALONE)}
    many = {name: value for name, value in least.items() if name not in alone}
    title = "multiply-adds from which a call runs in hetsched (-: never)"
    return f"{title}\n{_rows(many)}\nthe same for calls on one thread\n{_rows(alone)}"


def _rows(least: dict[str, float | None]) -> str:
    rows = [("", *_TYPES)]
    for routine in _CALLS:
        cells = [least[name] for name in least if _as_real(name).endswith(routine)]
        rows.append((routine, *("-" if cell is None else format(cell, ".1e") for cell in cells)))
    return lines_of(rows, "<>")


def compare(path: str) -> None:
    """The part of the child process: print name -> multiply-adds as JSON."""
    ours = ctypes.CDLL(path)
    one_thread = ours.hetsched_blas_get_num_threads() == 1
    # The CPU time of the calling thread leaves out what other programs do on its core.
    clock = time.thread_time if one_thread else time.perf_counter
    # The library of NumPy's wheels has its own function names and integer size.
    wheel = b"openblas64_" in Path("/proc/self/maps").read_bytes()
    calls = [_Call(ours, name, wheel) for name in _names()]
    times = []
    # All calls of hetsched come first, because the threads of other libraries stay active for a
    # while after a call.
    for least in (b"0", b"inf"):
        ours.hetsched_blas_set_least(least)
        times.append([[call.seconds(n, clock) for n in _SIZES] for call in calls])
    most = 0.97 if one_thread else 1.03
    pairs = zip(calls, *times, strict=True)
    print(json.dumps({call.name: _least(call, mine, other, most) for call, mine, other in pairs}))


def _names() -> Iterator[str]:
    for letter in _TYPES:
        for routine in _CALLS:
            changed = {"orgqr": "ungqr", "ormqr": "unmqr"} if letter in "cz" else {}
            yield letter + changed.get(routine, routine)


def _as_real(name: str) -> str:
    """Name of a function with the end that it has for real matrices: zungqr becomes zorgqr."""
    return name.replace("ungqr", "orgqr").replace("unmqr", "ormqr")


def _least(call: _Call, ours: list[float], theirs: list[float], most: float) -> float | None:
    """Multiply-adds at the size from which hetsched takes at most `most` of the other time, or
    None.

    A single slower size between faster ones does not count: it may be due to a disturbance.
    """
    found, lost = None, 0
    for n, mine, other in zip(reversed(_SIZES), reversed(ours), reversed(theirs), strict=True):
        lost = lost + 1 if mine > most * other else 0
        if lost == 2:
            break
        if not lost:
            found = call.volume(n)
    return found


class _Call:
    """A function of the BLAS or LAPACK, called on square matrices."""

    def __init__(self, ours: ctypes.CDLL, name: str, wheel: bool) -> None:
        self.name = name
        self.function = getattr(ours, f"scipy_{name}_64_" if wheel else f"{name}_")
        self.integer = ctypes.c_int64 if wheel else ctypes.c_int32
        self.dtype = np.dtype(_TYPES[name[0]])
        self.words, self.changes, self.count = _CALLS[_as_real(name)[1:]]

    def volume(self, n: int) -> float:
        return self.count(float(n))

    def _prepare(self, n: int) -> None:
        made = np.asfortranarray(_numbers(2 * n, n), self.dtype)
        self.arrays = {key: made.copy("F") for key in "ABCTWX"}
        self.pivots = np.arange(1, 2 * n + 1, dtype=self.integer)
        self.sources = {key: self.arrays[key].copy("F") for key in self.changes}
        self.arguments = [self._argument(word, n) for word in self.words.split()]

    def _argument(self, word: str, n: int) -> Any:
        if word.startswith("'"):
            return ctypes.byref(ctypes.c_char(word[1].encode()))
        if word in self.arrays:
            return ctypes.c_void_p(self.arrays[word].ctypes.data)
        if word == "p":
            return ctypes.c_void_p(self.pivots.ctypes.data)
        if word in ("one", "zero"):
            self.arrays[word] = np.full(1, word == "one", self.dtype)
            return ctypes.c_void_p(self.arrays[word].ctypes.data)
        sizes = {"n": n, "2n": 2 * n, "1": 1, "work": 2 * n * n, "info": 0}
        return ctypes.byref(self.integer(sizes[word]))

    def seconds(self, n: int, clock: Callable[[], float]) -> float:
        """Shortest time of several calls."""
        self._prepare(n)
        best, total, turns = math.inf, 0.0, 0
        while turns < 3 or (total < 0.004 and turns < 100):
            for key, source in self.sources.items():
                self.arrays[key][...] = source
            start = clock()
            self.function(*self.arguments)
            took = clock() - start
            best, total, turns = min(best, took), total + took, turns + 1
        return best


def _numbers(m: int, n: int) -> NDArray[np.float64]:
    """A well conditioned matrix that is quick to create."""
    numbers: NDArray[np.float64] = (
        np.arange(m * n, dtype=float).reshape(m, n) * 0.618
    ) % 1.0 + n * np.eye(m, n)
    return numbers


_Count = Callable[[float], float]
#: Name -> arguments, the arguments that are changed, and the number of multiply-adds of n, as the
#: library counts them. Matrices have room for 2 n rows.
_CALLS: dict[str, tuple[str, str, _Count]] = {
    "gemm": ("'N 'N n n n one A 2n B 2n zero C 2n", "", lambda n: n**3),
    "syrk": ("'L 'N n n one A 2n zero C 2n", "", lambda n: n**3 / 2),
    "trsm": ("'L 'L 'N 'N n n one A 2n B 2n", "B", lambda n: n**3 / 2),
    "gemv": ("'N 2n n one A 2n X 1 zero C 1", "", lambda n: 2 * n**2),
    "getrf": ("n n A 2n p info", "A", lambda n: n**3 / 3),
    "getrs": ("'N n n A 2n p B 2n info", "B", lambda n: n**3),
    "gesv": ("n 1 A 2n p B 2n info", "AB", lambda n: n**3 / 3 + n**2),
    "getri": ("n A 2n p W work info", "A", lambda n: n**3 * 2 / 3),
    "potrf": ("'L n A 2n info", "A", lambda n: n**3 / 6),
    "potrs": ("'L n n A 2n B 2n info", "B", lambda n: n**3),
    "posv": ("'L n 1 A 2n B 2n info", "AB", lambda n: n**3 / 6 + n**2),
    "trtrs": ("'L 'N 'N n n A 2n B 2n info", "B", lambda n: n**3 / 2),
    "geqrf": ("2n n A 2n T W work info", "A", lambda n: 5 / 3 * n**3),
    "orgqr": ("2n n n A 2n T W work info", "A", lambda n: 5 / 3 * n**3),
    "ormqr": ("'L 'N 2n n n A 2n T C 2n W work info", "C", lambda n: 3 * n**3),
    "gels": ("'N 2n n 1 A 2n B 2n W work info", "AB", lambda n: 5 / 3 * n**3 + 4 * n**2),
}
