"""
Which job on which worker
=========================

Jobs of different kinds take different times on different workers; each worker gets one.
:func:`hetsched.assign` finds the pairs of least total time, and prices that prove it:
no job and worker together have a price above their time.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(6)
times = np.round(
    np.outer(rng.uniform(2, 9, 7), rng.uniform(1, 4, 7))
    * rng.lognormal(0, 0.5, (7, 7)),
    1,
)
found = hs.assign(times)
greedy, free = 0.0, list(range(7))
for job in range(7):  # each takes what is best for it
    worker = min(free, key=lambda j: times[job, j])
    free.remove(worker)
    greedy += times[job, worker]
print(
    f"optimal {found.cost:.1f}, bound {found.bound:.1f};",
    f"one job after the other takes its best: {greedy:.1f}",
)
assert (found.row_prices[:, None] + found.col_prices <= times + 1e-9).all()

# %%
# Framed are the pairs. The colour is what a pair would cost beyond its prices: zero in
# every frame.

slack = times - found.row_prices[:, None] - found.col_prices
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
image = ax.imshow(np.maximum(slack, 0), cmap="Blues", vmax=2 * slack.mean())
for (job, worker), time in np.ndenumerate(times):
    ax.text(
        worker,
        job,
        f"{time:.1f}",
        ha="center",
        va="center",
        color="white" if slack[job, worker] > 1.2 * slack.mean() else "black",
    )
for job, worker in zip(found.rows, found.cols, strict=True):
    ax.add_patch(
        plt.Rectangle(
            (worker - 0.46, job - 0.46),
            0.92,
            0.92,
            fill=False,
            edgecolor="#d55e00",
            linewidth=2.5,
        )
    )
ax.set(xlabel="worker", ylabel="job")
figure.colorbar(image, label="time beyond the prices", extend="max")
plt.show()
