"""Cancels embedding: a person asked for it, or another part of the work failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from memslot.errors import EmbeddingCancelledError

LOOK_SECONDS = 0.1
"""How often a wait looks up to see whether somebody asked to stop."""


class Stop:
    """Says that a piece of work should end: somebody asked for it, or another part of it failed."""

    def __init__(self, asked: threading.Event | Callable[[], bool] | None = None) -> None:
        self._asked = asked.is_set if isinstance(asked, threading.Event) else asked
        self._event = threading.Event()
        self._reason = "embedding was cancelled"

    def set(self, reason: str | None = None) -> None:
        self._reason = reason or self._reason
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise an EmbeddingCancelledError once the work should end."""
        if self._event.is_set():
            raise EmbeddingCancelledError(self._reason)

    def ask(self) -> None:
        """Ask the person who may cancel, and check; only in their own thread, whose function it is."""
        if self._asked is not None and self._asked():
            self.set()
        self.check()

    def pause(self, seconds: float) -> None:
        """Wait; somebody who cancels meanwhile ends it with an EmbeddingCancelledError."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.ask()
            self._event.wait(min(left, LOOK_SECONDS))
        self.ask()
