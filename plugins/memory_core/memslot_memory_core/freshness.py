"""Keeps the index equal to what is on disk: when to look, when to wait, and what to tell while it is behind."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

import apsw
from memslot import MemorySearch

from memslot_memory_core.background_sync import Paths, Upkeep
from memslot_memory_core.embedder import EmbedderChoice
from memslot_memory_core.index.change_check import report_unchanged
from memslot_memory_core.index.connection import DAMAGE, IndexBusyError, IndexFault
from memslot_memory_core.index.memory_sources import Sources
from memslot_memory_core.index.report import Progress, SyncProgress, SyncReport
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.location import Place
from memslot_memory_core.search_output import plain_error

if TYPE_CHECKING:
    from memslot_memory_core.index.sync import Synchronizer
    from memslot_memory_core.index.watcher import WatchedFolders, Watcher

FIRST_INDEX_SECONDS = 3.0
"""A search waits this long for an index that was never built: better than an empty answer."""
_AWAITED_SECONDS = 0.5
_WATCHER_SECONDS = 0.1
"""The watcher looks up once in its quiet time, and then ends by itself: nobody has to wait for that."""
_SEARCH_SYNC_SECONDS = 1.0
"""Searches in quick succession look for changes once in this time."""
_SYNC_SHARE = 20.0
"""And no more often than this many times as long as a look takes: with very many files it would be all we do."""
_WATCHED_SYNC_SECONDS, _WATCHED_SYNC_SHARE = 60.0, 100.0
"""The same where the watcher names what changes: some systems forget to tell it of a change now and then."""


class IndexFreshness:
    """Syncs one index: on request, before a search, by the watcher and by the clock; one sync at a time."""

    def __init__(
        self,
        place: Place,
        settings: MemorySearch,
        index: IndexFile,
        sources: Sources,
        embedder: EmbedderChoice,
        vectors: VectorTables,
    ) -> None:
        self._place = place
        self._settings = settings
        self._index = index
        self._sources = sources
        self._embedder = embedder
        self._vectors = vectors
        self._upkeep = Upkeep(self._sync_in_background, interval_seconds=settings.sync.interval_minutes * 60.0)
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
        return self._upkeep.failure

    @property
    def last(self) -> SyncReport | None:
        """What the last sync of this process did."""
        return self._upkeep.last

    @property
    def is_watching(self) -> bool:
        return self._watcher is not None

    def rebuild_damaged(self) -> None:
        """Discard a damaged index and build it again from the notes; waits a moment for that."""
        self._index.discard(wait_seconds=FIRST_INDEX_SECONDS)
        self._upkeep.request()
        self._upkeep.wait(FIRST_INDEX_SECONDS)

    def ensure(self, fresh_seconds: float | None) -> str | None:
        """Take up changes, or ask for that; gives the reason why the provider should not be asked now, if there is."""
        if fresh_seconds == 0:
            return None
        if fresh_seconds is not None:
            try:
                if self._is_unchanged():
                    return None
                report = self.sync(seconds=fresh_seconds, wait_seconds=0.0, upkeep=False)
            except Exception as error:
                self._upkeep.note_failure(error)
                return None
            return "the embedding provider did not answer in time" if report.out_of_time else None
        if not self._was_indexed():
            self._upkeep.request()
            self._upkeep.wait(FIRST_INDEX_SECONDS)
        elif self._is_awaited:
            # What the agent has just written should be found by what it asks next.
            if self._upkeep.wait(_AWAITED_SECONDS):
                self._is_awaited = False
        elif self._settings.sync.on_search:
            self._ask_for_changes()
        return None

    def _is_unchanged(self) -> bool:
        """Whether a look at the disk, without the writer's lock, finds all as the index has it."""
        report = report_unchanged(self._index, self._sources, self._embedder.for_sync())
        if report is not None:
            self._upkeep.note_success(report)
        return report is not None

    def _ask_for_changes(self) -> None:
        pause, share = _SEARCH_SYNC_SECONDS, _SYNC_SHARE
        if self._watcher is not None and self._watcher.is_sure and self._upkeep.failure is None:
            self._upkeep.hurry()
            pause, share = _WATCHED_SYNC_SECONDS, _WATCHED_SYNC_SHARE
        self._upkeep.request(at_most_every=max(pause, share * self._upkeep.look_seconds))

    def _was_indexed(self) -> bool:
        if self._index.was_filled:
            return True
        with self._index.snapshot() as snapshot:
            return snapshot is not None and (snapshot.generation.synced_at is not None or snapshot.generation.files > 0)

    def staleness(self) -> str | None:
        progress, last = self._upkeep.progress, self._upkeep.last
        if progress is not None and progress.total and progress.phase == "indexing":
            return f"the index is being brought up to date: {progress.files} of {progress.total} changed files are in"
        if self._is_awaited and self._upkeep.is_busy:
            return "what was written a moment ago is being indexed"
        if self._upkeep.failure is None and last is not None and not last.complete:
            return "not all changes are in the index yet; memslot memory index brings the rest"
        return self._upkeep.failure

    def sync(
        self,
        *,
        near: Collection[str] | None = None,
        force: bool = False,
        upkeep: bool = True,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        seconds: float | None = None,
        wait_seconds: float = 60.0,
    ) -> SyncReport:
        """Make the index equal to what is on disk, now; `force` builds it anew beside the old one.

        Who knows all paths on the disk where something has changed names them as `near`: what lies elsewhere need not
        be looked at then. Without `upkeep`, work that grows with the index is left to a later sync. Raises
        IndexBusyError when another process is still at it after `wait_seconds`.
        """
        report = self._run_sync(
            near=near,
            force=force,
            upkeep=upkeep,
            every_growth=seconds is None,
            progress=progress,
            cancelled=lambda: self._closed or (cancelled is not None and cancelled()),
            seconds=seconds,
            wait_seconds=wait_seconds,
        )
        self._upkeep.note_success(report)
        return report

    def request(self) -> None:
        """Ask for a sync in the background, soon; a search that comes before it is done waits for it a moment."""
        self._is_awaited = True
        self._upkeep.request()

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
                    # Found out only now, half-way through: the notes are all there, so begin again.
                    return self._sync.run(embedder, **arguments)
                except apsw.SQLError:
                    if not self.has_broken_tables():
                        raise
                    self._index.discard(wait_seconds=arguments["wait_seconds"])
                    return self._sync.run(embedder, **arguments)
            except (apsw.BusyError, apsw.LockedError) as error:
                raise IndexBusyError(f"another program has locked the index {self._place.index_file}") from error
            except (apsw.Error, OSError) as error:
                raise IndexFault(
                    f"the index {self._place.index_file} cannot be written: {plain_error(error)}"
                ) from error

    def start_session(self) -> None:
        """A conversation begins: look for changes, and watch for more if the settings ask for it."""
        if self._settings.sync.on_session_start:
            self._upkeep.request()
        if self._settings.sync.watch:
            self.start_watching()
        self._upkeep.keep_interval()

    def start_watching(self) -> None:
        """Watch the folders from now on; calling it twice is fine."""
        with self._lock:
            if self._watcher is None and not self._closed:
                from memslot_memory_core.index.watcher import Watcher

                self._watcher = Watcher(
                    self._watched_folders, self._note_changes, self._settings.sync.watch_debounce_ms
                )
                self._watcher.start()

    def _note_changes(self, paths: Collection[str] | None) -> None:
        self._upkeep.note_changes(paths, self._settings.sync.watch_debounce_ms / 1000)

    def _watched_folders(self) -> WatchedFolders:
        from memslot_memory_core.index.watcher import WatchedFolders

        return WatchedFolders.of(self._place.workspace, self._settings.extra_paths, self._sources.sessions_dir)

    def has_broken_tables(self) -> bool:
        """Whether an error that could mean anything is one that a repair helps against.

        Extensions have no other word for a table of theirs that cannot be read.
        """
        with contextlib.suppress(Exception):
            if self._index.look_for_damage():
                return True
            with self._index.snapshot() as snapshot:
                return snapshot is not None and self._vectors.distrust(snapshot.generation.number)
        return False

    def close(self) -> None:
        """Stop watching and end a sync at its next step."""
        with self._lock:
            self._closed = True
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(_WATCHER_SECONDS)
        self._upkeep.close()
