"""
Slices on a ring
================

Two clusters of 2003, the same iteration. Slices follow the speeds, the order of the
ring avoids dear links, and workers whose messages cost more than they help are left
out.
"""

import matplotlib.pyplot as plt

import hetsched as hs

clusters = {"Lyon": hs.datasets.lyon(), "Strasbourg": hs.datasets.strasbourg()}
plans = [hs.slice_ring(cluster, work=100, volume=1) for cluster in clusters.values()]
for name, plan in zip(clusters, plans, strict=True):
    print(f"{name}: ring {plan.ring}, {plan.certificate}")

# %%
# Each slice is as long as its share; a border is the thicker the dearer its link is.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 5.2), layout="constrained")
for ax, name, plan in zip(axes, clusters, plans, strict=True):
    plan.plot(ax)
    ax.set_xlabel(name)
plt.show()
