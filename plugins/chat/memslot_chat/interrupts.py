"""Ctrl-C and SIGTERM, obeyed only where it does no harm.

A signal may arrive while a line of the transcript is being written. So its handler only sets a flag, except inside
`waiting()`: for the endpoint, a tool, or the person at the prompt.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_AGAIN_AFTER = (0.05, 0.45)
"""Seconds: soon, and once more for a busy machine."""


class Cancelled(KeyboardInterrupt):
    """The person pressed Ctrl-C."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end."""


class Interrupts:
    """Handles the signals while it is entered as a context manager; outside the main thread it does nothing."""

    def __init__(self) -> None:
        self._cancel = False
        self._terminate = False
        self._is_open = False
        self._is_ending = False
        self._before: dict[int, Any] = {}
        self._nudge: _Nudge | None = None
        self.on_cancel: Callable[[], None] | None = None
        """Called in the handler of Ctrl-C."""

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
            self._nudge = _Nudge(self._before)
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
        """Whether a signal is pending."""
        return self._cancel or self._terminate

    @property
    def must_end(self) -> bool:
        """Whether the process was asked to end."""
        return self._terminate

    def forget(self) -> None:
        """Drop a Ctrl-C that came too late."""
        self._cancel = False

    def _raise(self) -> None:
        self._is_open = False
        if self._terminate:
            raise Terminated
        self._cancel = False
        raise Cancelled

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Here a signal raises Cancelled or Terminated at once, even one that came earlier."""
        self._is_open = True
        try:
            if self.asked:
                self._raise()
            yield
        finally:
            self._is_open = False

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Here only a new Ctrl-C interrupts: termination is under way."""
        self.forget()
        self._is_ending = self._is_open = True
        try:
            yield
        finally:
            self._is_ending = self._is_open = False


class _Nudge:
    """Makes sure that a signal interrupts what the main thread waits for, where the system can do that.

    Python handles a signal when its main thread runs next. The system may deliver it to another thread, and readline
    looks for signals only while it waits, not while it draws. So a thread watches for signals too, and interrupts the
    main thread a moment later.
    """

    def __init__(self, numbers: Collection[int]) -> None:
        self._numbers = frozenset(numbers)
        self._main = threading.main_thread().ident
        self._pipe: tuple[int, int] | None = None
        self._before: tuple[int, Any] = (-1, None)

    def start(self) -> None:
        if not hasattr(signal, "pthread_kill") or self._main is None:
            return
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_inheritable(end, False)
        os.set_blocking(self._pipe[1], False)
        # It needs a handler, or the system would not interrupt anything for it.
        handler = signal.signal(signal.SIGURG, lambda *_: None)
        self._before = (signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False), handler)
        threading.Thread(target=self._watch, name="memslot chat signals", daemon=True).start()

    def stop(self) -> None:
        if self._pipe is None:
            return
        signal.set_wakeup_fd(self._before[0])
        os.close(self._pipe[1])  # the thread reads the end, and closes the other one
        self._pipe = None
        signal.signal(signal.SIGURG, self._before[1])

    def _watch(self) -> None:
        assert self._pipe is not None
        ours = self._pipe[0]
        while came := os.read(ours, 64):
            if self._numbers.isdisjoint(came):
                continue
            for seconds in _AGAIN_AFTER:
                time.sleep(seconds)
                if self._pipe is not None and self._main is not None:
                    signal.pthread_kill(self._main, signal.SIGURG)
        os.close(ours)
