"""Products on stars in SimGrid: instances as JSON on the standard input, the times at which they
end on the standard output.

It is run by a Python that has SimGrid (Debian's python3-simgrid is for the system's) and shares
nothing with hetsched. An instance is shape, link_costs, cycle_times, chunks (worker, held, buffers,
row, col, height, width, depth, ahead) and port: worker and kind of each message in the master's
order. Sizes, what waits for what, and times are found here:

- A worker is a host of 1 / cycle_time updates a second on a link of its own of 1 / link_cost blocks
  a second.
- The master is one actor that does one blocking put or get after the other. That is its port: a
  message starts when both ends are at it, and the next when it has ended.
- A worker is one actor that communicates and one that computes, for a chunk or several each ahead
  of the one before. Between the two are three counts, semaphores: buffers that are free again,
  panels that have come, panels that are computed.

No message is ever beside another one on a star, so nothing of SimGrid's sharing is in it; without
latency and the corrections for TCP (CM02, factors of 1, no cross traffic) a message takes its size
over the bandwidth. The engine runs once per process, so all instances are in it at the same time,
as separate stars.
"""

import itertools
import json
import sys

from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone, Semaphore, this_actor

FLAGS = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/weight-S:0",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/crosstraffic:0",
    "surf/precision:1e-14",
    "maxmin/precision:1e-9",
)
BYTES = 10**6  # per block; sizes are whole numbers of bytes
LOAD, PANEL, RESULT = range(3)


class Chunk:
    """What stays and what passes, in blocks; the updates and the layers of each panel."""

    def __init__(self, shape, chunk):
        t, (_, held, buffers, _, _, h, v, depth, self.ahead) = shape[2], chunk
        self.stays, passes, returns, layers = (
            (h * v, h + v, 0, t),
            (h * t, h + t, h, v),
            (v * t, v + t, v, h),
        )[held]
        panels = [min(depth, layers - low) for low in range(0, layers, depth)]
        self.updates = [deep * h * v * t // layers for deep in panels]
        self.arrive = [deep * passes for deep in panels]
        # blocks of A one by one, each for a row of the chunk, and v of B with the first of a layer;
        # or of B
        if buffers < 1:
            many, few = (v, h) if buffers else (h, v)
            self.updates = [few] * many * t
            self.arrive = [1 + few, *[1] * (many - 1)] * t
        # results, one per panel or one for all
        self.back = [deep * returns for deep in panels] if returns else [self.stays]
        self.each = returns > 0
        self.buffers = max(buffers, 1)


def sized(chunks, order):
    """Worker, kind and blocks of each message."""
    sizes = [
        {
            LOAD: iter([chunk.stays for chunk in own]),
            PANEL: iter([size for chunk in own for size in chunk.arrive]),
            RESULT: iter([size for chunk in own for size in chunk.back]),
        }
        for own in chunks
    ]
    for worker, kind in order:
        yield worker, kind, next(sizes[worker][kind])


def master(boxes, messages, ended):
    for worker, kind, size in messages:
        if kind == RESULT:
            boxes[worker].get()
        else:
            boxes[worker].put("blocks", size)
    ended(Engine.clock)


class Count:
    """What others have done so often."""

    def __init__(self):
        self.semaphore, self.seen = Semaphore(0), 0

    def more(self):
        self.semaphore.release()

    def wait(self, number):
        for _ in range(number - self.seen):
            self.semaphore.acquire()
        self.seen = max(self.seen, number)


def worker(box, chunks, messages):
    messages = iter(messages)
    while chunks:
        length = next((k for k in range(1, len(chunks)) if not chunks[k].ahead), len(chunks))
        chain, chunks = chunks[:length], chunks[length:]
        come, computed, free = Count(), Count(), Count()
        updates = [size for chunk in chain for size in chunk.updates]
        Actor.create(
            "compute",
            this_actor.get_host(),
            compute,
            updates,
            come,
            computed,
            None if chain[0].each else free,
        )
        ends = list(itertools.accumulate(len(chunk.updates) for chunk in chain))
        panels = iter(
            max(before if k and chain[k - 1].buffers == 1 else 0, before + n + 1 - chunk.buffers)
            for k, (chunk, before) in enumerate(zip(chain, [0, *ends], strict=False))
            for n in range(len(chunk.updates))
        )
        results = iter(range(1, ends[0] + 1) if chain[0].each else ends)
        for _ in range(sum(1 + len(chunk.updates) + len(chunk.back) for chunk in chain)):
            kind, size = next(messages)
            if kind == RESULT:
                computed.wait(next(results))
                box.put("result", size)
                if chain[0].each:
                    free.more()
                continue
            if kind == PANEL:
                free.wait(next(panels))
            box.get()
            if kind == PANEL:
                come.more()
    assert next(messages, None) is None


def compute(updates, come, computed, free):
    for number, size in enumerate(updates):
        come.wait(number + 1)
        this_actor.execute(size)
        computed.more()
        if free is not None:
            free.more()


def main():
    engine = Engine(["star", "--log=root.thres:warning", *(f"--cfg={flag}" for flag in FLAGS)])
    zone = NetZone.create_full_zone("zone")
    ends, actors = {}, []
    for number, x in enumerate(json.load(sys.stdin)):
        workers = range(len(x["cycle_times"]))
        chunks = [
            [Chunk(x["shape"], chunk) for chunk in x["chunks"] if chunk[0] == i] for i in workers
        ]
        costs = x["link_costs"]  # a link without cost has any bandwidth, and sizes of 0
        messages = [
            (i, kind, blocks * BYTES if costs[i] else 0)
            for i, kind, blocks in sized(chunks, x["port"])
        ]
        boxes = [Mailbox.by_name(f"{number}.{i}") for i in workers]
        head = zone.create_host(f"master{number}", 1.0).seal()
        actors.append(
            (head, master, boxes, messages, lambda now, number=number: ends.setdefault(number, now))
        )
        for i in workers:
            host = zone.create_host(f"worker{number}.{i}", 1 / x["cycle_times"][i]).seal()
            link = (
                zone.create_link(f"link{number}.{i}", BYTES / costs[i] if costs[i] else 1.0)
                .set_latency(0.0)
                .seal()
            )
            zone.add_route(head.netpoint, host.netpoint, None, None, [LinkInRoute(link)], True)
            actors.append(
                (
                    host,
                    worker,
                    boxes[i],
                    chunks[i],
                    [message[1:] for message in messages if message[0] == i],
                )
            )
    zone.seal()
    for number, (host, function, *arguments) in enumerate(actors):
        Actor.create(f"actor{number}", host, function, *arguments)
    engine.run()
    json.dump([ends[number] for number in sorted(ends)], sys.stdout)


if __name__ == "__main__":
    main()
