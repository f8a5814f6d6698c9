"""Cases for all ranks: products, zones and measurements. Started by test_mpi_product.py."""

import json
import os
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import mpi_run
import numpy as np
from instances import with_boxes
from mpi4py import MPI

import hetsched as hs

DTYPES = ("float32", "float64", "complex64", "complex128")


def matrix(rows, cols, dtype="float64", seed=0):
    """The same on every rank; of small integers, whose products are exact."""
    rng = np.random.default_rng([rows, cols, seed])
    real = rng.integers(-4, 5, (rows, cols)).astype(dtype)
    return (
        real + 1j * rng.integers(-4, 5, (rows, cols)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else real
    )


def at(comm, value, root=0):
    return value if comm.rank == root else None


def platform(p):
    return hs.Platform.star(np.arange(1.0, p + 1.0), link_costs=np.arange(p) / 10.0)


def checked(comm, a, b, plan, root=0, **options):
    got = hs.mpi.matmul(
        comm, at(comm, a, root), at(comm, b, root), at(comm, plan, root), root, **options
    )
    trace = None
    if options.get("trace"):
        got, trace = got
    if comm.rank == root:
        assert got.dtype == np.result_type(a, b)
        np.testing.assert_array_equal(got, a @ b)
    else:
        assert got is None
        assert trace is None
    return trace


def received(plan, a, b):
    """(p,) bytes of operands and layers that each rank gets from others, counted element by
    element; A and B are the holders of each element."""
    m, n, _ = plan.shape
    p, itemsize = len(plan.names), 8
    need_a, need_b = (np.zeros((p, *x.shape), bool) for x in (a, b))
    layer = np.zeros((p, m, n), bool)
    for rank, r, c, d, h, w, length in plan.boxes.tolist():
        need_a[rank, r : r + h, d : d + length] = True
        need_b[rank, d : d + length, c : c + w] = True
        layer[rank, r : r + h, c : c + w] = True
    found = np.array(
        [int((need_a[i] & (a != i)).sum() + (need_b[i] & (b != i)).sum()) for i in range(p)]
    )
    if plan.layers is not None:
        rows = plan.layers.rows
        for i in range(p):
            found[i] += sum(int(layer[j, rows[i] : rows[i + 1]].sum()) for j in range(p) if j != i)
    return (itemsize * found).tolist()


def case_methods(comm):
    m, k, n = 61, 47, 53
    a, b = matrix(m, k), matrix(k, n)
    for method in ("columns", "rows", "rectangles", "layers", "cuboids", "best", "contiguous"):
        plan = hs.plan_matmul(m, n, k, platform(comm.size), method=method)
        trace = checked(comm, a, b, plan, trace=True)
        if comm.rank == 0:
            assert list(trace.received) == received(
                plan, np.zeros(a.shape, int), np.zeros(b.shape, int)
            ), method
            assert trace.clock_error >= 0
            assert trace.predicted == plan.makespan
            assert {event.worker for event in trace.events if event.kind == "compute"} == set(
                plan.boxes[:, 0].tolist()
            )
    if comm.rank == 0:  # what the planners call received is from the root
        for method in ("columns", "rectangles"):
            plan = hs.plan_matmul(m, n, k, platform(comm.size), method=method)
            counted = received(plan, np.zeros(a.shape, int), np.zeros(b.shape, int))
            assert counted[1:] == plan.received[1:].astype(int).tolist()


def case_steps(comm):
    for block in (1, 7, 16):
        for communication in ("sequential", "parallel"):
            plan = hs.plan_matmul(
                33,
                34,
                32,
                platform(comm.size),
                method="rectangles",
                block=block,
                communication=communication,
            )
            checked(comm, matrix(33, 32), matrix(32, 34), plan)


def case_sizes(comm):
    for m, k, n in [
        (0, 3, 4),
        (3, 0, 4),
        (3, 4, 0),
        (0, 0, 0),
        (1, 1, 1),
        (2, 2, 2),
        (1, 300, 1),
        (15, 16, 17),
        (129, 128, 127),
    ]:
        checked(comm, matrix(m, k), matrix(k, n), hs.plan_matmul(m, n, k, platform(comm.size)))
    checked(comm, matrix(5, 4), matrix(4, 6), None)
    long = hs.plan_matmul(20, 20, 1100, platform(comm.size), method="columns")  # three panels
    checked(comm, matrix(20, 1100), matrix(1100, 20), long)


def case_dtypes(comm):
    for i, left in enumerate(DTYPES):
        right = DTYPES[(i + 1) % 4]
        for b in (left, right):
            plan = hs.plan_matmul(20, 19, 18, platform(comm.size), dtype=np.result_type(left, b))
            checked(comm, matrix(20, 18, left), matrix(18, 19, b), plan)


def case_strides(comm):
    a, b = matrix(40, 30), matrix(50, 60)
    plan = hs.plan_matmul(30, 25, 40, platform(comm.size))
    checked(comm, a.T, b[:40, ::-1][:, 5:55:2], plan)


def case_plans(comm):
    p = comm.size
    speeds = np.arange(1.0, p + 1.0)
    a, b = matrix(48, 40), matrix(40, 44)
    checked(comm, a, b, hs.partition(speeds, "columns", (48, 44)))
    checked(comm, a, b, hs.partition(speeds, "contiguous", (12, 11)))
    checked(comm, a, b, hs.cuboids(platform(p), shape=(48, 44, 40)))
    checked(comm, matrix(40, 40), b, hs.layers_star(40, platform(p)))
    line = np.ones((1, p)), np.full((1, p - 1), 0.1), np.empty((0, p))
    checked(comm, matrix(40, 40), b, hs.layers_mesh(40, *line, source_computes=True))
    cluster = hs.Platform.complete(speeds, 0.1 * (1.0 - np.eye(p)))
    nodes = hs.Platform(
        cluster.workers, links=cluster.links, nodes=[f"node {i // 2}" for i in range(p)]
    )
    if p == 4:
        star = hs.Platform.star(speeds)
        for communication in ("sequential", "parallel"):
            steps = {"communication": communication, "block": 4, "method": "cannon"}
            checked(comm, a, b, hs.plan_matmul(48, 44, 40, star, **steps))
        checked(comm, a, b, hs.plan_matmul(48, 44, 40, nodes, method="nodes"))
    useless = hs.plan_matmul(
        48, 44, 40, hs.Platform.star([1.0] * (p - 1) + [1e6]), method="columns"
    )
    trace = checked(comm, a, b, useless, trace=True)
    if comm.rank == 0:
        assert trace.received[-1] == 0


def case_root(comm):
    last = comm.size - 1
    a, b = matrix(30, 31), matrix(31, 29)
    trace = checked(
        comm,
        a,
        b,
        hs.plan_matmul(30, 29, 31, platform(comm.size), method="rectangles"),
        last,
        trace=True,
    )
    if comm.rank == last:
        assert trace.received[last] == 0
    checked(comm, a, b, None, last)


def case_zones(comm):
    p = comm.size
    speeds = np.arange(1.0, p + 1.0)
    a, b = matrix(36, 24), matrix(24, 30)
    plan = hs.plan_matmul(36, 30, 24, platform(p), method="rectangles")
    plans = (
        hs.partition(speeds, "columns", (12, 8)),
        hs.partition(speeds, "contiguous", (6, 4)),
        plan,
        hs.lu_pattern(8, 1 / speeds),
        hs.plan_matmul(36, 30, 24, platform(p), method="layers"),
    )
    for left in (*plans, hs.distribute(36, speeds=speeds)):
        x = hs.mpi.scatter(comm, at(comm, a), left)
        for box, part in zip(x.own.tolist(), x.parts, strict=True):
            np.testing.assert_array_equal(
                part, a[box[1] : box[1] + box[3], box[2] : box[2] + box[4]]
            )
        covered = np.zeros(a.shape, int)
        for _, r, c, h, w in x.boxes.tolist():
            covered[r : r + h, c : c + w] += 1
        assert (covered == 1).all()
        back = hs.mpi.gather(comm, x)
        assert (back is None) == (comm.rank > 0)
        if comm.rank == 0:
            np.testing.assert_array_equal(back, a)
    for left in plans:
        x, y = hs.mpi.scatter(comm, at(comm, a), left), hs.mpi.scatter(comm, at(comm, b), plans[1])
        c, trace = hs.mpi.matmul(comm, x, y, plan, trace=True)
        assert isinstance(c, hs.mpi.Zone)
        whole = hs.mpi.gather(comm, c)
        if comm.rank == 0:
            np.testing.assert_array_equal(whole, a @ b)
            holders = [np.zeros(shape, int) for shape in (a.shape, b.shape)]
            for holder, zone in zip(holders, (x, y), strict=True):
                for rank, r, col, h, w in zone.boxes.tolist():
                    holder[r : r + h, col : col + w] = rank
            assert list(trace.received) == received(plan, *holders)
    mixed = hs.mpi.gather(comm, hs.mpi.matmul(comm, x, at(comm, b), plan))
    if comm.rank == 0:
        np.testing.assert_array_equal(mixed, a @ b)


def case_grid(comm):
    a = matrix(23, 23)
    plan = hs.lu_grid(6, np.arange(1.0, comm.size + 1.0))
    back = hs.mpi.gather(comm, hs.mpi.scatter(comm, at(comm, a), plan))
    if comm.rank == 0:
        np.testing.assert_array_equal(back, a)


def case_held(comm):
    """LU of a matrix whose block columns the ranks hold, and systems with the factors."""
    import scipy.linalg

    rng = np.random.default_rng(3)
    for n, count in [(1, 1), (40, 5), (41, 6), (30, 30)]:
        for dtype in DTYPES:
            a, b = (
                rng.standard_normal((n, n)).astype(dtype),
                rng.standard_normal((n, 3)).astype(dtype),
            )
            zone = hs.mpi.scatter(
                comm, at(comm, a), hs.lu_pattern(count, np.arange(1.0, comm.size + 1.0))
            )
            before = [part.copy() for part in zone.parts]
            factors, piv = hs.mpi.lu_factor(comm, zone)
            assert all(
                np.array_equal(old, new) for old, new in zip(before, zone.parts, strict=True)
            )
            whole = hs.mpi.gather(comm, factors)
            x, y = (
                hs.mpi.lu_solve(comm, (factors, piv), at(comm, right)) for right in (b, b[:, 0])
            )
            close = 1e-3 if np.finfo(dtype).bits == 32 else 1e-9
            np.testing.assert_array_equal(piv, scipy.linalg.lu_factor(a)[1])
            if comm.rank == 0:
                np.testing.assert_allclose(
                    whole, scipy.linalg.lu_factor(a)[0], rtol=close, atol=close
                )
                np.testing.assert_allclose(a @ x, b, rtol=10 * close, atol=10 * close)
                assert y.shape == (n,)
                np.testing.assert_allclose(y, x[:, 0], rtol=close, atol=close)
            else:
                assert x is None
    a, b = rng.standard_normal((45, 45)), rng.standard_normal((45, 2))
    a = a @ a.T + 45 * np.eye(45)
    deal = hs.lu_pattern(9, np.arange(1.0, comm.size + 1.0))
    L = hs.mpi.cholesky(comm, hs.mpi.scatter(comm, at(comm, a), deal))
    x = hs.mpi.cho_solve(comm, L, at(comm, b))
    assert comm.rank or np.allclose(a @ x, b)
    rows = hs.mpi.scatter(comm, at(comm, np.eye(8)), hs.distribute(8, [1.0] * comm.size))
    if comm.size > 1:
        some = lambda: hs.mpi.lu_factor(comm, at(comm, zone))  # noqa: E731
        _same_error(comm, ValueError, "A must be a Zone on all ranks or on none", some)
        _same_error(
            comm,
            ValueError,
            "by block columns or square blocks of one width",
            lambda: hs.mpi.lu_factor(comm, rows),
        )
    _same_error(
        comm,
        ValueError,
        "b must have 30 rows",
        lambda: hs.mpi.lu_solve(comm, (factors, piv), at(comm, np.ones(4))),
    )
    _same_error(
        comm,
        ValueError,
        "must be 30 pivots",
        lambda: hs.mpi.lu_solve(comm, (factors, piv[1:]), at(comm, np.ones(30))),
    )


def case_tasks(comm):
    for count in (0, 1, 2, 3, 97):
        told, done = [], []

        def square(x, done=done):
            done.append(x)
            return x * x

        found = hs.mpi.map_tasks(comm, square, at(comm, range(count)), progress=told.append)
        everywhere = sum(comm.allgather(done), [])
        assert sorted(everywhere) == list(range(count))
        if comm.rank == 0:
            assert found == [x * x for x in range(count)]
            assert told == sorted(told)
            assert told[-1:] == [1.0]
        else:
            assert found is None

    def fails(x):
        if x == 5:
            raise KeyError("five")
        return x

    failure = None
    try:
        hs.mpi.map_tasks(comm, fails, at(comm, range(20)))
    except RuntimeError as error:
        failure = error
    assert "task 5 failed" in str(failure)
    if comm.rank == 0:
        assert isinstance(failure, hs.TaskError)
        assert failure.index == 5
        assert isinstance(failure.__cause__, KeyError)
    _same_error(
        comm,
        TypeError,
        "function must be callable",
        lambda: hs.mpi.map_tasks(comm, 3, at(comm, [1])),
    )
    if comm.size > 1:
        _same_error(
            comm, ValueError, "tasks must be None on rank", lambda: hs.mpi.map_tasks(comm, abs, [1])
        )


def case_progress(comm):
    a, b = matrix(200, 200), matrix(200, 200)
    told = []
    plan = hs.plan_matmul(
        200, 200, 200, platform(comm.size), method="columns", block=50, communication="sequential"
    )
    hs.mpi.matmul(comm, at(comm, a), at(comm, b), at(comm, plan), progress=told.append)
    if comm.rank == 0:
        assert told == sorted(told)
        assert told[-1] == 1.0
        assert len(told) > comm.size
    else:
        assert told == []


def _same_error(comm, kind, text, call):
    """On every rank, and the ranks can go on."""
    try:
        call()
        found = (), "none"
    except Exception as error:
        found = [each.__name__ for each in type(error).__mro__], str(error)
    for rank, (kinds, said) in enumerate(comm.allgather(found)):
        assert kind.__name__ in kinds, (rank, kinds, said)
        assert text in said, (rank, kinds, said)


def case_errors(comm):
    if comm.size == 1:
        return
    p, me = comm.size, comm.rank
    a = matrix(8, 8)

    def product(x=a, y=a, plan=None, **options):
        return lambda: hs.mpi.matmul(comm, at(comm, x), at(comm, y), at(comm, plan), **options)

    plan = hs.plan_matmul(8, 8, 8, platform(p))
    other = hs.plan_matmul(8, 8, 8, platform(p + 1))
    _same_error(comm, ValueError, "plan is for", product(plan=other))
    _same_error(
        comm, ValueError, "plan is for m, n, k", product(plan=hs.plan_matmul(9, 8, 8, platform(p)))
    )
    _same_error(comm, ValueError, "A has 8 columns and B 7 rows", product(y=matrix(7, 8)))
    _same_error(comm, ValueError, "A must be a matrix", product(x=np.ones(8)))
    _same_error(comm, TypeError, "A has dtype int64", product(x=np.ones((8, 8), int)))
    _same_error(
        comm,
        TypeError,
        "plan must be a plan of a product, got LuPattern: use hs.mpi.lu_factor",
        product(plan=hs.lu_pattern(8, np.ones(p))),
    )
    _same_error(
        comm,
        TypeError,
        "got SliceRing: use hs.mpi.stencil",
        product(plan=hs.slice_ring(np.ones(p), 0.0, 1.0, 0.0)),
    )
    _same_error(
        comm,
        TypeError,
        "got MaxTasks: use hs.mpi.map_tasks",
        product(plan=hs.max_tasks(8, np.ones(p))),
    )
    _same_error(comm, ValueError, "B must be given at the root", product(y=None))
    _same_error(
        comm, ValueError, "A must be None on rank", lambda: hs.mpi.matmul(comm, a, at(comm, a))
    )
    _same_error(
        comm,
        ValueError,
        "plan on rank 1 is not the same",
        lambda: hs.mpi.matmul(comm, at(comm, a), at(comm, a), other if me else plan),
    )
    _same_error(
        comm,
        ValueError,
        "root must be",
        lambda: hs.mpi.matmul(comm, at(comm, a), at(comm, a), plan, p),
    )
    _same_error(comm, ValueError, "root", lambda: hs.mpi.matmul(comm, a, a, plan, me))
    _same_error(comm, TypeError, "pool must be a Pool", product(pool=3))
    _same_error(comm, ValueError, "method", product(method="no"))
    _same_error(
        comm,
        TypeError,
        "plan must be a plan that assigns rectangles",
        lambda: hs.mpi.scatter(comm, at(comm, a), hs.layers_star(8, [1.0] * p)),
    )
    _same_error(
        comm,
        ValueError,
        "no block size",
        lambda: hs.mpi.scatter(comm, at(comm, a), hs.lu_pattern(7, np.ones(p))),
    )
    zone = hs.mpi.scatter(comm, at(comm, a), plan)
    _same_error(
        comm,
        ValueError,
        "must give its zone",
        lambda: hs.mpi.matmul(comm, None if me == 1 else zone, at(comm, a), plan),
    )
    _same_error(
        comm,
        TypeError,
        "zone must be a Zone",
        lambda: hs.mpi.gather(comm, None if me == 1 else zone),
    )
    _same_error(
        comm,
        ValueError,
        "invalid literal",
        lambda: hs.mpi.agree(comm, lambda: int("x" if me == 1 else "3")),
    )
    checked(comm, a, a, plan)


def case_cover(comm):
    """Plans and zones that do not give each element to one rank."""
    p = comm.size
    a = matrix(12, 12)
    for method in ("columns", "rows", "layers"):
        plan = hs.plan_matmul(12, 12, 12, platform(p), method=method)
        for boxes in (plan.boxes[1:], np.concatenate((plan.boxes, plan.boxes[:1]))):
            wrong = with_boxes(plan, boxes)
            _same_error(
                comm,
                ValueError,
                "plan ",
                lambda wrong=wrong: hs.mpi.matmul(comm, at(comm, a), at(comm, a), at(comm, wrong)),
            )
    partition = hs.partition(np.ones(p), shape=(12, 12))
    twice = np.repeat(partition.pieces, [2] + [1] * (p - 1), axis=0)
    for pieces in (twice, partition.pieces[:-1])[: min(p, 2)]:
        wrong = replace(partition, pieces=pieces)
        _same_error(
            comm,
            ValueError,
            "cover",
            lambda wrong=wrong: hs.mpi.matmul(comm, at(comm, a), at(comm, a), at(comm, wrong)),
        )
        _same_error(
            comm,
            ValueError,
            "cover",
            lambda wrong=wrong: hs.mpi.scatter(comm, at(comm, a), at(comm, wrong)),
        )
    boxes = np.array([(0, 0, 0, 0, 12, 12, 5), (0, 0, 0, 5, 5, 12, 7), (0, 5, 0, 5, 7, 12, 7)])
    across = with_boxes(hs.plan_matmul(12, 12, 12, platform(p), method="columns"), boxes)
    _same_error(
        comm,
        ValueError,
        "both rectangles 0 and 1",
        lambda: hs.mpi.matmul(comm, at(comm, a), at(comm, a), at(comm, across)),
    )
    zone = hs.mpi.scatter(comm, at(comm, a), partition)
    _same_error(
        comm,
        ValueError,
        "boxes does not cover the matrix",
        lambda: replace(zone, boxes=zone.boxes[:-1]),
    )
    checked(comm, a, a, partition)


def case_versions(comm):
    """A rank of another version."""
    from hetsched.mpi import ranks

    if comm.size == 1:
        return
    own = ranks.THIS
    ranks.THIS = ("9.9.9", *own[1:]) if comm.rank == 1 else own
    try:
        _same_error(
            comm, RuntimeError, "they must be the same", lambda: hs.mpi.matmul(comm, None, None)
        )
    finally:
        ranks.THIS = own


def case_interrupt(comm):
    """Ctrl-C on one rank, while ranks agree and in the middle of a product: the others end as well,
    and can go on."""
    if comm.size == 1:
        return
    from hetsched.mpi.product import Product

    def press():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    def ended(call):
        try:
            call()
        except KeyboardInterrupt:
            return "KeyboardInterrupt"
        except RuntimeError as error:
            return str(error)
        return "nothing"

    def stops(self, step, begun):
        if step == 7:
            press()
        multiply(self, step, begun)

    a = at(comm, np.ones((300, 300)))
    plan = hs.plan_matmul(
        300, 300, 300, platform(comm.size), method="columns", communication="sequential"
    )
    multiply = Product._multiply
    for call in (
        lambda: hs.mpi.agree(comm, lambda: press() if comm.rank == 1 else None),
        lambda: hs.mpi.matmul(comm, a, a, plan),
    ):
        Product._multiply = stops if comm.rank == 1 else multiply
        texts = comm.allgather(ended(call))
        Product._multiply = multiply
        assert texts[1] == "KeyboardInterrupt", texts
        assert all(
            "rank 1 stopped: KeyboardInterrupt" in text
            for rank, text in enumerate(texts)
            if rank != 1
        ), texts
    checked(comm, matrix(9, 9), matrix(9, 9), None)


def case_measure(comm):
    found = hs.mpi.measure(comm, seconds=0.3)
    p = comm.size
    assert len(found.platform) == p
    assert (found.gflops > 0).all()
    if p > 1:
        assert found.platform.links.shape == (p, p)
        assert (found.platform.links == found.platform.links.T).all()
        assert len(found.star(memory=30)) == p - 1
        blocks = found.star(hs.Unit.block_update(80))
        assert blocks.unit == hs.Unit.block_update(80)
        assert list(blocks.memory) == (found.memory[1:] // (80 * 80 * 8)).tolist()
        assert hs.plan_product(2, 3, 2, blocks).makespan > 0
    assert found.memory.shape == (p,)
    assert (found.memory > 0).all()
    assert found.memory.sum() < 2**45  # ranks of a host share what it has
    assert found.platform.link_costs[0] == 0.0
    assert (found.platform.link_costs[1:] > 0).all()
    assert (found.latency[~np.eye(p, dtype=bool)] > 0).all()
    everywhere = comm.allgather(json.dumps(found.platform.to_dict()))
    assert len(set(everywhere)) == 1
    assert found.table().count("\n") == p
    checked(comm, matrix(12, 12), matrix(12, 12), None, platform=found.platform)


def case_files(comm):
    folder = Path(comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None))
    a, b = matrix(40, 30), matrix(30, 50)
    if comm.rank == 0:
        np.save(folder / "A.npy", a)
        np.save(folder / "B.npy", b)
        (folder / "cut.npy").write_bytes((folder / "A.npy").read_bytes()[:-9])
    comm.Barrier()
    done = hs.mpi.matmul_files(comm, folder / "A.npy", folder / "B.npy", folder / "C.npy")
    assert done.shape == (40, 50)
    comm.Barrier()
    np.testing.assert_array_equal(np.load(folder / "C.npy"), a @ b)
    before = (folder / "C.npy").read_bytes()

    def again(x="A.npy", y="B.npy", out="C.npy"):
        return lambda: hs.mpi.matmul_files(comm, folder / x, folder / y, folder / out)

    _same_error(comm, ValueError, "is cut short", again("cut.npy"))
    _same_error(comm, OSError, "No such file", again("none.npy"))
    _same_error(comm, ValueError, "no folder", again(out="none/C.npy"))
    _same_error(comm, ValueError, "must end in .npy", again(out="C.mat"))
    _same_error(comm, ValueError, "out and b are the same file", again(out="B.npy"))
    if comm.rank == 0:
        (folder / "C.npy").chmod(0o444)
    _same_error(comm, OSError, "is read-only", again())
    if comm.rank == 0:
        (folder / "C.npy").chmod(0o644)
    if comm.rank == 0:  # as on a full disk
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    _same_error(comm, OSError, "File too large", again())
    if comm.rank == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert (folder / "C.npy").read_bytes() == before
    comm.Barrier()
    if comm.rank == 0:
        assert sorted(path.name for path in folder.iterdir()) == [
            "A.npy",
            "B.npy",
            "C.npy",
            "cut.npy",
        ]


def case_answers_at_the_end(comm):
    """What is told by one who has come to the end is received before any leaves; else the next
    communicator gets it."""
    from hetsched.mpi.ranks import Messages

    messages = Messages(own := comm.Dup())
    assert not messages.leave()
    if comm.rank == 0:
        for rank in range(1, comm.size):
            messages.tell("I live", rank)
    else:
        time.sleep(0.1)
    heard = []
    while not messages.leave():
        heard += messages.heard()
    assert heard == [(0, "I live")] * (comm.rank > 0)
    assert not messages._own
    own.Free()


def case_subcommunicator(comm):
    half = comm.Split(comm.rank % 2)
    checked(half, matrix(10, 11), matrix(11, 12), None)
    for _ in range(30):
        hs.mpi.agree(half, time.perf_counter)
    half.Free()


if __name__ == "__main__":
    only = sys.argv[1:]
    mpi_run.main(
        MPI.COMM_WORLD,
        {name: case for name, case in list(globals().items()) if not only or name[5:] in only},
    )
