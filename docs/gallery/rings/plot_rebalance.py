"""
When a worker becomes slow
==========================

After ten of forty steps the fast worker takes three times as long, and another is
faster than it was. Fixed slices go on at the pace of the worker that fell behind. With
``rebalance=`` columns move to others as soon as the loss pays for moving them.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

links = np.array([[0, 2, 6], [4, 0, 9], [6, 8, 0.0]])
before, after = (hs.Platform.complete(times, links) for times in ([3, 5, 8], [9, 5, 4]))
U = np.random.default_rng(0).standard_normal((302, 400))
with hs.Pool(before, emulate=True, time_scale=8) as pool:
    V, fixed = pool.stencil(U, 40, drift=[(10, after)], trace=True)
    W, moved = pool.stencil(U, 40, drift=[(10, after)], rebalance=5, trace=True)
assert np.array_equal(V, W)
print(f"fixed slices: {fixed.makespan:.3f} s, with rebalancing: {moved.makespan:.3f} s")

# %%
# When the last worker ends each step. The dotted line is the step from which on the
# speeds are others. Where the lower line leaves the upper one, columns have moved.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for trace, colour, name in (
    (fixed, "#d55e00", "fixed slices"),
    (moved, "#0072b2", "rebalance=5"),
):
    ends = [
        max(event.end for event in trace.events if event.what == f"step {step}")
        for step in range(40)
    ]
    ax.plot(range(1, 41), ends, color=colour, marker=".", label=name)
ax.axvline(10, color="black", linestyle=":", linewidth=1, label="speeds change")
ax.set(xlabel="steps done", ylabel="seconds", xlim=(0, 41), ylim=(0, None))
ax.legend(frameon=False)
plt.show()
