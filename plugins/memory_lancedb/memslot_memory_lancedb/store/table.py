"""One table of one agent. Every query carries the owner's condition; rows of others never leave this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.catalogue import Generation
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.lancedb_errors import translate_errors
from memslot_memory_lancedb.store.predicate import VECTORLESS, WORDLESS, Owner, has_any_id, has_id, quoted
from memslot_memory_lancedb.store.schema import COLUMNS, STEMS, from_row, stems_field, to_arrow, vectors_in

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

ALL_ROWS = 2**31
FRAGMENT_BITS = 32
"""A row address is the number of its data file, then its offset."""
PROBED_PARTITIONS = 24
REFINED = 10
"""Refine factor: an index is quantized, so this many candidates per result are rescored with full vectors."""
MOST_WORDLESS = 20_000
"""Most rows without stems that a search stems itself, as in a read-only store."""
_SCANNED_AT_ONCE = 5000
_NAMED_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class SearchRow:
    """A memory with its stems and its vector, if it has one."""

    memory: MemoryRecord
    stems: str
    vector: Vector | None


class MemoryTable:
    """The rows of one generation, as its owner sees them."""

    def __init__(self, database: Database, owner: Owner, generation: Generation, handle: Any) -> None:
        self.generation = generation
        self.owner = owner
        self.handle = handle
        self._database = database
        self._schema = handle.schema
        self._vectorless: tuple[int, int] | None = None
        self._wordless: tuple[int, tuple[SearchRow, ...]] | None = None

    # Reading

    def nearest(self, vector: Vector, limit: int) -> list[tuple[MemoryRecord, float]]:
        """The nearest memories with LanceDB's squared distance, nearest first."""
        query = (
            self.handle.search(vector, vector_column_name="vector")
            .distance_type("l2")
            .where(self.owner.where())
            .select([*COLUMNS, "_distance"])
            .nprobes(PROBED_PARTITIONS)
            .refine_factor(REFINED)
            .limit(limit)
        )
        found: dict[str, tuple[MemoryRecord, float]] = {}
        for row in self._rows(query):
            memory = from_row(self.owner, row)
            if memory is not None:
                found.setdefault(memory.id, (memory, row["_distance"]))
        return list(found.values())

    def near(self, vector: Vector, limit: int) -> list[SearchRow]:
        """The rows nearest to a unit vector, nearest first."""
        query = (
            self.handle.search(vector, vector_column_name="vector")
            .distance_type("l2")
            .nprobes(PROBED_PARTITIONS)
            .refine_factor(REFINED)
        )
        return self._search_rows(query, limit)

    def with_any_stem(self, stems: Sequence[str], limit: int) -> list[SearchRow]:
        """The rows with any of the stems, best first by BM25, including unindexed rows."""
        if not stems or not self.has_stems:
            return []
        query = self.handle.search(" ".join(stems), query_type="fts", fts_columns=STEMS)
        return self._search_rows(query, limit)

    def without_stems(self) -> tuple[SearchRow, ...]:
        """The rows without stored stems, stemmed here; cached until the next write."""
        from memslot.retrieval import index_stems

        version = self.version
        if self._wordless is None or self._wordless[0] != version:
            conditions = [WORDLESS] if self.has_stems else []
            rows = self._search_rows(self.handle.search(), MOST_WORDLESS, *conditions)
            stemmed = (SearchRow(row.memory, index_stems(row.memory.text), row.vector) for row in rows)
            self._wordless = (version, tuple(stemmed))
        return self._wordless[1]

    def count_without_stems(self) -> int:
        """Number of rows without stored stems."""
        return self.count(*([WORDLESS] if self.has_stems else []))

    def sample_vectors(self, size: int) -> list[Vector]:
        """Vectors of evenly spaced rows."""
        count: int = self._database.attempt(self.handle.count_rows)
        step = max(1.0, count / size)
        places = [int(number * step) for number in range(min(size, count))]
        if not places:
            return []
        query = self.handle.take_offsets(places).select(["agentId", "vector"])
        rows = self._database.attempt(query.to_arrow)
        owners = rows["agentId"].to_pylist()
        pairs = zip(owners, vectors_in(rows["vector"]), strict=True)
        return [vector for owner, vector in pairs if owner == self.owner.agent_id and vector is not None]

    def sample_rows(self, size: int) -> list[SearchRow]:
        """Evenly spaced rows."""
        step = max(1.0, self.count() / max(1, size))
        query = self.handle.search().where(self.owner.where()).select(["id"]).limit(ALL_ROWS)
        ids = sorted(row["id"] for row in self._rows(query))
        chosen = [ids[int(place * step)] for place in range(min(size, len(ids)))]
        return self._search_rows(self.handle.search(), len(chosen), has_any_id(chosen)) if chosen else []

    def sample_stems(self, size: int) -> list[str]:
        """The stored stems of up to `size` rows."""
        if not self.has_stems:
            return []
        query = self.handle.search().where(self.owner.where(f"NOT ({WORDLESS})")).select([STEMS]).limit(size)
        stems: list[str] = self._database.attempt(query.to_arrow)[STEMS].to_pylist()
        return stems

    @property
    def has_stems(self) -> bool:
        """Whether the table has the stems column; any process may add it to an older table."""
        if STEMS not in self._schema.names:
            self._schema = self._database.attempt(lambda: self.handle.schema)
        return STEMS in self._schema.names

    def _search_rows(self, query: Any, limit: int, *conditions: str) -> list[SearchRow]:
        wanted = [*COLUMNS, "vector", *([STEMS] if self.has_stems else [])]
        query = query.where(self.owner.where(*conditions)).select(wanted).limit(limit)
        found = self._database.attempt(query.to_arrow)
        rows = zip(found.select([*wanted[: len(COLUMNS)]]).to_pylist(), vectors_in(found["vector"]), strict=True)
        stems = found[STEMS].to_pylist() if self.has_stems else [None] * found.num_rows
        searched: dict[str, SearchRow] = {}
        for (row, vector), words in zip(rows, stems, strict=True):
            memory = from_row(self.owner, row)
            if memory is not None:
                searched.setdefault(memory.id, SearchRow(memory, words or "", vector))
        return list(searched.values())

    def get(self, memory_id: str) -> MemoryRecord | None:
        return next(iter(self.read(has_id(memory_id), limit=1)), None)

    def get_many(self, ids: Sequence[str]) -> list[MemoryRecord]:
        """The memories with these ids that exist, in the order of the ids."""
        found: dict[str, MemoryRecord] = {}
        for start in range(0, len(ids), _NAMED_AT_ONCE):
            part = ids[start : start + _NAMED_AT_ONCE]
            found.update((each.id, each) for each in self.read(has_any_id(part), limit=2 * len(part)))
        return [found[each] for each in ids if each in found]

    def with_text(self, text: str) -> MemoryRecord | None:
        """The memory with exactly this text."""
        if "\x00" in text:
            return next((each for each in self.scan() if each.text == text), None)
        return next(iter(self.read(f"`text` = {quoted(text)}", limit=1)), None)

    def read(self, *conditions: str, limit: int = ALL_ROWS) -> list[MemoryRecord]:
        """The memories that match conditions, unordered."""
        query = self.handle.search().where(self.owner.where(*conditions)).select(list(COLUMNS)).limit(limit)
        memories = (from_row(self.owner, row) for row in self._rows(query))
        return list({each.id: each for each in memories if each is not None}.values())

    def scan(self, *conditions: str) -> Iterator[MemoryRecord]:
        """All memories of one snapshot, streamed."""
        query = self.handle.search().where(self.owner.where(*conditions)).select(list(COLUMNS)).limit(ALL_ROWS)
        batches = self._database.attempt(lambda: query.to_batches(_SCANNED_AT_ONCE))
        while True:
            with translate_errors(self._database.place):  # no retry: the next batch would differ
                batch = next(batches, None)
            if batch is None:
                return
            for row in batch.to_pylist():
                memory = from_row(self.owner, row)
                if memory is not None:
                    yield memory

    def addresses(self) -> list[dict[str, Any]]:
        """Id, time of last change and `_rowid` of every row."""
        query = self.handle.search().where(self.owner.where()).select(["id", "updatedAt"]).with_row_id(True)
        return self._rows(query.limit(ALL_ROWS))

    def count_files(self) -> tuple[int, int]:
        """Number of data files, and the maximum rows in one."""
        versions = self._database.attempt(self.handle.list_versions)
        about = max(versions, key=lambda each: each["version"])["metadata"]
        return int(about["total_fragments"]), int(about["total_data_file_rows"])

    def read_file(self, number: int, longest: int) -> Iterator[MemoryRecord]:
        """The memories of one data file by address; other files are not read and may be damaged."""
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

    def count_without_vectors(self) -> int:
        """Number of memories without a vector; cached until the next write."""
        version = self.version
        if self._vectorless is None or self._vectorless[0] != version:
            self._vectorless = (version, self.count(VECTORLESS))
        return self._vectorless[1]

    @property
    def version(self) -> int:
        number: int = self._database.attempt(lambda: self.handle.version)
        return number

    # Writing

    def add(self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None]) -> None:
        """Add memories, all or none."""
        rows = self._arrow(memories, vectors)
        # Retries merge by id: a failed attempt may have written the rows.
        version = self._database.attempt(lambda: self.handle.add(rows), lambda: self._merge(rows)).version
        known = self._vectorless
        if known is not None and known[0] == version - 1:  # no other writes in between, so the sum is known
            self._vectorless = (version, known[1] + sum(vector is None for vector in vectors))

    def put(self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None]) -> None:
        """Add or replace memories by id, all or none. Idempotent."""
        if not memories:
            return
        rows = self._arrow(memories, vectors)
        self._database.attempt(lambda: self._merge(rows))

    def refresh(self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None]) -> None:
        """Set the vectors of memories that still exist unchanged."""
        rows = self._arrow(memories, vectors)
        same = "target.`updatedAt` = source.`updatedAt` AND target.`text` = source.`text`"
        merge = self.handle.merge_insert("id").when_matched_update_all(where=same)
        self._database.attempt(lambda: merge.execute(rows, on_bad_vectors="null"))

    def replace(self, memory: MemoryRecord, vector: Vector | None, was: MemoryRecord) -> bool:
        """Update a memory if it is unchanged; False if it was changed or deleted concurrently."""
        values = {
            "text": memory.text,
            "vector": None if vector is None else vector.tolist(),
            "category": memory.category,
            "importance": memory.importance,
            "updatedAt": memory.changed_at,
            "embedder": memory.embedder,
        }
        if self.has_stems:
            from memslot.retrieval import index_stems

            values[STEMS] = index_stems(memory.text)
        where = self.owner.where(has_id(memory.id), f"`updatedAt` = {_moment(was.changed_at)}")
        result = self._database.attempt(lambda: self.handle.update(where=where, values=values))
        return bool(result.rows_updated)

    def remove(self, ids: Sequence[str]) -> int:
        """Delete memories; returns how many existed."""
        removed = 0
        for start in range(0, len(ids), _NAMED_AT_ONCE):
            where = self.owner.where(has_any_id(ids[start : start + _NAMED_AT_ONCE]))
            removed += self._database.attempt(partial(self.handle.delete, where)).num_deleted_rows
        return removed

    def add_stems_column(self) -> None:
        """Add an empty stems column to an older table; safe with concurrent processes."""

        def add() -> None:
            if STEMS not in self.handle.schema.names:
                try:
                    self.handle.add_columns(stems_field())
                except ValueError as error:
                    if "already exists" not in str(error):
                        raise

        self._database.attempt(add)
        self._schema = self._database.attempt(lambda: self.handle.schema)

    def fill_stems(self, memories: Sequence[MemoryRecord]) -> None:
        """Store the stems of memories whose text is unchanged."""
        import pyarrow  # type: ignore[import-untyped]
        from memslot.retrieval import index_stems

        rows = pyarrow.table(
            {
                "id": [each.id for each in memories],
                "text": [each.text for each in memories],
                STEMS: [index_stems(each.text) for each in memories],
            }
        )
        same = f"target.`text` = source.`text` AND target.`agentId` = {quoted(self.owner.agent_id)}"
        merge = self.handle.merge_insert("id").when_matched_update_all(where=same)
        self._database.attempt(lambda: merge.execute(rows))

    def _arrow(self, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None]) -> Any:
        _ = self.has_stems  # another process may have added the column
        return to_arrow(self.owner, self._schema, memories, vectors)

    def _merge(self, rows: Any) -> Any:
        merge = self.handle.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        return merge.execute(rows, on_bad_vectors="null")

    def _rows(self, query: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._database.attempt(query.to_arrow).to_pylist()
        return rows


def _moment(moment: datetime) -> str:
    return f"timestamp '{moment:%Y-%m-%d %H:%M:%S.%f}'"
