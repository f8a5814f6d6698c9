"""Demand-driven products: a worker that has finished asks for blocks and tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import schedule as engine
from ..drifted import Drifted, changes_of
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose

KINDS = tuple(engine.DYNAMIC_KINDS)
METHODS = tuple(engine.DYNAMIC_METHODS)
_PHASES = METHODS[0]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DynamicProduct(Plan):
    """The tasks that a demand-driven run gave to each worker, and the blocks that it sent.

    Attributes
    ----------
    n : int
        Blocks along each axis.
    kind : {"outer", "matrix"}
        Whether there are n**2 tasks or n**3.
    tasks : (t, 4) int64 array
        worker, row, col, depth of each task, in the order in which they were handed out. A worker
        does its tasks in this order. The depth is 0 for "outer".
    sent : (t, 3) int64 array
        Blocks of A, B and C that the worker received for each task, after the task before; 0 of C
        for "outer". They can be more than its tasks need: "dynamic" also sends blocks for tasks
        that other workers already have. A block of C is counted once, though it goes back too.
    volume : int
        Sum of `sent`, which the certificate is about.
    bound : float
        No plan in which each worker has as many tasks sends fewer blocks.
    balanced_bound : float
        Fewest blocks if the work of each worker is in proportion to its speed.
    predicted : float or None
        Expected volume of the method; None for "sorted", and after `on`.
    makespan : float
        End of the last task at the cycle-times, without drift.
    makespan_bound : float
        The work divided perfectly over the speeds.
    beta : float or None
        The first of two phases ends when less than exp(-beta) of the tasks are left.
    seed : int
    cycle_times : (p,) float64 array
        Time of a task.
    """

    n: int
    kind: str
    tasks: NDArray[np.int64]
    sent: NDArray[np.int64]
    volume: int
    balanced_bound: float
    predicted: float | None
    makespan: float
    makespan_bound: float
    beta: float | None
    seed: int
    cycle_times: NDArray[np.float64]

    _value: ClassVar[str] = "volume"
    _table: ClassVar = {
        "n": schema.Count(0, engine.DYNAMIC_MOST_TASKS),
        "kind": schema.Text(*KINDS),
        "tasks": schema.Array("i8", "tasks", 4),
        "sent": schema.Array("i8", "tasks", engine.DYNAMIC_OPERANDS, high=2**31),
        "volume": schema.Integer(),
        "balanced_bound": schema.Real(),
        "predicted": schema.Maybe(schema.Real()),
        "makespan": schema.Real(),
        "makespan_bound": schema.Real(),
        "beta": schema.Maybe(schema.Real()),
        "seed": schema.Integer(),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        p, n, deep = len(self.names), self.n, self.kind == "matrix"
        limits = np.array([p, n, n, n if deep else 1])
        if (bad := (self.tasks >= limits).any(axis=1)).any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"tasks[{i}] must be worker, row, col, depth below {limits.tolist()}, got"
                f" {self.tasks[i].tolist()}"
            )
        total, count = n ** (3 if deep else 2), len(self.tasks)
        worker, *place = self.tasks.T
        if count != total or len(np.unique(_numbers(place, n))) != total:
            raise ValueError(f"tasks must have each of {total} tasks once, got {count}")
        schema.require_able("tasks", self._load(), self.cycle_times)
        if self.sent.sum() != self.volume:
            raise ValueError(f"volume must be the sum of sent, got {self.volume}")
        row, col, depth = place
        needed = [(row, depth), (depth, col), (row, col)] if deep else [(row,), (col,)]
        for k, operand in enumerate(needed):
            owners = np.unique(_numbers([worker, *operand], n)) // n ** len(operand)
            least = np.bincount(owners, minlength=p)
            if (bad := (self.blocks[:, k] < least)).any():
                i = int(np.argmax(bad))
                raise ValueError(
                    f"sent must give worker {i} at least the {least[i]} blocks of {'ABC'[k]} that"
                    f" its tasks need, got {self.blocks[i, k]}"
                )

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """(p, 3) blocks of A, B and C that each worker received."""
        found = np.zeros((len(self.names), engine.DYNAMIC_OPERANDS), np.int64)
        np.add.at(found, self.tasks[:, 0], self.sent)
        return check.frozen(found)

    def _on(self, platform: Platform) -> Plan:
        """The same tasks in the same order."""
        times = platform.cycle_times
        balanced, ideal = engine.Demand(self.n, self.kind, times).bounds()
        end = _last_end(self._load(), times)
        return replace(
            self,
            **self._workers(platform),
            makespan=end,
            makespan_bound=min(ideal, end),
            balanced_bound=balanced,
            predicted=None,
        )

    @property
    def value(self) -> int:
        return self.volume

    def _load(self) -> NDArray[np.int64]:
        return np.bincount(self.tasks[:, 0], minlength=len(self.names)).astype(np.int64)

    def _steps(self, finish: Finish) -> list[Step]:
        ready, times = [0.0] * len(self.names), self.cycle_times.tolist()
        steps = []
        for worker, *place in self.tasks.tolist():
            start = ready[worker]
            ready[worker] = finish(worker, start, times[worker])
            what = str(tuple(place if self.kind == "matrix" else place[:2]))
            steps.append(Step(worker, "compute", start, ready[worker], what))
        return steps


def _numbers(digits: Sequence[NDArray[np.int64]], n: int) -> NDArray[np.int64]:
    """Numbers with these digits in base n, the first digit without a limit."""
    found = digits[0]
    for digit in digits[1:]:
        found = found * n + digit
    return found


def _last_end(counts: NDArray[np.int64], times: NDArray[np.float64]) -> float:
    """When the last worker ends, each task added to the end of the one before."""
    busy = zip(counts.tolist(), times.tolist(), strict=True)
    with np.errstate(over="ignore"):
        ends = [float(np.cumsum(np.full(count, time))[-1]) for count, time in busy if count]
    return max(ends, default=0.0)


def dynamic_product(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    kind: str = "outer",
    method: str = _PHASES,
    beta: float | None = None,
    drift: Sequence[tuple[float, Platform]] | None = None,
    seed: int = 0,
) -> DynamicProduct:
    """Hand out a product of n x n blocks on demand, without knowing the speeds.

    A worker that has finished asks for work, and is sent the blocks that it lacks. It keeps all
    blocks. Transfers take no time, because they take place while the worker computes: what counts
    is how many blocks are sent. This is how dynamic runtime systems work, and what the plans of
    `partition` and `cuboids` are to be compared with.

    Parameters
    ----------
    n : int
        Blocks along each axis, >= 0, with at most a million tasks.
    cycle_times : Platform or (p,) array_like
        Time of a task, > 0. A worker with an infinite one gets nothing. The decisions do not use
        them: they say which worker asks next.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    kind : {"outer", "matrix"}
        "outer": n**2 tasks. A task multiplies a block of rows of A by a block of columns of B, over
        the whole inner dimension. "matrix": n**3 tasks. A task multiplies a block of A by a block
        of B and adds the product to a block of C, and needs all three.
    method : {"dynamic-2phases", "dynamic", "random", "sorted"}
        What a worker gets. "random": any task. "sorted": the first task by row, column and depth.
        "dynamic": the blocks of one more row and column (and depth), drawn at random, and all tasks
        that this allows with the blocks that the worker has. "dynamic-2phases": "dynamic" until few
        tasks are left, then "random".
    beta : float, optional
        >= 0, for "dynamic-2phases": the second phase begins when less than exp(-beta) of the tasks
        are left. By default the beta with the least expected volume.
    drift : sequence of (time, Platform), optional
        The speeds change during the run that is simulated, as in `simulate`. `simulate(plan,
        drift=drift)` is that run.
    seed : int
        Of the random draws, 0 <= seed < 2**63.

    Returns
    -------
    DynamicProduct
        What was decided in the simulated run. `Pool.run` repeats it. The certificate is about the
        volume. For one worker it is optimal.

    Raises
    ------
    ValueError, TypeError
        For another kind or method, beta with another method, too many tasks, a makespan that
        overflows.

    Notes
    -----
    Beaumont, Marchal, Analysis of dynamic scheduling strategies for matrix multiplication on
    heterogeneous platforms (HPDC 2014). The expected volume is that of many workers and large n. It
    comes from a differential equation; docs/theory.md has the derivation.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.dynamic_product(40, speeds=[5, 3, 2, 1])
    >>> plan.volume, plan.bound, round(plan.balanced_bound, 1), round(plan.predicted, 1)
    (245, 155.0, 153.9, 263.1)
    >>> [hs.dynamic_product(40, speeds=[5, 3, 2, 1], method=m).volume for m in ("random", "sorted")]
    [318, 320]
    >>> hs.partition([5, 3, 2, 1], shape=(40, 40)).cost
    160.0
    """
    check.amount_first("dynamic_product", "n", n, cycle_times)
    check.choice("kind", kind, KINDS)
    check.choice("method", method, METHODS)
    n = check.integer("n", n, low=0)
    axes = 3 if kind == "matrix" else 2
    if n**axes > engine.DYNAMIC_MOST_TASKS:
        raise ValueError(
            f"n must give at most {engine.DYNAMIC_MOST_TASKS} tasks, got {n}**{axes}: use larger"
            " blocks"
        )
    seed = check.integer("seed", seed, low=0, high=2**63 - 1)
    if beta is not None:
        beta = abs(check.number("beta", beta, low=0.0))  # turns -0.0 into 0.0
        if method != _PHASES:
            raise ValueError(f"beta is for method {_PHASES!r}, got it with {method!r}")
    times = check.cycle_times(cycle_times, speeds)
    workers = whose(cycle_times, len(times))
    changes = None
    if drift is not None:
        changes = Drifted(times, changes_of(drift, len(times), workers.get("unit"))).table
    usual = engine.Demand(n, kind, times)
    if method == _PHASES and beta is None:
        beta = usual.beta()
    try:
        balanced, ideal = usual.bounds()
        drifting = usual if changes is None else engine.Demand(n, kind, times, changes)
        tasks, end, proof = drifting.simulate(method, beta or 0.0, seed)
        if changes is not None:
            end = _last_end(np.bincount(tasks["worker"], minlength=len(times)), times)
        if not math.isfinite(end):
            raise ValueError
    except ValueError:  # all arguments are in their ranges
        raise ValueError("the makespan overflows: give cycle_times in a larger unit") from None
    thresholds = {_PHASES: beta, "dynamic": np.inf, "random": 0.0}
    threshold = thresholds.get(method)
    places = [tasks[name] for name in ("worker", "row", "col", "depth")]
    return trusted(
        DynamicProduct,
        method=method,
        asked=method,
        **proof | {"volume": int(proof["volume"])},
        n=n,
        kind=kind,
        tasks=check.frozen(np.stack(places, axis=1).astype(np.int64)),
        sent=check.frozen(tasks["sent"].astype(np.int64)),
        balanced_bound=balanced,
        predicted=None if threshold is None else usual.predict(threshold),
        makespan=end,
        makespan_bound=min(ideal, end),
        beta=beta,
        seed=seed,
        cycle_times=check.frozen(times),
        **workers,
    )
