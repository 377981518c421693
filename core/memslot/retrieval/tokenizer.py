"""Tokenizers: how a text is split into words, and words into stems.

A memory whose index does its own stemming passes its own tokenizer, so queries are read exactly as the index reads
texts. `STEMMING_TOKENIZER` is for an index that does not stem, `UNICODE_TOKENIZER` if English stems don't matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol
from unicodedata import normalize

from memslot.retrieval.scripts import SIGNS


class Token(NamedTuple):
    """A word of a text: its character offsets, folded spelling and stem."""

    start: int
    end: int
    word: str
    stem: str


class Tokenizer(Protocol):
    """Splits text that `fold` and `spread` have prepared. Must be thread-safe and hashable."""

    def tokens(self, text: str) -> Sequence[Token]:
        """Return the words of a text with their offsets."""

    def stems(self, text: str) -> list[str]:
        """Return only the stems, in order."""


class UnicodeTokenizer:
    """Words of letters and digits, lower case and without diacritics; a word is its own stem."""

    def tokens(self, text: str) -> Sequence[Token]:
        found = []
        for match in _word().finditer(text):
            word = _plain(match[0])
            if word:
                found.append(Token(match.start(), match.end(), word, word))
        return found

    def stems(self, text: str) -> list[str]:
        if text.isascii():
            return _word().findall(text.lower())
        return [word for word in map(_plain, _word().findall(text)) if word]


UNICODE_TOKENIZER = UnicodeTokenizer()
"""The default tokenizer."""


class StemmingTokenizer(UnicodeTokenizer):
    """Like UnicodeTokenizer, but stems English words. `index_text` has stemmed those of other languages."""

    def tokens(self, text: str) -> Sequence[Token]:
        found = super().tokens(text)
        stems = _english([token.word for token in found])
        return [token._replace(stem=stem) for token, stem in zip(found, stems, strict=True)]

    def stems(self, text: str) -> list[str]:
        return _english(super().stems(text))


STEMMING_TOKENIZER = StemmingTokenizer()
"""The tokenizer for an index that splits at blanks, or compares whole words."""


def _english(words: list[str]) -> list[str]:
    from memslot.retrieval.languages import stem_words

    return [stem if word.isascii() else word for word, stem in zip(words, stem_words(words), strict=True)]


@cache
def _word() -> re.Pattern[str]:
    # \w has no combining marks: Indic words would fall apart at each vowel sign. The dandas are punctuation.
    return re.compile(f"(?:[^\\W_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff{SIGNS}])+")


@cache
def _diacritics() -> re.Pattern[str]:
    return re.compile("(?<=[a-z])[\u0300-\u036f]+")  # й is a letter of its own


def _plain(text: str) -> str:
    text = text.lower()
    return text if text.isascii() else normalize("NFC", _diacritics().sub("", normalize("NFD", text)))
