"""Recovery: reads what is still readable in a damaged store, without changing it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.catalogue import Generation, table_prefix
from memslot_memory_lancedb.store.database import Database, is_remote
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable

_HIGHEST_NUMBER = 20_000


@dataclass
class TableReport:
    """One table: whether it is intact, and its readable memories."""

    name: str
    is_live: bool
    fault: str | None = None
    saved_from: str = "the newest version"
    memories: list[MemoryRecord] = field(default_factory=list)


@dataclass
class Diagnosis:
    """The diagnosis; `fault` is about the store as a whole."""

    fault: str | None
    tables: list[TableReport]

    @property
    def is_sound(self) -> bool:
        return self.fault is None and all(each.fault is None for each in self.tables if each.is_live)

    def memories(self) -> list[MemoryRecord]:
        """Every recoverable memory once, in its newest readable form."""
        newest: dict[str, MemoryRecord] = {}
        # For an intact store only the live table counts: older ones may contain deleted memories.
        tables = [each for each in self.tables if each.is_live] if self.is_sound else self.tables
        for table in tables:
            for memory in table.memories:
                known = newest.get(memory.id)
                if known is None or known.changed_at < memory.changed_at:
                    newest[memory.id] = memory
        return sorted(newest.values(), key=lambda each: (each.created_at, each.id))


def diagnose(store: MemoryStore) -> Diagnosis:
    """Read every row of every table of the agent."""
    fault, live = None, None
    try:
        generation = store.catalogue.live()
        live = generation.table if generation is not None else None
    except StoreError as error:
        fault = str(error)
    try:
        names = sorted(each for each in _names(store.database) if each.startswith(table_prefix(store.owner)))
    except StoreError as error:
        return Diagnosis(fault or str(error), [])
    tables = [_inspect_table(store, name, name == live) for name in names]
    if live is not None and live not in names:
        fault = fault or f"the table {live} is gone"
    return Diagnosis(fault, tables)


def _names(database: Database) -> list[str]:
    if not is_remote(database.location):
        # Without LanceDB, which may refuse to open a folder with a damaged table.
        return [each.stem for each in Path(database.location).glob("*.lance")]
    return database.table_names()


def _inspect_table(store: MemoryStore, name: str, is_live: bool) -> TableReport:
    report = TableReport(name, is_live)
    try:
        report.memories = list(_open(store.database, store, name).scan())
        return report
    except StoreError as error:
        report.fault = str(error)
    for source, memories in _readable_parts(store, name):
        report.saved_from, report.memories = source, memories
        break
    else:
        report.saved_from = "nothing"
    return report


def _open(database: Database, store: MemoryStore, name: str) -> MemoryTable:
    handle = database.open_table(name)
    if handle is None:
        raise StoreError(f"the table {name} is gone")
    return MemoryTable(database, store.owner, Generation(0, name, None, "", datetime.now(UTC)), handle)


def _readable_parts(store: MemoryStore, name: str) -> Iterator[tuple[str, list[MemoryRecord]]]:
    """Ways to read a damaged table, best first."""
    try:
        memories = list(_by_file(_open(store.database, store, name)))
    except StoreError:
        memories = []
    if memories:
        yield "the intact files of the newest version", memories
    if is_remote(store.database.location):
        return
    folder = Path(store.database.location) / f"{name}.lance"
    # LanceDB numbers manifests backwards, so that the newest comes first in a listing.
    for manifest in sorted((folder / "_versions").glob("*.manifest")):
        with tempfile.TemporaryDirectory(prefix="memslot-rescue-") as place:
            try:
                copy = _copy_with(folder, manifest, Path(place))
                memories = list(_by_file(_open(copy, store, name)))
            except (StoreError, OSError):
                continue
            if memories:
                yield f"the version of {_time_of(manifest)}", memories


def _copy_with(folder: Path, manifest: Path, place: Path) -> Database:
    """A temporary database with this manifest as the newest; data files are linked, not copied."""
    table = place / folder.name
    (table / "_versions").mkdir(parents=True)
    shutil.copy2(manifest, table / "_versions" / manifest.name)
    for each in folder.iterdir():
        if each.is_dir() and each.name != "_versions":
            (table / each.name).symlink_to(each, target_is_directory=True)
    return Database(str(place))


def _by_file(table: MemoryTable) -> Iterator[MemoryRecord]:
    """Read a table file by file, skipping unreadable ones."""
    try:
        yield from list(table.scan())
        return
    except StoreError:
        pass
    files, longest = table.count_files()
    seen = 0
    # File numbers are not reused, so there are gaps.
    for number in range(_HIGHEST_NUMBER):
        try:
            memories = list(table.read_file(number, longest))
            seen += bool(memories)
        except StoreError:
            memories = []
            seen += 1
        yield from memories
        if seen >= files:
            return


def _time_of(manifest: Path) -> str:
    return f"{datetime.fromtimestamp(manifest.stat().st_mtime, UTC):%Y-%m-%d %H:%M:%S} UTC"
