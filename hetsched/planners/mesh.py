"""Layers of a product on a mesh, or on any network without cycles.

A plan says how many layers each node computes, and which links carry them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from ..errors import InfeasibleError
from ..plan import Plan, Step, certified
from ..platform import Platform, Unit, mesh_links, whose
from .layer_memory import (
    beside,
    completed,
    elements_of,
    memory_of,
    require_fit,
    room_of,
    too_little,
)
from .layers import MOST_LAYERS
from .mesh_lp import TOLERANCE, Mode, Network, Program, Solution
from .mesh_rounds import Pipeline, timed
from .ring import links_between

METHODS = ("best", "relaxed", "pmft", "heuristic", "neighbours", "milp")
_MODES = {
    "scss": Mode(True, True),
    "sccs": Mode(True, False),
    "pccs": Mode(),
    "pcss": Mode(False, True),
}
_IN_ORDER = "plans whose nodes serve their links in this order"
_INSTALLMENTS = 64  # most installments of a plan
_MOVES = 20  # most moves of one layer after rounding
_SECONDS = 60.0  # default budget of branch and bound
_BETTER = 1 - 1e-9  # a makespan below this times the best one counts as an improvement
_SOLVED = 1 + 1e-6  # tolerances of HiGHS's branch and bound
_LEAST, _MOST = 2.0**-200, 2.0**200  # range of cycle-times and link costs
_APART = 1e6  # largest ratio of the times of a layer: the tolerances of the solver are absolute


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MeshPlan(Plan):
    """Layers of C = A B on a network: each node gets columns of A and as many rows of B.

    The layers come from a source over the links.

    Attributes
    ----------
    n : int
        Side of the matrices.
    counts : (X, Y) or (p,) array
        Layers that each node computes, int64; float64 with method "relaxed". They sum to n.
    links : (m, 2) int64 array
        Tail and head of each link; nodes of a mesh are numbered row by row.
    flows : (m,) float64 array
        Elements that each link carries.
    start, finish : (X, Y) or (p,) float64 arrays
        When a node has received everything that it computes or sends on, and when it has computed
        its layers.
    makespan : float
        The largest finish time.
    source : int
        The node that has A and B; the first one if there are several.
    sources : tuple of int
        All nodes that have A and B.
    mode : {"scss", "sccs", "pccs", "pcss"}
        See `layers_mesh`.
    source_computes : bool
        Whether the sources may keep layers.
    shape : (X, Y) or None
        Shape of the mesh.
    cycle_times : (p,) float64 array
        Time per multiply-add.
    link_costs : (m,) float64 array
        Time per element.
    lp_solves, iterations : int
        Linear programs solved, and simplex iterations in all of them.
    planning_time : float
        Seconds that the planner took.
    memory : (p,) float64 array
        Elements that each node can hold; infinite if there is no limit, and for a source, which has
        A and B anyway.
    disk : bool
        Whether each node stores its layer of C on its disk, row by row.
    """

    n: int
    counts: NDArray[Any]
    links: NDArray[np.int64]
    flows: NDArray[np.float64]
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    makespan: float
    source: int
    source_computes: bool
    shape: tuple[int, int] | None
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    lp_solves: int
    iterations: int
    planning_time: float = field(compare=False)
    memory: NDArray[np.float64]
    disk: bool
    sources: tuple[int, ...] = ()
    mode: str = "pccs"

    _table: ClassVar = {
        "n": schema.Count(1, MOST_LAYERS),
        "counts": schema.Array(("i8", "f8"), "*nodes"),
        "links": schema.Array("i8", "links", 2, high="p - 1"),
        "flows": schema.Array("f8", "links", high=_MOST),
        "start": schema.Array("f8", "*nodes", high=schema.LONG),
        "finish": schema.Array("f8", "*nodes", high=schema.LONG),
        "makespan": schema.Real(),
        "source": schema.Integer(0, "p - 1"),
        "source_computes": schema.Flag(),
        "shape": schema.Maybe(schema.Sizes("X", "Y", low=1)),
        "cycle_times": schema.CYCLE_TIMES,
        "link_costs": schema.Array("f8", "links", high=_MOST),
        "lp_solves": schema.Integer(),
        "iterations": schema.Integer(),
        "planning_time": schema.Real(),
        "memory": schema.Array("f8", "p", high=math.inf),
        "disk": schema.Flag(),
        "sources": schema.Tuple(schema.Integer(0, "p - 1")),
        "mode": schema.Text(*_MODES),
    }

    def _check(self) -> None:
        p = len(self.names)
        shape = self.shape or (p,)
        if self.counts.shape != shape or self.counts.size != p:
            raise ValueError(
                f"counts must have one entry for each of the {p} workers, in shape {shape}, got"
                f" shape {self.counts.shape}"
            )
        if self.counts.dtype.kind == "i":
            schema.require_dealt("counts", self.counts.ravel(), self.n)
        schema.require_close("sum of counts", float(self.counts.sum()), float(self.n))
        schema.require_able("counts", self._load(), self.cycle_times)
        if self.sources and (
            self.sources[0] != self.source or len(set(self.sources)) < len(self.sources)
        ):
            raise ValueError(
                f"sources must begin with source {self.source} and contain each node once, got"
                f" {self.sources}"
            )
        schema.require_close("makespan", self.makespan, float(self.finish.max()))
        _order(p, self.links, self._roots)

    @classmethod
    def _completed(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return completed(content)

    @property
    def _roots(self) -> list[int]:
        return list(self.sources or (self.source,))

    @property
    def begin(self) -> NDArray[np.float64]:
        """(X, Y) or (p,) times when each node can begin to compute.

        These are the times `start`. In the modes with simultaneous start, they are the times when
        all links of a node have begun to bring data.
        """
        mode, (tail, head), start = _MODES[self.mode], self.links.T, self.start.ravel()
        if not mode.overlapping:
            return self.start
        begin = np.zeros(len(start))
        np.maximum.at(begin, head, start[tail] + mode.waits(tail, self.flows * self.link_costs))
        return check.frozen(begin.reshape(self.start.shape))

    @property
    def flows_right(self) -> NDArray[np.float64]:
        """(X, Y - 1) elements over each horizontal link of a mesh; negative if they go left."""
        return self._directed(1)

    @property
    def flows_down(self) -> NDArray[np.float64]:
        """(X - 1, Y) elements over each vertical link of a mesh; negative if they go up."""
        return self._directed(0)

    @property
    def volume(self) -> float:
        """Elements over all links together."""
        return float(self.flows.sum())

    @property
    def volume_with_sum(self) -> float:
        """`volume`, plus the elements of C that return to a source: n^2 over each link used.

        Every node sends one sum: its own layers plus the sums that it receives. It uses the link
        that brought it the most elements. The partial results of several sources are not added up.
        """
        tail, head = self.links.T
        sends = self.counts.ravel() > 0
        sends[self._roots] = False
        for v in _order(len(self.cycle_times), self.links, self._roots)[::-1].tolist():
            into = np.flatnonzero((head == v) & (self.flows > 0.0))
            if sends[v] and len(into):
                sends[tail[into[np.argmax(self.flows[into])]]] = True
        sends[self._roots] = False
        return self.volume + float(sends.sum()) * self.n**2

    @property
    def elements_held(self) -> NDArray[np.float64]:
        """(X, Y) or (p,) elements that each node holds in memory.

        These are the elements that it receives, and its n^2 elements of C, or n of them with
        `disk`. A source also holds A and B.
        """
        held = np.bincount(self.links[:, 1], self.flows, len(self.cycle_times))
        held[self._roots] = 2.0 * self.n**2
        total: NDArray[np.float64] = held.reshape(self.counts.shape) + (self.counts > 0) * float(
            beside(self.n, self.disk)
        )
        return total

    @property
    def elements_on_disk(self) -> NDArray[np.float64]:
        """(X, Y) or (p,) elements of its layer that each node stores on its disk."""
        return np.where(self.counts > 0, float(self.n**2 if self.disk else 0), 0.0)

    def _on(self, platform: Platform) -> Plan:
        """The same layers over the same links, timed on another platform.

        A plan for any network needs a platform with links between every two workers. The bound
        allows fractional layers and unlimited memory. If this plan leaves links out, the bound
        holds for every subset of the links.
        """
        times = platform.cycle_times
        costs = costs_on(self, platform)
        memory = self._memory_on(platform)
        network = network_of(
            self.n, times, self.links, costs, self._roots, self.source_computes, self.mode
        )
        tail, head = self.links.T
        begin = self.start.ravel()
        # no node waits for a link that was left out
        kept = (self.flows > 0.0) | (begin[head] >= begin[tail])
        own = network.of_links(kept)
        flows = self.flows[kept] / (2.0 * self.n)
        start = own.starts(flows)
        finish = own.finishes(self.counts.ravel(), flows)
        makespan = float(finish.max())
        program = Program(network.at_once(), below=None if kept.all() else makespan)
        return self._carried(
            platform,
            makespan,
            program.least(),
            start=check.frozen(start.reshape(self.counts.shape)),
            finish=check.frozen(finish.reshape(self.counts.shape)),
            link_costs=check.frozen(costs),
            memory=check.frozen(memory),
            lp_solves=program.solves,
            iterations=program.iterations,
        )

    def _memory_on(self, platform: Platform) -> NDArray[np.float64]:
        """Elements that each node can hold on `platform`; ValueError if the plan needs more."""
        memory = memory_of(elements_of(platform), (len(platform),))
        memory[self._roots] = np.inf
        require_fit(self.names, self.elements_held.ravel(), memory)
        return memory

    def _load(self) -> Any:
        """Multiply-adds of each node."""
        return self.counts.ravel() * float(self.n) ** 2

    def steps(self) -> list[Step]:
        """What each node receives and then computes.

        Links into a node that carry data at the same time make one transfer.
        """
        steps = []
        counts, start, finish = self.counts.ravel(), self.begin.ravel(), self.finish.ravel()
        tail, times = self.links[:, 0], self.flows * self.link_costs
        begin = self.start.ravel()[tail] + _MODES[self.mode].waits(tail, times)
        end = begin + times
        for v in range(len(self.cycle_times)):
            used = np.flatnonzero((self.links[:, 1] == v) & (end > begin))
            for group in _overlapping(used[np.argsort(begin[used], kind="stable")], begin, end):
                what = "from " + ", ".join(self.names[i] for i in self.links[group, 0].tolist())
                steps.append(
                    Step(v, "transfer", float(begin[group].min()), float(end[group].max()), what)
                )
            if counts[v] > 0:
                steps.append(
                    Step(v, "compute", float(start[v]), float(finish[v]), f"{counts[v]:.6g} layers")
                )
        return steps

    def _directed(self, axis: int) -> NDArray[np.float64]:
        if self.shape is None:
            raise TypeError("only a mesh has links to the right and down; this plan has no shape")
        x, y = self.shape
        nodes = np.arange(x * y).reshape(x, y)
        first = nodes[:, :-1] if axis == 1 else nodes[:-1]
        signed = np.zeros(first.shape)
        step = 1 if axis == 1 else y
        for (i, j), flow in zip(self.links.tolist(), self.flows.tolist(), strict=True):
            if abs(j - i) == step and (axis == 0 or i // y == j // y):
                signed[divmod(min(i, j), y)] = flow if i < j else -flow
        return signed


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InstallmentPlan(MeshPlan):
    """Layers on a network that are sent in several installments.

    A node sends on, and computes, one installment while it receives the next.

    Attributes
    ----------
    round_counts : (R, p) array
        Layers of each installment that each node computes; they sum to `counts`.
    round_flows : (R, m) float64 array
        Elements of each installment over each link; they sum to `flows`.
    round_start, round_finish : (R, p) float64 arrays
        When a node has received all of an installment, and when it has computed its layers.
        `start` and `finish` hold the times of the last installment.
    """

    round_counts: NDArray[Any]
    round_flows: NDArray[np.float64]
    round_start: NDArray[np.float64]
    round_finish: NDArray[np.float64]

    _table: ClassVar = {
        "round_counts": schema.Array(("i8", "f8"), "rounds", "p"),
        "round_flows": schema.Array("f8", "rounds", "links", high=_MOST),
        "round_start": schema.Array("f8", "rounds", "p", high=schema.LONG),
        "round_finish": schema.Array("f8", "rounds", "p", high=schema.LONG),
    }

    def _check(self) -> None:
        super()._check()
        for name, most in (("counts", self.n), ("flows", self.n**2)):
            rounds, total = getattr(self, f"round_{name}"), getattr(self, name).ravel()
            near = 0.0 if rounds.dtype.kind == total.dtype.kind == "i" else 1e-9
            sums = rounds.sum(axis=0)
            if not len(rounds) or not np.allclose(sums, total, rtol=near, atol=near * most):
                raise ValueError(f"round_{name} must sum to {name} over the installments")

    @property
    def installments(self) -> int:
        """Number of installments, R."""
        return len(self.round_counts)

    @property
    def begin(self) -> NDArray[np.float64]:
        """(X, Y) or (p,) times when the first installment has arrived."""
        return check.frozen(self.round_start[0].reshape(self.start.shape))

    def _on(self, platform: Platform) -> Plan:
        """The same layers in the same installments over the same links, on another platform."""
        costs = costs_on(self, platform)
        network = network_of(
            self.n, platform.cycle_times, self.links, costs, self._roots, self.source_computes
        )
        found = timed(network, self.round_counts, self.round_flows / (2.0 * self.n))
        program = Pipeline(network, self.installments)
        times = {
            "round_start": found.arrive,
            "round_finish": found.done,
            "start": found.arrive[-1].reshape(self.start.shape),
            "finish": found.done[-1].reshape(self.start.shape),
        }
        return self._carried(
            platform,
            float(found.done[-1].max()),
            program.least(),
            link_costs=check.frozen(costs),
            memory=check.frozen(self._memory_on(platform)),
            lp_solves=program.solves,
            iterations=program.iterations,
            **{name: check.frozen(values) for name, values in times.items()},
        )

    def _leaves(self) -> NDArray[np.float64]:
        """(R, m) times when each link begins to carry an installment."""
        leaves, free = np.zeros_like(self.round_flows), np.zeros(len(self.links))
        for j, takes in enumerate(self.round_flows * self.link_costs):
            leaves[j] = np.maximum(self.round_start[j, self.links[:, 0]], free)
            free = leaves[j] + takes
        return leaves

    def steps(self) -> list[Step]:
        """What each node receives, by installments, and what it computes at the same time."""
        begin = self._leaves()
        end = begin + self.round_flows * self.link_costs
        steps = []
        for v in range(len(self.cycle_times)):
            into = np.flatnonzero(self.links[:, 1] == v)
            own_begin = begin[:, into].ravel()
            own_end = end[:, into].ravel()
            tails = np.tile(self.links[into, 0], self.installments)
            used = np.flatnonzero(own_end > own_begin)
            used = used[np.argsort(own_begin[used], kind="stable")]
            for group in _overlapping(used, own_begin, own_end):
                senders = dict.fromkeys(tails[group].tolist())
                what = "from " + ", ".join(self.names[i] for i in senders)
                steps.append(
                    Step(
                        v,
                        "transfer",
                        float(own_begin[group].min()),
                        float(own_end[group].max()),
                        what,
                    )
                )
            ready = 0.0
            for j, count in enumerate(self.round_counts[:, v].tolist()):
                if count > 0:
                    first = max(float(self.round_start[j, v]), ready)
                    ready = float(self.round_finish[j, v])
                    steps.append(Step(v, "compute", first, ready, f"{count:.6g} layers"))
        return steps


def round_arrivals(plan: InstallmentPlan, platform: Platform, data: float) -> NDArray[np.float64]:
    """(R, p, 2) the times of `arrivals` for each installment."""
    free = platform.links is None and platform.shape is None and not platform.link_costs.any()
    costs = np.zeros(len(plan.links)) if free else costs_on(plan, platform)
    p, (tail, head), layers = len(plan.names), plan.links.T, plan.round_flows / (2.0 * plan.n)
    idle, all_links = np.zeros(p, bool), np.ones(len(costs), bool)
    order = _order(p, plan.links, plan._roots)
    network = Network(
        plan.n, plan.cycle_times, data * costs, tail, head, order, idle, all_links, len(plan._roots)
    )
    found = timed(network, plan.round_counts, layers)
    times = np.stack((found.arrive, found.arrive), axis=-1)
    carrying = layers * data * costs > 0.0
    for j in range(plan.installments):
        np.minimum.at(times[j, :, 0], plan.links[carrying[j], 1], found.leave[j, carrying[j]])
    return times


def arrivals(plan: MeshPlan, platform: Platform, data: float) -> NDArray[np.float64]:
    """(p, 2) times when each node has received the first and the last data.

    Data means all that a node computes or sends on; each layer has the size `data`. With
    simultaneous start, the first time is when all links of the node have begun to bring data. The
    platform is a mesh like the plan's, or has links between every two workers. On a star without
    link costs the transfers take no time.
    """
    free = platform.links is None and platform.shape is None and not platform.link_costs.any()
    layers = plan.flows / (2.0 * plan.n)
    times = np.zeros(len(layers)) if free else layers * data * costs_on(plan, platform)
    tail, head = plan.links.T
    begin, mode = plan.start.ravel(), _MODES[plan.mode]
    # a node does not wait for a link that was left out
    waits = (layers > 0.0) | (begin[head] >= begin[tail])
    found, ahead = np.zeros((len(plan.names), 2)), mode.waits(tail, times)
    for v in _order(len(found), plan.links, plan._roots).tolist():
        own = np.flatnonzero((head == v) & waits)
        if len(own):
            leave = found[tail[own], 1] + ahead[own]
            found[v, 1] = (leave + times[own]).max()
            found[v, 0] = (
                leave.max()
                if mode.overlapping
                else leave[times[own] > 0.0].min(initial=found[v, 1])
            )
    return found


def costs_on(plan: MeshPlan, platform: Platform) -> NDArray[np.float64]:
    """(m,) time per element over each link of the plan, on `platform`."""
    if plan.shape is None:
        costs: NDArray[np.float64] = links_between(platform)[tuple(plan.links.T)]
        return costs
    if platform.shape != plan.shape or platform.right is None or platform.down is None:
        raise ValueError(
            "platform must be a mesh of {} x {} nodes, like the plan's".format(*plan.shape)
        )
    return mesh_edges(platform.right, platform.down, divmod(plan.source, plan.shape[1]))[2]


def layers_mesh(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    right: ArrayLike | None = None,
    down: ArrayLike | None = None,
    method: str = "pmft",
    *,
    speeds: ArrayLike | None = None,
    source: Sequence[int] = (0, 0),
    source_computes: bool = False,
    mode: str = "pccs",
    installments: int = 1,
    prune: bool = False,
    memory: ArrayLike | None = None,
    disk: bool = False,
    gap: float = 0.0,
    budget: float | None = None,
) -> MeshPlan:
    """Divide the layers of an n x n product among the nodes of a mesh, and route them there.

    A layer is a column of A and a row of B. A node that gets k layers computes their product, which
    must be added to the products of the other nodes. Data moves away from the source, over all
    links at once. A node computes and sends on only after it has received everything.

    Parameters
    ----------
    n : int
        Side of the matrices, 1 to 10^6.
    cycle_times : Platform or (X, Y) array_like
        Time per multiply-add: k layers take k n^2 times as long. A node with an infinite cycle-time
        does not compute, it only sends on. A `Platform.mesh` gives the links too.
    right : (X, Y - 1) array_like
        Time per element between each node and the one to its right, >= 0.
    down : (X - 1, Y) array_like
        Time per element between each node and the one below it, >= 0.
    method : {"pmft", "relaxed", "heuristic", "neighbours", "milp", "best"}
        "relaxed": layers divided into any fractions. "pmft": the three phases of the paper, from
        the relaxed shares to a local optimum. "heuristic": the heuristic of the paper, which solves
        two or three linear programs. "neighbours": a local optimum of all moves of one layer.
        "milp", or "best": branch and bound by HiGHS, starting from that local optimum; the result
        is optimal unless it stops at its budget or gap.
    speeds : (X, Y) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    source : (row, column)
        The node that has A and B.
    source_computes : bool
        Whether the source may keep layers, which need no transfer. In the paper it does not.
    mode : {"scss", "sccs", "pccs", "pcss"}
        See `layers_star`. A node sends over its links one after the other, to the right first, or
        over all links at once. It computes after it has received everything, or as soon as all its
        links have begun to bring data; then it ends no earlier than they do. In every mode it sends
        on only what it has received completely.
    installments : int
        Number of parts in which the layers are sent, 1 to 64; the sizes of the parts are optimised.
        A node sends each part on, and computes it, while it receives the next one. Allowed in the
        mode "pccs", with "relaxed", and rounded to whole layers with "pmft" and "best".
    prune : bool
        Whether links may be left out, so that no node waits for a node that sends it nothing. In
        the mode "pccs".
    memory : float or (X, Y) array_like, optional
        Elements that each node can hold, infinite without a limit. Default: the memory of a
        Platform that has a unit. The memory of the source does not matter. A node holds all that it
        receives, and keeps room for its layer of C, n^2 elements. A node that cannot hold one layer
        besides this only sends on, as with an infinite cycle-time; then it needs no room for C. For
        one installment only.
    disk : bool
        Whether nodes store their layers of C on their disks, row by row. Then each needs room for n
        elements of C instead of n^2.
    gap : float
        "milp" stops at this relative distance from its bound.
    budget : float, optional
        Seconds of branch and bound, 60 by default; math.inf for no limit. Ctrl-C also stops it.

    Returns
    -------
    MeshPlan
        lower_bound is the makespan of "relaxed", or the bound of branch and bound. In the
        sequential modes it is the makespan of "relaxed" with all messages at once, which holds for
        every order of the links.

    Raises
    ------
    ImportError
        Without the package highspy.
    InfeasibleError
        If no node except the source can compute, or memory is too small for all layers.
    ValueError, TypeError
        For arguments outside their ranges.

    Notes
    -----
    Layer-based partition on a mesh, section 5 of the paper: MFT-LBP, algorithms 1 to 3. As in (50),
    a node waits for every node that has a link to it, even for one that sends nothing. Bounds and
    optima hold for this model. HiGHS computes them in floating point with tolerances of 1e-9 (1e-6
    for branch and bound); flows and times are made exact afterwards.

    Examples
    --------
    >>> import hetsched as hs
    >>> cycle_times = [[4e-4, 3e-4], [2e-4, 5e-4]]
    >>> plan = hs.layers_mesh(100, cycle_times, right=[[3e-4], [8e-4]], down=[[5e-4, 4e-4]])
    >>> plan.counts.tolist(), round(plan.makespan, 3), plan.source
    ([[0, 33], [48, 19]], 101.685, 0)
    """
    given = cycle_times
    if isinstance(given, Platform):
        if given.shape is None:
            raise TypeError(
                "cycle_times is a Platform that is not a mesh: make one with Platform.mesh"
            )
        if right is not None or down is not None:
            raise TypeError(
                "right and down must not be given together with a Platform, which already has them"
            )
        if speeds is not None:
            raise TypeError("give either cycle_times or speeds")
        given = given.per(Unit.multiply_add(), "cycle_times: layers_mesh")
        cycle_times, right, down = given.cycle_times.reshape(given.shape), given.right, given.down
    times = _times(cycle_times, speeds, 2)
    across, along = mesh_links(right, down, times.shape)
    row, column = _corner(source, times.shape)
    first, links, costs = mesh_edges(across, along, (row, column))
    options = _options(n, method, source_computes, prune, gap, budget, mode, installments, disk)
    if memory is None and (own := elements_of(given)) is not None:
        memory = np.array([np.inf if x is None else x for x in own]).reshape(times.shape)
    return _plan(options, times, links, costs, [first], whose(given, times.size), memory)


def layers_network(
    n: int,
    cycle_times: ArrayLike | None = None,
    links: Sequence[Sequence[float]] | None = None,
    source: int | Sequence[int] = 0,
    method: str = "pmft",
    *,
    speeds: ArrayLike | None = None,
    source_computes: bool = False,
    mode: str = "pccs",
    installments: int = 1,
    prune: bool = False,
    memory: ArrayLike | None = None,
    disk: bool = False,
    gap: float = 0.0,
    budget: float | None = None,
) -> MeshPlan:
    """Divide the layers of an n x n product among the nodes of any network without cycles.

    All links lead away from one source, or from several.

    Parameters
    ----------
    n : int
        See `layers_mesh`.
    cycle_times : (p,) array_like
        Time per multiply-add of each node, including the source.
    links : (m, 3) array_like
        (tail, head, time per element) of each link: a tree, torus, hypercube, ... Each link has a
        direction such that there is no cycle and the source reaches every node. Two links may join
        the same nodes.
    source : int or sequence of int
        The nodes that have A and B. If there are several, links that lead to one of them are left
        out.
    method, speeds, source_computes
        See `layers_mesh`.
    mode : {"scss", "sccs", "pccs", "pcss"}
        See `layers_mesh`. In the sequential modes a node uses its links in the order in which they
        are given. On a star with fractional shares, ascending costs are best.
    installments, prune, memory, disk, gap, budget
        See `layers_mesh`.

    Returns
    -------
    MeshPlan
        With shape None and arrays of one dimension.

    Raises
    ------
    ImportError, InfeasibleError
        See `layers_mesh`.
    ValueError, TypeError
        For arguments outside their ranges, a cycle, or a node that no source reaches.

    Notes
    -----
    The multi-neighbour networks of section 5 of the paper. For a tree the plan is the optimum of
    its mode (in the sequential modes, the optimum for this order of the links).

    Examples
    --------
    A hypercube: links lead from each node to those with one more bit.

    >>> import hetsched as hs
    >>> links = [(i, i | 1 << bit, 1e-4) for i in range(8) for bit in range(3) if not i >> bit & 1]
    >>> plan = hs.layers_network(100, [3e-4] * 8, links)
    >>> int(plan.counts.sum()), len(plan.flows), round(plan.makespan, 2)
    (100, 12, 45.44)
    """
    if isinstance(cycle_times, Platform):
        raise TypeError(
            "cycle_times must be one number for each node, got a Platform:"
            " a Platform.mesh is for layers_mesh"
        )
    times = _times(cycle_times, speeds, 1)
    pairs, costs = _triples(links, len(times))
    roots = _sources(source, len(times))
    # a source has everything and receives nothing
    away = ~np.isin(pairs[:, 1], roots) | (len(roots) == 1)
    options = _options(n, method, source_computes, prune, gap, budget, mode, installments, disk)
    return _plan(options, times, pairs[away], costs[away], roots, whose(None, len(times)), memory)


def mesh_edges(
    right: NDArray[np.float64], down: NDArray[np.float64], source: tuple[int, int]
) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    """Number of the source, and the (tail, head) and cost of each link of a mesh.

    The links lead away from the source, in all four quadrants.
    """
    (row, column), (x, y) = source, (len(right), down.shape[1])
    nodes = np.arange(x * y).reshape(x, y)
    ends = []
    for first, second, inward in (
        (nodes[:, :-1], nodes[:, 1:], nodes[:, :-1] % y < column),
        (nodes[:-1], nodes[1:], nodes[:-1] // y < row),
    ):
        ends.append(
            np.stack(
                [np.where(inward, second, first).ravel(), np.where(inward, first, second).ravel()],
                1,
            )
        )
    return (
        int(nodes[row, column]),
        np.concatenate(ends),
        np.concatenate([right.ravel(), down.ravel()]),
    )


# ---- methods -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """The options of `layers_mesh`."""

    n: int
    method: str
    source_computes: bool = False
    prune: bool = False
    gap: float = 0.0
    budget: float = math.inf
    mode: str = "pccs"
    installments: int = 1
    disk: bool = False


def _plan(
    options: Options,
    times: NDArray[np.float64],
    links: NDArray[np.int64],
    costs: NDArray[np.float64],
    sources: list[int],
    who: dict[str, Any],
    memory: ArrayLike | None,
) -> MeshPlan:
    began = time.perf_counter()
    n, own = options.n, times.ravel()
    elements = memory_of(memory, times.shape, "node").ravel()
    elements[sources] = np.inf
    if options.installments > 1 and np.isfinite(elements).any():
        raise ValueError(f"memory is for one installment, got installments {options.installments}")
    network = network_of(
        n, own, links, costs, sources, options.source_computes, options.mode, elements, options.disk
    )
    shape = (int(times.shape[0]), int(times.shape[1])) if times.ndim == 2 else None
    fixed: dict[str, Any] = {
        "n": n,
        "links": check.frozen(links),
        "source": sources[0],
        "sources": tuple(sources),
        "shape": shape,
        "source_computes": options.source_computes,
        "mode": options.mode,
        "cycle_times": check.frozen(own),
        "link_costs": check.frozen(costs),
        "asked": options.method,
        "memory": check.frozen(elements),
        "disk": options.disk,
        **who,
    }
    if options.installments > 1:
        return _in_installments(network, options, times.shape, fixed, began)
    programs = [Program(network)]
    found, bound = solved(programs[0], options)
    if options.prune:
        programs.append(Program(programs[0].pruned()))
        if not programs[1].network.kept.all():
            pruned, _ = solved(programs[1], options)
            if pruned.makespan < found.makespan:
                found, network = pruned, programs[1].network
        programs.append(Program(programs[0].network, below=found.makespan))
        bound = programs[2].least()
    flows = np.zeros(len(links))
    flows[network.kept] = 2.0 * n * found.flows
    certificate, scope = certified(bound, makespan=found.makespan), ""
    if network.mode.sequential:
        programs.append(Program(network.at_once()))
        scope = _IN_ORDER if certificate["optimal"] else ""
        certificate = certified(programs[-1].least(), makespan=found.makespan)
    return MeshPlan(
        method="milp" if options.method == "best" else options.method,
        **certificate,
        scope=scope,
        counts=check.frozen(found.counts.reshape(times.shape)),
        flows=check.frozen(flows),
        start=check.frozen(network.starts(found.flows).reshape(times.shape)),
        finish=check.frozen(found.finish.reshape(times.shape)),
        lp_solves=sum(program.solves for program in programs),
        iterations=sum(program.iterations for program in programs),
        planning_time=time.perf_counter() - began,
        **fixed,
    )


def _in_installments(
    network: Network, options: Options, shape: tuple[int, ...], fixed: dict[str, Any], began: float
) -> InstallmentPlan:
    """Plan in several installments: the best fractional shares, rounded to whole layers.

    After rounding, one layer at a time moves from the last node to the first while that helps.
    """
    program = Pipeline(network, options.installments)
    counts: NDArray[Any]
    counts, flows, bound = program.shares()
    found = None
    if options.method != "relaxed":
        counts = program.rounded(counts)
        flows = program.flows_for(counts)
    for _ in range(_MOVES + 1):
        flows = np.array(
            [network.conserved(own, flow) for own, flow in zip(counts, flows, strict=True)]
        )
        tried = counts, flows, timed(network, counts, flows)
        if found is not None and tried[2].done[-1].max() >= found[2].done[-1].max() * _BETTER:
            break
        found = tried
        if options.method == "relaxed":
            break
        done, counts = found[2].done[-1], counts.copy()
        last, first = int(np.argmax(done)), int(np.argmin(np.where(network.works, done, np.inf)))
        counts[np.flatnonzero(counts[:, last])[-1], last] -= 1
        counts[-1, first] += 1
        flows = program.flows_for(counts)
    assert found is not None
    counts, flows, times = found
    return InstallmentPlan(
        method="relaxed" if options.method == "relaxed" else "rounded",
        **certified(bound, makespan=float(times.done[-1].max())),
        counts=check.frozen(counts.sum(axis=0).reshape(shape)),
        flows=check.frozen(2.0 * network.n * flows.sum(axis=0)),
        start=check.frozen(times.arrive[-1].reshape(shape)),
        finish=check.frozen(times.done[-1].reshape(shape)),
        round_counts=check.frozen(counts),
        round_flows=check.frozen(2.0 * network.n * flows),
        round_start=check.frozen(times.arrive),
        round_finish=check.frozen(times.done),
        lp_solves=program.solves,
        iterations=program.iterations,
        planning_time=time.perf_counter() - began,
        **fixed,
    )


def solved(program: Program, options: Options) -> tuple[Solution, float]:
    """The solution that the method finds, and a lower bound for all plans on this network."""
    relaxed, least = program.relaxed()
    if least >= relaxed.makespan * _BETTER:
        least = relaxed.makespan
    if options.method == "relaxed":
        return relaxed, least
    if options.method == "heuristic":
        return _heuristic(program, relaxed), least
    found = _pmft(program, relaxed)
    if options.method == "pmft":
        return found, least
    found = _neighbours(program, found)
    if options.method == "neighbours":
        return found, least
    found, bound, done = program.whole(found, options.gap, options.budget)
    return found, (
        found.makespan if done and found.makespan <= bound * _SOLVED else max(bound, least)
    )


def _pmft(program: Program, relaxed: Solution) -> Solution:
    """Phases II and III of the paper (algorithms 2 and 1), with strict improvement.

    Without strictness, as printed, the algorithm would not end at a tie. With limited memory, only
    nodes that have room get layers, the node that finishes first before the other nodes.
    """
    network = program.network
    found = _rounded(program, relaxed)
    while (total := int(found.counts.sum())) > network.n:
        counts = found.counts.copy()
        counts[_last(found)] -= 1
        found = program.fixed(counts)
    while total < network.n:
        found = _with_one(program, found)
        total += 1
    while True:
        counts = found.counts.copy()
        counts[_last(found)] -= 1
        other = _with_one(program, found._replace(counts=counts))
        if other.makespan >= found.makespan * _BETTER:
            return found
        found = other


def _rounded(program: Program, relaxed: Solution) -> Solution:
    """Shares rounded to the nearest integers, or down if there is no room for that."""
    nearest = np.minimum(np.floor(relaxed.counts + 0.5).astype(np.int64), program.network.most)
    found = program.fixed(nearest)
    if found.makespan < math.inf:
        return found
    return program.fixed(np.floor(relaxed.counts * (1 + TOLERANCE)).astype(np.int64))


def _with_one(program: Program, found: Solution) -> Solution:
    """Give one more layer to the node that finishes first, among the nodes with room for it.

    Rooms are whole numbers, so the sets of layers that can be delivered form a matroid. Therefore
    such a node exists if more layers can be delivered at all.
    """
    counts, network = found.counts, program.network
    able = np.flatnonzero(counts < network.most)
    other = found
    for node in able[np.argsort(found.finish[able], kind="stable")].tolist():
        more = counts.copy()
        more[node] += 1
        other = program.fixed(more)
        if other.makespan < math.inf:
            break
    return other


def _heuristic(program: Program, relaxed: Solution) -> Solution:
    """Algorithm 3: change the rounded shares by one layer per node until they sum to n.

    The nodes take turns in the order of their finishing times, as often as necessary. If there is
    no room for the result, layers are added one by one as in PMFT.
    """
    n, most = program.network.n, program.network.most
    found = start = _rounded(program, relaxed)
    counts = found.counts.copy()
    rest = n - int(counts.sum())
    if rest == 0:
        return found
    order = [v for v in np.argsort(found.finish, kind="stable").tolist() if most[v]]
    while rest:
        for v in order if rest > 0 else order[::-1]:
            if rest and 0 <= counts[v] + np.sign(rest) <= most[v]:
                counts[v] += np.sign(rest)
                rest -= int(np.sign(rest))
    found = program.fixed(counts)
    if found.makespan < math.inf:
        return found
    while int(start.counts.sum()) < n:
        start = _with_one(program, start)
    return start


def _neighbours(program: Program, found: Solution) -> Solution:
    """Move one layer between the two nodes where that helps most, until no move helps.

    The makespan is a convex function of the counts, so each linear program gives a lower bound for
    all other counts. Moves that cannot help by these bounds are not tried; no other move is
    skipped.
    """
    works = program.network.works
    # makespan(counts) >= height + slopes @ counts
    cuts: list[tuple[float, NDArray[np.float64]]] = []

    def tried(counts: NDArray[np.int64]) -> Solution:
        solution = program.fixed(counts)
        if solution.makespan < math.inf:
            slopes = program.slopes()
            cuts.append((solution.makespan - float(slopes @ counts), slopes))
        return solution

    found = tried(found.counts)
    while True:
        counts, best = found.counts, found
        givers, takers = np.flatnonzero(counts > 0), np.flatnonzero(works)
        least = np.full((len(givers), len(takers)), -np.inf)
        least[givers[:, None] == takers] = np.inf
        least[:, counts[takers] >= program.network.most[takers]] = np.inf
        known = 0
        while True:
            for height, slopes in cuts[known:]:
                np.maximum(
                    least,
                    height + slopes @ counts + slopes[takers] - slopes[givers][:, None],
                    out=least,
                )
            known = len(cuts)
            i, j = np.unravel_index(int(np.argmin(least)), least.shape)
            if least.size == 0 or least[i, j] >= best.makespan * _BETTER:
                break
            moved = counts.copy()
            moved[givers[i]] -= 1
            moved[takers[j]] += 1
            least[i, j] = np.inf
            other = tried(moved)
            if other.makespan < best.makespan * _BETTER:
                best = other
        if best is found:
            return found
        found = best


def _last(found: Solution) -> int:
    """The node with layers that finishes last."""
    return int(np.argmax(np.where(found.counts > 0, found.finish, -np.inf)))


# ---- arguments -----------------------------------------------------------------------------------


def _options(
    n: Any,
    method: Any,
    source_computes: Any,
    prune: Any,
    gap: Any,
    budget: Any,
    mode: Any,
    installments: Any,
    disk: Any,
) -> Options:
    size = check.integer("n", n, low=1, high=10**6)
    check.choice("method", method, METHODS)
    check.choice("mode", mode, _MODES)
    for name, given in (("source_computes", source_computes), ("prune", prune), ("disk", disk)):
        if not isinstance(given, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {given!r}")
    if prune and mode != "pccs":
        raise ValueError(f'prune is for the mode "pccs", got mode {mode!r}')
    rounds = check.integer("installments", installments, low=1, high=_INSTALLMENTS)
    if rounds > 1 and (mode != "pccs" or prune or method not in ("pmft", "best", "relaxed")):
        raise ValueError(
            'installments are for the mode "pccs", the methods "pmft", "best" and "relaxed", and'
            " prune=False"
        )
    endless = isinstance(budget, float) and budget == math.inf
    if budget is None:
        seconds = _SECONDS
    else:
        seconds = math.inf if endless else check.number("budget", budget, low=0.0)
    distance = check.number("gap", gap, low=0.0)
    return Options(
        size,
        method,
        bool(source_computes),
        bool(prune),
        distance,
        seconds,
        mode,
        rounds,
        bool(disk),
    )


def _times(given: Any, speeds: ArrayLike | None, ndim: int) -> NDArray[np.float64]:
    """(X, Y) or (p,) cycle-times; infinite if a node cannot compute."""
    if (given is None) == (speeds is None):
        raise TypeError("give either cycle_times or speeds")
    name, values = ("cycle_times", given) if speeds is None else ("speeds", speeds)
    array = check.reals(f"{name} must be an array of real numbers, got {values!r}", values)
    if array.ndim != ndim or array.size == 0:
        kind = "a mesh has rows and columns" if ndim == 2 else "one for each node"
        raise ValueError(
            f"{name} must have {ndim} dimension{'s' * (ndim > 1)} ({kind}), got shape {array.shape}"
        )
    with np.errstate(divide="ignore", over="ignore"):
        times = array if speeds is None else 1.0 / array
    bad = ~((times >= _LEAST) & ((times <= _MOST) | np.isposinf(times)))
    if bad.any():
        i, where = check.first(bad)
        wanted = (
            "from 2**-200 to 2**200, or infinite"
            if speeds is None
            else "0 or from 2**-200 to 2**200"
        )
        raise ValueError(f"{name}{where} must be {wanted}, got {array[i]:g}")
    return times


def _sources(source: Any, p: int) -> list[int]:
    """The sources, one node or several, each once."""
    if (
        not isinstance(source, Sequence | np.ndarray)
        or isinstance(source, str)
        or np.ndim(source) == 0
    ):
        return [check.integer("source", source, low=0, high=p - 1)]
    found = [
        check.integer(f"source[{i}]", node, low=0, high=p - 1) for i, node in enumerate(source)
    ]
    if not found:
        raise ValueError("source must name a node, got none")
    if len(set(found)) < len(found):
        raise ValueError(f"source must name each node once, got {found}")
    return found


def _corner(source: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    try:
        row, column = source
    except (TypeError, ValueError):
        raise TypeError(f"source must be a row and a column, got {source!r}") from None
    return (
        check.integer("source[0]", row, low=0, high=shape[0] - 1),
        check.integer("source[1]", column, low=0, high=shape[1] - 1),
    )


def _triples(links: Any, p: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    table = check.links("links", links, "tail, head, time per element", p)
    return table[:, :2].astype(np.int64), table[:, 2].copy()


def network_of(
    n: int,
    times: NDArray[np.float64],
    links: NDArray[np.int64],
    costs: NDArray[np.float64],
    sources: list[int],
    source_computes: bool,
    mode: str = "pccs",
    memory: NDArray[np.float64] | None = None,
    disk: bool = False,
) -> Network:
    bad = ~((costs == 0.0) | ((costs >= _LEAST) & (costs <= _MOST)))
    if bad.any():
        i = int(np.argmax(bad))
        tail, head = links[i].tolist()
        raise ValueError(
            f"link costs: the link from node {tail} to {head} must cost 0 or from 2**-200 to"
            f" 2**200, got {costs[i]:g}"
        )
    works = np.isfinite(times)
    works[sources] &= source_computes
    if not works.any():
        raise InfeasibleError(
            "no node except the source can compute"
            + ("" if source_computes else ": give source_computes=True")
        )
    room = None
    if memory is not None and np.isfinite(memory).any():
        own = room_of(n, memory, beside(n, disk))
        held = int(own[works].sum())
        works &= own > 0
        if held < n:
            raise InfeasibleError(too_little(n, disk, held))
        room = np.where(np.isinf(memory), np.inf, np.where(works, own, room_of(n, memory, 0)))
    compute, transfer = float(n) ** 2 * times, 2.0 * n * costs
    fastest = float(compute[works].min())
    slowest = max(float(compute[works].max()), float(transfer.max(initial=0.0)))
    if slowest > _APART * fastest:
        raise ValueError(
            f"cycle_times and link costs are too far apart: a layer takes {fastest:g} on the "
            f"fastest node, and {slowest:g} on the slowest node or over a link. The ratio must be "
            f"at most {_APART:g}. Leave out slow nodes by giving them an infinite cycle-time"
        )
    order = _order(len(times), links, sources)
    kept = np.ones(len(links), bool)
    return Network(
        n,
        compute,
        transfer,
        links[:, 0],
        links[:, 1],
        order,
        works,
        kept,
        len(sources),
        _MODES[mode],
        room,
    )


def _order(p: int, links: NDArray[np.int64], sources: list[int]) -> NDArray[np.int64]:
    """The nodes in an order such that every link leads to a later node; the sources come first."""
    after: list[list[int]] = [[] for _ in range(p)]
    missing = np.bincount(links[:, 1], minlength=p)
    for tail, head in links.tolist():
        after[tail].append(head)
    seen, pending = set(sources), [*sources]
    while pending:
        for head in after[pending.pop()]:
            if head not in seen:
                seen.add(head)
                pending.append(head)
    if len(seen) < p:
        whence = ", ".join(map(str, sources))
        raise ValueError(
            f"links do not lead from the source, node {whence}, to node {min(set(range(p)) - seen)}"
        )
    order = [source for source in sources if missing[source] == 0]
    for node in order:  # the list grows during the loop
        for head in after[node]:
            missing[head] -= 1
            if missing[head] == 0:
                order.append(head)
    if len(order) < p:
        raise ValueError(
            "links must not have a cycle,"
            f" node {min(set(range(p)) - set(order))} is on or behind one"
        )
    return np.array(order, np.int64)


def _overlapping(
    links: NDArray[np.int64], begin: NDArray[np.float64], end: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Groups of links that carry data at the same time; `links` is sorted by begin."""
    groups: list[list[int]] = []
    latest = -np.inf
    for link in links.tolist():
        if begin[link] < latest:
            groups[-1].append(link)
        else:
            groups.append([link])
        latest = max(latest, end[link])
    return [np.array(group, np.int64) for group in groups]
