"""Cuts lines into chunks of about the same size that share a few lines with their neighbours."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
"""A line that is too long is best cut after one of these."""
_JOINER = "\u200d"
_LONGEST_CLUSTER = 64
"""Whatever seems to be one character for longer than this is cut anyhow."""


@dataclass(frozen=True)
class Chunk:
    """A passage: its first and last line, counted from 1, its text and the SHA-256 of the text.

    `begins_line` is False for a later part of a line that had to be cut.
    """

    start_line: int
    end_line: int
    text: str
    hash: str
    begins_line: bool = True


class _Piece(NamedTuple):
    """A line, or a part of one that is too long for a chunk."""

    number: int
    text: str
    weight: int
    begins_line: bool = True


def weigh(text: str) -> int:
    """The size of a text in characters, with four for each that is Chinese, Japanese or Korean."""
    if text.isascii():
        return len(text)
    return len(text) + (CHARS_PER_TOKEN - 1) * sum(map(len, _CJK.findall(text)))


def max_weight(tokens: int) -> int:
    """How heavy a chunk may be."""
    return max(_MIN_CHARS, tokens * CHARS_PER_TOKEN)


def chunk_lines(lines: Sequence[str], numbers: Sequence[int] | None, *, tokens: int, overlap: int) -> list[Chunk]:
    """Chunks in order; every line that is not blank is in at least one, and none is heavier than `tokens` allow.

    A chunk begins with the last whole lines of the one before it: as many as it takes to reach `overlap`, and
    never so many that the next line finds no room. What chunks follow depends on nothing before the first line
    of a chunk that begins a line, so cutting can be taken up again there. `numbers` are the lines' own numbers,
    where they are not 1, 2, 3….
    """
    limit, carried = max_weight(tokens), overlap * CHARS_PER_TOKEN
    chunks: list[Chunk] = []
    current: list[_Piece] = []
    size = -1  # the line breaks between n lines weigh n - 1
    for piece in _pieces(lines, numbers, limit):
        if current and size + 1 + piece.weight > limit:
            _add_chunk(chunks, current)
            current = _carry_over(current, carried, limit - piece.weight)
            size = sum(kept.weight + 1 for kept in current) - 1
        current.append(piece)
        size += 1 + piece.weight
    if current:
        _add_chunk(chunks, current)
    return chunks


def chunk_id(source: str, path: str, chunk: Chunk, model: str) -> str:
    """The chunk's name in every index of the same model."""
    key = f"{source}:{path}:{chunk.start_line}:{chunk.end_line}:{chunk.hash}:{model}"
    return _sha256(key)


def _add_chunk(chunks: list[Chunk], pieces: list[_Piece]) -> None:
    text = "\n".join([piece.text for piece in pieces])
    if text and not text.isspace():
        first, last = pieces[0], pieces[-1]
        chunks.append(Chunk(first.number, last.number, text, _sha256(text), first.begins_line))


def _carry_over(pieces: list[_Piece], wanted: int, room: int) -> list[_Piece]:
    """The whole lines at the end of a chunk that the next one begins with.

    Never all of them: with that much room the next line would still have gone into the chunk. Hence no parts of
    a long line either: the last part is the first of its chunk, and the others leave no room for what follows.
    """
    begin, weight = len(pieces), 0
    while weight < wanted and begin > 0:
        piece = pieces[begin - 1]
        if weight + piece.weight + 1 > room:
            break
        weight += piece.weight + 1
        begin -= 1
    return pieces[begin:]


def _pieces(lines: Sequence[str], numbers: Sequence[int] | None, limit: int) -> Iterator[_Piece]:
    for number, line in enumerate(lines, 1) if numbers is None else zip(numbers, lines, strict=True):
        # No character weighs less than one, so a very long line need not be weighed to be known as too long.
        if len(line) <= limit and (weight := weigh(line)) <= limit:
            yield _Piece(number, line, weight)
        else:
            yield from _cut(line, number, limit)


def _cut(line: str, number: int, limit: int) -> Iterator[_Piece]:
    """Parts of a long line, as large as the limit allows; together they are the line."""
    begin, plain = 0, line.isascii()
    while begin < len(line):
        stop, weight = (begin + limit, limit) if plain else _fill(line, begin, limit)
        if stop < len(line):
            cut = _good_cut(line, begin, stop)
            weight -= weigh(line[cut:stop])
            stop = cut
        elif plain:
            weight = len(line) - begin
        yield _Piece(number, line[begin:stop], weight, begins_line=begin == 0)
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
