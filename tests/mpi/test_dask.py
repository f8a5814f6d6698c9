"""The example of a plan on Dask's workers, run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_example():
    pytest.importorskip("distributed", reason="no dask.distributed")
    program = Path(__file__).parents[2] / "examples" / "dask_product.py"
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"makespan .* \(rectangles\); largest error (\S+)$", done.stdout.strip())
    assert float(found[1]) < 1e-10
