"""Products on stars in SimGrid: instances as JSON on the standard input, the times at which they end on the standard output.

It is run by a Python that has SimGrid (Debian's python3-simgrid is for the system's) and shares nothing with hetsched. An
instance is shape, link_costs, cycle_times, chunks (worker, held, buffers, row, col, height, width, depth) and port: worker and
kind of each message in the master's order. Sizes, what waits for what, and times are found here:

- A worker is a host of 1 / cycle_time updates a second on a link of its own of 1 / link_cost blocks a second.
- The master is one actor that does one blocking put or get after the other. That is its port: a message starts when both ends
  are at it, and the next when it has ended.
- A worker is one actor that communicates and one per chunk that computes. Between the two are three semaphores: buffers that
  are free, panels that have come, panels that are computed.

No message is ever beside another one on a star, so nothing of SimGrid's sharing is in it; without latency and the corrections
for TCP (CM02, factors of 1, no cross traffic) a message takes its size over the bandwidth. The engine runs once per process,
so all instances are in it at the same time, as separate stars.
"""

import json
import sys

from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone, Semaphore, this_actor

FLAGS = (
    "network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0", "network/bandwidth-factor:1", "network/latency-factor:1",
    "network/crosstraffic:0", "surf/precision:1e-14", "maxmin/precision:1e-9",
)  # fmt: skip
BYTES = 10**6  # per block; sizes are whole numbers of bytes
LOAD, PANEL, RESULT = range(3)


class Chunk:
    """What stays and what passes, in blocks; the updates and the layers of each panel."""

    def __init__(self, shape, chunk):
        t, (_, held, self.buffers, _, _, h, v, depth) = shape[2], chunk
        self.stays, passes, returns, layers = ((h * v, h + v, 0, t), (h * t, h + t, h, v), (v * t, v + t, v, h))[held]
        self.panels = [min(depth, layers - low) for low in range(0, layers, depth)]
        self.updates = [deep * h * v * t // layers for deep in self.panels]
        self.arrive = [deep * passes for deep in self.panels]
        self.back = [deep * returns for deep in self.panels] if returns else [self.stays]  # results, one per panel or one for all
        self.each = returns > 0


def sized(chunks, order):
    """Worker, kind and blocks of each message."""
    queues = [[] for _ in chunks]
    for queue, own in zip(queues, chunks, strict=True):
        for chunk in own:
            queue.append(
                {LOAD: iter([chunk.stays]), PANEL: iter(chunk.arrive), RESULT: iter(chunk.back), "left": len(chunk.back)}
            )
    for worker, kind in order:
        chunk = queues[worker][0]
        yield worker, kind, next(chunk[kind])
        chunk["left"] -= kind == RESULT
        if chunk["left"] == 0:
            queues[worker].pop(0)


def master(boxes, messages, ended):
    for worker, kind, size in messages:
        if kind == RESULT:
            boxes[worker].get()
        else:
            boxes[worker].put("blocks", size)
    ended(Engine.clock)


def worker(box, chunks, messages):
    messages = iter(messages)
    for chunk in chunks:
        kind, _ = next(messages)
        assert kind == LOAD
        box.get()
        free, come, computed = Semaphore(chunk.buffers), Semaphore(0), Semaphore(0)
        Actor.create("compute", this_actor.get_host(), compute, chunk, free, come, computed)
        for _ in range(len(chunk.panels) + len(chunk.back)):
            kind, size = next(messages)
            if kind == PANEL:
                free.acquire()
                box.get()
                come.release()
                continue
            for _ in range(1 if chunk.each else len(chunk.panels)):
                computed.acquire()
            box.put("result", size)
            if chunk.each:
                free.release()
    assert next(messages, None) is None


def compute(chunk, free, come, computed):
    for updates in chunk.updates:
        come.acquire()
        this_actor.execute(updates)
        computed.release()
        if not chunk.each:
            free.release()


def main():
    engine = Engine(["star", "--log=root.thres:warning", *(f"--cfg={flag}" for flag in FLAGS)])
    zone = NetZone.create_full_zone("zone")
    ends, actors = {}, []
    for number, x in enumerate(json.load(sys.stdin)):
        workers = range(len(x["cycle_times"]))
        chunks = [[Chunk(x["shape"], chunk) for chunk in x["chunks"] if chunk[0] == i] for i in workers]
        costs = x["link_costs"]  # a link without cost has any bandwidth, and sizes of 0
        messages = [(i, kind, blocks * BYTES if costs[i] else 0) for i, kind, blocks in sized(chunks, x["port"])]
        boxes = [Mailbox.by_name(f"{number}.{i}") for i in workers]
        head = zone.create_host(f"master{number}", 1.0).seal()
        actors.append((head, master, boxes, messages, lambda now, number=number: ends.setdefault(number, now)))
        for i in workers:
            host = zone.create_host(f"worker{number}.{i}", 1 / x["cycle_times"][i]).seal()
            link = zone.create_link(f"link{number}.{i}", BYTES / costs[i] if costs[i] else 1.0).set_latency(0.0).seal()
            zone.add_route(head.netpoint, host.netpoint, None, None, [LinkInRoute(link)], True)
            actors.append((host, worker, boxes[i], chunks[i], [message[1:] for message in messages if message[0] == i]))
    zone.seal()
    for number, (host, function, *arguments) in enumerate(actors):
        Actor.create(f"actor{number}", host, function, *arguments)
    engine.run()
    json.dump([ends[number] for number in sorted(ends)], sys.stdout)


if __name__ == "__main__":
    main()
