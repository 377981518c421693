"""What comes into ranking: the candidates of both legs, and the query they are for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memslot_memory_core.index.keyword_scripts import script_of
from memslot_memory_core.index.terms import stems
from memslot_memory_core.search.date_words import signs_of_dates

if TYPE_CHECKING:
    from datetime import date

    from memslot_memory_core.index.keyword_scoring import Weighed
    from memslot_memory_core.index.terms import QueryTerms
    from memslot_memory_core.search.dates import AskedDate


_UNSPACED = frozenset({"han", "kana", "hangul", "thai", "lao", "khmer", "myanmar"})


class UserLine(NamedTuple):
    """How well one of the user's own lines in a transcript fits, by each leg."""

    text_score: float
    cosine: float | None = None


class Candidate(NamedTuple):
    """A chunk that may answer, with the exact score of both legs.

    `text_r` is BM25 over all terms, 0 where none occurs; `cosine` is None where the chunk has no vector. `time` is
    when it was written, in seconds of the epoch, for dated notes and messages; None for what is always true.
    `user_lines` belongs to transcripts: None where that leg did not run, empty where the user says nothing.
    """

    id: int
    path: str
    source: str
    start_line: int
    end_line: int
    text: str
    text_r: float = 0.0
    cosine: float | None = None
    time: float | None = None
    user_lines: tuple[UserLine, ...] | None = None


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of the query: as the index holds it, as it was written, and its weight when lines are compared.

    `is_known` says whether any chunk holds it. `has_meaning` is false where a similar word is no answer: for numbers
    and other scripts. `is_pair` marks letters out of a run without spaces: they may be a word, or the end of one and
    the beginning of another; `share` says how likely they are a word, which is how much their absence counts.
    """

    stem: str
    word: str
    weight: float
    rarity: float
    has_meaning: bool = True
    is_pair: bool = False
    is_known: bool = True
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """A query as ranking needs it.

    `terms` leaves out the words of a date in the question, which `dates` holds; `sum_idf` is over all of them, as
    the keyword leg searched for all.
    """

    terms: tuple[AskedTerm, ...]
    phrases: tuple[tuple[str, str], ...] = ()
    sum_idf: float = 0.0
    dates: tuple[AskedDate, ...] = ()
    scripts: frozenset[str] = frozenset()


def ranking_query(query: str, terms: QueryTerms, weighed: Weighed, today: date | None = None) -> RankingQuery:
    """Prepare a query whose terms the keyword index has weighed."""
    dates, rest = _dates_in(query, today)
    said = set(stems(rest)) if dates else None
    written = {term.stem: term for term in terms.terms}
    asked = []
    for stem in weighed.idf:
        if said is not None and stem not in said:
            continue
        term = written.get(stem)
        frequency = weighed.frequency.get(stem, 0)
        rarity = _rarity(weighed.rows, frequency)
        asked.append(
            AskedTerm(
                stem,
                term.word if term else stem,
                math.sqrt(rarity),
                rarity,
                has_meaning=term is not None and term.script == "latin" and not term.number,
                is_pair=script_of(stem) in _UNSPACED,
                is_known=frequency > 0,
                share=weighed.shares.get(stem, 1.0),
            )
        )
    for hint, frequency in weighed.hints.items():
        if said is None or hint in said:
            rarity = _rarity(weighed.rows, frequency)
            asked.append(AskedTerm(hint, hint, math.sqrt(rarity), rarity, has_meaning=False, is_pair=True, share=0.0))
    if not asked:  # the question is nothing but a date
        asked = [AskedTerm(stem, stem, 1.0, 1.0, has_meaning=False) for stem in weighed.idf]
    kept = {term.stem for term in asked}
    phrases = tuple(pair for pair in terms.phrases if kept.issuperset(pair))
    return RankingQuery(tuple(asked), phrases, weighed.sum_idf, dates, terms.scripts)


def _dates_in(query: str, today: date | None) -> tuple[tuple[AskedDate, ...], str]:
    """The dates that a question names, and the question without them."""
    if not signs_of_dates(query).may_be_a_date:
        return (), query
    from datetime import date

    from memslot_memory_core.search.dates import find_dates

    return find_dates(query, today or date.today())


def _rarity(rows: int, frequency: int) -> float:
    """An idf that stays above 0: a name that is in most notes still tells whom the question is about."""
    return math.log(1 + (max(rows, frequency) - frequency + 0.5) / (frequency + 0.5))
