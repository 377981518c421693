"""Calls that may hang: Python cannot stop a thread, but it can stop waiting for one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Busy(Exception):
    """An earlier call has not come back, so this one was not begun."""


class Patience(Generic[Value]):
    """Waits for a call no longer than it may, and begins no second one while the first is out.

    Whatever hangs is waited for once; the calls after it are refused at once until it is back.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._out: threading.Event | None = None

    def call(self, seconds: float, function: Callable[[], Value]) -> Value:
        """What the function gives; raises TimeoutError when it takes longer, Busy while an earlier one still runs."""
        done = threading.Event()
        values: list[Value] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                values.append(function())
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        with self._lock:
            if self._out is not None and not self._out.is_set():
                raise Busy(self._name)
            self._out = None
        threading.Thread(target=work, name=f"memslot memory-lancedb {self._name}", daemon=True).start()
        if not done.wait(seconds):
            with self._lock:
                self._out = done
            raise TimeoutError(f"{self._name} took longer than {seconds:g} s")
        if errors:
            raise errors[0]
        return values[0]
