"""Arguments of collective calls: what each rank has, and what all ranks must agree on."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import Progress, reporting, require_progress
from .._engine.dtypes import DTYPES
from ..plan import Plan, require_plan
from ..planners.product import ProductPlan
from ..planners.star import StarPlan
from ..planners.stencil import StencilPlan
from ..planners.wavefront import Wavefront
from ..platform import Platform, relative_speeds
from ..runners.operands import SUPPORTED, Array, as_array, operand
from ..runners.pool import Pool
from ..trace import Trace
from . import pools
from .ranks import Ranks
from .record import Clock, Record, on_one_clock
from .zones import Held, Zone, without_empty

STAR = "StarPlan"


class Described(NamedTuple):
    """What a rank says of an operand: whether it has an array, or which zone of a matrix."""

    kind: str
    shape: tuple[int, int] = (0, 0)
    dtype: str = ""
    boxes: bytes = b""


def described(
    name: str, given: Any, rank: int, root: int, *, any_number: bool = False
) -> tuple[Any, Described]:
    """The checked operand, and what other ranks need to know of it.

    any_number: integers, booleans and numbers of other sizes are also accepted.
    """
    if given is None:
        return None, Described("none")
    if isinstance(given, Zone):
        if given.rank != rank:
            raise ValueError(f"{name} is the zone of rank {given.rank}, this is rank {rank}")
        if any_number:
            _require_numbers(name, given.dtype)
        elif given.dtype not in DTYPES:
            raise TypeError(f"{name} has dtype {given.dtype}; supported are {SUPPORTED}")
        return given, Described("zone", given.shape, given.dtype.name, given.boxes.tobytes())
    if rank != root:
        raise ValueError(
            f"{name} must be None on rank {rank}: the matrix is at the root, rank {root}, or every"
            " rank has its Zone"
        )
    array = _numbers(name, given) if any_number else operand(name, given)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array, Described("array", (array.shape[0], array.shape[1]), array.dtype.name)


def _numbers(name: str, given: Any) -> Array:
    """The array in this machine's byte order."""
    array = as_array(name, given)
    _require_numbers(name, array.dtype)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _require_numbers(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biufc":
        raise TypeError(f"{name} has dtype {dtype}; it must have numbers or booleans")


def agreed(name: str, found: list[Described], root: int) -> Described:
    """The one description of an operand, from the descriptions of all ranks."""
    first = found[root]
    if first.kind == "none":
        raise ValueError(f"{name} must be given at the root, rank {root}")
    for rank, other in enumerate(found):
        if first.kind == "zone" and other != first:
            raise ValueError(
                f"{name} is a zone at the root, rank {root}: rank {rank} must give its zone of the"
                " same matrix"
            )
        if first.kind == "array" and rank != root and other.kind == "zone":
            raise ValueError(
                f"{name} is an array at the root, rank {root}, and a zone on rank {rank}"
            )
    if first.kind == "zone":
        check.integers(
            f"{name}.boxes[:, 0]",
            np.frombuffer(first.boxes, np.int64)[::5],
            low=0,
            high=len(found) - 1,
        )
    return first


def held(shape: Described, given: Any, root: int) -> Held:
    """An operand as the ranks hold it."""
    dtype = np.dtype(shape.dtype)
    if shape.kind == "zone":
        return Held(
            np.frombuffer(shape.boxes, np.int64).reshape(-1, 5),
            () if given is None else given.parts,
            dtype,
        )
    whole = np.array([(root, 0, 0, *shape.shape)], np.int64)
    return Held(without_empty(whole), () if given is None or given.size == 0 else (given,), dtype)


def reports(
    progress: bool | Progress | None, here: bool
) -> AbstractContextManager[Progress | None]:
    """A context that reports the progress if it is reported here.

    A progress of a wrong type is reported nowhere. `require_progress` refuses it in the first
    agreement, because an error before that would let the other ranks wait.
    """
    return reporting(progress if here and (progress is True or callable(progress)) else None)


class Call:
    """What the public functions have in common: checked ranks, root and pool, and the progress."""

    def __init__(self, comm: Any, root: int, pool: Pool | None, timeout: float) -> None:
        self.ranks = Ranks(comm)
        self.root, self.given_pool = 0, pool
        self.done = 0.0
        try:
            self.ranks.timeout = check.number("timeout", timeout, above=0.0)
            self.root = check.integer("root", root, low=0, high=self.ranks.size - 1)
            if pool is not None:
                pools.require_real_cores(pool)
        except (TypeError, ValueError) as error:
            # raised here, on this rank alone, it would let the other ranks wait
            self.ranks.refused = error

    @property
    def at_root(self) -> bool:
        """Whether this rank is the root."""
        return bool(self.ranks.rank == self.root)

    def reporting(
        self, progress: bool | Progress | None
    ) -> AbstractContextManager[Progress | None]:
        """A context that reports the progress; only the root reports it. See `reports`."""
        return reports(progress, self.at_root)

    def require_progress(self, progress: Any) -> None:
        """Raise TypeError at the root unless the progress can be reported."""
        if self.at_root:
            require_progress(progress)

    def require_one_root(self, roots: list[int]) -> None:
        """Raise ValueError unless the root is the same on all ranks."""
        if len(set(roots)) > 1:
            raise ValueError(f"root must be the same on all ranks, got {sorted(set(roots))}")

    def pool(self, places: list[pools.Place]) -> Pool:
        """The pool that was given, or else the pool of this rank's cores."""
        if self.given_pool is not None:
            return self.given_pool
        return pools.own_pool(places, self.ranks.rank)


def trace_of(
    call: Call,
    plan: ProductPlan | StencilPlan | Wavefront,
    record: Record,
    clocks: list[Clock],
    start: float,
) -> Trace | None:
    """The trace of a run by a plan, at the root; None elsewhere.

    clocks : of this rank, before and after the run
    start : of the run, by the clock of this rank
    """
    found = call.ranks.gather((record.events, *clocks, record.received))
    if not call.at_root:
        return None
    steps, error = on_one_clock([each[:3] for each in found], start)
    return Trace.from_steps(
        steps,
        plan.names,
        kind="real",
        speeds=relative_speeds(plan.cycle_times).tolist(),
        predicted=plan.makespan,
        ideal=plan.lower_bound or None,  # a given plan of a stencil has no bound
        clock_error=error,
        received=[each[3] for each in found],
    )


def travelled(plan: Plan | None, others: list[Any], root: int) -> Plan:
    """The plan of the root. Other ranks may leave the plan out, but may not give another one."""
    if others[root] is None:
        raise ValueError(f"plan must be given at the root, rank {root}")
    require_one_plan(others, root)
    return Plan.from_dict(json.loads(others[root])) if plan is None else plan


def require_one_plan(texts: list[Any], root: int) -> None:
    """Raise ValueError if a rank gives a plan that the root does not give."""
    for rank, text in enumerate(texts):
        if text is not None and text != texts[root]:
            raise ValueError(f"plan on rank {rank} is not the same as at the root, rank {root}")


def as_text(plan: Plan | None) -> str | None:
    """What is sent of a plan: its JSON, without the planning time.

    Of a StarPlan only that it is one is sent, because the master alone follows it.
    """
    if plan is None:
        return None
    require_plan(plan)
    if isinstance(plan, StarPlan):
        return STAR
    return json.dumps(
        {key: 0.0 if key == "planning_time" else value for key, value in plan.to_dict().items()}
    )


def columns(found: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The values of all ranks for each item, from the items of each rank."""
    return [list(column) for column in zip(*found, strict=True)]


def beside(platform: Platform, root: int) -> Platform:
    """A platform of the other ranks, as workers around the root."""
    rest = [worker for rank, worker in enumerate(platform.workers) if rank != root]
    return Platform(rest, unit=platform.unit)
