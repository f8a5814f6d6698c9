"""Dense operations beside SciPy's on small random matrices: results, dtypes and errors, for any
strides and options.

    .venv/bin/python tests/random_dense.py [N] [--seed S] [--only NAME] [--first NUMBER]

N calls of each operation, 10,000 if not said. A call depends on the operation, the seed and its
number only; a finding is printed with the arguments that repeat it. Exit status 1 on findings.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lapack import matrices, ratios
from lapack.operations import OURS, PEERS, call, kept, plain

import hetsched as hs

Array = np.ndarray[Any, Any]
Random = np.random.Generator
LARGEST = 24


@dataclass
class Case:
    """One call, and how its results are compared."""

    args: tuple[Any, ...]
    options: dict[str, Any]
    #: Raises AssertionError: (result, peer's result)
    judge: Callable[[Any, Any], None]
    #: Rounding decides whether the matrix is singular.
    nearly_singular: bool = False
    #: What may be overwritten: positions of args.
    spent: tuple[int, ...] = ()
    before: list[Any] = field(default_factory=list)


DRAWS: dict[str, Callable[[Random], Case]] = {}


def draws(function: Callable[[Random], Case]) -> Callable[[Random], Case]:
    DRAWS[function.__name__] = function
    return function


# ---- what calls are made of ----------------------------------------------------------------------


def coin(rng: Random, chance: float = 0.5) -> bool:
    return bool(rng.random() < chance)


def size(rng: Random) -> int:
    return int(rng.choice([rng.integers(0, 4), rng.integers(0, LARGEST + 1)]))


def dtype(rng: Random) -> str:
    return str(rng.choice([*matrices.DTYPES, *matrices.DTYPES, "int64", "bool"]))


def numbers(rng: Random, shape: Any, kind: str) -> Array:
    if kind in ("int64", "bool"):
        return rng.integers(
            -9 if kind == "int64" else 0, 10 if kind == "int64" else 2, shape
        ).astype(kind)
    x = rng.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return (np.round(2 * x) if coin(rng, 0.2) else x).astype(kind)


def laid_out(rng: Random, a: Array) -> Array:
    """The same numbers with other strides."""
    form = rng.choice(
        ["C", "F", "sliced", "negative", "transposed", "read-only", "unaligned", "Array"]
    )
    if form in ("C", "F"):
        return np.array(a, order=str(form))
    if form == "Array":
        return hs.asarray(np.array(a))
    if form == "unaligned":
        memory = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    elif form == "sliced":
        steps = rng.integers(1, 4, a.ndim)
        memory = np.zeros(a.shape * steps, a.dtype)[
            tuple(slice(None, None, int(step)) for step in steps)
        ]
    elif form == "negative":
        memory = np.empty(a.shape, a.dtype)[
            tuple(slice(None, None, -1 if coin(rng, 0.7) else 1) for _ in a.shape)
        ]
    elif form == "transposed":
        memory = np.zeros((*a.shape[:0:-1], *a.shape[:1]) if a.ndim > 1 else (2 * len(a),), a.dtype)
        memory = memory.T if a.ndim > 1 else memory[::2]
    else:
        memory = np.empty_like(a)
    memory[...] = a
    memory.flags.writeable = form != "read-only"
    return memory


def spread(rng: Random, a: Array) -> Array:
    """All rows, or all columns, in one place of memory."""
    axis = int(rng.integers(a.ndim))
    return np.broadcast_to(np.take(a, [0], axis), a.shape) if a.size else a


def rectangle(rng: Random, kind: str | None = None) -> Array:
    a = numbers(rng, (size(rng), size(rng)), dtype(rng) if kind is None else kind)
    return changed(rng, a)


def square(rng: Random, kind: str | None = None) -> Array:
    n = size(rng)
    return changed(rng, numbers(rng, (n, n), dtype(rng) if kind is None else kind))


def changed(rng: Random, a: Array) -> Array:
    """Now and then with a row or a column of zeros, or of diagonal form."""
    if a.size and coin(rng, 0.1):
        index = int(rng.integers(min(a.shape)))
        a[(index, slice(None)) if coin(rng) else (slice(None), index)] = 0
    elif coin(rng, 0.05):
        a = np.where(np.eye(*a.shape, dtype=bool), a, np.zeros((), a.dtype))
    return a


def positive(rng: Random, lower: bool) -> Array:
    """Hermitian by one triangle, mostly definite."""
    n, kind = size(rng), str(rng.choice(matrices.DTYPES))
    a = numbers(rng, (n, n + 3), kind)
    a = a @ a.conj().T + np.asarray(0.1, a.real.dtype) * np.eye(n, dtype=kind)
    if n and coin(rng, 0.15):
        index = int(rng.integers(n))
        a[index, index] = -1 if coin(rng) else 0
        if a[index, index] == 0:
            a[index], a[:, index] = 0, 0
    other = numbers(rng, (n, n), kind)
    keep = np.tri(n, dtype=bool)
    return np.where(keep if lower else keep.T, a, other)


def right_side(rng: Random, n: int, fewest: int = 0) -> Array:
    """Of any type, one or several; now and then of a wrong shape."""
    rows = n + int(coin(rng, 0.04) and n > 1)  # SciPy repeats what is for one unknown
    b = numbers(
        rng, (rows,) if coin(rng, 0.4) else (rows, int(rng.integers(fewest, 6))), dtype(rng)
    )
    return spread(rng, b) if coin(rng, 0.05) else laid_out(rng, b)


def unfit(rng: Random, a: Array, *, shape: bool = True) -> Array:
    """Now and then of a wrong shape, or with a NaN that is refused."""
    if shape and coin(rng, 0.03):
        return a[:, :-1] if coin(rng) and a.size else a[..., 0] if len(a) > 1 and a.size else a
    if a.size and a.dtype.kind in "fc" and coin(rng, 0.03):
        a = np.array(a)
        a[tuple(rng.integers(0, a.shape))] = rng.choice([np.nan, np.inf, -np.inf])
    return a


def of_double(a: Array) -> Array:
    return np.asarray(a, np.result_type(a.dtype, np.float64))


def condition(a: Array) -> float:
    """In the 2-norm; infinity where rounding decides, and of what has none."""
    if a.ndim != 2 or not np.isfinite(a).all():
        return np.inf
    values = np.linalg.svd(of_double(a), compute_uv=False)
    if not values.size:
        return 1.0
    ratio = values[0] / values[-1] if values[-1] else np.inf
    return float(ratio) if ratio < 0.01 / precision(a) else np.inf


def precision(*arrays: Any) -> float:
    kinds = [np.asarray(a).dtype for a in arrays]
    return max(
        float(np.finfo(kind).eps) if kind.kind in "fc" else float(np.finfo("f8").eps)
        for kind in kinds
    )


# ---- how results are compared --------------------------------------------------------------------


def alike(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"shape {found.shape}, not {wanted.shape}"
    assert found.dtype == wanted.dtype, f"dtype {found.dtype}, not {wanted.dtype}"


def close(found: Any, wanted: Any, factor: float) -> None:
    """Up to factor * precision of the largest."""
    alike(found, wanted)
    found, wanted = of_double(np.asarray(found)), of_double(np.asarray(wanted))
    bad = ~np.isfinite(wanted)
    if bad.any() or not np.isfinite(factor):
        return
    scale = np.abs(wanted).max(initial=0)
    error = np.abs(found - wanted).max(initial=0)
    assert error <= factor * scale, (
        f"error {error:.3g}, of {scale:.3g} allowed {factor * scale:.3g}"
    )


def below(value: float, what: str) -> None:
    assert value < ratios.THRESHOLD, f"{what}: ratio {value:.3g}"


def tolerance(n: int, cond: float, *arrays: Any) -> float:
    return 100 * max(n, 1) * precision(*arrays) * cond


# ---- the operations ------------------------------------------------------------------------------


@draws
def lu_factor(rng: Random) -> Case:
    a = unfit(rng, rectangle(rng), shape=False)  # SciPy takes a vector for a row
    a = spread(rng, a) if coin(rng, 0.05) and a.ndim == 2 else laid_out(rng, a)
    kept = np.array(a)

    def judge(found: Any, wanted: Any) -> None:
        for mine, own in zip(found, wanted, strict=True):
            alike(mine, own)
        below(ratios.lu_factors(np.asarray(kept, found[0].dtype), *found), "P L U - A")

    overwrite = coin(rng)
    return Case(
        (a,),
        {"overwrite_a": overwrite} if overwrite or coin(rng) else {},
        judge,
        spent=(0,) if overwrite else (),
    )


@draws
def lu_solve(rng: Random) -> Case:
    kind = str(rng.choice(matrices.DTYPES))
    a = square(rng, kind)
    factors = call(PEERS, "lu_factor", a)
    lu = laid_out(rng, factors[0])
    b = right_side(rng, len(a))
    cond, overwrite = condition(a), coin(rng)
    return Case(
        ((lu, factors[1]), b),
        {"trans": int(rng.integers(3)), "overwrite_b": overwrite, "check_finite": coin(rng)},
        lambda found, wanted: close(found, wanted, tolerance(len(a), cond, lu, found)),
        spent=(1,) if overwrite else (),
    )


@draws
def solve(rng: Random) -> Case:
    a = unfit(rng, square(rng))
    cond = condition(a)
    b = right_side(rng, len(a), int(np.isinf(cond)))  # SciPy does not look at A for none
    if np.isfinite(cond):
        b = unfit(rng, b, shape=False)
    return Case(
        (laid_out(rng, a), b),
        {},
        lambda found, wanted: close(found, wanted, tolerance(len(a), cond, a, found)),
        nearly_singular=np.isinf(cond) and not plainly_singular(a),
    )


def plainly_singular(a: Array) -> bool:
    """A row or a column of zeros."""
    return a.ndim == 2 and a.size > 0 and not (a.any(axis=0).all() and a.any(axis=1).all())


@draws
def det(rng: Random) -> Case:
    a = unfit(rng, square(rng))
    return Case((laid_out(rng, a),), {}, lambda found, wanted: same_determinant(a, found, wanted))


def same_determinant(a: Array, found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted), f"{type(found)}, not {type(wanted)}"
    values = np.linalg.svd(of_double(a), compute_uv=False)
    change = len(a) * float(values[0] * values[:-1].prod()) if len(a) else 1.0
    allowed = tolerance(len(a), 1.0, a) * (change + abs(wanted))
    assert abs(found - wanted) <= allowed, f"{found}, not {wanted}, allowed {allowed:.3g}"


@draws
def slogdet(rng: Random) -> Case:
    a = square(rng)
    cond = condition(a)

    def judge(found: Any, wanted: Any) -> None:
        """Values only: in which precision it is said is everyone's own."""
        if np.isfinite(cond):
            allowed = tolerance(len(a), cond, a) * max(1, abs(wanted[1]))
            assert abs(found[0] - wanted[0]) <= allowed, f"sign {found[0]}, not {wanted[0]}"
            assert abs(found[1] - wanted[1]) <= allowed, f"logarithm {found[1]}, not {wanted[1]}"
        elif plainly_singular(a):
            assert tuple(found) == (0, -np.inf), f"{found} of a singular matrix"

    return Case((laid_out(rng, a),), {}, judge)


@draws
def inv(rng: Random) -> Case:
    a = unfit(rng, square(rng))
    cond, overwrite = condition(a), coin(rng)
    return Case(
        (laid_out(rng, a),),
        {"overwrite_a": overwrite},
        lambda found, wanted: close(found, wanted, tolerance(len(a), cond, a, found)),
        nearly_singular=np.isinf(cond) and not plainly_singular(a),
        spent=(0,) if overwrite else (),
    )


def _cholesky(rng: Random, triangle_only: bool) -> Case:
    lower, overwrite = coin(rng), coin(rng)
    a = unfit(rng, positive(rng, lower))
    whole = ratios.hermitian(a, lower) if a.ndim == 2 and a.shape[0] == a.shape[1] else a
    given = laid_out(rng, a)

    def judge(found: Any, wanted: Any) -> None:
        if triangle_only:
            assert bool(found[1]) is lower
            found, wanted = found[0], wanted[0]
        alike(found, wanted)
        below(ratios.cholesky_factor(a, found, lower), "L L^H - A")
        if not triangle_only:
            assert np.array_equal(found, np.tril(found) if lower else np.triu(found)), (
                "the other triangle is not zero"
            )

    near = np.isinf(condition(whole)) and not plainly_singular(whole)
    return Case(
        (given,), {"lower": lower, "overwrite_a": overwrite}, judge, near, (0,) if overwrite else ()
    )


@draws
def cholesky(rng: Random) -> Case:
    return _cholesky(rng, False)


@draws
def cho_factor(rng: Random) -> Case:
    return _cholesky(rng, True)


@draws
def cho_solve(rng: Random) -> Case:
    lower, overwrite = coin(rng), coin(rng)
    n, kind = size(rng), str(rng.choice(matrices.DTYPES))
    a = numbers(rng, (n, n + 3), kind)
    a = a @ a.conj().T + np.eye(n, dtype=kind)
    c = laid_out(rng, call(PEERS, "cho_factor", a, lower=lower)[0])
    cond, b = condition(a), right_side(rng, n)
    return Case(
        ((c, lower), b),
        {"overwrite_b": overwrite, "check_finite": coin(rng)},
        lambda found, wanted: close(found, wanted, tolerance(n, cond, c, found)),
        spent=(1,) if overwrite else (),
    )


@draws
def solve_triangular(rng: Random) -> Case:
    lower, unit, overwrite = coin(rng), coin(rng), coin(rng)
    a = square(rng)
    n = len(a)
    if n and a.dtype.kind != "b" and not unit:
        np.fill_diagonal(a, np.where(a.diagonal() == 0, a.diagonal(), 5 + a.diagonal()))
    elif n:
        a = (a / (8 * n)).astype(np.result_type(a, np.float32)) if a.dtype.kind in "fc" else a
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    cond = condition(part + np.eye(n, dtype=a.dtype) if unit else part + np.diag(a.diagonal()))
    given, b = laid_out(rng, unfit(rng, a)), right_side(rng, n)
    trans = [0, 1, 2, "N", "T", "C"][int(rng.integers(6))]
    return Case(
        (given, b),
        {"lower": lower, "trans": trans, "unit_diagonal": unit, "overwrite_b": overwrite},
        lambda found, wanted: close(found, wanted, tolerance(n, cond, given, found)),
        spent=(1,) if overwrite else (),
    )


@draws
def qr(rng: Random) -> Case:
    a, mode, overwrite = (
        unfit(rng, rectangle(rng)),
        str(rng.choice(["full", "r", "economic", "raw"])),
        coin(rng),
    )
    given = spread(rng, a) if coin(rng, 0.05) and a.ndim == 2 else laid_out(rng, a)
    kept = np.array(given)

    def judge(found: Any, wanted: Any) -> None:
        assert len(found) == len(wanted), f"{len(found)} results"
        r, kind = found[-1], found[-1].dtype
        alike(r, wanted[-1])
        A = np.asarray(kept, kind)
        assert not np.tril(r, -1).any(), "R is not triangular"
        if mode == "r":
            below(ratios.qr_triangle(A, r), "R^H R - A^H A")
            return
        q = found[0]
        if mode == "raw":
            for mine, own in zip(found[0], wanted[0], strict=True):
                alike(mine, own)
            m, k = len(A), min(A.shape)
            q = ratios.reflected(*found[0], np.eye(m, k, dtype=kind)).astype(kind)
            r = r[:k]
        else:
            alike(q, wanted[0])
        below(ratios.qr_product(A, q, r), "Q R - A")
        below(ratios.qr_factors(A, q, r), "R - Q^H A")
        below(ratios.orthonormal(q), "I - Q^H Q")

    return Case(
        (given,), {"mode": mode, "overwrite_a": overwrite}, judge, spent=(0,) if overwrite else ()
    )


@draws
def lstsq(rng: Random) -> Case:
    kind = dtype(rng)
    a = rectangle(rng, kind)
    m, n = a.shape
    if n > 1 and coin(rng, 0.3):
        a[:, n // 2 : n // 2 * 2] = a[:, : n // 2]  # exactly deficient
    a = unfit(rng, a)
    given, b = laid_out(rng, a), right_side(rng, m, 1)  # xGELSD complains of none
    if not given.size:
        b = b[:m]  # SciPy 1.18 takes any for a matrix without elements
    values = (
        np.linalg.svd(of_double(a), compute_uv=False)
        if a.size and a.ndim == 2 and np.isfinite(a).all()
        else np.ones(1)
    )
    top = max(float(values[0]), 1e-300)
    own = values[values > 1e-4 * top]
    rounding = 10 * float(np.finfo(np.result_type(plain(given), plain(b))).eps)
    clear = not ((values <= 1e-4 * top) & (values > rounding * top)).any()
    cond = float(top / own[-1]) if len(own) and clear else np.inf

    def judge(found: Any, wanted: Any) -> None:
        alike(found[0], wanted[0])
        if np.isinf(cond):
            return
        rank = len(own) if given.size else 0
        assert found[2] == rank, f"rank {found[2]}, not {rank}"
        if wanted[2] != rank:
            return  # SciPy's cutoff, the precision alone, takes rounding for rank
        eps = precision(given, found[0])
        scale = np.abs(of_double(b)).max(initial=0) / top * cond + np.abs(of_double(wanted[0])).max(
            initial=0
        )
        error = np.abs(of_double(found[0]) - of_double(wanted[0])).max(initial=0)
        allowed = 100 * max(m, n) * eps * cond * scale * cond
        assert error <= allowed, f"x is wrong by {error:.3g}, allowed {allowed:.3g}"

    cut = {"cond": 1e-5} if coin(rng) else {}
    return Case((given, b), cut, judge)


@draws
def gram(rng: Random) -> Case:
    a, of = rectangle(rng, str(rng.choice(matrices.DTYPES))), str(rng.choice(["rows", "columns"]))
    given = spread(rng, a) if coin(rng, 0.05) else laid_out(rng, a)

    def judge(found: Any, wanted: Any) -> None:
        alike(found, wanted)
        below(ratios.gram(np.array(given), np.asarray(found), of == "columns"), "A A^H")

    return Case((given,), {"of": of}, judge)


# ---- running -------------------------------------------------------------------------------------


def case(name: str, seed: int, number: int) -> Case:
    return DRAWS[name](matrices.random(name, seed, number))


def outcome(functions: Any, name: str, args: Any, options: dict[str, Any]) -> tuple[Any, str]:
    """(result, "") or (None, kind of error)."""
    try:
        return call(functions, name, *args, **options), ""
    except Exception as error:
        kinds = (np.linalg.LinAlgError, ValueError, TypeError)
        kind = next(
            (kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__
        )
        return error, kind


def arrays(x: Any) -> list[Array]:
    """All arrays in a result, or in arguments."""
    if isinstance(x, tuple | list):
        return [array for part in x for array in arrays(part)]
    return [x] if isinstance(x, np.ndarray) else []


def attempt(name: str, seed: int, number: int) -> str:
    """What is wrong with one call, or nothing."""
    drawn = case(name, seed, number)
    wanted, error = outcome(PEERS, name, [plain(x) for x in drawn.args], kept(drawn.options))
    before = [array.tobytes() for array in arrays(list(drawn.args))]
    found, own = outcome(OURS, name, drawn.args, drawn.options)
    if own != error:
        if (
            drawn.nearly_singular
            and "LinAlgError" in (own, error)
            and {own, error} <= {"LinAlgError", ""}
        ):
            return ""
        return (
            f"{own or 'a result'} ({found if own else ''}) where SciPy has {error or 'a result'}"
            f" ({wanted if error else ''})"
        )
    spent = [array for place in drawn.spent for array in arrays([drawn.args[place]])]
    for array, bits in zip(arrays(list(drawn.args)), before, strict=True):
        if not any(array is other for other in spent):
            if array.tobytes() != bits:
                return "an argument has changed"
            if not own and any(np.may_share_memory(array, result) for result in arrays(found)):
                return "a result is in an argument's memory"
    if not own and not drawn.nearly_singular:
        try:
            drawn.judge(found, wanted)
        except AssertionError as wrong:
            return str(wrong) or "the judge says no"
    return ""


def described(name: str, seed: int, number: int) -> str:
    drawn = case(name, seed, number)
    forms = [f"{a.dtype} {a.shape} strides {a.strides}" for a in arrays(list(drawn.args))]
    return f"--only {name} --seed {seed} --first {number} 1: {'; '.join(forms)} {drawn.options}"


def run(name: str, count: int, seed: int, first: int = 0) -> list[str]:
    """Findings in that many calls."""
    found = []
    for number in range(first, first + count):
        if wrong := attempt(name, seed, number):
            found.append(f"{described(name, seed, number)}\n    {wrong}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=DRAWS)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    given = parser.parse_args()
    total = 0
    for name in [given.only] if given.only else DRAWS:
        began = time.monotonic()
        found = run(name, given.count, given.seed, given.first)
        total += len(found)
        seconds = time.monotonic() - began
        print(
            f"{name:18}{given.count:8} calls {len(found):5} findings {seconds:7.1f} s",
            *found[:10],
            sep="\n",
            flush=True,
        )
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
