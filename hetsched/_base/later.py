"""Result fields that are made on first access: a million names take longer than the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

T = TypeVar("T")


class _Later(NamedTuple):
    make: Callable[[], Any]


def later(make: Callable[[], T]) -> T:
    """A placeholder for a field of a `Lazy` class; its value is what make() returns.

    Threads that access the field at the same time may each call make(); the first value is kept.
    """
    return cast(T, _Later(make))


def split(content: dict[str, Any]) -> None:
    """Put the placeholders of `later` among the fields of a `Lazy` object aside."""
    waiting = {name: value.make for name, value in content.items() if type(value) is _Later}
    for name in waiting:
        del content[name]
    content["_waiting"] = waiting


class Lazy:
    """A frozen dataclass with fields that may be given by `later`.

    On access, comparison, copying or pickling they behave like any other fields.
    """

    def __post_init__(self) -> None:
        split(self.__dict__)
        after: Callable[[], None] | None = getattr(super(), "__post_init__", None)
        if after is not None:
            after()

    if not TYPE_CHECKING:  # a type checker would otherwise accept every attribute

        def __getattr__(self, name: str) -> Any:
            make = self.__dict__.get("_waiting", {}).get(name)
            if make is None:
                if name in self.__dict__:  # another thread has made it meanwhile
                    return self.__dict__[name]
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            # if two threads make it, the first value stays
            value = self.__dict__.setdefault(name, make())
            self._waiting.pop(name, None)
            return value

    def __getstate__(self) -> dict[str, Any]:
        for name in tuple(self.__dict__["_waiting"]):
            getattr(self, name)
        return self.__dict__
