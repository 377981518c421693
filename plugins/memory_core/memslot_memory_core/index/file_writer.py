"""Writes and removes one file's rows in a generation: chunks, words and vectors in one transaction."""

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

    `vectors` maps text hashes to embedding ids; other texts get their vector later.
    """
    key = (prepared.source, prepared.path)
    known = db.execute(f"SELECT id FROM {tables.files} WHERE source = ? AND path = ?", key).get
    file_id = _write_file_row(db, tables, prepared, known)
    # A new file has no rows to look up, and a first index is all new files.
    from_line = None if known is None else prepared.from_line
    _Rows(db, tables, "chunks", engines.chunks, engines.parts).replace(file_id, prepared.chunks, from_line, vectors)
    _Rows(db, tables, "turns", engines.turns).replace(file_id, prepared.turns, from_line, vectors)
    count_change(db, tables.number)


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
        incomplete: Mapping[int, int] = {}
        if self._parts is not None and old:
            incomplete = self._parts.waiting([row.number for rows in old.values() for row in rows])
        for piece in pieces:
            waiting = old.get(piece.hash)
            # Reinsert a row that now has its vector: readers find new rows by their id.
            if waiting and self._is_complete(waiting[-1], piece, vectors, incomplete):
                self._move(waiting.pop(), piece)
            else:
                new.append(piece)
        self._remove([row for rows in old.values() for row in rows])
        self._insert(file_id, new, vectors)

    def _is_complete(
        self, row: _ExistingRow, piece: Piece, vectors: Mapping[bytes, int], incomplete: Mapping[int, int]
    ) -> bool:
        """Whether a row has every vector available for it."""
        if row.embedding is None and piece.hash in vectors:
            return False
        return self._parts is None or self._parts.lacking(piece.parts) >= incomplete.get(row.number, 0)

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
        blobs = self._with_direction([embedding for embedding in embeddings if embedding is not None])
        rows = [(n, blobs[e]) for n, e in zip(numbers, embeddings, strict=True) if e is not None and e in blobs]
        if rows and self._engine is not None:
            self._engine.add(self._db, rows)
        if self._parts is not None:
            self._parts.add([(number, piece.parts) for number, piece in zip(numbers, pieces, strict=True)])
        self._count(len(pieces), len(rows))

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
