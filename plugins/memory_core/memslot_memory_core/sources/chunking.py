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
# A character of Chinese, Japanese or Korean text is about a token of its own: Han with all extensions, radicals
# and compatibility forms, kana (full, half width and historic), Hangul syllables and jamo, Bopomofo, and the
# punctuation, enclosed and full-width forms that stand between them.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff]+"
)
_BREAKS = " \t\u3000。！？；，、"
"""Preferred break points in a long line."""
_JOINER = "\u200d"
_LONGEST_CLUSTER = 64
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
    """Lines, and parts of those that are too long for a chunk: their texts, the numbers of their lines, where they end.

    `ends` are sums of weights, with one for the line break after each; the first is nought, where all begins.
    """

    texts: Sequence[str]
    numbers: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, lines: Sequence[str], numbers: Sequence[int], limit: int) -> _Pieces:
        # No character weighs less than one, so a very long line need not be weighed to be known as too long.
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
    """The size of a text in characters; a CJK character counts as four."""
    if text.isascii():
        return len(text)
    return len(text) + (CHARS_PER_TOKEN - 1) * sum(map(len, _CJK.findall(text)))


def max_weight(tokens: int) -> int:
    """Maximum weight of a chunk."""
    return max(_MIN_CHARS, tokens * CHARS_PER_TOKEN)


def chunk_lines(lines: Sequence[str], numbers: Sequence[int] | None, *, tokens: int, overlap: int) -> list[Chunk]:
    """Chunks in order; every line that is not blank is in at least one, and none is heavier than `tokens` allow.

    A chunk begins with the last whole lines of the one before it: as many as it takes to reach `overlap`, and
    never so many that the next line finds no room. What chunks follow depends on nothing before the first line
    of a chunk that begins a line, so cutting can be taken up again there. `numbers` are the lines' own numbers,
    where they are not 1, 2, 3….
    """
    limit, carried = max_weight(tokens), overlap * CHARS_PER_TOKEN
    pieces = _Pieces.of(lines, range(1, len(lines) + 1) if numbers is None else numbers, limit)
    chunks: list[Chunk] = []
    begin = end = 0
    while end < len(pieces.texts):
        # The break after the last line is in `ends`, and not in a chunk.
        end = bisect_right(pieces.ends, pieces.ends[begin] + limit + 1) - 1
        _add_chunk(chunks, pieces, begin, end)
        if end < len(pieces.texts):
            begin = _carry_over(pieces, begin, end, carried, limit)
    return chunks


def chunk_id(source: str, path: str, chunk: Chunk, model: str) -> str:
    """The chunk's id, the same in every index of the model."""
    key = f"{source}:{path}:{chunk.start_line}:{chunk.end_line}:{chunk.hash}:{model}"
    return _sha256(key)


def _add_chunk(chunks: list[Chunk], pieces: _Pieces, begin: int, end: int) -> None:
    text = "\n".join(pieces.texts[begin:end])
    if text and not text.isspace():
        numbers = pieces.numbers
        chunks.append(Chunk(numbers[begin], numbers[end - 1], text, _sha256(text), pieces.begins_line(begin)))


def _carry_over(pieces: _Pieces, begin: int, end: int, wanted: int, limit: int) -> int:
    """The first of the whole lines at the end of a chunk that the next one begins with.

    Never the chunk's own first: with that much room the next line would still have gone into the chunk. Hence no
    parts of a long line either: the last part is the first of its chunk, and the others leave no room for what
    follows.
    """
    ends, first = pieces.ends, end
    room = limit - (ends[end + 1] - ends[end] - 1)
    while first > begin and ends[end] - ends[first] < wanted and ends[end] - ends[first - 1] <= room:
        first -= 1
    return first


def _cut(line: str, limit: int) -> Iterator[tuple[str, int]]:
    """Parts of a long line, as large as the limit allows, with their weights; together they are the line."""
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
    """Where the part that begins here is full, and its weight: takes what fits in any case, then again of the rest."""
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
    """A place to cut in the last quarter before `stop`: between words, else between characters as people see them."""
    floor = stop - (stop - begin) // 4
    after_break = max(line.rfind(mark, floor, stop) for mark in _BREAKS) + 1
    if after_break > floor and not _joins(line, after_break):
        return after_break
    for place in range(stop, max(floor, stop - _LONGEST_CLUSTER), -1):
        if not _joins(line, place):
            return place
    return stop


def _joins(line: str, place: int) -> bool:
    """Does the character here belong to the one before it: an accent, a vowel sign, a part of an emoji or syllable?"""
    here, before = line[place], line[place - 1]
    if here < "\u0300":
        return False
    if here == _JOINER or before == _JOINER or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= here <= "\U0001f1ff":  # flags are pairs of these; where a pair begins, only a count could tell
        return "\U0001f1e6" <= before <= "\U0001f1ff"
    return "\u1160" <= here <= "\u11ff" or unicodedata.category(here).startswith("M")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
