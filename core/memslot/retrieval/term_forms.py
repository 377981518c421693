"""The stems under which an index holds the terms of a query: those of its languages, and of compounds with a term."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from memslot.retrieval.compounds import part_of, splits
from memslot.retrieval.languages import CODES, COMPOUNDING, forwards
from memslot.retrieval.terms import Term, index_forms, make_term
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Tokenizer

_MOST_TERMS = 64
"""Compounds are looked for in queries up to this many terms: a whole page needs none of them."""

_MOST_LETTERS = 64
"""Of a word that may be a compound: each of its places is tried, and a longer one is no word."""


class TermForms:
    """Looks up terms in the vocabulary of one index.

    `count` tells how many texts hold each of some stems, `between` which stems are between two in the order of code
    points, with the same number. `found` has the forms of each term that occur, with their numbers.
    """

    def __init__(
        self,
        count: Callable[[Sequence[str]], Mapping[str, int]],
        between: Callable[[str, str], Iterable[tuple[str, int]]],
        tokenizer: Tokenizer = UNICODE_TOKENIZER,
    ) -> None:
        self._count, self._between, self._tokenizer = count, between, tokenizer
        known = count(tuple(CODES.values()))
        self.languages = [language for language, code in CODES.items() if known[code]]
        self.found: dict[str, dict[str, int]] = {}

    def count(self, terms: Sequence[Term]) -> dict[str, int]:
        """How many texts hold each term in any form; a text that holds two forms counts twice."""
        if not self.languages:
            return dict(self._count([term.stem for term in terms]))
        forms = {term.stem: index_forms(term, self.languages, self._tokenizer) for term in terms}
        counted = self._count([form for each in forms.values() for form in each])
        written = {term.stem: term for term in terms}
        frequency = {}
        for stem, each in forms.items():
            held = {form: counted[form] for form in each if counted[form]}
            if len(forms) <= _MOST_TERMS:
                held |= self._compounds(written[stem])
            self.found[stem] = held
            frequency[stem] = sum(held.values())
        return frequency

    def frequency(self, stem: str, counted: int, texts: int) -> int:
        """How many of all texts hold a term in any form: several forms of it are in one text by chance."""
        held = self.found.get(stem, {})
        if len(held) < 2 or not texts:
            return counted
        return round(texts * (1 - math.prod(1 - min(1.0, each / texts) for each in held.values())))

    def split(self, terms: Iterable[Term]) -> dict[str, tuple[Term, Term]]:
        """The two words of each term that is a compound of words in the index."""
        languages = COMPOUNDING.intersection(self.languages)
        found: dict[str, tuple[Term, Term]] = {}
        terms = list(terms)
        if not languages or len(terms) > _MOST_TERMS:
            return found
        for term in terms:
            if not _may_be_compound(term):
                continue
            pairs = [tuple(make_term(word, self._tokenizer) for word in pair) for pair in splits(term.written)]
            forms = {part: index_forms(part, languages, self._tokenizer)[1:] for pair in pairs for part in pair}
            counted = self._count([form for each in forms.values() for form in each])
            for first, last in pairs:
                if all(any(counted[form] for form in forms[part]) for part in (first, last)):
                    found[term.stem] = (first, last)
                    break
        return found

    def _compounds(self, term: Term) -> dict[str, int]:
        held: dict[str, int] = {}
        if not _may_be_compound(term):
            return held
        for language in sorted(COMPOUNDING.intersection(self.languages)):
            part = part_of(term.written or term.word, language)
            for start, end in part.ranges:
                held |= {forwards(form): texts for form, texts in self._between(start, end) if part.is_in(form)}
        return held


def _may_be_compound(term: Term) -> bool:
    return term.script == "latin" and term.word.isalpha() and len(term.word) <= _MOST_LETTERS
