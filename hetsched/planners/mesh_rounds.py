"""Layers of a product on a network, sent in several installments.

A node sends on, and computes, one installment while it receives the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .mesh_lp import TOLERANCE, Network, Program


class Timed(NamedTuple):
    """The times of R installments.

    leave : (R, m) when each link begins to carry the installment
    arrive : (R, p) when each node has received all of it
    done : (R, p) when each node has computed its layers of it
    """

    leave: NDArray[np.float64]
    arrive: NDArray[np.float64]
    done: NDArray[np.float64]


def timed(network: Network, counts: NDArray[Any], flows: NDArray[np.float64]) -> Timed:
    """The earliest times of all installments.

    A link carries one installment after the other, each as soon as its tail has all of it. A node
    has an installment when all its links have brought their parts. It computes one installment
    after the other.
    """
    rounds, (p, m) = len(counts), (len(network.compute), len(network.tail))
    found = Timed(np.zeros((rounds, m)), np.zeros((rounds, p)), np.zeros((rounds, p)))
    incoming = [links for links in network.incoming() if len(links)]
    free, ready = np.zeros(m), np.zeros(p)
    for j in range(rounds):
        takes = flows[j] * network.transfer
        for links in incoming:
            found.leave[j, links] = np.maximum(found.arrive[j, network.tail[links]], free[links])
            found.arrive[j, network.head[links[0]]] = (found.leave[j, links] + takes[links]).max()
        free = found.leave[j] + takes
        ready = found.done[j] = np.maximum(found.arrive[j], ready) + network.busy(counts[j])
    return found


class Pipeline(Program):
    """The linear program of layers in several installments.

    It has the rows of MFT-LBP for each installment, and rows that put each installment after the
    one before it.

    Columns: for each installment the layers k of each node, when a node has received it (s) and
    computed it (c), when each link begins to carry it (d), and its layers f over each link; the
    makespan T.
    """

    def __init__(self, network: Network, rounds: int) -> None:
        self._rounds = rounds
        super().__init__(network)

    def _build(self, able: NDArray[np.int64], below: float | None) -> None:
        net, p, m, r = self.network, self._p, self._m, self._rounds
        takes, work = net.transfer / self._unit, net.compute / self._unit
        k, s, c = (first + np.arange(r * p).reshape(r, p) for first in (0, r * p, 2 * r * p))
        d, f = (3 * r * p + first + np.arange(r * m).reshape(r, m) for first in (0, r * m))
        last, links = 3 * r * p + 2 * r * m, np.arange(m)
        rows: list[Any] = []
        columns: list[Any] = []
        values: list[Any] = []
        count = 0

        def block(size: int, *entries: tuple[Any, Any]) -> NDArray[np.int64]:
            """Add `size` rows with these columns and values in each."""
            nonlocal count
            own = count + np.arange(size)
            for column, value in entries:
                rows.append(own)
                columns.append(np.broadcast_to(column, size))
                values.append(np.broadcast_to(value, size).astype(np.float64))
            count += size
            return own

        for j in range(r):
            block(m, (d[j], 1.0), (s[j, net.tail], -1.0))
            block(m, (s[j, net.head], 1.0), (d[j], -1.0), (f[j], -takes))
            block(len(able), (c[j, able], 1.0), (s[j, able], -1.0), (k[j, able], -work[able]))
            if j:
                block(m, (d[j], 1.0), (d[j - 1], -1.0), (f[j - 1], -takes))
                block(
                    len(able), (c[j, able], 1.0), (c[j - 1, able], -1.0), (k[j, able], -work[able])
                )
        block(len(able), (np.full(len(able), last), 1.0), (c[r - 1, able], -1.0))
        # the makespan includes the arrival of all data: nothing is under way after the end
        block(p, (np.full(p, last), 1.0), (s[r - 1], -1.0))
        keeps = []
        for j in range(r):
            own = block(p, (k[j], -1.0))
            for ends, sign in ((net.head, 1.0), (net.tail, -1.0)):
                rows.append(own[ends])
                columns.append(f[j, links])
                values.append(np.full(m, sign))
            keeps.append(own)
        self._sum = int(block(1, *((column, 1.0) for column in k.ravel()))[0])

        inf = self.highs.kHighsInf
        lower, above = np.zeros(count), np.full(count, inf)
        sources = net.order[: net.sources]
        for own in keeps:
            above[own] = 0.0
            lower[own[sources]], above[own[sources]] = -inf, inf
        lower[self._sum] = above[self._sum] = float(net.n)
        upper = np.full(last + 1, inf)
        upper[k.ravel()] = np.tile(np.where(net.works, float(net.n), 0.0), r)
        upper[s[:, sources].ravel()] = 0.0
        self._upper = upper[: r * p].reshape(r, p).copy()
        self._load(
            (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)),
            lower,
            above,
            upper,
        )

    def least(self) -> float:
        self._fix(np.zeros_like(self._upper), self._upper, self.network.n)
        self._run("kOptimal")
        return float(self._solver.getInfo().objective_function_value) * self._unit

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """(R, p) fractional layers, (R, m) layers over the links, and the makespan."""
        value = self.least()
        counts, flows = self._values()
        counts = np.where(counts > TOLERANCE * self.network.n, counts, 0.0)
        return counts * (self.network.n / counts.sum()), flows, value

    def flows_for(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """The best flows for given layers."""
        self._fix(counts, counts, int(counts.sum()))
        self._run("kOptimal")
        return self._values()[1]

    def _fix(self, lower: NDArray[Any], upper: NDArray[Any], total: int) -> None:
        size = self._rounds * self._p
        ends = (np.asarray(bound, np.float64).ravel() for bound in (lower, upper))
        self._solver.changeColsBounds(size, np.arange(size, dtype=np.int32), *ends)
        self._solver.changeRowBounds(self._sum, float(total), float(total))

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = np.maximum(np.array(self._solver.getSolution().col_value), 0.0)
        r, p, m = self._rounds, self._p, self._m
        first = 3 * r * p + r * m
        return values[: r * p].reshape(r, p), values[first : first + r * m].reshape(r, m)

    def rounded(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Whole layers near the shares, n in all.

        The largest remainders are rounded up. The layers of a node are divided over the
        installments like its shares.
        """
        n, own = self.network.n, shares.sum(axis=0)
        totals = np.floor(own + TOLERANCE * n).astype(np.int64)
        rest = own - totals
        totals[np.argsort(-rest, kind="stable")[: n - int(totals.sum())]] += 1
        shared = np.cumsum(shares, axis=0) * np.divide(
            totals, own, out=np.zeros_like(own), where=own > 0
        )
        ends = np.rint(shared).astype(np.int64)
        ends[-1] = totals
        counts: NDArray[np.int64] = np.diff(ends, axis=0, prepend=0)
        return counts
