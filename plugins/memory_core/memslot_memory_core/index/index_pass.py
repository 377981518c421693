"""One indexing pass: changed files are read, embedded in batches across files, and written file by file."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.embedding_run import EmbeddingRun
from memslot_memory_core.index.embeddings import Embedder, EmbeddingStore
from memslot_memory_core.index.file_writer import (
    Engines,
    PreparedFile,
    read_back,
    remove_file,
    touch_file,
    write_file,
)
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.memory_sources import IndexedFile, Sources, Unchanged
from memslot_memory_core.index.part_vectors import PartRows
from memslot_memory_core.index.report import DiskScan, Progress, SyncProgress, SyncReport
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.vector_tables import VectorTables

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

    from memslot_memory_core.sources.files import Discovery, SourceFile

_Name = tuple[str, str]
"""A file's source and path."""
_named, _stamped = itemgetter(0, 1), itemgetter(0, 1, 3)
"""Getters on a SourceFile: its name, and its name with its stamp."""
_CHUNKS_AT_ONCE = 2048
"""Batch size without an embedder: every transaction adds an FTS5 segment, which has to be merged later."""
_CHARACTERS_AT_ONCE = 4_000_000
_WORTH_WORDS_FIRST = 100_000
"""Bytes of changed files above which keywords are written before anything is embedded."""
_SECONDS_PER_TRANSACTION = 0.5
"""Write whole files per transaction until it has taken this long."""


@dataclass(frozen=True)
class Limits:
    """When to stop, and which transcripts to skip."""

    cancelled: Callable[[], bool]
    deadline: float | None
    every_growth: bool
    retry: bool = False
    """Retry a provider whose vectors had the wrong size."""

    @property
    def reached(self) -> bool:
        return self.cancelled() or (self.deadline is not None and time.monotonic() > self.deadline)


@dataclass
class _Counts:
    indexed: int = 0
    removed: int = 0
    unchanged: int = 0
    complete: bool = True
    problems: list[str] = field(default_factory=list)


class IndexPass:
    """One pass over the sources for one generation; `near` limits it to these paths."""

    def __init__(
        self,
        db: apsw.Connection,
        target: Generation,
        sources: Sources,
        embedder: Embedder,
        vectors: VectorTables,
        progress: Progress | None,
        limits: Limits,
        store: EmbeddingStore,
        near: Collection[str] | None = None,
    ) -> None:
        self._db = db
        self._tables = target.tables
        self._target = target
        self._sources = sources
        self._identity = Identity.from_json(target.identity)
        usable = embedder if self._fits(embedder.pipeline) else None
        self._run = EmbeddingRun(db, self._identity, usable, store, lambda: limits.reached, retry=limits.retry)
        self._vectors = vectors
        self._engines = Engines()
        self._progress = progress
        self._limits = limits
        self._near = near
        self._tally = _Counts()

    def _fits(self, pipeline: EmbeddingPipeline | None) -> bool:
        """Whether the pipeline's vectors belong in this generation."""
        return pipeline is not None and self._sources.identity_of(pipeline).is_comparable(self._identity)

    def run(self) -> SyncReport:
        tally = self._tally
        waiting = self._waiting_files()
        scanned_at = time.time()
        discovery = self._discover(waiting)
        tally.problems += discovery.problems
        due, gone = self._compare(discovery, waiting)
        tally.unchanged = len(discovery.files) - len(due)
        self._open_tables()
        self._remove(gone, discovery.unread)
        if self._is_large(due):
            due = self._write_words(due, waiting)
            waiting = {_named(file) for file in due}
            self._prepare_tables()
        if self._target.vectors:
            self._ensure_background()  # absent in an index of an older memslot
        done = 0
        for group in self._groups(due, waiting):
            self._write(group.prepared)
            tally.indexed += len({(part.source, part.path) for part in group.prepared})
            done += group.files
            self._report_progress(done, len(due))
            if self._limits.reached and done < len(due):
                tally.complete = False
                break
        stopped = self._run.stopped
        if stopped is not None and self._lost_vectors():
            # Chunks without a vector are found by keyword meanwhile; a new generation waits for its vectors.
            tally.complete = tally.complete and stopped == "outage" and self._target.state != "building"
        is_whole = discovery.within is None
        return SyncReport(
            indexed=tally.indexed,
            removed=tally.removed,
            unchanged=tally.unchanged if is_whole else self._count() - tally.indexed,
            embedded=self._run.embedded,
            complete=tally.complete,
            problems=list(dict.fromkeys([*tally.problems, *self._run.problems])),
            out_of_time=stopped == "time",
            scanned_at=scanned_at,
            scan=DiskScan(discovery.skipped_links, discovery.doubles, discovery.problems) if is_whole else None,
        )

    def _report_progress(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(SyncProgress(done, total))

    # What is due

    def _discover(self, waiting: set[_Name]) -> Discovery:
        if self._near is None:
            return self._sources.discover()
        return self._sources.discover([*self._near, *(self._sources.path_on_disk(*name) for name in waiting)])

    def _compare(self, discovery: Discovery, waiting: set[_Name]) -> tuple[Sequence[SourceFile], set[_Name]]:
        """The files to read, in order, and the names of removed ones."""
        # Set operations, and no object per unchanged row: nearly all rows are unchanged.
        there = set(self._rows(discovery.within))
        found = dict(zip(map(_stamped, discovery.files), discovery.files, strict=True))
        new = found.keys() - there
        if not new and not waiting and len(there) == len(found):
            return [], set()
        changed = [file for key, file in found.items() if key in new or key[:2] in waiting]
        due = [file for file in changed if self._is_due(file, waiting)]
        return due, {key[:2] for key in there - found.keys()} - {_named(file) for file in changed}

    def _rows(self, within: Sequence[_Name] | None) -> Iterable[tuple[str, str, str]]:
        """Source, path and stamp of all indexed files, or of those at or below some paths."""
        every = f"SELECT source, path, stamp FROM {self._tables.files}"
        if within is None:
            return self._db.execute(every)
        # Prefix "a/" as a range: from "a/" to before "a0", as "0" follows "/".
        some = f"{every} WHERE source = ?1 AND (path = ?2 OR (path >= ?2 || '/' AND path < ?2 || '0'))"
        return [row for name in within for row in self._db.execute(some, name)]

    def _count(self) -> int:
        return int(self._db.execute("SELECT files FROM generations WHERE id = ?", (self._target.number,)).get)

    def _known_file(self, file: SourceFile) -> IndexedFile | None:
        columns = "stamp, hash, resume"
        row = self._db.execute(
            f"SELECT {columns} FROM {self._tables.files} WHERE source = ? AND path = ?", _named(file)
        ).get
        return None if row is None else IndexedFile(*row)

    def _waiting_files(self) -> set[_Name]:
        """Files with chunks that lack a vector, if there is a pipeline to embed them."""
        if self._run.embedder is None:
            return set()
        names = f"SELECT source, path FROM {self._tables.files} WHERE id IN "
        waiting = "(SELECT file_id FROM {} WHERE embedding_id IS NULL)"
        tables = (self._tables.chunks, self._tables.turns)
        found = {name for table in tables for name in self._db.execute(names + waiting.format(table))}
        if self._identity.parts:
            chunks = f"SELECT chunk_id FROM {self._tables.part_bits} WHERE waiting > 0"
            files = f"(SELECT file_id FROM {self._tables.chunks} WHERE id IN ({chunks}))"
            found.update(self._db.execute(names + files))
        return found

    def _is_due(self, file: SourceFile, waiting: set[_Name]) -> bool:
        if self._limits.every_growth or _named(file) in waiting:
            return True
        row = self._known_file(file)
        return row is None or self._sources.grew_enough(file, row)

    def _remove(self, gone: Iterable[tuple[str, str]], unread: Sequence[str]) -> None:
        for source, path in sorted(gone):
            # Files in an unreadable folder, as on an unmounted drive, are not known to be gone.
            if any(path.startswith(folder) for folder in unread):
                continue
            with transaction(self._db):
                remove_file(self._db, self._tables, self._engines, source, path)
            self._tally.removed += 1

    # Reading

    def _groups(self, due: Sequence[SourceFile], waiting: set[_Name]) -> Iterator[_Group]:
        """Changed files in groups that fill provider requests, yet lose little in a crash."""
        group = _Group(self._chunks_at_once)
        for file in due:
            try:
                prepared = self._prepare(file, is_waiting=_named(file) in waiting)
            except OSError as error:
                self._tally.problems.append(f"{file.path} cannot be read: {error.strerror or error}")
                prepared = None
            group.files += 1
            if isinstance(prepared, Unchanged):
                self._tally.unchanged += 1
                with transaction(self._db):
                    touch_file(self._db, self._tables, file.source, file.path, prepared.stamp)
            elif prepared is not None:
                for part in prepared:
                    group.add(part)
                    if part.remark:
                        self._tally.problems.append(f"{file.path}: {part.remark}")
            if group.is_full:
                yield group
                group = _Group(self._chunks_at_once)
        if group.files:
            yield group

    @property
    def _chunks_at_once(self) -> int:
        return self._run.embedder.batch_size if self._run.embedder is not None else _CHUNKS_AT_ONCE

    def _prepare(self, file: SourceFile, *, is_waiting: bool) -> Sequence[PreparedFile] | Unchanged | None:
        """The file's new content; of a file that waits for vectors, all of its content."""
        row = self._known_file(file)
        if is_waiting and row is not None and row.stamp == file.stamp and file.source == "memory":
            written = read_back(self._db, self._tables, file.path)  # the same as on disk, and redacted already
            return None if written is None else [written]
        return self._sources.prepare(file, row, from_start=is_waiting)

    # Writing

    def _open_tables(self) -> None:
        engines = self._vectors.for_writing(self._db, self._target)
        parts = PartRows(self._db, self._tables) if self._identity.parts else None
        self._engines = replace(engines, parts=parts)

    def _prepare_tables(self) -> None:
        """While there are no vectors, choose the engine that fits all that are to come."""
        now = generations.by_number(self._db, self._target.number)
        if now is not None and not now.vectors and not now.turn_vectors:
            self._vectors.maintain(self._db, now, changed=False)
            self._target = generations.by_number(self._db, now.number) or now
            self._open_tables()

    def _is_large(self, due: Sequence[SourceFile]) -> bool:
        """Whether keywords should be written before embedding, which will take long."""
        is_searched = self._run.embedder is not None and self._target.state == "live"
        return is_searched and sum(file.size for file in due) >= _WORTH_WORDS_FIRST

    def _write_words(self, due: Sequence[SourceFile], waiting: set[_Name]) -> Sequence[SourceFile]:
        """Index files by keywords and cached vectors; returns those that need new vectors."""
        written: set[_Name] = set()
        with self._run.from_cache_only():
            done = 0
            for group in self._groups(due, waiting):
                self._write(group.prepared)
                written.update((part.source, part.path) for part in group.prepared)
                done += group.files
                if self._limits.reached and done < len(due):
                    self._tally.complete = False
                    break
        return [file for file in due if _named(file) in written]

    def _write(self, prepared: Sequence[PreparedFile]) -> None:
        self._ensure_background()
        if self._engines.parts is not None:
            self._engines.parts.vectors = self._run.embed_parts([piece for each in prepared for piece in each.chunks])
        vectors = self._run.embed([piece for each in prepared for piece in (*each.chunks, *each.turns)])
        left = list(prepared)
        while left:
            started = time.monotonic()
            with transaction(self._db):
                while left and time.monotonic() - started < _SECONDS_PER_TRANSACTION:
                    each = left.pop(0)
                    write_file(self._db, self._tables, self._engines, each, vectors)

    def _ensure_background(self) -> None:
        background = self._run.background()
        parts = self._engines.parts
        if background is not None and parts is not None and parts.center is None:
            parts.center = background.statements.mean(axis=0)

    def _lost_vectors(self) -> bool:
        """Whether any chunk or part lacks its vector."""
        if self._identity.space is None:
            return False
        waiting = [f"SELECT 1 FROM {self._tables.chunks} WHERE embedding_id IS NULL LIMIT 1"]
        if self._identity.parts:
            waiting.append(f"SELECT 1 FROM {self._tables.part_bits} WHERE waiting > 0 LIMIT 1")
        return any(self._db.execute(each).get is not None for each in waiting)


@dataclass
class _Group:
    most_chunks: int
    files: int = 0
    characters: int = 0
    chunks: int = 0
    prepared: list[PreparedFile] = field(default_factory=list)

    def add(self, prepared: PreparedFile) -> None:
        self.prepared.append(prepared)
        self.chunks += len(prepared.chunks)
        self.characters += sum(len(chunk.text) for chunk in prepared.chunks)

    @property
    def is_full(self) -> bool:
        if self.most_chunks > _CHUNKS_AT_ONCE:
            return self.chunks >= self.most_chunks
        return self.chunks >= self.most_chunks or self.characters >= _CHARACTERS_AT_ONCE or self.files >= 2048
