"""Splits lines into chunks of similar size with overlapping lines."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

CHARS_PER_TOKEN = 4
_MIN_CHARS = 32
# A CJK character is about one token: Han with all extensions, radicals and compatibility forms, kana (full-width,
# half-width and historic), Hangul syllables and jamo, Bopomofo, and the punctuation, enclosed and full-width forms
# between them.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff]+"
)
_BREAKS = " \t\u3000。！？；，、"
"""Preferred break points in a long line."""
_JOINER = "\u200d"
_MAX_CLUSTER = 64
"""The longest grapheme cluster that is kept together."""


@dataclass(frozen=True)
class Chunk:
    """A chunk: its first and last line, counted from 1, its text and the text's SHA-256.

    `begins_line` is False for later parts of a split line.
    """

    start_line: int
    end_line: int
    text: str
    hash: str
    begins_line: bool = True


class _Pieces(NamedTuple):
    """Lines, with overlong ones split: texts, line numbers and cumulative weights.

    `ends` are prefix sums of the weights, plus one per line break, starting with 0.
    """

    texts: Sequence[str]
    numbers: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, lines: Sequence[str], numbers: Sequence[int], limit: int) -> _Pieces:
        # A character weighs at least one, so a line longer than the limit needs no weighing.
        weights = [len(line) if line.isascii() or len(line) > limit else weigh(line) for line in lines]
        if not weights or max(weights) <= limit:
            return cls(lines, numbers, _sums(weights))
        texts: list[str] = []
        repeated: list[int] = []
        cut: list[int] = []
        for line, number, weight in zip(lines, numbers, weights, strict=True):
            for text, part in ((line, weight),) if weight <= limit else _cut(line, limit):
                texts.append(text)
                repeated.append(number)
                cut.append(part)
        return cls(texts, repeated, _sums(cut))

    def begins_line(self, at: int) -> bool:
        return at == 0 or self.numbers[at - 1] != self.numbers[at]


def _sums(weights: Sequence[int]) -> list[int]:
    return list(accumulate([weight + 1 for weight in weights], initial=0))


def weigh(text: str) -> int:
    """Return the size of a text in characters; a CJK character counts as four."""
    if text.isascii():
        return len(text)
    return len(text) + (CHARS_PER_TOKEN - 1) * sum(map(len, _CJK.findall(text)))


def max_weight(tokens: int) -> int:
    """Return the maximum weight of a chunk."""
    return max(_MIN_CHARS, tokens * CHARS_PER_TOKEN)


def chunk_lines(lines: Sequence[str], numbers: Sequence[int] | None, *, tokens: int, overlap: int) -> list[Chunk]:
    """Split lines into chunks of at most `tokens`; every non-blank line is in at least one.

    A chunk starts with the last whole lines of the previous one: enough to reach `overlap`, but never so many that
    the next line doesn't fit. The chunks from one that begins a line on depend on nothing before it, so chunking can
    resume there. `numbers` are the line numbers, if not 1, 2, 3….
    """
    limit, carried = max_weight(tokens), overlap * CHARS_PER_TOKEN
    pieces = _Pieces.of(lines, range(1, len(lines) + 1) if numbers is None else numbers, limit)
    chunks: list[Chunk] = []
    begin = end = 0
    while end < len(pieces.texts):
        # `ends` includes the line break after the last line; a chunk doesn't.
        end = bisect_right(pieces.ends, pieces.ends[begin] + limit + 1) - 1
        _add_chunk(chunks, pieces, begin, end)
        if end < len(pieces.texts):
            begin = _carry_over(pieces, begin, end, carried, limit)
    return chunks


def _add_chunk(chunks: list[Chunk], pieces: _Pieces, begin: int, end: int) -> None:
    text = "\n".join(pieces.texts[begin:end])
    if text and not text.isspace():
        numbers = pieces.numbers
        chunks.append(Chunk(numbers[begin], numbers[end - 1], text, _sha256(text), pieces.begins_line(begin)))


def _carry_over(pieces: _Pieces, begin: int, end: int, wanted: int, limit: int) -> int:
    """Return the first of the whole lines at the end of a chunk that the next one repeats.

    Never the chunk's own first line: if there were room for it, the next line would have fitted into the chunk. For the
    same reason no part of a split line is repeated: its last part starts a chunk, and the others leave no room.
    """
    ends, first = pieces.ends, end
    room = limit - (ends[end + 1] - ends[end] - 1)
    while first > begin and ends[end] - ends[first] < wanted and ends[end] - ends[first - 1] <= room:
        first -= 1
    return first


def _cut(line: str, limit: int) -> Iterator[tuple[str, int]]:
    """Split a long line into parts as large as the limit allows, with their weights."""
    begin, plain = 0, line.isascii()
    while begin < len(line):
        stop, weight = (begin + limit, limit) if plain else _fill(line, begin, limit)
        if stop < len(line):
            cut = _good_cut(line, begin, stop)
            weight -= weigh(line[cut:stop])
            stop = cut
        elif plain:
            weight = len(line) - begin
        yield line[begin:stop], weight
        begin = stop


def _fill(line: str, begin: int, limit: int) -> tuple[int, int]:
    """Return the end and weight of the largest part from `begin`: advance by what surely fits, and repeat."""
    stop, room = begin, limit
    while stop < len(line):
        step = max(1, room // CHARS_PER_TOKEN)
        weight = weigh(line[stop : stop + step])
        if weight > room:
            break
        room -= weight
        stop += step
    return min(stop, len(line)), limit - room


def _good_cut(line: str, begin: int, stop: int) -> int:
    """Return a cut in the last quarter before `stop`: between words, else between graphemes."""
    floor = stop - (stop - begin) // 4
    after_break = max(line.rfind(mark, floor, stop) for mark in _BREAKS) + 1
    if after_break > floor and not _joins(line, after_break):
        return after_break
    for place in range(stop, max(floor, stop - _MAX_CLUSTER), -1):
        if not _joins(line, place):
            return place
    return stop


def _joins(line: str, place: int) -> bool:
    """Whether the character here extends the previous grapheme: accents, vowel signs, parts of emoji and syllables."""
    here, before = line[place], line[place - 1]
    if here < "\u0300":
        return False
    if here == _JOINER or before == _JOINER or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= here <= "\U0001f1ff":  # flags are pairs of these; only counting could tell where a pair starts
        return "\U0001f1e6" <= before <= "\U0001f1ff"
    return "\u1160" <= here <= "\u11ff" or unicodedata.category(here).startswith("M")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
