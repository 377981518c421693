"""The memory store of one agent, on whichever table is live."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.errors import ConcurrentChangeError, NoSuchMemoryError, StoreDamagedError, StoreError
from memslot_memory_lancedb.memory_record import MemoryRecord, is_id
from memslot_memory_lancedb.store.catalogue import Catalogue, Generation, table_name
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import Owner, quoted
from memslot_memory_lancedb.store.schema import make_schema
from memslot_memory_lancedb.store.table import MemoryTable

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

Value = TypeVar("Value")
logger = logging.getLogger("memslot.plugin.memory-lancedb")
_MOVES = 5


class MemoryStore:
    """Reads and writes the live table. Safe across threads and processes."""

    def __init__(self, database: Database, owner: Owner, *, machine: str = "") -> None:
        self.database = database
        self.owner = owner
        self.machine = machine
        self.catalogue = Catalogue(database, owner)
        self._lock = threading.Lock()
        self._table: MemoryTable | None = None
        self._looked_for_orphans = False
        self.writes = 0
        """Number of writes in this process, which triggers maintenance."""

    # The live table

    def live(self) -> MemoryTable | None:
        """The live table; None before anything was stored."""
        generation = self.catalogue.live() or self._find_orphan()
        return self.open(generation) if generation is not None else None

    def writable(self, identity: Identity | None) -> MemoryTable:
        """The live table, created for this embedder if there is none."""
        table = self.live()
        return table if table is not None else self.open(self._begin(identity))

    def open(self, generation: Generation) -> MemoryTable:
        """The table of a generation."""
        with self._lock:
            if self._table is not None and self._table.generation.table == generation.table:
                return self._table
        handle = self.database.open_table(generation.table)
        if handle is None:
            raise StoreDamagedError(
                f"files of {self.database.place} are missing: the table {generation.table} is gone; "
                "run memslot ltm doctor to see what can be saved"
            )
        table = MemoryTable(self.database, self.owner, generation, handle)
        with self._lock:
            if generation == self.catalogue.live():
                self._table = table
        return table

    def make(self, number: int, identity: Identity | None) -> Generation:
        """A table for a generation that is not live yet, resuming an earlier one."""
        name = table_name(self.owner, number, identity)
        self.database.make_table(name, make_schema(self.owner, number, identity))
        return Generation(number, name, identity, self.machine, datetime.now(UTC))

    def _begin(self, identity: Identity | None) -> Generation:
        generation = self.make(1, identity)
        self.catalogue.publish(generation)
        return self.catalogue.live() or generation

    def _find_orphan(self) -> Generation | None:
        """After loss of the catalogue: the agent's table with the most memories becomes live again."""
        with self._lock:
            if self._looked_for_orphans or not self.database.exists:
                return None
            self._looked_for_orphans = True
        orphans = self.catalogue.orphans()
        if not orphans:
            return None
        best = max(orphans, key=lambda each: (self.open(each).count(), each.number))
        logger.warning("the catalogue of %s was missing %s, which is in use again", self.database.place, best.table)
        self.catalogue.publish(replace(best, machine=self.machine))
        return self.catalogue.live()

    # Memories

    def get(self, memory_id: str) -> MemoryRecord:
        """One memory; raises NoSuchMemoryError if it is missing or belongs to another agent."""
        table = self.live() if is_id(memory_id) else None
        memory = table.get(memory_id) if table is not None else None
        if memory is None:
            raise NoSuchMemoryError(f"there is no memory {memory_id!r}; memory_recall and ltm list show the ids")
        return memory

    def newest(self, limit: int, offset: int = 0, category: str | None = None) -> tuple[list[MemoryRecord], int]:
        """A page of memories, newest first, and the total."""
        import numpy

        table = self.live()
        if table is None:
            return [], 0
        conditions = [f"`category` = {quoted(category)}"] if category is not None else []
        rows = table.columns({"id": "`id`", "createdAt": "`createdAt`"}, *conditions)
        order = numpy.argsort(-rows["createdAt"].cast("int64").to_numpy(), kind="stable")[offset : offset + limit]
        return table.get_many([rows["id"][int(number)].as_py() for number in order]), rows.num_rows

    def add(
        self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None], identity: Identity | None
    ) -> None:
        """Add memories durably. `identity` is the embedder of the vectors."""
        first = True

        def write(table: MemoryTable) -> None:
            nonlocal first
            rows, fitting = fit(table, memories, vectors, identity)
            if first:
                table.add(rows, fitting)
            else:  # the row may exist already: the migration copied it
                table.put(rows, fitting)
            first = False

        self._write(write, identity)

    def put(
        self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None], identity: Identity | None
    ) -> None:
        """Add or replace memories by id."""
        self._write(lambda table: table.put(*fit(table, memories, vectors, identity)), identity)

    def replace(
        self, memory: MemoryRecord, vector: Vector | None, was: MemoryRecord, identity: Identity | None
    ) -> None:
        """Update a memory; raises a ConcurrentChangeError if it was changed concurrently."""

        def write(table: MemoryTable) -> bool:
            rows, vectors = fit(table, [memory], [vector], identity)
            return table.replace(rows[0], vectors[0], was)

        if not self._write(write, identity):
            now = self.get(memory.id)
            if (now.text, now.changed_at) != (memory.text, memory.changed_at):
                raise ConcurrentChangeError(f"memory {memory.id} was just changed by another writer; read it again")

    def remove(self, ids: Sequence[str]) -> int:
        """Delete memories; returns how many existed."""
        if self.live() is None:
            return 0
        removed: list[int] = []
        self._write(lambda table: removed.append(table.remove(ids)), None)
        return max(removed)

    def _write(self, write: Callable[[MemoryTable], Value], identity: Identity | None) -> Value:
        """Write, and repeat on the new table if another one went live meanwhile.

        A migration copies everything written before its table goes live. So a write is either copied or sees the
        change, and no acknowledged write is lost.
        """
        table = self.writable(identity)
        for _ in range(_MOVES):
            value = write(table)
            self.writes += 1
            now = self.live()
            if now is None or now.generation.table == table.generation.table:
                return value
            table = now
        raise StoreError(f"{self.database.place} changed its table {_MOVES} times during one write; try again")

    def reopen(self) -> None:
        """Reopen the live table on next use."""
        with self._lock:
            self._table = None

    def close(self) -> None:
        """Close handles; the next use reopens them."""
        self.reopen()
        self.catalogue.forget_handle()
        self.database.close()


def fit(
    table: MemoryTable,
    memories: Sequence[MemoryRecord],
    vectors: Sequence[Vector | None],
    identity: Identity | None,
) -> tuple[list[MemoryRecord], list[Vector | None]]:
    """Rows for a table, without vectors of another embedder; they are embedded later."""
    if identity is None or identity != table.generation.identity:
        return [replace(each, embedder="") for each in memories], [None] * len(memories)
    return list(memories), list(vectors)
