"""Matches the terms of a query against the words of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memslot.retrieval.languages import ENGLISH, bare_form
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Tokenizer

if TYPE_CHECKING:
    from memslot.retrieval.vocabulary import Vocabulary

_MIN_SHARE = 0.15
"""Minimum weight share of a matched bigram that is probably not a word."""


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A query term with its weight when lines are compared.

    `is_pair`: letters of an unspaced run, which may be a word or straddle two; `share` is the probability of a word,
    which is how much their absence counts. `forms` are further stems that count as this term: those in other languages,
    and compounds that contain it.
    """

    stem: str
    weight: float
    is_pair: bool = False
    share: float = 1.0
    forms: tuple[str, ...] = ()


class Matcher:
    """The terms of a query, matched against many texts. Each term is a bit, so that a line is a bit mask."""

    def __init__(self, terms: Sequence[WeightedTerm], tokenizer: Tokenizer = UNICODE_TOKENIZER) -> None:
        self.terms = tuple(terms)
        self.tokenizer = tokenizer
        self.weights = [term.weight * max(term.share, _MIN_SHARE) for term in terms]
        self.total = sum(term.weight * term.share for term in terms) or sum(self.weights) or 1.0
        self._bit = {term.stem: 1 << number for number, term in enumerate(terms)}
        self._bits = dict(self._bit)
        for term in terms:
            for form in term.forms:
                self._bits[form] = self._bits.get(form, 0) | self._bit[term.stem]
        self._shares: dict[int, float] = {0: 0.0}

    def bits_in(self, vocabulary: Vocabulary) -> dict[int, int]:
        """Return the term bits of each word, by word id."""
        found: dict[int, int] = {}
        for stem, bit in self._bits.items():
            for number in vocabulary.holding(stem):
                found[number] = found.get(number, 0) | bit
        return found

    def bits_of(self, stems: Iterable[str]) -> int:
        """Return the bits of the terms among these stems."""
        bits = 0
        for stem in stems:
            bits |= self._bits.get(stem, 0)
        return bits

    @property
    def languages(self) -> frozenset[str]:
        """The languages other than English in which terms have forms."""
        return frozenset(bare_form(form)[1] for term in self.terms for form in term.forms) - {ENGLISH}

    def share(self, bits: int) -> float:
        """Return the weight of these terms as a share of the query's: 0 to 1."""
        share = self._shares.get(bits)
        if share is None:
            weight = sum(weight for number, weight in enumerate(self.weights) if bits >> number & 1)
            share = self._shares[bits] = min(1.0, weight / self.total)
        return share
