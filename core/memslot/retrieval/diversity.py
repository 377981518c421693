"""Maximal marginal relevance (MMR): prefers novel results."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet


def diversify(relevance: Sequence[float], words: Sequence[AbstractSet[str]], balance: float) -> list[tuple[int, float]]:
    """Order texts by MMR; return each index with its similarity penalty.

    `words` are the distinct stems of each text, compared by Jaccard index. `balance` is MMR's lambda: 1 is relevance
    alone, 0 novelty alone. Relevance is min-max normalized, so that lambda means the same for good and poor results.
    """
    lowest, highest = min(relevance, default=0.0), max(relevance, default=0.0)
    spread = highest - lowest
    normalized = [(each - lowest) / spread if spread > 0 else 1.0 for each in relevance]
    likeness = [0.0] * len(words)
    left = list(range(len(words)))
    order: list[tuple[int, float]] = []
    while left:
        best = max(left, key=lambda index: balance * normalized[index] - (1 - balance) * likeness[index])
        order.append((best, (1 - balance) * likeness[best]))
        left.remove(best)
        for index in left:
            likeness[index] = max(likeness[index], _jaccard(words[best], words[index]))
    return order


def _jaccard(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
