"""Which words of a text are the query's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memslot_memory_core.search.candidate import AskedTerm
from memslot_memory_core.search.vocabulary import Vocabulary

_LEAST_SHARE = 0.15
"""Of its weight: what letters count that are probably no word, where a line holds them."""


class Matcher:
    """A query's terms, to be looked for in many texts. Each term is a bit, so that a line is one number."""

    def __init__(self, terms: Sequence[AskedTerm], phrases: Sequence[tuple[str, str]] = ()) -> None:
        self.terms = tuple(terms)
        self.weights = [term.weight * max(term.share, _LEAST_SHARE) for term in terms]
        self.total = sum(term.weight * term.share for term in terms) or sum(self.weights) or 1.0
        self._bit = {term.stem: 1 << number for number, term in enumerate(terms)}
        rarity = {term.stem: term.rarity for term in terms}
        self._phrases = [
            (self._bit[first], self._bit[second], min(rarity[first], rarity[second]))
            for first, second in phrases
            if first in rarity and second in rarity
        ]
        self._phrase_total = sum(weight for _, _, weight in self._phrases)
        self._shares: dict[int, float] = {0: 0.0}

    def bits_in(self, vocabulary: Vocabulary) -> dict[int, int]:
        """The words that hold terms, by number, and which terms, as bits."""
        found: dict[int, int] = {}
        for stem, bit in self._bit.items():
            for number in vocabulary.holding(stem):
                found[number] = found.get(number, 0) | bit
        return found

    def bits_of(self, stems: Iterable[str]) -> int:
        """Which terms are among these stems."""
        bits = 0
        for stem in stems:
            bits |= self._bit.get(stem, 0)
        return bits

    def share(self, bits: int) -> float:
        """What these terms are of the query, by weight: 0 to 1."""
        share = self._shares.get(bits)
        if share is None:
            weight = sum(weight for number, weight in enumerate(self.weights) if bits >> number & 1)
            share = self._shares[bits] = min(1.0, weight / self.total)
        return share

    def phrase_share(self, neighbours: set[tuple[int, int]]) -> float:
        """What share of the query's pairs of neighbouring words stand side by side in a text, by rarity."""
        if not neighbours or not self._phrase_total:
            return 0.0
        met = sum(
            weight
            for first, second, weight in self._phrases
            if any(before & first and after & second for before, after in neighbours)
        )
        return met / self._phrase_total

    @property
    def has_phrases(self) -> bool:
        return self._phrase_total > 0
