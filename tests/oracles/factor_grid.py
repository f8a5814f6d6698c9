"""A factorisation whose blocks are dealt in both directions, simulated event by event from the
rules alone."""

import numpy as np


def cuts(length, rank, block):
    """First elements of the blocks, and the end."""
    return [*range(0, rank, block), *range(rank, length, block), length]


def simulated(kind, m, n, block, owner, times, panel_times, late):
    """Makespan and gigaflops: what each worker is to do in its order, done by whoever is able to
    begin, from the rules alone."""
    rank = min(m, n)
    rows, cols = cuts(m, rank, block), cuts(n, rank, block)
    panels, columns = len(range(0, rank, block)), len(cols) - 1
    width = np.diff(cols)
    queues = [[] for _ in times]
    pieces = {}  # of each update: the number of tasks after which it has ended

    def update(k, j):
        """[(head?, worker, work)]."""
        w, c, below = int(width[k]), int(width[j]), {}
        for i in range(j if kind == "cholesky" else k + 1, len(rows) - 1):
            below[owner[i, j]] = below.get(owner[i, j], 0) + rows[i + 1] - rows[i]
        if kind == "cholesky":
            work = {
                x: w * c * count - (w * c * c / 2 if x == owner[j, j] else 0)
                for x, count in below.items()
            }
            return [(False, x, work[x]) for x in sorted(work)]
        first = w * w * c / 2 if kind == "lu" else w * c * (m - cols[k] + w / 2)
        if set(below) <= {owner[k, j]}:
            return [(False, owner[k, j], first + w * c * sum(below.values()))]
        return [(True, owner[k, j], first), *((False, x, w * c * below[x]) for x in sorted(below))]

    def panel(k):
        w, high = int(width[k]), m - cols[k]
        work = {
            "lu": w * w * (high - w / 3) / 2,
            "cholesky": w * w * (high - 2 * w / 3) / 2,
            "qr": w * w * (high - w / 3) * 1.5,
        }
        queues[owner[k, k]].append(("panel", k, k, work[kind]))

    def put(k, j, heads, parts):
        tasks = update(k, j)
        pieces[k, j] = sum(not head for head, *_ in tasks)
        split = any(head for head, *_ in tasks)
        for head, worker, work in tasks:
            if head if heads and not parts else not head if parts and not heads else True:
                queues[worker].append(("head" if head else "part" if split else "all", k, j, work))

    for k in range(-1, panels):
        ahead = k + 1 < panels and (k < 0 or not late)
        if ahead:
            if k >= 0:
                put(k, k + 1, True, True)
            panel(k + 1)
        rest = range(k + 2 if ahead else k + 1, columns) if k >= 0 else ()
        for j in rest:
            put(k, j, True, False)
        for j in rest:
            put(k, j, False, True)
        if k + 1 < panels and not ahead:
            panel(k + 1)

    ready, heads, ended, free = {}, {}, {}, [0.0] * len(times)
    flops, left = 0.0, sum(map(len, queues))
    while left:
        before = left
        for worker, queue in enumerate(queues):
            while queue:
                what, k, j, work = queue[0]
                column = ended.get((k - 1, j), [])
                if (what == "panel" or k) and len(column) < (pieces[k - 1, j] if k else 0):
                    break
                if (what != "panel" and k not in ready) or (what == "part" and (k, j) not in heads):
                    break
                start = max(
                    free[worker],
                    *column,
                    0.0 if what == "panel" else ready[k],
                    heads.get((k, j), 0.0),
                )
                free[worker] = start + work * (panel_times if what == "panel" else times)[worker]
                if what == "panel":
                    ready[k] = free[worker]
                elif what == "head":
                    heads[k, j] = free[worker]
                else:
                    ended.setdefault((k, j), []).append(free[worker])
                flops += work
                queue.pop(0)
                left -= 1
        assert left < before
    return max(free), flops
