"""Plans in two and three dimensions: partitions, boxes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import oracles.floorplan

import hetsched as hs

from .common import CLOSE, EXACT, TILES, ints, judges, replayed, same, validate


def span(stretches: Iterable[tuple[float, float]]) -> float:
    """Length of a union of (start, length)."""
    total, reached = 0.0, -math.inf
    for start, length in sorted(stretches):
        total += length if start >= reached else max(0.0, start + length - reached)
        reached = max(reached, start + length)
    return total


def tiled(boxes: list[list[float]], sides: Sequence[float], tolerance: float) -> None:
    """Boxes (starts, lengths) inside the sides, apart from each other, and as large together."""
    dims = len(sides)
    for box in boxes:
        for start, length, side in zip(box[:dims], box[dims:], sides, strict=True):
            assert length > 0, f"{box} is empty"
            assert start >= -tolerance * side, f"{box} begins outside"
            assert start + length <= side * (1 + tolerance), f"{box} ends outside"
    volumes = [math.prod(box[dims:]) for box in boxes]
    whole = math.prod(sides)
    total = sum(volumes) if tolerance == 0 else math.fsum(volumes)
    assert abs(total - whole) <= tolerance * whole, (
        f"the zones are {total} together, the whole is {whole}"
    )
    if len(boxes) ** 2 > 100 * TILES:
        return
    for one, two in itertools.combinations(boxes, 2):
        common = [
            min(a + x, b + y) - max(a, b)
            for a, x, b, y in zip(one[:dims], one[dims:], two[:dims], two[dims:], strict=True)
        ]
        over = any(c <= tolerance * side for c, side in zip(common, sides, strict=True))
        assert over, f"{one} and {two} overlap"


def _postfix(plan: Sequence[int]) -> list[int]:
    """The workers of a floorplan, each operator with its operands before it."""
    stack, workers = 0, []
    for entry in plan:
        if entry >= 0:
            workers.append(entry)
            stack += 1
        else:
            takes = {-1: 2, -2: 2, -3: 5, -4: 2, -5: 3}[entry]
            assert stack >= takes, "a floorplan with too few zones for a cut"
            stack -= takes - 1
    assert stack == 1, f"a floorplan that ends with {stack} parts"
    return workers


@judges(hs.ProfilePartition)
def _profile_zones(plan: hs.ProfilePartition) -> None:
    p, times = len(plan.names), plan.times.tolist()
    rects = ints("rects", plan.rects, (p, 4))
    tiled([rect for rect in rects if any(rect)], plan.shape, 0.0)
    areas = [height * width for _, _, height, width in rects]
    for i, (area, time) in enumerate(zip(areas, times, strict=True)):
        assert (time > 0) == (area > 0), f"worker {i} needs {time} for {area} cells"
    same("makespan", plan.makespan, max(times))
    mean = [t / a if a else math.inf for a, t in zip(areas, times, strict=True)]
    same("cycle_times", plan.cycle_times, mean)
    assert plan.half_perimeters == sum(h + w for _, _, h, w in rects), "the sides of the zones"
    assert plan.pieces.tolist() == [[i, *rect] for i, rect in enumerate(rects) if areas[i]]
    replayed(plan, end=plan.makespan)


@judges(hs.Partition)
def _partition(plan: hs.Partition) -> None:
    p, whole = len(plan.areas), plan.shape or (1, 1)
    assert len(plan.names) == p, "a name for each worker"
    same("sum of areas", plan.areas.sum(), 1.0, EXACT)
    kind = "f" if plan.shape is None else "i"
    pieces = ints("pieces", plan.pieces, (len(plan.pieces), 5), kind)
    owners = [int(piece[0]) for piece in pieces]
    assert owners == sorted(owners), "pieces are not sorted by worker"
    assert all(0 <= w < p for w in owners), "a worker that does not exist"
    tiled([piece[1:] for piece in pieces], whole, 0.0 if plan.shape else CLOSE)
    spans = np.zeros((p, 2))
    for w in range(p):
        own = [piece[1:] for piece in pieces if piece[0] == w]
        spans[w] = [span((piece[a], piece[a + 2]) for piece in own) for a in (0, 1)]
        area = sum(piece[2] * piece[3] for piece in own)
        same(f"actual_areas[{w}]", plan.actual_areas[w], area / math.prod(whole), EXACT)
        if plan.shape is None:
            same(f"area of worker {w}", area, plan.areas[w], CLOSE, 1e-6)
        assert plan.areas[w] > 0 or not own, f"worker {w} has a zone and no area"
    # lengths of unions are differences of places
    several = [w for w in set(owners) if owners.count(w) > 1]
    same("spans", np.delete(plan.spans, several, 0), np.delete(spans, several, 0))
    same("spans of several pieces", plan.spans[several], spans[several], EXACT, 1e-3 * max(whole))
    costs = plan.link_costs * spans.sum(axis=1)
    if plan.objective == "max":
        cost = float(costs.max())
    else:
        cost = math.fsum(costs.tolist())
        if plan.groups is not None:
            for group in set(plan.groups.tolist()):
                own = [piece[1:] for piece in pieces if plan.groups[int(piece[0])] == group]
                cost += plan.group_cost * math.fsum(
                    span((piece[a], piece[a + 2]) for piece in own) for a in (0, 1)
                )
                if plan.shape is None and own:  # a rectangle
                    box = math.prod(
                        max(x[a] + x[a + 2] for x in own) - min(x[a] for x in own) for a in (0, 1)
                    )
                    same("area of a group's rectangle", sum(x[2] * x[3] for x in own), box, CLOSE)
    same("cost", plan.cost, cost, EXACT * 10)
    given = [i for i in range(p) if plan.areas[i] > 0]
    if plan.objective == "sum" and plan.groups is None:
        there = [i for i in range(p) if plan.actual_areas[i] > 0]
        sizes, weights = plan.actual_areas[there].tolist(), plan.link_costs[there].tolist()
        least = oracles.floorplan.bound(sizes, whole, weights)
        same("lower_bound", plan.lower_bound, min(least, plan.cost), CLOSE)
    same(
        "imbalance", plan.imbalance, max(plan.actual_areas[i] / plan.areas[i] for i in given), EXACT
    )
    if plan.floorplan:
        assert sorted(_postfix(plan.floorplan)) == given, (
            "the floorplan has other workers than those with an area"
        )
    if plan.columns:
        assert sorted(itertools.chain(*plan.columns)) == sorted(set(owners)), (
            "columns have other workers than pieces"
        )
    if len(set(owners)) == len(owners):
        rects = np.zeros((p, 4))
        rects[owners] = [piece[1:] for piece in pieces]
        same("rects", plan.rects, rects)
    replayed(plan, end=None)


@judges(hs.Cuboids)
def _cuboids(plan: hs.Cuboids) -> None:
    p, whole = len(plan.volumes), plan.shape or (1, 1, 1)
    kind = "f" if plan.shape is None else "i"
    boxes = ints("boxes", plan.boxes, (p, 6), kind)
    same("sum of volumes", plan.volumes.sum(), 1.0, EXACT)
    used = [i for i in range(p) if any(boxes[i][3:])]
    assert all(boxes[i] == [0] * 6 for i in range(p) if i not in used), (
        "an empty box that is somewhere"
    )
    assert all(plan.volumes[i] > 0 for i in used), "a box for a worker without volume"
    tiled([boxes[i] for i in used], whole, 0.0 if plan.shape else CLOSE)
    alpha, beta, gamma = plan.weights
    sizes = [boxes[i][3:] for i in used]
    same(
        "cost",
        plan.cost,
        math.fsum(alpha * h * k + beta * k * w + gamma * h * w for h, w, k in sizes),
        EXACT * 10,
    )
    actual = [math.prod(box[3:]) / math.prod(whole) for box in boxes]
    same("actual_volumes", plan.actual_volumes, actual, EXACT)
    if plan.shape is None:
        same("volumes of the boxes", actual, plan.volumes, CLOSE, 1e-6)
    given = [i for i in range(p) if plan.volumes[i] > 0]
    same(
        "imbalance",
        plan.imbalance,
        max(plan.actual_volumes[i] / plan.volumes[i] for i in given),
        EXACT,
    )
    replayed(plan, end=None)


@judges(hs.Recut)
def _recut(found: hs.Recut) -> None:
    for part in (found.old, found.plan, found.fresh):
        validate(part)
    assert found.plan.floorplan == found.old.floorplan, "the floorplan has changed"
    assert found.plan.shape == found.old.shape == found.fresh.shape, "the shapes differ"
    for name, new in (("moved", found.plan), ("fresh_moved", found.fresh)):
        kept = 0.0
        for one, two in itertools.product(found.old.pieces.tolist(), new.pieces.tolist()):
            if one[0] == two[0]:
                across = [
                    min(one[a] + one[a + 2], two[a] + two[a + 2]) - max(one[a], two[a])
                    for a in (1, 2)
                ]
                kept += max(across[0], 0.0) * max(across[1], 0.0)
        same(
            name,
            getattr(found, name),
            1.0 - kept / math.prod(found.old.shape or (1, 1)),
            CLOSE,
            1.0,
        )
        least = np.abs(new.actual_areas - found.old.actual_areas).sum() / 2
        assert getattr(found, name) >= least - CLOSE, f"{name} is less than the areas change"
    changes = [
        np.abs(new.actual_areas - found.old.actual_areas).sum() / 2
        for new in (found.plan, found.fresh)
    ]
    same("moved_bound", found.moved_bound, min(changes), CLOSE, 1.0)
    assert found.moved_bound <= min(found.moved, found.fresh_moved), "moved less than its bound"
