"""Archive items, and import limits."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

MAX_FILES = 100_000
MAX_FILE_BYTES = 256 * 1024 * 1024
"""Files are held in memory while imported; hardly any note or transcript comes near this."""
MIN_BUDGET_BYTES = 256 * 1024 * 1024
MAX_RATIO = 100
"""Text compresses five- to tenfold. A large archive beyond this ratio is a zip bomb."""
_LATEST = 253_402_300_799.0
"""The last second of the year 9999."""


@dataclass(frozen=True)
class Item:
    """A file: its path in the memory (`sessions/<name>` for a transcript), content and mtime."""

    path: str
    data: bytes
    mtime: float | None = None


@dataclass(frozen=True)
class UnusableItem:
    """An item that can't be imported, and why; `harmless` if it never belonged in a memory."""

    path: str
    reason: str
    harmless: bool = False


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def usable_mtime(value: Any) -> float | None:
    """A valid mtime, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= _LATEST else None
