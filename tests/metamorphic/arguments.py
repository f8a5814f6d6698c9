"""Arguments of planners as numbers: scaled, permuted, with a worker more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hetsched as hs
from hetsched.planners.stencil import Members


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers in an argument."""
    if isinstance(value, hs.Platform):
        for part in (value.cycle_times, value.link_costs, value.links, value.right, value.down):
            yield from numbers_in(part)
    elif isinstance(value, Members):
        yield from numbers_in(value.cycle_times)
        yield from numbers_in(value.links)
        yield from numbers_in(value.latencies)
        yield from numbers_in(value.overheads)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, np.ndarray):
        yield from (
            numbers_in(value.tolist())
            if value.dtype.kind == "O"
            else map(float, np.asarray(value).ravel())
        )
    elif isinstance(value, int | float | np.generic) and not isinstance(value, bool):
        yield float(value)


def _platform(
    old: hs.Platform,
    times: Any,
    costs: Any,
    links: Any,
    memory: Sequence[Any],
    domains: Sequence[Any],
) -> hs.Platform:
    columns = zip(
        np.asarray(times).tolist(), np.asarray(costs).tolist(), memory, domains, strict=True
    )
    workers = [hs.Worker(time, cost, room, domain=domain) for time, cost, room, domain in columns]
    return hs.Platform(workers, links, unit=old.unit)


def scaled(value: Any, factor: float) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, hs.Platform):
        links = None if value.links is None else value.links * factor
        return _platform(
            value,
            value.cycle_times * factor,
            value.link_costs * factor,
            links,
            value.memory,
            value.domains,
        )
    if isinstance(value, Members):
        return Members(
            value.cycle_times * factor,
            value.links * factor,
            value.names,
            latencies=scaled(value.latencies, factor),
            overheads=scaled(value.overheads, factor),
        )
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return scaled(value.tolist(), factor)
    if isinstance(value, set):
        value = list(value)
    if isinstance(value, list | tuple):
        return type(value)(scaled(part, factor) for part in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        # in half precision it might overflow
        return np.asarray(value, np.result_type(value, float)) * factor
    return np.asarray(value) * factor if np.ndim(value) else value * factor


def permuted(value: Any, order: np.ndarray) -> Any:
    if isinstance(value, hs.Platform):
        links = None if value.links is None else value.links[np.ix_(order, order)]
        memory = [value.memory[i] for i in order]
        domains = [value.domains[i] for i in order]
        return _platform(
            value, value.cycle_times[order], value.link_costs[order], links, memory, domains
        )
    if isinstance(value, Members):
        return Members(
            value.cycle_times[order],
            value.links[np.ix_(order, order)],
            tuple(value.names[i] for i in order),
            latencies=None if value.latencies is None else value.latencies[np.ix_(order, order)],
            overheads=None if value.overheads is None else value.overheads[order],
        )
    if isinstance(value, list | tuple) and len(value) == len(order):
        return [value[i] for i in order]
    if np.ndim(value) == 0:
        return value
    array = np.asarray(value)
    return array[np.ix_(order, order)] if array.ndim == 2 else array[order]


def of_each(given: Any, shape: tuple[int, ...], moved: Callable[[NDArray[np.float64]], Any]) -> Any:
    """Limits for nodes of a shape, moved with the nodes. None is no limit."""
    if given is None:
        return None
    limits = np.nan_to_num(np.asarray(given, float), nan=np.inf, posinf=np.inf)
    return moved(np.broadcast_to(limits, shape))


def as_matrix(name: str, value: Any) -> Any:
    """Links given as rows are one matrix, others' rows are not."""
    rows = (
        name in ("links", "link_costs", "latencies")
        and isinstance(value, list | tuple)
        and np.ndim(value) == 2
    )
    return np.asarray(value, float) if rows else value


def extended(value: Any, extra: float | None, dear: float) -> Any:
    """With one more worker. In a Platform, or in cycle-times in its place (extra None), its time
    and its links are dear."""
    extra = dear if extra is None else extra
    if isinstance(value, hs.Platform):
        links = None if value.links is None else np.pad(value.links, (0, 1), constant_values=dear)
        memory = [*value.memory, None if None in value.memory else max(value.memory)]
        return _platform(
            value,
            [*value.cycle_times, dear],
            [*value.link_costs, dear],
            links,
            memory,
            [*value.domains, value.domains[0]],
        )
    if isinstance(value, Members):
        links = np.pad(value.links, (0, 1), constant_values=dear)
        waits = None if value.latencies is None else np.pad(value.latencies, (0, 1))
        fixed = None if value.overheads is None else np.append(value.overheads, 0.0)
        return Members(
            np.append(value.cycle_times, dear),
            links,
            (*value.names, "useless"),
            latencies=waits,
            overheads=fixed,
        )
    if value is None or np.ndim(value) == 0:
        return value
    array = np.asarray(value)
    if array.ndim == 2:
        return np.pad(array.astype(float), (0, 1), constant_values=extra)
    whole = array.dtype.kind in "iu" and abs(extra) < 2**53
    return np.append(array, int(extra) if whole else extra)
