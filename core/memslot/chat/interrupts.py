"""Ctrl-C and SIGTERM, heard everywhere and obeyed only where it does no harm.

A signal may come at any moment, also while a line of the transcript is being written. So its handler only takes a note,
except while something waits that was told to be interruptible: the endpoint, a tool, the person at the prompt.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from memslot.chat.nudge import Nudge


class Cancelled(KeyboardInterrupt):
    """The person pressed Ctrl-C."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end."""


class Interrupts:
    """Listens to the signals while it is entered as a context manager; outside the main thread it hears nothing."""

    def __init__(self) -> None:
        self._cancel = False
        self._terminate = False
        self._is_open = False
        self._is_ending = False
        self._before: dict[int, Any] = {}
        self._nudge: Nudge | None = None
        self.on_cancel: Callable[[], None] | None = None
        """Called in the signal's handler, for a look at the moment in which it came."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name, handler in (
                ("SIGINT", self._hear_cancel),
                ("SIGTERM", self._hear_end),
                ("SIGHUP", self._hear_end),
            ):
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, handler)
            self._nudge = Nudge(self._before)
            self._nudge.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._nudge is not None:
            self._nudge.stop()
            self._nudge = None
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _hear_cancel(self, number: int, frame: FrameType | None) -> None:
        self._cancel = True
        if self._is_open:
            if self.on_cancel is not None:
                self.on_cancel()
            self._raise()

    def _hear_end(self, number: int, frame: FrameType | None) -> None:
        self._terminate = True
        if self._is_open and not self._is_ending:
            self._raise()

    @property
    def asked(self) -> bool:
        """Whether a signal came that has not been obeyed yet."""
        return self._cancel or self._terminate

    @property
    def must_end(self) -> bool:
        """Whether the process was asked to end."""
        return self._terminate

    def forget(self) -> None:
        """A Ctrl-C that came too late for what it was meant for is none."""
        self._cancel = False

    def _raise(self) -> None:
        self._is_open = False
        if self._terminate:
            raise Terminated
        self._cancel = False
        raise Cancelled

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Here a signal raises Cancelled or Terminated at once, also one that came before."""
        self._is_open = True
        try:
            if self.asked:
                self._raise()
            yield
        finally:
            self._is_open = False

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Here only a Ctrl-C interrupts, and only one that comes now: the end that others ask for is under way."""
        self.forget()
        self._is_ending = self._is_open = True
        try:
            yield
        finally:
            self._is_ending = self._is_open = False
