"""BM25 of all matching rows, from FTS5's posting lists.

FTS5 spends most of its time looking up the length of each matching row. Here lengths are cached, posting lists are read
whole, and all rows are scored at once: a third of the time, and the score of any other row is known as well.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from memslot_memory_core.index.bm25 import CEILING, K1, B

if TYPE_CHECKING:
    import apsw

    from memslot_memory_core.index.bm25 import WeighedQuery

_OFTEN = 2
"""Searches of a large table before its lengths are loaded, so that a one-off process doesn't pay for it."""
_SMALL = 2_000
_PLAIN_ENTRIES = 20_000
"""Below this, plain Python is faster than importing numpy."""


class RowLengths:
    """Token counts of a table's rows, by id. Ids only grow and rows never change, so only new ones are read."""

    def __init__(self) -> None:
        self.words = array("I")
        self.searches = 0
        self._array: Any = None

    def read_new(self, db: apsw.Connection, table: str) -> None:
        rows = db.execute(f"SELECT id, sz FROM {table}_docsize WHERE id >= ? ORDER BY id", (len(self.words),))
        for rowid, size in rows:
            if rowid > len(self.words):
                self.words.extend([0] * (rowid - len(self.words)))
            self.words.append(_number(size))
            self._array = None

    def as_array(self) -> Any:
        import numpy

        if self._array is None:
            self._array = numpy.array(self.words, dtype=numpy.float32)  # exact up to 16 million words
        return self._array


def _number(record: bytes) -> int:
    """Decode an FTS5 varint."""
    value = 0
    for byte in record:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value


_known: WeakKeyDictionary[apsw.Connection, dict[str, RowLengths]] = WeakKeyDictionary()
_lock = threading.Lock()


class PostingScores:
    """The BM25 score of each row with any of the words."""

    def __init__(self, scores: Mapping[int, float]) -> None:
        self._scores = scores

    def best(self, limit: int) -> tuple[tuple[int, float], ...]:
        """The best rows, best first; ties by smaller id."""
        from heapq import nsmallest

        return tuple(nsmallest(limit, self._scores.items(), key=lambda hit: (-hit[1], hit[0])))

    def of(self, rowids: Sequence[int]) -> dict[int, float]:
        return {rowid: self._scores.get(rowid, 0.0) for rowid in rowids}


class NumpyPostingScores:
    """The same with numpy: an array of scores indexed by id."""

    def __init__(self, scores: Any) -> None:
        self._scores = scores

    def best(self, limit: int) -> tuple[tuple[int, float], ...]:
        import numpy

        ids = numpy.flatnonzero(self._scores)
        scores = self._scores[ids]
        if len(ids) > limit:
            surplus = len(ids) - limit
            chosen = scores >= numpy.partition(scores, surplus)[surplus]
            ids, scores = ids[chosen], scores[chosen]
        order = numpy.lexsort((ids, -scores))[:limit]
        return tuple(zip(ids[order].tolist(), scores[order].tolist(), strict=True))

    def of(self, rowids: Sequence[int]) -> dict[int, float]:
        known = [rowid for rowid in rowids if rowid < len(self._scores)]
        return dict.fromkeys(rowids, 0.0) | dict(zip(known, self._scores[known].tolist(), strict=True))


def score_postings(db: apsw.Connection, table: str, query: WeighedQuery) -> PostingScores | NumpyPostingScores | None:
    """All scores; None if loading the row lengths is not worth it yet."""
    import apsw

    if db.txn_state("main") == apsw.SQLITE_TXN_WRITE:  # uncommitted rows may be rolled back
        return None
    lengths = _lengths_of(db, table)
    lengths.searches += 1
    if query.rows > _SMALL and lengths.searches <= _OFTEN:
        return None
    lengths.read_new(db, table)
    entries = sum(query.frequency.values())
    if "numpy" in sys.modules or entries > _PLAIN_ENTRIES:
        return _with_numpy(db, table, query, lengths)
    return _with_python(db, table, query, lengths.words)


def _lengths_of(db: apsw.Connection, table: str) -> RowLengths:
    with _lock:
        tables = _known.setdefault(db, {})
        if table not in tables:
            # A temp table, as this connection may be read-only.
            made = f"temp.{table}_lists USING fts5vocab(main, {table}, instance)"
            db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {made}")
            tables[table] = RowLengths()
        return tables[table]


def _postings(db: apsw.Connection, table: str, query: WeighedQuery) -> Iterator[tuple[str, str]]:
    """Per stem, the ids of its rows, one per occurrence, comma-separated."""
    # One long string is read twice as fast as a row per posting.
    one = f"SELECT group_concat(doc) FROM temp.{table}_lists WHERE term = ?"
    many = "SELECT group_concat(doc) FROM (SELECT doc FROM ({}) ORDER BY doc)"
    each = f"SELECT doc FROM temp.{table}_lists WHERE term = ?"
    for stem in query.asked:
        forms = query.forms_of(stem)
        sql = one if len(forms) == 1 else many.format(" UNION ALL ".join([each] * len(forms)))
        listed = db.execute(sql, forms).get
        if listed:
            yield stem, listed


def _with_python(db: apsw.Connection, table: str, query: WeighedQuery, lengths: Sequence[int]) -> PostingScores:
    scores: dict[int, float] = {}
    least, slope = K1 * (1 - B), K1 * B / query.mean_length
    for stem, listed in _postings(db, table, query):
        weight = CEILING * query.idf[stem]
        for rowid, count in Counter(map(int, listed.split(","))).items():
            usual = least + slope * lengths[rowid]
            scores[rowid] = scores.get(rowid, 0.0) + weight * count / (count + usual)
    return PostingScores(scores)


def _with_numpy(db: apsw.Connection, table: str, query: WeighedQuery, lengths: RowLengths) -> NumpyPostingScores:
    import numpy

    held = dict(_postings(db, table, query))
    if not held:
        return NumpyPostingScores(numpy.zeros(1))
    stems, lists = list(held), list(held.values())
    entries = numpy.fromstring(",".join(lists), dtype=numpy.int64, sep=",")
    sizes = [listed.count(",") + 1 for listed in lists]
    # Postings are sorted, so a row's entries are adjacent.
    is_first = numpy.empty(len(entries), dtype=bool)
    numpy.not_equal(entries[1:], entries[:-1], out=is_first[1:])
    is_first[[0, *accumulate(sizes[:-1])]] = True
    first = numpy.flatnonzero(is_first)
    counts = numpy.diff(first, append=len(entries))
    weights = numpy.repeat([CEILING * query.idf[stem] for stem in stems], sizes)[first]
    rows = entries[first]
    words = lengths.as_array()
    usual = K1 * (1 - B) + K1 * B / query.mean_length * words[rows]
    return NumpyPostingScores(numpy.bincount(rows, weights * counts / (counts + usual), minlength=len(words)))
