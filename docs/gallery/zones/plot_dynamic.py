"""
Planned, or on demand
=====================

A runtime system hands out tasks to the workers that ask. It sends more data than a
planned division of the same product, but it does not mind speeds that change: what is
saved on one side is lost on the other.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(7)
workers = np.array([2, 4, 8, 16, 32, 64])
blocks = {"outer": 60, "matrix": 20}
methods = ("random", "sorted", "dynamic", "dynamic-2phases")
ratio = {kind: {name: [] for name in ("planned", *methods)} for kind in blocks}
for p in workers:
    speeds = rng.uniform(10, 100, p)
    for kind, n in blocks.items():
        for method in methods:
            plan = hs.dynamic_product(n, speeds=speeds, kind=kind, method=method)
            ratio[kind][method].append(plan.volume / plan.balanced_bound)
        if kind == "outer":
            planned = n * hs.partition(speeds, "interval").cost
        else:
            planned = n**2 * hs.cuboids(speeds, orders=0).cost
        ratio[kind]["planned"].append(planned / plan.balanced_bound)

# %%
# Then the speeds change: when a fifth of the work is done, half of the eight workers
# become slower by a factor. The planned zones stay as they are; demand adapts.

n, times = 40, rng.uniform(1, 3, 8)
moment = 0.2 * n * n / (1 / times).sum()
factors = np.array([1, 2, 3, 4, 6, 8])
late = {"planned": [], "dynamic-2phases": []}
for factor in factors:
    slower = np.where(np.arange(8) < 4, factor * times, times)
    drift = [(moment, hs.Platform.star(slower))]
    for name, ends in late.items():
        if name == "planned":
            plan = hs.partition(cycle_times=times, shape=(n, n))
        else:
            plan = hs.dynamic_product(n, times, drift=drift)
        run = hs.simulate(plan, drift=drift)
        ends.append(run.makespan / run.ideal)

for kind in blocks:
    least = min(np.divide(ratio[kind]["dynamic-2phases"], ratio[kind]["planned"]))
    print(f"{kind}: on demand sends at least {least:.2f} times as much as planned")
print("speeds as planned: planned", f"{late['planned'][0]:.3f}, on demand", end=" ")
print(f"{late['dynamic-2phases'][0]:.3f} times the ideal makespan")
print(f"{factors[-1]} times slower: {late['planned'][-1]:.2f} and", end=" ")
print(f"{late['dynamic-2phases'][-1]:.2f} times")

# %%
# The volume is over that of the bound for balanced loads, the makespan over that of the
# work divided perfectly at every moment.

colours = dict(zip(("planned", *methods), plt.cm.tab10.colors, strict=False))
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, kind in zip(axes, blocks, strict=False):
    for name, values in ratio[kind].items():
        ax.plot(workers, values, color=colours[name], marker="o", label=name)
    title = f"{kind}, {blocks[kind]} blocks a side"
    ax.set(title=title, xlabel="workers", ylabel="volume / bound", xscale="log")
    ax.set(ylim=(0.9, None), xticks=workers, xticklabels=workers)
    ax.minorticks_off()
axes[0].legend(frameon=False, fontsize=8)
for name, values in late.items():
    axes[2].plot(factors, values, color=colours[name], marker="o", label=name)
axes[2].set(title="speeds that change", xlabel="half of the workers slower by")
axes[2].set(ylabel="makespan / ideal", ylim=(0.9, None))
plt.show()
