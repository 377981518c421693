"""Table history: every write is a LanceDB version that can be restored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.store.stems_column import fill_stems
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable


@dataclass(frozen=True)
class Version:
    """A version: its number, time and number of memories."""

    number: int
    at: datetime
    memories: int
    removed_rows: int
    """Deleted rows whose bytes are still in this version's files."""


def list_versions(table: MemoryTable, database: Any) -> list[Version]:
    """All existing versions, oldest first."""
    versions = []
    for each in database.attempt(table.handle.list_versions):
        about = each["metadata"]
        versions.append(
            Version(
                number=each["version"],
                at=each["timestamp"].astimezone(UTC),  # LanceDB returns naive local time
                memories=int(about.get("total_rows", 0)),
                removed_rows=int(about.get("total_deletion_file_rows", 0)),
            )
        )
    return sorted(versions, key=lambda version: version.number)


def history(store: MemoryStore) -> list[Version]:
    """The versions of the live table, oldest first."""
    table = store.live()
    return list_versions(table, store.database) if table is not None else []


def restore(store: MemoryStore, number: int) -> Version:
    """Restore an earlier version as a new one; the current state stays in the history."""
    table = store.live()
    versions = {each.number: each for each in history(store)}
    if table is None or number not in versions:
        known = f"{min(versions)} to {max(versions)}" if versions else "none"
        raise StoreError(f"there is no version {number}; the versions are {known} (memslot ltm history)")
    # A separate handle: restore changes the handle it is called on.
    handle = store.database.open_table(table.generation.table)
    if handle is None:
        raise StoreError(f"the table {table.generation.table} is gone; try again")
    store.database.attempt(lambda: handle.restore(number))
    store.writes += 1
    # The version may predate the stems column.
    store.reopen()
    restored = store.live()
    if restored is not None:
        fill_stems(restored)
    return versions[number]
