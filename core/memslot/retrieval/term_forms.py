"""The indexed forms of query terms: stems in the index's languages, and compounds with a term."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from memslot.retrieval.compounds import part_of, splits
from memslot.retrieval.languages import CODES, COMPOUNDING, forwards
from memslot.retrieval.terms import Term, index_forms, make_term
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Tokenizer

_MAX_TERMS = 64
"""Longer queries skip compounds: a whole page doesn't need them."""

_MAX_LETTERS = 64
"""Longer words are not split: every position is tried, and they aren't real words."""


class TermForms:
    """Looks up terms in the vocabulary of one index.

    `count` returns the document frequency of stems; `between` returns the stems between two, in code point order, with
    theirs. `found` has each term's occurring forms with their document frequency.
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
        """Return each term's document frequency over all forms; a text with two forms counts twice."""
        if not self.languages:
            return dict(self._count([term.stem for term in terms]))
        forms = {term.stem: index_forms(term, self.languages, self._tokenizer) for term in terms}
        counted = self._count([form for each in forms.values() for form in each])
        written = {term.stem: term for term in terms}
        frequency = {}
        for stem, each in forms.items():
            held = {form: counted[form] for form in each if counted[form]}
            if len(forms) <= _MAX_TERMS:
                held |= self._compounds(written[stem])
            self.found[stem] = held
            frequency[stem] = sum(held.values())
        return frequency

    def frequency(self, stem: str, counted: int, texts: int) -> int:
        """Estimate a term's document frequency over all forms, assuming that forms co-occur by chance."""
        held = self.found.get(stem, {})
        if len(held) < 2 or not texts:
            return counted
        return round(texts * (1 - math.prod(1 - min(1.0, each / texts) for each in held.values())))

    def split(self, terms: Iterable[Term]) -> dict[str, tuple[Term, Term]]:
        """Return the two words of each term that is a compound of words in the index."""
        languages = COMPOUNDING.intersection(self.languages)
        found: dict[str, tuple[Term, Term]] = {}
        terms = list(terms)
        if not languages or len(terms) > _MAX_TERMS:
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
    return term.script == "latin" and term.word.isalpha() and len(term.word) <= _MAX_LETTERS
