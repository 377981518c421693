"""The cosines of many rows at once, with numpy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from memslot_memory_core.index.vectors.engine import BEFORE_ALL, VectorTable
from memslot_memory_core.index.vectors.exact import Nearest

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Rows = NDArray[np.float32]

_AT_ONCE = 4096


class Scores:
    """The cosine of every row with one query, good to 32 bits."""

    def __init__(self, ids: Ids, cosines: Rows) -> None:
        self._ids = ids
        self._cosines = cosines

    def nearest(self, wanted: int) -> Nearest:
        import numpy

        surplus = len(self._ids) - wanted
        if surplus <= 0:
            return Nearest(self._ids.tolist(), None)
        order = numpy.argpartition(self._cosines, surplus)
        # What stands before the split is not larger than the one on it.
        return Nearest(self._ids[order[surplus:]].tolist(), float(self._cosines[order[surplus]]))


def read_blocks(db: apsw.Connection, table: VectorTable, after: int = BEFORE_ALL) -> Iterator[tuple[Ids, Rows]]:
    """Ids and vectors of the rows with a larger id, some thousand at a time."""
    import numpy

    rows = table.checked(table.after(db, after))
    while block := list(islice(rows, _AT_ONCE)):
        ids, vectors = zip(*block, strict=True)
        matrix: Any = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, table.dims)
        yield numpy.array(ids, dtype=numpy.int64), matrix


def scan(db: apsw.Connection, table: VectorTable, query: bytes) -> Scores:
    """Compare the query with every canonical row of this snapshot; nothing is kept."""
    import numpy

    vector = unit(query)
    ids = [numpy.empty(0, dtype=numpy.int64)]
    cosines = [numpy.empty(0, dtype=numpy.float32)]
    for numbers, rows in read_blocks(db, table):
        ids.append(numbers)
        cosines.append(rows @ vector)
    return Scores(numpy.concatenate(ids), numpy.concatenate(cosines))


def unit(query: bytes) -> Rows:
    """The query with length 1, as the rows have it: then a product is a cosine."""
    import numpy

    vector = numpy.frombuffer(query, dtype="<f4").astype(numpy.float64)
    return (vector / numpy.linalg.norm(vector)).astype(numpy.float32)
