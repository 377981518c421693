"""A generation: one complete set of index tables. A rebuild fills the next one while this one serves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import apsw

if TYPE_CHECKING:
    State = Literal["live", "building", "retired"]


@dataclass(frozen=True)
class Tables:
    """The names of a generation's tables."""

    number: int

    @property
    def files(self) -> str:
        return f"files_{self.number}"

    @property
    def chunks(self) -> str:
        return f"chunks_{self.number}"

    @property
    def words(self) -> str:
        return f"fts_{self.number}"

    @property
    def vectors(self) -> str:
        return f"vec_{self.number}"

    @property
    def parts(self) -> str:
        return f"parts_{self.number}"

    @property
    def part_bits(self) -> str:
        return f"part_bits_{self.number}"

    @property
    def turns(self) -> str:
        return f"turns_{self.number}"

    @property
    def turn_words(self) -> str:
        return f"turn_fts_{self.number}"

    @property
    def turn_vectors(self) -> str:
        return f"turn_vec_{self.number}"


@dataclass(frozen=True)
class Generation:
    """A row of `generations`: its identity, vector engine and row counts."""

    number: int
    state: State
    identity: Mapping[str, Any]
    engine: str
    engine_reason: str
    changes: int
    files: int
    chunks: int
    vectors: int
    turns: int
    turn_vectors: int
    part_vectors: int
    synced_at: float | None
    file_id: str | None = None
    """Identifies the index file: one that replaced it may have a generation of the same number."""

    @property
    def key(self) -> tuple[str | None, int]:
        """Cache key of the generation."""
        return self.file_id, self.number

    @property
    def tables(self) -> Tables:
        return Tables(self.number)


_COLUMNS = (
    "id, state, identity, engine, engine_reason, changes, files, chunks, vectors, turns, turn_vectors, part_vectors, "
    "synced_at, (SELECT value FROM facts WHERE name = 'file_id')"
)


def find(db: apsw.Connection, state: State) -> Generation | None:
    """The newest generation in that state, if there is one."""
    row = db.execute(f"SELECT {_COLUMNS} FROM generations WHERE state = ? ORDER BY id DESC LIMIT 1", (state,)).get
    return None if row is None else Generation(row[0], row[1], json.loads(row[2]), *row[3:])


def by_number(db: apsw.Connection, number: int) -> Generation | None:
    """Reload a generation."""
    row = db.execute(f"SELECT {_COLUMNS} FROM generations WHERE id = ?", (number,)).get
    return None if row is None else Generation(row[0], row[1], json.loads(row[2]), *row[3:])


def create(db: apsw.Connection, state: State, identity: Mapping[str, Any]) -> Generation:
    """Create the tables of a new generation; inside the caller's transaction."""
    from memslot_memory_core.index import keywords

    written = json.dumps(identity, sort_keys=True)
    # Numbers are never reused: a reader may still hold prepared statements of an older generation.
    number = 1 + int(db.execute("SELECT coalesce((SELECT value FROM facts WHERE name = 'last_generation'), '0')").get)
    db.execute("INSERT OR REPLACE INTO facts VALUES ('last_generation', ?)", (str(number),))
    db.execute("INSERT OR IGNORE INTO facts VALUES ('file_id', json_quote(hex(randomblob(8))))")
    db.execute("INSERT INTO generations (id, state, identity) VALUES (?, ?, ?)", (number, state, written))
    tables = Tables(number)
    db.execute(
        f"""
        CREATE TABLE {tables.files} (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            source TEXT NOT NULL,
            path TEXT NOT NULL,
            stamp TEXT NOT NULL,
            hash TEXT NOT NULL,
            size INTEGER NOT NULL,
            mtime REAL NOT NULL,
            private INTEGER NOT NULL,
            resume TEXT,
            remark TEXT,
            UNIQUE (source, path)
        );
        CREATE TABLE {tables.chunks} (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            file_id INTEGER NOT NULL REFERENCES {tables.files} (id) ON DELETE CASCADE,
            start_line INTEGER NOT NULL,
            end_line INTEGER NOT NULL,
            text TEXT NOT NULL,
            hash BLOB NOT NULL,
            time REAL,
            embedding_id INTEGER REFERENCES embeddings (id)
        );
        CREATE INDEX {tables.chunks}_by_file ON {tables.chunks} (file_id);
        CREATE INDEX {tables.chunks}_by_embedding ON {tables.chunks} (embedding_id);
        CREATE TABLE {tables.parts} (
            chunk_id INTEGER NOT NULL,
            embedding_id INTEGER NOT NULL REFERENCES embeddings (id),
            PRIMARY KEY (chunk_id, embedding_id)
        ) WITHOUT ROWID;
        CREATE INDEX {tables.parts}_by_embedding ON {tables.parts} (embedding_id);
        CREATE TABLE {tables.part_bits} (
            chunk_id INTEGER PRIMARY KEY,
            bits BLOB NOT NULL,
            waiting INTEGER NOT NULL
        );
        CREATE INDEX {tables.part_bits}_waiting ON {tables.part_bits} (chunk_id) WHERE waiting > 0;
        CREATE TABLE {tables.turns} (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            file_id INTEGER NOT NULL REFERENCES {tables.files} (id) ON DELETE CASCADE,
            line INTEGER NOT NULL,
            hash BLOB NOT NULL,
            embedding_id INTEGER REFERENCES embeddings (id)
        );
        CREATE INDEX {tables.turns}_by_file ON {tables.turns} (file_id);
        CREATE INDEX {tables.turns}_by_embedding ON {tables.turns} (embedding_id);
        """
    )
    keywords.create(db, tables.words)
    keywords.create(db, tables.turn_words)
    made = by_number(db, number)
    assert made is not None
    return made


def publish(db: apsw.Connection, number: int) -> None:
    """Make a generation the live one; inside the caller's transaction, so the switch is atomic."""
    db.execute("UPDATE generations SET state = 'retired' WHERE state = 'live'")
    db.execute("UPDATE generations SET state = 'live' WHERE id = ?", (number,))


def drop(db: apsw.Connection, number: int) -> None:
    """Drop a generation except its vector tables; inside the caller's transaction."""
    from memslot_memory_core.index import keywords

    tables = Tables(number)
    keywords.drop(db, tables.words)
    keywords.drop(db, tables.turn_words)
    for table in (tables.parts, tables.part_bits, tables.turns, tables.chunks, tables.files):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute("DELETE FROM generations WHERE id = ?", (number,))


def numbers(db: apsw.Connection) -> list[int]:
    """The numbers of all generations."""
    return [number for (number,) in db.execute("SELECT id FROM generations")]


def retired(db: apsw.Connection) -> list[int]:
    """Generations that are no longer searched."""
    return [number for (number,) in db.execute("SELECT id FROM generations WHERE state = 'retired'")]
