"""Tables of fields: the type, the dtype, the shape and the range of each field of a result.

A class has one table, a dict from the name of each field to a `Field`. The table rejects an invalid
result that was made by hand or unpickled (`check_fields`), and it reads JSON (`Field.read`). So no
other code has to look at the annotations.

Shapes and ranges are written in sizes. "p" is the number of names. The name of a `Count` field, or
one of the names of `Sizes`, stands for its value. Any other name is a size that is set by its first
use and is the same from then on. "n - 1" is one less than the size n. A name that begins with *
stands for any number of axes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import check

Sized = dict[str, Any]  # an int for a name, a tuple for a name with *
Limit = int | float | str

#: The largest finite double, the smallest positive one, and the largest integer up to which doubles
#: can count.
MOST, LEAST, COUNT = sys.float_info.max, 5e-324, 2**53
#: The longest time of a part of a schedule: the sum of a few of them is still finite.
LONG = MOST / 4
_FEW = 64  # up to this many entries, a list is compared faster than an array
_DIMENSIONS = 32  # the limit of NumPy in all its versions
# bits of ndarray.flags.num
_READ_ONLY, _CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x501, 0x001, 0x100, 0x400
_INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


def shown(value: Any) -> str:
    """A value as text for a message: never long, and never nested."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}" if value else repr(value)
    if isinstance(value, int) and value.bit_length() > 130:
        return f"an integer of {value.bit_length()} bits"
    return f"{value[:60] if isinstance(value, str | bytes) else value!r:.60}"


class _Expression(NamedTuple):
    """A size plus a number; only the number if the name is empty."""

    name: str
    plus: int

    @classmethod
    def of(cls, text: int | str) -> _Expression:
        if isinstance(text, int):
            return cls("", text)
        name, sign, number = re.fullmatch(r"(\*?\w+)(?: ([+-]) (\d+))?", text).groups()  # type: ignore[union-attr]
        return cls(name, int(f"{sign}{number}") if sign else 0)

    def __str__(self) -> str:
        return (
            self.name + (f" {'+-'[self.plus < 0]} {abs(self.plus)}" if self.plus else "")
            if self.name
            else str(self.plus)
        )


class _Range:
    """A range from low to high. Each limit is a number or an expression in sizes."""

    def __init__(self, low: Limit, high: Limit) -> None:
        self.low, self.high = (_Expression.of(x) if isinstance(x, str) else x for x in (low, high))
        self.fixed = not isinstance(low, str) and not isinstance(high, str)

    def of(self, sizes: Sized) -> tuple[float, float]:
        low, high = self.low, self.high
        if self.fixed:
            return low, high  # type: ignore[return-value]
        return (
            sizes[low.name] + low.plus if isinstance(low, _Expression) else low,
            sizes[high.name] + high.plus if isinstance(high, _Expression) else high,
        )

    def words(self, sizes: Sized) -> str:
        low, high = self.of(sizes)
        if high not in (LONG, MOST, math.inf):
            return f"in [{low}, {high}]"
        finite = "finite and " if high != math.inf else ""
        return finite + ("positive" if low == LEAST else "not negative" if low == 0 else "a number")

    def require(self, name: str, array: NDArray[Any], sizes: Sized) -> None:
        """Raise ValueError unless all entries are in the range; NaN is in no range."""
        low, high = self.of(sizes)
        if array.size <= _FEW:
            for value in array.tolist() if array.ndim == 1 else array.ravel().tolist():
                if not low <= value <= high:
                    break
            else:
                return
        elif array.min() >= low and array.max() <= high:
            return
        index, where = check.first(~((array >= low) & (array <= high)))
        raise ValueError(f"{name}{where} must be {self.words(sizes)}, got {array[index]}")


class Field:
    """The values that are allowed for a field."""

    #: Whether its value sets sizes, so that it is checked first.
    binds = False

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        """Return the value, or the value that replaces it.

        Raises TypeError or ValueError with the name in the message if the value is wrong.
        """
        raise NotImplementedError

    def read(self, given: Any) -> Any:
        """Convert a JSON value to the type that `check` wants.

        Raises TypeError or ValueError, without a name in the message, if that is not possible.
        """
        return given


class Text(Field):
    """A string that UTF-8 can hold; if words are given, one of these."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string, got {shown(value)}")
        if self.words and value not in self.words:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, self.words))}, got {value[:60]!r}"
            )
        if not value.isascii():
            require_unicode(name, value)
        return value if type(value) is str else str(value)

    def read(self, given: Any) -> str:
        if not isinstance(given, str):
            raise TypeError(f"it must be a string, got {shown(given)}")
        return given


def require_unicode(name: str, text: str) -> None:
    """Raise ValueError for half of a surrogate pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be text that UTF-8 can hold, got {text[:60]!r}") from None


class Flag(Field):
    """True or False."""

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if value is not True and value is not False:
            raise TypeError(f"{name} must be True or False, got {shown(value)}")
        return value

    def read(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise TypeError(f"it must be true or false, got {shown(given)}")
        return given


class Integer(Field):
    """An int from low to high."""

    def __init__(self, low: Limit = 0, high: Limit = 2**63 - 1) -> None:
        self.range = _Range(low, high)

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if type(value) is not int:
            raise TypeError(f"{name} must be an int, got {shown(value)}")
        low, high = self.range.of(sizes)
        if not low <= value <= high:
            raise ValueError(f"{name} must be in [{low}, {high}], got {shown(value)}")
        return value

    def read(self, given: Any) -> int:
        if type(given) is not int:
            raise TypeError(f"it must be an integer, got {shown(given)}")
        return given


class Count(Integer):
    """An int that is a size with the name of its field."""

    binds = True

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        sizes[name] = super().check(name, value, sizes)
        return value


class Real(Field):
    """A float, or an int within its range, from low to high; finite if high is MOST."""

    def __init__(self, low: float = 0.0, high: float = MOST) -> None:
        self.range = _Range(low, high)

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if not isinstance(value, float | int) or isinstance(value, bool):
            raise TypeError(f"{name} must be a float, got {shown(value)}")
        low, high = self.range.of(sizes)
        if not low <= value <= high or (isinstance(value, int) and abs(value) > MOST):
            raise ValueError(f"{name} must be {self.range.words(sizes)}, got {shown(value)}")
        return value if type(value) is float or type(value) is int else float(value)

    def read(self, given: Any) -> float:
        if isinstance(given, str) and given in _INFINITIES:
            return _INFINITIES[given]
        if type(given) not in (int, float):
            raise TypeError(f"it must be a number, got {shown(given)}")
        return given  # type: ignore[no-any-return]


class Maybe(Field):
    """None, or a value of another field."""

    def __init__(self, inner: Field) -> None:
        self.inner, self.binds = inner, inner.binds

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        return None if value is None else self.inner.check(name, value, sizes)

    def read(self, given: Any) -> Any:
        return None if given is None else self.inner.read(given)


class Either(Field):
    """A value of one field, or an array of another one. In JSON only arrays are lists."""

    def __init__(self, one: Field, array: Array) -> None:
        self.one, self.array = one, array

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        return (self.array if isinstance(value, np.ndarray) else self.one).check(name, value, sizes)

    def read(self, given: Any) -> Any:
        return (self.array if isinstance(given, list | dict) else self.one).read(given)


class Sizes(Field):
    """A tuple of ints from low to high; each of them is a size with the name given here."""

    binds = True

    def __init__(self, *names: str, low: int = 0, high: int = COUNT) -> None:
        self.names, self.entry = names, Integer(low, high)

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if not isinstance(value, tuple):
            raise TypeError(f"{name} must be a tuple of {len(self.names)} ints, got {shown(value)}")
        if len(value) != len(self.names):
            raise ValueError(f"{name} must be ({', '.join(self.names)}), got {len(value)} entries")
        each = f"an entry of {name}"
        for axis, size in zip(self.names, value, strict=True):
            sizes[axis] = self.entry.check(each, size, sizes)
        return value

    def read(self, given: Any) -> tuple[int, ...]:
        return tuple(map(self.entry.read, _list(given)))


class Tuple(Field):
    """A tuple of values of another field, of any length or of a given one."""

    def __init__(self, entry: Field, length: int | str | None = None) -> None:
        self.entry = entry
        self.length = None if length is None else _Expression.of(length)
        self.binds = length == "p"

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if not isinstance(value, tuple):
            raise TypeError(f"{name} must be a tuple, got {shown(value)}")
        if self.length is not None:
            _equal(name, (len(value),), (self.length,), sizes)
        each = f"an entry of {name}"
        found = [self.entry.check(each, inner, sizes) for inner in value]
        return value if all(map(_is, found, value)) else tuple(found)

    def read(self, given: Any) -> tuple[Any, ...]:
        return tuple(map(self.entry.read, _list(given)))


def _is(a: Any, b: Any) -> bool:
    return a is b


class Numbers(Field):
    """A dict from words, some of which are required, to numbers that are not negative.

    words : the words that are allowed; None: all.
    """

    def __init__(self, words: Iterable[str] | None = None, needed: Iterable[str] = ()) -> None:
        self.words = None if words is None else tuple(words)
        self.needed, self.number = tuple(needed), Real(high=math.inf)

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{name} must be a dict, got {shown(value)}")
        for key, number in value.items():
            if self.words is None:
                Text().check(f"a key of {name}", key, sizes)
            elif key not in self.words:
                raise ValueError(
                    f"{name} must have keys of {', '.join(self.words)}, got {shown(key)}"
                )
            self.number.check(f"{name}[{key!r}]", number, sizes)
        if missing := [key for key in self.needed if key not in value]:
            raise ValueError(f"{name} must have the key {missing[0]!r}")
        return value if type(value) is check.FrozenDict else check.FrozenDict(value)

    def read(self, given: Any) -> Any:
        if not isinstance(given, dict):
            raise TypeError(f"it must be an object, got {shown(given)}")
        return check.FrozenDict({key: self.number.read(number) for key, number in given.items()})


class Record(Field):
    """A NamedTuple with its own table."""

    def __init__(self, kind: type[Any], **table: Field) -> None:
        self.kind, self.table = kind, table

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if type(value) is not self.kind:
            raise TypeError(f"{name} must be a {self.kind.__name__}, got {shown(value)}")
        found = [
            field.check(f"{name}.{key}", getattr(value, key), sizes)
            for key, field in self.table.items()
        ]
        return value if all(map(_is, found, value)) else self.kind(*found)

    def read(self, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("type") != self.kind.__name__:
            raise TypeError(
                f"it must be an object of type {self.kind.__name__}, got {shown(given)}"
            )
        content = {key: value for key, value in given.items() if key != "type"}
        return self.kind(**read_fields(self.table, content))


class Part(Field):
    """A result of another class with its own table."""

    def __init__(self, kind: type[Any], reader: Callable[[Any], Any]) -> None:
        self.kind, self.reader = kind, reader

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if type(value) is not self.kind:
            raise TypeError(f"{name} must be a {self.kind.__name__}, got {shown(value)}")
        return value

    def read(self, given: Any) -> Any:
        name = given.get("type") if isinstance(given, dict) else None
        if name != self.kind.__name__:
            raise TypeError(
                f"it must be a {self.kind.__name__}, got"
                f" {f'a {name:.60}' if isinstance(name, str) else shown(given)}"
            )
        return self.reader(given)


class Array(Field):
    """An array of a shape and one of several dtypes, with entries from low to high.

    With high MOST the entries are finite.
    """

    def __init__(
        self,
        dtypes: str | Sequence[str],
        *shape: int | str,
        low: Limit = 0,
        high: Limit | None = None,
    ) -> None:
        self.dtypes = tuple(map(np.dtype, (dtypes,) if isinstance(dtypes, str) else dtypes))
        self.shape = tuple(map(_Expression.of, shape))
        self.any = next((i for i, axis in enumerate(self.shape) if axis.name.startswith("*")), -1)
        self.range = _Range(low, (MOST if "f8" in dtypes else 2**63 - 1) if high is None else high)

    def check(self, name: str, value: Any, sizes: Sized) -> Any:
        if type(value) is not np.ndarray:
            raise TypeError(f"{name} must be an array of {self._kinds()}, got {shown(value)}")
        if value.dtype not in self.dtypes:
            raise TypeError(f"{name} must be an array of {self._kinds()}, got {shown(value)}")
        shape = value.shape
        if self.any >= 0:
            shape = self._gathered(name, shape)
        _equal(name, shape, self.shape, sizes)
        # all entries share the memory of one number
        alike = value.size > _FEW and not any(value.strides)
        self._require(name, value[(slice(1),) * value.ndim] if alike else value, sizes)
        return value if alike and not value.flags.writeable else own(value)

    def _require(self, name: str, value: NDArray[Any], sizes: Sized) -> None:
        self.range.require(name, value, sizes)

    def _kinds(self) -> str:
        return " or ".join(str(dtype) for dtype in self.dtypes)

    def _gathered(self, name: str, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """The shape, with the axes of the name with * as one entry."""
        after = len(self.shape) - self.any - 1
        if len(shape) < len(self.shape) - 1:
            raise ValueError(
                f"{name} must have {len(self.shape) - 1} dimensions or more, got shape {shape}"
            )
        return (
            *shape[: self.any],
            shape[self.any : len(shape) - after],
            *shape[len(shape) - after :],
        )

    def read(self, given: Any) -> NDArray[Any]:
        if isinstance(given, dict):
            return self._empty(given)
        entries, shape = _list(given), [len(given)]
        most = len(self.shape) if self.any < 0 else _DIMENSIONS
        while len(shape) < most and entries and (self.any < 0 or type(entries[0]) is list):
            if set(map(type, entries)) != {list}:
                raise TypeError(
                    f"it must have {len(self.shape)} dimensions,"
                    f" got {shown(entries[0])} among its entries"
                )
            lengths = set(map(len, entries))
            if len(lengths) > 1:
                raise ValueError(
                    f"its rows must be of one length, got {min(lengths)} and {max(lengths)} entries"
                )
            shape += lengths
            entries = list(chain.from_iterable(entries))
        if len(shape) < most and self.any < 0:
            raise ValueError(f"it must have {len(self.shape)} dimensions, got {shown(given)}")
        dtype = self.dtypes[0]
        if len(self.dtypes) > 1:
            dtype = np.dtype(np.int64 if set(map(type, entries)) == {int} else np.float64)
        return check.frozen(_numbers(entries, dtype).reshape(shape))

    def _empty(self, given: dict[Any, Any]) -> NDArray[Any]:
        """An array without entries: no list can express its shape."""
        if set(given) != {"shape", "dtype"}:
            raise ValueError("it must be a list, or an object with the keys shape and dtype")
        shape = [Integer(0, COUNT).read(size) for size in _list(given["shape"])]
        dtypes = [x.name for x in self.dtypes]
        if (
            0 not in shape
            or not all(0 <= size <= COUNT for size in shape)
            or len(shape) > _DIMENSIONS
        ):
            raise ValueError(
                f"an object stands for an array without entries, got the shape {str(shape):.60}"
            )
        if given["dtype"] not in dtypes:
            raise ValueError(
                f"its dtype must be {' or '.join(dtypes)}, got {shown(given['dtype'])}"
            )
        return check.frozen(np.zeros(shape, given["dtype"]))


class Columns(Array):
    """A structured array of one axis, with a range for each column; the rest are only finite."""

    def __init__(
        self, dtype: np.dtype[Any], length: str, *, added: int = 0, **ranges: tuple[Limit, Limit]
    ) -> None:
        """added: number of columns at the end that older files do not have; they are 0."""
        self.dtypes, self.shape, self.any = (dtype,), (_Expression.of(length),), -1
        self.added = added
        names = dtype.names or ()
        self.columns = [
            (name, _Range(*ranges.get(name, (0, LONG if dtype[name].kind == "f" else 2**63 - 1))))
            for name in names
        ]

    def _require(self, name: str, value: NDArray[Any], sizes: Sized) -> None:
        if len(value) <= _FEW:
            limits = [limits.of(sizes) for _, limits in self.columns]
            rows = zip(*value.tolist(), strict=True)
            if all(
                low <= x <= high
                for (low, high), column in zip(limits, rows, strict=False)
                for x in column
            ):
                return
        for column, range_ in self.columns:
            range_.require(f"{name}[{column!r}]", value[column], sizes)

    def _kinds(self) -> str:
        return f"({', '.join(name for name, _ in self.columns)})"

    def read(self, given: Any) -> NDArray[Any]:
        rows, dtype = _list(given), self.dtypes[0]
        lengths = set(map(len, map(_list, rows)))
        older = bool(rows) and lengths == {len(self.columns) - self.added}
        if rows and not older and lengths != {len(self.columns)}:
            raise ValueError(
                f"its rows must be {self._kinds()}, got {min(lengths)} to {max(lengths)} entries"
            )
        found = np.zeros(len(rows), dtype)
        for (name, _), entries in zip(self.columns, zip(*rows, strict=True), strict=False):
            found[name] = _numbers(entries, dtype[name])
        return check.frozen(found)


def _list(given: Any) -> list[Any]:
    if type(given) is not list:
        raise TypeError(f"it must be a list, got {shown(given)}")
    return given


def _numbers(entries: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert JSON numbers to a dtype that holds each of them exactly."""
    kinds, real = set(map(type, entries)), dtype.kind == "f"
    if real and str in kinds:
        entries = [_INFINITIES.get(x, x) if type(x) is str else x for x in entries]
        kinds = set(map(type, entries))
    if wrong := kinds - ({int, float} if real else {int}):
        bad = next(x for x in entries if type(x) in wrong)
        raise TypeError(
            f"its entries must be {'numbers' if real else 'integers'}, got {shown(bad)}"
        )
    try:
        wide = np.array(entries, np.float64 if real else np.int64)
    except OverflowError:
        raise ValueError(f"its entries must be numbers that {dtype} can hold") from None
    found = wide.astype(dtype)
    if not real and not np.array_equal(found, wide):
        raise ValueError(f"its entries must be integers that {dtype} can hold")
    return found


def _equal(name: str, shape: tuple[Any, ...], axes: tuple[_Expression, ...], sizes: Sized) -> None:
    """Raise ValueError if a shape does not match the axes. Unknown sizes are set."""
    if len(shape) == len(axes):
        for given, (size, plus) in zip(shape, axes, strict=True):
            if not size:
                wanted = plus
            elif size in sizes:
                wanted = sizes[size] + plus if plus else sizes[size]
            else:
                wanted = given
                sizes[size] = given - plus if plus else given
            if given != wanted:
                break
        else:
            return
    known = ", ".join(f"{size} = {sizes[size]}" for size, _ in axes if size in sizes)
    flat = tuple(chain.from_iterable(x if isinstance(x, tuple) else (x,) for x in shape))
    raise ValueError(
        f"{name} must have shape ({', '.join(map(str, axes))}){f' with {known}' if known else ''},"
        f" got {flat}"
    )


def own(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it is contiguous and nothing can write to it, else such a copy."""
    if array.flags.num & _READ_ONLY == _CONTIGUOUS | _ALIGNED:
        base = array.base
        if not isinstance(base, np.ndarray) or not base.flags.num & _WRITEABLE:
            return array
    return check.frozen(np.array(array, order="C"))


def ordered(table: Mapping[str, Field]) -> list[tuple[str, Field]]:
    """The fields in the order in which they are checked: fields that set sizes come first."""
    return sorted(table.items(), key=lambda entry: not entry[1].binds)


def check_fields(
    table: Sequence[tuple[str, Field]],
    content: dict[str, Any],
    waiting: dict[str, Callable[[], Any]],
) -> None:
    """Check the fields of an object, in its __dict__, and store the values that replace them.

    Fields that are made later, by the functions in `waiting`, are checked when they are made.

    Raises
    ------
    TypeError, ValueError
        The message names the field.
    """
    sizes: Sized = {}
    for name, field in table:
        if name in content:
            value = content[name]
            found = field.check(name, value, sizes)
            if found is not value:
                content[name] = found
        elif name in waiting:
            waiting[name] = _checked(name, field, waiting[name], sizes)
        else:
            raise ValueError(f"{name} is missing")


def _checked(name: str, field: Field, make: Callable[[], Any], sizes: Sized) -> Callable[[], Any]:
    return lambda: field.check(name, make(), sizes)


def read_fields(table: Mapping[str, Field], content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the values of all fields of a table from JSON.

    Raises ValueError, which names the key, if a field is wrong, missing or unknown.
    """
    if unknown := set(content) - set(table):
        raise ValueError(f"it has an unknown key {shown(min(unknown, key=str))}")
    if missing := set(table) - set(content):
        raise ValueError(f"it needs the key {min(missing)!r}")
    found = {}
    for name, field in table.items():
        try:
            found[name] = field.read(content[name])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return found


# ---- rules that several kinds of results share ----


#: Time per unit of work of each worker; infinite for a worker that does none.
CYCLE_TIMES = Array("f8", "p", low=LEAST, high=math.inf)
#: A number for each worker, finite and not negative.
EACH = Array("f8", "p")


def require_dealt(
    name: str,
    counts: NDArray[np.int64],
    total: int | None = None,
    displs: NDArray[np.int64] | None = None,
) -> None:
    """Require counts along the last axis with a given sum, if any, that an int64 holds.

    displs must be the place where the part of each worker begins.
    """
    if counts.size <= _FEW and counts.ndim == 1:
        own = counts.tolist()
        many = sum(own)
        wrong = displs is not None and list(accumulate(own, initial=0))[:-1] != displs.tolist()
    else:
        many = int(counts.sum(axis=-1, dtype=np.float64).max(initial=0.0))
        wrong = displs is not None and not np.array_equal(
            displs, np.cumsum(counts, axis=-1) - counts
        )
    if many >= 2**63 or (total is not None and many != total):
        raise ValueError(
            f"{name} must sum to {'less than 2^63' if total is None else total}, got {many}"
        )
    if wrong:
        raise ValueError(f"displs must be the sums of the {name} before each")


def require_able(name: str, work: NDArray[Any], cycle_times: NDArray[np.float64]) -> float:
    """Require that only workers that can work have something to do, for a finite time.

    The workers are along the last axis, and some must be able to work. Returns the longest time.
    """
    if work.size <= _FEW and work.ndim == 1:
        times = cycle_times.tolist()
        longest = max([w * t for w, t in zip(work.tolist(), times, strict=True) if w], default=0.0)
        able = min(times) < math.inf
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            longest = np.where(work > 0, work * cycle_times, 0.0).max(initial=0.0)
        able = bool((cycle_times.min(axis=-1, initial=math.inf) < math.inf).all())
    if able and longest <= MOST:
        return float(longest)
    if (idle := np.isinf(cycle_times)).all(axis=-1).any():
        raise ValueError("cycle_times must be finite for at least one worker: no worker can work")
    if (bad := (work > 0) & idle).any():
        raise ValueError(
            f"{name}{check.first(bad)[1]} must be 0: the worker has an infinite cycle-time"
        )
    raise ValueError(
        f"{name} take longer than a double can hold: give cycle_times in a larger unit"
    )


def require_order(name: str, order: NDArray[Any], busy: NDArray[Any]) -> None:
    """Require an order of exactly the busy workers, each of them once."""
    if sorted(order.tolist()) != [i for i, much in enumerate(busy.tolist()) if much]:
        raise ValueError(f"{name} must have each worker with something to do once, and no other")


def require_owners(
    name: str, owner: NDArray[np.int32], counts: NDArray[np.int64], cycle_times: NDArray[np.float64]
) -> None:
    """Require owners that can work, and counts that say how often each owner occurs."""
    require_able("counts", counts > 0, cycle_times)
    if not np.array_equal(counts, np.bincount(owner.ravel(), minlength=len(counts))):
        raise ValueError(f"counts must say how often each worker is in {name}")


def require_inside(
    name: str, boxes: NDArray[Any], sides: Sequence[float], near: float = 0.0
) -> None:
    """Require boxes (..., places, lengths) inside the sides, up to a relative rounding."""
    d = len(sides)
    for axis, side in enumerate(sides):
        start, length = boxes[:, axis], boxes[:, axis + d]
        if (bad := start > side * (1 + near) - length).any():  # the sum could overflow
            i = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{i}] must lie inside {' x '.join(map(str, sides))}, got"
                f" {boxes[i].tolist()}"
            )


def require_close(name: str, found: float, wanted: float, near: float = 1e-9) -> None:
    """Require two numbers that are equal up to rounding."""
    if not math.isclose(found, wanted, rel_tol=near, abs_tol=1e-300):
        raise ValueError(f"{name} must be {wanted:.15g}, got {found:.15g}")
