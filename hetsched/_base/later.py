"""Fields of results that are made when asked for: a million names take longer than the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

T = TypeVar("T")


class _Later(NamedTuple):
    make: Callable[[], Any]


def later(make: Callable[[], T]) -> T:
    """What a field of a `Lazy` class is given for the value that make() returns; make() is called at most once by a thread."""
    return cast(T, _Later(make))


class Lazy:
    """A frozen dataclass whose fields may be given by `later`. Asked for, compared, copied or pickled, they are as others."""

    def __post_init__(self) -> None:
        content = self.__dict__
        waiting = {name: value.make for name, value in content.items() if isinstance(value, _Later)}
        for name in waiting:
            del content[name]
        content["_waiting"] = waiting
        after: Callable[[], None] | None = getattr(super(), "__post_init__", None)
        if after is not None:
            after()

    if not TYPE_CHECKING:  # else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            make = self.__dict__.get("_waiting", {}).get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            value = self.__dict__.setdefault(name, make())  # of two threads the first
            self._waiting.pop(name, None)
            return value

    def __getstate__(self) -> dict[str, Any]:
        for name in tuple(self.__dict__["_waiting"]):
            getattr(self, name)
        return self.__dict__
