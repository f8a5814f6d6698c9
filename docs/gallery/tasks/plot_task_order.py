"""
Not always the fastest first
============================

A master hands out equal tasks over a bus. A worker needs one message before its first
task. How many tasks are done by a given time? To serve the fastest worker first looks
right, but is not always: a worker that is served later has less time, and how many
tasks it loses depends on the rounding.
"""

import matplotlib.pyplot as plt

import hetsched as hs

workers = hs.Platform.star([5, 9], names=["fast", "slow"])
fastest, best = (
    hs.max_tasks(28, workers, send=1, method=method) for method in ("fastest", "best")
)
print(
    f"fastest first: {fastest.tasks} tasks {fastest.counts};",
    f"best: {best.tasks} tasks {best.counts}",
)
assert best.tasks > fastest.tasks

# %%
# Messages are orange, tasks are blue, and both plans have the same deadline. In the
# upper plan the fast worker is served first, in the lower one the slow worker.

figure, axes = plt.subplots(2, 1, figsize=(8, 4.2), layout="constrained")
for ax, plan in zip(axes, (fastest, best), strict=True):
    hs.simulate(plan).plot(ax)
    ax.axvline(28, color="#d55e00", linestyle=":")
    ax.set_xlim(0, 29)
axes[0].set_xlabel("")
axes[1].set_xlabel("time; dotted: the deadline")
plt.show()
