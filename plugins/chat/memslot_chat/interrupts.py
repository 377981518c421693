"""Ctrl-C and SIGTERM, handled only where it is safe.

A signal may arrive while a transcript line is being written. So its handler only sets a flag, except inside
`waiting()`: for the endpoint, a tool, or input at the prompt.
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
"""Seconds: soon, and again in case the machine is busy."""


class Cancelled(KeyboardInterrupt):
    """The user pressed Ctrl-C."""


class Terminated(KeyboardInterrupt):
    """The process was asked to terminate."""


class Interrupts:
    """A context manager that handles the signals; does nothing outside the main thread."""

    def __init__(self) -> None:
        self._cancel = False
        self._terminate = False
        self._is_open = False
        self._is_ending = False
        self._before: dict[int, Any] = {}
        self._waker: _MainThreadWaker | None = None
        self.on_cancel: Callable[[], None] | None = None
        """Called in the Ctrl-C handler."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name, handler in (
                ("SIGINT", self._on_interrupt),
                ("SIGTERM", self._on_terminate),
                ("SIGHUP", self._on_terminate),
            ):
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, handler)
            self._waker = _MainThreadWaker(self._before)
            self._waker.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._waker is not None:
            self._waker.stop()
            self._waker = None
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._cancel = True
        if self._is_open:
            if self.on_cancel is not None:
                self.on_cancel()
            self._raise()

    def _on_terminate(self, number: int, frame: FrameType | None) -> None:
        self._terminate = True
        if self._is_open and not self._is_ending:
            self._raise()

    @property
    def asked(self) -> bool:
        """Whether a signal is pending."""
        return self._cancel or self._terminate

    @property
    def must_end(self) -> bool:
        """Whether the process was asked to terminate."""
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
        """Inside this block a signal, even an earlier one, raises Cancelled or Terminated at once."""
        self._is_open = True
        try:
            if self.asked:
                self._raise()
            yield
        finally:
            self._is_open = False

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Inside this block only a new Ctrl-C interrupts: termination is in progress."""
        self.forget()
        self._is_ending = self._is_open = True
        try:
            yield
        finally:
            self._is_ending = self._is_open = False


class _MainThreadWaker:
    """Ensures that a signal interrupts a blocked main thread, if the OS supports it.

    Python runs signal handlers when its main thread runs next. The OS may deliver a signal to another thread, and
    readline only checks for signals while waiting, not while drawing. So a thread also watches for signals and
    interrupts the main thread shortly after.
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
        # Without a handler the signal would not interrupt system calls.
        handler = signal.signal(signal.SIGURG, lambda *_: None)
        self._before = (signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False), handler)
        threading.Thread(target=self._watch, name="memslot chat signals", daemon=True).start()

    def stop(self) -> None:
        if self._pipe is None:
            return
        signal.set_wakeup_fd(self._before[0])
        os.close(self._pipe[1])  # the thread sees EOF and closes the other end
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
