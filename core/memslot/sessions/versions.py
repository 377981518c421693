"""The version that a file says it has."""

from __future__ import annotations

import math
import re


def version_of(told: object) -> int:
    """A file's version, rounded up, so that 1.5 and "2-beta" are newer than 1; one that says none has the first."""
    if isinstance(told, str):
        found = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9})?)", told)
        told = float(found[1]) if found else None
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
        return 1
    return math.ceil(told)
