"""Blocking calls in daemon threads, which never keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

Value = TypeVar("Value")
AT_ONCE = 64


class Workers:
    """Calls functions in daemon threads, a limited number at a time."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._threads: set[threading.Thread] = set()

    async def run(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Call a function; cancelling the wait does not stop it."""
        async with self._places:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Value] = loop.create_future()

            def tell(value: Any, error: BaseException | None) -> None:
                if future.done():
                    return
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)

            def work() -> None:
                value, error = None, None
                try:
                    value = function(*arguments)
                except BaseException as caught:
                    error = caught
                finally:
                    self._threads.discard(threading.current_thread())
                    with contextlib.suppress(RuntimeError):  # the loop has ended
                        loop.call_soon_threadsafe(tell, value, error)

            thread = threading.Thread(target=work, name="memslot worker", daemon=True)
            self._threads.add(thread)
            thread.start()
            return await future

    def drain(self, seconds: float) -> None:
        """Wait for calls under way, at most this long."""
        deadline = time.monotonic() + seconds
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
