"""Retrieval building blocks for every memory, as pure functions: tokenizing, fusion, evidence, snippets, dates.

Names are imported lazily. Functions that split text take a `Tokenizer`, so that a memory whose index does its own
stemming is matched by those stems.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memslot.retrieval.background import Background as Background
    from memslot.retrieval.background import background_texts as background_texts
    from memslot.retrieval.background import background_version as background_version
    from memslot.retrieval.dates import DateRange as DateRange
    from memslot.retrieval.dates import closeness_to_dates as closeness_to_dates
    from memslot.retrieval.dates import find_dates as find_dates
    from memslot.retrieval.diversity import diversify as diversify
    from memslot.retrieval.evidence import Evidence as Evidence
    from memslot.retrieval.evidence import gather_evidence as gather_evidence
    from memslot.retrieval.fusion import fuse as fuse
    from memslot.retrieval.languages import ENGLISH as ENGLISH
    from memslot.retrieval.languages import LANGUAGES as LANGUAGES
    from memslot.retrieval.matcher import Matcher as Matcher
    from memslot.retrieval.matcher import WeightedTerm as WeightedTerm
    from memslot.retrieval.meaning import SAMPLE_SIZE as SAMPLE_SIZE
    from memslot.retrieval.meaning import MeaningScale as MeaningScale
    from memslot.retrieval.meaning import Noise as Noise
    from memslot.retrieval.meaning import chance as chance
    from memslot.retrieval.parts import parts_of as parts_of
    from memslot.retrieval.prompts import prompt_queries as prompt_queries
    from memslot.retrieval.query_words import QueryWords as QueryWords
    from memslot.retrieval.query_words import choose_words as choose_words
    from memslot.retrieval.relevance import WEAK_SCORE as WEAK_SCORE
    from memslot.retrieval.relevance import Weights as Weights
    from memslot.retrieval.relevance import calibrated as calibrated
    from memslot.retrieval.relevance import ranks as ranks
    from memslot.retrieval.relevance import recall_score as recall_score
    from memslot.retrieval.relevance import relevance_of as relevance_of
    from memslot.retrieval.relevance import text_score as text_score
    from memslot.retrieval.sameness import same_text as same_text
    from memslot.retrieval.sameness import same_words as same_words
    from memslot.retrieval.sameness import says as says
    from memslot.retrieval.sameness import shared_words as shared_words
    from memslot.retrieval.scripts import fold as fold
    from memslot.retrieval.scripts import script_of as script_of
    from memslot.retrieval.snippets import GAP as GAP
    from memslot.retrieval.snippets import make_snippet as make_snippet
    from memslot.retrieval.term_forms import TermForms as TermForms
    from memslot.retrieval.terms import QueryTerms as QueryTerms
    from memslot.retrieval.terms import Term as Term
    from memslot.retrieval.terms import index_forms as index_forms
    from memslot.retrieval.terms import index_stems as index_stems
    from memslot.retrieval.terms import index_text as index_text
    from memslot.retrieval.terms import query_terms as query_terms
    from memslot.retrieval.terms import stems as stems
    from memslot.retrieval.tokenizer import STEMMING_TOKENIZER as STEMMING_TOKENIZER
    from memslot.retrieval.tokenizer import UNICODE_TOKENIZER as UNICODE_TOKENIZER
    from memslot.retrieval.tokenizer import Token as Token
    from memslot.retrieval.tokenizer import Tokenizer as Tokenizer

_HOMES = {
    "background": ["Background", "background_texts", "background_version"],
    "dates": ["DateRange", "closeness_to_dates", "find_dates"],
    "diversity": ["diversify"],
    "evidence": ["Evidence", "gather_evidence"],
    "fusion": ["fuse"],
    "languages": ["ENGLISH", "LANGUAGES"],
    "matcher": ["Matcher", "WeightedTerm"],
    "meaning": ["SAMPLE_SIZE", "MeaningScale", "Noise", "chance"],
    "parts": ["parts_of"],
    "prompts": ["prompt_queries"],
    "query_words": ["QueryWords", "choose_words"],
    "relevance": ["WEAK_SCORE", "Weights", "calibrated", "ranks", "recall_score", "relevance_of", "text_score"],
    "sameness": ["same_text", "same_words", "says", "shared_words"],
    "scripts": ["fold", "script_of"],
    "snippets": ["GAP", "make_snippet"],
    "term_forms": ["TermForms"],
    "terms": ["QueryTerms", "Term", "index_forms", "index_stems", "index_text", "query_terms", "stems"],
    "tokenizer": ["STEMMING_TOKENIZER", "UNICODE_TOKENIZER", "Token", "Tokenizer"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'memslot.retrieval' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memslot.retrieval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
