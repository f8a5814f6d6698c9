"""
The schedule of an LU factorisation
===================================

A panel must be factored before the columns right of it can be updated, and its owner
has updates of its own to do. :func:`hetsched.plan_lu` says beforehand when each task
starts and ends.
"""

import matplotlib.pyplot as plt

import hetsched as hs

rack = hs.Platform.star(
    [3, 5, 8], names=["fast", "middle", "slow"]
)  # seconds per gigaflop
plans = {
    owner: hs.plan_lu(1000, 1000, rack, owner=owner, block=100)
    for owner in ("cyclic", "pattern")
}
for owner, plan in plans.items():
    print(f"{owner:8} {plan.makespan:.3f} s, efficiency {plan.efficiency:.1%}")
assert plans["pattern"].makespan < plans["cyclic"].makespan

# %%
# Above columns in turn: the slow worker is late from the first step on. Below the
# pattern by speeds. White lines part the tasks; grey is waiting.

figure = plt.figure(figsize=(9, 5), layout="constrained")
long, short = plans["cyclic"].makespan, plans["pattern"].makespan
grid = figure.add_gridspec(
    2, 2, width_ratios=[short, long - short]
)  # a second is equally long in both
plans["cyclic"].plot(figure.add_subplot(grid[0, :]))
plans["pattern"].plot(figure.add_subplot(grid[1, 0]))
plt.show()
