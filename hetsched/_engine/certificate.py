"""csrc/core/certificate.c: certificates of a known value and a known bound."""

from __future__ import annotations

import math
from typing import Any

from .ffi import check_status, ffi, lib


def certificate_of(objective: str, value: float, bound: float, maximised: bool) -> dict[str, Any]:
    """The fields of a plan that hs_certificate_of computes, without a scope."""
    if math.isinf(value):
        return {objective: value, "bound": bound, "optimal": False}
    found = ffi.new("hs_certificate *")
    sense = lib.HS_MAXIMISED if maximised else lib.HS_MINIMISED
    check_status(lib.hs_certificate_of(b"", sense, value, bound, found))
    return {objective: value, "bound": found.bound, "optimal": bool(found.optimal)}
