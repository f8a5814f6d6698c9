"""
Results back in the same order, or the reverse
==============================================

A load that can be divided at will is sent over a bus, part by part, and results come
back over it. First in, first out; or last in, first out? Neither is always right: on
the left platform all links are equal, on the right one they are not.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

platforms = {
    "equal links": hs.Platform.star([1, 1, 1], [0.5, 0.5, 0.5]),
    "unequal links": hs.Platform.star([3, 2, 5], [1, 0.2, 0.6]),
}
ratios = np.linspace(0, 2, 21)

# %%
# What each order costs beside the best one, against the size of the results.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (name, star) in zip(axes, platforms.items(), strict=True):
    makespans = {
        method: np.array(
            [
                hs.divisible_load(100, star, return_ratio=ratio, method=method).makespan
                for ratio in ratios
            ]
        )
        for method in ("fifo", "lifo", "best")
    }
    print(
        name,
        {method: round(float(values[10]), 2) for method, values in makespans.items()},
        "at ratio 1",
    )
    for method, style in (
        ("fifo", {"color": "#0072b2"}),
        ("lifo", {"color": "#e69f00", "linestyle": "--"}),
    ):
        ax.plot(
            ratios,
            makespans[method] / makespans["best"],
            linewidth=2,
            label=method,
            **style,
        )
    ax.set(title=name, xlabel="size of the results / size of the load")
    ax.legend(frameon=False)
axes[0].set_ylabel("makespan / best makespan")
plt.show()
