"""Ranking: fusion of keyword and vector scores, reranking, recency, diversity, weak matches.

Scores are absolute, so a query without a good answer gets low ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from memslot.retrieval import (
    WEAK_SCORE,
    Evidence,
    Matcher,
    Weights,
    calibrated,
    gather_evidence,
    ranks,
    relevance_of,
    text_score,
)

from memslot_memory_core.index.tokenizer import FTS5, stems
from memslot_memory_core.search import explain
from memslot_memory_core.search.candidate import Candidate, RankingQuery
from memslot_memory_core.search.candidate_search import Shortlist
from memslot_memory_core.search.explain import Explanation

LOOKED_AT = 40
"""Candidates that are reranked. Larger requests rerank more, ordered after these: asking for more must not change the
top."""
_OF_BEST_SESSION, _OF_OTHERS, _AMONG = 2, 1, 6
"""Most results from one conversation among the first six, if there are others."""
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """`compared` is the number of vectors compared, 0 without any. With `min_score` None all results are shown, and
    marked as weak if none is good. `mmr_balance` and `half_life_days` are None to disable diversity and decay; `now` is
    for decay.
    """

    weights: Weights = field(default_factory=Weights)
    compared: int = 0
    max_results: int = 6
    min_score: float | None = None
    mmr_balance: float | None = None
    half_life_days: float | None = None
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with its final score.

    `evidence` says which lines to show; None if the query has no words.
    """

    candidate: Candidate
    score: float
    evidence: Evidence | None
    _explain: Callable[[], Explanation] = field(repr=False)

    @property
    def explanation(self) -> Explanation:
        """Everything that went into the score; computed on demand."""
        return self._explain()


@dataclass(frozen=True, slots=True)
class Ranked:
    """The results, best first; `weak` if none is good."""

    results: tuple[RankedChunk, ...]
    weak: bool
    _tell_dropped: Callable[[], Iterator[RankedChunk]] = field(repr=False)

    @property
    def dropped(self) -> tuple[RankedChunk, ...]:
        """Dropped candidates, best first, with the reason in each explanation; computed on demand."""
        return tuple(self._tell_dropped())


class _Scored:
    """A candidate during ranking; not a dataclass, since each search creates many."""

    __slots__ = ("behind", "candidate", "date", "decay", "evidence", "index", "penalty", "relevance", "score", "words")

    def __init__(
        self,
        candidate: Candidate,
        index: int,
        words: float,
        relevance: float,
        score: float,
        evidence: Evidence | None,
        date: float | None,
        decay: float,
        behind: int,
    ) -> None:
        self.candidate, self.index, self.words, self.relevance = candidate, index, words, relevance
        self.score, self.evidence, self.date, self.decay = score, evidence, date, decay
        self.behind = behind  # reranked ones
        self.penalty = 0.0

    @property
    def place(self) -> tuple[float, int, int]:
        """Sort key: ties go to candidates that a smaller request would have reranked, too."""
        return -self.score, self.behind, self.candidate.id


def rank(candidates: Sequence[Candidate], query: RankingQuery, settings: RankingSettings) -> Ranked:
    """Order the candidates and decide which are shown."""
    matcher = Matcher(query.terms, FTS5)
    scored = _score(candidates, query, settings, matcher)
    scored.sort(key=lambda each: each.place)
    if settings.mmr_balance is not None:
        scored = _diversify(scored, settings.mmr_balance)
    scored = _mix_sessions(scored)
    weak = settings.min_score is None and all(each.score < WEAK_SCORE for each in scored[: settings.max_results])
    good = [each for each in scored if settings.min_score is None or each.score >= settings.min_score]
    shown = good[: settings.max_results]
    tell = _Explainer(candidates, query).explain
    outcome = explain.WEAK if weak else explain.SHOWN
    evidence = _evidence_of(shown, matcher)
    results = []
    lowest = 1.0
    for each, found in zip(shown, evidence, strict=True):
        lowest = min(lowest, each.score)  # diversity moves better ones back; displayed scores never increase
        results.append(RankedChunk(each.candidate, lowest, found, partial(tell, each, outcome, lowest)))

    def explain_dropped() -> Iterator[RankedChunk]:
        kept = {each.index for each in shown}
        passed = {each.index for each in good}
        for each in scored:
            if each.index not in kept:
                reason = explain.BEYOND_MAX_RESULTS if each.index in passed else explain.BELOW_MIN_SCORE
                yield RankedChunk(each.candidate, each.score, each.evidence, partial(tell, each, reason, each.score))

    return Ranked(tuple(results), weak and bool(results), explain_dropped)


def best_before_reading(query: RankingQuery, settings: RankingSettings) -> Shortlist | None:
    """How to select candidates before reading them; None if all may be shown.

    Candidates that are not reranked come last, unless dates, recency or diversity apply.
    """
    if not query.terms or query.dates or settings.mmr_balance is not None or settings.half_life_days is not None:
        return None

    def rate(r: float, z: float | None) -> float:
        return relevance_of(text_score(r, query.sum_idf), z, settings.weights)

    return Shortlist(rate, max(LOOKED_AT, settings.max_results))


def decay(time: float | None, half_life_days: float, now: float) -> float:
    """Exponential decay: one half after the half-life, 1 for undated or future texts."""
    if time is None:
        return 1.0
    return math.exp(-math.log(2) / half_life_days * max(0.0, now - time) / _SECONDS_PER_DAY)


def _score(
    candidates: Sequence[Candidate], query: RankingQuery, settings: RankingSettings, matcher: Matcher
) -> list[_Scored]:
    weights = settings.weights
    texts = [text_score(each.text_r, query.sum_idf) for each in candidates]
    rated = [
        _with_user_lines(each, relevance_of(text, each.z, weights), weights)
        for each, text in zip(candidates, texts, strict=True)
    ]
    order = sorted(range(len(candidates)), key=lambda index: (-rated[index], candidates[index].id))
    dates = _closeness(candidates, query)
    dates_count = any(dates)
    looks = LOOKED_AT if dates_count else max(LOOKED_AT, settings.max_results)
    looked_at = order[:looks] if query.terms and weights.words > 0 else []
    found = gather_evidence([candidates[index].text for index in looked_at], matcher)
    evidence = dict(zip(looked_at, found, strict=True))
    lowest_on_top = lowest = math.inf
    scored = []
    for place, index in enumerate(order):
        each, closer, words = candidates[index], evidence.get(index), texts[index]
        date = dates[index] if dates_count else None
        if closer is not None:
            words = (words + closer.passage) / 2
        total = _with_user_lines(each, relevance_of(words, each.z, weights, date), weights)
        if place < LOOKED_AT:
            lowest_on_top = lowest = min(lowest, total)
        elif looked_at and not dates_count:
            total = min(total, lowest_on_top if closer is not None else lowest)
            lowest = min(lowest, total)
        aged = 1.0 if settings.half_life_days is None else decay(each.time, settings.half_life_days, settings.now)
        score = calibrated(total, settings.compared, weights) * aged
        behind = max(0, place + 1 - LOOKED_AT)
        scored.append(_Scored(each, index, words, total, score, closer, date, aged, behind))
    return scored


def _with_user_lines(candidate: Candidate, total: float, weights: Weights) -> float:
    """A transcript's relevance: the mean of its own and its best user line's."""
    if candidate.user_lines is None:
        return total
    lines = (relevance_of(line.text_score, line.z, weights) for line in candidate.user_lines)
    return (total + max(lines, default=0.0)) / 2


def _closeness(candidates: Sequence[Candidate], query: RankingQuery) -> list[float]:
    """How close each candidate is to a date in the question."""
    if not query.dates:
        return [0.0] * len(candidates)
    from memslot.retrieval import closeness_to_dates

    from memslot_memory_core.sources.dates import date_of

    return [closeness_to_dates(query.dates, date_of(each.path, each.time), each.text) for each in candidates]


def _evidence_of(shown: Sequence[_Scored], matcher: Matcher) -> list[Evidence | None]:
    """The evidence of shown results, computed now if it was not during reranking."""
    found = [each.evidence for each in shown]
    missing = [index for index, each in enumerate(found) if each is None] if matcher.terms else []
    late = gather_evidence([shown[index].candidate.text for index in missing], matcher)
    for index, each in zip(missing, late, strict=True):
        found[index] = each
    return found


def _diversify(scored: Sequence[_Scored], balance: float) -> list[_Scored]:
    """Reorder the best by maximal marginal relevance; the rest follow."""
    from memslot.retrieval import diversify

    best, rest = scored[:LOOKED_AT], scored[LOOKED_AT:]
    order = diversify([each.score for each in best], [set(stems(each.candidate.text)) for each in best], balance)
    for index, penalty in order:
        best[index].penalty = penalty
    return [*(best[index] for index, _ in order), *rest]


def _mix_sessions(scored: list[_Scored]) -> list[_Scored]:
    """Limit results per conversation among the first six: a question may be about several."""
    first: list[_Scored] = []
    later: list[_Scored] = []
    taken: dict[str, int] = {}
    for place, each in enumerate(scored):
        if len(first) == _AMONG:
            return [*first, *sorted([*later, *scored[place:]], key=lambda one: one.place)]
        if each.candidate.source == "sessions":
            path = each.candidate.path
            taken[path] = taken.get(path, 0) + 1
            if taken[path] > (_OF_BEST_SESSION if path == next(iter(taken)) else _OF_OTHERS):
                later.append(each)
                continue
        first.append(each)
    return [*first, *later]


class _Explainer:
    """Builds explanations, computing each leg's ranks once."""

    def __init__(self, candidates: Sequence[Candidate], query: RankingQuery) -> None:
        self._sum_idf = query.sum_idf
        self._candidates = candidates

    @cached_property
    def _text_ranks(self) -> dict[int, int]:
        return ranks([each.text_r for each in self._candidates])

    @cached_property
    def _meaning_ranks(self) -> dict[int, int]:
        return ranks([each.z or 0.0 for each in self._candidates])

    def explain(self, scored: _Scored, outcome: str, score: float) -> Explanation:
        each, found = scored.candidate, scored.evidence
        return Explanation(
            each.path,
            each.start_line,
            each.end_line,
            score=score,
            outcome=outcome,
            text_score=text_score(each.text_r, self._sum_idf),
            text_rank=self._text_ranks.get(scored.index),
            z=each.z,
            z_rank=self._meaning_ranks.get(scored.index),
            cosine=each.cosine,
            part_cosine=each.part,
            words=scored.words,
            relevance=scored.relevance,
            line=found.line if found else None,
            window=found.window if found else None,
            date=scored.date,
            decay=scored.decay,
            mmr_penalty=scored.penalty,
        )
