"""The words to ask an index for: a query's terms as the index holds them, and parts in place of unknown ones."""

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
    """A query's words as one index knows them.

    `held` tells how many texts hold each word, 0 where none does. Of a pair of letters that may be no word, `shares`
    says how much of it counts. `hints` are letters, and words that say little, with the number of texts that hold
    them: they are not asked for. `forms` are the stems under which the index holds them.
    """

    terms: Mapping[str, Term]
    held: Mapping[str, int]
    shares: Mapping[str, float]
    hints: Mapping[str, int]
    forms: TermForms

    def frequency(self, stem: str, texts: int) -> int:
        """How many of all texts hold a word in any form."""
        return self.forms.frequency(stem, self.held[stem], texts)


def choose_words(
    asked: QueryTerms,
    count: Callable[[Sequence[str]], Mapping[str, int]],
    between: Callable[[str, str], Iterable[tuple[str, int]]],
    tokenizer: Tokenizer,
) -> QueryWords:
    """Settle what an index is asked for; `count` and `between` look into its vocabulary, see `TermForms`."""
    forms = TermForms(count, between, tokenizer)
    counted = dict(count(list(stems_to_count(asked.spans)))) | forms.count(asked.terms)
    segmented = segment(asked.spans, counted)
    pieces = {stem for span in asked.spans for stem in span.stems}
    wanted = [*(stem for stem in asked.stems if stem not in pieces), *segmented.shares]
    light = LIGHT_WORDS.intersection(wanted)
    if len(light) < len(wanted):
        wanted = [stem for stem in wanted if stem not in light]
    held = {stem: 0 if stem in segmented.coincidences else counted[stem] for stem in wanted}
    # A word's parts, or a span's letters, stand in for what occurs nowhere.
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
            shares |= dict.fromkeys(fresh, 0.0)  # texts with the parts are found as well
        else:
            del held[whole]
        held |= fresh
    hints = {hint: counted[hint] for hint in (*segmented.hints, *sorted(light)) if counted[hint] and hint not in held}
    return QueryWords({term.stem: term for term in (*instead, *asked.terms)}, held, shares, hints, forms)
