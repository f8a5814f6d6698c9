"""Slow, obvious counterparts of LU factorisation: elimination in exact fractions, and the schedule
found task by task."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog


def exact_lu(rows):
    """P A = L U of a square matrix of integers, in fractions: the permuted rows' indices, and the
    factors in one table."""
    a = [[Fraction(x) for x in row] for row in rows]
    n, order = len(a), list(range(len(a)))
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: (abs(a[i][k]), -i))
        a[k], a[pivot] = a[pivot], a[k]
        order[k], order[pivot] = order[pivot], order[k]
        for i in range(k + 1, n):
            a[i][k] = a[i][k] / a[k][k] if a[k][k] else Fraction(0)
            for j in range(k + 1, n):
                a[i][j] -= a[i][k] * a[k][j]
    return order, a


def apart(lu, piv):
    """L, U and the permutation: A[order] == L @ U."""
    m, n = lu.shape
    k = min(m, n)
    order = np.arange(m)
    for i, p in enumerate(piv.tolist()):
        order[[i, p]] = order[[p, i]]
    lower = np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=lu.dtype)
    return lower, np.triu(lu[:k]), order


def backward_error(a, lu, piv):
    """max |P A - L U| over what rounding may do: n eps max |A| and the growth of the elements."""
    lower, upper, order = apart(
        lu.astype(np.complex128 if lu.dtype.kind == "c" else np.float64), piv
    )
    eps = float(np.finfo(a.dtype).eps)
    scale = max(abs(upper).max(initial=0.0), abs(a).max(initial=0.0), 1e-300)
    return float(abs(lower @ upper - a[order]).max(initial=0.0) / scale / (eps * max(1, *a.shape)))


def edges(m, n, block):
    """First columns of the blocks, and n."""
    rank = min(m, n)
    return [*range(0, rank, block), *range(rank, n, block), n]


def integral(f, a, b):
    """Of a polynomial of degree three at most, exactly: Simpson's rule."""
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def multiply_adds(kind, k, j, cuts, m):
    """Of panel k (j == k) or its update of block j: over the columns s of the block and t of the
    panel, the elements that one column changes in another. A Cholesky factorisation changes those
    from the diagonal on; a reflector takes a product with the column and one with v, and the block
    reflector's T besides, a triangle."""
    rows, width, cols = (
        Fraction(m - cuts[k]),
        Fraction(cuts[k + 1] - cuts[k]),
        Fraction(cuts[j + 1] - cuts[j]),
    )
    below = Fraction(m - cuts[j])
    if kind == "cholesky" and k == j:
        return integral(lambda s: s * (rows - s), Fraction(0), width)
    if kind == "cholesky":
        return width * integral(lambda s: below - s, Fraction(0), cols)
    if k == j:
        columns = integral(lambda t: (rows - t) * (width - t), Fraction(0), width)
        products = integral(lambda t: t * (rows - t), Fraction(0), width) + integral(
            lambda t: t * t / 2, Fraction(0), width
        )
        return 2 * columns + products if kind == "qr" else columns
    column = integral(lambda t: rows - t, Fraction(0), width)
    return cols * (2 * column + width**2 / 2 if kind == "qr" else column)


def schedule(
    m,
    n,
    block,
    owner,
    times,
    panel_times=None,
    links=None,
    look_ahead=True,
    kind="lu",
    steps=None,
    segment=math.inf,
):
    """(worker, panel, block) -> (start, end), and (panel, sender, receiver) -> (start, end) of
    messages, in fractions: a worker that can go on does the next task of its list. links[i][j] is
    per element; steps[k][i] is the time of worker i for the updates of step k, in place of
    times[i]. A worker passes on a panel in segments of so many elements."""
    cuts, rank = edges(m, n, block), min(m, n)
    panels = len(range(0, rank, block))
    count = len(cuts) - 1
    todo = {w: [] for w in range(len(times))}
    for k in range(-1, panels):
        blocks = list(range(max(k + 1, 0), count))
        late = []
        for j in blocks:
            if k >= 0:
                todo[owner[j]].append((k, j))
            if j == k + 1 and j < panels:
                if look_ahead or k < 0:
                    todo[owner[j]].append((j, j))
                else:
                    late.append((j, j))
            if k < 0:
                break
        for panel in late:
            todo[owner[panel[1]]].append(panel)
    result, messages, now = {}, {}, [Fraction(0)] * len(times)
    ready = {}  # (panel, worker) -> when it is there
    sends, receives = [Fraction(0)] * len(times), [Fraction(0)] * len(times)

    def send(k, when):
        """Segment by segment along the workers with a block to the right, by their next blocks."""
        way = list(dict.fromkeys([owner[k], *owner[k + 1 :]]))
        width = cuts[k + 1] - cuts[k]
        size = (m - cuts[k] + (width if kind == "qr" else 0)) * width
        whole = math.ceil(size / segment) - 1 if segment < size else 0
        segments = [segment] * whole + [size - segment * whole if whole else size]
        there = [when] * len(segments)  # when each segment is with the worker before
        ready[k, owner[k]] = when
        for source, w in pairwise(way):
            if links is None:
                ready[k, w] = when
                continue
            start = now = max(there[0], sends[source], receives[w])
            for i, elements in enumerate(segments):
                there[i] = now = max(now, there[i]) + elements * links[source][w]
            sends[source] = receives[w] = ready[k, w] = now
            messages[k, source, w] = start, now

    while any(todo.values()):
        moved = False
        for w, tasks in todo.items():
            while tasks and (tasks[0][0] == tasks[0][1] or (tasks[0][0], w) in ready):
                k, j = tasks.pop(0)
                work = multiply_adds(kind, k, j, cuts, m)
                start = now[w] if k == j else max(now[w], ready[k, w])
                updates = times if steps is None else steps[k]
                now[w] = start + work * (panel_times if k == j and panel_times else updates)[w]
                result[w, k, j] = start, now[w]
                if k == j:
                    send(k, now[w])
                moved = True
        assert moved
    return result, messages


def perfect_division(updates, panels, times, panel_times):
    """The linear program: the least T with sum x = updates, sum y = panels, x_i t_i + y_i q_i <=
    T."""
    p = len(times)
    constraints = np.hstack([np.diag(times), np.diag(panel_times), -np.ones((p, 1))])
    sums = np.array([[1.0] * p + [0.0] * p + [0.0], [0.0] * p + [1.0] * p + [0.0]])
    found = linprog([0.0] * 2 * p + [1.0], constraints, np.zeros(p), sums, [updates, panels])
    assert found.status == 0
    return found.fun
