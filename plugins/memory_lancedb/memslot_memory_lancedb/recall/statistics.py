"""Table statistics: document frequencies of stems, and a sample of vectors."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memslot_memory_lancedb.store.table import MemoryTable

if TYPE_CHECKING:
    import numpy
    from memslot.retrieval import Background, MeaningScale
    from numpy.typing import NDArray

    Matrix = NDArray[numpy.float32]

Value = TypeVar("Value")
_COUNTED = 20_000
"""Rows whose stems are counted; more would hardly improve IDF."""
_GROWTH = 1.2
"""Statistics are reused until the table has grown or shrunk by this factor."""
_SMALL = 2_000
_MOST_BETWEEN = 200


class TermStatistics:
    """Document frequencies in a sample of texts; `is_complete` if it is all of them."""

    def __init__(self, texts: Iterable[str], *, is_complete: bool = False) -> None:
        self.is_complete = is_complete
        self._counts: Counter[str] = Counter()
        self.rows = self._length = 0
        for text in texts:
            stems = text.split()
            self._counts.update(set(stems))
            self._length += len(stems)
            self.rows += 1

    @property
    def mean_length(self) -> float:
        return self._length / self.rows if self.rows else 0.0

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._counts)

    def count(self, stems: Sequence[str]) -> dict[str, int]:
        return {stem: self._counts[stem] for stem in stems}

    def between(self, first: str, last: str) -> list[tuple[str, int]]:
        """The stems between two, by code point."""
        start, end = bisect_right(self._sorted, first), bisect_left(self._sorted, last)
        return [(stem, self._counts[stem]) for stem in self._sorted[start : min(end, start + _MOST_BETWEEN)]]


@dataclass(frozen=True, eq=False)
class VectorSample:
    """Sampled vectors, and their scale against the background."""

    vectors: Matrix
    background: Background | None
    scale: MeaningScale


@dataclass(frozen=True)
class _Cached(Generic[Value]):
    """Of a table at one time."""

    table: str
    version: int
    rows: int
    value: Value


class Statistics:
    """Cached statistics of the table searched last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._terms: _Cached[TermStatistics] | None = None
        self._sample: _Cached[VectorSample] | None = None

    def terms(self, table: MemoryTable, rows: int) -> TermStatistics:
        """Term statistics; a small table is recounted after each write."""
        version = table.version
        with self._lock:
            kept = self._terms
            if not _is_current(kept, table, rows) or (rows <= _SMALL and kept is not None and kept.version != version):
                stems = [*table.sample_stems(_COUNTED), *(row.stems for row in table.without_stems())]
                kept = self._terms = _Cached(
                    table.generation.table, version, rows, TermStatistics(stems, is_complete=rows <= _SMALL)
                )
            assert kept is not None
            return kept.value

    def scale(self, table: MemoryTable, rows: int, background: Background | None) -> MeaningScale:
        """Of the vectors."""
        with self._lock:
            kept = self._sample
            if not _is_current(kept, table, rows):
                kept = self._sample = None
            if kept is None or kept.value.background is not background:
                vectors = _sample(table) if kept is None else kept.value.vectors
                from memslot.retrieval import MeaningScale

                sample = VectorSample(vectors, background, MeaningScale(background, vectors))
                kept = self._sample = _Cached(table.generation.table, 0, rows, sample)
            return kept.value.scale


def _is_current(kept: _Cached[Any] | None, table: MemoryTable, rows: int) -> bool:
    if kept is None or kept.table != table.generation.table:
        return False
    return kept.rows / _GROWTH <= rows <= kept.rows * _GROWTH


def _sample(table: MemoryTable) -> Matrix:
    import numpy
    from memslot.retrieval import SAMPLE_SIZE

    identity = table.generation.identity
    vectors = table.sample_vectors(SAMPLE_SIZE) if identity is not None else []
    return numpy.asarray(vectors, dtype=numpy.float32).reshape(-1, identity.dims if identity is not None else 1)
