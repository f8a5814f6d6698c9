"""Plans of products: stars, layers, meshes, files, how many workers are worth it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import oracles.layers
import oracles.mesh

import hetsched as hs

from .areas import span, tiled
from .common import BYTES, CLOSE, EXACT, TILES, dealt, ints, judges, replayed, same


@judges(hs.StarPlan)
def _star(plan: hs.StarPlan) -> None:
    (r, s, t), p = plan.shape, len(plan.names)
    chunks, messages = plan.chunks.tolist(), plan.messages.tolist()
    updates, columns = ints("updates", plan.updates, (p,)), ints("columns", plan.columns, (p,))
    assert sum(updates) == r * s * t, f"{sum(updates)} updates of {r * s * t}"
    assert sum(columns) == s, f"{sum(columns)} columns of {s}"
    assert min(columns) >= 0, "a negative number of columns"
    assert ints("enrolled", plan.enrolled) == [i for i in range(p) if updates[i]], (
        "enrolled are others than work"
    )
    own = [0] * p
    for worker, _, _, _, _, height, width, *_ in chunks:
        own[worker] += height * width * t
    assert own == updates, f"updates {updates}, by the chunks {own}"
    for name in ("work", "traffic", "transfer", "re-use"):
        assert plan.bounds[name] <= plan.makespan * (1 + EXACT), (
            f"the bound {name} {plan.bounds[name]} is above the makespan"
        )
    same(
        "lower_bound",
        plan.lower_bound,
        min(plan.makespan, max(plan.bounds[x] for x in ("work", "traffic", "transfer", "re-use"))),
    )
    able = [
        1 / Fraction(x)
        for x, room in zip(plan.cycle_times.tolist(), plan.memory.tolist(), strict=True)
        if room >= 3
    ]
    speed = sum(able)  # of those that can hold a block of each operand
    assert plan.bounds["work"] <= float(r * s * t / speed) * (1 + EXACT), (
        "the bound of the work is above the work"
    )
    if len(messages) <= 100 * TILES and r * s <= 10 * TILES:
        same("makespan", plan.makespan, _port(plan, chunks, messages), EXACT)
        replayed(plan, end=plan.makespan)
    for name, makespan in plan.variants.items():
        assert plan.makespan <= makespan, f"the variant {name} is better"
    assert plan.planning_time >= 0, "a negative time"


def _port(plan: hs.StarPlan, chunks: list[Any], messages: list[Any]) -> float:
    """Replay the port's log: one message at a time, panels in order, results after the work, memory
    never above its limit."""
    (r, s, t), costs, times = plan.shape, plan.link_costs.tolist(), plan.cycle_times.tolist()
    owner = np.full((r, s), -1)
    for index, (_, _, _, row, col, height, width, *_) in enumerate(chunks):
        assert (owner[row : row + height, col : col + width] == -1).all(), (
            "a block of C in two chunks"
        )
        owner[row : row + height, col : col + width] = index
    assert (owner >= 0).all(), "a block of C in no chunk"
    assert sum(chunk[5] * chunk[6] for chunk in chunks) == r * s, "a chunk outside C"
    port, free, open_chunks = 0.0, [0.0] * len(costs), [0] * len(costs)
    inside: list[int] = [0] * len(costs)
    leaving: list[list[tuple[float, int]]] = [[] for _ in costs]
    layers, back, loaded = [0] * len(chunks), [0] * len(chunks), [False] * len(chunks)
    # of each panel: end of its update, layers
    done: list[dict[int, tuple[float, int]]] = [{} for _ in chunks]
    for worker, kind, chunk, layer, start, end, begin, stop in messages:
        own, held, buffers, _, _, h, w, depth, ahead = chunks[chunk]
        stays, comes, goes, length = [
            (h * w, h + w, 0, t),
            (h * t, h + t, h, w),
            (w * t, w + t, w, h),
        ][held]
        each, few = h * w * t // length, 0
        # blocks of A come one by one, and w of B with the first of a layer; or the other way about
        if buffers < 1:
            many, few = (h, w) if buffers == 0 else (w, h)
            comes, length, each, few = 1, t * many, few, 0 if layer % many else few
        assert worker == own, "a message to another worker than the chunk's"
        assert start >= port, "two messages at a time"
        port = end
        for _, blocks in (gone for gone in leaving[worker] if gone[0] <= start):
            inside[worker] -= blocks
        leaving[worker] = [gone for gone in leaving[worker] if gone[0] > start]
        if kind == 0:
            assert not loaded[chunk], "a chunk that is sent twice"
            assert open_chunks[worker] == ahead, (
                "a chunk before the result of the one before, or one ahead that is not"
            )
            open_chunks[worker] += 1
            loaded[chunk], blocks = True, stays
            inside[worker] += blocks
        elif kind == 1:
            assert loaded[chunk], "a panel before what is held"
            assert layer == layers[chunk] < length, "the panels are not in order"
            deep = min(depth, length - layer)
            layers[chunk], blocks = layer + deep, deep * comes + few
            assert begin >= max(end, free[worker]), "an update before its panel, or two at a time"
            same(
                "an update's length",
                stop - begin,
                each * deep * times[worker],
                CLOSE,
                plan.makespan,
            )
            free[worker], done[chunk][layer] = stop, (stop, deep)
            inside[worker] += blocks
            leaving[worker].append((stop, deep * (comes - goes)))
            if buffers < 1 and layer % many == many - 1:
                leaving[worker].append((stop, w if buffers == 0 else h))
        elif held == 0:
            assert layers[chunk] == length, "a result before the last panel"
            assert start >= max(x for x, _ in done[chunk].values()), (
                "a result before the last update"
            )
            blocks, back[chunk] = stays, length
            leaving[worker].append((end, stays))
        else:
            assert layer == back[chunk], "results are not in order"
            assert start >= done[chunk][layer][0], "a result before its update"
            blocks = done[chunk][layer][1] * goes
            back[chunk] += done[chunk][layer][1]
            leaving[worker].append((end, blocks + (stays if back[chunk] == length else 0)))
        open_chunks[worker] -= kind == 2 and back[chunk] == length
        assert 0 <= inside[worker] <= plan.memory[worker], (
            f"{inside[worker]} blocks with worker {worker}"
        )
        same("a message's length", end - start, blocks * costs[worker], CLOSE, plan.makespan)
    wanted = [
        (t, w, h)[held] * (1 if buffers > 0 else w if buffers else h)
        for _, held, buffers, _, _, h, w, *_ in chunks
    ]
    assert layers == back == wanted, "a chunk that is not done"
    return port


def _factor_and_solve(h: int, w: int) -> tuple[Fraction, Fraction]:
    """Block updates of a panel of h x w blocks, and of the rows beside it."""
    return Fraction(3 * h * w * w - w**3, 6), Fraction(w * w * (h - w), 2)


def _least_time_of_lu(plan: hs.StarLuPlan, width: int) -> float:
    """The first panel, and for each step the longer of two times. All its updates are done by the
    workers, for which the port brings each block once for every worker that uses it, and by the
    master, which also factors the next panel. And that panel follows its own updates, by the master
    alone or by the workers in a whole product."""
    able = sorted(
        (cost, 1 / time)
        for cost, time, memory in zip(
            plan.link_costs.tolist(), plan.cycle_times.tolist(), plan.memory.tolist(), strict=True
        )
        if memory >= 3
    )
    master = plan.master_time
    total = 0.0
    for h in range(plan.blocks, 0, -width):
        factor, solve = (master * float(x) for x in _factor_and_solve(h, min(width, h)))
        total += solve
        if h == plan.blocks:
            total += factor
        rest = h - width
        if rest <= 0:
            break
        port, rate = 1.0, 0.0  # of one unit of time
        for cost, speed in able:
            traffic = cost * (2 / rest + 2 / width)
            own = min(speed, port / traffic) if traffic else speed
            port -= own * traffic
            rate += own
        updates, after = rest * rest * width, min(width, rest)
        factor = master * float(_factor_and_solve(rest, after)[0])
        shared = (updates + factor / master) / (rate + 1 / master)
        first = min(master * rest * width * after, updates / rate if rate else math.inf)
        total += max(shared, first + factor)
    return total


@judges(hs.StarLuPlan)
def _star_lu(plan: hs.StarLuPlan) -> None:
    """Replay the master: a panel after its columns are updated, rows after the panel and after the
    product, own columns and the next product after the rows."""
    n, width, master = plan.blocks, plan.width, Fraction(plan.master_time)
    assert [panel.first for panel in plan.panels] == list(range(0, n, width)), "panels"
    products = list(plan.products)
    updates = [0] * len(plan.names)
    done = Fraction(0)  # by the master
    free = returned = Fraction(0)  # ends of the master's last work, and of the last product
    looks_ahead = False
    for k, panel in enumerate(plan.panels):
        assert panel.width == min(width, n - panel.first), "the width of a panel"
        h, w = n - panel.first, panel.width
        rest, own = h - w, panel.own
        factor, solve = _factor_and_solve(h, w)
        start = free if looks_ahead else max(free, returned)
        factored = start + factor * master
        solving = max(factored, returned)
        end = solving + solve * master
        free = end + own * rest * w * master
        done += factor + solve + own * rest * w
        for name, value in (
            ("start", start),
            ("factored", factored),
            ("solving", solving),
            ("end", end),
            ("updated", free),
        ):
            same(f"{name} of panel {k}", getattr(panel, name), float(value), CLOSE, plan.makespan)
        assert own == 0 or min(width, rest) <= own <= rest, f"{own} columns of the master"
        looks_ahead = own > 0
        returned = end
        if own < rest:
            product = products.pop(0)
            assert product.shape == (rest, rest - own, w), (
                f"step {k} is a product of {product.shape}"
            )
            for name in ("cycle_times", "link_costs"):
                assert (getattr(product, name) == getattr(plan, name)).all(), (
                    f"{name} of step {k} are others"
                )
            # without a limit: what the step needs
            assert (product.memory <= plan.memory).all(), "more memory than there is"
            _star(product)
            returned = end + Fraction(product.makespan)
            updates = [x + y for x, y in zip(updates, product.updates.tolist(), strict=True)]
    assert not products, "a product too many"
    assert done + sum(updates) == Fraction(n**3, 3), "work that is not done, or done twice"
    same("makespan", plan.makespan, float(free), CLOSE)
    assert ints("updates", plan.updates, (len(plan.names),)) == updates, (
        "updates are not those of the products"
    )
    least = min(_least_time_of_lu(plan, width) for width in range(1, n + 1))
    assert plan.bound <= least * (1 + EXACT), "the bound is above the work and the traffic"
    replayed(plan, end=plan.makespan, others=1)
    assert plan.planning_time >= 0, "a negative time"


@judges(hs.LayersPlan)
def _layers(plan: hs.LayersPlan) -> None:
    n, times, costs = plan.n, plan.cycle_times.tolist(), plan.link_costs.tolist()
    p = len(times)
    counts, order = ints("counts", plan.counts, (p,)), ints("order", plan.order)
    dealt(counts, ints("displs", plan.displs, (p,)), times)
    assert sum(counts) == n, f"{sum(counts)} layers of {n}"
    busy = [i for i in range(p) if counts[i]]
    assert sorted(order) == busy, f"messages go to {order}, layers are with {busy}"
    beside = n if plan.disk else n * n
    assert ints("elements_held", plan.elements_held, (p,)) == [
        2 * n * c + beside if c else 0 for c in counts
    ], "elements held"
    assert (plan.elements_held <= plan.memory).all(), "more elements than there is memory for"
    on_disk = [n * n if c and plan.disk else 0 for c in counts]
    assert ints("elements_on_disk", plan.elements_on_disk, (p,)) == on_disk, "elements on disk"
    assert plan.volume == 2 * n * n, f"volume {plan.volume}"
    assert plan.volume_with_sum == (2 + max(len(busy) - 1, 0)) * n * n, (
        f"volume_with_sum {plan.volume_with_sum}"
    )
    able = [i for i in range(p) if not math.isinf(times[i])]
    work, message = oracles.layers.per_layer(n, [times[i] for i in able], [costs[i] for i in able])
    place = {i: k for k, i in enumerate(able)}
    own = [counts[i] for i in able]
    room = [
        (Fraction(plan.memory[i]) - beside) // (2 * n) if n and math.isfinite(plan.memory[i]) else n
        for i in able
    ]
    most = [max(0, min(n, int(layers))) for layers in room]
    end = oracles.layers.last_end(plan.mode, work, message, [place[i] for i in order], own)
    same("makespan", plan.makespan, float(end), EXACT * 10)
    link = 0.0
    for i in order:
        (begin, stop), (start, done) = plan.receive[i].tolist(), plan.compute[i].tolist()
        if plan.mode[0] == "s":
            same(f"start of the message to {i}", begin, link, CLOSE, plan.makespan)
            link = stop
        else:
            assert begin == 0, "a message that waits"
        same("a message's length", stop - begin, 2 * n * counts[i] * costs[i], CLOSE, plan.makespan)
        same("start of the work", start, begin if plan.mode in ("scss", "pcss") else stop, EXACT)
        same("end of the work", done, max(stop, start + n * n * counts[i] * times[i]), CLOSE)
    assert not plan.receive[[i for i in range(p) if i not in order]].any(), (
        "a message without layers"
    )
    same("sum of shares", math.fsum(plan.shares.tolist()), float(n), CLOSE)
    assert (plan.shares >= 0).all(), "a negative share"
    if n and plan.method == "exact" and min(most) == n:
        same(
            "relaxed",
            plan.relaxed,
            float(oracles.layers.relaxed_end(plan.mode, work, message, n, range(len(able)))),
            CLOSE,
        )
    if plan.method == "exact":
        assert plan.relaxed <= plan.makespan * (1 + CLOSE), "whole layers are faster than any"
    if len(able) <= 3 and n <= 7:
        best = oracles.layers.least_of_all(plan.mode, work, message, n, most)
        assert best is not None, "more layers than there is memory for"
        least = float(best)
        assert plan.lower_bound <= least * (1 + EXACT * 10), (
            f"lower_bound {plan.lower_bound!r} is above the optimum {least!r}"
        )
        assert not plan.optimal or plan.makespan <= least * (1 + EXACT * 10), (
            f"optimal, but {least!r} is possible"
        )
    replayed(plan, end=plan.makespan, shared=False)


@judges(hs.InstallmentPlan)
def _installments(plan: hs.InstallmentPlan) -> None:
    oracles.mesh.replay_installments(plan)
    assert plan.source == plan.sources[0], "source is not the first of sources"
    rounds, p, m = plan.installments, len(plan.cycle_times), len(plan.links)
    assert (
        plan.round_counts.shape == plan.round_start.shape == plan.round_finish.shape == (rounds, p)
    ), "shapes differ"
    assert plan.round_flows.shape == (rounds, m), "flows are not for each link"
    same("counts", plan.counts.ravel(), plan.round_counts.sum(axis=0), CLOSE)
    same("flows", plan.flows, plan.round_flows.sum(axis=0), CLOSE)
    same("start", plan.start.ravel(), plan.round_start[-1], EXACT)
    same("finish", plan.finish.ravel(), plan.round_finish[-1], EXACT)
    same("volume", plan.volume, math.fsum(plan.flows.tolist()), CLOSE)
    assert plan.lp_solves > 0, "no linear program was solved"
    replayed(plan, end=plan.makespan)


@judges(hs.MeshPlan)
def _mesh(plan: hs.MeshPlan) -> None:
    assert (
        plan.counts.shape
        == plan.start.shape
        == plan.finish.shape
        == (plan.shape or plan.cycle_times.shape)
    ), "shapes differ"
    kinds = {"relaxed": "f", "given": "if"}.get(plan.method, "i")
    assert plan.counts.dtype.kind in kinds, f"counts have dtype {plan.counts.dtype}"
    oracles.mesh.replay(plan)
    idle = np.isinf(plan.cycle_times)
    assert not (plan.counts.ravel()[idle] > 0).any(), "layers for a node that cannot compute"
    held = np.zeros(len(plan.cycle_times))
    np.add.at(held, plan.links[:, 1], plan.flows)
    held[plan.source] = 2.0 * plan.n**2
    beside = float(plan.n if plan.disk else plan.n**2)
    same(
        "elements_held",
        plan.elements_held.ravel(),
        held + (plan.counts.ravel() > 0) * beside,
        CLOSE,
    )
    assert (plan.elements_held.ravel() <= plan.memory * (1 + CLOSE)).all(), (
        "more elements than there is memory for"
    )
    assert plan.elements_on_disk.sum() == plan.disk * float((plan.counts > 0).sum()) * plan.n**2, (
        "elements on disk"
    )
    same("volume", plan.volume, math.fsum(plan.flows.tolist()), CLOSE)
    assert plan.volume <= plan.volume_with_sum, "a sum that is sent by itself"
    assert plan.lp_solves > 0, "no linear program was solved"
    replayed(plan, end=plan.makespan)


MODES = {  # in steps, at the same time, work from the start of the transfer on
    "once": (False, False, False),
    "sequential": (True, False, False),
    "parallel": (True, True, False),
    "scss": (False, False, True),
    "sccs": (False, False, False),
    "pccs": (False, True, False),
    "pcss": (False, True, True),
}


@judges(hs.ProductPlan)
def _product(plan: hs.ProductPlan) -> None:
    (m, n, k), p = plan.shape, len(plan.names)
    times, costs = plan.cycle_times.tolist(), plan.link_costs.tolist()
    boxes = ints("boxes", plan.boxes, (len(plan.boxes), 7))
    assert all(0 <= box[0] < p for box in boxes), "a worker that does not exist"
    if plan.triangle:
        volumes, total = _below(boxes, plan.shape), n * (n + 1) // 2 * k
    else:
        if m and n and k and len(boxes) ** 2 <= 100 * TILES:
            tiled([box[1:] for box in boxes], plan.shape, 0)
        volumes, total = [math.prod(box[4:]) for box in boxes], m * n * k
    assert sum(volumes) == total, f"the boxes have {sum(volumes)} iterations of {total}"
    flops = [0] * p
    for box, volume in zip(boxes, volumes, strict=True):
        flops[box[0]] += volume
    rate = next((f for f in (2.0, 8.0) if sum(plan.flops.tolist()) == f * total), None)
    assert rate is not None, f"{plan.flops.sum()} flops for {total} updates"
    same("flops", plan.flops, [rate * x for x in flops], EXACT)
    stepwise, parallel, overlap = MODES[plan.communication]
    speed = sum(1 / Fraction(t) for t in times)
    ideal = float(Fraction(rate) * total / speed / 10**9)
    if plan.method != "profiles":  # whose bound is that of the zones' times
        same("lower_bound", plan.lower_bound, min(ideal, plan.makespan), EXACT * 10)
    port, ready = 0.0, [0.0] * p
    sent, receive = plan.sent.tolist(), plan.receive.tolist()
    assert len(sent) == len(receive) == len(boxes), "sent or receive are not for each box"
    lengths, before = (
        [data * costs[box[0]] / 1e9 for box, data in zip(boxes, sent, strict=True)],
        [0.0] * len(boxes),
    )
    if plan.messages is not None:
        lengths, before = _messages(plan, boxes)
    for box, volume, length, earliest, (start, end) in zip(
        boxes, volumes, lengths, before, receive, strict=True
    ):
        worker = box[0]
        wanted = max(ready[worker], earliest, 0.0 if parallel or not length else port)
        same("start of a transfer", start, wanted, CLOSE, plan.makespan)
        same("a transfer's length", end - start, length, CLOSE, plan.makespan)
        if end > start:
            port = end
        ready[worker] = max((start if overlap else end) + rate * volume * times[worker] / 1e9, end)
    last = max(ready)
    if not stepwise and plan.layers is None and not plan.shared and plan.messages is None:
        _sent(plan, boxes, sent)
    if plan.domains is not None:
        _domains(plan, boxes, [box[0] for box in boxes])
    if plan.layers is not None:
        last += _layer_sum(plan, boxes, rate, last)
    else:
        assert all(box[3] == 0 for box in boxes) or stepwise, "boxes above each other, and no sum"
    same("makespan", plan.makespan, last, CLOSE)
    assert plan.shared or plan.received.sum() >= 0, "received"
    replayed(plan, end=None, shared=plan.shared, scale=plan.makespan)


def _messages(plan: hs.ProductPlan, boxes: list[list[int]]) -> tuple[list[float], list[float]]:
    """How long each box's messages take, and when all of them are with their senders; nobody sends
    himself something."""
    lengths, before, data = [0.0] * len(boxes), [0.0] * len(boxes), [0.0] * len(boxes)
    for box, sender, size, after in plan.messages.tolist():
        worker = boxes[box][0]
        assert size > 0, "an empty message"
        assert 0 <= sender < len(plan.names), "a sender who does not exist"
        assert sender != worker, "a message to oneself"
        if after >= 0:
            assert boxes[after][0] == sender, "what the sender waits for is another one's"
            before[box] = max(before[box], plan.receive[after, 1])
        lengths[box] += size * plan.links[sender, worker] / 1e9
        data[box] += size
    same("sent", plan.sent, data, CLOSE)
    return lengths, before


def _below(boxes: list[list[int]], shape: tuple[int, int, int]) -> list[int]:
    """The iterations of each box, which must be columns of the lower triangle side by side, from
    the diagonal down."""
    n, _, k = shape
    assert shape[0] == shape[1], "a triangle of a matrix that is not square"
    next_col, volumes = 0, []
    for _, row, col, depth, height, width, length in boxes:
        assert (row, col, depth, height, length) == (
            next_col,
            next_col,
            0,
            n - next_col,
            k,
        ), "a box out of place"
        assert 0 < width <= n - col, "a box outside of C"
        next_col += width
        volumes.append((height * width - width * (width - 1) // 2) * k)
    assert next_col == n, "columns in no box"
    return volumes


def _sent(plan: hs.ProductPlan, boxes: list[list[int]], sent: list[float]) -> None:
    """Each worker gets the rows of A and the columns of B that its zone spans, all of them with its
    first box."""
    size = None
    for worker in {box[0] for box in boxes}:
        own = [i for i, box in enumerate(boxes) if box[0] == worker]
        sides = (1,) if plan.triangle else (1, 2)  # the columns are among the rows
        spans = sum(span((boxes[i][a], boxes[i][a + 3]) for i in own) for a in sides)
        data = sent[own[0]]
        assert not any(sent[i] for i in own[1:]), f"worker {worker} gets something twice"
        if spans * plan.shape[2]:
            size = data / (spans * plan.shape[2]) if size is None else size
            assert size in (4, 8, 16), f"elements of {size} bytes"
            same(f"bytes for worker {worker}", data, size * spans * plan.shape[2])


def _domains(plan: hs.ProductPlan, boxes: list[list[int]], workers: list[int]) -> None:
    """Each domain's boxes are a rectangle of C; what it packs and how often it meets follows from
    panels of 256 x 4096; it reads no more from elsewhere than it packs."""
    found, k = plan.domains, plan.shape[2]
    assert found is not None
    d = len(found.names)
    of = ints("of", found.of, (len(plan.names),))
    assert set(of) == set(range(d)), "a domain without workers, or a worker without a domain"
    sizes = set()
    for domain in range(d):
        own = [box for box, worker in zip(boxes, workers, strict=True) if of[worker] == domain]
        rows, cols = ({(box[a], box[a + 3]) for box in own} for a in (1, 2))
        height, width = (sum(size for _, size in sides) for sides in (rows, cols))
        if own and k:
            area = sum(box[4] * box[5] * box[6] for box in own)
            assert area == height * width * k, "a domain's zones are no rectangle"
        panels = -(-width // 4096)
        assert found.synchronisations[domain] == panels * -(-k // 256) * len(
            {box[0] for box in own}
        ), "synchronisations"
        spans = height * panels + width
        if spans * k:
            sizes.add(found.packed[domain] / (spans * k))
        assert (found.traffic[domain] >= 0).all(), "less than no traffic"
        assert (found.traffic[domain] <= found.packed[domain]).all(), "more is read than packed"
    assert len(sizes) <= 1, "elements of several sizes"
    assert sizes <= {4.0, 8.0, 16.0}, f"elements of {sizes} bytes"


def _layer_sum(plan: hs.ProductPlan, boxes: list[list[int]], rate: float, last: float) -> float:
    """How long the sum of the layers takes."""
    layers = plan.layers
    assert layers is not None
    (m, n, _), p = plan.shape, len(plan.names)
    rows = layers.rows.tolist()
    assert rows[0] == 0, "the sum does not begin with the first row"
    assert rows[-1] == m, "the sum does not end with the last row"
    assert rows == sorted(rows), "the rows of the sum do not ascend"
    same("start of the sum", layers.start, last, CLOSE)
    if plan.shared:
        return plan.makespan - last
    adds = 1.0 if rate == 2.0 else 2.0
    _, parallel, overlap = MODES[plan.communication]
    port = longest = 0.0
    size = None
    for w in range(p):
        held = foreign = 0
        for worker, row, _, _, height, width, _ in boxes:
            cells = max(0, min(rows[w + 1], row + height) - max(rows[w], row)) * width
            held += cells
            foreign += cells if worker != w else 0
        if foreign:
            size = layers.sent[w] / foreign if size is None else size
            assert size in (4, 8, 16), f"elements of {size} bytes"
        same(f"bytes of the sum for worker {w}", layers.sent[w], (size or 0) * foreign)
        same(
            f"additions of worker {w}",
            layers.flops[w],
            adds * max(0, held - (rows[w + 1] - rows[w]) * n),
        )
        length = float(layers.sent[w] * plan.link_costs[w] / 1e9)
        start = port if length and not parallel else 0.0
        same(
            f"sum's transfer to worker {w}",
            layers.receive[w],
            (start, start + length),
            CLOSE,
            plan.makespan,
        )
        port = max(port, start + length) if length else port
        work = float(layers.flops[w] * plan.cycle_times[w] / 1e9)
        longest = max(longest, (start if overlap else start + length) + work, start + length)
    return longest


@judges(hs.FilesPlan)
def _files(plan: hs.FilesPlan) -> None:
    (m, n, k), (h, v) = plan.shape, plan.tile
    assert plan.stationary in "ABC", f"stationary {plan.stationary!r}"
    assert h >= 1, f"tiles {h} high"
    assert v >= 1, f"tiles {v} wide"
    assert plan.depth >= 1, f"chunks {plan.depth} deep"
    assert plan.peak <= plan.memory, f"needs {plan.peak} bytes of {plan.memory}"
    rows, cols = len(range(0, m, h)), len(range(0, n, v))
    assert plan.grid == (rows, cols, max(1, len(range(0, k, plan.depth)))), f"grid {plan.grid}"
    passes = (
        min(cols, 1) if plan.stationary == "A" else cols,
        min(rows, 1) if plan.stationary == "B" else rows,
    )
    sizes = []
    for what, elements, times in (("A", m * k, passes[0]), ("B", k * n, passes[1])):
        read = plan.read["AB".index(what)]
        if elements * times:
            size, rest = divmod(read, elements * times)
            assert rest == 0, f"{read} bytes of {what} are not {times} times {elements} elements"
            assert 1 <= size <= 16, f"{what} has elements of {size} bytes"
            sizes.append((size, elements))
        else:
            assert read == 0, f"{read} bytes of {what}, which has none"
    assert plan.written == m * n * BYTES[plan.dtype], f"{plan.written} bytes written"
    assert plan.traffic == sum(plan.read) + plan.written, "traffic is not the sum of its parts"
    assert plan.compulsory == sum(size * elements for size, elements in sizes) + plan.written, (
        "compulsory"
    )
    if len(sizes) == 2:
        least = min(BYTES[plan.dtype], *(size for size, _ in sizes))
        elements = plan.memory / least
        wanted = max(0.0, least * (2.0 * m * n * k / math.sqrt(elements) - 2.0 * elements))
        same("io_bound", plan.io_bound, wanted, EXACT)
    same(
        "lower_bound",
        plan.lower_bound,
        min(plan.traffic, max(plan.compulsory, plan.io_bound)),
        EXACT,
    )
    held = BYTES[plan.dtype] * (h * plan.depth + plan.depth * v + h * v)
    assert plan.peak >= held, f"a peak of {plan.peak} bytes for tiles of {held}"


@judges(hs.WorkersWorth)
def _worth(plan: hs.WorkersWorth) -> None:
    times, bounds, p = plan.times.tolist(), plan.bounds.tolist(), len(plan.names)
    assert len(times) == len(bounds) == p, "not a time for each number of workers"
    assert 1 <= plan.workers <= p, f"{plan.workers} of {p} workers"
    enough = [i + 1 for i, time in enumerate(times) if time <= 1.02 * min(times)]
    assert plan.workers == enough[0] or plan.method == "given", (
        f"{plan.workers} workers, {enough[0]} are within 2 %"
    )
    assert len(set(plan.enrolled)) == len(plan.enrolled) == plan.workers, (
        f"enrolled {plan.enrolled}"
    )
    assert set(plan.enrolled) <= set(range(p)), f"enrolled {plan.enrolled}"
    same("makespan", plan.makespan, times[plan.workers - 1])
    assert all(bound <= time for bound, time in zip(bounds, times, strict=True)), (
        "a time below its bound"
    )
    same("lower_bound", plan.lower_bound, min(min(bounds), plan.makespan))
    assert str(plan.workers) in plan.describe(), "describe"
    replayed(plan, end=plan.makespan)


@judges(hs.DynamicProduct)
def _dynamic(plan: hs.DynamicProduct) -> None:
    p, n, deep = len(plan.names), plan.n, plan.kind == "matrix"
    tasks, times = ints("tasks", plan.tasks), plan.cycle_times.tolist()
    wanted = [(i, j, k) for i in range(n) for j in range(n) for k in range(n if deep else 1)]
    places = [tuple(place) for _, *place in tasks]
    assert sorted(places) == wanted, "a task that is missing, or done twice"
    if plan.method == "sorted":
        assert places == wanted, "the tasks are not sorted"
    held: list[list[set[Any]]] = [[set(), set(), set()] for _ in range(p)]
    counts, received = [0] * p, [[0] * 3 for _ in range(p)]
    for (worker, i, j, k), blocks in zip(tasks, ints("sent", plan.sent), strict=True):
        new = [(i, k), (k, j), (i, j)] if deep else [(i,), (j,)]
        for operand, block in zip(held[worker], new, strict=False):
            operand.add(block)
        counts[worker] += 1
        received[worker] = [a + b for a, b in zip(received[worker], blocks, strict=True)]
    dealt(counts, None, times)
    same("blocks", plan.blocks, received)
    for worker in range(p):
        needed = [len(operand) for operand in held[worker]]
        if plan.method in ("random", "sorted"):
            assert received[worker] == needed, f"worker {worker} needs {needed} blocks"
        assert all(a >= b for a, b in zip(received[worker], needed, strict=True)), (
            f"worker {worker} has {received[worker]} blocks and needs {needed}"
        )
        assert max(received[worker]) <= (n * n if deep else n), "a block that is sent twice"
    assert plan.volume == sum(map(sum, received)), f"the volume is {sum(map(sum, received))}"
    same("bound", plan.bound, min(sum(_least_blocks(c, deep) for c in counts), plan.volume))
    shares = [1 / Fraction(t) if math.isfinite(t) else Fraction(0) for t in times]
    speeds = [float(share / sum(shares)) for share in shares]
    d = 3 if deep else 2
    balanced = d * n ** (d - 1) * math.fsum(s ** ((d - 1) / d) for s in speeds)
    same("balanced_bound", plan.balanced_bound, balanced, EXACT * 10)
    ends = [count * Fraction(t) for count, t in zip(counts, times, strict=True) if count]
    same("makespan", plan.makespan, float(max(ends, default=0)), EXACT)
    ideal = float(n**d / sum(shares))
    same("makespan_bound", plan.makespan_bound, min(ideal, plan.makespan), EXACT * 10)
    assert (plan.beta is None) == (plan.method != "dynamic-2phases"), f"beta is {plan.beta}"
    most = d * math.log(max(n, 1))
    betas = {"dynamic-2phases": plan.beta, "dynamic": most, "random": 0.0}
    if (beta := betas.get(plan.method)) is None:
        assert plan.predicted is None, "a prediction for sorted tasks"
    elif plan.predicted is not None:
        expected = sum(_expected_blocks(n, d, min(beta, most), s) for s in speeds if s)
        same("predicted", plan.predicted, expected if n else 0.0, CLOSE)
    replayed(plan, end=plan.makespan)


def _least_blocks(tasks: int, deep: bool) -> int:
    """Fewest blocks of two vectors with so many pairs, or of three matrices whose product is at
    least the square of the tasks: each number of blocks of A and B is tried."""
    if tasks == 0:
        return 0
    if not deep:
        return min(a + -(-tasks // a) for a in range(1, tasks + 1))
    side = range(1, tasks + 1)
    if tasks > 60:  # near the cube only
        middle = round(tasks ** (2 / 3))
        side = range(max(1, middle - 3), middle + 4)
    return min(a + b + -(-tasks * tasks // (a * b)) for a in side for b in side)


def _expected_blocks(n: int, d: int, beta: float, s: float) -> float:
    """Of docs/theory.md: known after the first phase, and sent in the second."""
    left = math.exp(-beta)
    if s == 1.0:
        return float(d * n ** (d - 1))
    known = (1.0 - left**s) ** ((d - 1) / d)
    fraction = left / (left**s)
    return d * n ** (d - 1) * (known + (1.0 - known) * (1.0 - (1.0 - s) ** (n * fraction)))
