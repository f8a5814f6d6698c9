"""Ranks that are threads of this process: the loop and all above it without an MPI."""

import threading
from collections import deque

import numpy as np

from hetsched.mpi.loop import Loop, of_rank


class Wires:
    """What some ranks have sent each other and nobody has received yet; bytes counted as they are
    sent."""

    def __init__(self, size):
        self.size = size
        self.lock = threading.Lock()
        self.posts = {}  # (source, target, tag) -> sends, receives that wait
        self.told = [deque() for _ in range(size)]
        self.sent = np.zeros(size, np.int64)
        self.left = {}  # those that have ended a run, by its number
        self.barrier = threading.Barrier(size)
        self.values = [None] * size

    def queues(self, source, target, tag):
        return self.posts.setdefault((source, target, tag), (deque(), deque()))


class Request:
    def __init__(self, data):
        self.data, self.done = data, False


class Messages:
    """A `loop.Transport`: a message is copied when both sides have come."""

    def __init__(self, wires, rank, run):
        self.wires, self.rank, self.size, self.number = wires, rank, wires.size, run

    def _post(self, data, key, side):
        with self.wires.lock:
            queues = self.wires.queues(*key)
            request = Request(data)
            queues[side].append(request)
            while queues[0] and queues[1]:
                sent, received = queues[0].popleft(), queues[1].popleft()
                assert len(sent.data) == len(received.data), (
                    f"{len(sent.data)} bytes for {len(received.data)}: {key}"
                )
                received.data[:] = sent.data
                sent.done = received.done = True
            return request

    def send(self, data, to, tag):
        assert to != self.rank
        self.wires.sent[self.rank] += len(data)
        return self._post(data, (self.rank, to, tag), 0)

    def receive(self, data, source, tag):
        return self._post(data, (source, self.rank, tag), 1)

    def completed(self, requests):
        return [i for i, request in enumerate(requests) if request.done]

    def tell(self, what, to):
        self.wires.told[to].append((self.rank, what))

    def heard(self):
        own, found = self.wires.told[self.rank], []
        while own:
            found.append(own.popleft())
        return found

    def leave(self):
        left = self.wires.left.setdefault(self.number, set())
        left.add(self.rank)
        return len(left) == self.size

    def abandon(self, sends, receives):
        pass


class FakeRanks:
    """What calls use of `ranks.Ranks`."""

    def __init__(self, wires, rank, timeout=20.0):
        self.wires, self.rank, self.size, self.timeout = wires, rank, wires.size, timeout
        self.runs = 0
        self.refused = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def kept(self, key, find):
        return find()

    def gather(self, value):
        self.wires.values[self.rank] = value
        self.wires.barrier.wait()
        found = list(self.wires.values)
        self.wires.barrier.wait()
        return found

    def agree(self, check):
        value = error = None
        try:
            if self.refused is not None:
                raise self.refused
            value = check()
        except Exception as caught:
            error = caught
        found = self.gather((value, error))
        if error is not None:
            raise error
        for rank, (_, theirs) in enumerate(found):
            if theirs is not None:
                raise of_rank(rank, theirs)
        return [value for value, _ in found]

    def run(self, main, heard=None):
        self.runs += 1
        loop = Loop(Messages(self.wires, self.rank, self.runs), self.timeout, heard)
        return loop.run(main(loop))


def on_ranks(size, call):
    """What call(ranks) returns or raises on each of so many ranks, and the bytes that each of them
    has sent."""
    wires = Wires(size)
    found = [None] * size

    def run(rank):
        try:
            found[rank] = call(FakeRanks(wires, rank))
        except BaseException as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a rank hangs"
    return found, wires.sent


def good(found):
    """What the ranks have returned; what one of them has raised is raised here."""
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found
