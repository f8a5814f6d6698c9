"""Draws partitions.png of the guide: python docs/partitions.py"""

from pathlib import Path

import matplotlib

import hetsched as hs

matplotlib.use("Agg")
methods = [
    "best",
    "columns",
    "interval",
    "nagamochi-abe",
    "snrpp",
    "recursive",
    "kalinov-lastovetsky",
    "rows",
]
figure = hs.compare_partitions([20, 5, 4, 3, 3, 2, 2, 1], methods).plot()
figure.savefig(Path(__file__).with_name("partitions.png"), dpi=100)
