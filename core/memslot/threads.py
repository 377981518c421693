"""Calls that may hang, made in daemon threads: Python cannot stop a thread, but it can stop waiting for one."""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
_LOOK_SECONDS = 0.1
"""How often a wait asks its `check`."""


_FINISHING = ("memslot-sync", "memslot embedding")
"""How the names of threads begin that end by themselves once their host is closed."""


def wait_for_threads(seconds: float) -> None:
    """Give our threads a moment to end, or to come back from a call.

    A daemon thread that Python ends inside native code, such as while it imports numpy, can take the process down.
    """
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.daemon and thread.name.startswith(_FINISHING):
            thread.join(max(0.0, until - time.monotonic()))
    while not _threads.are_idle() and time.monotonic() < until:
        time.sleep(0.005)


class StillRunningError(Exception):
    """An earlier call has not come back, so this one was not begun."""


def start_thread(work: Callable[[], Any], name: str) -> None:
    """Run something in a daemon thread; raises RuntimeError where there can be no more threads.

    Python 3.12.0 and 3.12.1 start none once the program's last line has run: there the work is done at once.
    """
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        if "interpreter shutdown" not in str(error):
            raise
        work()


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
        self._at_work: set[int] = set()

    def are_idle(self) -> bool:
        """Whether no call is under way."""
        return not self._at_work

    def run(self, work: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._idle.pop() if self._idle else None
        if waiting is not None:
            waiting.put(work)
        else:
            asking = threading.get_ident()
            start_thread(lambda: self._serve(work, asking), "memslot call")

    def _serve(self, work: Callable[[], None], asking: int) -> None:
        calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            self._at_work.add(threading.get_ident())
            try:
                work()
            finally:
                self._at_work.discard(threading.get_ident())
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
    while not done.wait(max(0.0, min(_LOOK_SECONDS, until - time.monotonic()))):
        if check is not None:
            check()
        if time.monotonic() >= until and not done.is_set():
            raise TimeoutError(f"no answer within {seconds:g} s")
    if errors:
        raise errors[0]
    return values[0]


class SingleFlight(Generic[Value]):
    """Waits for a call no longer than it may, and begins no second one while the first is out.

    Whatever hangs is waited for once; the calls after it are refused at once until it is back.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._out: threading.Event | None = None

    def call(self, seconds: float, function: Callable[[], Value]) -> Value:
        """What the function gives; raises TimeoutError when it takes longer, StillRunningError while one is out."""
        done = threading.Event()

        def work() -> Value:
            try:
                return function()
            finally:
                done.set()

        with self._lock:
            if self._out is not None and not self._out.is_set():
                raise StillRunningError(self._name)
            self._out = None
        try:
            return call_within(seconds, work)
        except TimeoutError:
            if done.is_set():  # the function's own TimeoutError
                raise
            with self._lock:
                self._out = done
            raise TimeoutError(f"{self._name} took longer than {seconds:g} s") from None
