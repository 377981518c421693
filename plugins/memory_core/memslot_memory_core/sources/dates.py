"""The day that a note is about, where its name tells."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATED = re.compile(r"(?:^|/)memory/(?:.*/)?(\d{4})-(\d{2})-(\d{2})[^/]*$")


def date_of_note(path: str) -> float | None:
    """Seconds since 1970 at the beginning of the day in `memory/**/YYYY-MM-DD*.md`; None for an evergreen note."""
    found = _DATED.search(path)
    if found is None:
        return None
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC).timestamp()
    except ValueError:
        return None
