"""Keeps the index fresh in the background: one thread, one sync at a time, however many ask for one."""

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
"""Where something has changed on the disk; None: anywhere."""
Work = Callable[[Paths, Callable[[], bool], Callable[[SyncProgress], None]], SyncReport]
_BUSY_RETRY_SECONDS = 1.0
_BUSY_RETRIES = 30
_LONGEST_WAIT = 10
"""Times the quiet period: a file that is written without pause is indexed all the same."""


class Upkeep:
    """Runs `sync` when asked, at most one at a time; asking again while it runs means one more run after it.

    It is asked for a look at everything, or at paths that have changed; a run is for all that was asked before it.
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
        """How far the run under way is; None when there is none."""
        self.last: SyncReport | None = None
        self.look_seconds = 0.0
        """How long the last look at everything took that found nothing new."""
        self.failure: str | None = None
        """Why the last run failed, until one succeeds."""

    def request(self, *, at_most_every: float = 0.0) -> None:
        """Ask for a look at everything, soon. With `at_most_every`, one that was asked for just now is enough."""
        with self._condition:
            now = time.monotonic()
            if now - self._last_request >= at_most_every:
                self._last_request = now
                self._ask(None, now, now)

    def note_changes(self, paths: Collection[str] | None, quiet_seconds: float) -> None:
        """Ask for a look at these paths, or at everything, once nothing more has changed for so long."""
        with self._condition:
            now = time.monotonic()
            self._ask(paths, now + quiet_seconds, now + quiet_seconds * _LONGEST_WAIT)

    def hurry(self) -> None:
        """What has been asked for is to be done now."""
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

    def note_success(self, report: SyncReport) -> None:
        """A sync went well, here or where somebody waited for it: what failed before is over."""
        self.last, self.failure = report, None
        if report.look is not None and not report.changed:
            # Reading and embedding what a look found takes far longer than the look, and the next finds it done.
            self.look_seconds = report.seconds

    def note_failure(self, error: Exception) -> None:
        """A sync failed, here or where somebody waited for it: until one succeeds, changes on disk may be missing."""
        if isinstance(error, IndexBusyError):
            self.failure = f"what changed last may be missing: {error}"
        else:
            self.failure = redact(f"the last sync failed: {error}")

    def keep_interval(self) -> None:
        """Begin the runs that come by the clock, if there are to be any."""
        with self._condition:
            if self._interval > 0 and not self._closed:
                self._start()

    def wait(self, seconds: float) -> bool:
        """Wait until all that was asked for is done, which it may be already; tells whether it is."""
        with self._condition:
            self._condition.wait_for(lambda: self._closed or not self.is_busy, seconds)
            return not self.is_busy

    @property
    def is_busy(self) -> bool:
        """Whether something is being done or about to be; what waits for a quiet moment is not yet."""
        return self._running or self._is_due

    @property
    def _is_due(self) -> bool:
        return self._asked and self._due <= time.monotonic()

    def close(self, seconds: float = 3.0) -> None:
        """Stop at the next step; what was written stays."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._next_by_clock = time.monotonic() + self._interval
            self._thread = threading.Thread(target=self._run, name="memslot-sync", daemon=True)
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
                        # Whatever changed there is still to be found; by then it may be more than that.
                        self._paths = None
                    self._running = False
                    self._condition.notify_all()

    def _wait_until_due(self) -> None:
        """Until there is a reason to look up, which may be that it is time for what comes by the clock."""
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
        """Tells whether all that was to be found there is in the index."""
        self.progress = SyncProgress(0, 0, 0)
        try:
            for _ in range(_BUSY_RETRIES):
                try:
                    report = self._sync(paths, lambda: self._closed, self._note)
                    self.note_success(report)
                    return report.complete
                except IndexBusyError:
                    # Another process does the same work; look again once it is through.
                    with self._condition:
                        if self._condition.wait_for(lambda: self._closed, _BUSY_RETRY_SECONDS):
                            return False
            self.failure = "the last sync was given up: another process has been writing to the index all the time"
        except Exception as error:
            self.note_failure(error)
            logger.warning("%s", self.failure)
        finally:
            self.progress = None
        return False

    def _note(self, progress: SyncProgress) -> None:
        self.progress = progress
