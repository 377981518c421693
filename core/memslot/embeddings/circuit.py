"""Leaves a provider alone for a while after it refused a key or a quota: asking again would only annoy it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memslot.errors import ProviderRefusedError

OPEN_SECONDS = 60.0


class Circuits:
    """Which providers are being left alone, by their key, until when and why."""

    def __init__(self, seconds: float = OPEN_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._open: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def around(self, key: str, name: str) -> Iterator[None]:
        """Around a request: raises at once while the provider is left alone, and notes when it refuses."""
        self.check(key, name)
        try:
            yield
        except ProviderRefusedError as error:
            self.open(key, str(error))
            raise

    def check(self, key: str, name: str) -> None:
        """Raise a ProviderRefusedError if this provider is being left alone."""
        with self._lock:
            until, reason = self._open.get(key, (0.0, ""))
            left = until - self._clock()
            if left <= 0:
                self._open.pop(key, None)
                return
        raise ProviderRefusedError(f"{name} is not asked for another {max(1, round(left))} s, because: {reason}")

    def open(self, key: str, reason: str) -> None:
        """Leave a provider alone from now on."""
        with self._lock:
            self._open[key] = (self._clock() + self._seconds, reason)

    def clear(self) -> None:
        """Ask every provider again."""
        with self._lock:
            self._open.clear()


circuits = Circuits()
"""The ones of this process, which every pipeline heeds unless it is given others."""
