"""Keeps the index in step with the disk: when to sync, when to wait for it, and how to report staleness."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

import apsw

from memslot_memory_core.background_sync import BackgroundSync, Paths
from memslot_memory_core.embedder import EmbedderChoice
from memslot_memory_core.index.change_check import report_unchanged
from memslot_memory_core.index.connection import DAMAGE, IndexBusyError, IndexFault
from memslot_memory_core.index.memory_sources import Sources
from memslot_memory_core.index.report import Progress, SyncProgress, SyncReport
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.search_output import error_text

if TYPE_CHECKING:
    from memslot_memory_core.index.sync import Synchronizer
    from memslot_memory_core.index.watcher import WatchedFolders, Watcher
    from memslot_memory_core.settings import SearchSettings

FIRST_INDEX_SECONDS = 3.0
"""How long a search waits for the first index, rather than return nothing."""
_AWAITED_SECONDS = 0.5
_WATCHER_SECONDS = 0.1
"""The watcher ends by itself after its next poll, so don't wait longer."""
_SEARCH_SYNC_SECONDS = 1.0
"""Minimum interval between syncs that searches request."""
_SYNC_SHARE = 20.0
"""The interval is at least this multiple of a scan's duration, so that huge folders are not scanned constantly."""
_WATCHED_SYNC_SECONDS, _WATCHED_SYNC_SHARE = 60.0, 100.0
"""The same while the watcher runs: some systems drop an event now and then."""


class IndexFreshness:
    """Syncs one index on request, before a search, on file events and periodically; one sync at a time."""

    def __init__(
        self,
        location: MemoryLocation,
        settings: SearchSettings,
        index: IndexFile,
        sources: Sources,
        embedder: EmbedderChoice,
        vectors: VectorTables,
    ) -> None:
        self._location = location
        self._settings = settings
        self._index = index
        self._sources = sources
        self._embedder = embedder
        self._vectors = vectors
        self._background = BackgroundSync(
            self._sync_in_background, interval_seconds=settings.sync.interval_minutes * 60.0
        )
        self._watcher: Watcher | None = None
        self._lock = threading.Lock()
        self._one_sync = threading.Lock()
        self._is_awaited = False
        self._closed = False

    @cached_property
    def _sync(self) -> Synchronizer:
        from memslot_memory_core.index.sync import Synchronizer

        cache = self._settings.cache
        return Synchronizer(
            self._index,
            self._sources,
            self._embedder.cache,
            self._vectors,
            identity=self._sources.identity_of,
            keep_embeddings=cache.max_entries if cache.enabled else 0,
        )

    @property
    def failure(self) -> str | None:
        """Why the last sync failed, until one succeeds."""
        return self._background.failure

    @property
    def last(self) -> SyncReport | None:
        """Report of the last sync in this process."""
        return self._background.last

    @property
    def is_watching(self) -> bool:
        return self._watcher is not None

    def rebuild_damaged(self) -> None:
        """Discard a damaged index and rebuild it from the notes, waiting a few seconds for it."""
        self._index.discard(wait_seconds=FIRST_INDEX_SECONDS)
        self._background.request()
        self._background.wait(FIRST_INDEX_SECONDS)

    def ensure(self, fresh_seconds: float | None) -> str | None:
        """Sync, or request a sync; returns a reason not to call the provider in this search, if there is one."""
        if fresh_seconds == 0:
            return None
        if fresh_seconds is not None:
            try:
                if self._is_unchanged():
                    return None
                report = self.sync(seconds=fresh_seconds, wait_seconds=0.0, maintenance=False)
            except Exception as error:
                self._background.record_failure(error)
                return None
            return "the embedding provider did not answer in time" if report.out_of_time else None
        if not self._was_indexed():
            self._background.request()
            self._background.wait(FIRST_INDEX_SECONDS)
        elif self._is_awaited:
            # The agent's next search should find what it has just written.
            if self._background.wait(_AWAITED_SECONDS):
                self._is_awaited = False
        elif self._settings.sync.on_search:
            self._ask_for_changes()
        return None

    def _is_unchanged(self) -> bool:
        """Whether a scan without the writer's lock finds nothing changed."""
        report = report_unchanged(self._index, self._sources, self._embedder.for_sync())
        if report is not None:
            self._background.record_success(report)
        return report is not None

    def _ask_for_changes(self) -> None:
        pause, share = _SEARCH_SYNC_SECONDS, _SYNC_SHARE
        if self._watcher is not None and self._watcher.is_sure and self._background.failure is None:
            self._background.run_now()
            pause, share = _WATCHED_SYNC_SECONDS, _WATCHED_SYNC_SHARE
        self._background.request(at_most_every=max(pause, share * self._background.scan_seconds))

    def _was_indexed(self) -> bool:
        if self._index.was_filled:
            return True
        with self._index.snapshot() as snapshot:
            return snapshot is not None and (snapshot.generation.synced_at is not None or snapshot.generation.files > 0)

    def staleness(self) -> str | None:
        progress, last = self._background.progress, self._background.last
        if progress is not None and progress.total and progress.phase == "indexing":
            return f"the index is being updated: {progress.files} of {progress.total} changed files are indexed"
        if self._is_awaited and self._background.is_busy:
            return "the latest changes are still being indexed"
        if self._background.failure is None and last is not None and not last.complete:
            return "not all changes are indexed yet; run: memslot memory index"
        return self._background.failure

    def sync(
        self,
        *,
        near: Collection[str] | None = None,
        force: bool = False,
        maintenance: bool = True,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        seconds: float | None = None,
        wait_seconds: float = 60.0,
    ) -> SyncReport:
        """Sync the index with the disk now; `force` rebuilds it beside the old one.

        `near` lists the changed paths, if all are known; other paths are not scanned then. Without `maintenance`, work
        that grows with the index is left to a later sync. Raises IndexBusyError if another process is still writing
        after `wait_seconds`.
        """
        report = self._run_sync(
            near=near,
            force=force,
            maintenance=maintenance,
            every_growth=seconds is None,
            progress=progress,
            cancelled=lambda: self._closed or (cancelled is not None and cancelled()),
            seconds=seconds,
            wait_seconds=wait_seconds,
        )
        self._background.record_success(report)
        return report

    def request(self) -> None:
        """Request a background sync; the next search waits briefly for it."""
        self._is_awaited = True
        self._background.request()

    def _sync_in_background(
        self, near: Paths, cancelled: Callable[[], bool], progress: Callable[[SyncProgress], None]
    ) -> SyncReport:
        return self._run_sync(near=near, progress=progress, cancelled=cancelled, wait_seconds=0.0)

    def _run_sync(self, **arguments: Any) -> SyncReport:
        with self._one_sync:
            embedder = self._embedder.for_sync()
            try:
                try:
                    return self._sync.run(embedder, **arguments)
                except DAMAGE:
                    # The damage surfaced half-way. The notes are intact, so start over.
                    return self._sync.run(embedder, **arguments)
                except apsw.SQLError:
                    if not self.has_broken_tables():
                        raise
                    self._index.discard(wait_seconds=arguments["wait_seconds"])
                    return self._sync.run(embedder, **arguments)
            except (apsw.BusyError, apsw.LockedError) as error:
                raise IndexBusyError(f"another program has locked the index {self._location.index_file}") from error
            except (apsw.Error, OSError) as error:
                raise IndexFault(
                    f"the index {self._location.index_file} cannot be written: {error_text(error)}"
                ) from error

    def start_session(self) -> None:
        """Sync at the start of a conversation and, if configured, start watching."""
        if self._settings.sync.on_session_start:
            self._background.request()
        if self._settings.sync.watch:
            self.start_watching()
        self._background.start_interval()

    def start_watching(self) -> None:
        """Start watching the folders; idempotent."""
        with self._lock:
            if self._watcher is None and not self._closed:
                from memslot_memory_core.index.watcher import Watcher

                self._watcher = Watcher(
                    self._watched_folders, self._schedule_changed, self._settings.sync.watch_debounce_ms
                )
                self._watcher.start()

    def _schedule_changed(self, paths: Collection[str] | None) -> None:
        self._background.schedule(paths, self._settings.sync.watch_debounce_ms / 1000)

    def _watched_folders(self) -> WatchedFolders:
        from memslot_memory_core.index.watcher import WatchedFolders

        return WatchedFolders.of(self._location.workspace, self._settings.extra_paths, self._sources.sessions_dir)

    def has_broken_tables(self) -> bool:
        """Whether a generic SQLite error comes from broken vector tables, which a sync repairs.

        Extensions raise nothing more specific for an unreadable table.
        """
        with contextlib.suppress(Exception):
            if self._index.check_damage():
                return True
            with self._index.snapshot() as snapshot:
                return snapshot is not None and self._vectors.mark_broken(snapshot.generation.number)
        return False

    def close(self) -> None:
        """Stop watching, and stop a sync at its next step."""
        with self._lock:
            self._closed = True
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(_WATCHER_SECONDS)
        self._background.close()
