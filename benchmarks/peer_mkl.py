"""Intel MKL's LAPACK for float64, by libmkl_rt.so of `pip install mkl`: dsyevd and dgesdd."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Mkl:
    """path : of libmkl_rt.so."""

    def __init__(self, path: str, threads: int) -> None:
        self._library = ctypes.CDLL(path)
        self._library.MKL_Set_Threading_Layer(2)  # GNU's OpenMP, which NumPy's wheels do not load
        self._library.MKL_Set_Num_Threads(threads)
        text = ctypes.create_string_buffer(200)
        self._library.MKL_Get_Version_String(text, 200)
        self.version = text.value.decode().strip()

    def call(self, name: str, a: NDArray[Any]) -> Callable[[], Any]:
        """The function of a matrix that is timed: eigvalsh, eigh, svdvals, or svd (economic)."""
        if name in ("eigvalsh", "eigh"):
            return lambda: self._eigh(a, name == "eigh")
        return lambda: self._svd(a, name == "svd")

    def _run(self, routine: str, arguments: list[Any], integers: int) -> None:
        """Call a routine that ends with work, lwork, (iwork, liwork,) info: once for the sizes."""
        info, size = ctypes.c_int(), ctypes.c_double()
        small, least = ctypes.c_int(), ctypes.c_int(-1)
        function = getattr(self._library, routine)
        more = [ctypes.byref(small), ctypes.byref(least)][:integers]
        function(*arguments, ctypes.byref(size), ctypes.byref(least), *more, ctypes.byref(info))
        work, lwork = np.empty(int(size.value)), ctypes.c_int(int(size.value))
        if integers == 2:
            room, liwork = np.empty(small.value, np.intc), ctypes.c_int(small.value)
            more = [room.ctypes, ctypes.byref(liwork)]
        else:
            more = [np.empty(8 * len(work), np.intc).ctypes]
        function(*arguments, work.ctypes, ctypes.byref(lwork), *more, ctypes.byref(info))
        if info.value:
            raise RuntimeError(f"{routine}: info {info.value}")

    def _eigh(self, a: NDArray[Any], vectors: bool) -> tuple[Any, Any]:
        n = ctypes.c_int(len(a))
        z, w = a.copy(order="F"), np.empty(len(a))
        job = b"V" if vectors else b"N"
        self._run(
            "dsyevd_",
            [job, b"L", ctypes.byref(n), z.ctypes, ctypes.byref(n), w.ctypes],
            integers=2,
        )
        return w, z

    def _svd(self, a: NDArray[Any], vectors: bool) -> tuple[Any, Any, Any]:
        m, n = map(ctypes.c_int, a.shape)
        k = ctypes.c_int(min(a.shape))
        x, s = a.copy(order="F"), np.empty(k.value)
        u, vt = (
            np.empty(shape if vectors else (1, 1), order="F")
            for shape in ((m.value, k.value), (k.value, n.value))
        )
        leads = [ctypes.c_int(len(each)) for each in (u, vt)]
        arguments = [
            b"S" if vectors else b"N", ctypes.byref(m), ctypes.byref(n), x.ctypes, ctypes.byref(m),
            s.ctypes, u.ctypes, ctypes.byref(leads[0]), vt.ctypes, ctypes.byref(leads[1]),
        ]  # fmt: skip
        self._run("dgesdd_", arguments, integers=1)
        return u, s, vt
