"""Workers that are processes of their own: products against NumPy, also when some of them die or hang; no process is left."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted import interrupted

import hetsched as hs
from hetsched.mpi import LostRank, Workers, sockets
from hetsched.mpi.workers import welcomed

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
                plan = hs.plan_product(4, 8, 3, PLATFORM, method)
                A, B = (
                    integers((4 * 9 - 2, 3 * 9 - 1), dtype, seed),
                    np.asfortranarray(integers((3 * 9 - 1, 8 * 9), dtype, seed + 1)),
                )
                C, trace = workers.matmul(A, B, plan, order=order, trace=True)
                assert C.dtype == dtype
                assert (C == A @ B).all()
                assert all(peak <= memory for peak, memory in zip(trace.peak, plan.memory, strict=True))
                assert np.flatnonzero(trace.peak).tolist() == plan.enrolled.tolist()
                assert len([e for e in trace.events if e.kind == "transfer"]) == len(plan.messages)
                assert all(seconds > 0 for seconds in trace.cpu)
            assert [process.pid for process in processes(workers)] == [process.pid for process in started]
            assert workers.lost == {}
        assert all(process.returncode is not None for process in started)
        with pytest.raises(ValueError, match="workers are closed"):
            workers.matmul(A, B, plan)
        workers.close()

    def test_large_messages(self):
        """Larger than the buffers of a connection."""
        plan = hs.plan_product(2, 2, 2, hs.Platform.star([1, 1], memory=[12, 12]), "het")
        A, B = integers((1800, 1800), np.float32), integers((1800, 1800), np.float32, 1)
        with Workers(2) as workers:
            assert (workers.matmul(A, B, plan) == A @ B).all()

    def test_on_hosts(self, tmp_path):
        """By an agent that takes the host and a command, as ssh does."""
        seen = tmp_path / "hosts"
        agent = tmp_path / "agent"
        agent.write_text(f'#!/bin/sh\necho "$1" >> {seen}\nshift\nexec "$@"\n')
        agent.chmod(0o755)
        plan = hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]))
        for given_agent in (str(agent), f"{agent} {{host}}"):
            with Workers(["a", "b"], given_agent, address="127.0.0.1", threads=1) as workers:
                assert workers.names == ("a", "b")
                assert (workers.matmul(np.ones((4, 3)), np.ones((3, 8)), plan) == 3).all()
                started = processes(workers)
            assert all(process.returncode is not None for process in started)
        assert sorted(seen.read_text().split()) == ["a", "a", "b", "b"]

    def test_an_agent_that_fails(self):
        with pytest.raises(OSError, match=r"worker 1 ended with status 3 before it connected: no such host"):
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

    def test_bad_products(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM)
        A, B = np.ones((4, 3)), np.ones((3, 8))
        with Workers(3) as workers:
            for options, error, words in (
                ({"plan": hs.distribute(8, [1, 2, 3])}, TypeError, "plan must be a StarPlan"),
                (
                    {"plan": hs.plan_product(4, 8, 3, hs.Platform.star([1], memory=[9]))},
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

    def test_an_error_and_then_another_product(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM)
        A, B = np.ones((400, 300)), np.ones((300, 800))

        def enough(_):
            raise RuntimeError("enough")

        with Workers(3) as workers:
            before = processes(workers)
            with pytest.raises(RuntimeError, match="enough"):
                workers.matmul(A, B, plan, progress=enough)
            assert all(process.returncode is not None for process in before)
            assert (workers.matmul(A, B, plan) == 300).all()

    def test_interrupt(self):
        program = """
            import time
            import numpy as np, hetsched as hs
            from hetsched.mpi import Workers
            plan = hs.plan_product(4, 8, 3, hs.Platform.star([1, 1], memory=[12, 12]))
            A, B = np.broadcast_to(np.float32(1), (12000, 9000)), np.broadcast_to(np.float32(1), (9000, 24000))
            with Workers(2, threads=1) as workers:
                pids = [process.pid for process in workers._crew._processes]
                print("ready", flush=True)
                try:
                    workers.matmul(A, B, plan)
                except KeyboardInterrupt:
                    print("interrupted", time.monotonic(), *pids, flush=True)
            """
        assert all(is_gone(int(pid)) for pid in interrupted(program, after=1.0))

    @pytest.mark.skipif(not os.path.isdir("/proc"), reason="no /proc")
    def test_they_end_with_the_master(self):
        program = """
            import time
            from hetsched.mpi import Workers
            workers = Workers(2, threads=1)
            print(*(process.pid for process in workers._crew._processes), flush=True)
            time.sleep(60)
            """
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True) as master:
            pids = [int(word) for word in master.stdout.readline().split()]
            assert len(pids) == 2
            assert not any(is_gone(pid) for pid in pids)
            master.kill()
        end = time.monotonic() + 30
        while not all(is_gone(pid) for pid in pids):
            assert time.monotonic() < end, "workers go on without their master"
            time.sleep(0.02)


class TestLost:
    @pytest.mark.parametrize(
        ("sent", "seed"), [(signal.SIGKILL, 0), (signal.SIGKILL, 1), (signal.SIGSTOP, 1), (signal.SIGSTOP, 2)]
    )
    def test_at_any_time(self, sent, seed):
        rng = random.Random(seed)
        plan = hs.plan_product(4, 8, 3, PLATFORM, ("best", "het", "bmm")[seed])
        A, B = integers((4 * 120, 3 * 120)), integers((3 * 120, 8 * 120), seed=1)
        with Workers(3, threads=1) as workers:
            started = processes(workers)
            start = time.monotonic()
            workers.matmul(A, B, plan)
            usual = time.monotonic() - start
            victims = rng.sample(range(3), 1 + seed % 2)
            timers = [threading.Timer(rng.random() * usual, os.kill, (started[i].pid, sent)) for i in victims]
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

    def test_others_that_have_to_wait_are_not_lost(self):
        """While the clock of one who hangs is asked for, the clocks of the others have their questions on the way."""
        plan = hs.plan_product(4, 8, 3, PLATFORM)
        A, B = integers((40, 30)), integers((30, 80), seed=1)
        with Workers(3, threads=1) as workers:
            os.kill(processes(workers)[0].pid, signal.SIGSTOP)
            C, trace = workers.matmul(A, B, plan, trace=True, timeout=2.0)
            assert (C == A @ B).all()
            assert list(workers.lost) == ["P0"]
            assert trace.total("compute")[0] == 0

    def test_all_of_them(self):
        plan = hs.plan_product(4, 8, 3, PLATFORM)
        A, B = np.ones((4, 3)), np.ones((3, 8))
        with Workers(3, threads=1) as workers:
            for process in processes(workers):
                process.kill()
            with pytest.raises(
                LostRank, match=r"^all workers are lost: P0 \(rank 1: .*\), P1 \(rank 2: .*\), P2 \(rank 3: .*\)$"
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
    @pytest.mark.parametrize(("mine", "yours"), [(b"one", b"one"), (b"one", b"two"), (b"", b"x")])
    def test_secret(self, mine, yours):
        master, worker = pair()
        errors = []

        def serve():
            try:
                sockets.exchange(master, mine, True)
            except ConnectionError as error:
                errors.append(error)
            finally:
                master.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            sockets.exchange(worker, yours, False)
        except ConnectionError as error:
            errors.append(error)
        thread.join()
        worker.close()
        assert len(errors) == (0 if mine == yours else 2)

    @pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.0\r\n\r\n", bytes(200)])
    def test_strangers(self, said):
        master, other = pair()
        other.sendall(said)
        other.shutdown(socket.SHUT_WR)
        assert welcomed(master, b"secret") is None
        master.close()
        other.close()

    def test_another_version(self):
        master, other = pair()

        def connect():
            sockets.exchange(other, b"secret", False)
            sockets.write_line(other, '[3, ["0.0", 8, "little"]]')

        thread = threading.Thread(target=connect)
        thread.start()
        with pytest.raises(OSError, match=r"worker 3 runs hetsched \['0.0', 8, 'little'\], .*: they must be the same"):
            welcomed(master, b"secret")
        thread.join()
        master.close()
        other.close()

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(st.sampled_from([1, 2, "told"]), st.integers(1, 300_000), st.booleans()), max_size=12))
    def test_messages(self, messages):
        """Of each tag in order, whole, whoever is first; what is told passes none of those that are waited for."""
        ends = [sockets.Star(i, 2, {1 - i: connection}) for i, connection in enumerate(pair())]
        rng = np.random.default_rng(len(messages))
        arrays = [(tag, rng.integers(0, 256, size, np.uint8), early) for tag, size, early in messages if tag != "told"]
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
            posts = [ends[1].receive(target, 0, tag) for target, (tag, *_) in zip(into, arrays, strict=True)]
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
        star, other = (sockets.Star(i, 2, {1 - i: connection}) for i, connection in enumerate(pair()))
        data = np.zeros(10**6, np.uint8)
        other.send(data, 0, 5)
        other.tell("I am there", 0)
        for _ in range(100):
            assert star.heard() == []
            star.rest(0.01)
        assert star.moved() == star.moved() == [1]
        post = star.receive(np.ones_like(data), 1, 5)
        heard = []
        while not heard:
            star.rest(0.1)
            other.completed([])
            heard = star.heard()
        assert (heard, post.done) == ([(1, "I am there")], True)
        assert star.moved() == [1]
        assert star.moved() == []
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
        assert gone == [(1, "rank 1: a message of 4 bytes, not of 3")]
        star.close()
        liar.close()
