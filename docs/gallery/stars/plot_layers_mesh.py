"""
Layers on a mesh
================

The source at a corner has A and B. Each node gets whole layers over the links of the
mesh, which also carry the layers of the nodes behind it, and a node starts when all
that it needs has arrived. Counts follow speeds and links together.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(4)
mesh = hs.Platform.mesh(
    rng.uniform(2e-4, 6e-4, (4, 4)),
    rng.uniform(3e-4, 8e-4, (4, 3)),
    rng.uniform(3e-4, 8e-4, (3, 4)),
)
plan = hs.layers_mesh(400, mesh)
print(plan.certificate)
print(plan.counts)

# %%
# The layers of each node, and the flow on each link.

ax = plan.plot()
plt.show()
