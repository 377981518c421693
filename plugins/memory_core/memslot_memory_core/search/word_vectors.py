"""The vectors of single words, kept: for embedders that give one for next to nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.intp]

MOST_WORDS = 100_000  # 26 MB at 256 dimensions
_STEPS = 127.0
"""Each number of a vector is kept in one byte, so a cosine may be off by a hundredth; all words of a large index fit,
which means that a search asks the embedder for next to none."""


class WordVectors:
    """How alike words are; `embed` is a provider's own, asked once for each word. Upper case makes no difference."""

    def __init__(self, embed: Callable[[Sequence[str]], Any]) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._number: dict[str, int] = {}
        self._rows: NDArray[np.int8] | None = None
        self._scales: Matrix | None = None
        """What a row is multiplied by to have length 1; 0 for a word without a vector."""

    def cosines(self, asked: Sequence[str], said: Sequence[str]) -> tuple[Matrix, Numbers]:
        """Each asked word with each different word that is said, and for all that is said which column it has."""
        import numpy

        numbers, rows, scales = self._look_up([*said, *asked])
        is_met = numpy.zeros(len(rows), dtype=bool)
        is_met[numbers[: len(said)]] = True
        met = numpy.flatnonzero(is_met)
        column = numpy.empty(len(rows), dtype=numpy.intp)
        column[met] = numpy.arange(len(met))
        wanted = numbers[len(said) :]
        # Dot products by rows, which is twice as fast as by columns.
        found = rows.take(met, axis=0).astype(numpy.float32) @ (rows[wanted] * scales[wanted, numpy.newaxis]).T
        return (found * scales[met, numpy.newaxis]).T, column[numbers[: len(said)]]

    def _look_up(self, words: Sequence[str]) -> tuple[Numbers, NDArray[np.int8], Matrix]:
        """Each word's number, and everything by number; what is learnt later is put behind or into another matrix."""
        import numpy

        with self._lock:
            numbers = list(map(self._number.get, words))
            if None in numbers:
                self._learn(words)
                numbers = list(map(self._number.get, words))
            assert self._rows is not None
            assert self._scales is not None
            return numpy.array(numbers, dtype=numpy.intp), self._rows, self._scales

    def _learn(self, words: Sequence[str]) -> None:
        import numpy

        new = [word for word in dict.fromkeys(words) if word not in self._number]
        if self._rows is None or len(self._number) + len(new) > len(self._rows):
            self._number, self._rows = {}, None
            new = list(dict.fromkeys(words))
        vectors: Matrix = numpy.asarray(self._embed([word.lower() for word in new]), dtype=numpy.float32)
        if self._rows is None or self._scales is None:
            room = max(MOST_WORDS, len(new))  # what is never written to takes no memory
            self._rows = numpy.empty((room, vectors.shape[1]), dtype=numpy.int8)
            self._scales = numpy.empty(room, dtype=numpy.float32)
        largest = numpy.abs(vectors).max(axis=1, keepdims=True)
        rounded = numpy.rint(vectors * (_STEPS / numpy.where(largest > 0, largest, 1.0)))
        lengths = numpy.linalg.norm(rounded, axis=1)
        first, end = len(self._number), len(self._number) + len(new)
        self._rows[first:end] = rounded
        self._scales[first:end] = numpy.where(lengths > 0, 1.0 / numpy.where(lengths > 0, lengths, 1.0), 0.0)
        self._number.update(zip(new, range(first, end), strict=True))
