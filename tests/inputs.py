"""How many inputs a test has."""

import os
from typing import TypeVar

T = TypeVar("T")


def many(everything: T, few: T) -> T:
    """All of them, or those of `make test`, which sets HS_TEST_FEW (as CHECK_MANY in C)."""
    return few if "HS_TEST_FEW" in os.environ else everything
