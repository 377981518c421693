"""The vectors of single words, kept: for embedders that give one for next to nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MOST_WORDS = 20_000  # 20 MB at 256 dimensions


class WordVectors:
    """Unit vectors by word; `embed` is a provider's own, asked once for each word."""

    def __init__(self, embed: Callable[[Sequence[str]], Any]) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._row: dict[str, int] = {}
        self._rows: Matrix | None = None

    def rows(self, words: Sequence[str]) -> Matrix:
        """One row for each word."""
        import numpy

        with self._lock:
            new = [word for word in dict.fromkeys(words) if word not in self._row]
            if new:
                if len(self._row) + len(new) > MOST_WORDS:
                    self._row, self._rows = {}, None
                    new = list(dict.fromkeys(words))
                self._add(numpy.asarray(self._embed(new), dtype=numpy.float32), new)
            assert self._rows is not None or not words
            if self._rows is None:
                return numpy.zeros((0, 0), dtype=numpy.float32)
            taken: Matrix = self._rows.take([self._row[word] for word in words], axis=0)
            return taken

    def _add(self, vectors: Matrix, words: Sequence[str]) -> None:
        import numpy

        used = len(self._row)
        needed = used + len(words)
        if self._rows is None or len(self._rows) < needed:
            grown = numpy.zeros((max(1024, needed + needed // 2), vectors.shape[1]), dtype=numpy.float32)
            if self._rows is not None:
                grown[:used] = self._rows[:used]
            self._rows = grown
        self._rows[used:needed] = vectors
        self._row.update((word, used + number) for number, word in enumerate(words))
