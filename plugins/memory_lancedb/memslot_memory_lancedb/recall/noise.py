"""How alike an embedder finds texts that have nothing to do with each other: whatever scores no better is noise."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path

from memslot import MemslotError, write_file

from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedder
from memslot_memory_lancedb.scores import FLOOR, score_of_cosine

UNRELATED = (
    "The bakery on the corner opens at six in the morning.",
    "I prefer working with the window open.",
    "Her brother plays the cello in an orchestra.",
    "We decided to use Postgres for the billing service.",
    "The flight to Lisbon leaves on Tuesday evening.",
    "My dentist is called Dr. Novak.",
    "The garden needs a new fence before spring.",
    "He is allergic to peanuts and shellfish.",
    "The quarterly report is due next Friday.",
    "I always take the train to the office.",
    "Our cat sleeps on top of the bookshelf.",
    "The deploy script fails when the disk is full.",
    "She studied chemistry in Vienna.",
    "I want to learn how to bake sourdough bread.",
    "The password policy asks for sixteen characters.",
    "Their favourite film is an old western.",
    "The meeting room on the second floor is booked.",
    "I run ten kilometres every Sunday.",
    "The printer in the hallway is out of toner.",
    "My sister lives in a small town near the sea.",
    "We will paint the kitchen yellow.",
    "The API returns dates in UTC.",
    "He collects stamps from Japan.",
    "The car needs winter tyres by November.",
)
"""Each about something else; any two of them are a pair of unrelated texts."""


class NoiseLevel:
    """The score of unrelated texts by the embedder in use: measured once for each, and kept in a file."""

    def __init__(self, embedder: Embedder, file: Path | None = None) -> None:
        self._embedder = embedder
        self._file = file
        self._lock = threading.Lock()
        self._levels: dict[str, float] | None = None

    @property
    def floor(self) -> float:
        """What a memory must score to come before a prompt unasked."""
        return max(FLOOR, self.level())

    def level(self) -> float:
        """The noise; 0 where it cannot be measured now."""
        identity = self._embedder.identity
        if identity is None:
            return 0.0
        with self._lock:
            levels = self._known()
            if identity.digest not in levels:
                try:
                    levels[identity.digest] = measure_noise(self._embedder)
                except MemslotError:
                    return 0.0
                self._keep(levels)
            return levels[identity.digest]

    def _known(self) -> dict[str, float]:
        if self._levels is None:
            self._levels = {}
            try:
                tree = json.loads(self._file.read_text(encoding="utf-8")) if self._file is not None else {}
                self._levels = {str(key): float(value) for key, value in tree.items()}
            except (OSError, ValueError, AttributeError, TypeError):
                pass  # measured again
        return self._levels

    def _keep(self, levels: dict[str, float]) -> None:
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # then it is measured again the next time
            write_file(self._file, json.dumps(levels), mode=0o600)


def measure_noise(embedder: Embedder) -> float:
    """The highest score that two of the unrelated texts get."""
    import numpy

    vectors = [each for each in embedder.embed_documents(UNRELATED, seconds=PATIENCE_SECONDS) if each is not None]
    if len(vectors) < 2:
        return 0.0
    matrix = numpy.asarray(vectors)
    cosines = (matrix @ matrix.T)[numpy.triu_indices(len(vectors), 1)]
    return score_of_cosine(min(1.0, float(cosines.max())))
