"""Erases deleted text from the disk: keyword segments, free pages, the WAL, a damaged copy."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

from memslot_memory_core.index import keywords
from memslot_memory_core.index.connection import damaged_copy
from memslot_memory_core.index.generation import Tables
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.schema import transaction

_REMOVED = "rows_removed"
"""Metadata key: removed rows still have words in the keyword tables."""
_ERASED = "free_pages_erased"
_BLOCK_BYTES = 16_000_000


def record_removed(db: apsw.Connection) -> None:
    """Record that deleted words are still to be erased; inside the caller's transaction."""
    IndexMetadata(db).write(_REMOVED, True)


def erase_removed(db: apsw.Connection, tables: Tables, file: Path) -> None:
    """Erase what removed rows left behind; the cost grows with the keyword tables."""
    if not IndexMetadata(db).read(_REMOVED):
        return
    with transaction(db):
        # FTS5 only marks rows as deleted; their words go when segments are merged.
        keywords.optimize(db, tables.words)
        keywords.optimize(db, tables.turn_words)
        IndexMetadata(db).forget(_REMOVED)
    damaged_copy(file).unlink(missing_ok=True)
    empty_log(db)


def erase_free_pages(db: apsw.Connection) -> None:
    """Overwrite, once, pages that were freed before `secure_delete` was on; unlike VACUUM it renumbers no row."""
    if IndexMetadata(db).read(_ERASED):
        return
    free = int(db.pragma("freelist_count")) * int(db.pragma("page_size"))
    if free:
        # On a full disk the pages stay; the next forced index retries.
        with contextlib.suppress(apsw.FullError), transaction(db):
            db.execute("CREATE TABLE erased (zeros BLOB)")
            for start in range(0, free, _BLOCK_BYTES):
                db.execute("INSERT INTO erased VALUES (zeroblob(?))", (min(_BLOCK_BYTES, free - start),))
            db.execute("DROP TABLE erased")
            IndexMetadata(db).write(_ERASED, True)
    empty_log(db)


def empty_log(db: apsw.Connection) -> None:
    """Checkpoint and truncate the WAL, unless a reader still uses it."""
    with contextlib.suppress(apsw.BusyError, apsw.LockedError):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
