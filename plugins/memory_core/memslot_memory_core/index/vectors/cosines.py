"""Exact cosines, and the proof that the nearest rows are among those an engine proposed.

Engines compute in float32, each summing in its own order, and one may propose rows that this snapshot doesn't have. So
proposals are looked up among the canonical rows and rescored here, which gives the same rows, scores and order with
every engine.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from memslot_memory_core.index.vectors.engine import BEFORE_ALL, Hit, VectorTable, is_nonzero

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Rows = NDArray[np.float32]

_SPARE = 16
_WIDER = 4
_STEPS = 1e9
"""Cosines are rounded, so that equal vectors get equal scores by either method."""
_PLAIN_MULTIPLICATIONS = 1_000_000
"""Below this, plain Python is faster than importing numpy."""


@dataclass(frozen=True)
class Nearest:
    """An engine's nearest rows; `rest` bounds the cosine of all other rows, None if there are none."""

    rowids: Sequence[int]
    rest: float | None


def nearest_rows(
    dims: int, limit: int, propose: Callable[[int], Nearest], score: Callable[[Sequence[int]], Mapping[int, float]]
) -> list[Hit]:
    """The `limit` nearest rows; calls `propose(k)` with larger k until no other row can be among them.

    `score` returns the exact cosines of rows in this snapshot.
    """
    doubt = (dims + 8) * 2.0**-23  # error bound of a float32 dot product of this length
    cosine: dict[int, float] = {}
    asked: set[int] = set()
    wanted = limit + _SPARE
    while True:
        proposed = propose(wanted)
        new = [rowid for rowid in proposed.rowids if rowid not in asked]
        asked.update(new)
        cosine.update(score(new))
        best = sorted(cosine.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]
        if proposed.rest is None or (len(best) == limit and best[-1][1] > proposed.rest + doubt):
            return best
        wanted *= _WIDER


def cosines(db: apsw.Connection, table: VectorTable, query: bytes, rowids: Sequence[int]) -> dict[int, float]:
    """The cosines of these rows, without those that are missing or all zeros."""
    table.check(query, "the query")
    if not rowids or not is_nonzero(query):
        return {}
    rows = list(table.checked(table.by_ids(db, rowids)))
    blobs = [query, *(vector for _, vector in rows)]
    # A cold search should not pay for an import that takes longer than the rest of it.
    if "numpy" in sys.modules or len(blobs) * table.dims > _PLAIN_MULTIPLICATIONS:
        values = _with_numpy(blobs, table.dims)
    else:
        values = _with_python(blobs, table.dims)
    return {rowid: value for (rowid, _), value in zip(rows, values, strict=True)}


def _with_python(blobs: Sequence[bytes], dims: int) -> list[float]:
    """By the law of cosines: math.dist is five times as fast as multiplying in plain Python."""
    unpack = struct.Struct(f"<{dims}f").unpack
    query, *vectors = map(unpack, blobs)
    length = math.hypot(*query)
    values = []
    for vector in vectors:
        other, apart = math.hypot(*vector), math.dist(query, vector)
        value = (length * length + other * other - apart * apart) / (2 * length * other)
        values.append(round(min(1.0, max(-1.0, value)) * _STEPS) / _STEPS)
    return values


def _with_numpy(blobs: Sequence[bytes], dims: int) -> list[float]:
    import numpy

    return cosines_with_first(numpy.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dims))


def cosines_with_first(rows: Rows) -> list[float]:
    """The cosine of each row but the first with the first."""
    import numpy

    matrix = rows.astype(numpy.float64)
    lengths = numpy.sqrt((matrix * matrix).sum(axis=1))
    # Not a matrix product: BLAS may add up equal rows in different orders.
    values = (matrix[1:] * matrix[0]).sum(axis=1) / (lengths[1:] * lengths[0])
    rounded: list[float] = (numpy.rint(numpy.clip(values, -1.0, 1.0) * _STEPS) / _STEPS).tolist()
    return rounded


_AT_ONCE = 4096


class Scores:
    """The float32 cosine of every row with one query."""

    def __init__(self, ids: Ids, cosines: Rows) -> None:
        self._ids = ids
        self._cosines = cosines

    def nearest(self, wanted: int) -> Nearest:
        import numpy

        surplus = len(self._ids) - wanted
        if surplus <= 0:
            return Nearest(self._ids.tolist(), None)
        order = numpy.argpartition(self._cosines, surplus)
        # Elements before the partition point are not larger than the one at it.
        return Nearest(self._ids[order[surplus:]].tolist(), float(self._cosines[order[surplus]]))


def in_blocks(table: VectorTable, found: Iterable[tuple[int, bytes]]) -> Iterator[tuple[Ids, Rows]]:
    """Ids and vectors of nonzero rows, in blocks."""
    import numpy

    rows = table.checked(found)
    while block := list(islice(rows, _AT_ONCE)):
        ids, vectors = zip(*block, strict=True)
        matrix: Any = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, table.dims)
        yield numpy.array(ids, dtype=numpy.int64), matrix


def scan(db: apsw.Connection, table: VectorTable, query: bytes) -> Scores:
    """Compare the query with every canonical row of this snapshot, without caching."""
    import numpy

    vector = unit(query)
    ids = [numpy.empty(0, dtype=numpy.int64)]
    cosines = [numpy.empty(0, dtype=numpy.float32)]
    for numbers, rows in in_blocks(table, table.after(db, BEFORE_ALL)):
        ids.append(numbers)
        cosines.append(rows @ vector)
    return Scores(numpy.concatenate(ids), numpy.concatenate(cosines))


def unit(query: bytes) -> Rows:
    """The normalized query, so that a dot product is a cosine."""
    import numpy

    vector = numpy.frombuffer(query, dtype="<f4").astype(numpy.float64)
    return (vector / numpy.linalg.norm(vector)).astype(numpy.float32)
