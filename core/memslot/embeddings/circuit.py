"""Circuit breaker: stops calling a provider for a while after an auth or quota error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memslot.errors import ProviderRefusedError

OPEN_SECONDS = 60.0


class Circuits:
    """The open circuits by provider key, each with its expiry and reason."""

    def __init__(self, seconds: float = OPEN_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._open: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def around(self, key: str, name: str) -> Iterator[None]:
        """Guard a request: fail fast while the circuit is open, and open it if the provider refuses."""
        self.check(key, name)
        try:
            yield
        except ProviderRefusedError as error:
            self.open(key, str(error))
            raise

    def check(self, key: str, name: str) -> None:
        """Raise ProviderRefusedError if the circuit is open."""
        with self._lock:
            until, reason = self._open.get(key, (0.0, ""))
            left = until - self._clock()
            if left <= 0:
                self._open.pop(key, None)
                return
        raise ProviderRefusedError(f"{name} is paused for another {max(1, round(left))} s after this error: {reason}")

    def open(self, key: str, reason: str) -> None:
        """Open the circuit for the configured time."""
        with self._lock:
            self._open[key] = (self._clock() + self._seconds, reason)

    def clear(self) -> None:
        """Close all circuits."""
        with self._lock:
            self._open.clear()


circuits = Circuits()
"""Process-wide default, shared by all pipelines that aren't given their own."""
