"""Makes sure that a signal interrupts what the main thread waits for.

Python only notes a signal when it comes and handles it when its main thread runs next. Two things can keep that from
happening: the system may hand the signal to another thread, and readline looks for signals only while it waits, not
while it draws a letter. So a thread hears of every signal too, and interrupts the main thread a moment later.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection
from typing import Any

from memslot.plugins.executor import start_thread

_AGAIN_AFTER = (0.05, 0.45)
"""Seconds: soon, and once more for a machine that is busy."""


class Nudge:
    """Interrupts the main thread after each of these signals; where the system cannot do that, it does nothing."""

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
        start_thread(self._watch, "memslot chat signals")

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
