"""Timestamps: Unix milliseconds in the registry, ISO 8601 in transcripts."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

_MILLISECONDS_FROM = 1e11
"""Larger epoch numbers are milliseconds: as seconds they would be past the year 5000."""
LATEST_MS = 253_370_764_800_000
"""The year 9999; later times cannot be formatted."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def to_iso(moment_ms: int) -> str:
    """Format as `2026-03-04T09:15:00.000Z`."""
    moment = datetime.fromtimestamp(moment_ms // 1000, UTC).replace(microsecond=moment_ms % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_ms(stamp: object) -> int | None:
    """Parse an ISO date (UTC if it has no zone) or epoch seconds or milliseconds; None if it is neither."""
    seconds: float
    if isinstance(stamp, str):
        try:
            moment = datetime.fromisoformat(stamp)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    elif isinstance(stamp, int | float) and not isinstance(stamp, bool) and abs(stamp) < 1e15:
        seconds = stamp / 1000 if stamp >= _MILLISECONDS_FROM else float(stamp)
    else:
        return None
    if not math.isfinite(seconds):
        return None
    found = round(seconds * 1000)
    return found if 0 < found < LATEST_MS else None
