"""The short way for what is small: in C (fast.c), if built for the NumPy that is here. Else all goes the general way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

try:
    from . import _fast  # type: ignore[attr-defined]
except ImportError:
    _fast = None

#: Whether it is there.
BUILT = _fast is not None
_Kind = TypeVar("_Kind", bound=type[np.ndarray[Any, Any]])
#: Of a class, and not of the one that takes its place.
_OWN = {"__array_ufunc__", "__dict__", "__weakref__", "__slots__"}


def _none(*_: Any) -> None:
    """For the general way."""


#: product(A, B, out, alpha, beta, method, trace, progress, limit): A @ B by NumPy, if nothing but A and B is given and both are
#: plain matrices with at most so many multiply-adds; None: not so.
product: Callable[..., Any] = _none if _fast is None else _fast.product
#: watch(flag): whether products of Arrays are all left to the general way, to be counted.
watch: Callable[[bool], None] = _none if _fast is None else _fast.watch
#: array(A, dtype): a view of a plain array as one of the class of `array_class`, if dtype is None; None: not so.
array: Callable[[Any, Any], Any] = _none if _fast is None else _fast.array


def array_class(limits: Any) -> Callable[[_Kind], _Kind]:
    """For one class, a subclass of numpy.ndarray that adds no state to it: the same with operators and __array_ufunc__ in C.

    They hand plain arrays, arrays of this class and numbers to NumPy, and make arrays of this class of what comes back; all else,
    and products of more than limits.SMALL multiply-adds, is left to the __array_ufunc__ of the class.
    """

    def replaced(kind: _Kind) -> _Kind:
        if _fast is None:
            return kind
        found = _fast.array_type(kind.__array_ufunc__, limits)
        for name, value in {**vars(kind), "__name__": kind.__name__, "__qualname__": kind.__qualname__}.items():
            if name not in _OWN:
                setattr(found, name, value)
        return found  # type: ignore[no-any-return]

    return replaced
