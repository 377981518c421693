"""Matches the terms of a query against the words of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memslot.retrieval.languages import ENGLISH, bare_form
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Tokenizer

if TYPE_CHECKING:
    from memslot.retrieval.vocabulary import Vocabulary

_LEAST_SHARE = 0.15
"""Of its weight: how much a bigram that is probably not a word counts in a line that holds it."""


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A query term with its weight when lines are compared.

    `is_known`: the index holds it. `is_pair`: letters of an unspaced run, which may be a word or straddle two;
    `share` is the probability of a word, which is how much their absence counts. `forms` are the stems that count as
    this term beside its own: those under other languages, and compounds that hold it.
    """

    stem: str
    word: str
    weight: float
    rarity: float
    is_pair: bool = False
    is_known: bool = True
    share: float = 1.0
    forms: tuple[str, ...] = ()


class Matcher:
    """The terms of a query, matched against many texts. Each term is a bit, so that a line is a bit mask."""

    def __init__(self, terms: Sequence[WeightedTerm], tokenizer: Tokenizer = UNICODE_TOKENIZER) -> None:
        self.terms = tuple(terms)
        self.tokenizer = tokenizer
        self.weights = [term.weight * max(term.share, _LEAST_SHARE) for term in terms]
        self.total = sum(term.weight * term.share for term in terms) or sum(self.weights) or 1.0
        self._bit = {term.stem: 1 << number for number, term in enumerate(terms)}
        self._bits = dict(self._bit)
        for term in terms:
            for form in term.forms:
                self._bits[form] = self._bits.get(form, 0) | self._bit[term.stem]
        self._shares: dict[int, float] = {0: 0.0}

    def bits_in(self, vocabulary: Vocabulary) -> dict[int, int]:
        """The bits of the terms that each word holds, by the word's number."""
        found: dict[int, int] = {}
        for stem, bit in self._bits.items():
            for number in vocabulary.holding(stem):
                found[number] = found.get(number, 0) | bit
        return found

    def bits_of(self, stems: Iterable[str]) -> int:
        """The bits of the terms among these stems."""
        bits = 0
        for stem in stems:
            bits |= self._bits.get(stem, 0)
        return bits

    @property
    def languages(self) -> frozenset[str]:
        """The languages other than English under which terms are known."""
        return frozenset(bare_form(form)[1] for term in self.terms for form in term.forms) - {ENGLISH}

    def share(self, bits: int) -> float:
        """The weight of these terms as a share of the query's: 0 to 1."""
        share = self._shares.get(bits)
        if share is None:
            weight = sum(weight for number, weight in enumerate(self.weights) if bits >> number & 1)
            share = self._shares[bits] = min(1.0, weight / self.total)
        return share
