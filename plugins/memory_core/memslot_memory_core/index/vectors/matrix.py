"""Vectors in memory, in one block that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memslot_memory_core.index.vectors.scores import Ids, Rows


class Matrix:
    """Ids and vectors side by side. Rows are only ever appended, so that a view of them stays true."""

    def __init__(self, dims: int, room: int) -> None:
        import numpy

        self._ids: Ids = numpy.empty(max(room, 16), dtype=numpy.int64)
        # Memory that was never written to is not taken from the system.
        self._rows: Rows = numpy.empty((max(room, 16), dims), dtype=numpy.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> Ids:
        return self._ids[: self._count]

    @property
    def rows(self) -> Rows:
        return self._rows[: self._count]

    def append(self, ids: Ids, rows: Rows) -> None:
        end = self._count + len(ids)
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids)))
        self._ids[self._count : end] = ids
        self._rows[self._count : end] = rows
        self._count = end

    def keep(self, ids: Ids) -> Matrix:
        """A new matrix with those of the rows that have one of these ids."""
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
