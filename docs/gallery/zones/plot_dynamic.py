"""
Planned, or on demand
=====================

A runtime system hands out tasks to the workers that ask. It sends more data than a
planned division of the same product, but speeds that change cost it little.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(7)
workers = np.array([2, 4, 8, 16, 32, 64])
methods = ("random", "sorted", "dynamic", "dynamic-2phases")
ratio = {}
for kind, n in (("outer", 60), ("matrix", 20)):
    own = ratio[kind] = {name: [] for name in ("planned", *methods)}
    for p in workers:
        speeds = rng.uniform(10, 100, p)
        for method in methods:
            plan = hs.dynamic_product(n, speeds=speeds, kind=kind, method=method)
            own[method].append(plan.volume / plan.balanced_bound)
        sent = n * hs.partition(speeds, "interval").cost
        if kind == "matrix":
            sent = n**2 * hs.cuboids(speeds, orders=0).cost
        own["planned"].append(sent / plan.balanced_bound)
    least = min(np.divide(own["dynamic-2phases"], own["planned"]))
    print(f"{kind}: on demand sends at least {least:.2f} times as much as planned")

# When a fifth of the work is done, half of eight workers become slower by a factor.
n, times, factors = 40, rng.uniform(1, 3, 8), np.array([1, 2, 3, 4, 6, 8])
moment = 0.2 * n * n / (1 / times).sum()
late = {"planned": [], "dynamic-2phases": []}
for factor in factors:
    slower = np.where(np.arange(8) < 4, factor * times, times)
    drift = [(moment, hs.Platform.star(slower))]
    zones = hs.partition(cycle_times=times, shape=(n, n))
    demand = hs.dynamic_product(n, times, drift=drift)
    for ends, plan in zip(late.values(), (zones, demand), strict=True):
        run = hs.simulate(plan, drift=drift)
        ends.append(run.makespan / run.ideal)
for name, ends in late.items():
    print(f"{name}: {ends[0]:.2f} times the ideal makespan, then {ends[-1]:.2f} times")

# %%
# Left and middle: blocks sent, over the least possible for balanced loads. Right: the
# makespan over that of the work divided perfectly at every moment, with eight workers.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
colours = dict(zip(("planned", *methods), plt.cm.tab10.colors, strict=False))
for ax, (kind, own) in zip(axes, ratio.items(), strict=False):
    for name, values in own.items():
        ax.plot(workers, values, color=colours[name], marker="o", label=name)
    ax.set(title=kind, xlabel="workers", ylabel="volume / bound", xscale="log")
    ax.set_xticks(workers, workers)
    ax.minorticks_off()
axes[0].legend(frameon=False, fontsize=8)
for name, values in late.items():
    axes[2].plot(factors, values, color=colours[name], marker="o")
axes[2].set(title="speeds that change", xlabel="half of the workers slower by")
axes[2].set(ylabel="makespan / ideal", ylim=(0.9, None))
plt.show()
