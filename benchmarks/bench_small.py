"""What a small call costs beyond NumPy's own: microseconds, medians of paired rounds (each times
both, one after the other).

`empty subclass` is the same call on a class derived from numpy.ndarray with nothing in it: what
NumPy takes for any subclass.
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from common import parser, print_machine, seconds_each

import hetsched as hs

SIZES = (1, 8, 16, 32, 64)
ROUNDS, CALLS = 101, 500


class Empty(np.ndarray[Any, Any]):
    pass


def beyond(
    ours: Callable[..., object],
    our_args: tuple[Any, ...],
    plain: Callable[..., object],
    args: tuple[Any, ...],
    rounds: int,
) -> tuple[float, float]:
    """Microseconds that ours takes longer than plain, and those of plain."""
    differences, times = [], []
    for _ in range(rounds):
        first = seconds_each(ours, *our_args, calls=CALLS)
        second = seconds_each(plain, *args, calls=CALLS)
        differences.append(first - second)
        times.append(second)
    return 1e6 * statistics.median(differences), 1e6 * statistics.median(times)


def wrapped_sum(A: Any, B: Any) -> Any:
    return hs.asarray(A) + B


def plain_sum(A: Any, B: Any) -> Any:
    return A + B


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = options.parse_args().rounds
    print_machine()
    hs.matmul(np.eye(200), np.eye(200))  # starts the pool
    print(f"{'':26}" + "".join(f"{f'n = {n}':>16}" for n in SIZES))
    print(f"{'':26}" + "".join(f"{'more':>9}{'NumPy':>7}" for _ in SIZES))
    rows: dict[
        str, tuple[Callable[..., object], Callable[..., object], Callable[[Any], tuple[Any, ...]]]
    ] = {
        "hs.matmul(X, Y)": (hs.matmul, np.matmul, lambda a: (a, a.copy())),
        "hs.Pool.matmul(X, Y)": (hs.Pool().matmul, np.matmul, lambda a: (a, a.copy())),
        "hs.asarray(X) + Y": (wrapped_sum, plain_sum, lambda a: (a, a.copy())),
    }
    for name, wrap in (("A", hs.asarray), ("empty subclass", lambda a: a.view(Empty))):
        rows[f"{name} + Y"] = (operator.add, operator.add, lambda a, wrap=wrap: (wrap(a), a.copy()))
        rows[f"{name} * 2.0"] = (operator.mul, operator.mul, lambda a, wrap=wrap: (wrap(a), 2.0))
        rows[f"{name} @ Y"] = (
            operator.matmul,
            operator.matmul,
            lambda a, wrap=wrap: (wrap(a), a.copy()),
        )
        rows[f"numpy.exp({name})"] = (np.exp, np.exp, lambda a, wrap=wrap: (wrap(a),))
        rows[f"{name}.sum()"] = (
            operator.methodcaller("sum"),
            operator.methodcaller("sum"),
            lambda a, wrap=wrap: (wrap(a),),
        )
    rng = np.random.default_rng(0)
    for name, (ours, plain, arguments) in rows.items():
        line = f"{name:26}"
        for n in SIZES:
            args = arguments(rng.standard_normal((n, n)))
            bare = tuple(np.asarray(x) if isinstance(x, np.ndarray) else x for x in args)
            more, numpys = beyond(ours, args, plain, bare, rounds)
            line += f"{more:9.2f}{numpys:7.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
