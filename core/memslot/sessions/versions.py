"""The version a file declares."""

from __future__ import annotations

import math
import re


def version_of(declared: object) -> int:
    """Return a file's version rounded up, so 1.5 and "2-beta" are newer than 1; 1 if it declares none."""
    if isinstance(declared, str):
        found = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9})?)", declared)
        declared = float(found[1]) if found else None
    if isinstance(declared, bool) or not isinstance(declared, int | float) or not math.isfinite(declared):
        return 1
    return math.ceil(declared)
