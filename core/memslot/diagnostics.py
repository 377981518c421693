"""Non-fatal problems, one line each, kept for `doctor` and the caller."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from memslot.redaction.redact import redact
from memslot.text import one_line

_KEPT = 1000

logger = logging.getLogger("memslot.plugins")


@dataclass(frozen=True)
class Diagnostic:
    """One event: the plugin, the stage (a hook's name, "import", "manifest", …) and what happened."""

    plugin: str
    stage: str
    message: str
    level: str = "error"
    duration_ms: float | None = None

    def __str__(self) -> str:
        took = f" [{self.duration_ms:.0f} ms]" if self.duration_ms is not None else ""
        return f"{self.plugin}: {self.stage}: {self.message}{took}"


class Diagnostics:
    """The most recent events, oldest first. Thread-safe."""

    def __init__(self) -> None:
        self._events: deque[Diagnostic] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def add(
        self, plugin: str, stage: str, message: str, *, level: str = "error", duration_ms: float | None = None
    ) -> Diagnostic:
        # A plugin's exception may contain the rejected key.
        event = Diagnostic(plugin, stage, one_line(redact(message)), level, duration_ms)
        with self._lock:
            self._events.append(event)
        logger.log(logging.ERROR if level == "error" else logging.WARNING, "%s", event)
        return event

    def __iter__(self) -> Iterator[Diagnostic]:
        with self._lock:
            return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)


def describe_error(error: BaseException) -> str:
    """Describe an exception in one line: its type and its message, if any."""
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
