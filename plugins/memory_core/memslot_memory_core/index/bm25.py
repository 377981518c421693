"""BM25 as FTS5 computes it, for single rows and for texts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from memslot_memory_core.index.tokenizer import stems

if TYPE_CHECKING:
    import apsw

K1, B = 1.2, 0.75  # FTS5's constants, which can't be changed
CEILING = K1 + 1  # times its idf: the most a term can add to a row's score
LEAST_IDF = 1e-6
FEW_ROWS = 50
FUNCTION = "memslot_bm25"


def inverse_frequency(rows: int, frequency: int) -> float:
    """IDF by FTS5's formula, as if there were at least `FEW_ROWS` rows.

    In a tiny index FTS5 gives present words almost no weight and unknown words nearly all of it, so a question with one
    unknown word would score zero against the perfect note.
    """
    rows = max(rows, FEW_ROWS)
    return max(LEAST_IDF, math.log((rows - frequency + 0.5) / (frequency + 0.5)))


@dataclass(frozen=True)
class WeighedQuery:
    """A query's terms with their weights in one index.

    `asked` are the stems to search for that occur in the index, rarest first, and `words` their words. `sum_idf` also
    includes those that do not occur; it is about the score of a row that contains everything. `shares` is the weight
    of a letter pair that may not be a word. `hints` are single letters and low-information words, with their document
    frequency; they are not searched for. `forms` are the stems that count as one term, if it has more than its own:
    those in other languages, and compounds that contain it.
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
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def forms_of(self, stem: str) -> tuple[str, ...]:
        """The stems that count as this term and occur in the index."""
        return self.forms.get(stem, (stem,))

    def text_score(self, r: float) -> float:
        """A BM25 score relative to the query's maximum: 0 to 1, comparable between queries."""
        return min(1.0, r / self.sum_idf) if self.sum_idf > 0 else 0.0

    def ceiling(self, terms: Sequence[str]) -> float:
        return CEILING * sum(self.idf[stem] for stem in terms)

    def score_text(self, text: str) -> float:
        """The BM25 score of a text; exact if the text is in the index."""
        counts: dict[str, int] = {}
        tokens = stems(text)
        wanted: dict[str, list[str]] = {}
        for stem in self.asked:
            for form in self.forms_of(stem):
                wanted.setdefault(form, []).append(stem)
        for token in tokens:
            for stem in wanted.get(token, ()):
                counts[stem] = counts.get(stem, 0) + 1
        usual = _usual_count(len(tokens), self.mean_length)
        return sum(self.idf[stem] * CEILING * count / (count + usual) for stem, count in counts.items())


def _usual_count(length: int, mean_length: float) -> float:
    return K1 * (1 - B + B * length / mean_length) if mean_length > 0 else K1


_running: dict[int, tuple[list[tuple[range, float]], float]] = {}
"""Per running statement: each term's phrases and weight, and the mean row length."""
_keys = itertools.count()


def register_bm25(db: apsw.Connection) -> None:
    """Register `FUNCTION` on a connection: BM25 of a row, with the weights set by `weights_for`.

    The built-in `bm25()` recounts each term's rows in every statement; here the counts are known.
    """
    db.register_fts5_function(FUNCTION, _score_row)


@contextmanager
def weights_for(query: WeighedQuery, asked: Sequence[str]) -> Iterator[int]:
    """Provide term weights while a statement runs; yields the key to pass to `FUNCTION`.

    The statement's phrases are the forms of these terms, in this order.
    """
    key = next(_keys)
    ends = accumulate(len(query.forms_of(stem)) for stem in asked)
    weights = [
        (range(end - len(query.forms_of(stem)), end), CEILING * query.idf[stem])
        for stem, end in zip(asked, ends, strict=True)
    ]
    _running[key] = (weights, query.mean_length)
    try:
        yield key
    finally:
        del _running[key]


def _score_row(api: apsw.FTS5ExtensionApi, *arguments: apsw.SQLiteValue) -> float:
    weights, mean_length = _running[arguments[0]]  # type: ignore[index]
    usual = _usual_count(api.column_size(0), mean_length)
    total = 0.0
    for phrases, weight in weights:
        count = sum(len(api.phrase_column_offsets(phrase, 0)) for phrase in phrases)
        if count:
            total += weight * count / (count + usual)
    return total
