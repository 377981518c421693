"""The schema of an index file, and its migrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw

from memslot_memory_core.index.connection import IndexTooNewError


def _create(db: apsw.Connection) -> None:
    db.execute(
        """
        CREATE TABLE generations (
            id INTEGER PRIMARY KEY,
            state TEXT NOT NULL CHECK (state IN ('live', 'building', 'retired')),
            identity TEXT NOT NULL,
            engine TEXT NOT NULL DEFAULT 'numpy',
            engine_reason TEXT NOT NULL DEFAULT '',
            changes INTEGER NOT NULL DEFAULT 0,
            files INTEGER NOT NULL DEFAULT 0,
            chunks INTEGER NOT NULL DEFAULT 0,
            vectors INTEGER NOT NULL DEFAULT 0,
            turns INTEGER NOT NULL DEFAULT 0,
            turn_vectors INTEGER NOT NULL DEFAULT 0,
            synced_at REAL
        );
        CREATE UNIQUE INDEX one_live_generation ON generations (state) WHERE state = 'live';
        CREATE TABLE spaces (
            id INTEGER PRIMARY KEY,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            key TEXT NOT NULL,
            UNIQUE (provider, model, key)
        );
        CREATE TABLE embeddings (
            id INTEGER PRIMARY KEY,
            space_id INTEGER NOT NULL REFERENCES spaces (id),
            text_hash BLOB NOT NULL,
            vector BLOB NOT NULL,
            used_at INTEGER NOT NULL,
            UNIQUE (space_id, text_hash)
        );
        CREATE INDEX embeddings_by_use ON embeddings (used_at);
        CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        """
    )


def _drop_statistics(db: apsw.Connection) -> None:
    """Drop statistics taken while an index was small: they make SQLite scan tables that have grown since."""
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite!_stat_' ESCAPE '!'").fetchall():
        db.execute(f"DROP TABLE {table}")


def _add_parts(db: apsw.Connection) -> None:
    """Add a counter for part vectors, and background vectors per space."""
    db.execute("ALTER TABLE generations ADD COLUMN part_vectors INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE spaces ADD COLUMN background BLOB")


MIGRATIONS: Sequence[Callable[[apsw.Connection], None]] = (_create, _drop_statistics, _add_parts)
"""Migration n takes a file from version n to n + 1; `user_version` holds the version."""


def prepare(db: apsw.Connection) -> None:
    """Migrate a file to the newest schema; safe with concurrent processes."""
    if _version(db) == len(MIGRATIONS):
        return
    with transaction(db):
        version = _version(db)  # another process may have been faster
        _refuse_newer(version)
        for step in MIGRATIONS[version:]:
            step(db)
        db.pragma("user_version", len(MIGRATIONS))
    db.execute("PRAGMA writable_schema = RESET")  # reloads the schema; dropped statistics stay in memory until then


def is_prepared(db: apsw.Connection) -> bool:
    """Whether the schema is current. Raises IndexTooNewError for a newer memslot's file."""
    version = _version(db)
    _refuse_newer(version)
    return version == len(MIGRATIONS)


def _refuse_newer(version: int) -> None:
    if version > len(MIGRATIONS):
        raise IndexTooNewError(
            f"the index was written by a newer memslot (schema {version}, this one knows {len(MIGRATIONS)}); "
            "upgrade memslot, or delete the index file to rebuild it"
        )


def _version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


class transaction:  # noqa: N801  it reads as a statement: with transaction(db)
    """A write transaction that takes the write lock at once, so it can't fail half-way for another writer."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> apsw.Connection:
        self._db.execute("BEGIN IMMEDIATE")
        return self._db

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            try:
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        else:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # SQLite rolls some back by itself, as on a full disk
            self._db.execute("ROLLBACK")
