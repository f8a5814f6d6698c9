"""
Why equal splits lose
=====================

Three workers of cycle-times 3, 5 and 8 share 78 equal chunks. A third for each is fair
and slow: all wait for the slowest. Counts that follow the speeds end together.
"""

import matplotlib.pyplot as plt

import hetsched as hs

platform = hs.Platform.star([3, 5, 8], names=["fast", "middle", "slow"])
equal = hs.distribute(78, platform, counts=[26, 26, 26])
planned = hs.distribute(78, platform)
print("equal:  ", equal.counts, equal.certificate)
print("planned:", planned.counts, planned.certificate)

# %%
# Blue is work, grey is waiting. Above the equal split, below the planned one, on the
# same axis of time.

figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained")
for ax, plan in zip(axes, (equal, planned), strict=True):
    hs.simulate(plan).plot(ax)
    ax.set_xlim(0, 1.02 * equal.makespan)
axes[0].set_xlabel("")
plt.show()
