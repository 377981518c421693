"""Removes the bytes of forgotten memories: out of data files, earlier versions and tables that are no longer read."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import FRAGMENT_BITS, MemoryTable
from memslot_memory_lancedb.store.versions import Version, list_versions
from memslot_memory_lancedb.store.words import has_words_index, make_words_index

GRACE_SECONDS = 5.0
"""Versions younger than this are never removed: a writer that began on one could no longer tell that somebody else
wrote the same rows meanwhile, and both copies would stay."""
SLACK = timedelta(days=1)
"""Versions expire one by one; their bytes are removed once a day, not each time."""


def was_forgotten(versions: Sequence[Version]) -> bool:
    """Whether a version has fewer memories than the one before it."""
    return any(later.memories < earlier.memories for earlier, later in itertools.pairwise(versions))


def is_expiry_due(table: MemoryTable, database: Database, keep: timedelta) -> bool:
    """Whether removed text is older than the history is kept."""
    versions = list_versions(table, database)
    if datetime.now(UTC) - versions[0].at < keep + SLACK:
        return False
    return was_forgotten(versions) or versions[-1].removed_rows > 0


def expire(table: MemoryTable, database: Database, keep: timedelta) -> None:
    """Remove text that was forgotten or replaced longer ago than `keep`."""
    rewrite_around_removed(table, database)
    compact(table, database, keep)


def purge(store: MemoryStore, cancelled: threading.Event | None = None) -> int:
    """Remove all removed text and all earlier versions of the agent's memories now; how many versions went."""
    live, database = store.live(), store.database
    if live is None:
        return 0
    # A table that is being filled for another embedder may hold the text as well.
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
    """Wait until the versions that writers may have begun on are old enough; whether it was cut short."""
    return (cancelled or threading.Event()).wait(GRACE_SECONDS)


def compact(table: MemoryTable, database: Database, keep: timedelta) -> None:
    """Put small files together, take new rows into the index, and let versions older than `keep` go."""
    oldest = max(keep, timedelta(seconds=GRACE_SECONDS))
    database.attempt(lambda: table.handle.optimize(cleanup_older_than=oldest))


def rewrite_around_removed(table: MemoryTable, database: Database) -> None:
    """Move the living rows out of files that also hold removed ones; those files are then nobody's.

    LanceDB's own compaction leaves a file alone until a tenth of its rows is removed.
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
    if gaps < removed:  # the last rows of a file are removed, which cannot be seen from those that are left
        conditions = [()]
    for condition in conditions:
        touch = partial(
            table.handle.update, where=table.owner.where(*condition), values_sql={"importance": "importance"}
        )
        database.attempt(touch)
    if has_words_index(table, database):  # it may still list the words of what was removed
        make_words_index(table, database)
