"""Plans that do not give all of the work to workers, each part of it once, are refused before
anything is changed."""

from dataclasses import replace

import numpy as np
import pytest
from instances import with_boxes

import hetsched as hs

KEPT = -7.0
SPEEDS = hs.Platform.star([1.0, 2.0, 3.0], link_costs=[0.1, 0.2, 0.3], unit=hs.Unit.gigaflop())


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(3) as pool:
        yield pool


def changed(table, *columns):
    """A table with one row away, then twice, then with one of some columns, numbers or names,
    greater or less by one."""
    rows = range(0, len(table), max(1, len(table) // 4))
    for i in rows:
        yield np.delete(table, i, axis=0)
        yield np.insert(table, i, table[i : i + 1], axis=0)
        for column in columns:
            for step in (-1, 1):
                other = table.copy()
                if isinstance(column, str):
                    other[column][i] += step
                else:
                    other[i, column] += step
                yield other


def matrices(m, n, k):
    rng = np.random.default_rng([m, n, k])
    return rng.random((m, k)), rng.random((k, n))


def covered(boxes, sizes, triangle):
    """Whether painting them gives each element one coat."""
    m, n, k = sizes
    coats = np.zeros((max(k, 1), m, n), np.int64)
    for _, row, col, depth, height, width, length in boxes.tolist():
        if (
            min(row, col, depth, height, width, length) < 0
            or row + height > m
            or col + width > n
            or depth + length > k
        ):
            return False
        coats[depth : depth + length if k else 1, row : row + height, col : col + width] += 1
    return ((np.tril(coats) if triangle else coats) == (np.tri(m) if triangle else 1)).all()


def refused(call, match=r"plan|boxes\[|chunks\[|pieces\["):
    """By the run, or already when such a plan comes into being."""
    with pytest.raises(ValueError, match=match):
        call()


BOX = range(1, 7)


@pytest.mark.parametrize(
    ("method", "communication", "sizes"),
    [
        ("columns", "once", (12, 15, 7)),
        ("rows", "once", (12, 15, 7)),
        ("best", "once", (12, 15, 7)),
        ("columns", "sequential", (12, 15, 4)),
        ("layers", "once", (5, 4, 30)),
        ("cuboids", "once", (9, 9, 9)),
        ("triangle", "once", (12, 12, 7)),
        ("columns", "once", (1, 2, 1)),
        ("columns", "once", (6, 5, 0)),
    ],
)
def test_boxes(pool, method, communication, sizes):
    with hs.Pool(SPEEDS, emulate=True) as emulated:
        plan = emulated.plan(*sizes, method=method, communication=communication)
    a, b = matrices(*sizes)
    if method == "triangle":
        b = a.T
    c = np.full(sizes[:2], KEPT)
    np.testing.assert_allclose(pool.run(plan, a, b, c), a @ b)
    for boxes in changed(plan.boxes, *BOX):
        # of a triangle what is above the diagonal does not matter
        if not covered(boxes, sizes, plan.triangle):
            c[...] = KEPT
            refused(lambda boxes=boxes: pool.run(with_boxes(plan, boxes), a, b, c))
            assert (c == KEPT).all()
    boxes = plan.boxes.copy()
    boxes[0, 0] = 3
    refused(lambda: replace(plan, boxes=boxes), "boxes must begin with a worker of 3")
    refused(lambda: pool.run(with_boxes(plan, plan.boxes[:0]), a, b, c), "does not cover C")


def test_words(pool):
    """They name the first element, and the boxes."""
    a, b = matrices(4, 20, 3)
    with hs.Pool(SPEEDS, emulate=True) as emulated:
        plan = emulated.plan(4, 20, 3, method="columns")
        steps = emulated.plan(4, 20, 3, method="columns", communication="sequential")
    first = int(plan.boxes[0, 5])
    without = np.delete(plan.boxes, 1, axis=0)
    with pytest.raises(
        ValueError, match=rf"plan does not cover C: element \(0, {first}\) is in no box"
    ):
        pool.run(with_boxes(plan, without), a, b)
    wider = plan.boxes.copy()
    wider[0, 5] += 2
    with pytest.raises(
        ValueError,
        match=rf"plan does not cover C once: element \(0, {first}\) is in both boxes 0 and 1",
    ):
        pool.run(with_boxes(plan, wider), a, b)
    out = plan.boxes.copy()
    out[2, 4] = 5
    with pytest.raises(ValueError, match=r"boxes\[2\] must lie inside 4 x 20 x 3"):
        replace(plan, boxes=out)
    with pytest.raises(
        ValueError, match=r"element \(0, 0\), layer 1 of the inner dimension, is in no box"
    ):
        pool.run(with_boxes(steps, np.delete(steps.boxes, 3, axis=0)), a, b)
    other = steps.boxes.copy()
    other[3, 0] = 1
    with pytest.raises(
        ValueError, match="two workers for element .* in boxes 0 and 3, and no layers"
    ):
        pool.run(with_boxes(steps, other), a, b)


def test_boxes_in_any_order(pool):
    """A box of a worker may come before the one at the begin of the inner dimension: C is scaled
    once, by beta."""
    a, b = matrices(6, 20, 5)
    with hs.Pool(SPEEDS, emulate=True) as emulated:
        plan = emulated.plan(6, 20, 5, method="contiguous", communication="sequential")
    assert len(plan.boxes) > 3 * 5  # some worker has several zones
    before = np.random.default_rng(1).random((6, 20))
    first = np.unique(plan.boxes[:, 0], return_index=True)[1]
    # of other zones the begin comes last
    inside = np.append(first, np.setdiff1d(np.arange(len(plan.boxes)), first)[::-1])
    for order in (
        slice(None),
        slice(None, None, -1),
        np.random.default_rng(2).permutation(len(plan.boxes)),
        inside,
    ):
        other = replace(
            plan, boxes=plan.boxes[order], receive=plan.receive[order], sent=plan.sent[order]
        )
        np.testing.assert_allclose(pool.run(other, a, b), a @ b)
        np.testing.assert_allclose(
            pool.run(other, a, b, before.copy(), 2.0, 3.0), 2.0 * (a @ b) + 3.0 * before
        )


def test_sum_of_layers(pool, tmp_path):
    a, b = matrices(8, 5, 40)
    with hs.Pool(SPEEDS, emulate=True) as emulated:
        plan = emulated.plan(8, 5, 40, method="layers")
    for rows in ([0, 2, 5, 7], [1, 2, 5, 8], [0, 6, 5, 8], [0, 2, 8], [0, 2, 5, 9]):
        layers = plan.layers._replace(rows=np.array(rows, np.int64))
        refused(lambda layers=layers: replace(plan, layers=layers), "layers.rows")
    star = hs.layers_star(40, [2.0, 3.0, 4.0], disk=True)
    refused(
        lambda: pool.run(replace(star, counts=star.counts + [1, 0, -2]), a, b, layers=tmp_path),
        "counts",
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(12, 15), (3, 5)], ids=["elements", "blocks"])
def test_partitions(pool, shape):
    plan = hs.partition([1.0, 2.0, 4.0], shape=shape)
    a, b = matrices(12, 15, 6) if shape == (12, 15) else matrices(12, 20, 6)
    c = np.full((len(a), b.shape[1]), KEPT)
    np.testing.assert_allclose(pool.run(plan, a, b, c), a @ b)
    count = 0
    for pieces in changed(plan.pieces, 1, 2, 3, 4):
        c[...] = KEPT
        refused(
            lambda pieces=pieces: pool.run(replace(plan, pieces=pieces), a, b, c),
            "does not cover C|must lie inside|must begin with|ascending|must belong to a|pieces",
        )
        assert (c == KEPT).all()
        count += 1
    assert count >= 10


def test_cuboids(pool):
    plan = hs.cuboids([1.0, 2.0, 4.0], shape=(9, 8, 10))
    a, b = matrices(9, 8, 10)
    c = np.full((9, 8), KEPT)
    np.testing.assert_allclose(pool.run(plan, a, b, c), a @ b)
    for boxes in changed(plan.boxes, *range(6)):
        if len(boxes) == len(plan.boxes):
            c[...] = KEPT
            refused(
                lambda boxes=boxes: pool.run(replace(plan, boxes=boxes), a, b, c),
                "does not cover the iter|must lie inside|boxes",
            )
            assert (c == KEPT).all()


def test_layers(pool):
    plan = hs.layers_star(20, [2.0, 3.0, 4.0])
    a, b = matrices(6, 5, 20)
    c = np.full((6, 5), KEPT)
    np.testing.assert_allclose(pool.run(plan, a, b, c), a @ b)
    c[...] = KEPT
    for changed_fields in (
        {"counts": plan.counts + [1, 0, 0]},
        {"counts": plan.counts - [1, 0, 0]},
        {"counts": plan.counts + [1, -1, 0]},
        {"displs": plan.displs + [0, 1, 0]},
        {"order": plan.order[1:]},
        {"order": np.append(plan.order, plan.order[0])},
        {"order": plan.order[[0, 0, 1]]},
        {"order": plan.order + 1},
    ):
        refused(
            lambda fields=changed_fields: pool.run(replace(plan, **fields), a, b, c),
            "counts|displs|order",
        )
    assert (c == KEPT).all()


@pytest.mark.parametrize("options", [{}, {"installments": 2}, {"method": "relaxed"}])
def test_nodes(options):
    plan = hs.layers_network(
        20, [1.0, 2.0, 3.0], [(0, 1, 0.01), (0, 2, 0.01)], source_computes=True, **options
    )
    a, b = matrices(6, 5, 20)
    c = np.full((6, 5), KEPT)
    with hs.Pool(3) as pool:
        np.testing.assert_allclose(pool.run(plan, a, b, c), a @ b)
        c[...] = KEPT
        name = "round_counts" if options.get("installments") else "counts"
        for change in (1, -1, -100):
            counts = np.array(getattr(plan, name))
            counts.ravel()[0] += change
            refused(
                lambda counts=counts: pool.run(replace(plan, **{name: counts}), a, b, c), "counts"
            )
    assert (c == KEPT).all()


def test_partitions_that_move(pool):
    plan = hs.partition([1.0, 2.0, 4.0], shape=(12, 15))
    a, b = matrices(12, 15, 8)
    c = np.full((12, 15), KEPT)
    refused(
        lambda: pool.run(replace(plan, pieces=plan.pieces[1:]), a, b, c, rebalance=2),
        "does not cover C",
    )
    assert (c == KEPT).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("order", ["plan", "demand"])
def test_chunks(pool, order):
    platform = hs.Platform.star([2.0, 3.0, 4.0], link_costs=[1.0, 2.0, 1.0], memory=[40, 60, 80])
    plan = hs.plan_product(6, 7, 3, platform, budget=0)
    a, b = matrices(6, 7, 3)
    c = np.full((6, 7), KEPT)
    np.testing.assert_allclose(pool.run(plan, a, b, c, order=order), a @ b)
    for chunks in changed(plan.chunks, "row", "col", "height", "width"):
        c[...] = KEPT
        refused(
            lambda chunks=chunks: pool.run(
                replace(plan, chunks=chunks, messages=plan.messages[:0]), a, b, c, order=order
            )
        )
        assert (c == KEPT).all()
    short = replace(plan, chunks=plan.chunks[1:], messages=plan.messages[:0])
    row, col = plan.chunks[0]["row"], plan.chunks[0]["col"]
    refused(
        lambda: pool.run(short, a, b, c, order=order),
        rf"does not cover C: block \({row}, {col}\) is in no chunk",
    )


def test_a_cut_log(pool):
    """On demand the messages of the plan are not followed, however few there are."""
    platform = hs.Platform.star([2.0, 3.0, 4.0], link_costs=[1.0, 2.0, 1.0], memory=[40, 60, 80])
    plan = hs.plan_product(6, 7, 3, platform, budget=0)
    a, b = matrices(6, 7, 3)
    cut = replace(plan, messages=plan.messages[:1])
    c, trace = pool.run(cut, a, b, order="demand", trace=True)
    np.testing.assert_allclose(c, a @ b)
    assert len(trace.events) > 1
    refused(lambda: pool.run(cut, a, b))


def test_panels(pool):
    platform = hs.Platform.star([2.0, 3.0, 4.0], link_costs=[1.0, 2.0, 1.0], memory=[40, 60, 80])
    plan = hs.plan_star_lu(6, platform, width=2, master_time=20.0)
    assert len(plan.products) == 2
    a = np.random.default_rng(3).random((12, 12)) + 12 * np.eye(12)
    pool.lu_factor(a, owner=plan)
    panels = plan.panels
    for k, panel in enumerate(panels):
        for other in (
            panel._replace(first=panel.first + 1),
            panel._replace(width=panel.width + 1),
            panel._replace(width=0),
            panel._replace(own=1),
            panel._replace(own=2),
            panel._replace(start=panel.start + 1e-3 * plan.makespan),
            panel._replace(factored=panel.factored * (1 + 1e-3)),
            panel._replace(solving=panel.solving * (1 + 1e-3)),
            panel._replace(end=panel.end * (1 + 1e-3)),
            panel._replace(updated=panel.updated * (1 + 1e-3)),
        ):
            wrong = (*panels[:k], other, *panels[k + 1 :])
            refused(
                lambda wrong=wrong: pool.lu_factor(a, owner=replace(plan, panels=wrong)),
                "panels|panel|products",
            )
        refused(
            lambda k=k: pool.lu_factor(
                a, owner=replace(plan, panels=(*panels[:k], *panels[k + 1 :]))
            ),
            "panels",
        )
    refused(lambda: replace(plan, makespan=2 * plan.makespan), "makespan|panels")
    refused(lambda: replace(plan, master_time=2 * plan.master_time), "panels")
    refused(lambda: pool.lu_factor(a, owner=replace(plan, products=plan.products[:-1])), "products")
    refused(
        lambda: pool.lu_factor(a, owner=replace(plan, products=plan.products[::-1])), "products"
    )
    last = replace(
        plan.products[-1],
        chunks=plan.products[-1].chunks[1:],
        messages=plan.products[-1].messages[:0],
    )
    columns = np.asfortranarray(a)
    refused(
        lambda: pool.lu_factor(
            columns, owner=replace(plan, products=(*plan.products[:-1], last)), overwrite_a=True
        )
    )
    assert (columns == a).all()


@pytest.mark.parametrize("run", ["lu_factor", "cholesky", "qr"])
def test_owners_of_blocks(pool, run):
    kind = "lu" if run == "lu_factor" else run
    a = np.asfortranarray(np.eye(12) * 3.0)
    for owner in (np.arange(6) % 3, np.arange(36).reshape(6, 6) % 3):
        plan = pool.plan_factor(12, 12, kind=kind, owner=owner, block=2)
        getattr(pool, run)(a, owner=plan)
        for bad in (-1, 3, np.iinfo(np.int32).max):
            wrong = plan.owner.copy()
            wrong.ravel()[-1] = bad
            with pytest.raises(ValueError, match=r"owner\[.*\] must be in \[0, 2\]"):
                getattr(pool, run)(a, owner=replace(plan, owner=wrong), overwrite_a=True)
            assert (a == np.eye(12) * 3.0).all()


def test_slices(pool):
    plan = pool.plan_stencil(6, 20, 3, ring=[0, 2, 1])
    u, out = np.random.default_rng(4).random((6, 20)), np.full((6, 20), KEPT)
    pool.stencil(u, 3, plan=plan, out=out)
    out[...] = KEPT
    for counts in ([1, 0, 0], [-1, 0, 0], [1, -1, 0] * plan.counts, [-100, 100, 0]):
        refused(
            lambda counts=counts: pool.stencil(
                u, 3, plan=replace(plan, counts=plan.counts + counts), out=out
            ),
            "counts|ring",
        )
    for ring in ([0, 2], [0, 2, 2], [0, 2, 3], [-1, 2, 1]):
        refused(
            lambda ring=ring: pool.stencil(u, 3, plan=replace(plan, ring=np.array(ring)), out=out),
            "ring",
        )
    assert (out == KEPT).all()


def test_owners_of_lines(pool):
    plan = hs.wavefront(3, 5, [1.0, 2.0, 4.0])
    stencil = hs.Stencil([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    image, out = np.ones((6, 10)), np.full((6, 10), KEPT)
    for bad in (-1, 3, np.iinfo(np.int32).min):
        owner = plan.owner.copy()
        owner[2] = bad
        refused(
            lambda owner=owner: pool.sweep(replace(plan, owner=owner), image, stencil, out),
            r"owner\[2\]",
        )
        assert (out == KEPT).all()


@pytest.mark.parametrize(
    "planned",
    [
        lambda: hs.min_time(9, [1.0, 2.0, 3.0], 0.1),
        lambda: hs.max_tasks(9.0, [1.0, 2.0, 3.0], 0.1, 0.1),
    ],
)
def test_tasks(pool, planned):
    plan, calls = planned(), []
    pool.run(plan, calls.append, range(plan.tasks))
    assert len(calls) == plan.tasks
    calls.clear()
    for change in ([1, 0, 0], [-1, 0, 0], [-100, 100, 0]):
        refused(
            lambda change=change: pool.run(
                replace(plan, counts=plan.counts + change), calls.append, range(plan.tasks)
            ),
            "counts|send_order",
        )
    order = plan.send_order
    for wrong in (
        order[1:],
        np.append(order, order[0]),
        np.append(order[1:], 3),
        np.append(order[1:], -1),
    ):
        refused(
            lambda wrong=wrong: pool.run(
                replace(plan, send_order=wrong), calls.append, range(plan.tasks)
            ),
            "send_order",
        )
    assert not calls


def test_loads(pool):
    plan, calls = hs.divisible_load(10.0, [1.0, 2.0, 3.0], 0.1, return_ratio=0.5), []
    rows = np.arange(100.0)
    np.testing.assert_array_equal(pool.run(plan, lambda part: part * 2, rows), 2 * rows)
    order = plan.send_order
    for fields in (
        {"shares": plan.shares * 0.9},
        {"shares": plan.shares * 1.1},
        {
            "shares": (
                plan.shares + [5.0, -5.0, 0.0]
                if plan.shares[1] < 5
                else plan.shares - [20.0, -20.0, 0.0]
            )
        },
        {"send_order": order[1:], "receive_order": order[1:]},
        {"send_order": np.append(order, order[0])},
        {"receive_order": plan.receive_order[1:]},
    ):
        refused(
            lambda fields=fields: pool.run(replace(plan, **fields), calls.append, rows),
            "shares|order",
        )
    assert not calls
