"""Ranks that are threads of one process, and the messages between them: nothing is sent before it
can be received."""

from __future__ import annotations

import pickle
import threading
import time
from collections import defaultdict, deque

import numpy as np

from hetsched.mpi.loop import Loop
from hetsched.mpi.worker import TAG


class Dead(BaseException):
    """What ends a rank that is killed."""


class Post:
    """One end of a message."""

    def __init__(self, data, rank, sends):
        self.data, self.rank, self.sends, self.done = data, rank, sends, False


class Hub:
    """What carries the messages of all ranks. port: the rank whose messages must be one at a time,
    and begun when both ends are free: it counts what breaks that. killed: rank -> after how many
    messages it is dead, hung: or does not answer any more.
    """

    def __init__(self, size, port=None, killed=None, hung=None):
        self.size, self.port = size, port
        self.lock = threading.Lock()
        # sends -> (source, target, tag) -> posts
        self.ends = {True: defaultdict(deque), False: defaultdict(deque)}
        self.posts = []
        self.told = [deque() for _ in range(size)]
        self.killed, self.hung = dict(killed or {}), dict(hung or {})
        self.carried = [0] * size
        self.dead, self.silent, self.reported = set(), set(), set()
        self.bytes = defaultdict(int)
        self.open, self.at_once, self.unasked = 0, 0, 0
        self.left = set()

    def post(self, source, target, tag, data, sends):
        rank, other = (source, target) if sends else (target, source)
        with self.lock:
            post = Post(data, rank, sends)
            own = [x for x in self.posts if x.rank == rank and not x.done]
            assert not any(
                np.shares_memory(data, x.data) for x in own if not (sends and x.sends)
            ), "a buffer in use"
            self.posts = [x for x in self.posts if not x.done] + [post]
            if rank == self.port and tag >= TAG:
                self.open += 1
                self.at_once = max(self.at_once, self.open)
            elif (
                other == self.port
                and sends
                and tag >= TAG
                and not self.ends[False][source, target, tag]
            ):
                self.unasked += 1
            key = source, target, tag
            self.ends[sends][key].append(post)
            self.match(key)
            return post

    def match(self, key):
        sends, receives = self.ends[True][key], self.ends[False][key]
        gone = self.dead | self.silent
        while sends and receives and not gone & set(key[:2]):
            a, b = sends.popleft(), receives.popleft()
            assert a.data.nbytes == b.data.nbytes, "messages of other sizes than expected"
            b.data[...] = a.data
            a.done = b.done = True
            if key[2] >= TAG:
                self.bytes[key[:2]] += a.data.nbytes
                if self.port in key[:2]:
                    self.open -= 1
                for rank in key[:2]:
                    self.carried[rank] += 1
                    self.fell(rank)

    def fell(self, rank):
        if self.carried[rank] == self.killed.get(rank):
            self.dead.add(rank)
        if self.carried[rank] == self.hung.get(rank):
            self.silent.add(rank)


class Wire:
    """A `hetsched.mpi.loop.Surviving`: one rank's end of a hub."""

    def __init__(self, hub, rank):
        self.hub, self.rank, self.size = hub, rank, hub.size

    def live(self):
        while self.rank in self.hub.silent and self.rank not in self.hub.dead:
            time.sleep(0.001)
        if self.rank in self.hub.dead:
            raise Dead

    def send(self, data, to, tag):
        self.live()
        return self.hub.post(self.rank, to, tag, data, True)

    def receive(self, data, source, tag):
        self.live()
        return self.hub.post(source, self.rank, tag, data, False)

    def completed(self, requests):
        self.live()
        return [i for i, post in enumerate(requests) if post.done]

    def tell(self, what, to):
        self.live()
        if to not in self.hub.dead:
            self.hub.told[to].append((self.rank, pickle.dumps(what)))

    def heard(self):
        self.live()
        own, found = self.hub.told[self.rank], []
        while own:
            source, data = own.popleft()
            found.append((source, pickle.loads(data)))
        return found

    def leave(self):
        self.live()
        with self.hub.lock:
            self.hub.left.add(self.rank)
            return self.hub.left | self.hub.dead >= set(range(self.size))

    def abandon(self, sends, receives):
        pass

    def gone(self):
        new = self.hub.dead - self.hub.reported
        self.hub.reported |= new
        return [(rank, f"rank {rank} has closed its connection") for rank in sorted(new)]

    def moved(self, patience):
        return []

    def give_up(self, rank):
        with self.hub.lock:
            self.hub.dead.add(rank)
            self.hub.reported.add(rank)
            if self.hub.port in (None, self.rank):
                self.hub.open = 0

    def wake(self):
        pass

    def rest(self, seconds):
        time.sleep(min(seconds, 0.0005))


def together(hub, mains, heard, lost=None, timeout=30.0):
    """Run main(loop) of every rank on its hub, each in a thread; the errors of those that were not
    killed, by rank. lost is the function of rank 0."""
    errors = {}

    def run(rank):
        loop = Loop(Wire(hub, rank), timeout, heard[rank], lost if rank == 0 else None)
        try:
            loop.run(mains[rank](loop))
        except Dead:
            pass
        except Exception as error:
            errors[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(hub.size)]
    for thread in threads:
        thread.start()
    threads[0].join(60)
    assert not threads[0].is_alive(), "rank 0 hangs"
    if not errors:
        for rank, thread in enumerate(threads[1:], 1):
            if rank not in hub.silent:
                thread.join(60)
                assert not thread.is_alive(), f"rank {rank} hangs"
    hub.dead |= set(range(1, hub.size)) if hub.silent else set()
    return errors
