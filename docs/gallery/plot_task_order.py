"""
Not always the fastest first
============================

A master hands out equal tasks over a bus; a slave needs one message before its first task. How many tasks are done by a given
time? The fastest slave first looks right, and is not: whoever is served later has less time for its tasks, and what is lost
depends on where the rounding falls.
"""

import matplotlib.pyplot as plt

import hetsched as hs

slaves = hs.Platform.star([5, 9], names=["fast", "slow"])
fastest, best = (hs.max_tasks(28, slaves, send=1, method=method) for method in ("fastest", "best"))
print(f"fastest first: {fastest.tasks} tasks {fastest.counts}; best: {best.tasks} tasks {best.counts}")
assert best.tasks > fastest.tasks

# %%
# Orange are messages, blue are tasks, by the same deadline. Above the fast slave is served first, below the slow one.

figure, axes = plt.subplots(2, 1, figsize=(8, 4.2), layout="constrained")
for ax, plan in zip(axes, (fastest, best), strict=True):
    hs.simulate(plan).plot(ax)
    ax.axvline(28, color="#d55e00", linestyle=":")
    ax.set_xlim(0, 29)
axes[0].set_xlabel("")
axes[1].set_xlabel("time; dotted: the deadline")
plt.show()
