"""
Blocks in both directions
=========================

Whole block columns send every panel to every worker. Dealt in both directions, the
blocks of an LU factorisation travel less, and the last steps are balanced better.
"""

import matplotlib.pyplot as plt

import hetsched as hs

cycle_times = [3, 4, 5, 6, 8, 12]
columns, grid = (hs.lu_grid(24, cycle_times, method) for method in ("columns", "1d1d"))
for plan in (columns, grid):
    print(f"{plan.method:8} {plan.certificate}, {plan.traffic.sum()} blocks sent")
assert grid.traffic.sum() < columns.traffic.sum()

# %%
# A colour for each worker: left whole columns, right columns of workers that share
# their rows.

figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
for ax, plan in zip(axes, (columns, grid), strict=True):
    plan.plot(ax)
plt.show()
