"""Vectors in memory, in one block that grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memslot_memory_core.index.vectors.scores import Ids, Rows


@dataclass(frozen=True)
class View:
    """Ids and vectors at one moment; `is_snapshot` where they are those of the asking snapshot and no others."""

    ids: Ids
    rows: Rows
    is_ascending: bool
    is_snapshot: bool

    def find(self, rowids: Sequence[int]) -> tuple[list[int], Ids]:
        """Those of these ids that are here, and their places."""
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
    """Ids and vectors side by side. Rows are only ever appended, so that a view of them stays true."""

    def __init__(self, dims: int, room: int) -> None:
        import numpy

        self._ids: Ids = numpy.empty(max(room, 16), dtype=numpy.int64)
        # Memory that was never written to is not taken from the system.
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
        """Put rows behind the others, by id."""
        end = self._count + len(ids)
        if len(ids) and self._count and ids[0] <= self._ids[self._count - 1]:
            self._is_ascending = False
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
