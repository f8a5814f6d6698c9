"""hetsched.studies.ring2003: figure 3, what tables 5 and 6 cannot be, the tables in their place, the page and the command."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from oracles_ring import best_time, shortest
from pages import in_the_page

from hetsched.cli import main as cli
from hetsched.studies.claims import MET, NOT_MET
from hetsched.studies.ring2003 import LENGTH, PIP, PRINTED, RATIOS, TIME, best_rows, printed_rows, reproduce_rings

PAGE = Path(__file__).parents[1] / "docs" / "reproduction-ring.md"


@pytest.fixture(scope="module")
def study():
    return reproduce_rings()
