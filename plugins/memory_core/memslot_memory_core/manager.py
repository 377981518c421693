"""The memory of one agent: search it, read it, keep it fresh, and say how it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from memslot import (
    MemoryPage,
    MemoryReceipt,
    MemorySearch,
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
from memslot_memory_core.location import Place
from memslot_memory_core.search_output import plain_error, unavailable, unsearchable

if TYPE_CHECKING:
    from memslot_memory_core.embedder import MakePipeline
    from memslot_memory_core.health import Health
    from memslot_memory_core.search.searcher import Searcher


class MemoryManager:
    """Any number of threads may use it, and other processes may use the same index."""

    def __init__(self, place: Place, settings: MemorySearch, make_pipeline: MakePipeline) -> None:
        self.place = place
        self.settings = settings
        vector = settings.store.vector
        self._index = IndexFile(place.index_file, place.owner, older=self._take_over_older)
        self._embedder = EmbedderChoice(
            make_pipeline, enabled=vector.enabled, batch=batch_api(settings, place.index_file), parts=vector.parts
        )
        self._sources = Sources(
            settings,
            place.workspace,
            place.sessions_dir,
            with_unmarked=place.has_unmarked,
            embeds_parts=self._embedder.embeds_parts,
        )
        self._vectors = VectorTables(vector.engine, vector.extension_path)
        self._freshness = IndexFreshness(place, settings, self._index, self._sources, self._embedder, self._vectors)
        self._lock = threading.Lock()
        self._users = 1
        self._closed = False

    def lend(self) -> bool:
        """Let one more use it: it is closed when the last of them has closed it. False where it is closed already."""
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
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome:
        """What fits a query, best first. It never waits for a sync, except for an index that was never built.

        Where others listen in (a session that is not direct) what is about the person stays out. With
        `fresh_seconds` it first takes up changes on disk for so long; 0 means the index as it is. `snippet_chars` is
        the length of a snippet, if not that of the settings. Raises a MemslotError for an empty query; whatever else
        goes wrong, the outcome says so.
        """
        private = _is_private(session)
        if not query.replace("\0", " ").strip():
            raise MemslotError("the query is empty: say in a few words what to look for")
        if not self.settings.enabled:
            return unavailable("memory search is switched off", "set memorySearch.enabled to true")
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
                return unsearchable(error)
            return self._search_after_repair(find)
        except Exception as error:
            return unsearchable(error)

    def _take_over_older(self) -> None:
        older = self.place.older_index
        if older is not None:
            from memslot_memory_core.index.owner import take_over

            take_over(older, self.place.index_file, self.place.agent_id, self._sources.stamps)

    def _search_after_repair(self, find: Callable[..., MemorySearchOutcome]) -> MemorySearchOutcome:
        """The index file was damaged: the notes are not, so it is built again and asked once more."""
        try:
            self._freshness.rebuild_damaged()
            return find(stale=self._freshness.staleness() or "the index was damaged and is built again from the notes")
        except Exception as error:
            return unavailable(
                f"the index is damaged and could not be built again: {plain_error(error)}",
                "run: memslot memory index --force",
            )

    # Capabilities

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """Lines of an indexed file. One that is missing, or not for this chat, reads as empty.

        Raises a NotInMemoryError for any other path.
        """
        if not self.settings.enabled:
            return MemoryText(path, "", start_line)
        from memslot_memory_core.note_reader import read_part

        return read_part(self._sources, path, start_line, max_lines, private=_is_private(session))

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

        path = append_note(self.place.workspace, text, "daily")
        self.request_sync()
        return MemoryReceipt(path)

    def refresh(self) -> None:
        """Take up what changed on disk."""
        if self.settings.enabled:
            self.sync()

    # Keeping it fresh

    def sync(self, **options: Any) -> SyncReport:
        """Make the index equal to what is on disk, now; see IndexFreshness.sync."""
        return self._freshness.sync(**options)

    def request_sync(self) -> None:
        """Ask for a sync in the background, soon; a search that comes before it is done waits for it a moment."""
        self._freshness.request()

    def last_sync(self) -> SyncReport | None:
        """What the last sync of this process did."""
        return self._freshness.last

    def start_session(self) -> None:
        """A conversation begins: look for changes, and watch for more if the settings ask for it."""
        if self.settings.enabled:
            self._freshness.start_session()

    def start_watching(self) -> str:
        """Watch the folders from now on; calling it twice is fine."""
        self._freshness.start_watching()
        return "Watching for changes"

    # How it is

    def status(self, *, deep: bool = False) -> MemoryStatus:
        """Counts, freshness and problems; `deep` also reads the whole index and tries the provider."""
        from memslot_memory_core.health import bytes_of, may_be_written

        pipeline, selection = self._embedder.choose()
        problems: list[str] = []
        if not self.place.workspace.is_dir():
            problems.append(f"there is no workspace {self.place.workspace}; run: memslot init")
        health = self._health(deep, problems)
        problems += [problem for problem in health.problems if problem not in problems]
        if self._freshness.failure:
            problems.append(self._freshness.failure)
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
            "watching": self._freshness.is_watching,
            **health.details,
        }
        if not may_be_written(self.place.index_file):
            problems.append(
                f"the index {self.place.index_file} cannot be written, so no change comes in; check its permissions"
            )
        if self._freshness.last is not None:
            details["lastSync"] = self._freshness.last.to_json()
        if deep:
            details["probes"] = {"embedding": self.probe_embedding(), "vector": self.probe_vector()}
        return MemoryStatus(backend="builtin", counts=health.counts, problems=problems, details=details)

    def _health(self, deep: bool, problems: list[str]) -> Health:
        from memslot_memory_core.health import Health, count_changed, look_over

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
        self._freshness.close()
        self._embedder.close()
        self._index.close()


def _is_private(session: Session | None) -> bool:
    return session is None or session.is_private
