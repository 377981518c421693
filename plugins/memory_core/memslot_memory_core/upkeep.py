"""Keeps the index fresh in the background: one thread, one sync at a time, however many ask for one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from memslot import redact

from memslot_memory_core.index.connection import IndexBusyError
from memslot_memory_core.index.report import SyncProgress, SyncReport

logger = logging.getLogger("memslot.plugin.memory-core")

_BUSY_RETRY_SECONDS = 1.0
_BUSY_RETRIES = 30


class Upkeep:
    """Runs `sync` when asked, at most one at a time; asking again while it runs means one more run after it."""

    def __init__(
        self,
        sync: Callable[[Callable[[], bool], Callable[[SyncProgress], None]], SyncReport],
        *,
        interval_seconds: float = 0.0,
    ) -> None:
        self._sync = sync
        self._interval = interval_seconds
        self._condition = threading.Condition()
        self._asked = False
        self._running = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._last_request = float("-inf")
        self.progress: SyncProgress | None = None
        """How far the run under way is; None when there is none."""
        self.last: SyncReport | None = None
        self.failure: str | None = None
        """Why the last run failed, until one succeeds."""

    def request(self, *, at_most_every: float = 0.0) -> None:
        """Ask for a sync soon. With `at_most_every`, one that was asked for just now is enough."""
        with self._condition:
            now = time.monotonic()
            if self._closed or now - self._last_request < at_most_every:
                return
            self._last_request = now
            self._asked = True
            self._start()
            self._condition.notify_all()

    def note_success(self, report: SyncReport) -> None:
        """A sync went well, here or where somebody waited for it: what failed before is over."""
        self.last, self.failure = report, None

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
        return self._asked or self._running

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
            self._thread = threading.Thread(target=self._run, name="memslot-sync", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._condition:
                if not self._asked and not self._closed:
                    timed_out = not self._condition.wait(self._interval or None)
                    self._asked = self._asked or (timed_out and self._interval > 0)
                if self._closed:
                    return
                if not self._asked:
                    continue
                self._asked, self._running = False, True
            try:
                self._run_once()
            finally:
                with self._condition:
                    self._running = False
                    self._condition.notify_all()

    def _run_once(self) -> None:
        self.progress = SyncProgress(0, 0, 0)
        try:
            for _ in range(_BUSY_RETRIES):
                try:
                    self.note_success(self._sync(lambda: self._closed, self._note))
                    return
                except IndexBusyError:
                    # Another process does the same work; look again once it is through.
                    with self._condition:
                        if self._condition.wait_for(lambda: self._closed, _BUSY_RETRY_SECONDS):
                            return
            self.failure = "the last sync was given up: another process has been writing to the index all the time"
        except Exception as error:
            self.failure = redact(f"the last sync failed: {error}")
            logger.warning("%s", self.failure)
        finally:
            self.progress = None

    def _note(self, progress: SyncProgress) -> None:
        self.progress = progress
