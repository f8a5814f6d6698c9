"""Fewer combinations of the parameters of a test, in `make test`."""

from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest


def values_of(item: pytest.Item) -> Iterator[tuple]:
    """What a test has from each `parametrize` of its function and its class, and from each fixture
    with parameters. Names that one `parametrize` gives together are one value."""
    params = dict(item.callspec.params)
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",") if name.strip()]
        yield tuple((name, id(params.pop(name))) for name in names)
    for name, value in params.items():
        yield ((name, id(value)),)


def few_of(items: list[pytest.Item]) -> set[pytest.Item]:
    """The tests to run. Of the combinations of a function's parameters, those in which a value
    occurs for the first time, and no more than its mark `few` says. They are looked at in the order
    of a checksum of their names, which is always the same and pairs each value with several others.
    Each test without parameters is there. O(n log n)."""
    kept = set()
    met = set()
    taken = Counter()
    for item in sorted(items, key=lambda item: crc32(item.nodeid.encode())):
        if not hasattr(item, "callspec"):
            kept.add(item)
            continue
        function = item.nodeid.partition("[")[0]
        values = {(function, *value) for value in values_of(item)}
        mark = item.get_closest_marker("few")
        if not values <= met and (mark is None or taken[function] < mark.args[0]):
            kept.add(item)
            met |= values
            taken[function] += 1
    return kept
