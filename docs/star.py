"""Draws star.png of reproduction-2008: python docs/star.py"""

from pathlib import Path

import matplotlib

from hetsched.studies.ppopp2008 import reproduce_ppopp2008

matplotlib.use("Agg")
reproduce_ppopp2008(run_seconds=0).plot().savefig(Path(__file__).with_name("star.png"), dpi=100)
