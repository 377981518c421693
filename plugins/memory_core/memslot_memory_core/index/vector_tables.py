"""The vector tables of each generation: their engine, and keeping them in step with the chunks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import apsw

from memslot_memory_core.index.generation import Generation, Tables
from memslot_memory_core.index.part_vectors import PartIndex
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.vectors.engine import State, VectorEngine, VectorTable
from memslot_memory_core.index.vectors.engine_choice import choose_engine, make_engine
from memslot_memory_core.index.vectors.extensions import engine_of, is_usable, load

if TYPE_CHECKING:
    from memslot_memory_core.index.file_writer import Engines
    from memslot_memory_core.index.vectors.engine_choice import Choice, Wanted

    Kind = Literal["chunks", "turns"]
    GenerationKey = tuple[str | None, int]


_OFTEN = 3
_MEMORY_BYTES = 64_000_000
"""A process that searches more often than this keeps up to so many vectors in memory: three times as fast as any table,
with the same results."""


class VectorTables:
    """Selects vector engines and keeps their state between searches."""

    def __init__(self, wanted: Wanted = "auto", extension_path: str | None = None) -> None:
        self._wanted = wanted
        self._extension_path = extension_path
        self._lock = threading.Lock()
        self._engines: dict[tuple[GenerationKey, Kind, str], VectorEngine] = {}
        self._distrusted: set[int] = set()
        self._finders: dict[GenerationKey, PartIndex] = {}
        self._searches = 0

    def mark_broken(self, number: int) -> bool:
        """Mark this generation's tables as broken: they are not used, and the next sync recreates them.

        False if that was known already.
        """
        with self._lock:
            is_news = number not in self._distrusted
            self._distrusted.add(number)
            return is_news

    # For the writer

    def for_writing(self, db: apsw.Connection, generation: Generation) -> Engines:
        """The engines whose tables must follow each change; none without tables."""
        from memslot_memory_core.index.file_writer import Engines

        if generation.engine == "numpy" or _dims(generation) is None:
            return Engines()
        tables = dict(_tables(generation))
        lack = self._lack(db, generation)
        if lack is None and all(is_usable(db, table.name) for table in tables.values()):
            return Engines(
                make_engine(generation.engine, tables["chunks"]), make_engine(generation.engine, tables["turns"])
            )
        # Tables that can't be updated would go stale: search the vectors directly until a writer that can use the
        # tables recreates them.
        with transaction(db):
            self._note(db, generation.number, "numpy", f"{generation.engine} cannot be written here: {lack}")
        return Engines()

    def maintain(self, db: apsw.Connection, generation: Generation, *, changed: bool = True) -> None:
        """After a sync: select the engine for the current size, and optimize its tables."""
        choice = self._choose(db, generation)
        if choice is None:
            return
        engines = [make_engine(choice.name, table) for _, table in _tables(generation)]
        name, reason = choice.name, choice.reason
        in_shape = name == "numpy" or all(is_usable(db, table.name) for _, table in _tables(generation))
        if name != generation.engine or not in_shape:
            with transaction(db):
                if self.drop(db, generation.number):
                    for engine in engines:
                        engine.create(db)
                        engine.fill(db)
                    self._distrusted.discard(generation.number)
                else:
                    name, reason = "numpy", "tables of another engine exist that can't be loaded here"
                    engines = []
                self._note(db, generation.number, name, reason)
        elif reason != generation.engine_reason:
            with transaction(db):
                self._note(db, generation.number, name, reason)
        if changed:
            for engine in engines:
                with transaction(db):
                    engine.maintain(db)

    def needs_maintenance(self, db: apsw.Connection, generation: Generation) -> bool:
        """Whether `maintain` would switch engines; cheap."""
        choice = self._choose(db, generation)
        if choice is None:
            return False
        in_shape = choice.name == "numpy" or all(is_usable(db, table.name) for _, table in _tables(generation))
        return choice.name != generation.engine or not in_shape

    def _choose(self, db: apsw.Connection, generation: Generation) -> Choice | None:
        """The engine for the current size; None without vectors."""
        dims = _dims(generation)
        if dims is None:
            return None
        return choose_engine(
            self._wanted,
            rows=generation.chunks + generation.turns,  # those without a vector will get one
            dims=dims,
            loads=lambda name: self.load(db, name),
            current=generation.engine,
        )

    def drop(self, db: apsw.Connection, number: int) -> bool:
        """Drop a generation's vector tables; inside the caller's transaction. False if one can't be dropped."""
        is_gone = True
        tables = Tables(number)
        for table in (tables.vectors, tables.turn_vectors):
            name = engine_of(db, table)
            if name is None:
                continue
            try:
                if self.load(db, name) is None:
                    db.execute(f"DROP TABLE {table}")
                    continue
            except apsw.SQLError:  # how an extension reports an unreadable table
                pass
            is_gone = False
        return is_gone

    def _lack(self, db: apsw.Connection, generation: Generation) -> str | None:
        """Why a generation's tables are unusable here, if they are."""
        if generation.number in self._distrusted:
            return "its tables are damaged"
        return self.load(db, generation.engine)

    @staticmethod
    def _note(db: apsw.Connection, number: int, engine: str, reason: str) -> None:
        db.execute(
            "UPDATE generations SET engine = ?, engine_reason = ?, changes = changes + 1 WHERE id = ?",
            (engine, reason, number),
        )

    # For readers

    def for_reading(self, db: apsw.Connection, generation: Generation, kind: Kind) -> tuple[VectorEngine, str | None]:
        """The engine to search with, and why it is not the index's own, if so."""
        name, reason = generation.engine, None
        table = dict(_tables(generation))[kind]
        if name != "numpy":
            lack = self._lack(db, generation)
            if lack is not None or not is_usable(db, table.name):
                name, reason = "numpy", f"{generation.engine} cannot be used here: {lack}"
        with self._lock:
            self._searches += 1
            if self._wanted == "auto" and self._searches > _OFTEN and _bytes(generation, kind) <= _MEMORY_BYTES:
                name = "numpy"
            engine = self._engines.get((generation.key, kind, name))
            if engine is None:
                for key in [key for key in self._engines if _is_past(key[0], generation)]:
                    del self._engines[key]
                engine = self._engines[generation.key, kind, name] = make_engine(name, table)
        return engine, reason

    def part_index(self, generation: Generation) -> PartIndex:
        """The index over the parts of a generation's chunks."""
        with self._lock:
            finder = self._finders.get(generation.key)
            if finder is None:
                self._finders = {key: each for key, each in self._finders.items() if not _is_past(key, generation)}
                finder = self._finders[generation.key] = PartIndex(generation.tables)
            return finder

    def counts(self, db: apsw.Connection, generation: Generation) -> tuple[int, int] | None:
        """Row counts of the engine's tables; None without usable tables."""
        if generation.engine == "numpy" or _dims(generation) is None or self.load(db, generation.engine) is not None:
            return None
        tables = dict(_tables(generation))
        if not all(is_usable(db, table.name) for table in tables.values()):
            return None
        chunks, turns = (make_engine(generation.engine, tables[kind]).count(db) for kind in ("chunks", "turns"))
        return (chunks or 0, turns or 0)

    def load(self, db: apsw.Connection, name: str) -> str | None:
        """Load an engine on a connection; returns why that failed, or None."""
        return load(db, name, extension_path=self._extension_path)


def _is_past(key: GenerationKey, generation: Generation) -> bool:
    """Whether a generation is obsolete now that this one is searched."""
    file_id, number = key
    return file_id != generation.file_id or number < generation.number - 1


def state_of(generation: Generation, kind: Kind) -> State:
    """The state by which an engine notices that its cached vectors changed."""
    return generation.changes, generation.vectors if kind == "chunks" else generation.turn_vectors


def _tables(generation: Generation) -> Iterator[tuple[Kind, VectorTable]]:
    tables = generation.tables
    dims = _dims(generation) or 1
    for kind, name, rows in (("chunks", tables.vectors, tables.chunks), ("turns", tables.turn_vectors, tables.turns)):
        # A subquery forces a primary-key lookup; in a join, statistics could turn it into a scan per row.
        vector = "(SELECT vector FROM embeddings e WHERE e.id = r.embedding_id)"
        select = f"SELECT r.id, {vector} FROM {rows} r WHERE +r.embedding_id IS NOT NULL"
        waiting = f"SELECT min(id) FROM {rows} WHERE embedding_id IS NULL"
        yield kind, VectorTable(name, dims, select, waiting)  # type: ignore[misc]


def _bytes(generation: Generation, kind: Kind) -> int:
    return 4 * (_dims(generation) or 1) * state_of(generation, kind)[1]


def _dims(generation: Generation) -> int | None:
    dims = generation.identity.get("dims")
    return int(dims) if dims else None
