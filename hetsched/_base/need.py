"""Packages that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, name: str) -> Any:
    """Import an optional module; the error says what it is needed for."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f"{name} needs {package}: pip install {package}") from error
