"""A small index with canonical vectors, as the engines find it: rows that only get larger ids, and a change counter."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy
import pytest
from memslot_memory_core.index.vectors.engine import State, VectorEngine, VectorTable
from memslot_memory_core.index.vectors.engine_choice import make_engine
from memslot_memory_core.index.vectors.extensions import load

ENGINES = ("sqlite-vec", "vec1", "numpy")
ROWS = "SELECT c.id, e.vector FROM chunks_3 c JOIN embeddings e ON e.id = c.embedding_id"
WAITING = "SELECT min(id) FROM chunks_3 WHERE embedding_id IS NULL"
SCHEMA = """
    CREATE TABLE embeddings (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
    CREATE TABLE chunks_3 (
        id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, embedding_id INTEGER REFERENCES embeddings (id)
    );
    CREATE INDEX chunks_by_embedding ON chunks_3 (embedding_id);
    CREATE TABLE state (changes INTEGER, vectors INTEGER);
    INSERT INTO state VALUES (0, 0);
"""


class Index:
    """One database file, and one engine that all connections of this process share."""

    def __init__(self, file: str, engine: str, dims: int, *, make: Callable[[VectorTable], VectorEngine] | None = None):
        self.file = file
        self.dims = dims
        self.table = VectorTable("vec_3", dims, ROWS, WAITING)
        self.engine = make(self.table) if make else make_engine(engine, self.table)
        self._open: list[apsw.Connection] = []
        self.db = self.connect()
        self.db.execute(SCHEMA)
        self.engine.create(self.db)

    def connect(self) -> apsw.Connection:
        db = apsw.Connection(self.file)
        db.set_busy_timeout(20_000)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        for name in ("sqlite-vec", "vec1"):
            assert load(db, name) is None
        self._open.append(db)
        return db

    def close(self) -> None:
        for db in self._open:
            db.close()

    def write(
        self, add: Sequence[bytes] = (), remove: Sequence[int] = (), db: apsw.Connection | None = None
    ) -> list[int]:
        """One transaction of the writer; gives the new ids."""
        db = db or self.db
        db.execute("BEGIN IMMEDIATE")
        new = self.change(db, add, remove)
        db.execute("COMMIT")
        return new

    def change(self, db: apsw.Connection, add: Sequence[bytes] = (), remove: Sequence[int] = ()) -> list[int]:
        new = []
        gone = 0
        for rowid in remove:
            db.execute("DELETE FROM chunks_3 WHERE id = ?", (rowid,))
            gone += db.changes()
        for vector in add:
            db.execute("INSERT INTO embeddings (vector) VALUES (?)", (vector,))
            db.execute("INSERT INTO chunks_3 (text, embedding_id) VALUES ('t', ?)", (db.last_insert_rowid(),))
            new.append(db.last_insert_rowid())
        self.engine.remove(db, remove)
        self.engine.add(db, zip(new, add, strict=True))
        db.execute("UPDATE state SET changes = changes + 1, vectors = vectors + ?", (len(new) - gone,))
        return new

    def write_without_vectors(self, count: int) -> list[int]:
        """Rows whose vectors are still to come."""
        self.db.executemany("INSERT INTO chunks_3 (text) VALUES ('t')", [()] * count)
        last = self.db.last_insert_rowid()
        return list(range(last - count + 1, last + 1))

    def complete(self, rowid: int, vector: bytes, remove: Sequence[int] = ()) -> None:
        """Give a row its vector, and remove others, in one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        self.change(self.db, remove=remove)
        self.db.execute("INSERT INTO embeddings (vector) VALUES (?)", (vector,))
        self.db.execute("UPDATE chunks_3 SET embedding_id = ? WHERE id = ?", (self.db.last_insert_rowid(), rowid))
        self.engine.add(self.db, [(rowid, vector)])
        self.db.execute("UPDATE state SET changes = changes + 1, vectors = vectors + 1")
        self.db.execute("COMMIT")

    def state(self, db: apsw.Connection) -> State:
        changes, vectors = db.execute("SELECT changes, vectors FROM state").get
        return changes, vectors

    def search(self, query: bytes, limit: int, db: apsw.Connection | None = None) -> list[tuple[int, float]]:
        """In the transaction that is open, or in one of its own."""
        db = db or self.db
        if db.in_transaction:
            return self.engine.search(db, query, limit, state=self.state(db))
        db.execute("BEGIN")
        try:
            return self.engine.search(db, query, limit, state=self.state(db))
        finally:
            db.execute("COMMIT")

    def cosines(self, query: bytes, rowids: Sequence[int], db: apsw.Connection | None = None) -> dict[int, float]:
        db = db or self.db
        if db.in_transaction:
            return self.engine.cosines(db, query, rowids, state=self.state(db))
        db.execute("BEGIN")
        try:
            return self.engine.cosines(db, query, rowids, state=self.state(db))
        finally:
            db.execute("COMMIT")

    def expected(self, query: bytes, limit: int, db: apsw.Connection | None = None) -> list[tuple[int, float]]:
        """By comparing with every row, one at a time, in double precision."""
        wanted = numpy.frombuffer(query, "<f4").astype(float)
        hits = []
        for rowid, blob in (db or self.db).execute(ROWS):
            row = numpy.frombuffer(blob, "<f4").astype(float)
            if row.any() and wanted.any():
                cosine = float((row * wanted).sum()) / (
                    math.sqrt((row * row).sum()) * math.sqrt((wanted * wanted).sum())
                )
                hits.append((rowid, round(min(1.0, max(-1.0, cosine)), 9)))
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def check(self, query: bytes, limit: int, db: apsw.Connection | None = None) -> None:
        found, expected = self.search(query, limit, db), self.expected(query, limit, db)
        assert [rowid for rowid, _ in found] == [rowid for rowid, _ in expected]
        assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in expected], abs=2e-9)
        everything = dict(self.expected(query, 1_000_000, db))
        assert self.cosines(query, [*everything, 999_999], db) == pytest.approx(everything, abs=2e-9)


def pack(numbers: Sequence[float]) -> bytes:
    """The numbers scaled to length 1; zeros stay zeros."""
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def some(count: int, dims: int, seed: int = 0) -> list[bytes]:
    rows: Any = numpy.random.default_rng(seed).standard_normal((count, dims))
    return [pack(row) for row in rows.tolist()]


class Kit:
    """What the tests of this folder build with."""

    Index, pack, some = Index, staticmethod(pack), staticmethod(some)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Index] = []

    def index(self, engine: str, dims: int, **options: Any) -> Index:
        made = Index(str(self._folder / f"{len(self._made)}.sqlite"), engine, dims, **options)
        self._made.append(made)
        return made

    def close(self) -> None:
        for each in self._made:
            each.close()


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    kit = Kit(tmp_path)
    yield kit
    kit.close()


@pytest.fixture(scope="session")
def memory_kit() -> type[Kit]:
    """For property tests, whose examples each make an index in memory."""
    return Kit


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)
