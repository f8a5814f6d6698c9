"""NumPy arrays with large products and systems computed by hetsched on this machine's cores."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._engine import fast
from .._engine.dtypes import DTYPES
from . import array_linalg, coverage, shared
from . import product as product_run
from .operands import as_array, element_strides, operands

_MATRICES = [(-2, -1)] * 3


@fast.array_class(product_run)
class Array(np.ndarray[Any, np.dtype[Any]]):
    """A numpy.ndarray with large products and systems computed in hetsched's pool; see `asarray`.

    Notes
    -----
    hetsched computes `@`, numpy.matmul and its `out`, `@=`, numpy.dot and `dot` of matrices,
    numpy.linalg.solve, inv, det, slogdet, cholesky, qr and lstsq, for float32, float64, complex64
    and complex128, from the size on where it pays. NumPy does everything else, on the same memory,
    and raises the errors and warnings about arguments. An array that is returned is an Array again.
    Exception: __array_ufunc__ is not told of `out=...` (Ellipsis), so with it a single number comes
    back as a scalar.
    """

    __slots__ = ()  # no more attributes than an ndarray

    # super() is called with the class by name: `array_class` replaces this class by another one.
    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        name = coverage.name_of(ufunc) if method == "__call__" else None
        if name is None:
            return _ufunc(self, ufunc, method, inputs, kwargs)
        with coverage.counted(name):
            return _ufunc(self, ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        name = coverage.name_of(func)
        if name is None:
            return _function(self, func, types, args, kwargs)
        with coverage.counted(name):
            return _function(self, func, types, args, kwargs)

    def dot(self, b: ArrayLike, out: NDArray[Any] | None = None) -> Any:
        """See numpy.dot."""
        return np.dot(self, b, out=out)


def _statistic(name: str) -> Callable[..., Any]:
    own: Callable[..., Any] = getattr(np.ndarray, name)

    def method(
        self: Array,
        axis: Any = None,
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        ddof: float = 0,
        **options: Any,
    ) -> Any:
        given = {key: _plain(value) for key, value in options.items()}
        result = own(self.view(np.ndarray), axis, dtype, out, ddof, **given)
        return _back(result, type(self)) if out is None else result

    method.__name__, method.__doc__ = name, own.__doc__
    return method


# Inside these methods NumPy passes `out=...` (Ellipsis) to keep a single number an array.
# __array_ufunc__ is not told of it, so the methods run on the plain array.
for _name in ("var", "std"):
    setattr(Array, _name, _statistic(_name))


def _operator(name: str) -> Callable[[Array, Any], Any]:
    own: Callable[[Any, Any], Any] = getattr(np.ndarray, f"__{name}__")
    plain: Callable[[Any, Any], Any] = (
        divmod if name == "divmod" else getattr(operator, f"__{name}__")
    )

    def method(self: Array, other: Any) -> Any:
        kind = type(other)
        if kind is np.ndarray or kind is Array or not isinstance(other, np.ndarray):
            return own(self, other)
        return plain(self.view(np.ndarray), other)

    return method


# Python asks the right operand first if its class is a subclass of the left operand's class. So
# subclasses of ndarray are asked before a plain array. Here they are asked before an Array too.
if not fast.BUILT:
    _names = (
        "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift",
        "rshift", "and", "or", "xor", "lt", "le", "eq", "ne", "gt", "ge",
    )  # fmt: skip
    for _name in _names:
        setattr(Array, f"__{_name}__", _operator(_name))


def asarray(A: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return a view with which a NumPy program uses hetsched: it changes in one line only.

    Parameters
    ----------
    A : array_like
        An array is not copied, and its memory is not changed.
    dtype : dtype_like, optional

    Returns
    -------
    Array
        A numpy.ndarray in every other respect. numpy.asarray returns the original array.

    Notes
    -----
    hetsched takes float32, float64, complex64 and complex128, mixed or not, and stacks too. The
    rest goes straight to NumPy:

    - products of at most 100**3 multiply-adds (for a stack: of all its products together),
    - products with a vector,
    - products with a side of less than 6 if neither the rows nor the columns of the large operand
      are contiguous,
    - systems and factorisations with less work than one of 256 rows,
    - systems and factorisations of matrices with infinities or NaN,
    - other dtypes (integers, booleans, objects, ...), subclasses of ndarray, and options other than
      `out`.

    Results agree with NumPy's up to rounding. For products with infinities or NaN, NumPy's warnings
    may be missing. Libraries that begin with numpy.asarray (SciPy, scikit-learn) work as before, on
    plain arrays.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> A = hs.asarray(np.ones((300, 300)))
    >>> (A @ A)[0, 0], type(A @ A).__name__, type(np.exp(A) - 1).__name__
    (np.float64(300.0), 'Array', 'Array')
    """
    found: Array | None = fast.array(A, dtype)
    return as_array("A", A, dtype).view(Array) if found is None else found


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Array) else x


def _back(result: Any, kind: type[np.ndarray[Any, Any]]) -> Any:
    return result.view(kind) if type(result) is np.ndarray else result


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that the arrays that it returns, alone or in a tuple, are Arrays.

    Values marked as `Plain` stay as they are.
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, array_linalg.Plain):
            return result.value
        if not isinstance(result, tuple):
            return _back(result, Array)
        values = [x.value if isinstance(x, array_linalg.Plain) else _back(x, Array) for x in result]
        return tuple(values) if type(result) is tuple else type(result)(*values)

    return wrapped


def _ufunc(
    self: Array, ufunc: np.ufunc, method: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Apply a ufunc to Arrays: hetsched computes large products, NumPy everything else."""
    plain = [x.view(np.ndarray) if isinstance(x, Array) else x for x in inputs]
    if not kwargs and method == "__call__":
        result = _product(plain[0], plain[1], None) if ufunc is np.matmul else None
        if result is None:
            result = super(Array, self).__array_ufunc__(ufunc, method, *plain)  # noqa: UP008
        if result is NotImplemented:
            return _asked(ufunc, method, plain, kwargs)
        return (
            tuple(_back(x, type(self)) for x in result)
            if type(result) is tuple
            else _back(result, type(self))
        )
    out: tuple[Any, ...] | None = kwargs.get("out")
    # @= passes axes.
    in_place = kwargs.get("axes", _MATRICES) == _MATRICES and not kwargs.keys() - {"out", "axes"}
    taken = ufunc is np.matmul and method == "__call__" and out is not None and in_place
    if out is not None and taken and _product(plain[0], plain[1], _plain(out[0])) is not None:
        return out[0]
    if out is not None:
        kwargs["out"] = tuple(map(_plain, out))
    if "where" in kwargs:
        kwargs["where"] = _plain(kwargs["where"])
    result = super(Array, self).__array_ufunc__(ufunc, method, *plain, **kwargs)  # noqa: UP008
    if result is NotImplemented:
        return _asked(ufunc, method, plain, kwargs)
    kind = type(self) if kwargs.get("subok", True) else np.ndarray
    if not isinstance(result, tuple):
        return _back(result, kind) if out is None else out[0]
    return tuple(
        _back(x, kind) if y is None else y
        for x, y in zip(result, out or [None] * len(result), strict=True)
    )


def _function(
    self: Array,
    func: Callable[..., Any],
    types: Iterable[type],
    args: Iterable[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call a NumPy function with Arrays: the one in _FUNCTIONS where it pays, otherwise NumPy's."""
    taken = _FUNCTIONS.get(func)
    if taken is not None and not any(
        issubclass(t, np.ndarray) and t not in (Array, np.ndarray) for t in types
    ):
        result = taken(*args, **kwargs)
        if result is not None:
            coverage.took()
            return result
    return _back(super(Array, self).__array_function__(func, types, args, kwargs), Array)  # noqa: UP008


def _asked(ufunc: np.ufunc, method: Any, plain: list[Any], kwargs: dict[str, Any]) -> Any:
    """Let another argument, input or output, answer.

    If another subclass of ndarray is among the arguments, the ufunc is called with plain arrays in
    place of the Arrays, because such classes ask their base, which does not know Array. Otherwise
    return NotImplemented, and NumPy asks the next argument.
    """
    others = (*plain, *kwargs.get("out", ()), kwargs.get("where"))
    if any(isinstance(x, np.ndarray) and type(x) is not np.ndarray for x in others):
        return getattr(ufunc, method)(*plain, **kwargs)
    return NotImplemented


def _takes(*arrays: Any) -> bool:
    return all(type(x) is np.ndarray and x.dtype in DTYPES for x in arrays)


def _product(a: Any, b: Any, out: Any) -> NDArray[Any] | None:
    """numpy.matmul where it pays. None if NumPy is to do it, which includes all wrong arguments."""
    if not _takes(a, b) or a.ndim + b.ndim < 3:
        return None
    if out is not None and type(out) is not np.ndarray:
        return None
    into = out
    if out is not None and (
        np.may_share_memory(out, a) or np.may_share_memory(out, b) or not element_strides(out)
    ):
        into = None
    try:
        x = operands(a, b, into, 1.0, 0.0)
    except (TypeError, ValueError):  # NumPy takes an output that overlaps itself
        return None
    by = product_run.multiplier(x, lambda: shared.shared_resources().workers)
    if by == product_run.NUMPY:
        return None
    copied = out is not None and into is None
    if copied and not (
        out.shape == x.result.shape and out.dtype == x.result.dtype and out.flags.writeable
    ):
        return None
    product_run.multiply(shared.shared_resources(), x, by, None)
    coverage.took()
    if copied:
        out[...] = x.result
    return out if copied else x.result


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y, z = _plain(a), _plain(b), _plain(out)
    if not _takes(x, y) or not {x.ndim, y.ndim} <= {1, 2}:
        return None
    if out is not None and not (type(z) is np.ndarray and z.flags.c_contiguous):
        return None
    product = _product(x, y, z)
    return None if product is None else _back(product, Array) if out is None else out


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.dot: _dot,
    **{name: _wrapping(function) for name, function in array_linalg.FUNCTIONS.items()},
}
