"""Warnings on stderr."""

from __future__ import annotations

import contextlib

from memslot import say_warning


def warn(message: str) -> None:
    """Print a warning; a closed stderr or a full disk behind it is ignored."""
    with contextlib.suppress(OSError):
        say_warning(message)
