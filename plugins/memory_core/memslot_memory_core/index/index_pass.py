"""One indexing pass: changed files are read, embedded in batches across files, and written file by file."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, TypeVar

import apsw
from memslot import EmbeddingCancelledError, ProviderError, VectorSizeError

from memslot_memory_core.index.embeddings import (
    Embedder,
    EmbeddingStore,
    RefusedTextError,
    background_of,
    compact_space,
    embed_background,
    embed_missing,
    record_use,
    space_number,
    vector_ids,
)
from memslot_memory_core.index.file_writer import Engines, Piece, PreparedFile, remove_file, touch_file, write_file
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import forget_wrong_size, record_wrong_size, wrong_size
from memslot_memory_core.index.memory_sources import IndexedFile, Sources, Unchanged
from memslot_memory_core.index.part_vectors import PartRows
from memslot_memory_core.index.report import DiskScan, Progress, SyncProgress, SyncReport
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.vector_tables import VectorTables

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

    from memslot_memory_core.sources.files import Discovery, SourceFile

_Made = TypeVar("_Made")
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
    anew: bool = False
    """Retry a provider whose vectors had the wrong size."""

    @property
    def reached(self) -> bool:
        return self.cancelled() or (self.deadline is not None and time.monotonic() > self.deadline)


@dataclass
class _Tally:
    indexed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    chunks: int = 0
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
        self._store = store
        self._tables = target.tables
        self._target = target
        self._sources = sources
        self._identity = Identity.from_json(target.identity)
        fits = self._fits(embedder.pipeline)
        self._refusal = wrong_size(db, self._identity) if fits and not limits.anew else None
        """Why a provider with vectors of the wrong size is not called again."""
        self._embedder = embedder if fits and self._refusal is None else None
        self._vectors = vectors
        self._engines = Engines()
        self._progress = progress
        self._limits = limits
        self._near = near
        self._tally = _Tally()
        self._has_background = False
        self._stopped: Literal["time", "outage"] | None = "outage" if self._refusal else None
        """Why embedding stopped early, if it did."""

    def _fits(self, pipeline: EmbeddingPipeline | None) -> bool:
        """Whether the pipeline's vectors belong in this generation."""
        return pipeline is not None and self._sources.identity_of(pipeline).is_comparable(self._identity)

    def run(self) -> SyncReport:
        tally = self._tally
        waiting = self._waiting_files()
        scanned_at = time.time()
        discovery = self._discover(waiting)
        tally.problems += discovery.problems
        if self._refusal is not None:
            tally.problems.append(f"embedding stopped: {self._refusal}")
        due, gone = self._compare(discovery, waiting)
        tally.unchanged = len(discovery.files) - len(due)
        self._engines = self._vectors.for_writing(self._db, self._target)
        if self._identity.parts:
            self._engines = replace(self._engines, parts=PartRows(self._db, self._tables))
        self._remove(gone, discovery.unread)
        if self._is_large(due):
            due = self._write_words(due, waiting)
            waiting = {_named(file) for file in due}
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
        if self._stopped is not None and self._lost_vectors():
            # Chunks without a vector are found by keyword meanwhile; a new generation waits for its vectors.
            tally.complete = tally.complete and self._stopped == "outage" and self._target.state != "building"
        is_whole = discovery.within is None
        return SyncReport(
            indexed=tally.indexed,
            removed=tally.removed,
            unchanged=tally.unchanged if is_whole else self._count() - tally.indexed,
            embedded=tally.embedded,
            complete=tally.complete,
            problems=list(dict.fromkeys(tally.problems)),
            out_of_time=self._stopped == "time",
            scanned_at=scanned_at,
            scan=DiskScan(discovery.skipped_links, discovery.doubles, discovery.problems) if is_whole else None,
        )

    def _report_progress(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(SyncProgress(done, total, self._tally.chunks))

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
        columns = "id, source, path, stamp, hash, resume"
        row = self._db.execute(
            f"SELECT {columns} FROM {self._tables.files} WHERE source = ? AND path = ?", _named(file)
        ).get
        return None if row is None else IndexedFile(*row)

    def _waiting_files(self) -> set[_Name]:
        """Files with chunks that lack a vector, if there is a pipeline to embed them."""
        if self._embedder is None:
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
        group = _Group(self._embedder.batch_size if self._embedder else _CHUNKS_AT_ONCE)
        for file in due:
            row = self._known_file(file)
            anew = row is not None and _named(file) in waiting
            try:
                prepared = self._sources.prepare(file, row, anew=anew)
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
                group = _Group(self._embedder.batch_size if self._embedder else _CHUNKS_AT_ONCE)
        if group.files:
            yield group

    # Writing

    def _is_large(self, due: Sequence[SourceFile]) -> bool:
        """Whether keywords should be written before embedding, which will take long."""
        is_searched = self._embedder is not None and self._target.state == "live"
        return is_searched and sum(file.size for file in due) >= _WORTH_WORDS_FIRST

    def _write_words(self, due: Sequence[SourceFile], waiting: set[_Name]) -> Sequence[SourceFile]:
        """Index files by keywords and cached vectors; returns those that need new vectors."""
        written: set[_Name] = set()
        embedder, self._embedder = self._embedder, None
        try:
            done = 0
            for group in self._groups(due, waiting):
                self._write(group.prepared)
                written.update((part.source, part.path) for part in group.prepared)
                done += group.files
                if self._limits.reached and done < len(due):
                    self._tally.complete = False
                    break
        finally:
            self._embedder = embedder
        self._tally.chunks = 0  # counted once they have their vectors
        return [file for file in due if _named(file) in written]

    def _write(self, prepared: Sequence[PreparedFile]) -> None:
        self._ensure_background()
        if self._engines.parts is not None:
            self._engines.parts.vectors = self._embed_parts([piece for each in prepared for piece in each.chunks])
        vectors = self._embed([piece for each in prepared for piece in (*each.chunks, *each.turns)])
        left = list(prepared)
        while left:
            started = time.monotonic()
            with transaction(self._db):
                while left and time.monotonic() - started < _SECONDS_PER_TRANSACTION:
                    each = left.pop(0)
                    write_file(self._db, self._tables, self._engines, each, vectors)
                    self._tally.chunks += len(each.chunks)

    def _embed(self, pieces: Sequence[Piece]) -> dict[bytes, int]:
        """Embedding ids of these texts by hash, cached or new."""
        if self._identity.space is None:
            return {}
        return self._embed_texts({piece.hash: piece.text for piece in pieces}, self._identity.space)

    def _embed_parts(self, pieces: Sequence[Piece]) -> dict[bytes, int]:
        """Embedding ids of these texts' parts by hash."""
        if self._identity.space is None:
            return {}
        texts = {part: text for piece in pieces for part, text in piece.parts.items()}
        with self._store.compact():
            return self._embed_texts(texts, compact_space(self._identity.space))

    def _ensure_background(self) -> None:
        """Embed the background sentences, which calibrate scores and center the bits of parts."""
        if self._has_background or self._identity.space is None:
            return
        background = background_of(self._db, self._identity)
        if background is None and self._embedder is not None:
            background = self._try(
                partial(
                    embed_background,
                    self._embedder,
                    self._store,
                    self._db,
                    self._identity,
                    lambda: self._limits.reached,
                )
            )
        self._has_background = background is not None
        if background is not None and self._engines.parts is not None:
            self._engines.parts.center = background.statements.mean(axis=0)

    def _embed_texts(self, texts: Mapping[bytes, str], space_key: tuple[str, str, str]) -> dict[bytes, int]:
        if not texts:
            return {}
        with transaction(self._db):
            space = space_number(self._db, *space_key)
            found = vector_ids(self._db, space, list(texts))
            record_use(self._db, found.values())
        missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in found}
        if not missing or self._embedder is None:
            return found
        self._try(partial(self._make, self._embedder, space, missing))
        made = vector_ids(self._db, space, list(missing))
        self._tally.embedded += len(made)
        return {**found, **made}

    def _make(self, embedder: Embedder, space: int, missing: Mapping[bytes, str]) -> None:
        embed_missing(embedder, self._db, space, missing, lambda: self._limits.reached)
        forget_wrong_size(self._db)

    def _try(self, embed: Callable[[], _Made]) -> _Made | None:
        """Embed something; after a provider error embedding stops, and the rest is indexed by keywords."""
        try:
            return embed()
        except EmbeddingCancelledError:
            self._embedder, self._stopped = None, "time"
        except RefusedTextError as error:
            self._tally.problems.append(str(error))
        except ProviderError as error:
            if isinstance(error, VectorSizeError):
                record_wrong_size(self._db, self._identity, str(error))
            self._embedder, self._stopped = None, "outage"
            self._tally.problems.append(f"embedding stopped: {error}")
        return None

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
