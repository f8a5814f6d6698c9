"""Plans of items that move along a ring."""

from __future__ import annotations

from collections import deque

import hetsched as hs

from .common import CLOSE, TILES, ints, judges, replayed, same


@judges(hs.Redistribution)
def _redistribution(plan: hs.Redistribution) -> None:
    ring, before, after = (ints(name, getattr(plan, name)) for name in ("ring", "before", "after"))
    q = len(ring)
    assert len(set(ring)) == q > 0, f"somebody is twice in {ring}"
    assert sum(before) == sum(after) == sum(before[i] for i in ring), "items are lost"
    flows = ints("flows", plan.flows)
    for k, i in enumerate(ring):
        assert before[i] - flows[k] + flows[k - 1] == after[i], f"worker {i} ends with other items"
    assert plan.rotate or flows[-1] == 0, "items cross the last edge"
    assert not plan.one_way or min(flows) >= 0, "items go to a previous member"
    assert plan.lower_bound <= plan.makespan, "bound"
    assert not plan.one_way or plan.optimal, "one way, but not optimal"
    if sum(map(abs, flows)) <= TILES:
        _replay(plan, ring, before, after)
        replayed(plan, end=plan.makespan)


def _replay(plan: hs.Redistribution, ring: list[int], before: list[int], after: list[int]) -> None:
    """Each item is a token. A member holds its tokens in order; a message takes one from the end
    that is towards the receiver, and puts it at the end that is towards the sender."""
    place, q = {i: k for k, i in enumerate(ring)}, len(ring)
    held: dict[int, deque[int]] = {}
    token = 0
    for i in ring:
        held[i] = deque(range(token, token + before[i]))
        token += before[i]
    slack = CLOSE * plan.makespan
    ports: dict[tuple[str, int], list[tuple[float, float]]] = {}
    waiting = []
    for message in plan.messages:
        i, j = message.sender, message.receiver
        time = plan.volume * float(plan.links[i, j])
        time += 0.0 if plan.latencies is None else float(plan.latencies[i, j])
        assert message.items >= 1, "an empty message"
        assert message.period >= time * (1 - CLOSE), "items that follow each other too closely"
        same(
            "end", message.end, message.start + (message.items - 1) * message.period + time, CLOSE,
            plan.makespan,
        )  # fmt: skip
        assert (place[j] - place[i]) % q in (1, q - 1), f"{j} is no neighbour of {i}"
        for k in range(message.items):
            start = message.start + k * message.period
            waiting.append((start, start + time, i, j))
            for port in (("send", i), ("receive", j)):
                ports.setdefault(port, []).append((start, start + time))
    for port, busy in ports.items():
        busy.sort()
        for (_, end), (start, _) in zip(busy, busy[1:], strict=False):
            assert start >= end - slack, f"port {port} has two messages at a time"
    # the events in order of time; those of one moment in any order that is possible
    waiting.sort()
    moving: list[tuple[float, int, int, int]] = []
    while waiting or moving:
        now = min([start for start, *_ in waiting[:1]] + [end for end, *_ in moving]) + slack
        progress = False
        for arrival in sorted(moving):
            end, token, i, j = arrival
            if end <= now:
                moving.remove(arrival)
                held[j].appendleft(token) if _from_previous(place, q, i, j) else held[j].append(
                    token
                )
                progress = True
        for message in waiting:
            start, end, i, j = message
            if start > now:
                break
            if held[i]:
                waiting.remove(message)
                token = held[i].pop() if _from_previous(place, q, i, j) else held[i].popleft()
                moving.append((end, token, i, j))
                progress = True
                break
        assert progress, f"a member sends what it does not hold: {waiting[0]}"
    assert [len(held[i]) for i in ring] == [after[i] for i in ring], "the end is not `after`"
    order = [token for i in ring for token in held[i]]
    if q > 2 and order:
        turn = order.index(0)
        assert order[turn:] + order[:turn] == list(range(len(order))), "the items change places"
        assert plan.rotate or turn == 0, "item 0 has moved"


def _from_previous(place: dict[int, int], q: int, i: int, j: int) -> bool:
    """Whether the receiver j follows the sender i; of two members, each follows the other."""
    return (place[j] - place[i]) % q == 1
