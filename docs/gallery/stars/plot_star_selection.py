"""
The port selects the workers
============================

A master sends blocks through one port, one message at a time. Where links are cheap the
shares follow the speeds; the dearer they become, the fewer workers the port can feed,
and the fast links win over the fast workers.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

cycle_times, links = [1, 1.5, 2, 2.5, 3, 4], np.array([4, 1, 3, 0.5, 2, 1.0])
factors = np.geomspace(0.1, 2, 9)
columns = []
for factor in factors:
    star = hs.Platform.star(cycle_times, factor * links, memory=[21] * 6)
    plan = hs.plan_product(12, 60, 12, star, "het")
    columns.append(plan.columns)
    print(f"links x {factor:.3f}: enrolled {plan.enrolled}, bound by {plan.binding}")

# %%
# Block columns of C for each of the workers, as the links become dearer from left to
# right.

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
names = [
    f"cycle-time {w:g}, link {c:g}" for w, c in zip(cycle_times, links, strict=True)
]
colours = ["#0072b2", "#56b4e9", "#009e73", "#f0e442", "#e69f00", "#cc79a7"]
bottom = np.zeros(len(factors))
for name, colour, height in zip(names, colours, np.array(columns).T, strict=True):
    ax.bar(
        range(len(factors)),
        height,
        0.85,
        bottom,
        color=colour,
        edgecolor="white",
        label=name,
    )
    bottom += height
ax.set_xticks(range(len(factors)), [f"{factor:.2g}" for factor in factors])
ax.set(xlabel="links times", ylabel="block columns of C")
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
