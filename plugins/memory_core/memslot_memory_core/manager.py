"""The memory of one agent: search it, read it, keep it fresh, and say how it is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from memslot import MemorySearch, MemorySearchOutcome, MemoryStatus, MemslotError, Session, real_path

from memslot_memory_core.embedder import EmbedderChoice, batch_api
from memslot_memory_core.health import Health, bytes_of, count_changed, look_over, may_be_written
from memslot_memory_core.index.connection import DAMAGE, IndexBusyError, IndexFault
from memslot_memory_core.index.owner import Owner, take_over
from memslot_memory_core.index.preparing import Sources
from memslot_memory_core.index.report import Progress, SyncProgress, SyncReport
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.sync import Synchronizer
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.index.watch import WatchedFolders, Watcher
from memslot_memory_core.outcome import plain_error, unavailable, unsearchable
from memslot_memory_core.reading import FilePart, read_part
from memslot_memory_core.searching import Searcher
from memslot_memory_core.upkeep import Paths, Upkeep

if TYPE_CHECKING:
    from memslot_memory_core.embedder import MakePipeline

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


@dataclass(frozen=True)
class Place:
    """Where an agent's notes, transcripts and index are."""

    agent_id: str
    workspace: Path
    sessions_dir: Path
    index_file: Path
    has_unmarked: bool = False
    """Whether transcripts belong to it that don't name a workspace."""
    older_index: Path | None = None
    """Where the index was before its name held the workspace."""

    @property
    def owner(self) -> Owner:
        return Owner(self.agent_id, real_path(self.workspace))


class MemoryManager:
    """Any number of threads may use it, and other processes may use the same index."""

    def __init__(self, place: Place, settings: MemorySearch, make_pipeline: MakePipeline) -> None:
        self.place = place
        self.settings = settings
        vector = settings.store.vector
        self._index = IndexFile(place.index_file, place.owner, older=self._take_over_older)
        self._sources = Sources(settings, place.workspace, place.sessions_dir, with_unmarked=place.has_unmarked)
        self._embedder = EmbedderChoice(
            make_pipeline, enabled=vector.enabled, batch=batch_api(settings, place.index_file)
        )
        self._vectors = VectorTables(vector.engine, vector.extension_path)
        self._sync = Synchronizer(
            self._index,
            self._sources,
            self._embedder.cache,
            self._vectors,
            identity=self._sources.identity_of,
            keep_embeddings=settings.cache.max_entries if settings.cache.enabled else 0,
        )
        self._upkeep = Upkeep(self._sync_in_background, interval_seconds=settings.sync.interval_minutes * 60.0)
        self._searcher = Searcher(self._index, self._sources, self._embedder, self._vectors, settings)
        self._watcher: Watcher | None = None
        self._lock = threading.Lock()
        self._one_sync = threading.Lock()
        self._users = 1
        self._is_awaited = False
        self._closed = False

    def lend(self) -> bool:
        """Let one more use it: it is closed when the last of them has closed it. False where it is closed already."""
        with self._lock:
            if self._closed:
                return False
            self._users += 1
            return True

    @property
    def workspace(self) -> Path:
        return self.place.workspace

    # Searching and reading

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        session: Session | None = None,
        explain: bool = False,
        fresh_seconds: float | None = None,
    ) -> MemorySearchOutcome:
        """What fits a query, best first. It never waits for a sync, except for an index that was never built.

        Where others listen in (a session that is not direct) what is about the person stays out. With
        `fresh_seconds` it first takes up changes on disk for so long; 0 means the index as it is. Raises a
        MemslotError for an empty query; whatever else goes wrong, the outcome says so.
        """
        private = session is None or session.is_private
        if not query.replace("\0", " ").strip():
            raise MemslotError("the query is empty: say in a few words what to look for")
        if not self.settings.enabled:
            return unavailable("memory search is switched off", "set memorySearch.enabled to true")
        try:
            without_vectors = self._freshen(fresh_seconds)
            return self._searcher.find(
                query,
                max_results=max_results,
                min_score=min_score,
                private=private,
                explain=explain,
                stale=self._staleness(),
                without_vectors=without_vectors,
            )
        except DAMAGE:
            return self._search_after_repair(query, max_results, min_score, private, explain)
        except apsw.SQLError as error:
            if not self._has_broken_tables():
                return unsearchable(error)
            return self._search_after_repair(query, max_results, min_score, private, explain)
        except Exception as error:
            return unsearchable(error)

    def _take_over_older(self) -> None:
        older = self.place.older_index
        if older is not None:
            take_over(older, self.place.index_file, self.place.agent_id, self._sources.stamps)

    def _has_broken_tables(self) -> bool:
        """Whether an error that could mean anything is one that a repair helps against.

        Extensions have no other word for a table of theirs that cannot be read.
        """
        with contextlib.suppress(Exception):
            if self._index.look_for_damage():
                return True
            with self._index.snapshot() as snapshot:
                return snapshot is not None and self._vectors.distrust(snapshot.generation.number)
        return False

    def _search_after_repair(
        self, query: str, max_results: int | None, min_score: float | None, private: bool, explain: bool
    ) -> MemorySearchOutcome:
        """The index file was damaged: the notes are not, so it is built again and asked once more."""
        try:
            self._index.discard(wait_seconds=FIRST_INDEX_SECONDS)
            self._upkeep.request()
            self._upkeep.wait(FIRST_INDEX_SECONDS)
            return self._searcher.find(
                query,
                max_results=max_results,
                min_score=min_score,
                private=private,
                explain=explain,
                stale=self._staleness() or "the index was damaged and is built again from the notes",
            )
        except Exception as error:
            return unavailable(
                f"the index is damaged and could not be built again: {plain_error(error)}",
                "run: memslot memory index --force",
            )

    def _freshen(self, fresh_seconds: float | None) -> str | None:
        """Take up changes, or ask for that; gives the reason why the provider should not be asked now, if there is."""
        if fresh_seconds == 0:
            return None
        if fresh_seconds is not None:
            try:
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
        elif self.settings.sync.on_search:
            self._ask_for_changes()
        return None

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

    def _staleness(self) -> str | None:
        progress, last = self._upkeep.progress, self._upkeep.last
        if progress is not None and progress.total and progress.phase == "indexing":
            return f"the index is being brought up to date: {progress.files} of {progress.total} changed files are in"
        if self._is_awaited and self._upkeep.is_busy:
            return "what was written a moment ago is being indexed"
        if self._upkeep.failure is None and last is not None and not last.complete:
            return "not all changes are in the index yet; memslot memory index brings the rest"
        return self._upkeep.failure

    def read_file(self, path: str, *, from_line: int = 1, lines: int = 200, session: Session | None = None) -> FilePart:
        """Lines of one of the indexed files; one that is not there, or not for this chat, reads as empty.

        Raises a NotInMemoryError for any other path.
        """
        private = session is None or session.is_private
        return read_part(self._sources, path, from_line, lines, private=private)

    # Keeping it fresh

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

    def request_sync(self) -> None:
        """Ask for a sync in the background, soon; a search that comes before it is done waits for it a moment."""
        self._is_awaited = True
        self._upkeep.request()

    def last_sync(self) -> SyncReport | None:
        """What the last sync of this process did."""
        return self._upkeep.last

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
                    if not self._has_broken_tables():
                        raise
                    self._index.discard(wait_seconds=arguments["wait_seconds"])
                    return self._sync.run(embedder, **arguments)
            except (apsw.BusyError, apsw.LockedError) as error:
                raise IndexBusyError(f"another program has locked the index {self.place.index_file}") from error
            except (apsw.Error, OSError) as error:
                raise IndexFault(
                    f"the index {self.place.index_file} cannot be written: {plain_error(error)}"
                ) from error

    def start_session(self) -> None:
        """A conversation begins: look for changes, and watch for more if the settings ask for it."""
        if not self.settings.enabled:
            return
        if self.settings.sync.on_session_start:
            self._upkeep.request()
        if self.settings.sync.watch:
            self.start_watching()
        self._upkeep.keep_interval()

    def start_watching(self) -> str:
        """Watch the folders from now on; calling it twice is fine."""
        with self._lock:
            if self._watcher is None and not self._closed:
                self._watcher = Watcher(self._watched_folders, self._note_changes, self.settings.sync.watch_debounce_ms)
                self._watcher.start()
        return "Watching for changes"

    def _note_changes(self, paths: Collection[str] | None) -> None:
        self._upkeep.note_changes(paths, self.settings.sync.watch_debounce_ms / 1000)

    def _watched_folders(self) -> WatchedFolders:
        return WatchedFolders.of(self.place.workspace, self.settings.extra_paths, self._sources.sessions_dir)

    # How it is

    def status(self, *, deep: bool = False) -> MemoryStatus:
        """Counts, freshness and problems; `deep` also reads the whole index and tries the provider."""
        pipeline, selection = self._embedder.choose()
        problems: list[str] = []
        if not self.place.workspace.is_dir():
            problems.append(f"there is no workspace {self.place.workspace}; run: memslot init")
        health = self._health(deep, problems)
        problems += [problem for problem in health.problems if problem not in problems]
        if self._upkeep.failure:
            problems.append(self._upkeep.failure)
        if self._searcher.query_failure:
            problems.append(f"the last query could not be embedded: {self._searcher.query_failure}")
        if pipeline is None and (selection.is_degraded or self._embedder.failure):
            problems.append(f"searching by keywords only: {selection.reason}")
        details: dict[str, Any] = {
            "agent": self.place.agent_id,
            "workspace": str(self.place.workspace),
            "indexFile": str(self.place.index_file),
            "indexBytes": bytes_of(self.place.index_file),
            "sources": list(self._sources.names),
            "embedding": selection.to_json(),
            "watching": self._watcher is not None,
            **health.details,
        }
        if not may_be_written(self.place.index_file):
            problems.append(
                f"the index {self.place.index_file} cannot be written, so no change comes in; check its permissions"
            )
        if self._upkeep.last is not None:
            details["lastSync"] = self._upkeep.last.to_json()
        if deep:
            details["probes"] = {"embedding": self.probe_embedding(), "vector": self.probe_vector()}
        return MemoryStatus(backend="builtin", counts=health.counts, problems=problems, details=details)

    def _health(self, deep: bool, problems: list[str]) -> Health:
        empty = Health(counts={"files": 0, "chunks": 0, "words": 0, "vectors": 0})
        try:
            with self._index.snapshot() as snapshot:
                if snapshot is None:
                    empty.details = {"syncedAt": None}
                    return empty
                embedder = self._embedder.for_sync()
                wanted = self._sources.identity_of(embedder.pipeline)
                health = look_over(snapshot, self._vectors, wanted, embedder, workspace=self.place.workspace, deep=deep)
                health.details["changedSince"] = count_changed(snapshot, self._sources)
                return health
        except DAMAGE as error:
            problems.append(
                f"the index is damaged ({plain_error(error)}); the next search builds it again from the notes"
            )
        except Exception as error:
            problems.append(str(error) if isinstance(error, MemslotError) else f"the index fails: {plain_error(error)}")
        return empty

    def probe_embedding(self) -> str | None:
        """Try the embedding provider; None when it works, else why not."""
        return self._embedder.probe()

    def probe_vector(self) -> str | None:
        """Try the vector engine of the index; None when it works, else why not."""
        try:
            with self._index.snapshot() as snapshot:
                if snapshot is None:
                    return "nothing was indexed yet"
                return self._vectors.for_reading(snapshot.db, snapshot.generation, "chunks")[1]
        except Exception as error:
            return plain_error(error)

    def close(self) -> None:
        """Stop watching, end a sync at its next step, close the files. The last one who uses it does that."""
        with self._lock:
            self._users -= 1
            if self._closed or self._users > 0:
                return
            self._closed = True
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(_WATCHER_SECONDS)
        self._embedder.close()
        self._upkeep.close()
        self._index.close()
