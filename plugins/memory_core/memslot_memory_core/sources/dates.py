"""The date of a note or message, in local time."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import cache

_DATED = r"(?:^|/)memory/(?:.*/)?(\d{4})-(\d{2})-(\d{2})[^/]*$"


def date_of_note(path: str) -> date | None:
    """The date in `memory/**/YYYY-MM-DD*.md`; None for an evergreen note."""
    found = _pattern().search(path)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def time_of_note(path: str) -> float | None:
    """Noon of that day as epoch seconds: far from midnight, whatever daylight saving does."""
    day = date_of_note(path)
    try:
        return None if day is None else datetime(day.year, day.month, day.day, 12).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def date_of(path: str, time: float | None) -> date | None:
    """The date of a chunk: from its note's name, else the local date of its time."""
    # A name is independent of the time zone, even if it has changed since indexing.
    day = date_of_note(path)
    if day is not None or time is None:
        return day
    try:
        return datetime.fromtimestamp(time).date()
    except (ValueError, OverflowError, OSError):
        return None


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_DATED)
