"""Retries of transient failures, with backoff and the provider's Retry-After."""

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
    """Number of attempts and the backoff between them, in seconds. Jitter only lengthens a wait."""

    tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0
    jitter: float = 0.2
    longest_asked_wait: float = 60.0
    retries_timeouts: bool = True

    def wait_after(self, error: Exception, failures: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None if a retry won't help."""
        spread = 1 + random.random() * self.jitter
        asked = error.retry_after if isinstance(error, ProviderBusyError) else None
        if asked is not None:
            # A longer Retry-After means it won't recover now: fail rather than appear to hang.
            return max(0.0, asked) * spread if asked <= self.longest_asked_wait else None
        transient: tuple[type[Exception], ...] = (ProviderBusyError, ConnectionError)
        if self.retries_timeouts:
            transient += (TimeoutError,)
        if not isinstance(error, transient):
            return None
        return min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1)) * spread


def call_with_retries(function: Callable[[], Value], policy: RetryPolicy) -> Value:
    """Call until it succeeds; raise the last error when retries are exhausted."""
    for failures in itertools.count(1):
        try:
            return function()
        except Exception as error:
            wait = policy.wait_after(error, failures)
            if wait is None or failures >= policy.tries:
                raise
            logger.info("attempt %d of %d failed: %s; retrying in %.1f s", failures, policy.tries, error, wait)
        sleep(wait)
    raise AssertionError("unreachable")
