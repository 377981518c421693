"""A file on its way from one memory to another, and the limits of what is taken in."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

MAX_FILES = 100_000
MAX_FILE_BYTES = 256 * 1024 * 1024
"""A single file is held in memory while it is moved; no note and hardly a transcript comes near this."""
MIN_BUDGET_BYTES = 256 * 1024 * 1024
MAX_RATIO = 100
"""Text packs to a fifth or a tenth. What unpacks to more than this, and to a lot, was made to fill a disk."""
_LATEST = 253_402_300_799.0
"""The last second of the year 9999."""


@dataclass(frozen=True)
class Item:
    """A file: its path in the memory (`sessions/<name>` for a transcript), its bytes and when it was changed."""

    path: str
    data: bytes
    mtime: float | None = None


@dataclass(frozen=True)
class Unusable:
    """What cannot be taken in, and why; `harmless` for what was never meant for a memory."""

    path: str
    reason: str
    harmless: bool = False


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def usable_mtime(value: Any) -> float | None:
    """A time that a file can have; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= _LATEST else None
