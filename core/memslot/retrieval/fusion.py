"""Fusion of two legs: vectors (cosine) and words (BM25 as a share of what the query could reach)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from memslot.embeddings.contract import SearchAdvice

RRF_DEPTH = 10
"""RRF's k; 10 measured better than the customary 60."""


class UserLine(NamedTuple):
    """The scores of one of the user's own lines in a transcript."""

    text_score: float
    cosine: float | None = None


class LegScores(Protocol):
    """A candidate with the exact scores of both legs.

    `text_r` is BM25 over all terms; `cosine` is None without a vector; `user_lines` is None unless the candidate is of
    a transcript.
    """

    @property
    def text_r(self) -> float: ...

    @property
    def cosine(self) -> float | None: ...

    @property
    def user_lines(self) -> tuple[UserLine, ...] | None: ...


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of both legs, which sum to 1; `reason` is given where they are neither set nor advised."""

    vector: float
    text: float
    reason: str | None = None


def choose_weights(
    vector_weight: float | None,
    text_weight: float | None,
    advice: SearchAdvice | None,
    scripts: Collection[str] = (),
    *,
    has_vectors: bool = True,
    has_keywords: bool = True,
) -> Weights:
    """The weights for one query: 0 for a leg that did not run, else as set, else as the provider advises.

    `advice` is None without a provider. `scripts` are those of the query's words ("latin", "han", …); the vector leg
    counts by the share of them that the provider knows.
    """
    if not has_vectors or advice is None:
        return Weights(0.0, 1.0, "keywords only: there are no vectors to compare")
    if not has_keywords:
        return Weights(1.0, 0.0, "vectors only: the query has no words to look for")
    if vector_weight is not None or text_weight is not None:
        return _normalised(vector_weight, text_weight)
    advised = _normalised(advice.vector_weight, advice.text_weight)
    known = None if advice.scripts is None else {script.casefold() for script in advice.scripts}
    asked = {script.casefold() for script in scripts}
    if known is None or not asked or asked <= known:
        return advised
    share = len(asked & known) / len(asked)
    vector = advised.vector * share
    strange = ", ".join(sorted(asked - known))
    return Weights(vector, 1.0 - vector, f"the provider does not know the script of the query ({strange})")


def _normalised(vector: float | None, text: float | None) -> Weights:
    if vector is None:
        vector = max(0.0, 1.0 - (text or 0.0))
    if text is None:
        text = max(0.0, 1.0 - vector)
    total = vector + text
    return Weights(vector / total, text / total) if total > 0 else Weights(0.5, 0.5)


def text_score(r: float, sum_idf: float) -> float:
    """BM25 as a share of the query's total IDF: 0 to 1, comparable between queries."""
    return min(1.0, max(0.0, r) / sum_idf) if sum_idf > 0 else 0.0


def weighted(text: float, cosine: float | None, weights: Weights) -> float:
    """The weighted sum of both scores, 0 to 1; a negative cosine counts as 0."""
    return weights.text * text + weights.vector * min(1.0, max(0.0, cosine or 0.0))


def fuse_weighted(candidates: Sequence[LegScores], sum_idf: float, weights: Weights) -> list[float]:
    """The weighted score of each candidate, its user lines included."""
    fused = []
    text, vector = weights.text / sum_idf if sum_idf > 0 else 0.0, weights.vector
    for each in candidates:
        # `weighted` and `text_score` inlined: this runs for hundreds of candidates.
        score = min(weights.text, text * each.text_r) + vector * min(1.0, max(0.0, each.cosine or 0.0))
        if each.user_lines is not None:
            lines = (weighted(line.text_score, line.cosine, weights) for line in each.user_lines)
            score = with_user_lines(score, lines)
        fused.append(score)
    return fused


@dataclass(frozen=True)
class Shortlist:
    """Picks the best `most` rows by `fuse_weighted`, before they are read."""

    weights: Weights
    sum_idf: float
    most: int

    def best(self, ids: Iterable[int], r: Mapping[int, float], cosine: Mapping[int, float]) -> list[int]:
        """The best of the ids, best first, by BM25 (`r`) and cosine."""
        text = self.weights.text / self.sum_idf if self.sum_idf > 0 else 0.0
        most, vector = self.weights.text, self.weights.vector
        fused = [
            (-min(most, text * r[number]) - vector * min(1.0, max(0.0, cosine.get(number, 0.0))), number)
            for number in ids
        ]
        fused.sort()
        return [number for _, number in fused[: self.most]]


def with_user_lines(chunk_score: float, line_scores: Iterable[float]) -> float:
    """A transcript's score: half its own, half that of its best user line."""
    return (chunk_score + max(line_scores, default=0.0)) / 2


def fuse_by_rank(candidates: Sequence[LegScores], weights: Weights) -> list[float]:
    """Reciprocal rank fusion, scaled so that first in both legs is 1. Scores are relative to the candidates."""
    fused = [0.0] * len(candidates)
    legs = (
        (weights.text, [each.text_r for each in candidates]),
        (weights.vector, [each.cosine or 0.0 for each in candidates]),
    )
    for weight, scores in legs:
        for index, rank in ranks(scores).items():
            fused[index] += weight * (RRF_DEPTH + 1) / (RRF_DEPTH + rank)
    return fused


def ranks(scores: Sequence[float]) -> dict[int, int]:
    """The rank of each score above 0, from 1; equal scores share one."""
    order = sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: -scores[index])
    found: dict[int, int] = {}
    for position, index in enumerate(order, 1):
        before = order[position - 2] if position > 1 else None
        tied = before is not None and scores[before] == scores[index]
        found[index] = found[before] if tied and before is not None else position
    return found
