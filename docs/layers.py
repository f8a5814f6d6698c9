"""Draws layers.png of reproduction-layers: python docs/layers.py"""

from pathlib import Path

import matplotlib

from hetsched.studies.layers_star import reproduce_star

matplotlib.use("Agg")
reproduce_star().plot().savefig(Path(__file__).with_name("layers.png"), dpi=100)
