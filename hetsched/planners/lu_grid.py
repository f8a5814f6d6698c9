"""Owners of the blocks of an LU factorisation that is dealt in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.replace import replace_file
from .._engine import allocate as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose
from .lu_pattern import update_steps

METHODS = ("best", "1d1d", "nested", "columns", "cyclic")
_MOST = engine.LU_GRID_MOST


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LuGrid(Plan):
    """Owners of square blocks, the cost of each step's updates, and the blocks sent for them.

    Attributes
    ----------
    owner : (n, n) int32 array
        The worker of each block.
    counts : (p,) int64 array
        Blocks of each worker.
    loads : (n,) float64 array
        Time of each step's updates: step k updates the blocks (i, j) with i, j > k, each worker its
        own. The last entry is 0.
    ideal : (n,) float64 array
        The same work divided perfectly over the speeds.
    traffic : (n,) int64 array
        Blocks sent in each step. A worker receives every block of the panel, (i, k), and of the
        pivot row, (k, j), that it needs for an update and does not own. It also receives the
        diagonal block, if it owns another block of the panel or the pivot row.
    received : (p,) int64 array
        Blocks that each worker receives in all steps.
    makespan : float
        Sum of the loads: the time of all updates, without panels, triangular solves and messages.
    cost : float
        The objective of "best": makespan + link_cost * all traffic.
    link_cost : float
    cycle_times : (p,) float64 array
        Time to update one block.
    """

    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    loads: NDArray[np.float64]
    ideal: NDArray[np.float64]
    traffic: NDArray[np.int64]
    received: NDArray[np.int64]
    makespan: float
    cost: float
    link_cost: float
    cycle_times: NDArray[np.float64]

    _value: ClassVar[str] = "cost"
    _scale: ClassVar[str] = "cycle_times or link_cost"
    _table: ClassVar = {
        "owner": schema.Array("i4", "n", "n", high="p - 1"),
        "counts": schema.Array("i8", "p"),
        "loads": schema.Array("f8", "n"),
        "ideal": schema.Array("f8", "n"),
        "traffic": schema.Array("i8", "n"),
        "received": schema.Array("i8", "p"),
        "makespan": schema.Real(),
        "cost": schema.Real(),
        "link_cost": schema.Real(),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        if not 1 <= len(self.owner) <= _MOST:
            raise ValueError(f"owner must have 1 to {_MOST} rows, got {len(self.owner)}")
        schema.require_owners("owner", self.owner, self.counts, self.cycle_times)
        schema.require_able("counts", self.counts, self.cycle_times)
        schema.require_close("makespan", self.makespan, float(self.loads.sum()))
        schema.require_close(
            "cost",
            self.cost,
            self.makespan + self.link_cost * float(self.traffic.sum(dtype=np.float64)),
        )

    @cached_property
    def updates(self) -> NDArray[np.int64]:
        """(n, p) blocks that each worker updates in each step."""
        n, p = len(self.owner), len(self.names)
        lines = np.arange(n)
        ends = np.minimum.outer(lines, lines)  # block (i, j) is updated in steps 0 .. min(i, j) - 1
        counts = np.bincount((ends * p + self.owner).ravel(), minlength=n * p).reshape(n, p)
        return check.frozen(
            np.vstack((np.cumsum(counts[:0:-1], axis=0)[::-1], np.zeros((1, p), np.int64)))
        )

    def _on(self, platform: Platform) -> Plan:
        return lu_grid(len(self.owner), platform, owner=self.owner, link_cost=self.link_cost)

    def _load(self) -> Any:
        """Block updates of each worker."""
        return self.updates.sum(axis=0)

    def _steps(self, finish: Finish) -> list[Step]:
        """The updates of each step, which starts when the step before has ended.

        Panels and messages take no time.
        """
        return update_steps(self.updates, self.cycle_times, finish)

    def to_chameleon(self, path: str | PathLike[str]) -> None:
        """Write the map as a custom distribution of Chameleon.

        The file has a line "n n", then the owners row by row, from 0. Chameleon's test programs
        read it with `--custom`, its library with `chameleon_getrankof_custom_init`; a larger matrix
        repeats the map. In the source of Chameleon 1.2 to 1.3 ranks count from 0, although a
        comment there says otherwise.

        Parameters
        ----------
        path : path-like
            The file is first written beside this path, then renamed.
        """
        lines = [
            f"{len(self.owner)} {len(self.owner)}",
            *(" ".join(map(str, row)) for row in self.owner.tolist()),
        ]
        with replace_file(path) as file:
            file.write(("\n".join(lines) + "\n").encode())


def lu_grid(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    method: str = "best",
    *,
    speeds: ArrayLike | None = None,
    link_cost: float = 0.0,
    owner: ArrayLike | None = None,
) -> LuGrid:
    """Deal n x n blocks of a matrix to workers, so that the updates of every LU step are balanced.

    It also keeps the number of sent blocks low. Step k factors the panel, the blocks (i, k) with
    i >= k, solves for the pivot row (k, j), and updates the blocks (i, j) with i, j > k, which are
    equal and independent.

    Parameters
    ----------
    n : int
        Number of blocks on a side, 1 to 46340.
    cycle_times : Platform or (p,) array_like
        Time of each worker to update one block, > 0. A worker with an infinite cycle-time gets
        nothing.
    method : {"best", "1d1d", "nested", "columns", "cyclic"}
        "1d1d": workers in columns as in `partition`. Block columns are dealt to these columns of
        workers, and block rows within each, by the incremental rule from the last one back.
        "nested": the same at every cut of the best straight cuts. For comparison, "columns" deals
        whole block columns by `lu_pattern`, and "cyclic" is the best block-cyclic q x r grid of all
        workers with a finite cycle-time, whatever their speeds. "best" is the one of these four
        with the least cost; of equal ones, the one with less traffic.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    link_cost : float, optional
        Time to send a block, >= 0. Messages are sent one after another and do not overlap with
        updates. Default: only the updates count.
    owner : (n, n) array_like of int, optional
        The worker of each block. The map is certified as it is; the plan has method "given".

    Returns
    -------
    LuGrid
        lower_bound is the sum of the least costs of the single steps, as if the blocks could be
        dealt anew before each. With link_cost, each worker is charged for the two sides of a square
        with as many blocks as it updates.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative cycle-times, n outside its range, an unknown method, a negative
        link_cost.

    Notes
    -----
    Section 2.4 of Beaumont, Boudet, Legrand, Rastello, Robert (2001) in both directions. Dealing
    takes O(n^2) for each level of cuts, loads and traffic take O(n^2 + n p).

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.lu_grid(4, cycle_times=[1, 1, 2], method="1d1d")
    >>> plan.owner.tolist(), plan.loads.tolist(), plan.traffic.tolist()
    ([[0, 0, 1, 0], [0, 0, 1, 0], [2, 2, 1, 2], [0, 0, 1, 0]], [4.0, 2.0, 1.0, 0.0], [7, 5, 3, 0])
    """
    check.amount_first("lu_grid", "n", n, cycle_times)
    n = check.integer("n", n, low=1, high=_MOST)
    times = check.cycle_times(cycle_times, speeds)
    check.choice("method", method, METHODS)
    link_cost = check.number("link_cost", link_cost, low=0.0)
    made = None
    if owner is not None:
        if method != "best":
            raise ValueError("owner must be given without method")
        method = "given"
        made = check.owners("owner", owner, (n, n), times)
    try:
        found = engine.lu_grid_best(method, n, times, link_cost, made)
    except ValueError:  # all arguments are in their ranges
        raise ValueError(
            "the cost overflows: give cycle_times or link_cost in a larger unit"
        ) from None
    return trusted(
        LuGrid,
        method=found.method,
        asked=method,
        **found.proof,
        owner=check.frozen(found.owner),
        counts=check.frozen(np.bincount(found.owner.ravel(), minlength=len(times))),
        loads=check.frozen(found.loads),
        ideal=check.frozen(found.ideal),
        traffic=check.frozen(found.traffic),
        received=check.frozen(found.received),
        makespan=found.makespan,
        link_cost=link_cost,
        cycle_times=check.frozen(times),
        **whose(cycle_times, len(times)),
    )
