"""Texts that are longer than a model takes: cut where a reader would pause, embedded in parts, averaged.

The average is weighted by the parts' length and then made a unit vector again, so a long text points to what
most of it is about. Beyond `MAX_PARTS` the rest is left out.
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
_PAUSES = (
    re.compile(r"\n[^\S\n]*\n\s*"),  # a paragraph ends
    re.compile(r"\n|[.!?…][\"')\]]*\s+|[。！？｡]+"),  # a line or a sentence ends
    re.compile(r"\s+|[,;:、，；：]"),  # a word ends
)
_ZERO_WIDTH_JOINER = "\u200d"


def cut(text: str, max_tokens: int) -> Iterator[str]:
    """Parts of at most so many tokens that give the text when they are joined."""
    start = 0
    while start < len(text):
        end = _furthest(text, start, max(1, max_tokens))
        if end < len(text):
            end = _pause_before(text, start, end)
        yield text[start:end]
        start = end


def weighted_mean(rows: Matrix, weights: Sequence[int]) -> Row:
    """One unit row for all parts of a text; longer parts count more."""
    import numpy

    mean = numpy.average(rows.astype(numpy.float64), axis=0, weights=numpy.maximum(weights, 1))
    length = numpy.linalg.norm(mean)
    row: Row = (mean / length if length > 0 else mean).astype(numpy.float32)
    return row


def _furthest(text: str, start: int, max_tokens: int) -> int:
    """The end of the longest part from `start` that is small enough; always at least one character."""
    low, high = start + 1, min(len(text), start + max_tokens * CHARS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[start:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _pause_before(text: str, start: int, end: int) -> int:
    """The best place to cut in the second half of text[start:end], the latest of its kind."""
    # A part that is much shorter than it could be costs a request and says less.
    earliest = start + (end - start) // 2
    for pause in _PAUSES:
        places = [match.end() for match in pause.finditer(text, earliest, end)]
        places = [place for place in places if place > start and not _is_inside_character(text, place)]
        if places:
            return places[-1]
    place = end
    while place > earliest and _is_inside_character(text, place):
        place -= 1
    # A base with hundreds of accents is no character that anybody reads, and has to be cut somewhere.
    return place if place > max(start, earliest) else end


def _is_inside_character(text: str, place: int) -> bool:
    """Whether a cut there would part what a reader sees as one character."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before == _ZERO_WIDTH_JOINER or after == _ZERO_WIDTH_JOINER:
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    # Marks (accents, vowel signs, variation selectors) and the skin tones of emoji.
    return unicodedata.category(after).startswith("M") or "\U0001f3fb" <= after <= "\U0001f3ff"
