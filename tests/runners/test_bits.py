"""Results have the same bits whatever the workers' speeds, the work stealing and the plan's zones:
products in any pool, everything else in deterministic pools of any size.

`python tests/runners/test_bits.py --cases 10000 --seed 7` makes more random cases and prints the
number of each kind.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import warnings
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched._engine import kernels
from hetsched.machine.dropin import environment
from hetsched.runners import shared
from hetsched.runners.operands import operands
from hetsched.runners.product import ENGINE, multiplier

pytestmark = pytest.mark.skipif(
    kernels.kernel()["name"] == "openblas", reason="it rounds the edges of zones in its own way"
)

DTYPES = [np.dtype(x) for x in ("f4", "f8", "c8", "c16")]
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 23, 32, 64)
PARTITIONS = ("columns", "rows", "guillotine", "interval", "nonrectangular", "best")
ZONES = (*PARTITIONS, "rectangles", "domains")


class Workers:
    """Pools of any size, more than there are cores, so that what they do is taken over at random;
    and emulated ones."""

    def __init__(self):
        self.stack, self.pools = ExitStack(), {}
        self.before, shared._shared = shared._shared, self.of(max(COUNTS))

    def close(self):
        shared._shared = self.before
        self.stack.close()

    def of(self, count):
        if count not in self.pools:
            self.pools[count] = self.stack.enter_context(hs.Pool(count, deterministic=True))
        return self.pools[count]

    def unequal(self, rng):
        """Real workers that are said to be unequal: zones of C by their speeds."""
        return self._kept(
            rng,
            "unequal",
            lambda speeds: hs.Pool(hs.Platform.star(speeds=speeds), deterministic=True),
        )

    def emulated(self, rng):
        def pool(speeds):
            costs = speeds[::-1] / 100
            return hs.Pool(
                hs.Platform.star(speeds=3 * speeds / speeds.sum(), link_costs=costs),
                emulate=True,
                deterministic=True,
            )

        return self._kept(rng, "emulated", pool)

    def _kept(self, rng, kind, make):
        """One of a few whose speeds are random."""
        key = kind, int(rng.integers(6))
        if key not in self.pools:
            speeds = np.random.default_rng(key[1]).uniform(0.5, 10, key[1] + 2)
            self.pools[key] = self.stack.enter_context(make(speeds))
        return self.pools[key]


# ---- random cases --------------------------------------------------------------------------------


def numbers(rng, shape, dtype, *, wild=False):
    """In rows or columns that may lie apart, from any element on; wild: some infinite, or not a
    number."""
    order, step, skipped = (
        rng.choice(["C", "F"]),
        int(rng.choice([1, 1, 1, 2])),
        int(rng.integers(0, 4)),
    )
    room = np.zeros(
        (*shape[:-2], shape[-2] * step + skipped, shape[-1] * step + skipped), dtype, order=order
    )
    x = room[..., skipped::step, skipped::step][..., : shape[-2], : shape[-1]]
    x[...] = rng.standard_normal(shape)
    if dtype.kind == "c":
        x.imag = rng.standard_normal(shape)
    if wild:
        for _ in range(2):
            x[..., rng.integers(shape[-2]), rng.integers(shape[-1])] = rng.choice(
                [np.inf, -np.inf, np.nan]
            )
    return x


def sizes_of_a_product(rng):
    kind = rng.integers(4)
    if kind == 0:  # a long inner dimension
        m, n = (int(x) for x in rng.integers(9, 70, 2))
        return m, n, int(rng.integers(1000, 7000))
    if kind == 1:  # a short side
        m, n, k = (int(x) for x in rng.integers((1, 100, 100), (12, 400, 400)))
        return (m, n, k) if rng.integers(2) else (n, m, k)
    most = 40 if kind == 2 else 160
    return tuple(int(x) for x in rng.integers(1, most, 3))


def same(results):
    """Whether all have one content, bit for bit; what is not a number only has its place."""
    first = results[0]
    return all(
        len(first) == len(other)
        and all(
            x.shape == y.shape
            and x.dtype == y.dtype
            and (x.tobytes() == y.tobytes() or np.array_equal(x, y, equal_nan=True))
            for x, y in zip(first, other, strict=True)
        )
        for other in results[1:]
    )


def arrays(found):
    if isinstance(found, tuple):
        return [y for x in found for y in arrays(x)]
    return [] if found is None or isinstance(found, str) else [np.ascontiguousarray(found)]


def product(rng, workers, dtype):
    """By some pools, as it comes and recorded, by zones, with unequal and with emulated workers."""
    m, n, k = sizes_of_a_product(rng)
    wild = rng.integers(8) == 0
    a, b = numbers(rng, (m, k), dtype, wild=wild), numbers(rng, (k, n), dtype)
    old = numbers(rng, (m, n), dtype)
    alpha, beta = (
        (1.0, 0.0)
        if rng.integers(2)
        else (float(rng.choice([1, -2, 0.3])), float(rng.choice([0, 1, 0.7, -1])))
    )
    if dtype.kind == "c" and rng.integers(4) == 0:
        alpha, beta = alpha + 0.5j, beta and beta - 1j
    given = bool(beta) or rng.integers(2)  # else out is made anew
    results, label = [], f"product {dtype} {m} x {n} x {k}, alpha {alpha}, beta {beta}"

    def out():
        return old.copy(order="K") if given else None

    def add(pool, **options):
        found = pool.matmul(a, b, out(), alpha, beta, **options)
        results.append([found[0] if options.get("trace") else found])

    by_engine = multiplier(operands(a, b, None, 1.0, 0.0), None) == ENGINE
    # NumPy multiplies what is small, unless something is asked for
    recorded = not by_engine or bool(rng.integers(2))
    for count in (1, *rng.choice(COUNTS[1:], 2)):
        add(workers.of(int(count)), **({"trace": True} if recorded else {}))
    thin = min(m, n) <= 8
    if not thin:
        pool = workers.unequal(rng)
        add(pool, method=str(rng.choice(ZONES)), block=int(rng.choice([1, 1, 7])))
        if min(m, n) >= len(pool) and rng.integers(2):
            plan = hs.partition(
                pool.platform.speeds, shape=(m, n), method=str(rng.choice(PARTITIONS))
            )
            results.append([pool.run(plan, a, b, out(), alpha, beta)])
        if m * n * k < 3e6 and rng.integers(4) == 0:
            add(workers.emulated(rng))
    return label, results


def half_product(rng, workers, dtype):
    m, _, k = sizes_of_a_product(rng)
    of = str(rng.choice(["rows", "columns"]))
    a = numbers(rng, (m, k) if of == "rows" else (k, m), dtype)
    rows = a if of == "rows" else a.T
    results = []
    for count in (1, *rng.choice(COUNTS[1:], 2)):
        with hs.thread_limit(int(count)):
            results.append([hs.gram(a, of=of), hs.matmul(rows, rows.T)])
    return f"gram of {of} {dtype} {m} x {k}", results


def stack(rng, workers, dtype):
    count = int(rng.choice([1, 2, 5, 7, 8, 9, 20, 70]))
    m, n, k = (int(x) for x in rng.integers(1, 40 if count > 9 else 130, 3))
    a = numbers(rng, (count, m, k), dtype)
    b = numbers(rng, (k, n) if rng.integers(2) else (count, k, n), dtype)
    left, right = numbers(rng, (count, m, m), dtype), numbers(rng, (count, m, 3), dtype)
    results = []
    for workers_of in (1, *rng.choice(COUNTS[1:], 2)):
        with hs.thread_limit(int(workers_of)):
            results.append(
                [hs.matmul(a, b), hs.solve(left, right), hs.inv(left), *arrays(hs.slogdet(left))]
            )
    return f"stack of {count} {dtype} {m} x {n} x {k}", results


def square(rng, workers, dtype):
    """What begins with a factorisation of a square matrix."""
    n = int(rng.choice([rng.integers(1, 60), rng.integers(1, 60), rng.integers(60, 340)]))
    sides = int(rng.integers(1, 40))
    a, b = numbers(rng, (n, n), dtype), numbers(rng, (n, sides), dtype)
    positive = a @ a.conj().T + n * np.eye(n, dtype=dtype)
    lower = np.tril(a) + 4 * np.sqrt(n) * np.eye(n, dtype=dtype)
    what = str(
        rng.choice(
            [
                "lu_factor",
                "cholesky",
                "qr",
                "solve",
                "inv",
                "slogdet",
                "cho_solve",
                "solve_triangular",
                "lstsq",
            ]
        )
    )
    run = {
        "lu_factor": lambda: hs.lu_factor(a),
        "cholesky": lambda: hs.cholesky(positive, lower=bool(n % 2)),
        "qr": lambda: hs.qr(a, mode=("full", "r", "economic", "raw")[n % 4]),
        "solve": lambda: hs.solve(a, b),
        "inv": lambda: hs.inv(a),
        "slogdet": lambda: (hs.slogdet(a), hs.det(a)),
        "cho_solve": lambda: hs.cho_solve((hs.cholesky(positive, lower=True), True), b),
        "solve_triangular": lambda: hs.solve_triangular(lower, b, lower=True, trans=n % 3),
        "lstsq": lambda: tuple(hs.lstsq(a, b)),
    }[what]
    results = by_counts(rng, run)
    if what == "lu_factor":
        results.append(arrays(workers.unequal(rng).lu_factor(a)))
    return f"{what} {dtype} {n}, {sides} sides", results


def oblong(rng, workers, dtype):
    """Tall and wide matrices."""
    n = int(rng.choice([rng.integers(1, 30), rng.integers(30, 230)]))
    m = (
        int(rng.integers(n, 4 * n))
        if rng.integers(3) == 0
        else int(rng.integers(4 * n, 4 * n + 30000 // n))
    )
    a, b = numbers(rng, (m, n), dtype), numbers(rng, (m, int(rng.integers(1, 9))), dtype)
    if rng.integers(6) == 0:
        a[:, n // 2] = a[:, 0]  # of less than full rank
    what = str(rng.choice(["economic", "r", "raw", "lu", "lstsq", "wide", "array"]))
    run = {
        "economic": lambda: hs.qr(a, mode="economic"),
        "r": lambda: hs.qr(a, mode="r"),
        "raw": lambda: hs.qr(a, mode="raw"),
        "lu": lambda: hs.Pool.lu_factor(shared.shared_pool(), a),
        "lstsq": lambda: tuple(hs.lstsq(a, b)),
        "wide": lambda: tuple(hs.lstsq(a.T, a[:n, :2])),
        "array": lambda: (
            np.asarray(hs.asarray(a).T @ hs.asarray(a)),
            np.asarray(np.linalg.qr(hs.asarray(a))[1]),
        ),
    }[what]
    return f"{what} {dtype} {m} x {n}", by_counts(rng, run)


def planned(rng, workers, dtype):
    """Factorisations whose tasks are dealt by plans with one width of the blocks, also emulated
    ones."""
    n, block = int(rng.integers(20, 130)), int(rng.choice([8, 16, 24, 48]))
    a = numbers(rng, (n, n), dtype)
    positive = a @ a.conj().T + n * np.eye(n, dtype=dtype)
    what = str(rng.choice(["lu_factor", "cholesky", "qr"]))
    x = positive if what == "cholesky" else a
    results = []
    for count in (1, int(rng.choice(COUNTS[1:9]))):
        results.append(
            arrays(
                getattr(workers.of(count), what)(
                    x, block=block, owner=str(rng.choice(["cyclic", "pattern"]))
                )
            )
        )
    if rng.integers(3) == 0:
        results.append(arrays(getattr(workers.emulated(rng), what)(x, block=block)))
    return f"{what} by plans {dtype} {n}, block {block}", results


def by_counts(rng, run):
    results = []
    for count in (1, *rng.choice(COUNTS[1:], 2)):
        with hs.thread_limit(int(count)):
            results.append(arrays(run()))
    return results


KINDS = (product, product, product, half_product, stack, square, square, oblong, planned)


def one_case(workers, seed, number):
    """What it was, if its results differ, else None; and its kind."""
    rng = np.random.default_rng([seed, number])
    kind, dtype = KINDS[number % len(KINDS)], DTYPES[int(rng.integers(4))]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # late emulated workers, singular matrices
        try:
            label, results = kind(rng, workers, dtype)
        except (np.linalg.LinAlgError, hs.InfeasibleError):
            return None, "none"
    return (None if same(results) else f"case {number} of seed {seed}: {label}"), kind.__name__


def many_cases(cases, seed):
    workers, kinds, found = Workers(), collections.Counter(), []
    try:
        for number in range(cases):
            different, kind = one_case(workers, seed, number)
            kinds[kind] += 1
            found += [] if different is None else [different]
    finally:
        workers.close()
    return found, kinds


def test_random_cases():
    cases = many(500, 100)
    found, kinds = many_cases(cases, 1)
    assert not found
    assert kinds["none"] < cases / 25


# ---- chosen ones ---------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "sizes",
    many(
        [(60, 70, 9000), (33, 300, 5000), (40, 40, 1200), (40, 40, 2100)],
        [(60, 70, 9000), (40, 40, 1200)],
    ),
)
def test_a_divided_inner_dimension(sizes, dtype):
    """By layers at the same time, and one after the other; by zones with odd cuts."""
    m, n, k = sizes
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    old = rng.standard_normal((m, n)).astype(dtype)
    results = []
    for count in many((1, 2, 3, 5, 16), (1, 3, 16)):
        with hs.Pool(count) as pool:
            results.append(
                [
                    pool.matmul(a, b),
                    pool.matmul(a, b, old.copy(), -0.5, 0.7),
                    pool.matmul(a, b, trace=True)[0],
                ]
            )
            if count > 1:
                zones = hs.partition(np.arange(1, count + 1), shape=(m, n), method="columns")
                results.append(
                    [
                        pool.run(zones, a, b),
                        pool.run(zones, a, b, old.copy(), -0.5, 0.7),
                        pool.matmul(a, b, method="rows"),
                    ]
                )
    assert same(results)


def test_one_row_and_one_column_of_a_zone():
    """The imaginary part of a complex number is the sum of two terms, in an order that a narrow
    zone must not turn."""
    rng = np.random.default_rng(1)
    for order in "CF":
        a, b = (rng.standard_normal((s, s)) + 1j * rng.standard_normal((s, s)) for s in (90, 90))
        out = np.zeros((90, 90), complex, order=order)
        with hs.Pool(4) as pool:
            found = pool.matmul(a, b, out.copy(order="K"), trace=True)[0]
            for method, speeds in (("columns", [1, 40, 1, 48]), ("rows", [1, 40, 48, 1])):
                with hs.Pool(hs.Platform.star(speeds=speeds)) as other:
                    assert same([[found], [other.matmul(a, b, out.copy(order="K"), method=method)]])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_factors_at_the_edges_of_zones(dtype):
    """A tile at an edge is rounded as one inside, also with a beta that is neither 0 nor 1."""
    rng = np.random.default_rng(2)
    a, b, old = (rng.standard_normal((101, 101)).astype(dtype) for _ in range(3))
    with hs.Pool(1) as one, hs.Pool(hs.Platform.star(speeds=[3, 5, 1, 7])) as pool:
        for alpha, beta in ((1, 0.7), (0.3, 0.7), (-2, 0), (0.3, 1)):
            wanted = one.matmul(a, b, old.copy(), alpha, beta)
            for method in ("rows", "columns", "guillotine"):
                assert same([[wanted], [pool.matmul(a, b, old.copy(), alpha, beta, method=method)]])


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_stacks_of_any_size(dtype):
    """Whether one worker multiplies an item, or all do, depends on sizes alone."""
    rng = np.random.default_rng(3)
    for count, n, k in ((3, 110, 300), (9, 110, 300), (9, 320, 320)):
        a, b = (
            rng.standard_normal((count, n, k)).astype(dtype),
            rng.standard_normal((k, n)).astype(dtype),
        )
        results = []
        for workers in (1, 2, 3, 16):
            with hs.Pool(workers, deterministic=True) as pool:
                results.append([pool.matmul(a, b)])
        assert same(results)


@pytest.mark.parametrize("kind", ["lu_factor", "cholesky", "qr"])
def test_speeds_do_not_count(kind):
    """Also where they are found to be unequal, of a pool that is not deterministic."""
    rng = np.random.default_rng(4)
    for n in (60, 190, 320):
        a = rng.standard_normal((n, n))
        x = a @ a.T + n * np.eye(n) if kind == "cholesky" else a
        results = []
        for workers in (3, hs.Platform.star(speeds=[3, 1, 5]), hs.Platform.star(speeds=[1, 1, 9])):
            with hs.Pool(workers) as pool:
                results.append(arrays(getattr(pool, kind)(x)))
        assert same(results)


def test_what_is_deterministic(monkeypatch):
    a = np.random.default_rng(5).standard_normal((320, 320))
    results = []
    for workers in (1, 2, 6):
        with hs.Pool(workers, deterministic=True) as pool:
            assert pool.deterministic
            results.append(
                arrays(
                    (
                        pool.qr(a),
                        pool.lu_factor(a),
                        pool.lu_factor(a, owner="cyclic"),
                        pool.plan_lu(320, 320).block,
                    )
                )
            )
    assert same(results)
    with pytest.raises(TypeError, match="deterministic"):
        hs.Pool(1, deterministic="yes")
    for text, wanted in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("HETSCHED_DETERMINISTIC", text)
        with hs.Pool(1) as pool, hs.Pool(1, deterministic=not wanted) as other:
            assert (pool.deterministic, other.deterministic) == (wanted, not wanted)


def test_a_deterministic_plan():
    platform = hs.Platform.star(speeds=[3, 5, 8], link_costs=[20, 30, 10])
    sizes = (20, 30, 8000)
    assert hs.plan_matmul(20, 30, 8000, platform).method == "layers"
    assert hs.plan_matmul(20, 30, 8000, platform, deterministic=True).layers is None
    with hs.Pool(3, deterministic=True) as pool:
        for method in ("layers", "cuboids", "cannon"):
            with pytest.raises(ValueError, match="deterministic=True is for zones"):
                pool.plan(*sizes, method=method)
        with pytest.raises(ValueError, match="deterministic=True is for zones"):
            pool.plan(*sizes, communication="parallel")
    with pytest.raises(TypeError, match="deterministic"):
        hs.plan_matmul(20, 30, 8000, platform, deterministic="yes")
    limited = hs.Platform.star([0.003, 0.005], link_costs=[0.001, 0.002], memory=[12, 21])
    with pytest.raises(ValueError, match="deterministic=True is for boxes"):
        hs.plan_matmul(640, 320, 240, limited, block=80, deterministic=True)


PROGRAM = """
import json, sys, zlib
import numpy as np
rng = np.random.default_rng(5)
found = []
for dtype in "fdFD":
    def make(*shape):
        x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype in "FD" else 0)
        return x.astype(dtype)
    a, b, tall = make(150, 160), make(160, 140), make(3000, 40)
    long, wide = make(40, 6000), make(6000, 50)
    s = a[:, :150]
    products = [a @ b, long @ wide, long @ long.T]
    factors = [*np.linalg.qr(tall), *np.linalg.qr(s)]
    factors += [np.linalg.cholesky(s @ s.conj().T + 200 * np.eye(150, dtype=dtype))]
    for x in (*products, np.linalg.solve(s, a), np.linalg.inv(s), *factors):
        found.append(zlib.crc32(np.ascontiguousarray(x).tobytes()))
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="hetsched exec is for Linux")
def test_programs():
    """What a program's calls return does not depend on how many workers take them, from two on."""
    cpus = len(os.sched_getaffinity(0))
    found = {}
    for threads in sorted({2, 3, 4, min(8, cpus)}):
        made = environment(threads=threads, least="1e4", report=False)
        made.update(HETSCHED_NUM_THREADS=str(threads), HETSCHED_DETERMINISTIC="1")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=made,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        found[threads] = json.loads(done.stdout)
    assert len({tuple(x) for x in found.values()}) == 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=Path(__file__).name + ": random cases, compared bit for bit"
    )
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    different, kinds = many_cases(asked.cases, asked.seed)
    print("\n".join(different))
    print(
        f"{asked.cases} cases, {len(different)} differ:",
        ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
    )
    sys.exit(bool(different))
