"""
How near to the bound partitions come
=====================================

No zone of area a has a half perimeter below twice the square root of a, so the sum of
these is a bound for every partition. Over random speeds the cost of a good partition
stays close to it; that of horizontal slices soon leaves the picture.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(22)
workers = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32])
methods = {
    "rows": ("#999999", "v"),
    "recursive": ("#e69f00", "s"),
    "columns": ("#0072b2", "o"),
    "interval": ("#009e73", "D"),
}
ratio = {method: np.empty((len(workers), 40)) for method in methods}
for row, p in enumerate(workers):
    for repeat in range(40):
        speeds = rng.uniform(1, 10, p)
        for method, cells in ratio.items():
            plan = hs.partition(speeds, method)
            cells[row, repeat] = plan.cost / (2 * np.sqrt(plan.areas).sum())
print(
    f"{workers[-1]} workers:",
    {method: round(float(np.median(cells[-1])), 3) for method, cells in ratio.items()},
)

# %%
# Lines are medians of 40 draws of speeds between 1 and 10; the bands hold the middle
# half of them. With two and three workers the bound cannot be reached by anyone.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for method, (colour, marker) in methods.items():
    low, middle, high = np.percentile(ratio[method], [25, 50, 75], axis=1)
    ax.plot(workers, middle, color=colour, marker=marker, label=method)
    ax.fill_between(workers, low, high, color=colour, alpha=0.2, linewidth=0)
ax.axhline(1, color="black", linestyle="--", linewidth=1, label="bound")
ax.set(xscale="log", xlabel="workers", ylabel="cost / bound", ylim=(0.95, 1.6))
ax.set_xticks(workers, workers, minor=False)
ax.minorticks_off()
ax.legend(frameon=False, loc="center right")
plt.show()
