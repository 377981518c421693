"""The memory of one agent: search, read, sync, status."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from memslot import (
    MemoryFiles,
    MemoryFinding,
    MemoryPage,
    MemoryPoint,
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryText,
    MemslotError,
    Session,
)

from memslot_memory_core.embedder import EmbedderChoice, batch_api
from memslot_memory_core.freshness import IndexFreshness
from memslot_memory_core.index.connection import DAMAGE
from memslot_memory_core.index.memory_sources import Sources
from memslot_memory_core.index.report import SyncReport
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.search_output import error_text, failed_search, unavailable

if TYPE_CHECKING:
    from memslot_memory_core.embedder import MakePipeline
    from memslot_memory_core.health import Health
    from memslot_memory_core.search.searcher import Searcher
    from memslot_memory_core.settings import SearchSettings


class MemoryManager:
    """Thread-safe; other processes may use the same index."""

    def __init__(self, location: MemoryLocation, settings: SearchSettings, make_pipeline: MakePipeline) -> None:
        self.location = location
        self.settings = settings
        vector = settings.store.vector
        self._index = IndexFile(location.index_file, location.owner)
        self._embedder = EmbedderChoice(
            make_pipeline, enabled=vector.enabled, batch=batch_api(settings, location.index_file), parts=vector.parts
        )
        self._sources = Sources(
            settings,
            location.workspace,
            location.sessions_dir,
            with_unmarked=location.has_unmarked,
            embeds_parts=self._embedder.embeds_parts,
        )
        self._vectors = VectorTables(vector.engine, vector.extension_path)
        self._freshness = IndexFreshness(location, settings, self._index, self._sources, self._embedder, self._vectors)
        self._lock = threading.Lock()
        self._users = 1
        self._closed = False

    def acquire(self) -> bool:
        """Take a reference; the last `close` closes it. False if it is closed already."""
        with self._lock:
            if self._closed:
                return False
            self._users += 1
            return True

    @cached_property
    def _searcher(self) -> Searcher:
        from memslot_memory_core.search.searcher import Searcher

        return Searcher(self._index, self._sources, self._embedder, self._vectors, self.settings)

    @property
    def workspace(self) -> Path:
        return self.location.workspace

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
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome:
        """Search; best match first. It never waits for a sync, except for the first index. Sessions that are not direct
        don't see private notes. `fresh_seconds` is how long to sync first; 0 means not at all. `snippet_chars`
        overrides the configured snippet length. Raises a MemslotError for an empty query; any other failure is reported
        in the outcome.
        """
        private = _is_private(session)
        if not query.replace("\0", " ").strip():
            raise MemslotError("the query is empty; enter a few words to search for")
        if not self.settings.enabled:
            return unavailable("memory search is disabled", "set memorySearch.enabled to true")
        find = partial(
            self._searcher.find,
            query,
            max_results=max_results,
            min_score=min_score,
            private=private,
            explain=explain,
            snippet_chars=snippet_chars,
        )
        try:
            without_vectors = self._freshness.ensure(fresh_seconds)
            return find(stale=self._freshness.staleness(), without_vectors=without_vectors)
        except DAMAGE:
            return self._search_after_repair(find)
        except apsw.SQLError as error:
            if not self._freshness.has_broken_tables():
                return failed_search(error)
            return self._search_after_repair(find)
        except Exception as error:
            return failed_search(error)

    def _search_after_repair(self, find: Callable[..., MemorySearchOutcome]) -> MemorySearchOutcome:
        """Rebuild a damaged index from the notes and search once more."""
        try:
            self._freshness.rebuild_damaged()
            return find(
                stale=self._freshness.staleness() or "the index was damaged and is being rebuilt from the notes"
            )
        except Exception as error:
            return unavailable(
                f"the index is damaged and could not be rebuilt: {error_text(error)}",
                "run: memslot memory index --force",
            )

    # Capabilities

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """Lines of an indexed file. A missing file, or one private to another chat, reads as empty. Raises
        NotInMemoryError for a path outside the memory.
        """
        if not self.settings.enabled:
            return MemoryText(path, "", start_line)
        from memslot_memory_core.note_reader import read_lines

        return read_lines(self._sources, path, start_line, max_lines, private=_is_private(session))

    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: Session | None = None) -> MemoryPage:
        """The indexed files, long-lived notes first."""
        if not self.settings.enabled:
            return MemoryPage(())
        from memslot_memory_core.note_reader import list_page

        return list_page(self._sources, cursor, limit, private=_is_private(session))

    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        """Append a text to today's note."""
        if not _is_private(session):
            raise MemslotError("notes are written in direct chats only")
        from memslot_memory_core.note_writer import append_note

        path = append_note(self.location.workspace, text, "daily")
        self.request_sync()
        return MemoryReceipt(path)

    def update(self, path: str, text: str, *, expected: str | None = None) -> MemoryReceipt:
        """Replace a note's text; transcripts can't be edited."""
        from memslot_memory_core.note_reader import NotInMemoryError
        from memslot_memory_core.note_writer import replace_note

        file = self._sources.find(path)
        if file is None:
            raise NotInMemoryError(f"{path!r} is not in the memory")
        if file.source == "sessions":
            raise MemslotError(f"{path} is a transcript, which can't be edited")
        replace_note(self.location.workspace, file.file, text, expected)
        self.request_sync()
        return MemoryReceipt(path, is_new=False)

    def audit(self) -> list[MemoryFinding]:
        """The findings of `memslot memory audit`."""
        from memslot_memory_core.audit.scan import audit

        report = audit(self.location.workspace, self.settings.extra_paths)
        return [each.to_public() for each in report.findings]

    def points(self, *, limit: int = 500) -> list[MemoryPoint]:
        """An even sample of the indexed chunks that have a vector."""
        from memslot_memory_core.index.vector_sample import sample_points

        with self._index.snapshot() as snapshot:
            return sample_points(snapshot, limit) if snapshot is not None else []

    def refresh(self) -> None:
        """Sync changes from disk."""
        if self.settings.enabled:
            self.sync()

    def files(self) -> MemoryFiles:
        """The Markdown files of the workspace."""
        return self.location.files

    def files_changed(self, *paths: str) -> None:
        """Index changed files in the background."""
        if self.settings.enabled:
            self.request_sync()

    # Freshness

    def sync(self, **options: Any) -> SyncReport:
        """Sync the index with the disk now; see IndexFreshness.sync."""
        return self._freshness.sync(**options)

    def request_sync(self) -> None:
        """Request a background sync; the next search waits briefly for it."""
        self._freshness.request()

    def last_sync(self) -> SyncReport | None:
        """Report of the last sync in this process."""
        return self._freshness.last

    def start_session(self) -> None:
        """Sync at the start of a conversation and, if configured, start watching."""
        if self.settings.enabled:
            self._freshness.start_session()

    def start_watching(self) -> str:
        """Start watching the folders; idempotent."""
        self._freshness.start_watching()
        return "Watching for changes"

    # Status

    def status(self, *, deep: bool = False) -> MemoryStatus:
        """Counts, freshness and problems; `deep` also checks the whole index and calls the provider."""
        from memslot_memory_core.health import is_writable, size_on_disk

        pipeline, selection = self._embedder.choose()
        problems: list[str] = []
        if not self.location.workspace.is_dir():
            problems.append(f"the workspace {self.location.workspace} does not exist; run: memslot init")
        health = self._health(deep, problems)
        problems += [problem for problem in health.problems if problem not in problems]
        if self._freshness.failure:
            problems.append(self._freshness.failure)
        if self._searcher.query_failure:
            problems.append(f"the last query could not be embedded: {self._searcher.query_failure}")
        if pipeline is None and (selection.is_degraded or self._embedder.failure):
            problems.append(f"searching by keywords only: {selection.reason}")
        details: dict[str, Any] = {
            "agent": self.location.agent_id,
            "workspace": str(self.location.workspace),
            "indexFile": str(self.location.index_file),
            "indexBytes": size_on_disk(self.location.index_file),
            "sources": list(self._sources.names),
            "embedding": selection.to_json(),
            "watching": self._freshness.is_watching,
            **health.details,
        }
        if not is_writable(self.location.index_file):
            problems.append(
                f"the index {self.location.index_file} cannot be written, so changes are not indexed; check its "
                "permissions"
            )
        if self._freshness.last is not None:
            details["lastSync"] = self._freshness.last.to_json()
        if deep:
            details["probes"] = {"embedding": self.probe_embedding(), "vector": self.probe_vector()}
        return MemoryStatus(backend="builtin", counts=health.counts, problems=problems, details=details)

    def _health(self, deep: bool, problems: list[str]) -> Health:
        from memslot_memory_core.health import Health, check_health, count_changed

        empty = Health(counts={"files": 0, "chunks": 0, "words": 0, "vectors": 0})
        try:
            with self._index.snapshot() as snapshot:
                if snapshot is None:
                    empty.details = {"syncedAt": None}
                    return empty
                embedder = self._embedder.for_sync()
                wanted = self._sources.identity_of(embedder.pipeline)
                health = check_health(
                    snapshot, self._vectors, wanted, embedder, workspace=self.location.workspace, deep=deep
                )
                health.details["changedSince"] = count_changed(snapshot, self._sources)
                return health
        except DAMAGE as error:
            problems.append(f"the index is damaged ({error_text(error)}); the next search rebuilds it from the notes")
        except Exception as error:
            problems.append(str(error) if isinstance(error, MemslotError) else f"the index fails: {error_text(error)}")
        return empty

    def probe_embedding(self) -> str | None:
        """Call the embedding provider; returns why it failed, or None."""
        return self._embedder.probe()

    def probe_vector(self) -> str | None:
        """Try the index's vector engine; returns why it failed, or None."""
        try:
            with self._index.snapshot() as snapshot:
                if snapshot is None:
                    return "nothing is indexed yet"
                return self._vectors.for_reading(snapshot.db, snapshot.generation, "chunks")[1]
        except Exception as error:
            return error_text(error)

    def close(self) -> None:
        """Release a reference; the last one stops watching and syncing, and closes the files."""
        with self._lock:
            self._users -= 1
            if self._closed or self._users > 0:
                return
            self._closed = True
        self._freshness.close()
        self._embedder.close()
        self._index.close()


def _is_private(session: Session | None) -> bool:
    return session is None or session.is_private
