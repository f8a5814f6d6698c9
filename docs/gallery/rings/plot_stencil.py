"""
A stencil on unequal workers
============================

Jacobi's iteration on a matrix that is cut into slices: after each update, neighbours on
the ring exchange a column. Slices follow the speeds, rounded to whole columns, and the
exchange costs what the links cost.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

lab = hs.Platform.complete(
    [3, 5, 8], [[0, 20, 60], [40, 0, 90], [60, 80, 0]]
)  # s per gigaflop, s per gigabyte
U = np.random.default_rng(0).standard_normal((302, 400))
with hs.Pool(lab, emulate=True, time_scale=40) as pool:
    plan = pool.plan_stencil(302, 400, 3)
    V, trace = pool.stencil(U, 3, plan=plan, trace=True)
with hs.Pool(1) as single:
    assert np.array_equal(V, single.stencil(U, 3))  # the same bits, whoever computes
print("ring", plan.ring, "columns", plan.counts)
print(f"predicted {trace.predicted:.4f} s, measured {trace.makespan:.4f} s")

# %%
# Three steps on emulated workers. Orange are the exchanges with both neighbours; the
# dashed line is where the plan ends.

trace.plot()
plt.show()
