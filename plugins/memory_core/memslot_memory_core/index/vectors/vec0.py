"""The sqlite-vec engine: vectors in blocks inside the database, brute force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memslot_memory_core.index.vectors.cosines import Nearest, cosines, nearest_rows, scan
from memslot_memory_core.index.vectors.engine import DIMS, Hit, State, VectorTable, is_nonzero

if TYPE_CHECKING:
    import apsw

_MOST = 4096
"""The largest k that sqlite-vec accepts."""

_BLOCK_NUMBERS = 128 * 1024
"""Half a megabyte: with the default of 1,024 rows, writing long vectors is ten times slower."""


class SqliteVecEngine:
    """A `vec0` table; exact."""

    name = "sqlite-vec"

    def __init__(self, table: VectorTable) -> None:
        if table.dims not in DIMS[self.name]:
            raise ValueError(f"sqlite-vec supports 1 to {DIMS[self.name][-1]} dimensions, not {table.dims}")
        self._table = table
        self._name = table.name
        self._block = min(1024, max(8, _BLOCK_NUMBERS // table.dims // 8 * 8))

    def search(self, db: apsw.Connection, query: bytes, limit: int, *, state: State) -> list[Hit]:
        self._table.check(query, "the query")
        if limit < 1 or not is_nonzero(query):
            return []
        return nearest_rows(
            self._table.dims,
            limit,
            lambda wanted: self._propose(db, query, wanted),
            lambda rowids: cosines(db, self._table, query, rowids),
        )

    def cosines(self, db: apsw.Connection, query: bytes, rowids: Sequence[int], *, state: State) -> dict[int, float]:
        return cosines(db, self._table, query, rowids)

    def _propose(self, db: apsw.Connection, query: bytes, wanted: int) -> Nearest:
        if wanted > _MOST:
            return scan(db, self._table, query).nearest(wanted)
        found = list(
            db.execute(f"SELECT rowid, distance FROM {self._name} WHERE embedding MATCH ? AND k = ?", (query, wanted))
        )
        rest = 1.0 - max(distance for _, distance in found) if len(found) == wanted else None
        return Nearest([rowid for rowid, _ in found], rest)

    def add(self, db: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
        db.executemany(f"INSERT INTO {self._name}(rowid, embedding) VALUES (?, ?)", self._table.checked(rows))

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None:
        db.executemany(f"DELETE FROM {self._name} WHERE rowid = ?", [(rowid,) for rowid in rowids])

    def create(self, db: apsw.Connection) -> None:
        db.execute(
            f"CREATE VIRTUAL TABLE {self._name} USING vec0("
            f"embedding float[{self._table.dims}] distance_metric=cosine, chunk_size={self._block})"
        )

    def fill(self, db: apsw.Connection) -> None:
        with db:
            self.add(db, self._table.after(db))

    def count(self, db: apsw.Connection) -> int | None:
        return int(db.execute(f"SELECT count(*) FROM {self._name}").get)

    def maintain(self, db: apsw.Connection) -> bool:
        """Rewrite the table once it is mostly holes: sqlite-vec frees a block only when it is empty."""
        blocks = int(db.execute(f"SELECT count(*) FROM {self._name}_chunks").get)
        if (blocks - 2) * self._block <= 2 * (self.count(db) or 0):
            return False
        with db:
            db.execute(f"DROP TABLE {self._name}")
            self.create(db)
            self.fill(db)
        return True
