"""Tries again what may work soon, and waits as long as the provider asks for."""

from __future__ import annotations

import functools
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

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
    try:
        return function()
    except Exception as error:
        if policy.tries < 2 or policy.wait_after(error, 1) is None:
            raise
        first = error
    failures = 0

    def decide(error: Exception) -> float | bool:
        nonlocal failures
        failures += 1
        wait = policy.wait_after(error, failures)
        if wait is None:
            return False
        if failures < policy.tries:
            logger.info("try %d of %d failed: %s; next in %.1f s", failures, policy.tries, error, wait)
        return wait

    # stamina is imported after the first failure: most searches end without one, and the import takes its time.
    for attempt in _stamina().retry_context(on=decide, attempts=policy.tries, timeout=None):
        with attempt:
            if attempt.num == 1:
                raise first
            return function()
    raise AssertionError("unreachable")


@functools.cache
def _stamina() -> Any:
    import stamina

    # It logs a warning before each wait, which Python would print in a program that has set up no log.
    logging.getLogger("stamina").addHandler(logging.NullHandler())
    return stamina
