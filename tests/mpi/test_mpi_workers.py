"""Workers that are processes of their own: products against NumPy, also when some of them die or
hang; no process is left."""

from __future__ import annotations

import os
import pickle
import random
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing, contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from interrupted import interrupted

import hetsched as hs
from hetsched.mpi import LostRank, Workers, handshake, sockets
from hetsched.mpi import workers as starting
from hetsched.mpi.ranks import THIS

PLATFORM = hs.Platform.star([2, 3, 4], link_costs=[1, 2, 1], memory=[12, 21, 30])


def integers(shape, dtype=float, seed=0):
    """Small ones, whose products are exact in every dtype."""
    found = np.random.default_rng(seed).integers(-9, 10, shape)
    return (found * (1 + 2j)).astype(dtype) if np.dtype(dtype).kind == "c" else found.astype(dtype)


def processes(workers):
    return [process for process in workers._crew._processes]


def is_gone(pid):
    """Whether a process of another parent is there no more, or only waits for that parent."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class TestProducts:
    @pytest.mark.slow
    def test_one_after_the_other(self):
        with Workers(3) as workers:
            assert (len(workers), repr(workers)) == (3, "<Workers: P0, P1, P2>")
            started = processes(workers)
            for seed, (method, order, dtype) in enumerate(
                [
                    ("best", "plan", np.float64),
                    ("het", "demand", np.float32),
                    ("bmm", "plan", np.complex64),
                    ("best", "demand", np.complex128),
                ]
            ):
                plan = hs.plan_product(4, 8, 3, PLATFORM, method, budget=0)
                A, B = (
                    integers((4 * 9 - 2, 3 * 9 - 1), dtype, seed),
                    np.asfortranarray(integers((3 * 9 - 1, 8 * 9), dtype, seed + 1)),
                )
                C, trace = workers.matmul(A, B, plan, order=order, trace=True)
                assert C.dtype == dtype
                assert (C == A @ B).all()
                assert all(
                    peak <= memory for peak, memory in zip(trace.peak, plan.memory, strict=True)
                )
                assert np.flatnonzero(trace.peak).tolist() == plan.enrolled.tolist()
                assert len([e for e in trace.events if e.kind == "transfer"]) == len(plan.messages)
                assert all(seconds > 0 for seconds in trace.cpu)
            assert [process.pid for process in processes(workers)] == [
                process.pid for process in started
            ]
            assert workers.lost == {}
        assert all(process.returncode is not None for process in started)
        with pytest.raises(ValueError, match="workers are closed"):
            workers.matmul(A, B, plan)
        workers.close()

    @pytest.mark.slow
    def test_large_messages(self):
        """Larger than the buffers of a connection."""
        plan = hs.plan_product(2, 2, 2, hs.Platform.star([1, 1], memory=[12, 12]), "het")
        A, B = integers((1800, 1800), np.float32), integers((1800, 1800), np.float32, 1)
        with Workers(2) as workers:
            assert (workers.matmul(A, B, plan) == A @ B).all()

    @pytest.mark.slow
    def test_on_hosts(self, tmp_path):
        """By an agent that takes the host and a command, as ssh does."""
        seen = tmp_path / "hosts"
        agent = tmp_path / "agent"
        agent.write_text(f'#!/bin/sh\necho "$1" >> {seen}\nshift\nexec "$@"\n')
        agent.chmod(0o755)
        plan = hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]), budget=0)
        for given_agent in (str(agent), f"{agent} {{host}}"):
            with Workers(["a", "b"], given_agent, address="127.0.0.1", threads=1) as workers:
                assert workers.names == ("a", "b")
                assert (workers.matmul(np.ones((4, 3)), np.ones((3, 8)), plan) == 3).all()
                started = processes(workers)
            assert all(process.returncode is not None for process in started)
        assert sorted(seen.read_text().split()) == ["a", "a", "b", "b"]

    def test_an_agent_that_fails(self):
        with pytest.raises(
            OSError, match=r"worker a ended with status 3 before it connected: no such host"
        ):
            Workers(["a"], "sh -c 'echo no such host; exit 3'", address="127.0.0.1")
        with pytest.raises(FileNotFoundError):
            Workers(["a"], "/no/such/agent", address="127.0.0.1")

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ((0,), ValueError, "hosts must be"),
            (([],), ValueError, "hosts"),
            (("a",), TypeError, "hosts must be"),
            ((["a"], " "), ValueError, "agent must be a command"),
        ],
    )
    def test_bad_workers(self, arguments, error, words):
        with pytest.raises(error, match=words):
            Workers(*arguments)

    @pytest.mark.slow
    def test_bad_products(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM, budget=0)
        A, B = np.ones((4, 3)), np.ones((3, 8))
        with Workers(3) as workers:
            for options, error, words in (
                ({"plan": hs.distribute(8, [1, 2, 3])}, TypeError, "plan must be a StarPlan"),
                (
                    {"plan": hs.plan_product(4, 8, 3, hs.Platform.star([1], memory=[9]), budget=0)},
                    ValueError,
                    "plan is for 1 workers, there are 3",
                ),
                ({"B": B[:2]}, ValueError, "must be equal"),
                ({"A": A[:3]}, ValueError, "A has 3 rows"),
                ({"order": "best"}, ValueError, "order must be"),
                ({"timeout": 0}, ValueError, "timeout must be"),
                ({"trace": "yes"}, TypeError, "trace must be"),
            ):
                with pytest.raises(error, match=words):
                    workers.matmul(**{"A": A, "B": B, "plan": plan, **options})
            assert (workers.matmul(A, B, plan) == 3).all()

    @pytest.mark.slow
    def test_an_error_and_then_another_product(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM, budget=0)
        A, B = np.ones((400, 300)), np.ones((300, 800))

        def enough(_):
            raise RuntimeError("enough")

        with Workers(3) as workers:
            before = processes(workers)
            with pytest.raises(RuntimeError, match="enough"):
                workers.matmul(A, B, plan, progress=enough)
            assert all(process.returncode is not None for process in before)
            assert (workers.matmul(A, B, plan) == 300).all()

    @pytest.mark.slow
    def test_interrupt(self):
        program = """
            import time
            import numpy as np, hetsched as hs
            from hetsched.mpi import Workers
            plan = hs.plan_product(4, 8, 3, hs.Platform.star([1, 1], memory=[12, 12]), budget=0)
            A = np.broadcast_to(np.float32(1), (12000, 9000))
            B = np.broadcast_to(np.float32(1), (9000, 24000))
            with Workers(2, threads=1) as workers:
                pids = [process.pid for process in workers._crew._processes]
                print("ready", flush=True)
                try:
                    workers.matmul(A, B, plan)
                except KeyboardInterrupt:
                    print("interrupted", time.monotonic(), *pids, flush=True)
            """
        assert all(is_gone(int(pid)) for pid in interrupted(program, after=1.0))

    @pytest.mark.slow
    @pytest.mark.skipif(not os.path.isdir("/proc"), reason="no /proc")
    def test_they_end_with_the_master(self):
        program = """
            import time
            from hetsched.mpi import Workers
            workers = Workers(2, threads=1)
            print(*(process.pid for process in workers._crew._processes), flush=True)
            time.sleep(60)
            """
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
        ) as master:
            pids = [int(word) for word in master.stdout.readline().split()]
            assert len(pids) == 2
            assert not any(is_gone(pid) for pid in pids)
            master.kill()
        end = time.monotonic() + 30
        while not all(is_gone(pid) for pid in pids):
            assert time.monotonic() < end, "workers go on without their master"
            time.sleep(0.02)


class TestLost:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("sent", "seed"),
        [
            (signal.SIGKILL, 0),
            (signal.SIGSTOP, 1),
            (signal.SIGKILL, 1),
            (signal.SIGSTOP, 2),
        ],
    )
    def test_at_any_time(self, sent, seed):
        rng = random.Random(seed)
        plan = hs.plan_product(4, 8, 3, PLATFORM, ("best", "het", "bmm")[seed], budget=0)
        A, B = integers((4 * 120, 3 * 120)), integers((3 * 120, 8 * 120), seed=1)
        with Workers(3, threads=1) as workers:
            started = processes(workers)
            start = time.monotonic()
            workers.matmul(A, B, plan)
            usual = time.monotonic() - start
            victims = rng.sample(range(3), 1 + seed % 2)
            timers = [
                threading.Timer(rng.random() * usual, os.kill, (started[i].pid, sent))
                for i in victims
            ]
            for timer in timers:
                timer.start()
            C = workers.matmul(A, B, plan, order=("plan", "demand")[seed % 2], timeout=2.0)
            for timer in timers:
                timer.join()
            assert (C == A @ B).all()
            assert (workers.matmul(A, B, plan, timeout=2.0) == A @ B).all()  # without them
            assert sorted(workers.lost) == sorted(f"P{i}" for i in victims)
            assert "lost: P" in repr(workers)
        assert all(process.returncode is not None for process in started)
        for process in started:
            with pytest.raises(ProcessLookupError):
                os.kill(process.pid, 0)

    @pytest.mark.slow
    def test_others_that_have_to_wait_are_not_lost(self):
        """While the clock of one who hangs is asked for, the clocks of the others have their
        questions on the way."""
        plan = hs.plan_product(4, 8, 3, PLATFORM, budget=0)
        A, B = integers((40, 30)), integers((30, 80), seed=1)
        with Workers(3, threads=1) as workers:
            os.kill(processes(workers)[0].pid, signal.SIGSTOP)
            C, trace = workers.matmul(A, B, plan, trace=True, timeout=2.0)
            assert (C == A @ B).all()
            assert list(workers.lost) == ["P0"]
            assert trace.total("compute")[0] == 0

    @pytest.mark.slow
    def test_all_of_them(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM, budget=0)
        A, B = np.ones((4, 3)), np.ones((3, 8))
        with Workers(3, threads=1) as workers:
            for process in processes(workers):
                process.kill()
            with pytest.raises(
                LostRank,
                match=(
                    r"^all workers are lost: P0 \(rank 1: .*\), P1 \(rank 2: .*\), P2 \(rank 3:"
                    r" .*\)$"
                ),
            ):
                workers.matmul(A, B, plan)
            assert (workers.matmul(A, B, plan) == 3).all()  # they are started anew
            assert workers.lost == {}


def pair():
    """Two ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        return one, listener.accept()[0]


class TestSockets:
    @settings(max_examples=many(30, 15))
    @given(
        st.lists(
            st.tuples(st.sampled_from([1, 2, "told"]), st.integers(1, 300_000), st.booleans()),
            max_size=12,
        )
    )
    def test_messages(self, messages):
        """Of each tag in order, whole, whoever is first; what is told passes none of those that are
        waited for."""
        ends = [sockets.Star(i, 2, {1 - i: connection}) for i, connection in enumerate(pair())]
        rng = np.random.default_rng(len(messages))
        arrays = [
            (tag, rng.integers(0, 256, size, np.uint8), early)
            for tag, size, early in messages
            if tag != "told"
        ]
        words = [size for tag, size, _ in messages if tag == "told"]
        into = [np.zeros_like(data) for _, data, _ in arrays]
        posts = [
            ends[1].receive(target, 0, tag)
            for target, (tag, _, early) in zip(into, arrays, strict=True)
            if all(e for *_, e in arrays)
        ]
        remaining = iter([data for _, data, _ in arrays])
        sent = []
        for tag, size, _ in messages:
            if tag == "told":
                ends[0].tell(size, 1)
            else:
                sent.append(ends[0].send(next(remaining), 1, tag))
        if not posts:
            posts = [
                ends[1].receive(target, 0, tag)
                for target, (tag, *_) in zip(into, arrays, strict=True)
            ]
        heard, end = [], time.monotonic() + 30
        while not (all(post.done for post in posts + sent) and len(heard) == len(words)):
            assert time.monotonic() < end
            ends[0].completed([])
            heard += [what for _, what in ends[1].heard()]
        assert heard == words
        assert all((a == b).all() for (_, a, _), b in zip(arrays, into, strict=True))
        assert all(star.leave() for star in ends)
        for star in ends:
            star.close()

    def test_who_waits_here_lives(self):
        """Its answers are behind a message that nobody expects yet."""
        star, other = (
            sockets.Star(i, 2, {1 - i: connection}) for i, connection in enumerate(pair())
        )
        data = np.zeros(10**6, np.uint8)
        other.send(data, 0, 5)
        other.tell("I am there", 0)
        for _ in range(100):
            assert star.heard() == []
            star.rest(0.01)
        assert star.moved(60.0) == star.moved(60.0) == [1]
        assert star.moved(0.0) == []  # but not for ever
        post = star.receive(np.ones_like(data), 1, 5)
        heard = []
        while not heard:
            star.rest(0.1)
            other.completed([])
            heard = star.heard()
        assert (heard, post.done) == ([(1, "I am there")], True)
        assert star.moved(60.0) == [1]
        assert star.moved(60.0) == []
        star.close()
        other.close()

    def test_who_goes_is_gone(self):
        one, other = pair()
        star = sockets.Star(0, 2, {1: one})
        assert star.gone() == []
        other.close()
        while not (gone := star.gone()):
            star.rest(0.1)
        assert gone == [(1, "rank 1: it has closed its connection")]
        star.tell("nothing", 1)
        assert star.completed([star.send(np.zeros(3, np.uint8), 1, 5)]) == []
        star.close()

    def test_a_message_of_another_size(self):
        one, other = pair()
        star, liar = sockets.Star(0, 2, {1: one}), sockets.Star(1, 2, {0: other})
        star.receive(np.zeros(3, np.uint8), 1, 5)
        liar.send(np.zeros(4, np.uint8), 0, 5)
        while not (gone := star.gone()):
            star.rest(0.1)
        assert gone == [(1, "rank 1: got a message of 4 bytes, expected 3")]
        star.close()
        liar.close()

    @pytest.mark.parametrize(
        ("sent", "why"),
        [
            (struct.pack("<iq", -1, -1), "got a message of -1 bytes with tag -1"),
            (struct.pack("<iq", -1, 2**62), f"got a message of {2**62} bytes with tag -1"),
            (struct.pack("<iq", 5, -(2**63)), f"got a message of {-(2**63)} bytes with tag 5"),
            (struct.pack("<iq", 5, 2**40), f"got a message of {2**40} bytes with tag 5"),
            (struct.pack("<iq", -2, 1), "got a message of 1 bytes with tag -2"),
            (struct.pack("<iq", -3, 0), "got a message of 0 bytes with tag -3"),
            (struct.pack("<iq", -2, 0), "it has acknowledged a message that was not sent"),
            (struct.pack("<iq", -1, 0), "Ran out of input"),
            (struct.pack("<iq", -1, 4) + b"what", "invalid load key, 'w'."),
            (b"\xff" * 100, "got a message of -1 bytes with tag -1"),
        ],
    )
    def test_garbage(self, sent, why):
        one, other = pair()
        star = sockets.Star(0, 2, {1: one})
        other.sendall(sent)
        while not (gone := star.gone()):
            star.rest(0.1)
        assert gone == [(1, f"rank 1: {why}")]
        star.close()
        other.close()

    def test_half_a_message(self):
        """What is told takes memory as it comes, whatever its head says; and silence is no sign of
        life."""
        one, other = pair()
        star = sockets.Star(0, 2, {1: one})
        other.sendall(struct.pack("<iq", -1, 2**30) + bytes(1000))
        while not star.moved(60.0):
            star.rest(0.1)
        (line,) = star._lines.values()
        assert len(line._told) <= 2**20
        while star.moved(60.0):
            star.rest(0.01)
        assert star.heard() == star.gone() == []
        star.close()
        other.close()

    @pytest.mark.parametrize("writes", [False, True])
    def test_last_words(self, writes):
        """What a worker told before it closed its connection is heard, also by a master that
        notices the end because it cannot write."""
        one, other = pair()
        master, worker = sockets.Star(0, 2, {1: one}), sockets.Star(1, 2, {0: other})
        worker.tell(("stop", "no memory"), 0)
        worker.abandon([], [])
        worker.close()
        if writes:
            data = np.zeros(1 << 20, np.uint8)
            while not master.gone():
                master.send(data, 1, 0)
        heard = []
        while not heard:
            master.rest(0.1)
            heard = master.heard()
        assert heard == [(1, ("stop", "no memory"))]
        master.close()

    def test_long_words(self):
        ends = [sockets.Star(i, 2, {1 - i: connection}) for i, connection in enumerate(pair())]
        said = bytes(range(256)) * 40_000
        ends[0].tell(said, 1)
        heard = []
        while not heard:
            ends[0].completed([])
            heard = ends[1].heard()
        assert heard == [(0, said)]
        for star in ends:
            star.close()


# ---- who is who ----


class Bomb:
    """Who unpickles it is found out."""

    def __reduce__(self):
        return explode, ()


def explode():
    EXPLODED.append(True)


EXPLODED: list[bool] = []
BOMB = pickle.dumps(Bomb())
#: Told to one that believes already.
TOLD = struct.pack("<iq", -1, len(BOMB)) + BOMB


@contextmanager
def opened(expected=1):
    """A door, and a function that connects to it."""
    connected = []
    with (
        socket.create_server(("127.0.0.1", 0), backlog=200) as listener,
        closing(handshake.Door(listener, b"secret", expected)) as door,
    ):

        def connect():
            connected.append(socket.create_connection(listener.getsockname()))
            connected[-1].settimeout(60)
            return connected[-1]

        try:
            yield door, connect
        finally:
            for connection in connected:
                connection.close()


def look(door, until):
    """Who becomes known before that is so."""
    known = []
    while not until():
        known += door.look(0.05)
    return known


def sent_away(door, connection):
    """Look until it is, and say what it has heard before."""
    connection.settimeout(0.01)
    heard = b""
    with suppress(ConnectionError):
        while True:
            assert door.look(0.01) == []
            with suppress(TimeoutError):
                more = connection.recv(4096)
                if not more:
                    break
                heard += more
    return heard


def comes_in(door, connection):
    """A worker that knows the secret, and what the door says of it."""
    thread = threading.Thread(
        target=lambda: handshake.shake(connection, handshake.introduce(b"secret", 1, "me"), 60)
    )
    thread.start()
    known = []
    while not known:
        known = door.look(0.05)
    thread.join()
    ((own, who),) = known
    own.close()
    return who


class TestHandshake:
    @pytest.mark.parametrize(("mine", "yours"), [(b"one", b"one"), (b"one", b"two"), (b"", b"x")])
    def test_secret(self, mine, yours):
        master, worker = pair()
        errors = []

        def serve():
            try:
                handshake.shake(master, handshake.proof(mine, True), 60)
            except ConnectionError as error:
                errors.append(error)
            finally:
                master.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            handshake.shake(worker, handshake.proof(yours, False), 60)
        except ConnectionError as error:
            errors.append(error)
        thread.join()
        worker.close()
        assert len(errors) == (0 if mine == yours else 2)

    def test_who_does_not_answer(self):
        for dribbles in (False, True):
            one, other = pair()
            ended = threading.Event()

            def dribble(other=other, ended=ended):
                while not ended.wait(0.01):
                    other.sendall(b"x")

            thread = threading.Thread(target=dribble)
            if dribbles:
                thread.start()
            with pytest.raises(TimeoutError, match="the other side"):
                handshake.shake(one, iter_of(10**6), 0.1)
            ended.set()
            if dribbles:
                thread.join()
            one.close()
            other.close()

    @pytest.mark.parametrize(
        "said", [b"", b"GET / HTTP/1.0\r\n\r\n", bytes(64), bytes(200), bytes(10**5)]
    )
    def test_strangers(self, said):
        """They learn the random bytes of the master, and nothing else."""
        with opened() as (door, connect):
            stranger = connect()
            with suppress(OSError):
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
            assert len(sent_away(door, stranger)) <= 32

    def test_what_a_stranger_can_make_the_master_take(self):
        """No byte beyond the 64 that a proof has."""
        asked = []

        class Connection:
            def setblocking(self, _):
                pass

            def send(self, data):
                return len(data)

            def recv(self, most):
                asked.append(most)
                return b"x" * min(most, 7)

        strange = handshake.Handshake(Connection(), handshake.welcome(b"secret"), 60)
        with pytest.raises(ConnectionError, match="does not know the secret"):
            strange.go_on()
        assert max(asked) == 32
        assert sum(min(most, 7) for most in asked) == 64

    @pytest.mark.parametrize(
        "line", [b"[" * 5000, b"x" * 5000, b"[" * 4000 + b"\n", b"{\n", b"\xff\n", b"\n"]
    )
    def test_strange_introductions(self, line):
        def steps():
            yield from handshake.proof(b"secret", False)
            yield line, 0

        with opened() as (door, connect):
            worker = connect()
            thread = threading.Thread(target=lambda: handshake.shake(worker, steps(), 60))
            thread.start()
            while thread.is_alive():
                assert door.look(0.01) == []
            sent_away(door, worker)

    def test_silent_strangers_delay_nobody(self):
        with opened() as (door, connect):
            for _ in range(3):
                connect()
            look(door, lambda: len(door) == 3)
            assert comes_in(door, connect()) == [1, "me"]
            assert len(door) == 3

    def test_a_slow_stranger_has_one_deadline(self, monkeypatch):
        """Not one for each byte."""
        monkeypatch.setattr(handshake, "SHAKE", 0.1)
        with opened() as (door, connect):
            stranger = connect()
            for _ in range(50):
                with suppress(ConnectionError):
                    stranger.sendall(b"x")
                door.look(0.01)
            sent_away(door, stranger)

    def test_many_strangers(self, monkeypatch):
        """The oldest make room, for a worker too."""
        monkeypatch.setattr(handshake, "_STRANGERS", 4)
        with opened() as (door, connect):
            strangers = [connect() for _ in range(30)]
            for stranger in strangers[:25]:
                sent_away(door, stranger)
                assert len(door) <= 5
            assert comes_in(door, connect()) == [1, "me"]

    def test_no_file_left(self):
        """The oldest stranger makes room; without one it is an error."""

        class Full:
            def setblocking(self, _):
                pass

            def accept(self):
                raise OSError(24, "Too many open files")

            def fileno(self):
                return ready.fileno()

        ready, other = pair()
        other.sendall(b"x")
        with opened() as (door, connect):
            connect()
            look(door, lambda: len(door))
            door._listener = Full()
            door._selector.register(door._listener, 1)
            look(door, lambda: not len(door))
            with pytest.raises(OSError, match="Too many open files"):
                door.look(0.05)
        ready.close()
        other.close()

    def test_replay(self):
        """What a worker has said to prove itself is of no use on another connection."""
        said = []

        class Recorded:
            def __init__(self, connection):
                self.connection = connection

            def send(self, data):
                said.append(data)
                return self.connection.send(data)

            def __getattr__(self, name):
                return getattr(self.connection, name)

        with opened() as (door, connect):
            assert comes_in(door, Recorded(connect())) == [1, "me"]
            stranger = connect()
            stranger.sendall(b"".join(said))
            assert len(sent_away(door, stranger)) <= 32

    def test_reflection(self):
        """Nor is what the master has said, on this connection or another."""
        with opened() as (door, connect):
            one, two = connect(), connect()
            look(door, lambda: len(door) == 2)
            first, second = one.recv(32), two.recv(32)
            assert len(first) == len(second) == 32
            assert first != second
            one.sendall(first + first)
            two.sendall(first + second)
            assert sent_away(door, one) == sent_away(door, two) == b""

    @pytest.mark.parametrize("before", [0, 1, 32, 33, 64, 96])
    def test_nothing_is_unpickled_before_the_proof(self, before):
        EXPLODED.clear()
        for said in (BOMB, TOLD):
            with opened() as (door, connect):
                stranger = connect()
                with suppress(OSError):
                    stranger.sendall(bytes(before) + said)
                    stranger.sendall(said)
                    stranger.shutdown(socket.SHUT_WR)
                sent_away(door, stranger)
        assert EXPLODED == []

    def test_what_is_told_after_it_is(self):
        """So that the test above would notice."""
        EXPLODED.clear()
        one, other = pair()
        star = sockets.Star(0, 2, {1: one})
        other.sendall(TOLD)
        while not star.heard():
            star.rest(0.1)
        assert EXPLODED == [True]
        star.close()
        other.close()


def iter_of(count):
    """A step that asks for so many bytes."""
    yield b"", count


#: An agent that says where its worker is to connect, and starts it when it may.
AGENT = """#!/bin/sh
echo "$@" > {where}.part
mv {where}.part {where}
while [ ! -e {go} ]; do sleep 0.02; done
shift
exec "$@"
"""


@contextmanager
def held_back(tmp_path):
    """An agent, a function that connects to where its worker would, and the file at which it
    starts."""
    agent, where, go = tmp_path / "agent", tmp_path / "where", tmp_path / "go"
    agent.write_text(AGENT.format(where=where, go=go))
    agent.chmod(0o755)
    connected = []

    def connect():
        while not where.exists():
            time.sleep(0.01)
        host, port = where.read_text().split("--connect ")[1].split()[0].split(":")
        connected.append(socket.create_connection((host, int(port))))
        connected[-1].settimeout(60)
        return connected[-1]

    try:
        yield str(agent), connect, go
    finally:
        go.touch()
        for connection in connected:
            connection.close()


class TestStart:
    def test_among_strangers(self, tmp_path):
        """They do not delay it, however many are silent; and when it is done nothing listens."""
        EXPLODED.clear()
        with held_back(tmp_path) as (agent, connect, go):

            def strangers():
                for said in (
                    b"",
                    b"x",
                    b"GET / HTTP/1.0\r\n\r\n",
                    BOMB,
                    bytes(32) + TOLD,
                    bytes(64) + TOLD,
                ):
                    connect().sendall(said)
                go.touch()

            thread = threading.Thread(target=strangers)
            thread.start()
            with Workers(["a"], agent, address="127.0.0.1", threads=1) as workers:
                thread.join()
                with pytest.raises(ConnectionRefusedError):
                    connect()
                plan = hs.plan_product(2, 2, 2, hs.Platform.star([1], memory=[12]), budget=0)
                assert (workers.matmul(np.ones((4, 4)), np.ones((4, 4)), plan) == 4).all()
        assert EXPLODED == []

    def test_ends_by_its_own_limit(self, tmp_path, monkeypatch):
        """Whatever strangers do; and names who did not come."""
        monkeypatch.setattr(starting, "_START", 0.5)
        ended = threading.Event()
        with held_back(tmp_path) as (agent, connect, _):

            def dribble():
                with suppress(OSError):
                    while not ended.wait(0.01):
                        connect().sendall(b"x")

            thread = threading.Thread(target=dribble)
            thread.start()
            try:
                with pytest.raises(
                    OSError, match=r"^workers a, b have not connected within 0.5 s$"
                ):
                    Workers(["a", "b"], agent, address="127.0.0.1", threads=1)
            finally:
                ended.set()
                thread.join()

    @pytest.mark.slow
    def test_interrupt(self):
        program = """
            import time
            from hetsched.mpi import Workers
            print("ready", flush=True)
            try:
                Workers(["a", "b"], "sh -c 'sleep 60'", address="127.0.0.1", threads=1)
            except KeyboardInterrupt:
                print("interrupted", time.monotonic(), flush=True)
            """
        assert interrupted(program, after=1.0) == []

    def test_another_version(self, monkeypatch):
        monkeypatch.setattr(starting, "THIS", ("0.0", *THIS[1:]))
        with pytest.raises(
            OSError,
            match=(
                r"worker P0 runs hetsched \[.*\], this process \['0.0', .*\]: they must be the same"
            ),
        ):
            Workers(1, threads=1)

    @pytest.mark.parametrize(
        "who",
        [
            3,
            None,
            [],
            [1],
            ["1", list(THIS)],
            [1, list(THIS), 2],
            {"a": 1},
            [0, ["0.0"]],
            [9, ["0.0"]],
        ],
    )
    def test_a_strange_introduction_is_no_worker(self, who):
        crew = starting._Crew.__new__(starting._Crew)
        crew._names = ("a", "b")
        assert crew._rank(who) is None

    @pytest.mark.parametrize(
        ("address", "here", "host"),
        [
            ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
            ("localhost", "127.0.0.1", "127.0.0.1"),
            (socket.gethostname(), "127.0.1.1", "0.0.0.0"),
            ("this.example.org", "127.0.1.1", "0.0.0.0"),
            ("203.0.113.7", "203.0.113.7", "0.0.0.0"),  # of no computer
            ("no.example.org", None, "0.0.0.0"),
        ],
    )
    def test_who_listens(self, monkeypatch, address, here, host):
        def known(name):
            assert name == address
            if here is None:
                raise socket.gaierror(-2, "Name or service not known")
            return here

        monkeypatch.setattr(socket, "gethostbyname", known)
        with starting._listener(address, 1) as listener:
            assert listener.getsockname()[0] == host
