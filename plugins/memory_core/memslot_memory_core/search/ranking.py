"""The last word on order: fused scores, a closer look at the best, age, variety, and what is good enough to show.

Everything in a score is absolute, so that a query without a good answer gets low ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from memslot.retrieval import (
    Evidence,
    Matcher,
    Shortlist,
    Weights,
    fuse_by_rank,
    fuse_weighted,
    gather_evidence,
    ranks,
    text_score,
)

from memslot_memory_core.index.tokenizer import FTS5, stems
from memslot_memory_core.search import explain
from memslot_memory_core.search.candidate import Candidate, RankingQuery
from memslot_memory_core.search.explain import Explanation

if TYPE_CHECKING:
    Gather = Callable[[Sequence[str], Matcher], list[Evidence]]

LOOKED_AT = 30
"""Candidates whose lines are read. Who asks for more results has more of them read, and these come behind: asking for
more must not change what is on top."""

# Chosen on the long conversations of benchmarks/quality. Round numbers: around them little changes.
_FUSED, _PASSAGE, _PHRASE, _LABEL, _DATE = 0.5, 0.5, 0.1, 0.05, 0.25
_SHARPNESS = 1.25
"""Every two texts are alike to some degree, if only in tone. This keeps such likeness below the floor of 0.25, and
moves no rank."""

_UNSPACED_SHARPNESS, _UNKNOWN, _USUAL_WORDS, _MOST_WORDS = 0.6, 1.5, 3.0, 8.0
"""The same where a script has no spaces and words alone decide: a long question is never met by all of its words, a
short one should be, and a word that no note holds tells of another topic."""

_PROBABLY = 0.45  # the two pairs of three letters have a share of just below a half each
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """`mmr_balance` and `half_life_days` are None where variety and age do not matter; `now` is for age."""

    weights: Weights
    max_results: int = 6
    min_score: float = 0.25
    fusion: Literal["weighted", "rrf"] = "weighted"
    mmr_balance: float | None = None
    half_life_days: float | None = None
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with its final score. `below_floor` marks what is shown only because it holds the rare words.

    `evidence` says which of its lines to show, also where it did not count; None where the query has no words.
    """

    candidate: Candidate
    score: float
    evidence: Evidence | None
    _explain: Callable[[], Explanation] = field(repr=False)
    below_floor: bool = False

    @property
    def explanation(self) -> Explanation:
        """All that went into the score; worked out for those who ask."""
        return self._explain()


@dataclass(frozen=True, slots=True)
class Ranked:
    """What is shown, best first."""

    results: tuple[RankedChunk, ...]
    _tell_dropped: Callable[[], Iterator[RankedChunk]] = field(repr=False)

    @property
    def dropped(self) -> tuple[RankedChunk, ...]:
        """What fell out, best first, with the reason in each explanation; worked out for those who ask."""
        return tuple(self._tell_dropped())


class _Scored:
    """A candidate on its way through ranking; written out, since each search makes many."""

    __slots__ = ("candidate", "date", "decay", "evidence", "fused", "index", "penalty", "score")

    def __init__(
        self,
        candidate: Candidate,
        index: int,
        score: float,
        fused: float,
        evidence: Evidence | None,
        date: float | None,
        decay: float,
    ) -> None:
        self.candidate, self.index, self.score, self.fused = candidate, index, score, fused
        self.evidence, self.date, self.decay = evidence, date, decay
        self.penalty = 0.0


def rank(
    candidates: Sequence[Candidate],
    query: RankingQuery,
    settings: RankingSettings,
    gather: Gather = gather_evidence,
) -> Ranked:
    """Order the candidates and decide which are shown. `gather` looks for the query in their texts."""
    matcher = Matcher(query.terms, query.phrases, FTS5)
    scored = _score(candidates, query, settings, matcher, gather)
    scored.sort(key=lambda each: (-each.score, each.candidate.id))
    if settings.mmr_balance is not None:
        scored = _vary(scored, settings.mmr_balance)
    good = [each for each in scored if each.score >= settings.min_score]
    below_floor = not good
    if below_floor:
        # A person who asks for a rare word by name wants the notes that hold it, whatever the vectors say.
        good = [each for each in scored if _holds_rare_terms(each, matcher)]
    shown = good[: settings.max_results]
    tell = _Teller(candidates, query).explain
    outcome = explain.KEPT_FOR_ITS_WORDS if below_floor else explain.SHOWN
    evidence = _evidence_of(shown, matcher, gather)
    results = []
    lowest = 1.0
    for each, found in zip(shown, evidence, strict=True):
        lowest = min(lowest, each.score)  # variety puts better ones behind; the scores shown never rise
        results.append(RankedChunk(each.candidate, lowest, found, partial(tell, each, outcome, lowest), below_floor))

    def tell_dropped() -> Iterator[RankedChunk]:
        kept = {each.index for each in shown}
        passed = {each.index for each in good}
        for each in scored:
            if each.index not in kept:
                reason = explain.BEYOND_MAX_RESULTS if each.index in passed else explain.BELOW_MIN_SCORE
                yield RankedChunk(each.candidate, each.score, each.evidence, partial(tell, each, reason, each.score))

    return Ranked(tuple(results), tell_dropped)


def best_before_reading(query: RankingQuery, settings: RankingSettings) -> Shortlist | None:
    """How to tell which candidates need not be read; None where all may be shown.

    What is not looked at closer comes behind all that is, unless places, dates, age or variety have a say.
    """
    is_sure = (
        bool(query.terms)
        and not query.dates
        and settings.fusion == "weighted"
        and settings.weights.text > 0
        and settings.mmr_balance is None
        and settings.half_life_days is None
    )
    return Shortlist(settings.weights, query.sum_idf, max(LOOKED_AT, settings.max_results)) if is_sure else None


def decay(time: float | None, half_life_days: float, now: float) -> float:
    """What age leaves of a score: half after the half-life, all where a text has no date or one to come."""
    if time is None:
        return 1.0
    return math.exp(-math.log(2) / half_life_days * max(0.0, now - time) / _SECONDS_PER_DAY)


def _score(
    candidates: Sequence[Candidate],
    query: RankingQuery,
    settings: RankingSettings,
    matcher: Matcher,
    gather: Gather,
) -> list[_Scored]:
    by_rank = settings.fusion == "rrf"
    weights = settings.weights
    fused = fuse_by_rank(candidates, weights) if by_rank else fuse_weighted(candidates, query.sum_idf, weights)
    # Places and cosines alone are what somebody asked for who set them so.
    looks_closer = bool(query.terms) and not by_rank and weights.text > 0
    order = sorted(range(len(candidates)), key=lambda index: (-fused[index], candidates[index].id))
    dates = _closeness(candidates, query)
    dates_count = any(dates)
    looks = LOOKED_AT if dates_count else max(LOOKED_AT, settings.max_results)
    evidence = _look_closer(candidates, order[:looks], matcher, gather) if looks_closer else {}
    sharpness = _sharpness(query, weights)
    lowest = 1.0
    scored = []
    for place, index in enumerate(order):
        each, found, score = candidates[index], evidence.get(index), fused[index]
        date = dates[index] if dates_count else None
        if looks_closer:
            score = _joined(score, found, date, has_phrases=matcher.has_phrases) ** sharpness
            if place < LOOKED_AT:
                lowest = min(lowest, score)
            elif found is not None:
                score = min(lowest, score)
        aged = 1.0 if settings.half_life_days is None else decay(each.time, settings.half_life_days, settings.now)
        scored.append(_Scored(each, index, score * aged, fused[index], found, date, aged))
    return scored


def _closeness(candidates: Sequence[Candidate], query: RankingQuery) -> list[float]:
    """How near each candidate is to a date that was asked for."""
    if not query.dates:
        return [0.0] * len(candidates)
    from memslot.retrieval import closeness_to_dates

    from memslot_memory_core.sources.dates import date_of

    return [closeness_to_dates(query.dates, date_of(each.path, each.time), each.text) for each in candidates]


def _look_closer(
    candidates: Sequence[Candidate], indexes: Sequence[int], matcher: Matcher, gather: Gather
) -> dict[int, Evidence]:
    found = gather([candidates[index].text for index in indexes], matcher)
    return dict(zip(indexes, found, strict=True))


def _sharpness(query: RankingQuery, weights: Weights) -> float:
    # Vectors that count less bring less of that likeness.
    usual = 1.0 + (_SHARPNESS - 1.0) * min(1.0, weights.vector / 0.5)
    total = sum(term.weight * term.share for term in query.terms)
    pairs = sum(term.weight * term.share for term in query.terms if term.is_pair)
    if not pairs:
        return usual
    unknown = sum(term.weight * term.share for term in query.terms if not term.is_known) / total
    words = min(_MOST_WORDS, max(1.0, sum(term.share for term in query.terms)))
    unspaced = _UNSPACED_SHARPNESS * (1 + _UNKNOWN * unknown) * math.pow(_USUAL_WORDS / words, 0.25)
    share = pairs / total
    return share * unspaced + (1 - share) * usual


def _evidence_of(shown: Sequence[_Scored], matcher: Matcher, gather: Gather) -> list[Evidence | None]:
    """The evidence in what is shown; what was not looked at before is now, as its best lines are to be shown."""
    found = [each.evidence for each in shown]
    missing = [index for index, each in enumerate(found) if each is None] if matcher.terms else []
    late = gather([shown[index].candidate.text for index in missing], matcher)
    for index, each in zip(missing, late, strict=True):
        found[index] = each
    return found


def _joined(fused: float, evidence: Evidence | None, date: float | None, *, has_phrases: bool) -> float:
    """All parts as one score from 0 to 1. A date that was asked for counts against what is not of that date."""
    total, most = _FUSED * fused, _FUSED + _PASSAGE + _LABEL
    if evidence is not None:
        total += _PASSAGE * evidence.passage + _PHRASE * evidence.phrase + _LABEL * evidence.label
    if has_phrases:
        most += _PHRASE
    if date is not None:
        total, most = total + _DATE * date, most + _DATE
    return min(1.0, max(0.0, total / most))


def _vary(scored: Sequence[_Scored], balance: float) -> list[_Scored]:
    """The best in an order that avoids saying things twice; the rest after them."""
    from memslot.retrieval import diversify

    best, rest = scored[:LOOKED_AT], scored[LOOKED_AT:]
    order = diversify([each.score for each in best], [set(stems(each.candidate.text)) for each in best], balance)
    for index, penalty in order:
        best[index].penalty = penalty
    return [*(best[index] for index, _ in order), *rest]


def _holds_rare_terms(chunk: _Scored, matcher: Matcher) -> bool:
    """Whether it holds every word of the query that is rare.

    A word that is in no note at all is the rarest, so that a question about something else finds nothing. A pair of
    letters that is probably no word is not asked for.
    """
    if chunk.evidence is None:
        return False
    judged = [(1 << number, term) for number, term in enumerate(matcher.terms) if term.share >= _PROBABLY]
    rarest = max((term.rarity for _, term in judged), default=0.0)
    rare = sum(bit for bit, term in judged if term.rarity >= rarest / 2)
    return bool(rare) and chunk.evidence.terms & rare == rare


class _Teller:
    """Makes explanations, with each leg's ranks worked out once."""

    def __init__(self, candidates: Sequence[Candidate], query: RankingQuery) -> None:
        self._sum_idf = query.sum_idf
        self._candidates = candidates

    @cached_property
    def _text_ranks(self) -> dict[int, int]:
        return ranks([each.text_r for each in self._candidates])

    @cached_property
    def _vector_ranks(self) -> dict[int, int]:
        return ranks([each.cosine or 0.0 for each in self._candidates])

    def explain(self, scored: _Scored, outcome: str, score: float) -> Explanation:
        each, found = scored.candidate, scored.evidence
        return Explanation(
            each.id,
            each.path,
            each.start_line,
            each.end_line,
            score=score,
            outcome=outcome,
            text_score=text_score(each.text_r, self._sum_idf),
            text_rank=self._text_ranks.get(scored.index),
            vector_score=each.cosine,
            vector_rank=self._vector_ranks.get(scored.index),
            fused=scored.fused,
            line=found.line if found else None,
            window=found.window if found else None,
            phrase=found.phrase if found else None,
            label=found.label if found else None,
            date=scored.date,
            decay=scored.decay,
            mmr_penalty=scored.penalty,
        )
