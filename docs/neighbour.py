"""Draws neighbour.png of the README: python docs/neighbour.py, on a machine with two idle cores.

The same product twice, beside a program that keeps the second core busy: split equally, and by
`hs.matmul`, where a worker that has finished takes tiles of the slower one. Median of seven.
"""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import hetsched as hs

mpl.use("Agg")
from matplotlib.figure import Figure

BUSY = "import os; os.sched_setaffinity(0, [int({})])\nwhile True: pass"
N = 3000

A, B = np.random.default_rng(0).random((2, N, N))
cpus = hs.topology().places[:2]
with (
    hs.Pool(2) as pool,
    subprocess.Popen([sys.executable, "-c", BUSY.format(cpus[1])]) as neighbour,
):
    try:
        halves = hs.partition(areas=[1, 1], method="columns", shape=(N, N))
        runs = [
            (pool.run(halves, A, B, trace=True)[1], pool.matmul(A, B, trace=True)[1])
            for _ in range(7)
        ]
    finally:
        neighbour.kill()

# of each, the run of median time
equal, shared = (
    sorted(traces, key=lambda trace: trace.makespan)[3] for traces in zip(*runs, strict=True)
)
figure = Figure(figsize=(9, 3.4), layout="constrained")
above, below = figure.subplots(2)
for ax, trace, name in ((above, equal, "equal split"), (below, shared, "hs.matmul")):
    trace.plot(ax, until=equal.makespan)
    ax.get_legend().remove()
    ax.set_title(f"{name}: {trace.makespan:.2f} s", loc="left", fontsize=10)
figure.savefig(Path(__file__).with_name("neighbour.png"), dpi=110)
print(f"{equal.makespan:.3f} s, {shared.makespan:.3f} s")
