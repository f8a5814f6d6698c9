"""
Four ways to send layers
========================

C = A B is a sum of layers: a column of A times a row of B each. A source sends layers
one after another or to all at once, and workers begin when all has arrived or as it
arrives. The counts of layers follow the mode.
"""

import matplotlib.pyplot as plt

import hetsched as hs

star = hs.Platform.star(
    [2e-4, 3e-4, 5e-4, 7e-4], [3e-4, 8e-4, 5e-4, 4e-4]
)  # seconds per multiply-add and per element
modes = {
    "sccs": "one after another, then work",
    "scss": "one after another, work as it arrives",
    "pccs": "all at once, then work",
    "pcss": "all at once, work as it arrives",
}
plans = {mode: hs.layers_star(20, star, mode=mode) for mode in modes}
for mode, plan in plans.items():
    print(f"{mode} {plan.counts} makespan {plan.makespan:.3f}")

# %%
# Orange are messages, blue is work, on the same axis of time.

longest = max(plan.makespan for plan in plans.values())
figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")
for ax, (mode, plan) in zip(axes.flat, plans.items(), strict=True):
    hs.simulate(plan).plot(ax)
    ax.set(xlim=(0, 1.02 * longest), xlabel=f"time; {mode}: {modes[mode]}")
plt.show()
