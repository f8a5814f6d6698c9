"""Slow, obvious counterparts of LU factorisation: elimination in exact fractions, and the schedule found task by task."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exact_lu(rows):
    """P A = L U of a square matrix of integers, in fractions: the permuted rows' indices, and the factors in one table."""
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
    lower, upper, order = apart(lu.astype(np.complex128 if lu.dtype.kind == "c" else np.float64), piv)
    eps = float(np.finfo(a.dtype).eps)
    scale = max(abs(upper).max(initial=0.0), abs(a).max(initial=0.0), 1e-300)
    return float(abs(lower @ upper - a[order]).max(initial=0.0) / scale / (eps * max(1, *a.shape)))


def edges(m, n, block):
    """First columns of the blocks, and n."""
    rank = min(m, n)
    return [*range(0, rank, block), *range(rank, n, block), n]


def schedule(m, n, block, owner, times):
    """(worker, panel, block) -> (start, end) in fractions: whoever can go on does the next task of its list."""
    cuts, rank = edges(m, n, block), min(m, n)
    panels = len(range(0, rank, block))
    count = len(cuts) - 1
    todo = {w: [] for w in range(len(times))}
    for k in range(-1, panels):
        blocks = list(range(max(k + 1, 0), count))
        for j in blocks:
            if k >= 0:
                todo[owner[j]].append((k, j))
            if j == k + 1 and j < panels:
                todo[owner[j]].append((j, j))
            if k < 0:
                break
    result, now, ready = {}, [Fraction(0)] * len(times), {}
    while any(todo.values()):
        moved = False
        for w, tasks in todo.items():
            while tasks and (tasks[0][0] == tasks[0][1] or tasks[0][0] in ready):
                k, j = tasks.pop(0)
                rows, width, cols = Fraction(m - cuts[k]), Fraction(cuts[k + 1] - cuts[k]), Fraction(cuts[j + 1] - cuts[j])
                work = width**2 * (rows - width / 3) / 2 if k == j else width * (rows - width / 2) * cols
                start = now[w] if k == j else max(now[w], ready[k])
                now[w] = start + work * times[w]
                result[w, k, j] = start, now[w]
                if k == j:
                    ready[k] = now[w]
                moved = True
        assert moved
    return result
