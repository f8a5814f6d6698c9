"""Products where every two workers have a link: messages counted element by element, Cannon's
blocks followed on their way."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from validators import validate

import hetsched as hs
from hetsched.planners.product_methods import plan_of_partition

LINKS = [[0, 1, 10, 10], [2, 0, 10, 10], [10, 20, 0, 1], [10, 10, 3, 0]]


def complete(times, links):
    return hs.Platform.complete(times, np.array(links, float))


@st.composite
def platforms(draw, most=5):
    p = draw(st.integers(1, most))
    times = [draw(st.integers(1, 9)) for _ in range(p)]
    links = [[draw(st.integers(0, 9)) if i != j else 0 for j in range(p)] for i in range(p)]
    return complete(times, links)


def owners(plan, shape):
    """Who has each element of a matrix that lies as C does, stretched, in shares of one."""
    m, n, _ = plan.shape
    c = np.full((m, n), -1)
    for worker, row, col, depth, height, width, _ in plan.boxes.tolist():
        if depth == 0:
            c[row : row + height, col : col + width] = worker
    assert (c >= 0).all()
    rows, cols = shape

    def shares(i, j):
        found = defaultdict(Fraction)
        for x in range(m * i // rows, -(-m * (i + 1) // rows)):
            part = min(Fraction(x + 1), Fraction(m * (i + 1), rows)) - max(
                Fraction(x), Fraction(m * i, rows)
            )
            for y in range(n * j // cols, -(-n * (j + 1) // cols)):
                other = min(Fraction(y + 1), Fraction(n * (j + 1), cols)) - max(
                    Fraction(y), Fraction(n * j, cols)
                )
                found[int(c[x, y])] += part * other * Fraction(rows * cols, m * n)
        return found

    return c, [[shares(i, j) for j in range(cols)] for i in range(rows)]


def counted(plan, groups=None):
    """{(box, sender): bytes} and the senders that pass on, one element after another."""
    m, n, k = plan.shape
    c, of_a = owners(plan, (m, k))
    _, of_b = owners(plan, (k, n))
    team = {w: w if groups is None else int(groups[w]) for w in range(len(plan.names))}
    boxes = plan.boxes.tolist()
    working = sorted({box[0] for box in boxes})
    head = {w: next(x for x in working if team[x] == team[w]) for w in working}
    found, passing = defaultdict(Fraction), set()
    for depth, length in sorted({(box[3], box[6]) for box in boxes}):
        first = {
            w: next(i for i, box in enumerate(boxes) if box[0] == w and box[3] == depth)
            for w in working
        }
        elements = {}
        for w in working:
            mine = np.argwhere(c == w)
            rows, cols = set(mine[:, 0].tolist()), set(mine[:, 1].tolist())
            elements[w] = {("a", i, d) for i in rows for d in range(depth, depth + length)}
            elements[w] |= {("b", d, j) for j in cols for d in range(depth, depth + length)}
        for w in working:
            leads = head[w] == w
            wanted = (
                set().union(*(elements[x] for x in working if team[x] == team[w]))
                if leads
                else elements[w]
            )
            for which, i, j in wanted:
                for owner, share in (of_a if which == "a" else of_b)[i][j].items():
                    if team[owner] == team[w]:
                        if owner != w and (which, i, j) in elements[w]:
                            found[first[w], owner] += 8 * share
                    elif leads:
                        found[first[w], owner] += 8 * share
                    else:
                        found[first[w], head[w]] += 8 * share
                        passing.add((first[w], head[w], first[head[w]]))
    return found, passing


def told(plan):
    return {(box, sender): size for box, sender, size, _ in plan.messages.tolist()}


@given(
    platforms(), st.integers(1, 9), st.integers(1, 9), st.integers(1, 7), st.integers(1, 4),
    st.sampled_from(["columns", "rows", "rectangles", "best", "nonrectangular"]),
    st.sampled_from(["once", "sequential", "parallel"]),
)  # fmt: skip
def test_messages_are_those_of_the_elements(platform, m, n, k, block, method, communication):
    assume(platform.links.any())
    assume(method in ("columns", "rows") or -(-m // block) * -(-n // block) >= len(platform))
    plan = hs.plan_matmul(
        m, n, k, platform, method=method, block=block, communication=communication
    )
    wanted, _ = counted(plan)
    assert told(plan) == {
        key: pytest.approx(float(size), rel=1e-12) for key, size in wanted.items() if size
    }
    assert (plan.messages["after"] == -1).all()
    validate(plan)
    validate(hs.Plan.from_dict(plan.to_dict()))
    other = complete(platform.cycle_times[::-1], 2 * platform.links.T)
    validate(plan.on(other))
    with pytest.raises(ValueError, match="platform must have links between every two workers"):
        plan.on(hs.Platform.star(platform.cycle_times))


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=6), st.integers(6, 9), st.integers(6, 9),
    st.integers(1, 6), st.integers(1, 3), st.sampled_from(["once", "parallel"]), st.integers(1, 30),
)  # fmt: skip
def test_a_group_gets_once_what_it_shares(groups, m, n, k, block, communication, far):
    teams = np.array(groups)
    links = np.where(teams[:, None] == teams, 1.0, far) * (1 - np.eye(len(groups)))
    assume(links.any())
    platform = complete(np.ones(len(groups)), links)
    if -(-m // block) * -(-n // block) < len(groups):
        return
    cells = hs.partition(platform, shape=(-(-m // block), -(-n // block)), groups=groups)
    plan = plan_of_partition(cells, m, n, k, platform, 8, 2.0, communication)
    validate(plan)
    flat, shared = counted(plan)[0], counted(plan, groups)
    found, after = told(plan), {(b, s, a) for b, s, _, a in plan.messages.tolist() if a >= 0}
    if after:
        assert after == shared[1]
        assert found == {
            key: pytest.approx(float(size), rel=1e-12) for key, size in shared[0].items() if size
        }
    else:
        assert found == {
            key: pytest.approx(float(size), rel=1e-12) for key, size in flat.items() if size
        }


def racks(seed, far, nodes=3, each=4):
    """Nodes of unequal workers, whose links to each other are `far` times as dear as within."""
    rng = np.random.default_rng(seed)
    near = np.ones((each, each))
    parts = [hs.Platform.complete(rng.uniform(0.02, 0.08, each), near) for _ in range(nodes)]
    return hs.Platform.join(parts, links=np.full((nodes, nodes), float(far)))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_nodes_far_from_each_other_are_planned_in_two_levels(seed):
    platform = racks(seed, far=50)
    plan = hs.plan_matmul(240, 200, 220, platform)
    assert plan.method == "nodes"
    validate(plan)
    assert plan.tried["nodes"] == plan.makespan == min(plan.tried.values())
    assert plan.makespan < 0.7 * min(time for name, time in plan.tried.items() if name != "nodes")
    alone = hs.plan_matmul(240, 200, 220, platform, method="nodes")
    assert alone.makespan == plan.makespan
    assert not alone.tried
    assert not plan.on(racks(seed, far=20)).tried
    # each node has one rectangle of C
    for node in range(3):
        own = plan.boxes[np.isin(plan.boxes[:, 0], range(4 * node, 4 * node + 4))]
        low = own[:, 1:3].min(axis=0)
        high = (own[:, 1:3] + own[:, 4:6]).max(axis=0)
        assert (own[:, 4] * own[:, 5]).sum() == (high - low).prod()


def test_auto_names_all_that_it_tried():
    star = hs.Platform.star([3, 5, 8], link_costs=[1, 2, 3])
    plan = hs.plan_matmul(30, 40, 50, star)
    assert plan.makespan == min(plan.tried.values())
    for name, makespan in plan.tried.items():
        one = hs.plan_matmul(30, 40, 50, star, method=name)
        assert one.makespan <= makespan * (1 + 1e-12)  # alone, a search may take longer
    # nodes with one worker each, or one node, are no second level
    for platform in (racks(0, 9, nodes=3, each=1), racks(0, 9, nodes=1)):
        assert "nodes" not in hs.plan_matmul(30, 40, 50, platform).tried


def test_two_levels_need_nodes_and_links():
    unlinked = hs.Platform.join([hs.Platform.star([1, 2]), hs.Platform.star([3])])
    for platform in (complete([1, 2, 3, 4], LINKS), unlinked):
        with pytest.raises(ValueError, match="platform must have nodes, and links"):
            hs.plan_matmul(30, 40, 50, platform, method="nodes")


def test_two_levels_are_taken_where_they_help():
    """Two clusters of eight, far from each other: each row of zones of a cluster is wanted by all
    of its workers."""
    groups = np.repeat([0, 1], 8)
    links = np.where(groups[:, None] == groups, 1.0, 100.0) * (1 - np.eye(16))
    platform = complete(np.ones(16), links)
    cells = hs.partition(np.ones(16), shape=(16, 16), groups=groups)
    alone = hs.partition(np.ones(16), shape=(16, 16), rects=cells.rects)
    two, flat = (
        plan_of_partition(x, 160, 160, 160, platform, 8, 2.0, "sequential") for x in (cells, alone)
    )
    between = [
        sum(
            size
            for box, i, size, _ in plan.messages.tolist()
            if groups[i] != groups[plan.boxes[box, 0]]
        )
        for plan in (two, flat)
    ]
    assert between[0] == between[1] / 2
    assert two.makespan < 0.6 * flat.makespan
    near = complete(np.ones(16), np.where(links > 0, 1.0, 0.0))
    both = [
        plan_of_partition(x, 160, 160, 160, near, 8, 2.0, "parallel").makespan
        for x in (cells, alone)
    ]
    assert both[0] == both[1]  # nothing is passed on there


# ---- Cannon --------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 4, 9])
@pytest.mark.parametrize("communication", ["sequential", "parallel"])
def test_cannon_blocks_on_their_way(p, communication):
    s = isqrt(p)
    rng = np.random.default_rng(p)
    links = rng.integers(1, 9, (p, p)).astype(float)
    np.fill_diagonal(links, 0)
    platform = complete(rng.integers(1, 9, p), links)
    for m, n, k, block in [(12, 18, 6, 1), (10, 7, 11, 2), (s, s, s, 1), (8, 7, 9, 3)]:
        plan = hs.plan_matmul(
            m, n, k, platform, method="cannon", block=block, communication=communication
        )
        validate(plan)
        holds = {}  # (operand, part): the workers that have it
        for i in range(s):
            for j in range(s):
                holds["A", i, j] = {i * s + j}
                holds["B", i, j] = {i * s + j}
        boxes = plan.boxes.tolist()
        assert len({box[3] for box in boxes}) == s
        messages = defaultdict(list)
        for box, sender, size, after in plan.messages.tolist() if plan.messages is not None else []:
            messages[box].append((sender, size, after))
        for step in range(s):
            arrived = []
            for worker in range(p):
                i, j = divmod(worker, s)
                at = step * p + worker
                _, row, col, depth, height, width, length = boxes[at]
                part = (i + j + step) % s
                assert worker == boxes[at][0]
                needed = [(("A", i, part), height * length), (("B", part, j), width * length)]
                for what, size in needed:
                    if worker in holds[what] or not size:
                        arrived.append((what, worker))
                        continue
                    found = [x for x in messages[at] if x[0] in holds[what] and x[1] == 8 * size]
                    assert found, "nobody sends what is needed, or he does not have it"
                    if step:
                        assert all(after == (step - 1) * p + sender for sender, _, after in found)
                    arrived.append((what, worker))
                assert len(messages[at]) <= 2
            holds = defaultdict(set)
            for what, worker in arrived:
                holds[what].add(worker)
        assert sum(len(x) for x in messages.values()) <= 2 * p * s


def test_cannon_moves_as_much_as_broadcasts_and_the_skewing():
    """2001 paper, section 3.1: the same volume in a step, but for the permutation before the
    first."""
    platform = complete(np.ones(9), 1.0 - np.eye(9))
    cannon = hs.plan_matmul(
        90, 90, 90, platform, method="cannon", block=30, communication="parallel"
    )
    outer = hs.plan_matmul(
        90, 90, 90, platform, method="rectangles", block=30, communication="parallel"
    )
    steps = cannon.sent.reshape(3, 9).sum(axis=1) / 8 / 900
    assert steps.tolist() == [6 + 6, 9 + 9, 9 + 9]  # the first skews rows 1 and 2, columns 1 and 2
    # who has a part does not get it
    assert outer.sent.reshape(3, 9).sum(axis=1).tolist() == [8 * 900 * 12] * 3


@pytest.mark.parametrize("dtype", ["f", "D"])
@pytest.mark.parametrize("beta", [0.0, -1.5])
def test_runs(dtype, beta):
    rng = np.random.default_rng(7)
    A, B, C = (rng.standard_normal(shape).astype(dtype) for shape in ((50, 33), (33, 41), (50, 41)))
    want = 2 * (A.astype("D") @ B.astype("D")) + beta * C
    with hs.Pool(complete([3, 3, 4, 5], LINKS), emulate=True, time_scale=30) as pool:
        for method in ("cannon", "rectangles", "columns"):
            found, trace = pool.matmul(
                A,
                B,
                C.copy(),
                2.0,
                beta,
                method=method,
                block=5,
                communication="parallel",
                trace=True,
            )
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-4 if dtype == "f" else 1e-12)
            plan = pool.plan(
                50, 41, 33, method=method, block=5, communication="parallel", dtype=dtype
            )
            assert trace.predicted == pytest.approx(30 * plan.makespan, rel=1e-12)
            assert trace.makespan >= trace.predicted * (1 - 1e-9)
        full = np.full((50, 41), np.nan, dtype)
        found = pool.matmul(A, B, full, 1.0, 0.0, method="cannon", communication="parallel")
        np.testing.assert_allclose(found, A @ B, rtol=0, atol=1e-4 if dtype == "f" else 1e-12)
    with hs.Pool(4) as pool:
        np.testing.assert_allclose(
            pool.matmul(A, B, method="cannon", communication="parallel"), A @ B, rtol=0, atol=1e-4
        )


def test_errors():
    star, links = hs.Platform.star([1, 2, 3]), complete([1, 2, 3], 1.0 - np.eye(3))
    for platform in (star, links):
        with pytest.raises(
            ValueError, match="method 'cannon' needs a square number of workers, the platform has 3"
        ):
            hs.plan_matmul(9, 9, 9, platform, method="cannon", communication="parallel")
    with pytest.raises(
        ValueError, match="communication must be 'sequential' or 'parallel', got 'once'"
    ):
        hs.plan_matmul(9, 9, 9, hs.Platform.star([1] * 4), method="cannon")
    for sizes in ((1, 2, 2), (2, 1, 2), (2, 2, 1)):
        with pytest.raises(hs.InfeasibleError, match="are too small"):
            hs.plan_matmul(
                *sizes, hs.Platform.star([1] * 4), method="cannon", communication="parallel"
            )
    for sizes in ((0, 2, 2), (2, 0, 2), (2, 2, 0)):
        assert (
            hs.plan_matmul(
                *sizes, hs.Platform.star([1] * 4), method="cannon", communication="parallel"
            ).makespan
            == 0.0
        )


def test_auto_on_a_cluster_without_rows_or_columns():
    """Nothing to divide among the nodes is no error: other methods are left."""
    parts = [hs.Platform.complete([1.0, 2.0], [[0, 1], [1, 0]])] * 2
    platform = hs.Platform.join(parts, links=[[0, 5], [5, 0]])
    for sizes in ((0, 5, 3), (5, 0, 3)):
        plan = hs.plan_matmul(*sizes, platform)
        assert plan.makespan == 0.0
        assert "nodes" not in plan.tried
    assert "nodes" in hs.plan_matmul(5, 5, 3, platform).tried
