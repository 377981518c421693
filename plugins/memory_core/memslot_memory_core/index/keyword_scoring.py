"""BM25 as FTS5 computes it, in a form that can be asked for single rows and for texts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memslot_memory_core.index.tokenizer import stems

if TYPE_CHECKING:
    import apsw

K1, B = 1.2, 0.75  # FTS5's own, which cannot be set
CEILING = K1 + 1  # times its idf: what one term can add to a row's score at most
LEAST_IDF = 1e-6
FEW_ROWS = 50
FUNCTION = "memslot_bm25"


def inverse_frequency(rows: int, frequency: int) -> float:
    """How much a term tells: FTS5's own formula, as if there were at least `FEW_ROWS` rows.

    In an index of three rows FTS5 gives each word that occurs at all next to nothing and one that does not occur
    a million times as much, so that a question with one unknown word would score zero against the perfect note.
    """
    rows = max(rows, FEW_ROWS)
    return max(LEAST_IDF, math.log((rows - frequency + 0.5) / (frequency + 0.5)))


@dataclass(frozen=True)
class Weighed:
    """A query's terms, weighed by an index.

    `asked` are the stems that occur in the index, rarest first, and `words` what they come from. `sum_idf` is over
    these and the ones that do not occur: what a row that holds everything would score, about. Of a pair of letters
    that may be no word, `shares` says how much of it counts there. `hints` are letters, and words that say little,
    with the number of rows that hold them: they are not asked for.
    """

    rows: int
    mean_length: float
    asked: tuple[str, ...]
    words: Mapping[str, str]
    frequency: Mapping[str, int]
    idf: Mapping[str, float]
    sum_idf: float
    shares: Mapping[str, float] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)

    def text_score(self, r: float) -> float:
        """A BM25 score as a share of what the query could reach: 0 to 1, comparable between queries."""
        return min(1.0, r / self.sum_idf) if self.sum_idf > 0 else 0.0

    def ceiling(self, terms: Sequence[str]) -> float:
        return CEILING * sum(self.idf[stem] for stem in terms)

    def score_text(self, text: str) -> float:
        """The BM25 score of a text as if found in the index: exact for a text that is in it."""
        counts: dict[str, int] = {}
        tokens = stems(text)
        wanted = self.frequency
        for token in tokens:
            if token in wanted:
                counts[token] = counts.get(token, 0) + 1
        usual = _usual_count(len(tokens), self.mean_length)
        return sum(self.idf[stem] * CEILING * count / (count + usual) for stem, count in counts.items())


def _usual_count(length: int, mean_length: float) -> float:
    return K1 * (1 - B + B * length / mean_length) if mean_length > 0 else K1


_running: dict[int, tuple[list[tuple[int, float]], float]] = {}
_keys = itertools.count()


def teach(db: apsw.Connection) -> None:
    """Make `FUNCTION` known to a connection: BM25 of a row, for weights that were handed over by `weights_for`.

    The built-in `bm25()` counts the rows of each term anew in every statement; here the counts are known already.
    """
    db.register_fts5_function(FUNCTION, _score_row)


@contextmanager
def weights_for(query: Weighed) -> Iterator[int]:
    """Hold a query's weights while a statement runs; gives the number that the statement passes to `FUNCTION`."""
    key = next(_keys)
    weights = [(phrase, CEILING * query.idf[stem]) for phrase, stem in enumerate(query.asked)]
    _running[key] = (weights, query.mean_length)
    try:
        yield key
    finally:
        del _running[key]


def _score_row(api: apsw.FTS5ExtensionApi, *arguments: apsw.SQLiteValue) -> float:
    weights, mean_length = _running[arguments[0]]  # type: ignore[index]
    usual = _usual_count(api.column_size(0), mean_length)
    total = 0.0
    for phrase, weight in weights:
        count = len(api.phrase_column_offsets(phrase, 0))
        if count:
            total += weight * count / (count + usual)
    return total
