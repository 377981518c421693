"""Tries again what may work soon, and waits as long as the provider asks for."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from time import sleep
from typing import TypeVar

from memslot.errors import ProviderBusyError

Value = TypeVar("Value")
logger = logging.getLogger("memslot.embeddings")


@dataclass(frozen=True)
class RetryPolicy:
    """How often something is tried, and the seconds in between. Jitter only makes a wait longer."""

    tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0
    jitter: float = 0.2
    longest_asked_wait: float = 60.0
    retries_timeouts: bool = True

    def wait_after(self, error: Exception, failures: int) -> float | None:
        """Seconds to wait after so many failures, or None where another try would not help."""
        spread = 1 + random.random() * self.jitter
        asked = error.retry_after if isinstance(error, ProviderBusyError) else None
        if asked is not None:
            # Who asks for more than a minute will not answer now: better to say so than to look dead.
            return max(0.0, asked) * spread if asked <= self.longest_asked_wait else None
        passing: tuple[type[Exception], ...] = (ProviderBusyError, ConnectionError)
        if self.retries_timeouts:
            passing += (TimeoutError,)
        if not isinstance(error, passing):
            return None
        return min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1)) * spread


def call_with_retries(function: Callable[[], Value], policy: RetryPolicy) -> Value:
    """Call until it works, or raise the last error."""
    for failures in itertools.count(1):
        try:
            return function()
        except Exception as error:
            wait = policy.wait_after(error, failures)
            if wait is None or failures >= policy.tries:
                raise
            logger.info("try %d of %d failed: %s; next in %.1f s", failures, policy.tries, error, wait)
        sleep(wait)
    raise AssertionError("unreachable")
