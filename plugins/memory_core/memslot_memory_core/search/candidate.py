"""The input of ranking: candidates of both legs, and the query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from memslot.retrieval import ENGLISH, DateRange, WeightedTerm, find_dates, script_of

from memslot_memory_core.index.tokenizer import stems

if TYPE_CHECKING:
    from memslot_memory_core.index.bm25 import WeighedQuery

_UNSPACED = frozenset({"han", "kana", "hangul", "thai", "lao", "khmer", "myanmar"})


class UserLine(NamedTuple):
    """Scores of one user line in a transcript."""

    text_score: float
    z: float | None = None


class Candidate(NamedTuple):
    """A chunk with its exact scores from both legs.

    `text_r` is BM25 over all terms, 0 if none occurs. `z` is the z-score of its similarity, or of its best part's; None
    without a vector. `cosine` is that of the whole chunk, `part` that of its best part. `time` is the epoch time of a
    dated note or message; None for evergreen notes. `user_lines` is for transcripts: None if that leg did not run,
    empty without user lines.
    """

    id: int
    path: str
    source: str
    start_line: int
    end_line: int
    text: str
    text_r: float = 0.0
    z: float | None = None
    cosine: float | None = None
    part: float | None = None
    time: float | None = None
    user_lines: tuple[UserLine, ...] | None = None


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """A query as ranking needs it.

    `terms` excludes the words of dates in the question, which are in `dates`; `sum_idf` includes them, as the keyword
    leg does.
    """

    terms: tuple[WeightedTerm, ...]
    sum_idf: float = 0.0
    dates: tuple[DateRange, ...] = ()


def ranking_query(query: str, weighed: WeighedQuery, today: date | None = None) -> RankingQuery:
    """Build the ranking query from the weighed terms."""
    dates, rest = find_dates(query, today or date.today())
    said = set(stems(rest, ENGLISH)) if dates else None  # as a query's terms are
    asked = []
    for stem in weighed.idf:
        if said is not None and stem not in said:
            continue
        asked.append(
            WeightedTerm(
                stem,
                _weight(weighed.rows, weighed.frequency.get(stem, 0)),
                is_pair=script_of(stem) in _UNSPACED,
                share=weighed.shares.get(stem, 1.0),
                forms=weighed.forms_of(stem),
            )
        )
    for hint, frequency in weighed.hints.items():
        if said is None or hint in said:
            asked.append(WeightedTerm(hint, _weight(weighed.rows, frequency), is_pair=True, share=0.0))
    if not asked:  # the question is only a date
        asked = [WeightedTerm(stem, 1.0) for stem in weighed.idf]
    return RankingQuery(tuple(asked), weighed.sum_idf, dates)


def _weight(rows: int, frequency: int) -> float:
    """From an IDF that stays above 0: a name in most notes still says whom the question is about."""
    return math.sqrt(math.log(1 + (max(rows, frequency) - frequency + 0.5) / (frequency + 0.5)))
