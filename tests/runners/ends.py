"""Programs that end while a daemon thread computes.

    [hetsched exec] python tests/runners/ends.py [REPEATS [PHASE ...]]

A child is forked for each phase and moment. It starts a thread that computes for ever, sleeps until
the moment, and ends as any program does. The output of each child is printed, and each child that
ends badly or not at all."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

import hetsched as hs
from hetsched._engine import run as engine

for name in hs.__all__:
    getattr(hs, name)  # what is imported when it is asked for would take all the time
rng = np.random.default_rng(1)
A, B = rng.standard_normal((2, 700, 700))
S = A @ A.T + 700 * np.eye(700)
big, huge = rng.standard_normal((2500, 2500)), np.ones((5000, 5000), np.float32)
tall, many = rng.standard_normal((60000, 20)), rng.standard_normal((20000, 12, 12))
emulated = hs.Platform.star([3.0, 5.0, 8.0], link_costs=[0.1, 0.1, 0.1])
sweep = hs.wavefront(40, 40, [1.0, 1.0])
shortest = hs.Stencil([[np.inf, 1, np.inf], [1, 0, np.inf], [np.inf] * 3], "min")
mesh = hs.Platform.mesh(
    rng.random((12, 12)) + 0.5, np.full((12, 11), 0.01), np.full((11, 12), 0.01)
)
tasks = hs.max_tasks(5.0, [0.01, 0.02], send=0.001)


def again(call: Callable[[], object]) -> None:
    while True:
        call()


def pooled(call: Callable[[hs.Pool], object], *given: Any, **options: Any) -> None:
    with hs.Pool(*given, **options) as pool:
        again(lambda: call(pool))


def tile(array: Any, row: int, col: int, height: int, width: int) -> None:
    for _ in range(300):
        array[row, col] += 1.0


def two_threads() -> None:
    threading.Thread(target=again, args=(lambda: hs.matmul(A, B),)).start()
    again(lambda: hs.solve(A, B))


def limited() -> None:
    with hs.thread_limit(1):
        again(lambda: hs.matmul(A, B))


#: What the thread does, for ever.
PHASES: dict[str, Callable[[], None]] = {
    "pool": lambda: pooled(lambda pool: pool.matmul(A, B), 2),
    "pools": lambda: again(lambda: hs.Pool(3).matmul(A, B)),
    "long product": lambda: again(lambda: hs.matmul(huge, huge)),
    "shared pool": lambda: again(lambda: hs.matmul(A, B)),
    "two threads": two_threads,
    "limited": limited,
    "lu": lambda: again(lambda: hs.lu_factor(A)),
    "long lu": lambda: again(lambda: hs.lu_factor(big)),
    "solve": lambda: again(lambda: hs.solve(A, B)),
    "inv": lambda: again(lambda: hs.inv(big)),
    "cholesky": lambda: again(lambda: hs.cholesky(S)),
    "qr": lambda: again(lambda: hs.qr(A)),
    "long qr": lambda: again(lambda: hs.qr(big)),
    "tall qr": lambda: again(lambda: hs.qr(tall)),
    "gram": lambda: again(lambda: hs.gram(big)),
    "array": lambda: again(lambda: hs.asarray(A) @ B + A),
    "stacks": lambda: again(lambda: hs.matmul(many, many)),
    "stacks of systems": lambda: again(lambda: hs.solve(many, many)),
    "progress": lambda: again(lambda: hs.matmul(A, B, progress=lambda _: sum(range(20000)))),
    "slow progress": lambda: again(
        lambda: hs.matmul(big, big, progress=lambda _: time.sleep(0.02))
    ),
    "sweep": lambda: pooled(lambda pool: pool.sweep(sweep, np.zeros((400, 400)), tile), 2),
    "stencil": lambda: pooled(lambda pool: pool.sweep(sweep, np.ones((2000, 2000)), shortest), 2),
    "emulated": lambda: pooled(
        lambda pool: pool.matmul(A, B, trace=True), emulated, emulate=True, time_scale=100.0
    ),
    "measure": lambda: again(lambda: hs.measure(seconds=0.5, refresh=True)),
    "planner": lambda: again(lambda: hs.partition(rng.random(40), "best", budget=2.0)),
    "exact planner": lambda: again(lambda: hs.partition(rng.random(12), "guillotine")),
    "stack of plans": lambda: again(lambda: hs.partition(rng.random((20000, 8)), "columns")),
    "plans one by one": lambda: again(lambda: hs.partition(rng.random((500, 6)), "recursive")),
    "linear programs": lambda: again(lambda: hs.layers_mesh(2000, mesh)),
    "bus": lambda: pooled(
        lambda pool: pool.run(tasks, lambda _: hs.matmul(A, B), range(tasks.tasks)), 2
    ),
    "map_tasks": lambda: again(lambda: hs.map_tasks(abs, range(200), workers=2)),
}
#: The same for `hetsched exec`. Without it, and where OpenBLAS has one thread, these end badly by
#: themselves: OpenBLAS gives its memory back at the end, whoever is at work in it.
EXECUTED: dict[str, Callable[[], None]] = {
    "numpy: products": lambda: again(lambda: big @ big),
    "numpy: systems": lambda: again(lambda: np.linalg.solve(A, B)),
    "numpy: qr": lambda: again(lambda: np.linalg.qr(A)),
}


class Last:
    """What Python takes away after it has ended all other threads: no run of theirs goes on then.
    It takes a while, in which they could be seen to do harm."""

    def __init__(self) -> None:
        self.known = engine._living, engine.lib, os.write, time.sleep

    def __del__(self) -> None:
        living, lib, write, sleep = self.known
        for ref in living.valuerefs():
            if (pool := ref()) is not None and lib.hs_pool_claim(
                pool.handle, 0.0
            ) == lib.HS_ERROR_BUSY:
                write(2, b"a run goes on\n")
        sleep(0.1)


def begin(phase: str, moment: float) -> None:
    sys.kept_to_the_end = Last()  # type: ignore[attr-defined]  # a name of this program would live as long as the thread
    # more than is kept for later threads: who reads the stack of one that has ended fails
    threading.stack_size(64 << 20)
    threading.Thread(target=(PHASES | EXECUTED)[phase], daemon=True).start()
    time.sleep(moment)


_AT_ONCE = 3
_LIMIT = 120.0  # seconds for a child
Child = tuple[str, float, IO[bytes], float]


def complain(child: Child, status: int | None) -> None:
    phase, moment, said, _ = child
    said.seek(0)
    text = said.read().decode(errors="replace")
    if status != 0 or text:
        print(f"{phase}, after {moment:.3f} s: status {status}; {text}", flush=True)


def run(cases: Sequence[tuple[str, float]]) -> tuple[str, float] | None:
    """Have a child for each, some at once. In a child the case, in the parent None when all have
    ended."""
    left, children = list(cases), dict[int, Child]()
    while left or children:
        while left and len(children) < _AT_ONCE:
            case, said = left.pop(0), tempfile.TemporaryFile()  # noqa: SIM115
            pid = os.fork()
            if not pid:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                return case
            children[pid] = (*case, said, time.monotonic())
        for pid, child in list(children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() - child[-1] > _LIMIT
            if late and not ended:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
            if ended or late:
                complain(children.pop(pid), status if ended else None)
        time.sleep(0.005)
    return None


def main() -> None:
    executed = "hetsched_blas" in os.environ.get("LD_PRELOAD", "")
    repeats, phases = (
        int((sys.argv[1:2] or ["1"])[0]),
        sys.argv[2:] or list(EXECUTED if executed else PHASES),
    )
    chance = random.Random(repeats)
    warnings.simplefilter("ignore")  # of forks beside threads
    case = run(
        [
            (phase, chance.random() * chance.choice([0.03, 0.15, 0.5]))
            for _ in range(repeats)
            for phase in phases
        ]
    )
    if case:
        begin(*case)
    else:
        print(f"{repeats * len(phases)} ends")


if __name__ == "__main__":
    main()
