"""What a search is compared with: the reference's own statements, and the least that anybody could do.

Both are filled from the rows of a finished index, so that all search the same chunks and the same vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from memslot_memory_core.index.tokenizer import TOKENIZER, query_terms
from memslot_memory_core.index.vectors.extensions import load

CANDIDATES, RESULTS, SNIPPET = 24, 6, 700
"""The reference's own: six results, four candidates for each, the first 700 characters."""
POOL = 60
"""Candidates of memslot; the bare search finds as many in each leg."""


@dataclass(frozen=True)
class Row:
    """A chunk as the index holds it."""

    number: int
    path: str
    start_line: int
    end_line: int
    text: str
    vector: bytes


def rows_of(index: Path) -> Iterator[Row]:
    """The chunks of the live generation, by number."""
    db = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    live = db.execute("SELECT id FROM generations WHERE state = 'live'").get
    for row in db.execute(
        "SELECT c.id, f.path, c.start_line, c.end_line, c.text, e.vector "
        f"FROM chunks_{live} c JOIN files_{live} f ON f.id = c.file_id JOIN embeddings e ON e.id = c.embedding_id "
        "ORDER BY c.id"
    ):
        yield Row(*row)
    db.close()


class ReferenceFile:
    """A file with the reference's tables: text and vectors are in it twice, and ids are texts."""

    def __init__(self, file: Path, rows: Iterator[Row], dims: int) -> None:
        self.file = file
        self._db = _open(file)
        lack = load(self._db, "sqlite-vec")
        if lack is not None:
            raise SystemExit(f"the reference's statements need sqlite-vec: {lack}")
        self._db.execute(
            "CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT, source TEXT, start_line INTEGER, end_line INTEGER, "
            "hash TEXT, model TEXT, text TEXT, embedding TEXT, updated_at INTEGER);"
            "CREATE INDEX idx_chunks_path ON chunks (path);"
            "CREATE INDEX idx_chunks_source ON chunks (source);"
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[{dims}]);"
            "CREATE VIRTUAL TABLE chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED, source UNINDEXED, "
            "model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED)"
        )
        with self._db:
            for row in rows:
                self._add(row, dims)

    def _add(self, row: Row, dims: int) -> None:
        import struct
        from hashlib import sha256

        place = (row.path, "memory", row.start_line, row.end_line)
        number = sha256(f"{place}{row.number}".encode()).hexdigest()
        written = json.dumps(struct.unpack(f"<{dims}f", row.vector))
        self._db.execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, 'bench', ?, ?, 0)",
            (number, *place, number, row.text, written),
        )
        self._db.execute("INSERT INTO chunks_vec VALUES (?, ?)", (number, row.vector))
        self._db.execute(
            "INSERT INTO chunks_fts VALUES (?, ?, ?, ?, 'bench', ?, ?)", (row.text, number, *place[:2], *place[2:])
        )

    def search(self, query: str, vector: bytes) -> list[tuple[str, float, str]]:
        """Both statements, and the two lists merged at 0.7 and 0.3."""
        found: dict[str, list[Any]] = {}
        for number, path, start, end, text, distance in self._db.execute(
            "SELECT c.id, c.path, c.start_line, c.end_line, c.text, vec_distance_cosine(v.embedding, ?) AS dist "
            "FROM chunks_vec v JOIN chunks c ON c.id = v.id WHERE c.model = 'bench' ORDER BY dist ASC LIMIT ?",
            (vector, CANDIDATES),
        ):
            found[number] = [f"{path}#L{start}-L{end}", 1 - distance, 0.0, text[:SNIPPET]]
        words = " AND ".join(f'"{term.word}"' for term in query_terms(query).terms)
        for number, path, start, end, text, rank in self._db.execute(
            "SELECT id, path, start_line, end_line, text, bm25(chunks_fts) AS rank FROM chunks_fts "
            "WHERE chunks_fts MATCH ? AND model = 'bench' ORDER BY rank ASC LIMIT ?",
            (words, CANDIDATES),
        ):
            entry = found.setdefault(number, [f"{path}#L{start}-L{end}", 0.0, 0.0, text[:SNIPPET]])
            entry[2] = 1 / (1 + abs(rank))
        merged = [(place, 0.7 * near + 0.3 * said, text) for place, near, said, text in found.values()]
        return sorted(merged, key=lambda each: -each[1])[:RESULTS]

    def close(self) -> None:
        self._db.close()


class BareFile:
    """An FTS5 table and a matrix in memory: ids and scores of the best of each, and nothing else."""

    def __init__(self, file: Path, rows: Iterator[Row], dims: int) -> None:
        import numpy

        self.file = file
        self._db = _open(file)
        self._db.execute(f"CREATE VIRTUAL TABLE bare USING fts5(text, content='', tokenize=\"{TOKENIZER}\")")
        self._numbers: list[int] = []
        blobs: list[bytes] = []
        with self._db:
            for row in rows:
                self._db.execute("INSERT INTO bare (rowid, text) VALUES (?, ?)", (row.number, row.text))
                self._numbers.append(row.number)
                blobs.append(row.vector)
        self._matrix: Any = numpy.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dims)

    def search(self, query: str, vector: bytes) -> list[tuple[int, float]]:
        return [*self.words(query), *self.nearest(vector)]

    def words(self, query: str) -> list[tuple[int, float]]:
        asked = " OR ".join(f'"{term.word}"' for term in query_terms(query).terms)
        return list(self._db.execute("SELECT rowid, rank FROM bare(?) ORDER BY rank LIMIT ?", (asked, POOL)))

    def nearest(self, vector: bytes) -> list[tuple[int, float]]:
        import numpy

        cosines = self._matrix @ numpy.frombuffer(vector, dtype="<f4")
        best = numpy.argpartition(cosines, max(0, len(cosines) - POOL))[-POOL:]
        best = best[numpy.argsort(-cosines[best])]
        return [(self._numbers[index], float(cosines[index])) for index in best.tolist()]

    def close(self) -> None:
        self._db.close()


def _open(file: Path) -> apsw.Connection:
    db = apsw.Connection(str(file))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    return db
