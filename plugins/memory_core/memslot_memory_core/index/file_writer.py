"""Writes, reads back and removes one file's rows in a generation: chunks, words and vectors in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import apsw

from memslot_memory_core.index import keywords
from memslot_memory_core.index.erasure import record_removed
from memslot_memory_core.index.generation import Tables
from memslot_memory_core.index.part_vectors import PartRows, part_hash


@dataclass(frozen=True)
class Piece:
    """A chunk of a file, or a user's line in a transcript (which starts and ends on that line)."""

    start_line: int
    end_line: int
    text: str
    hash: bytes
    time: float | None = None
    has_parts: bool = False
    """Whether its parts are searched too; in transcripts the user lines are instead."""

    @cached_property
    def parts(self) -> Mapping[bytes, str]:
        """The texts of its parts by hash; empty if it is a single part."""
        if not self.has_parts:
            return {}
        from memslot.retrieval import parts_of

        return {part_hash(part): part for part in parts_of(self.text)}


@dataclass(frozen=True)
class PreparedFile:
    """A file ready for the index; rows before `from_line` are kept."""

    source: str
    path: str
    stamp: str
    hash: str
    size: int
    mtime: float
    private: bool
    chunks: Sequence[Piece]
    turns: Sequence[Piece] = ()
    from_line: int = 1
    resume: str | None = None
    remark: str | None = None


class VectorRows(Protocol):
    """A vector table that follows the chunks; used inside the caller's transaction."""

    def add(self, db: apsw.Connection, rows: Sequence[tuple[int, bytes]]) -> None: ...

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None: ...


@dataclass(frozen=True)
class Engines:
    """A generation's vector tables for chunks, turns and parts; None if there is no table."""

    chunks: VectorRows | None = None
    turns: VectorRows | None = None
    parts: PartRows | None = None


def write_file(
    db: apsw.Connection, tables: Tables, engines: Engines, prepared: PreparedFile, vectors: Mapping[bytes, int]
) -> None:
    """Replace a file's rows, keeping those with unchanged text; inside a transaction.

    `vectors` maps text hashes to embedding ids; other texts get their vector when the file is written again.
    """
    key = (prepared.source, prepared.path)
    known = db.execute(f"SELECT id FROM {tables.files} WHERE source = ? AND path = ?", key).get
    file_id = _write_file_row(db, tables, prepared, known)
    # A new file has no rows to look up, and a first index is all new files.
    from_line = None if known is None else prepared.from_line
    _Rows(db, tables, "chunks", engines.chunks, engines.parts).replace(file_id, prepared.chunks, from_line, vectors)
    _Rows(db, tables, "turns", engines.turns).replace(file_id, prepared.turns, from_line, vectors)
    count_change(db, tables.number)


def read_back(db: apsw.Connection, tables: Tables, path: str) -> PreparedFile | None:
    """A note as it was written; None if it is not indexed."""
    columns = "id, stamp, hash, size, mtime, private, remark"
    row = db.execute(f"SELECT {columns} FROM {tables.files} WHERE source = 'memory' AND path = ?", (path,)).get
    if row is None:
        return None
    number, stamp, content_hash, size, mtime, private, remark = row
    chunks = db.execute(
        f"SELECT start_line, end_line, text, hash, time FROM {tables.chunks} WHERE file_id = ? ORDER BY id", (number,)
    )
    return PreparedFile(
        source="memory",
        path=path,
        stamp=stamp,
        hash=content_hash,
        size=size,
        mtime=mtime,
        private=bool(private),
        chunks=[Piece(start, end, text, digest, time, True) for start, end, text, digest, time in chunks],
        remark=remark,
    )


def touch_file(db: apsw.Connection, tables: Tables, source: str, path: str, stamp: str) -> None:
    """Update the stamp of an unchanged file; inside a transaction."""
    db.execute(f"UPDATE {tables.files} SET stamp = ? WHERE source = ? AND path = ?", (stamp, source, path))


def remove_file(db: apsw.Connection, tables: Tables, engines: Engines, source: str, path: str) -> None:
    """Remove a file and all its rows; inside a transaction."""
    find = f"SELECT id FROM {tables.files} WHERE source = ? AND path = ?"
    file_id = db.execute(find, (source, path)).get
    if file_id is None:
        return
    _Rows(db, tables, "chunks", engines.chunks, engines.parts).replace(file_id, (), 1, {})
    _Rows(db, tables, "turns", engines.turns).replace(file_id, (), 1, {})
    db.execute(f"DELETE FROM {tables.files} WHERE id = ?", (file_id,))
    db.execute("UPDATE generations SET files = files - 1 WHERE id = ?", (tables.number,))
    count_change(db, tables.number)


def count_change(db: apsw.Connection, generation: int) -> None:
    """Increment the change counter, which invalidates readers' caches."""
    db.execute("UPDATE generations SET changes = changes + 1 WHERE id = ?", (generation,))


def _write_file_row(db: apsw.Connection, tables: Tables, prepared: PreparedFile, known: int | None) -> int:
    values = (
        prepared.stamp,
        prepared.hash,
        prepared.size,
        prepared.mtime,
        prepared.private,
        prepared.resume,
        prepared.remark,
    )
    if known is None:
        db.execute(
            f"INSERT INTO {tables.files} (stamp, hash, size, mtime, private, resume, remark, source, path) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, prepared.source, prepared.path),
        )
        db.execute("UPDATE generations SET files = files + 1 WHERE id = ?", (tables.number,))
        return db.last_insert_rowid()
    db.execute(
        f"UPDATE {tables.files} SET stamp = ?, hash = ?, size = ?, mtime = ?, private = ?, resume = ?, remark = ? "
        "WHERE id = ?",
        (*values, known),
    )
    return known


class _Rows:
    """The chunks or the turns of a generation, with their words and their vectors."""

    def __init__(
        self,
        db: apsw.Connection,
        tables: Tables,
        kind: str,
        engine: VectorRows | None,
        parts: PartRows | None = None,
    ) -> None:
        self._db = db
        self._number = tables.number
        self._parts = parts
        self._engine = engine
        self._is_chunks = kind == "chunks"
        self._table = tables.chunks if self._is_chunks else tables.turns
        self._words = tables.words if self._is_chunks else tables.turn_words
        self._counter, self._vector_counter = ("chunks", "vectors") if self._is_chunks else ("turns", "turn_vectors")

    def replace(
        self, file_id: int, pieces: Sequence[Piece], from_line: int | None, vectors: Mapping[bytes, int]
    ) -> None:
        """Replace a file's rows from a line on (None: a new file), keeping rows with the same text."""
        old = {} if from_line is None else self._old_rows(file_id, from_line)
        new: list[Piece] = []
        kept: list[tuple[_ExistingRow, Piece]] = []
        for piece in pieces:
            same = old.get(piece.hash)
            if same:
                kept.append((same.pop(), piece))
            else:
                new.append(piece)
        self._remove([row for rows in old.values() for row in rows])
        for row, piece in kept:
            self._move(row, piece)
        self._complete(kept, vectors)
        self._insert(file_id, new, vectors)

    def _complete(self, kept: Sequence[tuple[_ExistingRow, Piece]], vectors: Mapping[bytes, int]) -> None:
        """Add the vectors that have come since these rows were written."""
        came = [
            (row.number, vectors[piece.hash]) for row, piece in kept if row.embedding is None and piece.hash in vectors
        ]
        if came:
            self._db.executemany(f"UPDATE {self._table} SET embedding_id = ?2 WHERE id = ?1", came)
            self._count(0, self._add_vectors(came))
        if self._parts is not None and kept:
            waiting = self._parts.waiting([row.number for row, _ in kept])
            complete = [
                (row.number, piece.parts)
                for row, piece in kept
                if row.number in waiting and self._parts.lacking(piece.parts) < waiting[row.number]
            ]
            self._parts.remove([number for number, _ in complete])
            self._parts.add(complete)

    def _old_rows(self, file_id: int, from_line: int) -> dict[bytes, list[_ExistingRow]]:
        line = "start_line" if self._is_chunks else "line"
        rows: dict[bytes, list[_ExistingRow]] = {}
        for number, text_hash, start, end, embedding in self._db.execute(
            f"SELECT id, hash, {line}, {'end_line' if self._is_chunks else 'line'}, embedding_id FROM {self._table} "
            f"WHERE file_id = ? AND {line} >= ? ORDER BY id DESC",
            (file_id, from_line),
        ):
            rows.setdefault(text_hash, []).append(_ExistingRow(number, start, end, embedding))
        return rows

    def _move(self, row: _ExistingRow, piece: Piece) -> None:
        """Update the lines of unchanged text; words and vector stay."""
        if (row.start, row.end) == (piece.start_line, piece.end_line):
            return
        if self._is_chunks:
            self._db.execute(
                f"UPDATE {self._table} SET start_line = ?, end_line = ?, time = ? WHERE id = ?",
                (piece.start_line, piece.end_line, piece.time, row.number),
            )
        else:
            self._db.execute(f"UPDATE {self._table} SET line = ? WHERE id = ?", (piece.start_line, row.number))

    def _remove(self, rows: Sequence[_ExistingRow]) -> None:
        if not rows:
            return
        numbers = [row.number for row in rows]
        embedded = self._with_direction([row.embedding for row in rows if row.embedding is not None])
        self._db.executemany(f"DELETE FROM {self._table} WHERE id = ?", [(number,) for number in numbers])
        keywords.remove(self._db, self._words, numbers)
        record_removed(self._db)
        gone = [row.number for row in rows if row.embedding in embedded]
        if gone and self._engine is not None:
            self._engine.remove(self._db, gone)
        if self._parts is not None:
            self._parts.remove(numbers)
        self._count(-len(rows), -len(gone))

    def _insert(self, file_id: int, pieces: Sequence[Piece], vectors: Mapping[bytes, int]) -> None:
        if not pieces:
            return
        first = 1 + int(self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (self._table,)).get or 0)
        numbers = range(first, first + len(pieces))
        embeddings = [vectors.get(piece.hash) for piece in pieces]
        if self._is_chunks:
            self._db.executemany(
                f"INSERT INTO {self._table} (id, file_id, start_line, end_line, text, hash, time, embedding_id) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (number, file_id, piece.start_line, piece.end_line, piece.text, piece.hash, piece.time, embedding)
                    for number, piece, embedding in zip(numbers, pieces, embeddings, strict=True)
                ],
            )
        else:
            self._db.executemany(
                f"INSERT INTO {self._table} (id, file_id, line, hash, embedding_id) VALUES (?, ?, ?, ?, ?)",
                [
                    (number, file_id, piece.start_line, piece.hash, embedding)
                    for number, piece, embedding in zip(numbers, pieces, embeddings, strict=True)
                ],
            )
        keywords.add(self._db, self._words, [(n, piece.text) for n, piece in zip(numbers, pieces, strict=True)])
        added = self._add_vectors([(n, e) for n, e in zip(numbers, embeddings, strict=True) if e is not None])
        if self._parts is not None:
            self._parts.add([(number, piece.parts) for number, piece in zip(numbers, pieces, strict=True)])
        self._count(len(pieces), added)

    def _add_vectors(self, embeddings: Sequence[tuple[int, int]]) -> int:
        """Add the vectors of rows to the vector table, given row and embedding ids; returns how many are nonempty."""
        blobs = self._with_direction([embedding for _, embedding in embeddings])
        rows = [(number, blobs[embedding]) for number, embedding in embeddings if embedding in blobs]
        if rows and self._engine is not None:
            self._engine.add(self._db, rows)
        return len(rows)

    def _with_direction(self, embeddings: Sequence[int]) -> dict[int, bytes]:
        """The vectors of these embeddings, without empty ones."""
        found: dict[int, bytes] = {}
        for embedding in set(embeddings):
            blob = self._db.execute("SELECT vector FROM embeddings WHERE id = ?", (embedding,)).get
            if blob:
                found[embedding] = blob
        return found

    def _count(self, rows: int, vectors: int) -> None:
        self._db.execute(
            f"UPDATE generations SET {self._counter} = {self._counter} + ?, "
            f"{self._vector_counter} = {self._vector_counter} + ? WHERE id = ?",
            (rows, vectors, self._number),
        )


@dataclass(frozen=True)
class _ExistingRow:
    number: int
    start: int
    end: int
    embedding: int | None
