"""
Who should be in a ring
=======================

Workers on a ring update their slices and exchange borders with their neighbours. A
worker helps with the work and costs two messages. The less work there is for each
message, the fewer workers are worth theirs: here on a cluster of Strasbourg, whose
speeds and links were printed in 2003.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

campus = hs.datasets.strasbourg()
profile = hs.ring_profile(campus)
print(profile)
ratios = np.geomspace(profile.ratios[1] / 4, 4 * profile.ratios[-1], 60)
best = np.array([profile.makespan(ratio, 1) for ratio in ratios])
everybody = np.array(
    [
        hs.slice_ring(campus, work=ratio, volume=1, method="all", relays=True).makespan
        for ratio in ratios
    ]
)

# %%
# Above how many of the workers are in the best ring, below what it costs to take all of
# them all the same.

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5.6), layout="constrained")
profile.plot(above)
below.plot(ratios, everybody / best, color="#d55e00")
below.axhline(1, color="black", linestyle="--", linewidth=1)
below.set(
    xscale="log",
    yscale="log",
    xlim=above.get_xlim(),
    xlabel="work / volume",
    ylabel="step of all / step of the best",
)
plt.show()
