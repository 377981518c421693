"""FTS5's tokenizer without a table: queries are tokenized and stemmed exactly as the index is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import memslot.retrieval
from memslot.retrieval import QueryTerms, Token

if TYPE_CHECKING:
    import apsw

# Marks (Mn, Mc) belong to words: otherwise Hindi splits at each vowel sign.
_UNICODE = ("remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"


class _Handles(threading.local):
    """unicode61 without and with Porter's stemmer, one pair per thread: each holds a connection."""

    def __init__(self) -> None:
        import apsw

        db = apsw.Connection(":memory:")
        self.plain: apsw.FTS5Tokenizer = db.fts5_tokenizer("unicode61", list(_UNICODE))
        self.stemmed: apsw.FTS5Tokenizer = db.fts5_tokenizer("porter", ["unicode61", *_UNICODE])
        self.reason: int = apsw.FTS5_TOKENIZE_DOCUMENT


class Fts5Tokenizer:
    """The tokenizer of the keyword tables (`TOKENIZER`)."""

    @cached_property
    def _handles(self) -> _Handles:
        return _Handles()

    def tokens(self, text: str) -> Sequence[Token]:
        """The tokens of a text with their offsets."""
        handles, encoded = self._handles, text.encode()
        plain: Any = handles.plain(encoded, handles.reason, None)
        stemmed: Any = handles.stemmed(encoded, handles.reason, None)
        found = []
        place = read = 0  # in characters, in bytes
        for (start, end, word), (_, _, stem) in zip(plain, stemmed, strict=True):
            first = place + len(encoded[read:start].decode())
            place, read = first + len(encoded[start:end].decode()), end
            found.append(Token(first, place, word, stem))
        return found

    def stems(self, text: str) -> list[str]:
        """The stems alone, in order."""
        handles = self._handles
        found = handles.stemmed(text.encode(errors="replace"), handles.reason, None, include_offsets=False)
        return [stem for (stem,) in found]  # type: ignore[misc, str-unpack]


FTS5 = Fts5Tokenizer()


def stems(text: str, language: str | None = None) -> list[str]:
    """The stems of a text as indexed, in order; its language is detected unless given."""
    return memslot.retrieval.stems(text, FTS5, language)


def query_terms(query: str) -> QueryTerms:
    """The terms of a query, as indexed."""
    return memslot.retrieval.query_terms(query, FTS5)
