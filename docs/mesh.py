"""Draws mesh.png of reproduction-mesh: python docs/mesh.py"""

from pathlib import Path

import matplotlib

from hetsched.studies.layers_mesh import reproduce_layers_mesh

matplotlib.use("Agg")
reproduce_layers_mesh().plot().savefig(Path(__file__).with_name("mesh.png"), dpi=100)
