"""
A device that holds only so much
================================

A device is fast, but it takes a while to start and holds 200 of 400 blocks. Two cores
are slow, and slower still for narrow zones. With one speed per worker the device gets
more than it holds. Times by height and width give it what fits, and the cores squares.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs


def device(h, w):
    return np.where(h * w <= 200, 8 + 0.25 * h * w, np.inf)


def core(h, w):
    return h * w * (1 + 3 / np.minimum(h, w))


profiles = [device, core, core]
platform = hs.Platform.star([0.25, 1, 1], names=["device", "core 1", "core 2"])
naive = hs.partition(platform, shape=(20, 20), method="columns")
print(f"one speed per worker: {naive.load[0]} blocks for the device")
slices = hs.partition_profile(
    (20, 20), profiles, rects=[[0, 0, 10, 20], [10, 0, 5, 20], [15, 0, 5, 20]]
)
plan = hs.partition_profile((20, 20), profiles)
print(f"makespan of slices {slices.makespan:g}, planned {plan.makespan:g}")
print(plan.certificate)

# %%
# Left: zones by speed, of which the first does not fit. Middle: what fits, in slices.
# Right: the plan, which is optimal.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
naive.plot(axes[0], cut_order=False)
slices.plot(axes[1])
plan.plot(axes[2])
plt.show()
