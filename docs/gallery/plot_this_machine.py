"""
The cores of this machine
=========================

Nothing is emulated here: a product on all cores that this process may use. Tiles are dealt by speed, and a worker that
is early takes tiles over from one that is late, so that all end nearly together, also beside a busy neighbour.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

here = hs.topology()
print(f"{here.worth} of {here.cpus} cpus worth a worker: {here.why}")
rng = np.random.default_rng(1)
A, B = rng.standard_normal((1200, 1200)), rng.standard_normal((1200, 1200))
hs.matmul(A, B)  # the first product starts the threads
C, trace = hs.matmul(A, B, trace=True)
assert np.allclose(C, A @ B)
print(trace)

# %%
# A row for each worker; each bar is a tile of C. How many rows there are, and when they end, is this machine's affair.

trace.plot()
plt.show()
