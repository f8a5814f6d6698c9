"""The fast path for small problems: in C (fast.c), if it was built for the NumPy in use.

Otherwise everything takes the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

try:
    from . import _fast  # type: ignore[attr-defined]
except ImportError:
    _fast = None

#: Whether the fast path is available.
BUILT = _fast is not None
_Kind = TypeVar("_Kind", bound=type[np.ndarray[Any, Any]])
#: Attributes that a class keeps; the rest are copied to the class that replaces it.
_OWN = {"__array_ufunc__", "__dict__", "__weakref__", "__slots__"}


def _none(*_: Any) -> None:
    """Return None: take the general path."""


#: product(A, B, out, alpha, beta, method, trace, progress, limit[, block, communication]): the
#: result of numpy.matmul(A, B, out) for small plain operands of one supported dtype, if all
#: arguments but `out` have their defaults; True for two such matrices with more than `limit`
#: multiply-adds; else None.
product: Callable[..., Any] = _none if _fast is None else _fast.product
#: watch(flag): whether all products of Arrays take the general path, so that they are counted.
watch: Callable[[bool], None] = _none if _fast is None else _fast.watch
#: array(A, dtype): a view of a plain array as the class of `array_class`, if dtype is None; else
#: None.
array: Callable[[Any, Any], Any] = _none if _fast is None else _fast.array


def array_class(limits: Any) -> Callable[[_Kind], _Kind]:
    """Decorate a class, a stateless subclass of numpy.ndarray: its operators and ufuncs run in C.

    Plain arrays, arrays of this class and numbers are passed to NumPy, and arrays that it returns
    are converted to this class. Everything else, and products of more than limits.SMALL
    multiply-adds, goes to the __array_ufunc__ of the class.
    """

    def replaced(kind: _Kind) -> _Kind:
        if _fast is None:
            return kind
        found = _fast.array_type(kind.__array_ufunc__, limits)
        names = {"__name__": kind.__name__, "__qualname__": kind.__qualname__}
        for name, value in {**vars(kind), **names}.items():
            if name not in _OWN:
                setattr(found, name, value)
        return found  # type: ignore[no-any-return]

    return replaced
