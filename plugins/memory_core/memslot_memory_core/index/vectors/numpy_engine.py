"""The numpy engine: no extension, no table, all vectors in memory.

One matrix serves every connection of the process, though each may read another snapshot. It holds the rows of all
snapshots it was loaded from; rows missing in the current snapshot are dropped when candidates are looked up there. No
row is missed, because ids only grow. Say the matrix was loaded at change c, when all rows up to id t had their vectors.
A later snapshot's rows up to t had them at c, so they are in the matrix, and only rows beyond t need loading. For a
snapshot before c, the latest load not after it takes that role; without one, the snapshot is scanned directly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memslot_memory_core.index.vectors.cosines import (
    Scores,
    cosines,
    cosines_with_first,
    in_blocks,
    nearest_rows,
    scan,
    unit,
)
from memslot_memory_core.index.vectors.engine import BEFORE_ALL, Hit, State, VectorTable, is_nonzero

if TYPE_CHECKING:
    import apsw

    from memslot_memory_core.index.vectors.cosines import Ids, Rows


@dataclass(frozen=True)
class View:
    """Ids and vectors; `is_snapshot` if they are exactly those of the current snapshot."""

    ids: Ids
    rows: Rows
    is_ascending: bool
    is_snapshot: bool

    def find(self, rowids: Sequence[int]) -> tuple[list[int], Ids]:
        """The ids that are present, and their row numbers."""
        import numpy

        wanted = numpy.array(rowids, dtype=numpy.int64)
        if not self.is_ascending:
            places = numpy.flatnonzero(numpy.isin(self.ids, wanted))
            return self.ids[places].tolist(), places
        places = numpy.searchsorted(self.ids, wanted)
        is_here = places < len(self.ids)
        is_here[is_here] = self.ids[places[is_here]] == wanted[is_here]
        return wanted[is_here].tolist(), places[is_here]


class Matrix:
    """Ids and vectors in growing arrays. Rows are only appended, so views stay valid."""

    def __init__(self, dims: int, room: int) -> None:
        import numpy

        self._ids: Ids = numpy.empty(max(room, 16), dtype=numpy.int64)
        # Untouched pages are not allocated by the OS.
        self._rows: Rows = numpy.empty((max(room, 16), dims), dtype=numpy.float32)
        self._count = 0
        self._is_ascending = True

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> Ids:
        return self._ids[: self._count]

    @property
    def rows(self) -> Rows:
        return self._rows[: self._count]

    def view(self, is_snapshot: bool) -> View:
        return View(self.ids, self.rows, self._is_ascending, is_snapshot)

    def append(self, ids: Ids, rows: Rows) -> None:
        """Append rows, sorted by id."""
        end = self._count + len(ids)
        if len(ids) and self._count and ids[0] <= self._ids[self._count - 1]:
            self._is_ascending = False
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids)))
        self._ids[self._count : end] = ids
        self._rows[self._count : end] = rows
        self._count = end

    def keep(self, ids: Ids) -> Matrix:
        """A new matrix with only these ids."""
        import numpy

        stay = numpy.isin(self.ids, ids)
        count = int(stay.sum())
        kept = Matrix(self._rows.shape[1], count + count // 8)
        kept.append(self.ids[stay], self.rows[stay])
        return kept

    def _grow(self, room: int) -> None:
        import numpy

        ids = numpy.empty(room, dtype=self._ids.dtype)
        rows = numpy.empty((room, self._rows.shape[1]), dtype=self._rows.dtype)
        ids[: self._count], rows[: self._count] = self.ids, self.rows
        self._ids, self._rows = ids, rows


_READINGS = 64
_DEAD_SHARE, _DEAD_AT_LEAST = 0.15, 256


class NumpyEngine:
    """A matrix of all vectors; exact."""

    def __init__(self, table: VectorTable) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._matrix: Matrix | None = None
        self._settled: dict[int, int] = {}
        """By change counter, in order: the id up to which no vector was missing when the matrix was loaded."""
        self._absent = 0

    def search(self, db: apsw.Connection, query: bytes, limit: int, *, state: State) -> list[Hit]:
        self._table.check(query, "the query")
        if limit < 1 or not is_nonzero(query):
            return []
        view = self._snapshot_view(db, state)
        if view is None:
            scores = scan(db, self._table, query)
        else:
            scores = Scores(view.ids, view.rows @ unit(query))
        return nearest_rows(
            self._table.dims, limit, scores.nearest, lambda rowids: self._cosines(db, view, query, rowids)
        )

    def cosines(self, db: apsw.Connection, query: bytes, rowids: Sequence[int], *, state: State) -> dict[int, float]:
        self._table.check(query, "the query")
        if not rowids or not is_nonzero(query):
            return {}
        return self._cosines(db, self._snapshot_view(db, state), query, rowids)

    def add(self, db: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
        """Validate the rows; they are loaded by the next search."""
        for _ in self._table.checked(rows):
            pass

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None:
        """Nothing to do: rows missing from the canonical ones are never returned."""

    def create(self, db: apsw.Connection) -> None:
        """Nothing to do: there is no table."""

    def fill(self, db: apsw.Connection) -> None:
        """Nothing to do: rows are loaded by the next search."""

    def count(self, db: apsw.Connection) -> int | None:
        return None

    def maintain(self, db: apsw.Connection) -> bool:
        return False

    def _cosines(self, db: apsw.Connection, view: View | None, query: bytes, rowids: Sequence[int]) -> dict[int, float]:
        """The exact cosines, from memory if the matrix holds exactly this snapshot."""
        import numpy

        if view is None or not view.is_snapshot:
            return cosines(db, self._table, query, rowids)
        there, places = view.find(rowids)
        first = numpy.frombuffer(query, dtype="<f4")[numpy.newaxis]
        values = cosines_with_first(numpy.concatenate((first, view.rows[places])))
        return dict(zip(there, values, strict=True))

    def _snapshot_view(self, db: apsw.Connection, state: State) -> View | None:
        import apsw

        inside = db.txn_state("main")
        if inside == apsw.SQLITE_TXN_NONE:
            raise RuntimeError("a vector search must run in the transaction in which its state was read")
        # Uncommitted rows may be rolled back and their ids reused.
        return None if inside == apsw.SQLITE_TXN_WRITE else self._view(db, state)

    def _view(self, db: apsw.Connection, state: State) -> View | None:
        """A superset of this snapshot's rows; None if not cached."""
        changes, count = state
        with self._lock:
            if self._matrix is None:
                self._read_all(db, state)
            elif changes not in self._settled:
                before = [each for each in self._settled if each < changes]
                if not before:
                    return None
                newest = changes > max(self._settled)
                settled = self._read_new(db, self._matrix, self._settled[max(before)])
                self._settled = dict(sorted({**self._settled, changes: settled}.items())[-_READINGS:])
                if newest:
                    self._compact(db, state)
            assert self._matrix is not None
            if len(self._matrix) + self._absent < count:
                # A row was added with an id that is not the largest; better slow than incomplete.
                self._read_all(db, state)
            # Loaded at this change or before it, with as many rows: then they are the same.
            is_snapshot = changes == max(self._settled) and len(self._matrix) + self._absent == count
            return self._matrix.view(is_snapshot)

    def _read_all(self, db: apsw.Connection, state: State) -> None:
        changes, count = state
        matrix = Matrix(self._table.dims, count + count // 8)
        self._settled = {changes: self._read_new(db, matrix, BEFORE_ALL)}
        self._matrix = matrix
        self._absent = max(0, count - len(matrix))

    def _read_new(self, db: apsw.Connection, matrix: Matrix, after: int) -> int:
        """Append rows with a larger id; returns the id up to which no vector is missing."""
        table = self._table
        ids = table.ids_after(db, after)
        known = set(matrix.ids[matrix.ids > after].tolist())
        new = [rowid for rowid in ids if rowid not in known]
        for numbers, rows in in_blocks(table, table.by_ids(db, new) if known else table.after(db, after)):
            matrix.append(numbers, rows)
        return table.settled(db, ids[-1] if ids else after)

    def _compact(self, db: apsw.Connection, state: State) -> None:
        """Drop deleted rows once there are many: checking all ids is not worth it before."""
        import numpy

        assert self._matrix is not None
        changes, count = state
        dead = len(self._matrix) - count
        if dead < max(_DEAD_AT_LEAST, _DEAD_SHARE * len(self._matrix)):
            return
        self._matrix = self._matrix.keep(numpy.array(self._table.ids(db), dtype=numpy.int64))
        # Older snapshots may still contain dropped rows.
        self._settled = {changes: self._settled[changes]}
