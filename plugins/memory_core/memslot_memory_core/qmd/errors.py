"""What goes wrong with the QMD program, told in a sentence and with what to do."""

from __future__ import annotations

from memslot import MemslotError

from memslot_memory_core.note_reader import NotInMemoryError


class QmdError(MemslotError):
    """QMD gave no usable answer; the builtin index can answer instead."""

    def __init__(self, message: str, *, action: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.action = action
        """What the person can do about it."""
        self.retry_after = retry_after
        """In how many seconds another try is worth while, where that is known."""


class QmdTimeoutError(QmdError):
    """QMD took longer than it may."""


class QmdPathError(NotInMemoryError):
    """A path that belongs to no collection was asked for."""
