"""A cache of quantized word vectors, for embedders that compute single words at next to no cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memslot.retrieval.vocabulary import Vocabulary

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.intp]

_DIMS = 96
"""Longer vectors are truncated (Matryoshka): comparing words takes most of a search's time."""
_STEPS = 127.0
"""int8 quantization, good to a hundredth of a cosine, so that the words of a large index fit into memory."""
_LEAST_ROOM = 4096
_MOST_ASKED = 1000
_TINY = 1e-30


class WordVectors:
    """Cosines of words, ignoring case; `embed` is called once for each word."""

    def __init__(self, embed: Callable[[Sequence[str]], Any]) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._vocabulary: Vocabulary | None = None
        self._rows: NDArray[np.int8] | None = None
        self._scales: Matrix | None = None
        """By word number: the factor that normalizes its row; 0 without a vector, -1 before it is embedded."""
        self._asked: dict[str, Matrix] = {}

    def cosines(self, asked: Sequence[str], numbers: Numbers, vocabulary: Vocabulary) -> Matrix:
        """Cosines of the vocabulary's words with these numbers (rows) and the asked words (columns)."""
        import numpy

        queries = self._unit_rows(asked)
        with self._lock:
            rows, scales = self._look_up(numbers, vocabulary, queries.shape[1])
        # By rows, which is twice as fast as by columns.
        found = rows.take(numbers, axis=0).astype(numpy.float32) @ queries.T
        found *= scales.take(numbers)[:, numpy.newaxis]
        return found

    def _vectors(self, words: Sequence[str]) -> Matrix:
        import numpy

        return numpy.asarray(self._embed(words), dtype=numpy.float32)[:, :_DIMS]

    def _unit_rows(self, asked: Sequence[str]) -> Matrix:
        import numpy

        kept = self._asked
        words = [word.lower() for word in asked]
        new = [word for word in dict.fromkeys(words) if word not in kept]
        if new:
            rows = _quantized(self._vectors(new))
            lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
            made = dict(zip(new, rows / numpy.maximum(lengths, _TINY), strict=True))
            kept = {word: row for word, row in kept.items() if len(kept) < _MOST_ASKED or word in words} | made
            self._asked = kept  # other threads keep the one they have
        return numpy.stack([kept[word] for word in words])

    def _look_up(self, numbers: Numbers, vocabulary: Vocabulary, dims: int) -> tuple[NDArray[np.int8], Matrix]:
        """Rows and scales by word number; grown by copying, so that other threads may go on reading."""
        import numpy

        if self._vocabulary is not vocabulary or self._rows is None or self._scales is None:
            self._vocabulary = vocabulary
            self._rows = numpy.empty((0, dims), dtype=numpy.int8)
            self._scales = numpy.empty(0, dtype=numpy.float32)
        if len(vocabulary) > len(self._rows):
            room = max(_LEAST_ROOM, 2 * len(vocabulary))  # pages never written to take no memory
            rows = numpy.empty((room, dims), dtype=numpy.int8)
            scales = numpy.full(room, -1.0, dtype=numpy.float32)
            rows[: len(self._rows)], scales[: len(self._scales)] = self._rows, self._scales
            self._rows, self._scales = rows, scales
        new = numbers[self._scales.take(numbers) < 0]
        if len(new):
            self._learn(new, [vocabulary.words[number].lower() for number in new.tolist()])
        return self._rows, self._scales

    def _learn(self, numbers: Numbers, words: Sequence[str]) -> None:
        import numpy

        assert self._rows is not None
        assert self._scales is not None
        rows = _quantized(self._vectors(words))
        lengths = numpy.linalg.norm(rows, axis=1)
        self._rows[numbers] = rows
        self._scales[numbers] = numpy.where(lengths > 0, 1.0 / numpy.where(lengths > 0, lengths, 1.0), 0.0)


def _quantized(vectors: Matrix) -> Matrix:
    """Vectors scaled to whole numbers from -127 to 127."""
    import numpy

    largest = numpy.abs(vectors).max(axis=1, keepdims=True)
    rows: Matrix = numpy.rint(vectors * (_STEPS / numpy.where(largest > 0, largest, 1.0)))
    return rows
