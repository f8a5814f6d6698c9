"""Checks of arguments; every message names the argument, what was given and what was expected."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from os import PathLike, fsdecode
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counted = TypeVar("Counted", bound=Sized)
Value = TypeVar("Value")
#: Numbers of the workers of one platform. An array with more axes is a stack, `is_stack`.
Vector = Sequence[float] | np.ndarray[tuple[int], np.dtype[Any]]


class HasSpeeds(Protocol):
    """The attributes of a Platform that describe its workers."""

    @property
    def cycle_times(self) -> NDArray[np.float64]: ...
    @property
    def speeds(self) -> NDArray[np.float64]: ...


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def element(value: Any) -> Any:
    """The element of a 0-d array, which NumPy and SciPy return for a number or flag; else the
    value."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def shown(value: Any) -> str:
    """The repr of a value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:160]} ... ({len(text)} characters)"


def integer(name: str, value: Any, *, low: int, high: int = 2**53) -> int:
    """An integer in [low, high]; a float with an integral value is accepted."""
    value = element(value)
    if not _is_real(value):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value != value or value in (math.inf, -math.inf) or value != int(value):
        raise ValueError(f"{name} must be an integer, got {shown(value)}")
    result = int(value)  # the limits would overflow in small NumPy types
    if not low <= result <= high:
        raise ValueError(f"{name} must be in [{low}, {high}], got {_short(value)}")
    return result


def amount_first(function: str, name: str, amount: Any, workers: Any) -> None:
    """Raise TypeError if the workers were given first, and then the amount of work."""
    if isinstance(amount, list | tuple | np.ndarray) and isinstance(workers, int | float):
        raise TypeError(
            f"{name} must come first: {function}({workers}, {shown(amount)}), not the reverse"
        )


def product_sizes(m: Any, n: Any, k: Any, *, low: int = 0) -> tuple[int, int, int]:
    """The sizes m, n, k of a product C (m x n) = A (m x k) B (k x n), given as such, or as the
    shapes of A and B in place of m and n."""
    if k is not None:
        m, n, k = (integer(name, x, low=low) for name, x in (("m", m), ("n", n), ("k", k)))
        return m, n, k
    shapes = [tuple(shape) if isinstance(shape, Sequence) else () for shape in (m, n)]
    if [len(shape) for shape in shapes] != [2, 2]:
        raise TypeError(
            "k must be an integer, unless m and n are the shapes of A and B: A.shape, B.shape; got"
            f" {type(m).__name__}, {type(n).__name__} and no k"
        )
    (rows, inner), (own, cols) = (
        [integer(f"the shape of {name}", size, low=low) for size in shape]
        for name, shape in zip("AB", shapes, strict=True)
    )
    if inner != own:
        raise ValueError(f"A has {inner} columns, but B has {own} rows: both are k")
    return rows, cols, inner


def number(name: str, value: Any, *, low: float = -math.inf, above: float = -math.inf) -> float:
    """A finite real number >= low and > above."""
    value = element(value)
    if not _is_real(value):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {_short(value)}")
    if result <= above:
        raise ValueError(f"{name} must be greater than {above:g}, got {shown(value)}")
    if result < low:
        raise ValueError(f"{name} must be at least {low:g}, got {shown(value)}")
    return result


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of the allowed strings."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        likely = difflib.get_close_matches(str(value)[:60].lower(), allowed, 1)
        raise ValueError(
            f"{name} must be one of {', '.join(allowed)}, got {shown(value)}"
            + (f"; did you mean {likely[0]!r}?" if likely else "")
        )
    return value


def path(name: str, value: Any) -> str:
    """The text of a path, which must not be empty."""
    try:
        text = fsdecode(value)
    except TypeError:
        raise TypeError(f"{name} must be a path, got {shown(value)}") from None
    if not text:
        raise ValueError(f"{name} must be a path, got {shown(value)}")
    return text


def flag(name: str, value: Any) -> bool:
    """True or False; a number or None is converted."""
    if value is True or value is False:
        return value
    value = element(value)
    if value is not None and not isinstance(value, bool | np.bool_ | numbers.Real):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def dtype(value: Any, allowed: Collection[np.dtype[Any]], name: str = "dtype") -> np.dtype[Any]:
    """One of the allowed dtypes, in native byte order, from anything that NumPy takes as one."""
    words = ", ".join(d.name for d in allowed)
    try:
        found: np.dtype[Any] = np.dtype(value).newbyteorder("=")
    except Exception:  # a string with a comma raises SyntaxError
        raise TypeError(f"{name} must be one of {words}, got {shown(value)}") from None
    if found not in allowed:
        raise TypeError(f"{name} {found} is not one of {words}")
    return found


def entries(name: str, values: Any, what: str) -> list[Any]:
    """The entries of an iterable that is not a string."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be {what}, got {shown(values)}")
    try:
        each = iter(values)
    except TypeError:
        raise TypeError(f"{name} must be {what}, got {shown(values)}") from None
    return list(each)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"a number of {len(text)} digits"


def reals(
    message: str | Callable[[], str], values: Any, *, copy: bool = True
) -> NDArray[np.float64]:
    """Convert to float64, with or without a copy.

    Raises TypeError with the message for values that are not numbers. Strings and arrays of
    booleans are not, and neither are masked arrays.
    """
    try:
        if isinstance(values, np.ma.MaskedArray):
            raise TypeError  # its mask would be ignored
        array = np.array(values) if copy else np.asarray(values)
        if array.dtype.kind not in "iuf":
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(message if isinstance(message, str) else message()) from None


def row_blocks(matrix: NDArray[np.float64]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Iterate over blocks of rows of a matrix, each with the index of its first row.

    Work on a block takes little memory, and Ctrl-C is handled between blocks.
    """
    step = max(1, 1_000_000 // max(matrix.shape[1], 1))
    for first in range(0, len(matrix), step):
        yield first, matrix[first : first + step]


def vector(
    name: str, values: Any, *, stacked: bool = False, copy: bool = True
) -> NDArray[np.float64]:
    """A non-empty 1-D float64 array without NaN, a copy or not; with `stacked` also a stack."""
    array = reals(
        lambda: f"{name} must be a sequence of real numbers, got {shown(values)}", values, copy=copy
    )
    if array.ndim != 1 and not (stacked and array.ndim > 1):
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.shape[-1] == 0:
        raise ValueError(f"{name} is empty: at least one worker is needed")
    if math.isnan(array.max(initial=0.0)):  # needs no temporary array, like the checks below
        raise ValueError(f"{name}{first(np.isnan(array))[1]} is NaN")
    return np.ascontiguousarray(array)


def first(bad: NDArray[np.bool_] | np.bool_) -> tuple[tuple[int, ...], str]:
    """The index of the first True, and its text in brackets ("" for a 0-dimensional array)."""
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    return index, f"[{', '.join(map(str, index))}]" if index else ""


def is_stack(given: Any) -> bool:
    """Whether this is an array or a list with more than one axis: a vector for each platform."""
    if isinstance(given, list | tuple):
        return len(given) > 0 and isinstance(given[0], list | tuple | np.ndarray)
    return isinstance(given, np.ndarray) and given.ndim > 1


def positive(name: str, array: NDArray[np.float64]) -> NDArray[np.float64]:
    if not array.min(initial=1.0) > 0:
        i, where = first(~(array > 0))
        raise ValueError(f"{name}{where} must be positive, got {array[i]:g}")
    return array


def not_negative(name: str, array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The array itself; its entries must be finite and not negative."""
    if not (array.min(initial=0.0) >= 0 and array.max(initial=0.0) < math.inf):
        i, where = first(~((array >= 0) & np.isfinite(array)))
        raise ValueError(f"{name}{where} must be finite and not negative, got {array[i]:g}")
    return array


def cycle_times(
    given: HasSpeeds | ArrayLike | None,
    speeds: ArrayLike | None,
    *,
    name: str = "cycle_times",
    stacked: bool = False,
) -> NDArray[np.float64]:
    """Cycle-times from a Platform, from cycle-times or from speeds; infinite for a worker of speed
    0."""
    if (given is None) == (speeds is None):
        raise TypeError(
            f"give either {name} or speeds" + (", not both" if speeds is not None else "")
        )
    if isinstance(given, str | PathLike):
        raise TypeError(
            f"{name} must be a sequence of real numbers or a Platform, got {shown(given)}:"
            " Platform.load reads the file of a platform"
        )
    if speeds is not None:
        rates = not_negative("speeds", vector("speeds", speeds, stacked=stacked))
        if (idle := ~(rates > 0).any(-1)).any():
            raise ValueError(f"speeds{first(idle)[1]} are all zero: no worker can work")
        with np.errstate(divide="ignore", over="ignore"):
            times = 1.0 / (rates + 0.0)  # the sum turns -0.0 into 0.0
        if (idle := np.isinf(times).all(-1)).any():
            raise ValueError(f"speeds{first(idle)[1]} are too small: their cycle-times overflow")
        return times
    array = positive(name, vector(name, getattr(given, "cycle_times", given), stacked=stacked))
    least = array.min(axis=-1)
    if not (least < math.inf if array.ndim == 1 else (least < math.inf).all()):
        raise ValueError(
            f"{name}{first(least == math.inf)[1]} are all infinite: no worker can work"
        )
    return array


#: Another name, for functions that have an argument `cycle_times`.
times_of = cycle_times


def each(name: str, given: Any, count: int, of: str = "worker") -> NDArray[np.float64]:
    """(count,) finite numbers >= 0, from one for all or from one for each worker (or each `of`)."""
    if _is_real(given) or (isinstance(given, np.ndarray) and given.ndim == 0):
        return np.full(count, number(name, given, low=0.0))
    values = reals(
        lambda: f"{name} must be a number or a sequence of numbers, got {shown(given)}", given
    )
    if len(vector(name, values, copy=False)) != count:
        raise ValueError(
            f"{name} must be a number or have {count} entries, one for each {of}, got {len(values)}"
        )
    return not_negative(name, values)


def each_of(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Finite numbers >= 0 that broadcast to a shape. Its last axis is the workers."""
    values = not_negative(
        name,
        reals(lambda: f"{name} must be a number or an array of numbers, got {shown(given)}", given),
    )
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(
            f"{name} of shape {values.shape} does not broadcast to {shape},"
            " a number for each worker"
        ) from None


def as_many(name: str, values: Counted, count: int, of: str = "worker") -> Counted:
    """The values themselves; there must be `count`, one for each worker (or each `of`)."""
    if len(values) != count:
        raise ValueError(f"{name} must have {count} entries, one for each {of}, got {len(values)}")
    return values


def integers(name: str, values: Any, *, low: int, high: int = 2**53) -> NDArray[np.int64]:
    """An int64 array of any shape with entries in [low, high]; integral floats are accepted."""
    if _is_real(values):
        return np.array(integer(name, values, low=low, high=high), np.int64)

    def refused() -> TypeError:
        return TypeError(f"{name} must be an integer or an array of integers, got {shown(values)}")

    try:
        array = np.asarray(values)
    except ValueError:
        raise refused() from None
    if array.dtype.kind not in "iuf" or isinstance(values, np.ma.MaskedArray):
        raise refused()  # the mask would be ignored
    if array.dtype.kind == "f":
        array = array.astype(np.float64)  # the limits would overflow in half precision
    bad = ~((array >= low) & (array <= high) & (array == np.floor(array)))
    if bad.any():
        i, where = first(bad)
        raise ValueError(f"{name}{where} must be an integer in [{low}, {high}], got {array[i]}")
    return array.astype(np.int64)


def links(name: str, given: Any, columns: str, nodes: int) -> NDArray[np.float64]:
    """(m, 3) two different nodes and a number for each link; none for an empty list.

    columns : what the numbers mean, for error messages.
    """
    if given is None:
        raise TypeError(f"{name} must be given, as ({columns}) of each link")
    table = reals(f"{name} must be triples of numbers, got {shown(given)}", given)
    if table.shape == (0,):
        return np.zeros((0, 3))
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(f"{name} must have shape (m, 3) with {columns}, got {table.shape}")
    if len(table):
        ends = integers(name, table[:, :2], low=0, high=nodes - 1)
        if (own := ends[:, 0] == ends[:, 1]).any():
            k = int(np.argmax(own))
            raise ValueError(f"{name}[{k}] leads from node {ends[k, 0]} to itself")
    return table


def owners(
    name: str, given: Any, shape: tuple[int, ...], times: NDArray[np.float64]
) -> NDArray[np.int32]:
    """The worker of each block, as a copy. Each worker in it must have a finite cycle-time."""
    found = integers(name, given, low=0, high=len(times) - 1).astype(np.int32)
    if found.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {found.shape}")
    if (idle := np.isinf(times)[found]).any():
        raise ValueError(
            f"{name}{first(idle)[1]} is {found[first(idle)[0]]},"
            " a worker with an infinite cycle-time"
        )
    return found


def shares(
    name: str,
    given: HasSpeeds | ArrayLike | None,
    cycle_times: HasSpeeds | ArrayLike | None = None,
    speeds: ArrayLike | None = None,
    *,
    stacked: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Relative sizes or speeds, scaled to sum 1, and the cycle-times (None if sizes were given).

    With `stacked` each row is scaled to sum 1.
    """
    if (given is not None) + (cycle_times is not None) + (speeds is not None) != 1:
        raise TypeError(f"give one of {name}, cycle_times and speeds")
    times: NDArray[np.float64] | None = None
    if given is not None and not hasattr(given, "cycle_times"):
        sizes = vector(name, given, stacked=stacked, copy=False)
    else:
        times = times_of(cycle_times if given is None else given, speeds, stacked=stacked)
        with np.errstate(divide="ignore", over="ignore"):
            sizes = 1.0 / times if speeds is None else vector("speeds", speeds, stacked=stacked)
        if not (finite := np.isfinite(sizes).all(-1, keepdims=True)).all():
            sizes = np.where(finite, sizes, times.min(-1, keepdims=True) / times)
    high = not_negative(name, sizes).max(-1, keepdims=True)
    if not (some := high[..., 0] > 0).all():
        raise ValueError(f"{name}{first(~some)[1]} are all zero")
    with np.errstate(over="ignore"):
        scaled: NDArray[np.float64] = sizes / high
    scaled /= scaled.sum(-1, keepdims=True)
    if scaled.min(initial=1.0) < np.finfo(np.float64).tiny:  # negligible beside the larger ones
        scaled[scaled < np.finfo(np.float64).tiny] = 0.0
    return scaled, times


def inverse(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cycle-times for these speeds, read-only; infinite where nothing is to be done."""
    with np.errstate(divide="ignore", over="ignore"):
        return frozen(1.0 / sizes)


def keys(given: Collection[Any], known: Collection[str], where: str = "") -> None:
    """Raise ValueError for a key that a table does not have, and suggest a similar known key."""
    for key in given:
        if key not in known:
            likely = difflib.get_close_matches(str(key)[:60].lower().replace("-", "_"), known, 1)
            hint = f"did you mean {likely[0]!r}?" if likely else f"known are {', '.join(known)}"
            raise ValueError(f"unknown key {key!r:.60}{where}; {hint}")


def repeated(given: Iterable[str]) -> str | None:
    """The first entry that occurs twice, or None."""
    seen: set[str] = set()
    return next((name for name in given if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def names(workers: int, given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return tuple(f"P{i}" for i in range(workers))
    if isinstance(given, str):
        found: Sequence[Any] = list(given)
    else:
        found = entries("names", given, "a sequence of strings")
    return tuple(str(name) for name in as_many("names", found, workers))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, made read-only together with the arrays that it is a view of.

    Results are immutable. If the array owns its memory, a view of it is returned: the view cannot
    be made writable as long as the array is read-only.
    """
    own: Any = array
    while isinstance(own, np.ndarray):
        own.setflags(write=False)
        own = own.base
    return array.view() if array.base is None else array


class FrozenDict(dict[str, Value]):
    """A dict that cannot be changed."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("results cannot be changed: make a dict of it")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)
