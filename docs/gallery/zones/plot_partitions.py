"""
Three partitions of one matrix
==============================

In a product C = A B a worker needs the rows of A and the columns of B that cross its
zone of C: half the zone's perimeter. Full columns of rectangles (Beaumont and others,
2001), straight cuts of the sorted list, and zones that need not be rectangles: which of
them costs the least depends on the speeds.
"""

import matplotlib.pyplot as plt

import hetsched as hs

platforms = {
    "unequal cores": [16, 4, 3, 3, 2, 2, 1],
    "a device beside cores": [57, 4, 2, 1],
}  # speeds
methods = ["columns", "interval", "nonrectangular"]

# %%
# Each zone has the area that its worker's speed asks for. What differs is the sum of
# the half perimeters, the cost. Below, the device's zone on the right lies around the
# others.

figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.6), layout="constrained")
for row, (name, speeds) in zip(axes, platforms.items(), strict=True):
    found = hs.compare_partitions(speeds, methods)
    for ax, method in zip(row, methods, strict=True):
        found[method].plot(ax)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        print(f"{name:21} {method:15} {found[method].certificate}")
    row[0].set_ylabel(name)
    assert found["interval"].cost <= found["columns"].cost  # proven, for any speeds
plt.show()
