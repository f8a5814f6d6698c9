"""Plans of rings."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles.ring
import oracles.stencil

import hetsched as hs

from .common import CLOSE, EXACT, TILES, dealt, ints, judges, replayed, same


def _paid(links: np.ndarray, ring: list[int]) -> list[float]:
    """What each member pays for a unit of volume."""
    if len(ring) == 1:
        return [0.0]
    return [
        float(links[i, ring[(k + 1) % len(ring)]]) + float(links[i, ring[k - 1]])
        for k, i in enumerate(ring)
    ]


def _ring_order(ring: list[int], p: int) -> None:
    assert ring, "nobody is in the ring"
    assert len(set(ring)) == len(ring), f"somebody is twice in {ring}"
    assert set(ring) <= set(range(p)), f"{ring} has a worker that does not exist"


@judges(hs.SliceRing)
def _slice_ring(plan: hs.SliceRing) -> None:
    times = plan.cycle_times.tolist()
    p, ring, shares = len(times), ints("ring", plan.ring), plan.shares.tolist()
    _ring_order(ring, p)
    assert ring[0] == min(ring), f"{ring} does not begin with its lowest member"
    assert len(ring) < 3 or ring[1] < ring[-1], f"{ring} does not go towards the lower neighbour"
    same("sum of shares", math.fsum(shares), 1.0, EXACT * 10)
    assert all(share >= 0 for share in shares), "a negative share"
    assert all(shares[i] == 0 for i in range(p) if i not in ring), "a share outside the ring"
    assert plan.relays or all(shares[i] > 0 for i in ring), "a member without work"
    assert not any(math.isinf(times[i]) for i in ring), "a member with an infinite cycle-time"
    paid = [plan.volume * x for x in _paid(plan.links, ring)]
    if plan.latencies is not None:
        assert not plan.latencies.flags.writeable, "latencies can be written to"
        paid = [x + y for x, y in zip(paid, _paid(plan.latencies, ring), strict=True)]
    same("transfers", plan.transfers, paid, EXACT)
    fixed = [0.0] * p
    if plan.overheads is not None:
        assert not plan.overheads.flags.writeable, "overheads can be written to"
        fixed = plan.overheads.tolist()
        paid = [x + fixed[i] for x, i in zip(paid, ring, strict=True)]
    ends = [shares[i] * plan.work * times[i] + x for i, x in zip(ring, paid, strict=True)]
    same("makespan", plan.makespan, max(ends), CLOSE)
    working = [end for i, end in zip(ring, ends, strict=True) if shares[i] > 0]
    # a relay's messages may take longer
    together = plan.makespan if len(working) == len(ring) else max(working)
    for i, end in zip(ring, ends, strict=True):
        if shares[i] > 0 and plan.method != "given":
            same(f"end of worker {i}", end, together, CLOSE)
    able = [i for i in range(p) if not math.isinf(times[i])]
    if plan.network is not None:
        _shared_links(plan, ring)
    elif len(able) <= 3:
        extra = np.zeros((p, p)) if plan.latencies is None else plan.latencies
        links = [
            [plan.volume * float(plan.links[i, j]) + float(extra[i, j]) for j in able] for i in able
        ]
        least = oracles.ring.best_time(
            [times[i] for i in able],
            links,
            plan.work,
            1.0,
            plan.relays,
            overheads=[fixed[i] for i in able],
        )
        assert plan.lower_bound <= float(least) * (1 + CLOSE), (
            f"lower_bound {plan.lower_bound!r}, but {float(least)!r} is possible"
        )
        assert not plan.optimal or plan.makespan <= float(least) * (1 + CLOSE), (
            f"optimal, but {float(least)!r} is possible"
        )
    replayed(plan, end=plan.makespan)


def _shared_links(plan: hs.SliceRing, ring: list[int]) -> None:
    """Each message of the ring travels from node to node, and no link has more than it carries."""
    cables, used = plan.network.tolist(), {}
    size = len(ring)
    messages = [(i, ring[(k + step) % size]) for k, i in enumerate(ring) for step in (1, -1)]
    for sender, receiver in messages if size > 1 and plan.volume > 0 else []:
        node = sender
        for i, j, cable in plan.hops.tolist():
            if (i, j) != (sender, receiver):
                continue
            one, other, cost = cables[cable]
            assert node in (one, other), f"cable {cable} is not at node {node}"
            way = (cable, node) if plan.duplex else cable
            rate = cost / float(plan.links[sender, receiver]) if cost else 0.0
            used[way] = used.get(way, 0.0) + rate
            node = other if node == one else one
        assert node == receiver, f"a message from {sender} to {receiver} ends at {node}"
    for way, rate in used.items():
        assert rate <= 1 + 1e-9, f"link {way} carries {rate} of its bandwidth"


@judges(hs.RingProfile)
def _ring_profile(profile: hs.RingProfile) -> None:
    times = profile.cycle_times.tolist()
    p, k = len(times), len(profile.rings)
    ratios, lengths = profile.ratios.tolist(), profile.lengths.tolist()
    assert len(ratios) == len(lengths) == len(profile.proven) == k > 0, "parts of different lengths"
    assert ratios[0] == 0, "the first ratio is not 0"
    assert all(a < b for a, b in itertools.pairwise(ratios)), f"ratios {ratios} do not ascend"
    assert profile.sizes.tolist() == [len(ring) for ring in profile.rings], (
        "sizes are not those of the rings"
    )
    assert len(profile.names) == p, "a name for each worker"
    able = sum(not math.isinf(t) for t in times)
    extra = np.zeros((p, p)) if profile.latencies is None else profile.latencies
    costs = profile.volume * profile.links + extra
    fixed = [0.0] * p if profile.overheads is None else profile.overheads.tolist()
    speeds = []
    for at, ring in enumerate(profile.rings):
        members = ints("ring", ring)
        assert not ring.flags.writeable, "a ring can be written to"
        _ring_order(members, p)
        length = math.fsum(
            (x + fixed[i]) / times[i] for i, x in zip(members, _paid(costs, members), strict=True)
        )
        same(f"lengths[{at}]", lengths[at] * profile.volume, length, EXACT * 10)
        least = float(profile.least_lengths[len(members) - 1])
        assert least <= lengths[at] * (1 + EXACT * 10), (
            "a ring is shorter than the least length of its size"
        )
        speeds.append(math.fsum(1 / times[i] for i in members))
    assert all(a < b for a, b in itertools.pairwise(speeds)), "more work for less speed"
    for at in range(1, k):  # two lines meet where they change
        before, after = ((ratios[at] + lengths[i]) / speeds[i] for i in (at - 1, at))
        same(f"times at ratios[{at}]", before, after, CLOSE)
    assert np.isfinite(profile.least_lengths[:able]).all(), "a size without a ring"
    assert np.isinf(profile.least_lengths[able:]).all(), "a ring of workers who cannot work"
    assert "workers" in repr(profile), "repr"


@judges(hs.StencilPlan)
def _stencil(plan: hs.StencilPlan) -> None:
    (rows, cols), times = plan.shape, plan.cycle_times.tolist()
    p, ring, counts, displs = (
        len(times),
        ints("ring", plan.ring),
        ints("counts", plan.counts),
        ints("displs", plan.displs),
    )
    _ring_order(ring, p)
    assert len(counts) == len(displs) == p, "counts or displs are not for each worker"
    dealt(counts, None, times)
    assert sum(counts) == cols, f"{sum(counts)} columns are dealt, there are {cols}"
    assert all((counts[i] > 0) == (i in ring) for i in range(p)), (
        "a member without columns, or columns without a member"
    )
    first = 0
    for i in ring:
        assert displs[i] == first, f"displs[{i}] is {displs[i]}, not {first}"
        first += counts[i]
    inner = max(rows - 2, 0)
    paid = [x * inner * plan.itemsize / 1e9 for x in _paid(plan.links, ring)]
    if plan.latencies is not None:
        paid = [x + y for x, y in zip(paid, _paid(plan.latencies, ring), strict=True)]
    fixed = [0.0] * p if plan.overheads is None else plan.overheads.tolist()
    busy = [counts[i] * times[i] * inner * 7.0 / 1e9 + fixed[i] for i in ring]
    same("update_times", plan.update_times, busy, EXACT * 10)
    same("exchange_times", plan.exchange_times.sum(axis=1), paid, EXACT * 10)
    same(
        "step_time", plan.step_time, max(a + b for a, b in zip(busy, paid, strict=True)), EXACT * 10
    )
    same("makespan", plan.makespan, plan.iterations * plan.step_time, EXACT)
    assert plan.lower_bound <= plan.makespan, "bound"
    if plan.iterations * len(ring) <= TILES:
        ends = oracles.stencil.ends(
            plan.iterations, [Fraction(a) + Fraction(b) for a, b in zip(busy, paid, strict=True)]
        )
        finish = [0.0] * p
        for i, end in zip(ring, ends, strict=True):
            finish[i] = float(end)
        same("finish", plan.finish, finish, CLOSE, plan.makespan)
        replayed(plan, end=plan.makespan if plan.iterations else 0.0)
