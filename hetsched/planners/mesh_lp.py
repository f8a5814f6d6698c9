"""The linear program of layers on a network, solved by HiGHS: real numbers of layers, fixed ones, or the best whole ones."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.ending import before_the_end, cancelled, is_refused
from .._base.need import need
from .._base.waits import PIECE
from ..errors import InfeasibleError

TOLERANCE, _USUAL = 1e-9, 1e-7  # of HiGHS for rows and for reduced costs; its default


class Mode(NamedTuple):
    """How data moves: from a node over one link after the other, in the order in which the links are given, or over all at once;
    and whether a node computes while it receives."""

    sequential: bool = False
    overlapping: bool = False

    def waits(self, tail: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) how long the message over each link, which takes so long, waits for those before it from the same node."""
        waits = np.zeros(len(times))
        if self.sequential:
            for v in np.unique(tail).tolist():
                links = np.flatnonzero(tail == v)
                waits[links] = np.concatenate(([0.0], np.cumsum(times[links])[:-1]))
        return waits


@dataclass(frozen=True)
class Network:
    """Sources and the links that lead away from them; nodes and links in any order.

    Attributes
    ----------
    n : int
        Side of the matrices.
    compute : (p,) float64 array
        Time per layer; infinite for a node that cannot compute.
    transfer : (m,) float64 array
        Time to move one layer, a column of A and a row of B, over each link.
    tail, head : (m,) int64 arrays
    order : (p,) int64 array
        The nodes such that every link leads from an earlier to a later one; the sources first.
    works : (p,) bool array
        Who may get layers.
    kept : bool array
        Which links of a larger network these are.
    sources : int
        How many of the nodes in order these are: no link leads to them.
    mode : Mode
    room : (p,) float64 array, optional
        Layers that may come in to each node, whole numbers or infinite: its own and those that it sends on.
    """

    n: int
    compute: NDArray[np.float64]
    transfer: NDArray[np.float64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    order: NDArray[np.int64]
    works: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    sources: int = 1
    mode: Mode = Mode()
    room: NDArray[np.float64] | None = None

    @property
    def most(self) -> NDArray[np.int64]:
        """(p,) layers that each node may have."""
        limits = np.inf if self.room is None else self.room
        most: NDArray[np.int64] = np.where(self.works, np.minimum(limits, self.n), 0).astype(np.int64)
        return most

    def at_once(self) -> Network:
        """The same with all messages of a node at the same time: nothing is later, whatever the order was."""
        return replace(self, mode=self.mode._replace(sequential=False))

    def of_links(self, kept: NDArray[np.bool_]) -> Network:
        """The network without the links that are not kept."""
        return replace(self, transfer=self.transfer[kept], tail=self.tail[kept], head=self.head[kept], kept=kept)

    def starts(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) when each node can start at the earliest: when all that comes in over all its links has arrived."""
        starts = np.zeros(len(self.compute))
        times = flows * self.transfer
        arrive = self.mode.waits(self.tail, times) + times
        for links in self.incoming():
            if len(links):
                starts[self.head[links[0]]] = (starts[self.tail[links]] + arrive[links]).max()
        return starts

    def begins(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) when each node can compute: when it starts, or as soon as all its links bring something."""
        starts = self.starts(flows)
        if not self.mode.overlapping:
            return starts
        begins = np.zeros(len(starts))
        np.maximum.at(begins, self.head, starts[self.tail] + self.mode.waits(self.tail, flows * self.transfer))
        return begins

    def finishes(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) when each node has computed, which is no earlier than when it starts."""
        return np.maximum(self.starts(flows), self.begins(flows) + self.busy(counts))

    def incoming(self) -> list[NDArray[np.int64]]:
        """The links into each node, the nodes in order."""
        by_head = np.argsort(self.head, kind="stable")
        ends = np.searchsorted(self.head[by_head], np.arange(len(self.compute) + 1))
        return [by_head[ends[v] : ends[v + 1]] for v in self.order.tolist()]

    def busy(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """(p,) time that each node computes."""
        return np.where(counts > 0, counts * np.where(self.works, self.compute, 0.0), 0.0)

    def conserved(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The flows without the rounding of the solver: into each node comes what it keeps and what it sends on."""
        least = TOLERANCE * max(float(counts.sum()), 1.0)
        exact = np.where(flows > least, flows, 0.0)
        leaving = np.zeros(len(self.compute))
        for links in reversed(self.incoming()):
            if len(links) == 0:
                continue
            v = int(self.head[links[0]])
            wanted, found = counts[v] + leaving[v], exact[links].sum()
            if found == 0.0 and wanted > 0.0:
                exact[links[np.argmax(flows[links])]] = found = 1.0
            exact[links] *= wanted / found if found > 0.0 else 0.0
            np.add.at(leaving, self.tail[links], exact[links])
        return exact


class Solution(NamedTuple):
    """Layers of each node (p,), layers over each link (m,), finish of each node, and the largest of these."""

    counts: NDArray[Any]
    flows: NDArray[np.float64]
    finish: NDArray[np.float64]
    makespan: float


class Program:
    """MFT-LBP of one network, kept by HiGHS between solves so that each starts from the basis of the one before.

    Columns: layers k of each node, its start, the layers f over each link, the makespan T. Rows: a node starts no earlier than
    anything reaches it (50), T is no earlier than its finish (59), it keeps what comes in and does not go on (53), the sum of
    k (58); what comes in is no more than it has room for, where that is limited. Time is in units in which the makespan is
    about n. A message of the sequential modes leaves after those before it from the same node: their times are added to (50).
    With simultaneous start T is also no earlier than the work of each node after each of its links begins to bring something,
    in rows of their own.

    Parameters
    ----------
    network : Network
    below : float, optional
        Bound all plans with a makespan of at most this in which some links are left out. A link e that is used carries at most
        F = min(n, below / transfer) layers, one that is not carries 0; then start(head) >= start(tail) + transfer f -
        below (1 - f / F) either way, and start(head) >= transfer f.
    warm : bool
        Whether each solve starts from the basis of the one before.
    """

    def __init__(self, network: Network, below: float | None = None, *, warm: bool = True) -> None:
        self.highs = need("highspy", "the linear program of layers")
        self.network = network
        self.solves = self.iterations = 0
        self._stopped = threading.Event()
        self._warm = warm
        p, m = len(network.compute), len(network.tail)
        self._p, self._m = p, m
        able = np.flatnonzero(network.works)
        self._unit = 1.0 / float((1.0 / network.compute[able]).sum())  # n layers divided at will take n of these
        self._build(able, below)

    def _build(self, able: NDArray[np.int64], below: float | None) -> None:
        net, p, m, inf = self.network, self._p, self._m, self.highs.kHighsInf
        k, s, f, last = np.arange(p), p + np.arange(p), 2 * p + np.arange(m), 2 * p + m
        rows: list[Any] = []
        columns: list[Any] = []
        values: list[Any] = []

        def put(row: Any, column: Any, value: Any) -> None:
            for part, given in ((rows, row), (columns, column), (values, value)):
                part.append(np.broadcast_to(given, np.shape(column)).astype(np.float64))

        link, node, keep = np.arange(m), m + np.arange(p), m + p + np.arange(p)
        takes, extra = net.transfer / self._unit, 0
        before = self._served()
        put(link, s[net.head], 1.0)
        put(link, s[net.tail], -1.0)
        if below is None:
            put(link, f, -takes)
        else:
            extra, most = m, below / self._unit
            put(link, f, -takes - most / np.minimum(net.n, most / np.maximum(takes, most / net.n)))
            put(m + 2 * p + 1 + link, s[net.head], 1.0)
            put(m + 2 * p + 1 + link, f, -takes)
        put(before[1], f[before[0]], -takes[before[0]])
        put(node, np.full(p, last), 1.0)
        put(node, s, -1.0)
        at_once = net.order[: net.sources] if net.mode.overlapping else able  # a source has nothing to wait for
        at_once = at_once[net.works[at_once]]
        put(node[at_once], k[at_once], -net.compute[at_once] / self._unit)
        if net.mode.overlapping:
            extra, busy = m, net.works[net.head]
            flowing = m + 2 * p + 1 + link
            put(flowing, np.full(m, last), 1.0)
            put(flowing, s[net.tail], -1.0)
            put(flowing[busy], k[net.head[busy]], -net.compute[net.head[busy]] / self._unit)
            put(flowing[before[1]], f[before[0]], -takes[before[0]])
        put(keep[net.head], f, 1.0)
        put(keep[net.tail], f, -1.0)
        put(keep, k, -1.0)
        put(np.full(p, m + 2 * p), k, 1.0)
        narrow = np.flatnonzero(np.isfinite(net.room)) if net.room is not None else np.zeros(0, np.int64)
        first, place = m + 2 * p + 1 + extra, np.full(p, -1)
        place[narrow] = first + np.arange(len(narrow))
        into = np.flatnonzero(place[net.head] >= 0)
        put(place[net.head[into]], f[into], 1.0)

        sources, total = net.order[: net.sources], float(net.n)
        upper = np.full(last + 1, inf)
        upper[:p] = net.most
        upper[p + sources] = 0.0
        count = first + len(narrow)
        lower, above = np.zeros(count), np.full(count, inf)
        if net.room is not None:
            above[first:] = net.room[narrow]
        if below is not None:
            lower[link] = -below / self._unit
        above[keep] = 0.0
        lower[keep[sources]], above[keep[sources]] = -inf, inf  # they have everything
        lower[m + 2 * p] = above[m + 2 * p] = total
        self._upper = upper[:p].copy()
        self._load((np.concatenate(rows), np.concatenate(columns), np.concatenate(values)), lower, above, upper)

    def _load(
        self, entries: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], lower: NDArray[np.float64], above: NDArray[np.float64],
        upper: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Give HiGHS the program: entries (row, column, value), limits of the rows, and of the columns, which are not negative;
        the last column is minimised."""
        row, column, value = entries
        by_row = np.lexsort((column, row))
        lp = self.highs.HighsLp()
        lp.num_col_, lp.num_row_ = len(upper), len(lower)
        lp.col_cost_ = (np.arange(len(upper)) == len(upper) - 1).astype(np.float64)
        lp.col_lower_, lp.col_upper_ = np.zeros(len(upper)), upper
        lp.row_lower_, lp.row_upper_ = lower, above
        lp.a_matrix_.format_ = self.highs.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(row[by_row], np.arange(len(lower) + 1)).astype(np.int32)
        lp.a_matrix_.index_ = column[by_row].astype(np.int32)
        lp.a_matrix_.value_ = value[by_row]
        solver = self._solver = _silent(self.highs)
        self._set(
            solver="simplex", parallel="off", threads=1, random_seed=0,
            primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE,
        )  # fmt: skip
        solver.passModel(lp)
        solver.setCallback(functools.partial(_asked, self._stopped), None)  # highspy does not keep the data alive
        for kind in ("kCallbackSimplexInterrupt", "kCallbackMipInterrupt"):
            solver.startCallback(getattr(self.highs.cb.HighsCallbackType, kind))

    def _served(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of links from one node, the first of each before the second, if they are served one after the other."""
        tail, m = self.network.tail, self._m
        pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if tail[i] == tail[j]] if self.network.mode.sequential else []
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T
        return first, second

    # ---- solving -------------------------------------------------------------------------------------------------

    def relaxed(self) -> tuple[Solution, float]:
        """Real numbers of layers, and the solver's value, which rounding can set apart from their makespan."""
        value = self.least()
        if value == float("inf"):
            raise InfeasibleError("memory: the nodes on the way to those that compute have no room for all layers")
        counts, flows = self._values()
        counts = np.where(counts > TOLERANCE * self.network.n, counts, 0.0)
        return self.evaluated(counts * (self.network.n / counts.sum()), flows), value

    def least(self) -> float:
        """The least makespan that the rows allow, without its counts and flows; infinite if the nodes' room allows none."""
        self._fix(np.zeros(self._p), self._upper, self.network.n)
        if self._run("kOptimal", *self._narrow()) != "kOptimal":
            return float("inf")
        return float(self._solver.getInfo().objective_function_value) * self._unit

    def _narrow(self) -> tuple[str, ...]:
        """What the solver says where layers do not get through for lack of room."""
        return () if self.network.room is None else ("kInfeasible", "kUnboundedOrInfeasible")

    def pruned(self) -> Network:
        """The network without links whose heads would wait in vain: one goes as long as the relaxed makespan falls.

        Only a link that holds its head back, one with a dual value, can be worth leaving out.
        """
        net, solver, inf = self.network, self._solver, self.highs.kHighsInf
        kept = np.ones(self._m, bool)
        into = np.bincount(net.head, minlength=self._p)
        best, again = self.least(), True
        while again:
            again = False
            duals = np.abs(np.array(solver.getSolution().row_dual)[: self._m])
            for link in np.argsort(-duals, kind="stable").tolist():
                if duals[link] <= TOLERANCE or not kept[link] or into[net.head[link]] == 1:
                    continue
                row, column = link, 2 * self._p + link
                solver.changeRowBounds(row, -inf, inf)
                solver.changeColBounds(column, 0.0, 0.0)
                value = self.least()
                if value < best * (1 - TOLERANCE):
                    best, again = value, True
                    kept[link] = False
                    into[net.head[link]] -= 1
                    break
                solver.changeRowBounds(row, 0.0, inf)
                solver.changeColBounds(column, 0.0, inf)
        return net.of_links(kept)

    def fixed(self, counts: NDArray[np.int64]) -> Solution:
        """The best flows for given numbers of layers, whatever their sum; without room for them an infinite makespan."""
        self._fix(counts, counts, int(counts.sum()))
        if self._run("kOptimal", *self._narrow()) != "kOptimal":
            return Solution(counts, np.zeros(self._m), np.full(self._p, np.inf), float("inf"))
        return self.evaluated(counts, self._values()[1])

    def slopes(self) -> NDArray[np.float64]:
        """(p,) of the last fixed solve: the makespan of counts + d is at least its own + slopes @ d, as it is convex."""
        duals = np.array(self._solver.getSolution().col_dual)[: self._p]
        return duals * self._unit

    def whole(self, start: Solution, gap: float, budget: float) -> tuple[Solution, float, bool]:
        """The best whole numbers of layers, a lower bound on their makespan, and whether they are within the gap of it.

        HiGHS begins with `start` and gives up after so many seconds, or where rounding defeats it; the best that it has found
        is returned then.
        """
        solver, p = self._solver, self._p
        self._fix(np.zeros(p), self._upper, self.network.n)
        columns, kinds = np.arange(p, dtype=np.int32), self.highs.HighsVarType
        solver.changeColsIntegrality(p, columns, np.full(p, kinds.kInteger))
        self._set(mip_rel_gap=gap, mip_abs_gap=0.0, time_limit=budget, solver="choose")
        self._set(primal_feasibility_tolerance=_USUAL, dual_feasibility_tolerance=_USUAL)
        hint = self.highs.HighsSolution()
        starts = self.network.starts(start.flows)
        hint.col_value = [*start.counts, *(starts / self._unit), *start.flows, start.makespan / self._unit]
        solver.setSolution(hint)
        status = self._solved()
        if status == "kSolveError" or (status == "kOptimal" and not self._priced()):
            solver.clearSolver()  # and with it the start
            self._set(mip_feasibility_tolerance=_USUAL / 10)  # its own last check refuses what is wrong by a hair
            status = self._solved()
            self._set(mip_feasibility_tolerance=_USUAL)
        known = status in ("kOptimal", "kTimeLimit")
        bound = float(solver.getInfo().mip_dual_bound) * self._unit if known else 0.0
        counts = np.rint(self._values()[0]).astype(np.int64) if known else start.counts
        solver.changeColsIntegrality(p, columns, np.full(p, kinds.kContinuous))
        self._set(time_limit=self.highs.kHighsInf, solver="simplex")
        self._set(primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE)
        found = self.fixed(counts) if int(counts.sum()) == self.network.n else start
        return min(start, found, key=lambda solution: solution.makespan), bound, status == "kOptimal"

    def evaluated(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> Solution:
        """These counts and flows, their times as early as they can be."""
        exact = self.network.conserved(counts, flows)
        finish = self.network.finishes(counts, exact)
        return Solution(counts, exact, finish, float(finish.max()))

    def _fix(self, lower: NDArray[Any], upper: NDArray[Any], total: int) -> None:
        first = np.arange(self._p, dtype=np.int32)
        self._solver.changeColsBounds(self._p, first, lower.astype(np.float64), upper.astype(np.float64))
        self._solver.changeRowBounds(self._m + 2 * self._p, float(total), float(total))

    def _priced(self) -> bool:
        """Whether the objective is that of the solution: HiGHS 1.16 says 0 where its presolve meets a start that is optimal."""
        makespan = float(self._solver.getSolution().col_value[-1])
        objective = float(self._solver.getInfo().objective_function_value)
        return abs(makespan - objective) <= _USUAL * makespan

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = np.array(self._solver.getSolution().col_value)
        return np.maximum(values[: self._p], 0.0), np.maximum(values[2 * self._p : 2 * self._p + self._m], 0.0)

    def _set(self, **options: Any) -> None:
        for option, given in options.items():
            self._solver.setOptionValue(option, given)

    def _run(self, *expected: str) -> str:
        """Solve; where rounding makes that fail, from scratch, and then with HiGHS's usual tolerances."""
        if not self._warm:
            self._solver.clearSolver()
        status = self._solved()
        for tolerance in (TOLERANCE, _USUAL):
            if status in expected:
                break
            self._solver.clearSolver()
            self._set(primal_feasibility_tolerance=tolerance, dual_feasibility_tolerance=tolerance)
            status = self._solved()
            self._set(primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE)
        if status not in expected:
            raise RuntimeError(f"HiGHS did not solve the linear program of layers: {status}")
        return status

    def _solved(self) -> str:
        """The status after a solve in a thread of its own, as Ctrl-C is seen by the main one only.

        HiGHS keeps helpers for each thread that calls it: it is told to use none.
        """
        entered, done = threading.Event(), threading.Event()  # Thread.join is wrong after Ctrl-C up to Python 3.12
        solve = self._stopped, done
        try:
            _solves.add(solve)
            if is_refused():  # _end_solves may not have seen it
                raise cancelled()
            threading.Thread(target=_solve, args=(self._solver, self._stopped, entered, done)).start()
            while not done.wait(PIECE):
                pass
        except BaseException:
            self._stopped.set()
            while entered.is_set() and not done.is_set():  # a thread that enters after this finds that it was stopped
                with contextlib.suppress(KeyboardInterrupt):
                    done.wait()
            if not entered.is_set():
                done.set()  # who ends the interpreter does not wait for what has not begun
            raise
        finally:
            _solves.discard(solve)
        if is_refused():
            raise cancelled()
        self.solves += 1
        self.iterations += max(0, int(self._solver.getInfo().simplex_iteration_count))
        return str(self._solver.getModelStatus().name)


#: Those in progress: what stops each, and whether it has ended.
_solves: set[tuple[threading.Event, threading.Event]] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_solves.clear)  # the threads of the parent, which would end them, are not there


@before_the_end
def _end_solves(left: Callable[[], float]) -> None:
    """Where Python ends a thread that comes back from HiGHS, or is called by it, the C++ in between ends the process."""
    solves = list(_solves)
    for stopped, _ in solves:
        stopped.set()
    for _, done in solves:
        done.wait(left())


def _silent(highs: Any) -> Any:
    """A solver that never prints. Of highspy 1.16 the constructor would: it says its version as callbacks are enabled."""

    class Silent(highs.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    solver = Silent()
    solver.setOptionValue("output_flag", False)  # older constructors enable none
    return solver


def _solve(solver: Any, stopped: threading.Event, entered: threading.Event, done: threading.Event) -> None:
    entered.set()
    try:
        if not stopped.is_set():
            solver.run()
    finally:
        done.set()


def _asked(stopped: threading.Event, kind: Any, message: str, given: Any, answer: Any, data: Any) -> None:
    """HiGHS asks whether to go on. This must not refer to the solver, which nobody could free then."""
    if stopped.is_set():
        answer.user_interrupt = True
