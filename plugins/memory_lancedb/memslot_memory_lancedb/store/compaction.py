"""Compaction and indexing of a growing table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.purge import (
    compact,
    rewrite_around_removed,
    wait_for_writers,
    was_forgotten,
)
from memslot_memory_lancedb.store.stems_column import WORDS_INDEX, fill_stems, make_words_index
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.versions import list_versions

INDEX_FROM_NUMBERS = 2_000_000
"""Rows times dimensions from which an index is faster than a full scan."""
INDEX_FROM_ROWS = 2_000
"""Minimum rows to train an index."""
SMALL_FILES = 64
"""Number of small files from which compaction pays off."""
REINDEX_SHARE = 0.2
"""Maximum share of unindexed rows, which are scanned."""
WORDS_FROM_ROWS = 1_000
"""Rows from which a full-text index is faster than scanning stems."""
VECTOR_INDEX = "vector_idx"

Say = Callable[[str], None]


@dataclass(frozen=True)
class OptimizeReport:
    """Report of an optimization."""

    files_before: int
    files_after: int
    versions_removed: int
    purged: bool
    indexed: bool
    tables_dropped: int


def wants_index(rows: int, dims: int) -> bool:
    """Whether an index pays off."""
    return rows >= INDEX_FROM_ROWS and rows * dims >= INDEX_FROM_NUMBERS


def count_files(table: MemoryTable, database: Database) -> int:
    stats = database.attempt(table.handle.stats)
    number: int = stats["fragment_stats"]["num_fragments"]
    return number


def has_index(table: MemoryTable, database: Database, name: str = VECTOR_INDEX) -> bool:
    return any(each.name == name for each in database.attempt(table.handle.list_indices))


def is_compaction_due(table: MemoryTable, database: Database) -> bool:
    """Whether there are too many small files."""
    stats = database.attempt(table.handle.stats)
    return bool(stats["fragment_stats"]["num_small_fragments"] >= SMALL_FILES)


def is_index_due(table: MemoryTable, database: Database) -> bool:
    """Whether an index is missing or outdated."""
    return bool(_due_indices(table, database))


def make_index(table: MemoryTable, database: Database) -> None:
    """Build the indices that are due. Later rows are found without them."""
    due = _due_indices(table, database)
    if VECTOR_INDEX in due:
        make_vector_index(table, database)
    if WORDS_INDEX in due:
        make_words_index(table, database)


def make_vector_index(table: MemoryTable, database: Database) -> None:
    """Index the vectors and the filter columns."""
    from lancedb.index import Bitmap, BTree, IvfSq

    config = IvfSq(distance_type="l2")
    database.attempt(lambda: table.handle.create_index("vector", config=config, name=VECTOR_INDEX))
    database.attempt(lambda: table.handle.create_index("agentId", config=Bitmap()))
    database.attempt(lambda: table.handle.create_index("id", config=BTree()))


def _due_indices(table: MemoryTable, database: Database) -> list[str]:
    rows, identity = table.count(), table.generation.identity
    wanted = [VECTOR_INDEX] if identity is not None and wants_index(rows, identity.dims) else []
    if rows >= WORDS_FROM_ROWS and table.has_stems:
        wanted.append(WORDS_INDEX)
    return [name for name in wanted if _is_missing_or_old(table, database, name)]


def _is_missing_or_old(table: MemoryTable, database: Database, name: str) -> bool:
    if not has_index(table, database, name):
        return True
    stats = database.attempt(lambda: table.handle.index_stats(name))
    return stats is not None and stats.num_unindexed_rows > REINDEX_SHARE * max(1, stats.num_indexed_rows)


def optimize(
    store: MemoryStore,
    identity: Identity | None,
    *,
    keep: timedelta,
    purge: bool | None = None,
    say: Say = lambda step: None,
) -> OptimizeReport | None:
    """Run all maintenance. `purge` None removes the history only if something was forgotten."""
    table, database = store.live(), store.database
    if table is None:
        return None
    fill_stems(table)
    before = list_versions(table, database)
    files_before = count_files(table, database)
    if purge is None:
        purge = was_forgotten(before) or before[-1].removed_rows > 0
    if purge:
        say("rewriting files that contain forgotten memories")
        rewrite_around_removed(table, database)
    say("compacting files")
    compact(table, database, keep)
    indexed = is_index_due(table, database)
    if indexed:
        say("building the index")
        make_index(table, database)
    remove_duplicates(table, database)
    if purge or indexed:
        if purge:
            say("waiting for active writers, then removing earlier versions")
            wait_for_writers()
        compact(table, database, timedelta(0) if purge else keep)
    say("dropping tables of earlier embedders")
    dropped = drop_retired(store, identity)
    store.catalogue.compact()
    after = list_versions(table, database)
    gone = len({each.number for each in before} - {each.number for each in after})
    return OptimizeReport(files_before, count_files(table, database), gone, purge, indexed, dropped)


def remove_duplicates(table: MemoryTable, database: Database) -> int:
    """Keep only the newest row per id: concurrent changes on two machines may leave two."""
    rows = table.addresses()
    if len(rows) == len({row["id"] for row in rows}):
        return 0
    newest: dict[str, dict[str, Any]] = {}
    copies = []
    for row in sorted(rows, key=lambda row: (row["updatedAt"], row["_rowid"]), reverse=True):
        if newest.setdefault(row["id"], row) is not row:
            copies.append(row["_rowid"])
    for address in copies:
        database.attempt(partial(table.handle.delete, table.owner.where(f"_rowid = {address}")))
    return len(copies)


def drop_retired(store: MemoryStore, identity: Identity | None) -> int:
    """Drop the agent's unused tables; returns how many."""
    live = store.catalogue.live()
    if live is None:
        return 0
    names = {each.table for each in store.catalogue.generations()}
    # Keep one that is being filled for the current embedder; any other was abandoned.
    names |= {each.table for each in store.catalogue.orphans() if each.identity != identity}
    there = set(store.database.table_names())
    retired = (names - {live.table}) & there
    for name in retired:
        store.database.drop_table(name)
    return len(retired)
