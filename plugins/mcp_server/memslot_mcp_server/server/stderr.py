"""What the person may want to know, on stderr."""

from __future__ import annotations

import contextlib

from memslot import say_warning


def warn(message: str) -> None:
    """Say a warning; where a client has closed stderr, or its log is on a full disk, nothing but that is lost."""
    with contextlib.suppress(OSError):
        say_warning(message)
