"""Background syncs: one thread, one sync at a time, however many are requested."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection

from memslot import redact

from memslot_memory_core.index.connection import IndexBusyError
from memslot_memory_core.index.report import SyncProgress, SyncReport

logger = logging.getLogger("memslot.plugin.memory-core")

Paths = frozenset[str] | None
"""Changed paths; None means anywhere."""
Work = Callable[[Paths, Callable[[], bool], Callable[[SyncProgress], None]], SyncReport]
_BUSY_RETRY_SECONDS = 1.0
_BUSY_RETRIES = 30
_MAX_DEBOUNCES = 10
"""Multiple of the debounce time: a file that is written continuously is still indexed."""


class BackgroundSync:
    """Runs `sync` on request, one at a time; requests during a run cause one more run after it.

    A request is for everything or for changed paths; a run covers all requests made before it.
    """

    def __init__(self, sync: Work, *, interval_seconds: float = 0.0) -> None:
        self._sync = sync
        self._interval = interval_seconds
        self._condition = threading.Condition()
        self._asked = False
        self._paths: set[str] | None = set()
        self._due = self._due_at_last = float("-inf")
        self._next_by_clock = float("-inf")
        self._running = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._last_request = float("-inf")
        self.progress: SyncProgress | None = None
        """Progress of the current run, if there is one."""
        self.last: SyncReport | None = None
        self.scan_seconds = 0.0
        """Duration of the last full scan that found no change."""
        self.failure: str | None = None
        """Why the last run failed; None after a success."""

    def request(self, *, at_most_every: float = 0.0) -> None:
        """Request a full scan soon, unless one was requested less than `at_most_every` seconds ago."""
        with self._condition:
            now = time.monotonic()
            if now - self._last_request >= at_most_every:
                self._last_request = now
                self._ask(None, now, now)

    def schedule(self, paths: Collection[str] | None, quiet_seconds: float) -> None:
        """Request a scan of these paths (None: everything) after a quiet period without further changes."""
        with self._condition:
            now = time.monotonic()
            self._ask(paths, now + quiet_seconds, now + quiet_seconds * _MAX_DEBOUNCES)

    def run_now(self) -> None:
        """Run pending requests without waiting for the quiet period."""
        with self._condition:
            if self._asked:
                self._due = self._due_at_last = time.monotonic()
                self._condition.notify_all()

    def _ask(self, paths: Collection[str] | None, due: float, at_last: float) -> None:
        if self._closed:
            return
        if not self._asked:
            self._asked, self._due, self._due_at_last = True, due, at_last
        else:
            self._due_at_last = min(self._due_at_last, at_last)
            self._due = min(max(self._due, due), self._due_at_last)
        if paths is None:
            self._paths = None
        elif self._paths is not None:
            self._paths.update(paths)
        self._start()
        self._condition.notify_all()

    def record_success(self, report: SyncReport) -> None:
        """Record a successful sync, in the background or not, and clear the last failure."""
        self.last, self.failure = report, None
        if report.scan is not None and not report.changed:
            # Only scans without changes count: reading and embedding changed files takes far longer.
            self.scan_seconds = report.seconds

    def record_failure(self, error: Exception) -> None:
        """Record a failed sync, in the background or not: recent changes may be missing from the index."""
        if isinstance(error, IndexBusyError):
            self.failure = f"recent changes may be missing: {error}"
        else:
            self.failure = redact(f"the last sync failed: {error}")

    def start_interval(self) -> None:
        """Start periodic runs, if an interval is set."""
        with self._condition:
            if self._interval > 0 and not self._closed:
                self._start()

    def wait(self, seconds: float) -> bool:
        """Wait until no run is active or due; returns whether that is so."""
        with self._condition:
            self._condition.wait_for(lambda: self._closed or not self.is_busy, seconds)
            return not self.is_busy

    @property
    def is_busy(self) -> bool:
        """Whether a run is active or due; requests still being debounced don't count."""
        return self._running or self._is_due

    @property
    def _is_due(self) -> bool:
        return self._asked and self._due <= time.monotonic()

    def close(self, seconds: float = 3.0) -> None:
        """Stop at the next step; finished writes are kept."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._next_by_clock = time.monotonic() + self._interval
            self._thread = threading.Thread(target=self._run, name="memslot task sync", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._wait_until_due()
                if self._closed:
                    return
                if not self._is_due:
                    continue
                paths = None if self._paths is None else frozenset(self._paths)
                self._asked, self._paths, self._running = False, set(), True
            is_done = False
            try:
                is_done = self._run_once(paths)
            finally:
                with self._condition:
                    if not is_done:
                        # The changes are still unindexed, and by now there may be others.
                        self._paths = None
                    self._running = False
                    self._condition.notify_all()

    def _wait_until_due(self) -> None:
        """Wait for the next due request or periodic run."""
        if self._closed or self._is_due:
            return
        moments = [self._due] if self._asked else []
        if self._interval > 0:
            moments.append(self._next_by_clock)
        self._condition.wait(max(0.0, min(moments) - time.monotonic()) if moments else None)
        now = time.monotonic()
        if self._interval > 0 and now >= self._next_by_clock:
            self._next_by_clock = now + self._interval
            self._ask(None, now, now)

    def _run_once(self, paths: Paths) -> bool:
        """Returns whether everything found is in the index."""
        self.progress = SyncProgress(0, 0)
        try:
            for _ in range(_BUSY_RETRIES):
                try:
                    report = self._sync(paths, lambda: self._closed, self._note)
                    self.record_success(report)
                    return report.complete
                except IndexBusyError:
                    # Another process is syncing; retry once it is done.
                    with self._condition:
                        if self._condition.wait_for(lambda: self._closed, _BUSY_RETRY_SECONDS):
                            return False
            self.failure = "the last sync gave up: another process kept writing to the index"
        except Exception as error:
            self.record_failure(error)
            logger.warning("%s", self.failure)
        finally:
            self.progress = None
        return False

    def _note(self, progress: SyncProgress) -> None:
        self.progress = progress
