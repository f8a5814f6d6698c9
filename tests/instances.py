"""Random inputs of every planner: equal workers, ties, one worker or two, nothing to do, free
links, wide spreads."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import hetsched as hs
from hetsched.planners.dynamic import METHODS as DEMANDS
from hetsched.planners.partition import METHODS as PARTITIONS
from hetsched.planners.stencil import Members

Given = tuple[tuple[Any, ...], dict[str, Any]]


def forged(plan: Any, **changes: Any) -> Any:
    """A copy of a plan with other fields, which nothing has checked."""
    other = copy.copy(plan)
    other.__dict__.update(changes)
    return other


def size(rng: np.random.Generator, most: int) -> int:
    """A number of workers: one and two are frequent."""
    return int(
        rng.choice([1, 2, 3, int(rng.integers(1, most + 1)), int(rng.integers(1, most + 1))])
    )


def few(rng: np.random.Generator, most: int, least: int = 0) -> int:
    """A size, often 0, 1 or 2."""
    return int(
        rng.choice([max(least, 0), max(least, 1), max(least, 2), *rng.integers(least, most + 1, 4)])
    )


def positives(rng: np.random.Generator, p: int, wide: float = 12.0) -> np.ndarray:
    """Costs: all equal, small integers, powers of two, close together, or spread over many
    decades."""
    kind = int(rng.integers(6))
    if kind == 0:
        values = np.full(p, float(rng.choice([1.0, 3.0, 0.1, 1e-6, 7e5])))
    elif kind == 1:
        values = rng.integers(1, 6, p).astype(float)
    elif kind == 2:
        values = 2.0 ** rng.integers(-4, 5, p)
    elif kind == 3:
        values = rng.uniform(0.5, 2.0, p)
    elif kind == 4:
        values = 10 ** rng.uniform(-min(2.0, wide), min(2.0, wide), p)
    else:
        values = 10 ** rng.uniform(-wide, wide, p)
    return values


def idle(rng: np.random.Generator, values: np.ndarray, nothing: float) -> np.ndarray:
    """Now and then some are of no use; one stays."""
    if len(values) > 1 and rng.random() < 0.2:
        values = values.copy()
        values[rng.permutation(len(values))[: int(rng.integers(1, len(values)))]] = nothing
    return values


def free(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Now and then some links cost nothing, or all."""
    if rng.random() < 0.25:
        values = np.where(rng.random(values.shape) < rng.choice([0.3, 1.0]), 0.0, values)
    return values


def cycle_times(rng: np.random.Generator, most: int, wide: float = 12.0) -> np.ndarray:
    return idle(rng, positives(rng, size(rng, most), wide), math.inf)


def by_speed(rng: np.random.Generator, times: np.ndarray) -> dict[str, Any]:
    """Cycle-times, or sometimes speeds, or a Platform."""
    way = rng.random()
    if way < 0.15:
        return {"speeds": (1.0 / times).tolist()}
    if way < 0.25 and np.isfinite(times).all():
        return {"cycle_times": hs.Platform.star(times)}
    return {"cycle_times": times.tolist()}


def messages(rng: np.random.Generator, p: int) -> Any:
    """Of a bus: none, one for all, or one for each."""
    way = int(rng.integers(4))
    if way == 0:
        return 0.0
    if way == 1:
        return float(rng.choice([0.0, 0.25, 1.0, 1e-3]))
    return free(rng, rng.integers(0, 9, p) / 4 if way == 2 else rng.uniform(0, 2, p)).tolist()


def _distribute(rng: np.random.Generator) -> Given:
    n = few(rng, 300)
    if rng.random() < 0.2:
        p = size(rng, 5)
        shape = tuple(rng.integers(0, 4, int(rng.integers(1, 3))).tolist())
        times = np.array([positives(rng, p) for _ in range(math.prod(shape))]).reshape(*shape, p)
        return (rng.integers(0, 50, shape) if rng.random() < 0.5 else n, times), {}
    return (n if rng.random() < 0.8 else int(10 ** rng.uniform(0, 15)),), by_speed(
        rng, cycle_times(rng, 12)
    )


def _profile(rng: np.random.Generator) -> Given:
    n, p = few(rng, 40), size(rng, 6)
    profiles: list[Any] = []
    for base in positives(rng, p, 6):
        kind = int(rng.integers(4))
        if kind == 0:
            profiles.append(float(base))
        elif kind == 1:
            table = np.cumsum(rng.uniform(0, 1, n + 1)) * base + base
            profiles.append(table.tolist())
        elif kind == 2:
            points = np.sort(rng.choice(np.arange(1, n + 10), 3, replace=False))
            profiles.append((points.tolist(), (rng.uniform(0.5, 2, 3) * base).tolist()))
        else:
            table = rng.uniform(0.5, 2, n + 1) * base  # not monotone
            profiles.append(table.tolist())
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["min_chunk"] = rng.integers(0, 4, p).tolist()
    if rng.random() < 0.3:
        options["memory"] = [
            None if rng.random() < 0.5 else int(rng.integers(0, n + 2)) for _ in range(p)
        ]
    return (n, profiles), options


def _zone_profiles(rng: np.random.Generator, m: int, n: int, p: int) -> list[Any]:
    """Numbers, tables that are not monotone, and points."""
    profiles: list[Any] = []
    for base in positives(rng, p, 6):
        kind = int(rng.integers(3))
        if kind == 0:
            profiles.append(float(base))
        elif kind == 1:
            profiles.append((rng.uniform(0.5, 2, (m + 1, n + 1)) * base).tolist())
        else:
            sides = [np.sort(rng.choice(np.arange(1, 20), 2, replace=False)) for _ in range(2)]
            points = rng.uniform(0.5, 2, (2, 2)) * base
            profiles.append((*(side.tolist() for side in sides), points.tolist()))
    return profiles


def _profile_zones(rng: np.random.Generator) -> Given:
    m, n, p = few(rng, 12, 1), few(rng, 12, 1), size(rng, 5)
    profiles = _zone_profiles(rng, m, n, p)
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["memory"] = [None, *rng.integers(0, m * n + 2, p - 1).tolist()]
    if rng.random() < 0.3:
        options["method"] = str(rng.choice(["columns", "rows", "guillotine"]))
    return ((m, n), profiles), options


def _lu_pattern(rng: np.random.Generator) -> Given:
    if rng.random() < 0.25:
        n = few(rng, 16, 1)
        return (n,), {"profiles": _zone_profiles(rng, n, n, size(rng, 4))}
    method = str(rng.choice(["pattern", "pattern", "cyclic", "contiguous"]))
    period = int(rng.integers(1, 12)) if method == "pattern" and rng.random() < 0.4 else None
    return (few(rng, 60, 1),), {
        **by_speed(rng, cycle_times(rng, 8)),
        "period": period,
        "method": method,
    }


def _lu_grid(rng: np.random.Generator) -> Given:
    options = {"method": str(rng.choice(["best", "1d1d", "nested", "columns", "cyclic"]))}
    if rng.random() < 0.5:
        options["link_cost"] = float(rng.choice([0.0, 1.0, 0.01, 10 ** rng.uniform(-6, 6)]))
    return (few(rng, 10, 1),), {**by_speed(rng, cycle_times(rng, 8)), **options}


def _plan_lu(rng: np.random.Generator) -> Given:
    m, n, block = few(rng, 60), few(rng, 60), int(rng.choice([1, 2, 3, 5, 8, 100, 7]))
    if max(m, n) // block > 20:
        block = 8
    times = cycle_times(rng, 5)
    p = len(times)
    options: dict[str, Any] = {
        **by_speed(rng, times),
        "block": block,
        "look_ahead": bool(rng.random() < 0.7),
    }
    options["dtype"] = str(rng.choice(["float64", "float32", "complex64", "complex128"]))
    if rng.random() < 0.4:
        options["panel_times"] = positives(rng, p, 4).tolist()
    if rng.random() < 0.6:
        links = [
            float(rng.choice([0.0, 1.0, 100.0])),
            free(rng, positives(rng, p, 6)).tolist(),
            free(rng, positives(rng, p * p, 6)).reshape(p, p),
        ]
        options["link_costs"] = links[int(rng.integers(3))]
    able = np.flatnonzero(np.isfinite(times))
    rank = min(m, n)
    count = -(-rank // block) + -(-(n - rank) // block)
    options["owner"] = (
        str(rng.choice(["pattern", "cyclic", "contiguous"]))
        if rng.random() < 0.6
        else rng.choice(able, count).tolist()
    )
    if rng.random() < 0.2 and "link_costs" not in options:
        rows = -(-rank // block) + -(-(m - rank) // block)
        options["owner"] = rng.choice(able, (rows, count))
    if rng.random() < 0.2:
        blocks = max(m, n) // block + 2
        owner = str(rng.choice(["pattern", "cyclic"]))
        kept = {name: options[name] for name in ("block", "look_ahead", "dtype")}
        profiles = _zone_profiles(rng, blocks, blocks, p)
        return (m, n), {**kept, "owner": owner, "profiles": profiles}
    return (m, n), options


def _plan_factor(rng: np.random.Generator) -> Given:
    (m, n), options = _plan_lu(rng)
    kind = str(rng.choice(["lu", "cholesky", "qr"]))
    if kind == "cholesky" and m != n:  # the owners are of the blocks of min(m, n) columns
        m = n = min(m, n)
        count = -(-m // options["block"])
        if isinstance(options["owner"], np.ndarray):
            options["owner"] = options["owner"][:count, :count]
        elif not isinstance(options["owner"], str):
            options["owner"] = options["owner"][:count]
    return (m, n), {**options, "kind": kind}


def _plan_reduction(rng: np.random.Generator) -> Given:
    n, block = few(rng, 60), int(rng.choice([1, 2, 3, 5, 8, 100, 7]))
    if n // block > 20:
        block = 8
    times = cycle_times(rng, 5)
    options: dict[str, Any] = {**by_speed(rng, times), "block": block}
    options["dtype"] = str(rng.choice(["float64", "float32", "complex64", "complex128"]))
    if rng.random() < 0.4:
        options["panel_times"] = positives(rng, len(times), 4).tolist()
    able = np.flatnonzero(np.isfinite(times))
    options["owner"] = (
        str(rng.choice(["greedy", "greedy", "pattern", "cyclic", "contiguous"]))
        if rng.random() < 0.8
        else rng.choice(able, -(-n // block)).tolist()
    )
    return (n,), options


def _wavefront(rng: np.random.Generator) -> Given:
    axis = int(rng.integers(2))
    mask = (
        ["W", "N"]
        + (["NW"] if rng.random() < 0.3 else [])
        + ([["NE", "SW"][axis]] if rng.random() < 0.3 else [])
    )
    method = "panels" if rng.random() < 0.8 else "cyclic"
    times = cycle_times(rng, 6)
    if method == "cyclic":
        times = np.where(np.isinf(times), 1.0, times)
    period = int(rng.integers(1, 15)) if method == "panels" and rng.random() < 0.4 else None
    options = {
        "method": method,
        "order": str(rng.choice(["across", "along"])),
        "mask": mask,
        "axis": axis,
        "period": period,
    }
    return (few(rng, 12, 1), few(rng, 12, 1)), {**by_speed(rng, times), **options}


def _areas(rng: np.random.Generator, most: int) -> np.ndarray:
    wide = float(rng.choice([2.0, 6.0, 12.0]))
    return idle(rng, positives(rng, size(rng, most), wide / 2), 0.0)


def _partition(rng: np.random.Generator) -> Given:
    method = str(rng.choice(["best", *PARTITIONS]))
    areas = _areas(rng, 6 if method == "guillotine" else 9)
    p, options = len(areas), {}
    if rng.random() < 0.4 or method == "contiguous":
        m, n = few(rng, 20, 1), few(rng, 20, 1)
        options["shape"] = (max(m, -(-p // n)), n)
    if rng.random() < 0.3:
        options["link_costs"] = positives(rng, p, 3).tolist()
    if method in ("best", "interval", "guillotine") and rng.random() < 0.3:
        options["objective"] = "max"
        areas = areas[:6] if (areas[:6] > 0).any() else np.ones(3)
        if "link_costs" in options:
            options["link_costs"] = options["link_costs"][: len(areas)]
    elif method in ("best", "interval") and rng.random() < 0.3:
        options |= {
            "groups": rng.integers(0, 3, len(areas)).tolist(),
            "group_cost": float(rng.choice([0.0, 1.0, 2.5])),
        }
    return (areas.tolist(), method), options


def _cuboids(rng: np.random.Generator) -> Given:
    options: dict[str, Any] = {
        "method": str(rng.choice(["best", "guillotine", "interval", "layers", "rectangles"]))
    }
    volumes = _areas(rng, 6)
    for name in ("alpha", "beta", "gamma"):
        if rng.random() < 0.4:
            options[name] = float(rng.choice([1.0, 0.5, 3.0, 10 ** rng.uniform(-3, 3)]))
    if rng.random() < 0.3:
        options["gamma"] = 0.0
    if rng.random() < 0.4:
        m, n = few(rng, 9, 1), few(rng, 9, 1)
        options["shape"] = (m, n, max(few(rng, 9, 1), -(-len(volumes) // (m * n))))
    options["orders"] = 20
    return (volumes.tolist(),), options


def _dynamic(rng: np.random.Generator) -> Given:
    kind, method = str(rng.choice(["outer", "matrix"])), str(rng.choice(DEMANDS))
    times = idle(rng, positives(rng, size(rng, 6), 3), math.inf)
    options: dict[str, Any] = {"kind": kind, "method": method, "seed": int(rng.integers(9))}
    if method == "dynamic-2phases" and rng.random() < 0.5:
        options["beta"] = float(rng.choice([0.0, rng.uniform(0, 6)]))
    if rng.random() < 0.3:
        faster = positives(rng, len(times), 3)
        options["drift"] = [(float(times.min() * few(rng, 9)), hs.Platform.star(faster))]
    return (few(rng, 6 if kind == "matrix" else 12), times.tolist()), options


def _assign(rng: np.random.Generator) -> Given:
    m, n = size(rng, 8), size(rng, 8)
    kind = int(rng.integers(4))
    costs: Any = rng.integers(-5, 6, (m, n))
    if kind == 1:
        costs = rng.uniform(-1, 1, (m, n))
    elif kind == 2:
        costs = 10 ** rng.uniform(-12, 12, (m, n))
    elif kind == 3:
        costs = rng.integers(0, 3, (m, n)).astype(float)
    maximize = bool(rng.random() < 0.4)
    if kind and rng.random() < 0.3:
        costs[rng.random((m, n)) < 0.2] = -math.inf if maximize else math.inf
    return (costs,), {"maximize": maximize}


def _max_tasks(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 6, 2)
    p = len(times)
    method = str(rng.choice(["best", "best", "fastest", "paper"]))
    send, receive = messages(rng, p), messages(rng, p)
    if method == "paper":
        send, receive = 1.0, float(rng.choice([0.0, 0.5]))
    T = float(rng.choice([1.0, 3.0, 10.0, 28.0, rng.uniform(0, 40)])) * float(
        np.min(times)
    ) + float(rng.choice([0.0, 1.0, 5.0]))
    return (T, times.tolist(), send, receive), {"method": method}


def _min_time(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 4, 2)
    return (few(rng, 20), times.tolist(), messages(rng, len(times)), messages(rng, len(times))), {}


def _divisible(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 5, 3)
    links = free(rng, positives(rng, len(times), 3)).tolist()
    ratio = float(rng.choice([0.0, 0.5, 1.0, 2.0, rng.uniform(0, 3)]))
    load = float(rng.choice([1.0, 100.0, 1e-3, 7.3]))
    return (load, times.tolist(), links), {
        "return_ratio": ratio,
        "method": str(rng.choice(["best", "best", "fifo", "lifo"])),
    }


def _links(rng: np.random.Generator, p: int, wide: float = 6.0) -> Any:
    if rng.random() < 0.15:
        return float(rng.choice([0.0, 0.5, 2.0]))
    return free(rng, positives(rng, p * p, wide).reshape(p, p))


def _slice_ring(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 7)
    work, volume = (
        float(rng.choice([1.0, 100.0, 10 ** rng.uniform(-6, 6)])),
        float(rng.choice([0.0, 1.0, 10 ** rng.uniform(-6, 6)])),
    )
    method = str(rng.choice(["exact", "exact", "best", "search", "multistart", "greedy", "all"]))
    options = {"method": method, "relays": bool(rng.random() < 0.3)}
    links = _links(rng, len(times))
    if rng.random() < 0.3:
        options["latencies"] = _links(rng, len(times), 3.0)
    if rng.random() < 0.3:
        options["overheads"] = free(rng, positives(rng, len(times), 3.0)).tolist()
    return (), {
        "cycle_times": times.tolist(),
        "links": links,
        "work": work,
        "volume": volume,
        **options,
    }


def _shared_ring(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 6)
    nodes = len(times) + int(rng.integers(0, 3))
    costs = free(rng, positives(rng, nodes + 2, 3.0))
    ends = [(int(rng.integers(0, k)), k) for k in range(1, nodes)]
    if nodes > 1:
        ends += [rng.choice(nodes, 2, replace=False).tolist() for _ in range(2)]
    return (), {
        "cycle_times": times.tolist(),
        "network": [(a, b, float(cost)) for (a, b), cost in zip(ends, costs, strict=False)],
        "work": float(rng.choice([1.0, 100.0, 10 ** rng.uniform(-6, 6)])),
        "volume": float(rng.choice([0.0, 1.0, 10 ** rng.uniform(-6, 6)])),
        "method": str(rng.choice(["best", "exact", "search", "greedy"])),
        "duplex": bool(rng.random() < 0.5),
    }


def _ring_profile(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 6, 3)
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["volume"] = float(rng.choice([0.5, 3.0]))
    if rng.random() < 0.3:
        options["latencies"] = _links(rng, len(times), 3.0)
    if rng.random() < 0.3:
        options["overheads"] = free(rng, positives(rng, len(times), 3.0)).tolist()
    return (times.tolist(), _links(rng, len(times), 3.0)), options


def _redistribute(rng: np.random.Generator) -> Given:
    p = size(rng, 7)
    ring = rng.permutation(p)[: int(rng.integers(1, p + 1))]
    items = few(rng, 60)
    before, after = np.zeros((2, p), int)
    for counts in (before, after):
        counts[ring] = rng.multinomial(items, rng.dirichlet(np.full(len(ring), 0.7)))
    latencies = {"latencies": _links(rng, p, 3.0)} if rng.random() < 0.3 else {}
    return (before.tolist(), after.tolist(), _links(rng, p, 3.0)), latencies | {
        "ring": ring.tolist(),
        "volume": float(rng.choice([1.0, 0.25])),
        "one_way": bool(rng.random() < 0.3),
        "rotate": bool(rng.random() < 0.7),
    }


def star(rng: np.random.Generator, most: int, wide: float) -> hs.Platform:
    p = size(rng, most)
    return hs.Platform.star(positives(rng, p, wide), free(rng, positives(rng, p, wide)))


def _plan_product(rng: np.random.Generator) -> Given:
    p = size(rng, 3)
    memory = [int(rng.choice([5, 8, 12, 21, 40])) for _ in range(p)]
    platform = hs.Platform.star(positives(rng, p, 3), free(rng, positives(rng, p, 3)), memory)
    method = str(
        rng.choice(["best", "search", "het", "hom", "homi", "orroml", "ommoml", "oddoml", "bmm"])
    )
    sides = tuple(few(rng, 5, 1) for _ in range(3))
    return (*sides, platform), {
        "method": method,
        "budget": 0,
        "returns": str(rng.choice(["lazy", "eager"])),
    }


def _plan_star_lu(rng: np.random.Generator) -> Given:
    (r, _, _, platform), options = _plan_product(rng)
    del options["budget"]
    method = "oddoml" if options["method"] in ("best", "search") else options["method"]
    width = {} if rng.random() < 0.5 else {"width": int(rng.integers(1, r + 1))}
    master = (
        {}
        if rng.random() < 0.5
        else {"master_time": float(rng.uniform(0.1, 3) * platform.cycle_times.min())}
    )
    return (r, platform), {**options, "method": method, **width, **master}


def _layers_star(rng: np.random.Generator) -> Given:
    times = cycle_times(rng, 7)
    options: dict[str, Any] = {
        "mode": str(rng.choice(["scss", "sccs", "pccs", "pcss"])),
        "method": str(rng.choice(["exact", "best", "paper"])),
    }
    links, n = free(rng, positives(rng, len(times))), few(rng, 60)
    if rng.random() < 0.4:
        disk, room = bool(rng.random() < 0.5), rng.integers(0, n + 1, len(times))
        room[int(np.argmin(times))] = n
        memory = np.where(
            rng.random(len(times)) < 0.2, np.inf, 2 * n * room + (n if disk else n**2)
        )
        options |= {"memory": memory.tolist(), "disk": disk}
    return (n,), {"cycle_times": times.tolist(), "link_costs": links.tolist(), **options}


def _mesh_options(rng: np.random.Generator, n: int, shape: tuple[int, ...]) -> dict[str, Any]:
    methods = ["pmft", "relaxed", "heuristic", "neighbours", "milp"]
    mode = str(rng.choice(["pccs", "pccs", "scss", "sccs", "pcss"]))
    prune = mode == "pccs" and bool(rng.random() < 0.3)
    options = {
        "method": str(rng.choice(methods)),
        "source_computes": True,
        "mode": mode,
        "prune": prune,
    }
    if (
        mode == "pccs"
        and not prune
        and options["method"] in ("pmft", "relaxed")
        and rng.random() < 0.5
    ):
        options["installments"] = int(rng.integers(2, 5))
    elif rng.random() < 0.3:
        disk = bool(rng.random() < 0.5)
        room = 2.0 * n * rng.integers(n // 2, n + 1, shape) + (n if disk else n**2)
        options |= {"disk": disk, "memory": room.tolist()}
    return options


def _layers_mesh(rng: np.random.Generator) -> Given:
    x, y = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    times = positives(rng, x * y, 1).reshape(x, y)
    right, down = (
        free(rng, positives(rng, x * (y - 1), 1)).reshape(x, y - 1),
        free(rng, positives(rng, (x - 1) * y, 1)).reshape(x - 1, y),
    )
    source = (int(rng.integers(x)), int(rng.integers(y)))
    n = few(rng, 30, 1)
    return (n, times, right, down), {"source": source, **_mesh_options(rng, n, (x, y))}


def _layers_network(rng: np.random.Generator) -> Given:
    p = int(rng.integers(1, 6))
    links = [
        (int(rng.integers(0, v)), v, float(c))
        for v, c in zip(range(1, p), positives(rng, p, 1), strict=False)
    ]
    links += [(u, v, 1.5) for u in range(p) for v in range(u + 1, p) if rng.random() < 0.2]
    n = few(rng, 30, 1)
    return (n, positives(rng, p, 1), links), {"source": 0, **_mesh_options(rng, n, (p,))}


def _plan_boxes(rng: np.random.Generator) -> Given:
    m, n, k = (few(rng, 60) for _ in range(3))
    method = str(
        rng.choice(
            [
                "auto",
                "auto",
                "columns",
                "rows",
                "layers",
                "cuboids",
                "domains",
                "rectangles",
                "best",
                "contiguous",
            ]
        )
    )
    modes = ["once", "scss", "sccs", "pccs", "pcss"] + (
        ["sequential", "parallel"] if method not in ("layers", "cuboids") else []
    )
    options = {
        "method": method,
        "block": int(rng.choice([1, 1, 7, 16])),
        "communication": str(rng.choice(modes)),
    }
    if method not in ("auto", "columns", "rows", "layers", "cuboids", "domains"):
        options["block"] = 1
        m, n = max(m, 8), max(n, 8)
    sizes, rates = ([4, 8], 2.0) if rng.random() < 0.5 else ([8, 16], 8.0)
    platform = star(rng, 6, 4)
    if method == "domains":
        own = [None if rng.random() < 0.1 else int(rng.integers(3)) for _ in platform.workers]
        return (
            m,
            n,
            k,
            hs.Platform.star(platform.cycle_times, platform.link_costs, domains=own),
        ), {**options, "itemsize": int(rng.choice(sizes)), "flops_per_update": rates}
    if method not in ("layers", "cuboids") and rng.random() < 0.3:  # a link between every two
        p = len(platform)
        platform = hs.Platform.complete(
            platform.cycle_times, np.where(np.eye(p), 0.0, positives(rng, p * p, 4).reshape(p, p))
        )
        if len(platform) in (1, 4) and rng.random() < 0.3:
            options |= {
                "method": "cannon",
                "communication": str(rng.choice(["sequential", "parallel"])),
            }
    return (m, n, k, platform), {
        **options,
        "itemsize": int(rng.choice(sizes)),
        "flops_per_update": rates,
    }


def _plan_matmul(rng: np.random.Generator) -> Given:
    (m, n, k, platform), options = _plan_boxes(rng)
    method = {"auto": "best", "best": "columns"}.get(options["method"], options["method"])
    dtype = {
        4: "float32",
        8: "float64" if options["flops_per_update"] == 2.0 else "complex64",
        16: "complex128",
    }[options["itemsize"]]
    return (m, n, k, platform), {
        "method": method,
        "communication": options["communication"],
        "dtype": dtype,
    }


def _plan_stencil(rng: np.random.Generator) -> Given:
    p = size(rng, 6)
    links = free(rng, positives(rng, p * p, 4).reshape(p, p))
    np.fill_diagonal(links, 0.0)
    fixed = free(rng, positives(rng, p, 3) * 1e-7) if rng.random() < 0.3 else None
    waits = free(rng, positives(rng, p * p, 3).reshape(p, p) * 1e-7) if rng.random() < 0.3 else None
    names = tuple(f"P{i}" for i in range(p))
    members = Members(positives(rng, p, 4), links, names, latencies=waits, overheads=fixed)
    return (few(rng, 40, 1), few(rng, 40, 1), few(rng, 9), members, int(rng.choice([4, 8]))), {}


def _workers_worth(rng: np.random.Generator) -> Given:
    options = {"quota": float(rng.uniform(0.2, 6))} if rng.random() < 0.4 else {"quota": 1e9}
    sides = tuple(few(rng, 300) for _ in range(3))
    return (*sides, star(rng, 6, 6)), {
        **options,
        "dtype": str(rng.choice(["float64", "float32", "complex128"])),
    }


INSTANCES: dict[str, Callable[[np.random.Generator], Given]] = {
    "distribute": _distribute,
    "distribute_profile": _profile,
    "partition_profile": _profile_zones,
    "lu_pattern": _lu_pattern,
    "lu_grid": _lu_grid,
    "plan_lu": _plan_lu,
    "plan_factor": _plan_factor,
    "plan_reduction": _plan_reduction,
    "wavefront": _wavefront,
    "partition": _partition,
    "cuboids": _cuboids,
    "dynamic_product": _dynamic,
    "assign": _assign,
    "max_tasks": _max_tasks,
    "min_time": _min_time,
    "divisible_load": _divisible,
    "slice_ring": _slice_ring,
    "shared_ring": _shared_ring,
    "ring_profile": _ring_profile,
    "redistribute": _redistribute,
    "plan_product": _plan_product,
    "plan_star_lu": _plan_star_lu,
    "layers_star": _layers_star,
    "layers_mesh": _layers_mesh,
    "layers_network": _layers_network,
    "plan_boxes": _plan_boxes,
    "plan_matmul": _plan_matmul,
    "plan_stencil": _plan_stencil,
    "workers_worth": _workers_worth,
}


def with_boxes(plan, boxes):
    """A plan with other boxes, and what a plan says of each."""
    count, volumes = len(boxes), boxes[:, 4:].astype(float).prod(axis=1)
    if plan.triangle:
        volumes -= boxes[:, 5] * (boxes[:, 5] - 1.0) / 2.0 * boxes[:, 6]
    flops = np.bincount(boxes[:, 0], 2.0 * volumes, len(plan.names)).astype(float)
    return replace(
        plan, boxes=boxes, sent=np.zeros(count), receive=np.zeros((count, 2)), flops=flops
    )
