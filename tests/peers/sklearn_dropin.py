"""A plugin for pytest: scikit-learn's tests with the drop-in library, without what known.txt names;
see run.py."""

from __future__ import annotations

import dropin
from known import deselect

pytest_collection_modifyitems = deselect("sklearn_dropin")

dropin.require()
