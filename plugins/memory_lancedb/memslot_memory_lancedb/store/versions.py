"""The past of a table: every write is a version of LanceDB's, and an earlier one can be brought back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.words import fill_stems


@dataclass(frozen=True)
class Version:
    """One state of the memories: its number, since when it was so, and how many there were."""

    number: int
    at: datetime
    memories: int
    removed_rows: int
    """Rows that are marked as removed but whose bytes are still in a file of this version."""


def list_versions(table: MemoryTable, database: Any) -> list[Version]:
    """All versions that are still there, oldest first."""
    versions = []
    for each in database.attempt(table.handle.list_versions):
        about = each["metadata"]
        versions.append(
            Version(
                number=each["version"],
                at=each["timestamp"].astimezone(UTC),  # LanceDB gives local time and does not say so
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
    """Bring an earlier version back, as a new one: what is now stays in the history. Gives the version restored."""
    table = store.live()
    versions = {each.number: each for each in history(store)}
    if table is None or number not in versions:
        known = f"{min(versions)} to {max(versions)}" if versions else "none"
        raise StoreError(f"there is no version {number}; the versions are {known} (memslot ltm history)")
    # A handle of its own: a restore moves the handle it is called on.
    handle = store.database.open_table(table.generation.table)
    if handle is None:
        raise StoreError(f"the table {table.generation.table} is gone; try again")
    store.database.attempt(lambda: handle.restore(number))
    store.writes += 1
    # The version may be from before there was a column of words.
    store.reopen()
    restored = store.live()
    if restored is not None:
        fill_stems(restored)
    return versions[number]
