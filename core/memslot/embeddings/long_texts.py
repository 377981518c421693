"""Texts longer than a model's input limit: split at natural boundaries, embedded in parts, averaged.

The mean is weighted by part length and renormalized. Text beyond `MAX_PARTS` parts is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memslot.embeddings.tokens import CHARS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from memslot.embeddings.vectors import Matrix, Row

MAX_PARTS = 64
_BOUNDARIES = (
    re.compile(r"\n[^\S\n]*\n\s*"),  # end of paragraph
    re.compile(r"\n|[.!?…][\"')\]]*\s+|[。！？｡]+"),  # end of line or sentence
    re.compile(r"\s+|[,;:、，；：]"),  # end of word
)
_ZERO_WIDTH_JOINER = "\u200d"


def cut(text: str, max_tokens: int) -> Iterator[str]:
    """Split a text into parts of at most `max_tokens`; joined, they equal the text."""
    start = 0
    while start < len(text):
        end = _longest_fit(text, start, max(1, max_tokens))
        if end < len(text):
            end = _boundary_before(text, start, end)
        yield text[start:end]
        start = end


def weighted_mean(rows: Matrix, weights: Sequence[int]) -> Row:
    """Return the unit-length weighted mean of a text's part rows."""
    import numpy

    mean = numpy.average(rows.astype(numpy.float64), axis=0, weights=numpy.maximum(weights, 1))
    length = numpy.linalg.norm(mean)
    row: Row = (mean / length if length > 0 else mean).astype(numpy.float32)
    return row


def _longest_fit(text: str, start: int, max_tokens: int) -> int:
    """Return the end of the longest part from `start` that fits; at least one character."""
    low, high = start + 1, min(len(text), start + max_tokens * CHARS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[start:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _boundary_before(text: str, start: int, end: int) -> int:
    """Return the last best boundary in the second half of text[start:end]."""
    # Short parts waste requests and carry less context.
    earliest = start + (end - start) // 2
    for pause in _BOUNDARIES:
        places = [match.end() for match in pause.finditer(text, earliest, end)]
        places = [place for place in places if place > start and not _splits_grapheme(text, place)]
        if places:
            return places[-1]
    place = end
    while place > earliest and _splits_grapheme(text, place):
        place -= 1
    # A base with hundreds of combining marks is not real text: cut it anywhere.
    return place if place > max(start, earliest) else end


def _splits_grapheme(text: str, place: int) -> bool:
    """Whether a cut here would split a grapheme."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before == _ZERO_WIDTH_JOINER or after == _ZERO_WIDTH_JOINER:
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    # Combining marks (accents, vowel signs, variation selectors) and emoji skin tones.
    return unicodedata.category(after).startswith("M") or "\U0001f3fb" <= after <= "\U0001f3ff"
