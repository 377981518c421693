"""Relevance: words and meaning on one scale, and the score shown to users.

A question finds its note by words if they occur, and by meaning if not. A few shared words are chance, most of them
are not, so the share of words is squared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memslot.retrieval.meaning import chance

WEAK_SCORE = 0.35
"""Results below this score are weak matches."""
_PER_DOUBLING = 0.015
_MEANING = 0.12
"""The value of one standard deviation; a text with all words scores 1."""
_DATE = 0.2
_SLOPE, _MIDDLE = 3.0, 0.38
"""Of the logistic curve from relevance to score, which crosses `WEAK_SCORE` about one deviation above chance."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of words and of meaning."""

    words: float = 1.0
    meaning: float = 1.0

    @classmethod
    def of_settings(cls, vector_weight: float | None, text_weight: float | None) -> Weights:
        """Build from shares that sum to 1; either may be missing."""
        if vector_weight is None and text_weight is None:
            return cls()
        if vector_weight is None:
            vector_weight = max(0.0, 1.0 - (text_weight or 0.0))
        if text_weight is None:
            text_weight = max(0.0, 1.0 - vector_weight)
        total = vector_weight + text_weight
        return cls(2 * text_weight / total, 2 * vector_weight / total) if total > 0 else cls()


def text_score(r: float, sum_idf: float) -> float:
    """Return BM25 as a share of the query's total IDF: 0 to 1, comparable between queries."""
    return min(1.0, max(0.0, r) / sum_idf) if sum_idf > 0 else 0.0


def relevance_of(words: float, z: float | None, weights: Weights = Weights(), date: float | None = None) -> float:
    """Return a text's relevance from its share of the query's words and its z-score by meaning.

    `date` is its closeness to a date in the query, from 0 to 1.
    """
    total = weights.words * words * words
    if z is not None:
        total += weights.meaning * _MEANING * max(0.0, z)
    if date is not None:
        total -= _DATE * (1.0 - date)
    return total


def calibrated(relevance: float, compared: int, weights: Weights = Weights()) -> float:
    """Convert relevance to a score from 0 to 1, calibrated across embedders and memory sizes.

    `compared` is the number of vectors the query was compared with (0 without vectors): the best of many is similar to
    any query by chance.
    """
    above_chance = relevance - weights.meaning * _MEANING * chance(compared)
    return 1.0 / (1.0 + math.exp(-_SLOPE * (above_chance - _MIDDLE)))


def recall_score(queries: int) -> float:
    """Return the minimum score for automatic recall. It rises with the number of queries: one may match by chance."""
    return WEAK_SCORE + _PER_DOUBLING * math.log2(max(1, queries))


def ranks(scores: Sequence[float]) -> dict[int, int]:
    """Return the 1-based rank of each score above 0; ties share a rank."""
    order = sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: -scores[index])
    found: dict[int, int] = {}
    for position, index in enumerate(order, 1):
        before = order[position - 2] if position > 1 else None
        tied = before is not None and scores[before] == scores[index]
        found[index] = found[before] if tied and before is not None else position
    return found
