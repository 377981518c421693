"""The vec1 engine: exact for small tables, a trained (IVF) index for large ones.

The trained index clusters the vectors and compares those in the clusters nearest to the query. It stores full vectors,
not quantized ones, so results keep their exact order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memslot_memory_core.index.vectors.cosines import Nearest, cosines, nearest_rows
from memslot_memory_core.index.vectors.engine import DIMS, Hit, State, VectorTable, is_nonzero

if TYPE_CHECKING:
    import apsw

TRAINED_FROM_NUMBERS, TRAINED_FROM_ROWS = 51_200_000, 100_000
"""A table is trained once it has this many values (a full scan takes about 50 ms) and this many rows (with fewer,
clusters are so coarse that too many neighbours lie outside the probed ones)."""

_PROBED = 0.5
"""The share of clusters to probe. With 50,000 and 100,000 passages of real text it finds .998 and .999 of the 24 rows
nearest to a question, .982 and .989 of those nearest to a few words without context, in about 60 % of the time of a
full scan."""

_ALL_GROUPS = 1_000_000
_MOST_GROUPS = 4096
_MOST = 32 * 1024 * 1024
_SAMPLE_PER_GROUP = 32
_GROWN = 4
_FEWEST_ROWS = 1024  # vec1 makes at least 32 clusters, and needs some vectors for each


class Vec1Engine:
    """A `vec1` table."""

    name = "vec1"

    def __init__(self, table: VectorTable, *, trained_from: int | None = None) -> None:
        if table.dims not in DIMS[self.name]:
            raise ValueError(f"vec1 supports 2 to {DIMS[self.name][-1]} dimensions, not {table.dims}")
        self._table = table
        self._name = table.name
        if trained_from is None:
            trained_from = max(TRAINED_FROM_ROWS, TRAINED_FROM_NUMBERS // table.dims)
        self._train_at = max(trained_from, _FEWEST_ROWS)

    def search(self, db: apsw.Connection, query: bytes, limit: int, *, state: State) -> list[Hit]:
        self._table.check(query, "the query")
        if limit < 1 or not is_nonzero(query):
            return []
        _, rows = state
        return nearest_rows(
            self._table.dims,
            limit,
            lambda wanted: self._propose(db, query, wanted, rows),
            lambda rowids: cosines(db, self._table, query, rowids),
        )

    def cosines(self, db: apsw.Connection, query: bytes, rowids: Sequence[int], *, state: State) -> dict[int, float]:
        return cosines(db, self._table, query, rowids)

    def _propose(self, db: apsw.Connection, query: bytes, wanted: int, rows: int) -> Nearest:
        wanted = min(wanted, _MOST)
        # The nearest clusters don't contain enough rows for a large k.
        probed = _PROBED if wanted < rows // 16 else _ALL_GROUPS
        found = self._ask(db, query, wanted, probed)
        if len(found) < wanted and probed != _ALL_GROUPS:
            found = self._ask(db, query, wanted, _ALL_GROUPS)
        if len(found) < wanted or wanted == _MOST:
            return Nearest([rowid for rowid, _ in found], None)
        return Nearest([rowid for rowid, _ in found], 1.0 - max(distance for _, distance in found))

    def _ask(self, db: apsw.Connection, query: bytes, wanted: int, probed: float) -> list[tuple[int, float]]:
        settings = json.dumps({"k": wanted, "nprobe": probed})
        return list(db.execute(f"SELECT rowid, distance FROM {self._name}(?, ?)", (query, settings)))

    def add(self, db: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
        # vec1 buffers new rows until a transaction or savepoint ends; with one, the writer finds its own rows.
        with db:
            db.executemany(f"INSERT INTO {self._name}(rowid, vector) VALUES (?, ?)", self._table.checked(rows))

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None:
        db.executemany(f"DELETE FROM {self._name} WHERE rowid = ?", [(rowid,) for rowid in rowids])

    def create(self, db: apsw.Connection) -> None:
        db.execute(f"CREATE VIRTUAL TABLE {self._name} USING vec1(vector)")
        self._make_flat(db)

    def fill(self, db: apsw.Connection) -> None:
        self.add(db, self._table.after(db))

    def count(self, db: apsw.Connection) -> int | None:
        return int(db.execute(f"SELECT count(*) FROM {self._name}").get)

    def maintain(self, db: apsw.Connection) -> bool:
        """Train a large table, retrain it when it has quadrupled, and make a small one exact again."""
        rows = self.count(db) or 0
        groups = self._groups(db)
        if groups and rows < self._train_at // 2:
            self._make_flat(db)
            return True
        # The number of clusters tells how many rows it was trained with.
        due = rows >= _GROWN * (groups / 2) ** 2 and groups < _MOST_GROUPS if groups else rows >= self._train_at
        if due:
            self._train(db, min(_MOST_GROUPS, 2 * math.isqrt(rows)))
        return due

    def _train(self, db: apsw.Connection, groups: int) -> None:
        ids = self._table.ids(db)
        sample = ids[:: max(1, len(ids) // (groups * _SAMPLE_PER_GROUP))]
        settings = json.dumps({"nbucket": groups, "codesize": 0, "distance": "cos"})
        sql = self._table.select("vec1_train(vector, ?)", "id IN (SELECT value FROM json_each(?))")
        # Training only reads; the write lock is held from here on.
        self._rebuild(db, db.execute(sql, (settings, json.dumps(sample))).get)

    def _make_flat(self, db: apsw.Connection) -> None:
        self._rebuild(db, json.dumps({"index": "flat", "distance": "cos"}))

    def _rebuild(self, db: apsw.Connection, shape: str | bytes) -> None:
        db.execute(f"INSERT INTO {self._name}(cmd, arg) VALUES ('rebuild', ?)", (shape,))

    def _groups(self, db: apsw.Connection) -> int:
        """Number of trained clusters; 0 if untrained."""
        model = db.execute("SELECT model FROM vec1cat WHERE database = 'main' AND name = ?", (self._name,)).get
        return int(json.loads(model).get("nbucket", 0)) if model else 0
