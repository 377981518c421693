"""Calls that may hang, made in a daemon thread: Python cannot stop a thread, but it can stop waiting for one."""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from memslot.errors import EmbeddingCancelledError
from memslot.plugins.executor import start_thread

Value = TypeVar("Value")
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


class _Threads:
    """Daemon threads that wait a while for the next call: a search should not pay for a new one each time."""

    _PATIENCE_SECONDS = 5.0

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []

    def run(self, work: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._idle.pop() if self._idle else None
        if waiting is not None:
            waiting.put(work)
        else:
            asking = threading.get_ident()
            start_thread(lambda: self._serve(work, asking), "memslot embedding call")

    def _serve(self, work: Callable[[], None], asking: int) -> None:
        calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            work()
            if threading.get_ident() == asking:  # at the end of a program some Pythons start no thread
                return
            with self._lock:
                self._idle.append(calls)
            try:
                work = calls.get(timeout=self._PATIENCE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if calls in self._idle:
                        self._idle.remove(calls)
                        return
                work = calls.get()  # it was chosen just now


_threads = _Threads()


def call_within(seconds: float, function: Callable[[], Value], check: Callable[[], None] | None = None) -> Value:
    """Call in a daemon thread and give what it gives; raises TimeoutError when it takes longer.

    `check` is called about ten times a second and ends the wait by raising. The call itself is left behind.
    """
    done = threading.Event()
    values: list[Value] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            values.append(function())
        except BaseException as error:  # even sys.exit, which would end nothing but this thread
            errors.append(error)
        finally:
            done.set()

    context = contextvars.copy_context()
    _threads.run(lambda: context.run(work))
    until = time.monotonic() + seconds
    while not done.wait(max(0.0, min(LOOK_SECONDS, until - time.monotonic()))):
        if check is not None:
            check()
        if time.monotonic() >= until and not done.is_set():
            raise TimeoutError(f"no answer within {seconds:g} s")
    if errors:
        raise errors[0]
    return values[0]
