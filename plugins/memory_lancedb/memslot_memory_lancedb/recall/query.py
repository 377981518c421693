"""A query's terms, weighed by their rarity among an agent's memories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memslot.retrieval import (
    LANGUAGES,
    STEMMING_TOKENIZER,
    Matcher,
    Term,
    TermForms,
    WeightedTerm,
    choose_words,
    index_forms,
    query_terms,
    script_of,
    text_score,
)

from memslot_memory_lancedb.recall.statistics import TermStatistics

MOST_TERMS = 64
_K1, _B = 1.2, 0.75
_FEW_ROWS = 50
"""Minimum number of memories assumed for IDF: in a tiny store rarity means nothing."""
_UNSPACED = frozenset({"han", "kana", "hangul", "thai", "lao", "khmer", "myanmar"})


@dataclass(frozen=True, eq=False)
class WeighedQuery:
    """The terms to search for, and their weights for scoring."""

    matcher: Matcher
    forms: tuple[str, ...]
    """The stems under which memories may contain a term."""
    _terms_of: Mapping[str, tuple[str, ...]]
    _idf: Mapping[str, float]
    _sum_idf: float
    _mean_length: float

    def text_score(self, stems: str) -> float:
        """BM25 of a memory's stems relative to the query's maximum: 0 to 1."""
        words = stems.split()
        counts: dict[str, int] = {}
        for word in words:
            for term in self._terms_of.get(word, ()):
                counts[term] = counts.get(term, 0) + 1
        usual = _K1 * (1 - _B + _B * len(words) / self._mean_length) if self._mean_length else _K1
        r = sum(self._idf[term] * (_K1 + 1) * count / (count + usual) for term, count in counts.items())
        return text_score(r, self._sum_idf)


def weigh(text: str, statistics: TermStatistics) -> WeighedQuery:
    """Weigh the terms of a query."""
    asked = query_terms(text, STEMMING_TOKENIZER)
    chosen = choose_words(asked, statistics.count, statistics.between, STEMMING_TOKENIZER)
    found, shares, forms = chosen.held, chosen.shares, chosen.forms
    rarest = sorted(found, key=lambda stem: (found[stem] == 0, found[stem], stem))[:MOST_TERMS]
    frequency = {stem: chosen.frequency(stem, statistics.rows) for stem in found if stem in {*rarest}}
    weighted = [
        _weighted(stem, chosen.terms.get(stem), frequency[stem], statistics.rows, shares.get(stem, 1.0), forms)
        for stem in frequency
    ]
    weighted += [
        _weighted(hint, None, held, statistics.rows, 0.0, forms)
        for hint, held in chosen.hints.items()
        if hint not in frequency
    ]
    return _ready(weighted, statistics, frequency, shares)


def _ready(
    weighted: Sequence[WeightedTerm],
    statistics: TermStatistics,
    frequency: Mapping[str, int],
    shares: Mapping[str, float],
) -> WeighedQuery:
    matcher = Matcher(weighted, STEMMING_TOKENIZER)
    terms_of: dict[str, tuple[str, ...]] = {}
    for term in weighted:
        if term.stem in frequency:
            for form in (term.stem, *term.forms):
                terms_of[form] = (*terms_of.get(form, ()), term.stem)
    rows = max(statistics.rows, _FEW_ROWS)
    idf = {stem: max(1e-6, math.log((rows - held + 0.5) / (held + 0.5))) for stem, held in frequency.items()}
    sum_idf = sum(shares.get(stem, 1.0) * each for stem, each in idf.items()) or sum(idf.values())
    # A scan takes longer with more terms: skip those known to be in no memory.
    asked = [form for form, held in statistics.count(list(terms_of)).items() if held or not statistics.is_complete]
    return WeighedQuery(matcher, tuple(asked), terms_of, idf, sum_idf, statistics.mean_length)


def _weighted(stem: str, term: Term | None, frequency: int, rows: int, share: float, forms: TermForms) -> WeightedTerm:
    # In all languages, not only counted ones: a memory in a new language must be found at once.
    held = dict.fromkeys(index_forms(term, LANGUAGES, STEMMING_TOKENIZER)) if term is not None else {}
    held |= dict.fromkeys(forms.found.get(stem, ()))
    rarity = math.log(1 + (max(rows, frequency) - frequency + 0.5) / (frequency + 0.5))
    return WeightedTerm(
        stem,
        math.sqrt(rarity),
        is_pair=script_of(stem) in _UNSPACED,
        share=share,
        forms=tuple(form for form in held if form != stem),
    )
