"""
Block columns for LU
====================

In LU only the columns right of the panel are updated, so the matrix shrinks.
:func:`hetsched.lu_pattern` deals block columns such that what is left is balanced at
every step. Columns in turn leave it to the slowest, adjacent columns leave workers idle
once their part is done.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

import hetsched as hs

plans = {
    method: hs.lu_pattern(30, cycle_times=[3, 5, 8], method=method)
    for method in ("contiguous", "cyclic", "pattern")
}
for method, plan in plans.items():
    print(f"{method:10} {plan.certificate}")

# %%
# Left the owner of each block column, right the time of each step's update.

colours = {"contiguous": "#999999", "cyclic": "#e69f00", "pattern": "#0072b2"}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
image = left.imshow(
    np.array([plan.owner for plan in plans.values()]),
    aspect="auto",
    cmap=ListedColormap(["#0072b2", "#e69f00", "#999999"]),
)
left.set_yticks(range(3), list(plans))
left.set_yticks([0.5, 1.5], minor=True)
left.grid(which="minor", color="white", linewidth=6)
left.tick_params(which="both", length=0)
left.set_xlabel("block column")
bar = figure.colorbar(
    image, ax=left, location="top", ticks=[1 / 3, 1, 5 / 3], aspect=40
)
bar.set_ticklabels(["cycle-time 3", "cycle-time 5", "cycle-time 8"])
for method, plan in plans.items():
    right.step(
        range(1, 30),
        plan.step_costs,
        where="mid",
        color=colours[method],
        label=f"{method}: {plan.cost:.0f}",
    )
right.set(xlabel="step", ylabel="time of the update", ylim=(0, None))
right.legend(frameon=False, title="in all")
plt.show()
