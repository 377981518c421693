"""Maximal marginal relevance: prefers results that say something new."""

from __future__ import annotations

from collections.abc import Sequence

from memslot_memory_core.index.terms import stems


def diversify(relevance: Sequence[float], texts: Sequence[str], balance: float) -> list[tuple[int, float]]:
    """The order in which to show texts, each as its index and what its likeness to those before it took away.

    `balance` is MMR's lambda: 1 is relevance alone, 0 is difference alone. Relevance is spread over 0 to 1 first, so
    that the balance means the same for good and for poor results.
    """
    lowest, highest = min(relevance, default=0.0), max(relevance, default=0.0)
    spread = highest - lowest
    spread_out = [(each - lowest) / spread if spread > 0 else 1.0 for each in relevance]
    words = [_words(text) for text in texts]
    likeness = [0.0] * len(texts)
    left = list(range(len(texts)))
    order: list[tuple[int, float]] = []
    while left:
        best = max(left, key=lambda index: balance * spread_out[index] - (1 - balance) * likeness[index])
        order.append((best, (1 - balance) * likeness[best]))
        left.remove(best)
        for index in left:
            likeness[index] = max(likeness[index], _jaccard(words[best], words[index]))
    return order


def _words(text: str) -> frozenset[str]:
    """The index's words: stems, and for scripts without spaces characters and pairs of them."""
    return frozenset(stems(text))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
