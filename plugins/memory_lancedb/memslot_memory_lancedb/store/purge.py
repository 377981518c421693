"""Erases forgotten memories from data files, earlier versions and unused tables."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.stems_column import has_words_index, make_words_index
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import FRAGMENT_BITS, MemoryTable
from memslot_memory_lancedb.store.versions import Version, list_versions

GRACE_SECONDS = 5.0
"""Younger versions are never removed: a writer based on one could no longer detect a concurrent write of the same rows,
and both copies would stay."""
SLACK = timedelta(days=1)
"""Versions expire one by one; their bytes are removed once a day."""


def was_forgotten(versions: Sequence[Version]) -> bool:
    """Whether a version has fewer memories than the one before it."""
    return any(later.memories < earlier.memories for earlier, later in itertools.pairwise(versions))


def is_expiry_due(table: MemoryTable, database: Database, keep: timedelta) -> bool:
    """Whether deleted text is older than the history limit."""
    versions = list_versions(table, database)
    if datetime.now(UTC) - versions[0].at < keep + SLACK:
        return False
    return was_forgotten(versions) or versions[-1].removed_rows > 0


def expire(table: MemoryTable, database: Database, keep: timedelta) -> None:
    """Erase text that was deleted or replaced longer ago than `keep`."""
    rewrite_around_removed(table, database)
    compact(table, database, keep)


def purge(store: MemoryStore, cancelled: threading.Event | None = None) -> int:
    """Erase all deleted text and all earlier versions now; returns how many versions."""
    live, database = store.live(), store.database
    if live is None:
        return 0
    # A table being filled for another embedder may contain the text as well.
    unfinished = [store.open(each) for each in store.catalogue.orphans()]
    known = set(live.changes()) if unfinished else set()
    for table in unfinished:
        table.remove([each for each in table.changes() if each not in known])
    tables = [live, *unfinished]
    before = sum(len(list_versions(each, database)) for each in tables)
    for table in tables:
        rewrite_around_removed(table, database)
    if wait_for_writers(cancelled):
        return 0
    for table in tables:
        compact(table, database, timedelta(0))
    retired = {each.table for each in store.catalogue.generations()} - {live.generation.table}
    for name in retired & set(database.table_names()):
        database.drop_table(name)
    return before - sum(len(list_versions(each, database)) for each in tables)


def wait_for_writers(cancelled: threading.Event | None = None) -> bool:
    """Wait until active writers' base versions are old enough; returns whether it was interrupted."""
    return (cancelled or threading.Event()).wait(GRACE_SECONDS)


def compact(table: MemoryTable, database: Database, keep: timedelta) -> None:
    """Compact files, update the index, and remove versions older than `keep`."""
    oldest = max(keep, timedelta(seconds=GRACE_SECONDS))
    database.attempt(lambda: table.handle.optimize(cleanup_older_than=oldest))


def rewrite_around_removed(table: MemoryTable, database: Database) -> None:
    """Rewrite live rows of files that also contain deleted ones, which makes those files obsolete.

    LanceDB's compaction skips a file until a tenth of its rows is deleted.
    """
    removed = list_versions(table, database)[-1].removed_rows
    if not removed:
        return
    import numpy

    addresses = numpy.array([row["_rowid"] for row in table.addresses()], dtype=numpy.uint64)
    files, counts = numpy.unique(addresses >> numpy.uint64(FRAGMENT_BITS), return_counts=True)
    conditions: list[tuple[str, ...]] = []
    gaps = 0
    for number, count in zip(files.tolist(), counts.tolist(), strict=True):
        start, end = number << FRAGMENT_BITS, (number + 1) << FRAGMENT_BITS
        inside = addresses[(addresses >= start) & (addresses < end)]
        gap = int(inside.max()) - start + 1 - count
        if gap:
            gaps += gap
            conditions.append((f"_rowid >= {start} AND _rowid < {end}",))
    if gaps < removed:  # the last rows of a file may be deleted, which the remaining ones don't show
        conditions = [()]
    for condition in conditions:
        touch = partial(
            table.handle.update, where=table.owner.where(*condition), values_sql={"importance": "importance"}
        )
        database.attempt(touch)
    if has_words_index(table, database):  # it may still contain words of deleted rows
        make_words_index(table, database)
