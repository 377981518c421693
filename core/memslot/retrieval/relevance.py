"""Relevance: words and meaning on one scale, and the score that is shown.

A question whose words stand nowhere finds its note by meaning; one whose words stand there finds it by words. A few
shared words are chance, most of them are not, so the share of words counts by its square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memslot.retrieval.meaning import chance

WEAK_SCORE = 0.35
"""The border between what is worth showing and a weak match."""
_PER_DOUBLING = 0.015
_MEANING = 0.12
"""The worth of one deviation, where a text that holds all words is worth 1."""
_DATE = 0.2
_SLOPE, _MIDDLE = 3.0, 0.38
"""Of the logistic curve from relevance to score; it crosses `WEAK_SCORE` about one deviation above chance."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of words and of meaning; 1 and 1 unless somebody sets them."""

    words: float = 1.0
    meaning: float = 1.0

    @classmethod
    def of_settings(cls, vector_weight: float | None, text_weight: float | None) -> Weights:
        """From shares that sum to 1, either of which may be missing."""
        if vector_weight is None and text_weight is None:
            return cls()
        if vector_weight is None:
            vector_weight = max(0.0, 1.0 - (text_weight or 0.0))
        if text_weight is None:
            text_weight = max(0.0, 1.0 - vector_weight)
        total = vector_weight + text_weight
        return cls(2 * text_weight / total, 2 * vector_weight / total) if total > 0 else cls()


def text_score(r: float, sum_idf: float) -> float:
    """BM25 as a share of the query's total IDF: 0 to 1, comparable between queries."""
    return min(1.0, max(0.0, r) / sum_idf) if sum_idf > 0 else 0.0


def relevance_of(words: float, z: float | None, weights: Weights = Weights(), date: float | None = None) -> float:
    """How relevant a text is: the share of the query's words that it holds, and how much it stands out by meaning.

    `date` is how near the text is to a date that was asked for, from 0 to 1.
    """
    total = weights.words * words * words
    if z is not None:
        total += weights.meaning * _MEANING * max(0.0, z)
    if date is not None:
        total -= _DATE * (1.0 - date)
    return total


def calibrated(relevance: float, compared: int, weights: Weights = Weights()) -> float:
    """Relevance as a score from 0 to 1 that means the same with every embedder and for every size of memory.

    `compared` counts the vectors that the query was compared with, 0 without vectors: the best of many is alike to any
    query by chance.
    """
    above_chance = relevance - weights.meaning * _MEANING * chance(compared)
    return 1.0 / (1.0 + math.exp(-_SLOPE * (above_chance - _MIDDLE)))


def recall_score(queries: int) -> float:
    """What a result must score to be recalled unasked, where one prompt asks so many queries: one of many may hit."""
    return WEAK_SCORE + _PER_DOUBLING * math.log2(max(1, queries))


def ranks(scores: Sequence[float]) -> dict[int, int]:
    """The rank of each score above 0, from 1; equal scores share one."""
    order = sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: -scores[index])
    found: dict[int, int] = {}
    for position, index in enumerate(order, 1):
        before = order[position - 2] if position > 1 else None
        tied = before is not None and scores[before] == scores[index]
        found[index] = found[before] if tied and before is not None else position
    return found
