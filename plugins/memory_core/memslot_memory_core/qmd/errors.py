"""Errors of the QMD program, each with a suggested action."""

from __future__ import annotations

from memslot import MemslotError

from memslot_memory_core.note_reader import NotInMemoryError


class QmdError(MemslotError):
    """QMD failed; the builtin index can answer instead."""

    def __init__(self, message: str, *, action: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.action = action
        """What the user can do about it."""
        self.retry_after = retry_after
        """Seconds until a retry is worthwhile, if known."""


class QmdTimeoutError(QmdError):
    """QMD exceeded its time limit."""


class QmdPathError(NotInMemoryError):
    """The path belongs to no collection."""
