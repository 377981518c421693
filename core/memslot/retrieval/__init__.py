"""What every memory needs to find well, as pure functions: the words of a text, fusion, evidence, snippets, dates.

Names are imported when they are first used. Functions that split text take a `Tokenizer`, so that a memory whose index
stems by itself is compared by its own stems.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memslot.retrieval.cjk_query_spans import QuerySpan as QuerySpan
    from memslot.retrieval.cjk_segmentation import Segmentation as Segmentation
    from memslot.retrieval.cjk_segmentation import segment as segment
    from memslot.retrieval.cjk_segmentation import stems_to_count as stems_to_count
    from memslot.retrieval.dates import DateRange as DateRange
    from memslot.retrieval.dates import closeness_to_dates as closeness_to_dates
    from memslot.retrieval.dates import find_dates as find_dates
    from memslot.retrieval.diversity import diversify as diversify
    from memslot.retrieval.evidence import Evidence as Evidence
    from memslot.retrieval.evidence import gather_evidence as gather_evidence
    from memslot.retrieval.fusion import LegScores as LegScores
    from memslot.retrieval.fusion import Shortlist as Shortlist
    from memslot.retrieval.fusion import UserLine as UserLine
    from memslot.retrieval.fusion import Weights as Weights
    from memslot.retrieval.fusion import choose_weights as choose_weights
    from memslot.retrieval.fusion import fuse_by_rank as fuse_by_rank
    from memslot.retrieval.fusion import fuse_weighted as fuse_weighted
    from memslot.retrieval.fusion import ranks as ranks
    from memslot.retrieval.fusion import text_score as text_score
    from memslot.retrieval.matcher import Matcher as Matcher
    from memslot.retrieval.matcher import WeightedTerm as WeightedTerm
    from memslot.retrieval.scripts import fold as fold
    from memslot.retrieval.scripts import is_foreign as is_foreign
    from memslot.retrieval.scripts import script_of as script_of
    from memslot.retrieval.snippets import GAP as GAP
    from memslot.retrieval.snippets import Snippet as Snippet
    from memslot.retrieval.snippets import make_snippet as make_snippet
    from memslot.retrieval.stop_words import LIGHT_WORDS as LIGHT_WORDS
    from memslot.retrieval.terms import QueryTerms as QueryTerms
    from memslot.retrieval.terms import Term as Term
    from memslot.retrieval.terms import index_text as index_text
    from memslot.retrieval.terms import query_terms as query_terms
    from memslot.retrieval.terms import stems as stems
    from memslot.retrieval.tokenizer import UNICODE_TOKENIZER as UNICODE_TOKENIZER
    from memslot.retrieval.tokenizer import Token as Token
    from memslot.retrieval.tokenizer import Tokenizer as Tokenizer
    from memslot.retrieval.word_vectors import WordVectors as WordVectors

_HOMES = {
    "cjk_query_spans": ["QuerySpan"],
    "cjk_segmentation": ["Segmentation", "segment", "stems_to_count"],
    "dates": ["DateRange", "closeness_to_dates", "find_dates"],
    "diversity": ["diversify"],
    "evidence": ["Evidence", "gather_evidence"],
    "fusion": [
        "LegScores",
        "Shortlist",
        "UserLine",
        "Weights",
        "choose_weights",
        "fuse_by_rank",
        "fuse_weighted",
        "ranks",
        "text_score",
    ],
    "matcher": ["Matcher", "WeightedTerm"],
    "scripts": ["fold", "is_foreign", "script_of"],
    "snippets": ["GAP", "Snippet", "make_snippet"],
    "stop_words": ["LIGHT_WORDS"],
    "terms": ["QueryTerms", "Term", "index_text", "query_terms", "stems"],
    "tokenizer": ["UNICODE_TOKENIZER", "Token", "Tokenizer"],
    "word_vectors": ["WordVectors"],
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
