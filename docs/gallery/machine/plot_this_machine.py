"""
The cores of a machine
======================

A laptop with cores of two kinds, described in a file as HETSCHED_TOPOLOGY takes it; the
platform of its cores, with the speeds that such cores have; and a real product on all
cores that this process may use. Nothing is emulated: the parts of the product are given
out by speed, and a worker that finishes early takes over work of the slower ones.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

description = """
model = "a laptop"
domain = [
    { cpus = "0-3", kind = "performance", l2 = 2097152, l3 = 25165824 },
    { cpus = "4-11", kind = "efficiency", l2 = 4194304 },
]
"""
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "laptop.toml"
    path.write_text(description, encoding="utf-8")
    laptop = hs.topology(path)
speeds = [1.0 if cpu.type == "performance" else 0.55 for cpu in laptop.logical]
names = [f"core {cpu.number}" for cpu in laptop.logical]
platform = hs.Platform.star(speeds=speeds, names=names)
print(laptop)
print(platform)

rng = np.random.default_rng(1)
A, B = rng.standard_normal((1200, 1200)), rng.standard_normal((1200, 1200))
hs.matmul(A, B)  # the first product starts the threads
C, trace = hs.matmul(A, B, trace=True)
assert np.allclose(C, A @ B)
print(trace)

# %%
# Above the laptop: boxes are caches that cores share. Then the platform of its cores.
# Below, a row for each worker of this machine; each bar is a part of C.

figure, axes = plt.subplots(
    3, 1, figsize=(8.5, 9), layout="constrained", height_ratios=[1.2, 1.6, 1]
)
laptop.plot(axes[0])
platform.plot(axes[1])
trace.plot(axes[2])
plt.show()
