"""The linear program of layers on a network, solved by HiGHS.

The numbers of layers are fractional, given, or the best integers.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.ending import before_the_end, cancelled, is_refused
from .._base.need import need
from .._base.waits import PIECE
from ..errors import InfeasibleError

TOLERANCE, _USUAL = 1e-9, 1e-7  # for rows and reduced costs: here, and by default in HiGHS


class Mode(NamedTuple):
    """How data moves.

    sequential: a node sends over one link after the other, in the order in which the links are
    given; otherwise over all links at once. overlapping: a node computes while it receives.
    """

    sequential: bool = False
    overlapping: bool = False

    def waits(self, tail: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) time that each message waits for earlier messages from the same node.

        `times` is the time that the message over each link takes.
        """
        waits = np.zeros(len(times))
        if self.sequential:
            for v in np.unique(tail).tolist():
                links = np.flatnonzero(tail == v)
                waits[links] = np.concatenate(([0.0], np.cumsum(times[links])[:-1]))
        return waits


@dataclass(frozen=True)
class Network:
    """Sources and the links that lead away from them. Nodes and links may be in any order.

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
        The nodes in an order such that every link leads to a later node; the sources come first.
    works : (p,) bool array
        Whether each node may get layers.
    kept : bool array
        Which links of a larger network these links are.
    sources : int
        Number of sources, the first nodes of `order`. No link leads to a source.
    mode : Mode
    room : (p,) float64 array, optional
        Most layers that each node may receive, to keep or to send on; whole numbers or infinite.
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
        """(p,) most layers that each node may keep."""
        limits = np.inf if self.room is None else self.room
        most: NDArray[np.int64] = np.where(self.works, np.minimum(limits, self.n), 0).astype(
            np.int64
        )
        return most

    def at_once(self) -> Network:
        """The same network, with all messages of a node sent at once.

        No time is later than in a sequential mode, whatever its order of the links.
        """
        return replace(self, mode=self.mode._replace(sequential=False))

    def of_links(self, kept: NDArray[np.bool_]) -> Network:
        """The network without the links that are not kept."""
        return replace(
            self,
            transfer=self.transfer[kept],
            tail=self.tail[kept],
            head=self.head[kept],
            kept=kept,
        )

    def starts(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) earliest start of each node: when the data of all its links has arrived."""
        starts = np.zeros(len(self.compute))
        times = flows * self.transfer
        arrive = self.mode.waits(self.tail, times) + times
        for links in self.incoming():
            if len(links):
                starts[self.head[links[0]]] = (starts[self.tail[links]] + arrive[links]).max()
        return starts

    def begins(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) times when each node can begin to compute.

        A node begins at its start, or in the overlapping modes as soon as all its links have begun
        to bring data.
        """
        starts = self.starts(flows)
        if not self.mode.overlapping:
            return starts
        begins = np.zeros(len(starts))
        np.maximum.at(
            begins, self.head, starts[self.tail] + self.mode.waits(self.tail, flows * self.transfer)
        )
        return begins

    def finishes(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) times when each node has computed its layers; no earlier than its start."""
        return np.maximum(self.starts(flows), self.begins(flows) + self.busy(counts))

    def incoming(self) -> list[NDArray[np.int64]]:
        """The links into each node; the nodes are in the order of `order`."""
        by_head = np.argsort(self.head, kind="stable")
        ends = np.searchsorted(self.head[by_head], np.arange(len(self.compute) + 1))
        return [by_head[ends[v] : ends[v + 1]] for v in self.order.tolist()]

    def busy(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """(p,) time that each node spends computing."""
        return np.where(counts > 0, counts * np.where(self.works, self.compute, 0.0), 0.0)

    def conserved(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The flows without the rounding errors of the solver.

        Each node receives exactly what it keeps and what it sends on.
        """
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
    """Layers of each node (p,), layers over each link (m,), finish of each node, and makespan."""

    counts: NDArray[Any]
    flows: NDArray[np.float64]
    finish: NDArray[np.float64]
    makespan: float


class Program:
    """The linear program MFT-LBP of one network.

    HiGHS keeps it between solves, so each solve starts from the basis of the one before.

    Columns: the layers k of each node, its start, the layers f over each link, the makespan T.
    Rows: a node starts no earlier than its data arrives over any link (50); T is no earlier than
    the finish of any node (59); a node keeps the layers that come in and do not go on (53); the sum
    of k (58); if the room of a node is limited, no more layers come in than it has room for.

    Time is in units in which the makespan is about n. In the sequential modes a message leaves
    after earlier messages from the same node, so (50) includes their times. With simultaneous
    start, T is also no earlier than the work of each node after each of its links begins to bring
    data; these conditions have their own rows.

    Parameters
    ----------
    network : Network
    below : float, optional
        Bound all plans with a makespan of at most this in which some links are left out. A used
        link carries at most F = min(n, below / transfer) layers, an unused link carries 0. Then
        start(head) >= start(tail) + transfer f - below (1 - f / F) holds in both cases, and so does
        start(head) >= transfer f.
    warm : bool
        Whether each solve starts from the basis of the one before.
    """

    def __init__(self, network: Network, below: float | None = None, *, warm: bool = True) -> None:
        self.network = network
        self.solves = self.iterations = 0
        self._stopped = threading.Event()
        self._warm = warm
        p, m = len(network.compute), len(network.tail)
        self._p, self._m = p, m
        able = np.flatnonzero(network.works)
        # n layers in any fractions take n of these units
        self._unit = 1.0 / float((1.0 / network.compute[able]).sum())
        # highspy imports NumPy from C++ when it gets the first array
        with _awaited(self._stopped) as done:
            try:
                self.highs = need("highspy", "the linear program of layers")
                self._build(able, below)
            finally:
                done.set()

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
        # a source waits for nothing
        at_once = net.order[: net.sources] if net.mode.overlapping else able
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
        narrow = np.zeros(0, np.int64)
        if net.room is not None:
            narrow = np.flatnonzero(np.isfinite(net.room))
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
        lower[keep[sources]], above[keep[sources]] = -inf, inf  # sources have everything
        lower[m + 2 * p] = above[m + 2 * p] = total
        self._upper = upper[:p].copy()
        self._load(
            (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)),
            lower,
            above,
            upper,
        )

    def _load(
        self,
        entries: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        lower: NDArray[np.float64],
        above: NDArray[np.float64],
        upper: NDArray[np.float64],
    ) -> None:
        """Pass the program to HiGHS, which minimises the last column.

        entries are (row, column, value). lower and above limit the rows, upper the columns, which
        are not negative.
        """
        row, column, value = entries
        by_row = np.lexsort((column, row))
        lp = self.highs.HighsLp()
        lp.num_col_, lp.num_row_ = len(upper), len(lower)
        lp.col_cost_ = (np.arange(len(upper)) == len(upper) - 1).astype(np.float64)
        lp.col_lower_, lp.col_upper_ = np.zeros(len(upper)), upper
        lp.row_lower_, lp.row_upper_ = lower, above
        lp.a_matrix_.format_ = self.highs.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(row[by_row], np.arange(len(lower) + 1)).astype(
            np.int32
        )
        lp.a_matrix_.index_ = column[by_row].astype(np.int32)
        lp.a_matrix_.value_ = value[by_row]
        solver = self._solver = _silent(self.highs)
        self._set(
            solver="simplex", parallel="off", threads=1, random_seed=0,
            primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE,
        )  # fmt: skip
        solver.passModel(lp)
        # highspy would not keep its data argument alive
        solver.setCallback(functools.partial(_asked, self._stopped), None)
        for kind in ("kCallbackSimplexInterrupt", "kCallbackMipInterrupt"):
            solver.startCallback(getattr(self.highs.cb.HighsCallbackType, kind))

    def _served(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of links from one node, the first served before the second; for sequential
        modes."""
        tail, m = self.network.tail, self._m
        pairs = (
            [(i, j) for i in range(m) for j in range(i + 1, m) if tail[i] == tail[j]]
            if self.network.mode.sequential
            else []
        )
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T
        return first, second

    # ---- solving ---------------------------------------------------------------------------------

    def relaxed(self) -> tuple[Solution, float]:
        """The solution in fractional layers, and the makespan that the solver reports.

        Because of rounding, that value can differ from the makespan of the solution.
        """
        value = self.least()
        if value == float("inf"):
            raise InfeasibleError(
                "memory: the nodes on the way to those that compute have no room for all layers"
            )
        counts, flows = self._values()
        counts = np.where(counts > TOLERANCE * self.network.n, counts, 0.0)
        return self.evaluated(counts * (self.network.n / counts.sum()), flows), value

    def least(self) -> float:
        """The least makespan that the rows allow; infinite if the nodes lack the room.

        It does not return the counts and flows.
        """
        self._fix(np.zeros(self._p), self._upper, self.network.n)
        if self._run("kOptimal", *self._narrow()) != "kOptimal":
            return float("inf")
        return float(self._solver.getInfo().objective_function_value) * self._unit

    def _narrow(self) -> tuple[str, ...]:
        """Statuses by which the solver reports that layers do not get through for lack of room."""
        return () if self.network.room is None else ("kInfeasible", "kUnboundedOrInfeasible")

    def pruned(self) -> Network:
        """The network without links that only make their heads wait.

        Links are removed one by one, as long as the relaxed makespan falls. Only a link that delays
        its head, one with a nonzero dual value, can be worth removing.
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
        """The best flows for given numbers of layers, with any sum.

        The makespan is infinite if there is no room for them.
        """
        self._fix(counts, counts, int(counts.sum()))
        if self._run("kOptimal", *self._narrow()) != "kOptimal":
            return Solution(counts, np.zeros(self._m), np.full(self._p, np.inf), float("inf"))
        return self.evaluated(counts, self._values()[1])

    def slopes(self) -> NDArray[np.float64]:
        """(p,) slopes of the makespan at the counts of the last `fixed` solve.

        The makespan is convex: for counts + d it is at least the one for counts plus slopes @ d.
        """
        duals = np.array(self._solver.getSolution().col_dual)[: self._p]
        return duals * self._unit

    def whole(self, start: Solution, gap: float, budget: float) -> tuple[Solution, float, bool]:
        """Solve for the best whole numbers of layers.

        Returns the solution, a lower bound on its makespan, and whether it is within the gap.
        HiGHS begins with `start`. It stops after `budget` seconds, or if rounding makes it fail.
        Then the best solution that it has found is returned.
        """
        solver, p = self._solver, self._p
        self._fix(np.zeros(p), self._upper, self.network.n)
        columns, kinds = np.arange(p, dtype=np.int32), self.highs.HighsVarType
        solver.changeColsIntegrality(p, columns, np.full(p, kinds.kInteger))
        self._set(mip_rel_gap=gap, mip_abs_gap=0.0, time_limit=budget, solver="choose")
        self._set(primal_feasibility_tolerance=_USUAL, dual_feasibility_tolerance=_USUAL)
        hint = self.highs.HighsSolution()
        starts = self.network.starts(start.flows)
        hint.col_value = [
            *start.counts,
            *(starts / self._unit),
            *start.flows,
            start.makespan / self._unit,
        ]
        solver.setSolution(hint)
        status = self._solved()
        if status == "kSolveError" or (status == "kOptimal" and not self._priced()):
            solver.clearSolver()  # this clears the start too
            # else the final check of HiGHS rejects tiny errors
            self._set(mip_feasibility_tolerance=_USUAL / 10)
            status = self._solved()
            self._set(mip_feasibility_tolerance=_USUAL)
        known = status in ("kOptimal", "kTimeLimit")
        bound = float(solver.getInfo().mip_dual_bound) * self._unit if known else 0.0
        counts = np.rint(self._values()[0]).astype(np.int64) if known else start.counts
        solver.changeColsIntegrality(p, columns, np.full(p, kinds.kContinuous))
        self._set(time_limit=self.highs.kHighsInf, solver="simplex")
        self._set(primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE)
        found = self.fixed(counts) if int(counts.sum()) == self.network.n else start
        return (
            min(start, found, key=lambda solution: solution.makespan),
            bound,
            status == "kOptimal",
        )

    def evaluated(self, counts: NDArray[Any], flows: NDArray[np.float64]) -> Solution:
        """These counts and flows, with the earliest possible times."""
        exact = self.network.conserved(counts, flows)
        finish = self.network.finishes(counts, exact)
        return Solution(counts, exact, finish, float(finish.max()))

    def _fix(self, lower: NDArray[Any], upper: NDArray[Any], total: int) -> None:
        first = np.arange(self._p, dtype=np.int32)
        self._solver.changeColsBounds(
            self._p, first, lower.astype(np.float64), upper.astype(np.float64)
        )
        self._solver.changeRowBounds(self._m + 2 * self._p, float(total), float(total))

    def _priced(self) -> bool:
        """Whether the reported objective belongs to the solution.

        HiGHS 1.16 reports 0 if its presolve meets an optimal start.
        """
        makespan = float(self._solver.getSolution().col_value[-1])
        objective = float(self._solver.getInfo().objective_function_value)
        return abs(makespan - objective) <= _USUAL * makespan

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = np.array(self._solver.getSolution().col_value)
        return np.maximum(values[: self._p], 0.0), np.maximum(
            values[2 * self._p : 2 * self._p + self._m], 0.0
        )

    def _set(self, **options: Any) -> None:
        for option, given in options.items():
            self._solver.setOptionValue(option, given)

    def _run(self, *expected: str) -> str:
        """Solve. If rounding makes that fail, try from scratch, then with the default
        tolerances."""
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
        """Solve in a new thread, because only the main thread sees Ctrl-C, and return the status.

        HiGHS keeps helper threads for each thread that calls it, so it is told to use none.
        """
        entered = threading.Event()
        with _awaited(self._stopped) as done:
            try:
                threading.Thread(
                    target=_solve, args=(self._solver, self._stopped, entered, done)
                ).start()
                # Thread.join fails after Ctrl-C up to Python 3.12
                while not done.wait(PIECE):
                    pass
            except BaseException:
                self._stopped.set()
                # a thread that enters later sees the stop
                while entered.is_set() and not done.is_set():
                    with contextlib.suppress(KeyboardInterrupt):
                        done.wait()
                done.set()  # the end must not wait for a solve that has not begun
                raise
        if is_refused():
            raise cancelled()
        self.solves += 1
        self.iterations += max(0, int(self._solver.getInfo().simplex_iteration_count))
        return str(self._solver.getModelStatus().name)


#: Calls of HiGHS in progress: the event that stops each, and the event that tells that it has
#: ended.
_calls: set[tuple[threading.Event, threading.Event]] = set()
if hasattr(os, "register_at_fork"):
    # a child lacks the parent's threads, which would end them
    os.register_at_fork(after_in_child=_calls.clear)


@contextlib.contextmanager
def _awaited(stopped: threading.Event) -> Iterator[threading.Event]:
    """Have the end of the interpreter wait for calls of HiGHS.

    `stopped` cancels them; the event to be set when they have ended is yielded.
    """
    call = stopped, threading.Event()
    _calls.add(call)
    try:
        if is_refused():  # _end_calls may not have seen this call
            raise cancelled()
        yield call[1]
    finally:
        _calls.discard(call)


@before_the_end
def _end_calls(left: Callable[[], float]) -> None:
    """Stop all calls of HiGHS before the interpreter ends, and wait for them.

    If Python ends a thread that returns from C++, or that C++ calls back, the process aborts.
    """
    calls = list(_calls)
    for stopped, _ in calls:
        stopped.set()
    for _, done in calls:
        done.wait(left())


def _silent(highs: Any) -> Any:
    """A solver that never prints.

    The constructor of highspy 1.16 would: it prints its version when callbacks are enabled.
    """

    class Silent(highs.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    solver = Silent()
    solver.setOptionValue("output_flag", False)  # older constructors do not enable callbacks
    return solver


def _solve(
    solver: Any, stopped: threading.Event, entered: threading.Event, done: threading.Event
) -> None:
    entered.set()
    try:
        if not stopped.is_set():
            solver.run()
    finally:
        done.set()


def _asked(
    stopped: threading.Event, kind: Any, message: str, given: Any, answer: Any, data: Any
) -> None:
    """Callback in which HiGHS asks whether to go on.

    It must not refer to the solver, which then could never be freed.
    """
    if stopped.is_set():
        answer.user_interrupt = True
