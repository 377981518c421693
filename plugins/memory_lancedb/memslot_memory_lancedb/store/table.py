"""One table of one agent. Every query carries the owner's condition; rows of others never leave this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memslot_memory_lancedb.memories import Remembered
from memslot_memory_lancedb.store.catalogue import Generation
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.faults import told_plainly
from memslot_memory_lancedb.store.predicate import VECTORLESS, Owner, has_any_id, has_id, quoted
from memslot_memory_lancedb.store.schema import COLUMNS, from_row, to_arrow

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

ALL_ROWS = 2**31
FRAGMENT_BITS = 32
"""A row's address is the number of its data file, then its place in it."""
PROBED_PARTITIONS = 24
REFINED = 10
"""An index stores rounded numbers: for each result wanted, this many are compared by their full vectors."""
_SCANNED_AT_ONCE = 5000
_NAMED_AT_ONCE = 500


class MemoryTable:
    """The rows of one generation, as its owner sees them."""

    def __init__(self, database: Database, owner: Owner, generation: Generation, handle: Any) -> None:
        self.generation = generation
        self.owner = owner
        self.handle = handle
        self._database = database
        self._schema = handle.schema
        self._vectorless: tuple[int, int] | None = None

    # Reading

    def nearest(self, vector: Vector, limit: int) -> list[tuple[Remembered, float]]:
        """The memories nearest to a vector, with LanceDB's squared distance; nearest first."""
        query = (
            self.handle.search(vector, vector_column_name="vector")
            .distance_type("l2")
            .where(self.owner.where())
            .select([*COLUMNS, "_distance"])
            .nprobes(PROBED_PARTITIONS)
            .refine_factor(REFINED)
            .limit(limit)
        )
        found: dict[str, tuple[Remembered, float]] = {}
        for row in self._rows(query):
            memory = from_row(self.owner, row)
            if memory is not None:
                found.setdefault(memory.id, (memory, row["_distance"]))
        return list(found.values())

    def get(self, memory_id: str) -> Remembered | None:
        return next(iter(self.read(has_id(memory_id), limit=1)), None)

    def get_many(self, ids: Sequence[str]) -> list[Remembered]:
        """Those of the ids that are there, in the order of the ids."""
        found: dict[str, Remembered] = {}
        for start in range(0, len(ids), _NAMED_AT_ONCE):
            part = ids[start : start + _NAMED_AT_ONCE]
            found.update((each.id, each) for each in self.read(has_any_id(part), limit=2 * len(part)))
        return [found[each] for each in ids if each in found]

    def with_text(self, text: str) -> Remembered | None:
        """The memory with exactly this text."""
        if "\x00" in text:
            return next((each for each in self.scan() if each.text == text), None)
        return next(iter(self.read(f"`text` = {quoted(text)}", limit=1)), None)

    def read(self, *conditions: str, limit: int = ALL_ROWS) -> list[Remembered]:
        """The memories that fulfil conditions, in no order."""
        query = self.handle.search().where(self.owner.where(*conditions)).select(list(COLUMNS)).limit(limit)
        memories = (from_row(self.owner, row) for row in self._rows(query))
        return list({each.id: each for each in memories if each is not None}.values())

    def scan(self, *conditions: str) -> Iterator[Remembered]:
        """All memories, read piece by piece; those of the moment it began."""
        query = self.handle.search().where(self.owner.where(*conditions)).select(list(COLUMNS)).limit(ALL_ROWS)
        batches = self._database.attempt(lambda: query.to_batches(_SCANNED_AT_ONCE))
        while True:
            with told_plainly(self._database.place):  # not tried again: the next batch would be another one
                batch = next(batches, None)
            if batch is None:
                return
            for row in batch.to_pylist():
                memory = from_row(self.owner, row)
                if memory is not None:
                    yield memory

    def addresses(self) -> list[dict[str, Any]]:
        """Of every row: its id, when it was last changed, and `_rowid`, which says where it lies."""
        query = self.handle.search().where(self.owner.where()).select(["id", "updatedAt"]).with_row_id(True)
        return self._rows(query.limit(ALL_ROWS))

    def count_files(self) -> tuple[int, int]:
        """How many data files there are, and the most rows that one of them can have."""
        versions = self._database.attempt(self.handle.list_versions)
        about = max(versions, key=lambda each: each["version"])["metadata"]
        return int(about["total_fragments"]), int(about["total_data_file_rows"])

    def read_file(self, number: int, longest: int) -> Iterator[Remembered]:
        """The memories of one data file, by their addresses: the other files are not touched and may be broken."""
        for start in range(0, longest, _SCANNED_AT_ONCE):
            part = range(start, min(start + _SCANNED_AT_ONCE, longest))
            addresses = [(number << FRAGMENT_BITS) + offset for offset in part]
            rows = self._rows(self.handle.take_row_ids(addresses).select(list(COLUMNS)))
            yield from (each for each in (from_row(self.owner, row) for row in rows) if each is not None)
            if not rows:
                return

    def columns(self, expressions: dict[str, str], *conditions: str) -> Any:
        """Computed columns of all rows, as an Arrow table."""
        query = self.handle.search().where(self.owner.where(*conditions)).select(expressions).limit(ALL_ROWS)
        return self._database.attempt(query.to_arrow)

    def changes(self) -> dict[str, datetime]:
        """When each memory was last changed, by id."""
        rows = self.columns({"id": "`id`", "updatedAt": "`updatedAt`"})
        return dict(zip(rows["id"].to_pylist(), rows["updatedAt"].to_pylist(), strict=True))

    def count(self, *conditions: str) -> int:
        number: int = self._database.attempt(lambda: self.handle.count_rows(self.owner.where(*conditions)))
        return number

    def count_vectorless(self) -> int:
        """How many memories no vector finds; counted again only when something was written."""
        version = self.version
        if self._vectorless is None or self._vectorless[0] != version:
            self._vectorless = (version, self.count(VECTORLESS))
        return self._vectorless[1]

    @property
    def version(self) -> int:
        number: int = self._database.attempt(lambda: self.handle.version)
        return number

    # Writing

    def add(self, memories: Sequence[Remembered], vectors: Sequence[Vector | None]) -> None:
        """Put memories in, all or none."""
        rows = to_arrow(self.owner, self._schema, memories, vectors)
        # Tried again by id: an attempt that failed may have got as far as to write the rows.
        version = self._database.attempt(lambda: self.handle.add(rows), lambda: self._merge(rows)).version
        counted = self._vectorless
        if counted is not None and counted[0] == version - 1:  # nobody else wrote in between, so the sum is known
            self._vectorless = (version, counted[1] + sum(vector is None for vector in vectors))

    def put(self, memories: Sequence[Remembered], vectors: Sequence[Vector | None]) -> None:
        """Put memories in, in place of those with the same ids; all or none. Doing it twice changes nothing."""
        if not memories:
            return
        rows = to_arrow(self.owner, self._schema, memories, vectors)
        self._database.attempt(lambda: self._merge(rows))

    def refresh(self, memories: Sequence[Remembered], vectors: Sequence[Vector | None]) -> None:
        """Give memories their vectors, but only where they are still there and unchanged."""
        rows = to_arrow(self.owner, self._schema, memories, vectors)
        same = "target.`updatedAt` = source.`updatedAt` AND target.`text` = source.`text`"
        merge = self.handle.merge_insert("id").when_matched_update_all(where=same)
        self._database.attempt(lambda: merge.execute(rows, on_bad_vectors="null"))

    def replace(self, memory: Remembered, vector: Vector | None, was: Remembered) -> bool:
        """Change a memory if it still is what it was; False where somebody else changed or removed it."""
        values = {
            "text": memory.text,
            "vector": None if vector is None else vector.tolist(),
            "category": memory.category,
            "importance": memory.importance,
            "updatedAt": memory.changed_at,
            "embedder": memory.embedder,
        }
        where = self.owner.where(has_id(memory.id), f"`updatedAt` = {_moment(was.changed_at)}")
        result = self._database.attempt(lambda: self.handle.update(where=where, values=values))
        return bool(result.rows_updated)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove memories; how many were there."""
        removed = 0
        for start in range(0, len(ids), _NAMED_AT_ONCE):
            where = self.owner.where(has_any_id(ids[start : start + _NAMED_AT_ONCE]))
            removed += self._database.attempt(partial(self.handle.delete, where)).num_deleted_rows
        return removed

    def _merge(self, rows: Any) -> Any:
        merge = self.handle.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        return merge.execute(rows, on_bad_vectors="null")

    def _rows(self, query: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._database.attempt(query.to_arrow).to_pylist()
        return rows


def _moment(moment: datetime) -> str:
    return f"timestamp '{moment:%Y-%m-%d %H:%M:%S.%f}'"
