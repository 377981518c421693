"""Cancellation of embedding work, by the caller or because another part failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from memslot.errors import EmbeddingCancelledError

LOOK_SECONDS = 0.1
"""How often a waiting thread checks for cancellation."""


class StopToken:
    """A cancellation token. `asked` is the caller's event or callback; `set` cancels from inside."""

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
        """Raise EmbeddingCancelledError if cancelled."""
        if self._event.is_set():
            raise EmbeddingCancelledError(self._reason)

    def ask(self) -> None:
        """Poll the caller's `asked` callback, then check. Only from the caller's thread."""
        if self._asked is not None and self._asked():
            self.set()
        self.check()

    def pause(self, seconds: float) -> None:
        """Sleep; raise EmbeddingCancelledError if cancelled meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.ask()
            self._event.wait(min(left, LOOK_SECONDS))
        self.ask()
