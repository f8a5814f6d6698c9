"""
Memory saves the port
=====================

The more blocks of C a worker can hold, the more often it uses each block of A and B
that is sent to it. Maximum re-use keeps as much of C as fits; demand-driven chunks
(ODDOML) leave room to receive while they compute; Toledo's blocks (BMM) give a third of
the memory to each matrix. No method is the best for every memory: sides of chunks are
whole numbers that have to fit.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

memories = np.array([12, 21, 32, 45, 60, 77, 96, 117, 140])
methods = {
    "bmm": ("#999999", "v"),
    "oddoml": ("#e69f00", "s"),
    "maxreuse": ("#0072b2", "o"),
}
makespans = {method: [] for method in methods}
bounds = []
for memory in memories.tolist():
    star = hs.Platform.star([1, 1, 1], link_costs=[3, 3, 3], memory=[memory] * 3)
    for method, values in makespans.items():
        plan = hs.plan_product(36, 36, 36, star, method)
        values.append(plan.makespan)
    bounds.append(plan.lower_bound)
last = {method: round(values[-1]) for method, values in makespans.items()}
print("at", memories[-1], "blocks:", last, "bound", round(bounds[-1], 1))

# %%
# Three equal workers whose links take three times as long for a block as the workers
# for an update. The shaded part is below the proven bound: no plan gets there.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for method, (colour, marker) in methods.items():
    ax.plot(memories, makespans[method], color=colour, marker=marker, label=method)
ax.fill_between(memories, bounds, color="#dddddd", linewidth=0, label="below the bound")
ax.set(
    xscale="log", xlabel="memory of a worker, blocks", ylabel="makespan", ylim=(0, None)
)
ax.set_xticks(memories, memories)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
