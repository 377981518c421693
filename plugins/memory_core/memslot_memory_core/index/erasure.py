"""Takes the last bytes of deleted text off the disk: words, free pages, the log, a damaged copy."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

from memslot_memory_core.index import keywords
from memslot_memory_core.index.connection import damaged_copy
from memslot_memory_core.index.generation import Tables
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.schema import transaction

_REMOVED = "rows_removed"
"""The fact that rows were removed whose words are still in the keyword tables."""
_ERASED = "free_pages_erased"
_BLOCK_BYTES = 16_000_000


def note_removed(db: apsw.Connection) -> None:
    """Remember that deleted words are still to be erased; inside the caller's transaction."""
    Facts(db).write(_REMOVED, True)


def erase_removed(db: apsw.Connection, tables: Tables, file: Path) -> None:
    """Erase what rows that were removed have left behind; takes as long as the keyword tables are large."""
    if not Facts(db).read(_REMOVED):
        return
    with transaction(db):
        # FTS5 marks rows of such tables as deleted; their words go when the segments are merged.
        keywords.optimize(db, tables.words)
        keywords.optimize(db, tables.turn_words)
        Facts(db).forget(_REMOVED)
    damaged_copy(file).unlink(missing_ok=True)
    empty_log(db)


def erase_free_pages(db: apsw.Connection) -> None:
    """Overwrite, once, pages that were freed before `secure_delete` was on; unlike VACUUM it renumbers no row."""
    if Facts(db).read(_ERASED):
        return
    free = int(db.pragma("freelist_count")) * int(db.pragma("page_size"))
    if free:
        # A full disk leaves the pages as they are; the next forced index tries again.
        with contextlib.suppress(apsw.FullError), transaction(db):
            db.execute("CREATE TABLE erased (zeros BLOB)")
            for start in range(0, free, _BLOCK_BYTES):
                db.execute("INSERT INTO erased VALUES (zeroblob(?))", (min(_BLOCK_BYTES, free - start),))
            db.execute("DROP TABLE erased")
            Facts(db).write(_ERASED, True)
    empty_log(db)


def empty_log(db: apsw.Connection) -> None:
    """Write the log into the file and cut it to nothing; a reader that is still at it puts that off."""
    with contextlib.suppress(apsw.BusyError, apsw.LockedError):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
