"""What bench_cluster.py runs on the ranks of a cluster: jobs as JSON in, one line of JSON for each
out, by rank 0.

Every result is checked: C x against A (B x), and A against the product of its factors, at the root.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import hetsched as hs
from hetsched.mpi.ring import BESIDES
from hetsched.planners.stencil import FLOPS

Job = dict[str, Any]
COMM = MPI.COMM_WORLD
GIGA = 1e9
POOL = hs.Pool(1)  # a fraction of a core is one worker


def rate(job: Job) -> Job:
    """GFLOP/s of each rank, all at once: products of 1000 x 1000, for some seconds."""
    a = np.random.default_rng(0).standard_normal((1000, 1000))
    out = np.empty_like(a)
    POOL.matmul(a, a, out=out)
    COMM.Barrier()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < job["seconds"]:
        POOL.matmul(a, a, out=out)
        count += 1
    return {"gflops": COMM.allgather(2.0 * count / (time.perf_counter() - start))}


def ended(request: MPI.Request) -> None:
    """Waits asleep: a rank that polls spends its quota on that, and is then not there when a
    message comes."""
    while not request.Test():
        time.sleep(1e-4)


def links(job: Job) -> Job:
    """Seconds per byte of long messages from the root to each rank, one at a time, with what each
    costs by itself; that of empty ones. Half of a round trip of both."""
    data, answer = np.ones(job["bytes"], np.uint8), np.ones(job["bytes"], np.uint8)
    costs, latencies = [0.0], [0.0]
    for other in range(1, COMM.size):
        times: dict[int, list[float]] = {1: [], len(data): []}
        for size in [1, len(data)] * 5:
            ended(COMM.Ibarrier())
            start = time.perf_counter()
            if COMM.rank == 0:
                ended(COMM.Isend(data[:size], other))
                ended(COMM.Irecv(answer[:size], other))
            elif COMM.rank == other:
                ended(COMM.Irecv(data[:size], 0))
                ended(COMM.Isend(answer[:size], 0))
            times[size].append((time.perf_counter() - start) / 2)
        short, long = (float(np.median(own)) for own in times.values())
        latencies.append(short)
        costs.append(long / len(data))
    return COMM.bcast({"seconds_per_byte": costs, "latency": latencies})


def updates(job: Job) -> Job:
    """Seconds that each worker needs for C += A B of blocks, all at once; the root, which is the
    master, sleeps."""
    q, spent = job["block"], 0.0
    COMM.Barrier()
    if COMM.rank == 0:
        time.sleep(job["seconds"])
    else:
        a = matrix(np.random.default_rng(0), q, q, job["dtype"])
        c = np.zeros_like(a)
        times = []
        end = time.perf_counter() + job["seconds"]
        while (start := time.perf_counter()) < end:
            for _ in range(4):
                POOL.matmul(a, a, out=c, beta=1.0)
            times.append((time.perf_counter() - start) / 4)
        spent = float(np.mean(times))
    return COMM.bcast({"cycle_times": COMM.gather(spent)})


def matrix(rng: np.random.Generator, rows: int, cols: int, dtype: str) -> Any:
    values = rng.standard_normal((rows, cols))
    return (
        values + 1j * rng.standard_normal((rows, cols))
        if dtype == "complex128"
        else values.astype(dtype)
    )


def operands(n: int, count: int) -> list[Any]:
    if COMM.rank != 0:
        return [None] * count
    rng = np.random.default_rng(1)
    return [rng.standard_normal((n, n)) for _ in range(count)]


def timed(rounds: int, call: Callable[[], Any]) -> tuple[list[float], Any]:
    """Seconds of each round, of the rank that was last, and what came of the last one."""
    times, value = [], None
    for _ in range(rounds):
        value = None
        COMM.Barrier()
        start = time.perf_counter()
        value = call()
        times.append(COMM.allreduce(time.perf_counter() - start, MPI.MAX))
    return times, value


def require(residual: float) -> None:
    """Residuals are relative; a wrong block gives about 1."""
    if not residual < 1e-9:
        print(f"wrong result: residual {residual:g}", file=sys.stderr, flush=True)
        COMM.Abort(1)


def product(job: Job) -> Job:
    """A product by a plan of the measured rates and links, with the matrices at the root or in
    zones."""
    n = job["n"]
    links = hs.mpi.measure(COMM, seconds=2.0, pool=POOL).platform.link_costs
    platform = hs.Platform.star(
        [1.0 / rate for rate in job["gflops"]], links, unit=hs.Unit.gigaflop()
    )
    plan = hs.plan_matmul(n, n, n, platform, method=job.get("method", "best"))
    a, b = operands(n, 2)
    x, y = (a, b) if job["from_root"] else (hs.mpi.scatter(COMM, m, plan) for m in (a, b))
    times, c = timed(job["rounds"], lambda: hs.mpi.matmul(COMM, x, y, plan, pool=POOL))
    if not job["from_root"]:
        c = hs.mpi.gather(COMM, c)
    _, trace = hs.mpi.matmul(COMM, x, y, plan, pool=POOL, trace=True)
    if COMM.rank == 0:
        v = np.random.default_rng(2).standard_normal(n)
        expected = a @ (b @ v)
        require(np.abs(c @ v - expected).max() / np.abs(expected).max())
        areas = plan.boxes[plan.boxes[:, 0] > 0]
        sent = float(plan.received[1:].sum()) + 8.0 * float((areas[:, 4] * areas[:, 5]).sum())
        return {
            "seconds": times,
            "method": plan.method,
            "bytes": sent,
            "busy": [spent / trace.makespan for spent in trace.total("compute")],
        }
    return {}


def star(job: Job) -> Job:
    """A product by each method of the 2008 paper: the root is the master, the others are its
    workers."""
    (r, s, t), q = job["shape"], job["block"]
    platform = hs.Platform.star(
        job["cycle_times"],
        link_costs=job["link_costs"],
        memory=job["memory"],
        unit=hs.Unit.block_update(q, job["dtype"]),
    )
    rng = np.random.default_rng(1)
    a, b = (
        (matrix(rng, x * q, y * q, job["dtype"]) for x, y in ((r, t), (t, s)))
        if COMM.rank == 0
        else (None, None)
    )
    found = {}
    for method in job["methods"]:
        plan = hs.plan_product(r, s, t, platform, method)
        traces = []
        for _ in range(job["rounds"]):
            c, trace = hs.mpi.matmul(COMM, a, b, plan, pool=POOL, trace=True)
            traces.append(trace)
        if COMM.rank == 0:
            v = rng.standard_normal(s * q)
            expected = a @ (b @ v)
            require(np.abs(c @ v - expected).max() / np.abs(expected).max())
            spent = plan.messages["end"] - plan.messages["start"]
            blocks = int(np.rint(spent / plan.link_costs[plan.messages["worker"]]).sum())
            last = traces[-1]
            found[method] = {
                "simulated": plan.makespan,
                "measured": [trace.makespan for trace in traces],
                "bound": plan.lower_bound,
                "enrolled": plan.enrolled.tolist(),
                "updates": plan.updates.tolist(),
                "messages": len(plan.messages),
                "blocks": blocks,
                "cpu": last.cpu,
                "busy": last.total("compute"),
                "peak": last.peak,
                "predicted_peak": last.predicted_peak,
            }
    return {"methods": found}


def scatter(job: Job) -> Job:
    """A matrix in equal zones from the root, which keeps none."""
    n = job["n"]
    (a,) = operands(n, 1)
    plan = hs.plan_matmul(
        n,
        n,
        n,
        hs.Platform.star([1e9] + [1.0] * (COMM.size - 1), unit=hs.Unit.gigaflop()),
        method="columns",
    )
    hs.mpi.scatter(COMM, a, plan)
    times, _ = timed(job["rounds"], lambda: hs.mpi.scatter(COMM, a, plan))
    others = plan.boxes[plan.boxes[:, 0] > 0]
    return {"seconds": times, "bytes": int(8 * (others[:, 4] * others[:, 5]).sum())}


def lu(job: Job) -> Job:
    """A factorisation by block columns, or by square blocks of the job's size.

    They are dealt by the measured rates. The matrix is at the root.
    """
    n = job["n"]
    (a,) = operands(n, 1)
    platform = hs.Platform.star([1.0 / rate for rate in job["gflops"]], unit=hs.Unit.gigaflop())
    given: dict[str, Any] = {"platform": platform}
    method = "block columns"
    if block := job.get("block"):
        plan = hs.lu_grid(-(-n // block), platform)
        given, method = {"plan": plan, "block": block}, f"{block} x {block}, {plan.method}"
    times, value = timed(job["rounds"], lambda: hs.mpi.lu_factor(COMM, a, pool=POOL, **given))
    if COMM.rank == 0:
        factors, pivots = value
        v = np.random.default_rng(2).standard_normal(n)
        expected = a @ v
        for i, j in enumerate(pivots):
            expected[[i, j]] = expected[[j, i]]
        w = np.triu(factors) @ v
        require(np.abs(w + np.tril(factors, -1) @ w - expected).max() / np.abs(expected).max())
    return {"seconds": times, "method": method}


def shares_of(trace: Any) -> dict[str, float]:
    """Shares of the makespan, in the mean over the ranks."""
    times = trace.profile().items()
    return {what: float(np.mean(spent)) / trace.makespan for what, spent in times}


def profile(job: Job) -> Job:
    """Seconds and shares of each kind of run: the medians of the rounds. Matrices at the root.

    cpu is the CPU time of a rank over what its quota allows.
    """
    n, block = job["n"], job["block"]
    a, b = operands(n, 2)
    times = [1.0 / rate for rate in job["gflops"]]
    platform = hs.Platform.star(times, unit=hs.Unit.gigaflop())
    by_rates = {"platform": platform, "pool": POOL, "trace": True}
    square = {"block": block, "pool": POOL, "trace": True}
    grid = hs.lu_grid(-(-n // block), times)
    calls = {
        "product": lambda: hs.mpi.matmul(COMM, a, b, **by_rates),
        "LU, block columns": lambda: hs.mpi.lu_factor(COMM, a, **by_rates),
        "LU, square blocks": lambda: hs.mpi.lu_factor(COMM, a, grid, **square),
    }
    found: Job = {}
    for name, call in calls.items():
        seconds, cpu, shares = [], [], []
        for _ in range(job["rounds"]):
            COMM.Barrier()
            spent = time.process_time()
            trace = call()[-1]
            used = COMM.gather(time.process_time() - spent)
            if COMM.rank == 0:
                seconds.append(trace.makespan)
                cpu.append(float(np.mean(used / (trace.makespan * np.array(job["cpu"])))))
                shares.append(shares_of(trace))
        if COMM.rank == 0:
            names = dict.fromkeys(what for each in shares for what in each)
            median = {
                what: float(np.median([each.get(what, 0.0) for each in shares])) for what in names
            }
            found[name] = {
                "seconds": float(np.median(seconds)),
                "cpu": float(np.median(cpu)),
                "profile": median,
            }
    return {"runs": found}


def stencil_rate(job: Job) -> Job:
    """Seconds per gigaflop of each rank with the stencil, all at once."""
    n, steps, count = job["n"], 5, 0
    slice_ = np.ones((n, max(n // COMM.size, 1)))
    POOL.stencil(slice_, steps)
    COMM.Barrier()
    start = time.perf_counter()
    while time.perf_counter() - start < job["seconds"]:
        POOL.stencil(slice_, steps)
        count += 1
    passed = time.perf_counter() - start
    flops = FLOPS * (n - 2) * slice_.shape[1] * steps * count
    return {"cycle_times": COMM.allgather(passed * GIGA / flops)}


def ring(job: Job) -> Job:
    """Seconds of a step of each division, with what its plan says.

    "best" knows speeds and links, "all" uses every host by its speed, and "equal" divides equally.
    The slices are on their ranks before the steps and after them.
    """
    n, steps = job["n"], job["steps"]
    work, volume = FLOPS * (n - 2) * n / GIGA, 8.0 * n / GIGA
    times, links = np.array(job["cycle_times"]), np.array(job["links"])
    workers = [hs.Worker(cycle_time, name=f"P{i}") for i, cycle_time in enumerate(times)]
    platform = hs.Platform(workers, links, unit=hs.Unit.gigaflop())
    plans: dict[str, Any] = {"best": (None, platform)}
    for name, alike in (("all", times), ("equal", np.ones(COMM.size))):
        alone = hs.Platform.star(alike, unit=platform.unit)
        plans[name] = hs.slice_ring(alike, 0.0, work, volume, "all"), alone
    (u,) = operands(n, 1)
    found: Job = {}
    zones: dict[str, Any] = {}
    for name, (plan, by) in plans.items():
        dealt = hs.mpi.scatter(COMM, u, hs.lu_pattern(COMM.size, np.ones(COMM.size)))
        zones[name] = zone = hs.mpi.stencil(COMM, dealt, 8, plan=plan, platform=by, pool=POOL)
        shares = np.zeros(COMM.size)
        ring = zone.boxes[:, 0]
        shares[ring] = zone.boxes[:, 4] / n
        predicted = [
            work * (shares[i] + BESIDES / n) * times[i] + volume * (links[i, k] + links[i, j])
            for j, i, k in zip(np.roll(ring, 1), ring, np.roll(ring, -1), strict=True)
        ]
        found[name] = {"members": len(ring), "predicted": float(max(predicted)), "seconds": []}
    for _ in range(job["rounds"]):
        expected = None
        for name, (plan, by) in plans.items():
            zone, trace = hs.mpi.stencil(
                COMM, zones[name], steps, plan=plan, platform=by, pool=POOL, trace=True
            )
            value = hs.mpi.gather(COMM, zone)
            if COMM.rank == 0:
                expected = value if expected is None else expected
                require(float(not np.array_equal(value, expected)))  # the same bits
                found[name]["seconds"].append(trace.makespan / steps)
                found[name]["profile"] = shares_of(trace)
                if name == "best":  # it has measured the exchanges, too
                    found[name]["predicted"] = trace.predicted / steps
    return {"divisions": found}


def main() -> None:
    kinds = {
        "rate": rate,
        "links": links,
        "updates": updates,
        "product": product,
        "star": star,
        "scatter": scatter,
        "lu": lu,
        "profile": profile,
        "stencil rate": stencil_rate,
        "ring": ring,
    }
    for job in json.loads(sys.argv[1]):
        found = kinds[job["kind"]](job)
        if COMM.rank == 0:
            print(json.dumps({**job, **found}), flush=True)


if __name__ == "__main__":
    main()
