"""The words to look up in an index: a query's terms in their indexed forms, with parts replacing unknown ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memslot.retrieval.cjk_segmentation import segment, stems_to_count
from memslot.retrieval.cjk_stop_words import LIGHT_WORDS
from memslot.retrieval.term_forms import TermForms
from memslot.retrieval.terms import QueryTerms, Term
from memslot.retrieval.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class QueryWords:
    """A query's words resolved against one index.

    `held` is each word's document frequency. `shares` is the weight of a bigram that may not be a word. `hints` are
    letters and low-information words with their document frequency, which are not searched for. `forms` are the stems
    as indexed.
    """

    terms: Mapping[str, Term]
    held: Mapping[str, int]
    shares: Mapping[str, float]
    hints: Mapping[str, int]
    forms: TermForms

    def frequency(self, stem: str, texts: int) -> int:
        """Estimate how many texts contain a word in any form."""
        return self.forms.frequency(stem, self.held[stem], texts)


def choose_words(
    asked: QueryTerms,
    count: Callable[[Sequence[str]], Mapping[str, int]],
    between: Callable[[str, str], Iterable[tuple[str, int]]],
    tokenizer: Tokenizer,
) -> QueryWords:
    """Choose the words to look up in an index; `count` and `between` query its vocabulary, see `TermForms`."""
    forms = TermForms(count, between, tokenizer)
    counted = dict(count(list(stems_to_count(asked.spans)))) | forms.count(asked.terms)
    segmented = segment(asked.spans, counted)
    pieces = {stem for span in asked.spans for stem in span.stems}
    wanted = [*(stem for stem in asked.stems if stem not in pieces), *segmented.shares]
    light = LIGHT_WORDS.intersection(wanted)
    if len(light) < len(wanted):
        wanted = [stem for stem in wanted if stem not in light]
    held = {stem: 0 if stem in segmented.coincidences else counted[stem] for stem in wanted}
    # A word's parts, or a span's letters, replace what doesn't occur.
    instead = [
        each
        for compound in asked.compounds
        if not any(held.get(stem) for stem in compound.stems)
        for each in compound.instead
    ]
    shares = {stem: segmented.shares[stem] for stem in held if stem in segmented.shares}
    shares |= {term.stem: 0.0 for term in instead if term.stem in counted and term.stem not in shares}
    held |= forms.count(instead)
    for whole, parts in forms.split([term for term in asked.terms if term.stem in held]).items():
        instead += parts
        fresh = forms.count([term for term in parts if term.stem not in held])
        if held[whole]:
            shares |= dict.fromkeys(fresh, 0.0)  # also finds texts with only the parts
        else:
            del held[whole]
        held |= fresh
    hints = {hint: counted[hint] for hint in (*segmented.hints, *sorted(light)) if counted[hint] and hint not in held}
    return QueryWords({term.stem: term for term in (*instead, *asked.terms)}, held, shares, hints, forms)
