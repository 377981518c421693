"""Calls with a time-out, in daemon threads: a thread can't be killed, but the caller can stop waiting."""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
_CHECK_SECONDS = 0.1
"""How often a waiting caller calls its `check`."""
_TASK = "memslot task"
"""How the name of a thread begins, a plugin's too, if it ends by itself once its host is closed."""


def wait_for_threads(seconds: float) -> None:
    """Wait briefly for our threads to end or become idle.

    A daemon thread killed at exit inside native code, such as an import of numpy, can crash the process.
    """
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.daemon and thread.name.startswith(_TASK):
            thread.join(max(0.0, until - time.monotonic()))
    while not _threads.are_idle() and time.monotonic() < until:
        time.sleep(0.005)


def are_threads_busy() -> bool:
    """Whether threads that `wait_for_threads` waits for have not ended."""
    return not _threads.are_idle() or any(
        thread.daemon and thread.name.startswith(_TASK) for thread in threading.enumerate()
    )


class StillRunningError(Exception):
    """An earlier call is still running, so this one was not started."""


def start_thread(work: Callable[[], Any], name: str) -> None:
    """Run a function in a daemon thread. Raises RuntimeError if no thread can be started.

    Python 3.12.0 and 3.12.1 refuse new threads during shutdown: there it runs synchronously.
    """
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        if "interpreter shutdown" not in str(error):
            raise
        work()


class _Threads:
    """A pool of daemon threads, so a search doesn't pay for a new thread each time."""

    _IDLE_SECONDS = 5.0

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):  # threads don't survive a fork
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []
        self._at_work: set[int] = set()

    def are_idle(self) -> bool:
        """Whether no call is running."""
        return not self._at_work

    def run(self, work: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._idle.pop() if self._idle else None
        if waiting is not None:
            waiting.put(work)
        else:
            caller = threading.get_ident()
            start_thread(lambda: self._serve(work, caller), "memslot call")

    def _serve(self, work: Callable[[], None], caller: int) -> None:
        calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            self._at_work.add(threading.get_ident())
            try:
                work()
            finally:
                self._at_work.discard(threading.get_ident())
            if threading.get_ident() == caller:  # run synchronously by start_thread during shutdown
                return
            with self._lock:
                self._idle.append(calls)
            try:
                work = calls.get(timeout=self._IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if calls in self._idle:
                        self._idle.remove(calls)
                        return
                work = calls.get()  # a call was assigned just now


_threads = _Threads()


def call_within(seconds: float, function: Callable[[], Value], check: Callable[[], None] | None = None) -> Value:
    """Call a function in a daemon thread and return its result. Raises TimeoutError if it takes longer.

    `check` is called about ten times a second and may raise to end the wait. An abandoned call keeps running.
    """
    done = threading.Event()
    values: list[Value] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            values.append(function())
        except BaseException as error:  # even SystemExit, which would only end this thread
            errors.append(error)
        finally:
            done.set()

    context = contextvars.copy_context()
    _threads.run(lambda: context.run(work))
    until = time.monotonic() + seconds
    while not done.wait(max(0.0, min(_CHECK_SECONDS, until - time.monotonic()))):
        if check is not None:
            check()
        if time.monotonic() >= until and not done.is_set():
            raise TimeoutError(f"no answer within {seconds:g} s")
    if errors:
        raise errors[0]
    return values[0]


class SingleFlight(Generic[Value]):
    """Calls with a time-out, one at a time: while a timed-out call is still running, new ones fail at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._running: threading.Event | None = None

    def call(self, seconds: float, function: Callable[[], Value]) -> Value:
        """Return the function's result. Raises TimeoutError, or StillRunningError while an earlier call runs."""
        done = threading.Event()

        def work() -> Value:
            try:
                return function()
            finally:
                done.set()

        with self._lock:
            if self._running is not None and not self._running.is_set():
                raise StillRunningError(self._name)
            self._running = None
        try:
            return call_within(seconds, work)
        except TimeoutError:
            if done.is_set():  # the function's own TimeoutError
                raise
            with self._lock:
                self._running = done
            raise TimeoutError(f"{self._name} took longer than {seconds:g} s") from None
