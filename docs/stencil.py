"""Draws stencil.png of the guide: python docs/stencil.py"""

from pathlib import Path

import matplotlib
import numpy as np

import hetsched as hs

matplotlib.use("Agg")
lab = hs.Platform.complete([3, 5, 8], [[0, 20, 60], [40, 0, 90], [60, 80, 0]])
with hs.Pool(lab, emulate=True, time_scale=100) as pool:
    _, trace = pool.stencil(np.random.default_rng(0).standard_normal((302, 400)), 3, trace=True)
trace.plot().figure.savefig(Path(__file__).with_name("stencil.png"), dpi=100)
