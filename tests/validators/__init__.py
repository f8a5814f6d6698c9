"""A judge for every public plan: its value computed anew from its own content, by slow and obvious
replays.

`validate` raises AssertionError, in words, for a plan that contradicts itself or the model that it
is a plan for. Of hetsched only the types of the plans are used; what a plan says of itself by
methods (steps, certificates) is judged too, never trusted.
"""

from . import areas, buses, lines, products, redistributions, rings
from .common import VALIDATORS, validate

__all__ = [
    "VALIDATORS",
    "areas",
    "buses",
    "lines",
    "products",
    "redistributions",
    "rings",
    "validate",
]
