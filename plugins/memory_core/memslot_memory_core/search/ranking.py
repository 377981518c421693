"""The last word on order: fused scores, a closer look at the best, age, variety, and what is good enough to show.

Everything in a score is absolute, so that a query without a good answer gets low ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from memslot_memory_core.search import explain
from memslot_memory_core.search.candidate import Candidate, RankingQuery
from memslot_memory_core.search.dates import closeness_to_dates
from memslot_memory_core.search.diversity import diversify
from memslot_memory_core.search.evidence import Evidence, gather_evidence
from memslot_memory_core.search.explain import Explanation
from memslot_memory_core.search.fusion import Weights, fuse_by_rank, fuse_weighted, places, text_score
from memslot_memory_core.search.matching import Matcher

if TYPE_CHECKING:
    from memslot_memory_core.search.word_vectors import WordVectors

LOOKED_AT = 50
"""Candidates whose lines are read. It does not follow maxResults: asking for more must not change what is on top."""

# Measured on long conversations, see benchmarks/quality; each holds for every conversation alone, and none is sharp.
_FUSED, _PASSAGE, _PHRASE, _LABEL, _DATE = 0.5, 0.5, 0.1, 0.05, 0.25
_SHARPNESS = 1.25
"""Unrelated texts share a word or two with any question; this keeps them below the floor of 0.25 and moves no rank."""

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
    """A candidate with its final score. `below_floor` marks what is shown only because it holds the rare words."""

    candidate: Candidate
    score: float
    explanation: Explanation
    evidence: Evidence | None
    below_floor: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """What is shown, best first, and what fell out, with the reason in each explanation."""

    results: tuple[RankedChunk, ...]
    dropped: tuple[RankedChunk, ...]


def rank(
    candidates: Sequence[Candidate],
    query: RankingQuery,
    settings: RankingSettings,
    words: WordVectors | None = None,
) -> Ranked:
    """Order the candidates and decide which are shown. `words` lets similar words count; without it exact ones do."""
    matcher = Matcher(query.terms, query.phrases)
    scored = sorted(
        _score(candidates, query, settings, matcher, words), key=lambda each: (-each.score, each.candidate.id)
    )
    if settings.mmr_balance is not None:
        scored = _vary(scored, settings.mmr_balance)
    good = [each for each in scored if each.score >= settings.min_score]
    poor = [each for each in scored if each.score < settings.min_score]
    if not good:
        # A person who asks for a rare word by name wants the notes that hold it, whatever the vectors say.
        good = [replace(each, below_floor=True) for each in poor if _holds_rare_terms(each, matcher)]
        kept = {each.candidate.id for each in good}
        poor = [each for each in poor if each.candidate.id not in kept]
    shown, beyond = good[: settings.max_results], good[settings.max_results :]
    dropped = [_told(each, explain.BEYOND_MAX_RESULTS) for each in beyond]
    dropped += [_told(each, explain.BELOW_MIN_SCORE) for each in poor]
    return Ranked(tuple(_falling(shown)), tuple(dropped))


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
    words: WordVectors | None,
) -> list[RankedChunk]:
    by_rank = settings.fusion == "rrf"
    weights = settings.weights
    fused = fuse_by_rank(candidates, weights) if by_rank else fuse_weighted(candidates, query.sum_idf, weights)
    # Places and cosines alone are what somebody asked for who set them so.
    looks_closer = bool(query.terms) and not by_rank and weights.text > 0
    evidence = _look_closer(candidates, fused, matcher, words) if looks_closer else {}
    dates = [closeness_to_dates(query.dates, each.time, each.text) if query.dates else 0.0 for each in candidates]
    dates_count = any(dates)
    text_ranks = places([each.text_r for each in candidates])
    vector_ranks = places([each.cosine or 0.0 for each in candidates])
    scored = []
    for index, each in enumerate(candidates):
        found = evidence.get(index)
        score = _joined(fused[index], found, dates[index] if dates_count else None) if looks_closer else fused[index]
        aged = 1.0 if settings.half_life_days is None else decay(each.time, settings.half_life_days, settings.now)
        explanation = Explanation(
            each.id,
            each.path,
            each.start_line,
            each.end_line,
            score=score * aged,
            outcome=explain.SHOWN,
            text_score=text_score(each.text_r, query.sum_idf),
            text_rank=text_ranks.get(index),
            vector_score=each.cosine,
            vector_rank=vector_ranks.get(index),
            fused=fused[index],
            line=found.line if found else None,
            window=found.window if found else None,
            phrase=found.phrase if found else None,
            label=found.label if found else None,
            date=dates[index] if dates_count else None,
            decay=aged,
        )
        scored.append(RankedChunk(each, score * aged, explanation, found))
    return scored


def _look_closer(
    candidates: Sequence[Candidate], fused: Sequence[float], matcher: Matcher, words: WordVectors | None
) -> dict[int, Evidence]:
    best = sorted(range(len(candidates)), key=lambda index: (-fused[index], candidates[index].id))[:LOOKED_AT]
    found = gather_evidence([candidates[index].text for index in best], matcher, words)
    return dict(zip(best, found, strict=True))


def _joined(fused: float, evidence: Evidence | None, date: float | None) -> float:
    """All parts as one score from 0 to 1. A date that was asked for counts against what is not of that date."""
    total, most = _FUSED * fused, _FUSED + _PASSAGE + _PHRASE + _LABEL
    if evidence is not None:
        total += _PASSAGE * evidence.passage + _PHRASE * evidence.phrase + _LABEL * evidence.label
    if date is not None:
        total, most = total + _DATE * date, most + _DATE
    return float(min(1.0, max(0.0, total / most)) ** _SHARPNESS)


def _vary(scored: Sequence[RankedChunk], balance: float) -> list[RankedChunk]:
    """The best in an order that avoids saying things twice; the rest after them."""
    best, rest = scored[:LOOKED_AT], scored[LOOKED_AT:]
    order = diversify([each.score for each in best], [each.candidate.text for each in best], balance)
    varied = [
        replace(best[index], explanation=replace(best[index].explanation, mmr_penalty=penalty))
        for index, penalty in order
    ]
    return [*varied, *rest]


def _holds_rare_terms(chunk: RankedChunk, matcher: Matcher) -> bool:
    """Whether it holds every word of the query that is rare.

    A word that is in no note at all is the rarest, so that a question about something else finds nothing. A pair of
    letters that is in no note may be no word at all.
    """
    if chunk.evidence is None:
        return False
    judged = [(1 << number, term) for number, term in enumerate(matcher.terms) if term.is_known or not term.is_pair]
    rarest = max((term.rarity for _, term in judged), default=0.0)
    rare = sum(bit for bit, term in judged if term.rarity >= rarest / 2)
    return bool(rare) and chunk.evidence.terms & rare == rare


def _falling(shown: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Scores that never rise down the list, which variety alone could make them do."""
    fallen = []
    lowest = 1.0
    for each in shown:
        lowest = min(lowest, each.score)
        outcome = explain.KEPT_FOR_ITS_WORDS if each.below_floor else explain.SHOWN
        fallen.append(replace(_told(each, outcome), score=lowest))
    return fallen


def _told(chunk: RankedChunk, outcome: str) -> RankedChunk:
    return replace(chunk, explanation=replace(chunk.explanation, outcome=outcome))
