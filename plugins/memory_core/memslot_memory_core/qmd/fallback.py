"""Fallback to the builtin index while QMD fails, with retries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memslot import MemorySearchOutcome, MemoryStatus, MemslotError, Session

from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.search_output import unavailable

if TYPE_CHECKING:
    from memslot_memory_core.manager import MemoryManager
    from memslot_memory_core.qmd.memory import QmdMemory

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 300.0

_logger = logging.getLogger("memslot.plugin.memory-core")


@dataclass(frozen=True)
class Outage:
    """Why QMD is down, since when, and when to retry (monotonic clock)."""

    reason: str
    action: str | None
    since: float
    next_try: float
    pause: float


class FallbackMemory:
    """Searches the primary, QMD, or while it is down the secondary, the builtin index. Never raises; thread-safe.

    After a failure the primary is paused for 30 s, then 1, 2, 4 and at most 5 minutes. The first search after a pause
    still uses the secondary while the primary is retried in the background, so no search waits for a primary that may
    be broken.
    """

    def __init__(
        self,
        primary: QmdMemory,
        make_secondary: Callable[[], MemoryManager],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        in_background: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.primary = primary
        self._make_secondary = make_secondary
        self._clock, self._wall_clock = clock, wall_clock
        self._in_background = in_background or _start_thread
        self._lock = threading.Lock()  # guards the fields below; never held during a search
        self._outage: Outage | None = None
        self._is_trying = False
        self._is_closed = False
        self._made: MemoryManager | None = None
        self._making = threading.Lock()

    @property
    def outage(self) -> Outage | None:
        """The current outage, or None."""
        return self._outage

    def search(
        self, query: str, *, max_results: int | None = None, session: Session | None = None, **options: Any
    ) -> MemorySearchOutcome:
        """Search the primary or the secondary. Raises only for an empty query."""
        if not query.strip():
            raise MemslotError("the query is empty; enter a few words to search for")

        def ask() -> MemorySearchOutcome:
            return self.primary.search(query, max_results=max_results, session=session, **options)

        try:
            refusal = self.primary.refusal(session)
        except Exception as error:
            return self._nothing(f"the scope could not be checked: {_reason(error)}")
        if refusal is not None:
            return refusal
        outage = self._outage
        if outage is None:
            try:
                return ask()
            except Exception as error:
                outage = self._failed(error)
        else:
            self._maybe_retry(ask)
        return self._from_secondary(
            lambda: self.secondary().search(query, max_results=max_results, session=session, **options), outage
        )

    def secondary(self) -> MemoryManager:
        """The secondary, created on first use."""
        with self._making:
            if self._made is None:
                self._made = self._make_secondary()
            return self._made

    def status(self, *, deep: bool = False) -> MemoryStatus:
        """The primary's status; during an outage with its reason and the secondary's counts."""
        try:
            status = self.primary.status(deep=deep)
        except Exception as error:
            status = MemoryStatus("qmd", problems=[_reason(error)])
        outage = self._outage
        if outage is None:
            return status
        fallback: dict[str, Any] = {
            "backend": "builtin",
            "reason": outage.reason,
            "action": outage.action,
            "since": datetime.fromtimestamp(outage.since, UTC).isoformat(timespec="seconds"),
            "nextTrySeconds": max(0, round(outage.next_try - self._clock())),
        }
        problems = [f"the builtin index answers instead of QMD: {outage.reason}"]
        problems += [problem for problem in status.problems if not problem.startswith(outage.reason)]
        counts, made = status.counts, self._made
        if made is not None:
            try:
                behind = made.status(deep=deep)
                counts = {**counts, **behind.counts}
                problems += behind.problems
                fallback["details"] = dict(behind.details)
            except Exception as error:
                problems.append(f"the builtin index failed to report its status: {_reason(error)}")
        return replace(status, counts=counts, problems=problems, details={**status.details, "fallback": fallback})

    def close(self) -> None:
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        try:
            self.primary.close()
        finally:
            with self._making:
                if self._made is not None:
                    self._made.close()

    def _failed(self, error: Exception) -> Outage:
        """Record a failure; the pause doubles with each in a row, unless the error sets it."""
        if not isinstance(error, QmdError):
            _logger.error("QMD failed unexpectedly", exc_info=error)
        now, asked = self._clock(), error.retry_after if isinstance(error, QmdError) else None
        with self._lock:
            before = self._outage
            pause = asked or (min(before.pause * 2, LONGEST_PAUSE) if before else FIRST_PAUSE)
            outage = Outage(
                reason=_reason(error),
                action=error.action if isinstance(error, QmdError) else None,
                since=before.since if before else self._wall_clock(),
                next_try=now + pause,
                pause=pause if not asked else (before.pause if before else FIRST_PAUSE / 2),
            )
            self._outage = outage
        if before is None:
            _logger.warning("QMD cannot answer, so the builtin index does: %s", outage.reason)
        return outage

    def _maybe_retry(self, ask: Callable[[], MemorySearchOutcome]) -> None:
        """Retry the primary in the background after its pause, one attempt at a time."""
        with self._lock:
            outage = self._outage
            if outage is None or self._is_trying or self._is_closed or self._clock() < outage.next_try:
                return
            self._is_trying = True

        def attempt() -> None:
            try:
                ask()
            except Exception as error:
                self._failed(error)
            else:
                with self._lock:
                    self._outage = None
                _logger.info("QMD answers again")
            finally:
                self._is_trying = False

        try:
            self._in_background(attempt)
        except RuntimeError:  # no thread can be started, as during interpreter shutdown
            self._is_trying = False

    def _from_secondary(self, ask: Callable[[], MemorySearchOutcome], outage: Outage) -> MemorySearchOutcome:
        if self._is_closed:
            return self._nothing("the memory was closed")
        warning = f"QMD cannot answer ({outage.reason}), so the builtin index does"
        try:
            outcome = ask()
        except Exception as error:
            _logger.error("the builtin index failed as well", exc_info=error)
            also = f"QMD cannot answer ({outage.reason}), nor can the builtin index ({_reason(error)})"
            return self._nothing(also, outage.action)
        return replace(
            outcome,
            fallback="builtin",
            warning="; ".join(part for part in (warning, outcome.warning) if part),
            action=" ".join(part for part in (outage.action, outcome.action) if part) or None,
        )

    def _nothing(self, why: str, action: str | None = None) -> MemorySearchOutcome:
        return unavailable(why, action or "run: memslot memory status --deep")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="qmd-retry", daemon=True).start()
