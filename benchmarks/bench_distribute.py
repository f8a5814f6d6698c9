"""Time of `distribute` for many workers beside numpy.sort of as many doubles in the same run: CPU
time, medians of turns.

NumPy sorts with AVX-512 or AVX2 where there is one, at some 5 ns a double: to read and write an
array of doubles a few times is as much. What the C function takes is shown by itself; the rest is
Python's.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

import numpy as np
from common import parser, print_machine, turns

import hetsched as hs
from hetsched._engine import allocate

#: hs.distribute's time over numpy.sort's, at most.
TARGET = 10.0


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=31)
    given = options.parse_args()
    print_machine()
    p, n = 10**5, 10**15
    rng = np.random.default_rng(5)
    kinds = {
        "uniform": rng.uniform(1, 10, p),
        "of six decades": 10 ** rng.uniform(-3, 3, p),
        "integers up to 9, all tie": rng.integers(1, 10, p).astype(float),
    }
    for kind, times in kinds.items():
        print(f"\nn = {n:.0e}, p = {p:.0e}, cycle-times {kind}")
        calls = {
            "numpy.sort": partial(np.sort, times),
            "hs_distribute": partial(allocate.distribute, n, times),
            "hs.distribute": partial(hs.distribute, n, times),
        }
        spent = turns(calls, given.rounds, pause=0.0, warm=False, clock=time.process_time)
        for name, own in spent.items():
            pairs = zip(own, spent["numpy.sort"], strict=True)
            ratio = statistics.median(seconds / sort for seconds, sort in pairs)
            goal = ""
            if name == "hs.distribute":
                goal = f"  target {TARGET:g}  {'met' if ratio <= TARGET else 'MISSED'}"
            ms = 1e3 * statistics.median(own)
            print(f"  {name:16} {ms:8.2f} ms  {ratio:6.1f} x numpy.sort{goal}")


if __name__ == "__main__":
    main()
