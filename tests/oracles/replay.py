"""Time-independent traces, action by action: messages over one link share it, and begin when both
sides have come. Nothing here uses hetsched."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


class Message:
    def __init__(self, pair, size):
        self.pair, self.left, self.sides, self.done = pair, float(size), 0, False


def read(folder: Path):
    """Speeds of the hosts, bandwidths of the links between them, and the actions of each rank."""
    root = ET.fromstring((folder / "platform.xml").read_text())
    speeds = {h.get("id"): float(h.get("speed").removesuffix("f")) for h in root.iter("host")}
    links = {x.get("id"): float(x.get("bandwidth").removesuffix("Bps")) for x in root.iter("link")}
    routes = {
        (r.get("src"), r.get("dst")): links[r.find("link_ctn").get("id")]
        for r in root.iter("route")
    }
    hosts = (folder / "hosts.txt").read_text().split()
    programs = []
    for rank, path in enumerate((folder / "trace.txt").read_text().split()):
        lines = [line.split() for line in Path(path).read_text().splitlines()]
        assert all(int(line[0]) == rank for line in lines)
        programs.append([line[1:] for line in lines])
    assert len(programs) == len(hosts)
    size = len(hosts)
    bandwidth = {
        (i, j): routes[hosts[i], hosts[j]] for i in range(size) for j in range(size) if i != j
    }
    return [speeds[host] for host in hosts], bandwidth, programs


def sent(programs):
    """Bytes from each rank to each other rank; what is received must be the same."""
    out, back = Counter(), Counter()
    for rank, actions in enumerate(programs):
        for name, *rest in actions:
            if name == "isend":
                out[rank, int(rest[0])] += int(rest[2])
            elif name == "irecv":
                back[int(rest[0]), rank] += int(rest[2])
    assert out == back
    return out


def flops(programs):
    return [sum(float(x[1]) for x in actions if x[0] == "compute") for actions in programs]


def replayed(speeds, bandwidth, programs):
    """When the last rank ends."""
    size, now = len(programs), 0.0
    at = [0] * size
    computing: dict[int, float] = {}  # rank: flops left
    messages: dict[tuple[int, int, int], Message] = {}

    def post(source, target, tag, amount):
        key = source, target, tag
        message = messages.setdefault(key, Message((source, target), amount))
        message.sides += 1
        assert message.sides <= 2, f"tag {tag} twice from {source} to {target}"

    def advance(rank):
        """Do actions until one takes time; return whether anything was done."""
        first = at[rank]
        while at[rank] < len(programs[rank]):
            name, *rest = programs[rank][at[rank]]
            if rank in computing:
                break
            if name == "compute":
                if float(rest[0]) > 0:
                    computing[rank] = float(rest[0])
            elif name == "isend":
                post(rank, int(rest[0]), int(rest[1]), int(rest[2]))
            elif name == "irecv":
                post(int(rest[0]), rank, int(rest[1]), int(rest[2]))
            elif name == "wait":
                if not messages[tuple(map(int, rest))].done:
                    break
            else:
                assert name in ("init", "finalize"), name
            at[rank] += 1
        return at[rank] > first

    while True:
        while any([advance(rank) for rank in range(size)]):
            pass
        active = [m for m in messages.values() if m.sides == 2 and not m.done]
        if not active and not computing:
            break
        shared = Counter(m.pair for m in active)
        rates = [bandwidth[m.pair] / shared[m.pair] for m in active]
        ends = [left / speeds[rank] for rank, left in computing.items()]
        ends += [m.left / rate for m, rate in zip(active, rates, strict=True)]
        step = min(ends)
        now += step
        for m, rate in zip(active, rates, strict=True):
            m.left -= rate * step
            m.done = m.left <= 1e-9 * rate * max(now, 1e-9)
        for rank in list(computing):
            computing[rank] -= speeds[rank] * step
            if computing[rank] <= 1e-9 * speeds[rank] * max(now, 1e-9):
                del computing[rank]
    assert at == [len(actions) for actions in programs], "deadlock"
    assert all(m.done for m in messages.values())
    return now
