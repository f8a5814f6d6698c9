"""A plugin for pytest: NumPy's tests with the drop-in library, without what known.txt names; see
run.py."""

from __future__ import annotations

import dropin
from known import deselect

pytest_collection_modifyitems = deselect("numpy_dropin")

dropin.require()
