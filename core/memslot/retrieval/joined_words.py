"""Words written as one: `camelCase`, `word15`, and their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_SHAPE = bytes(
    ord("a") if chr(code).islower() and code < 128
    else ord("A") if chr(code).isupper() and code < 128
    else ord("0") if chr(code).isdigit() and code < 128
    else ord(" ")
    for code in range(256)
)  # fmt: skip
_JOINTS = (b"aA", b"aa0", b"Aa0", b"AA0")
# Characters that some tokenizer may treat as letters, extending an adjacent word: all but ASCII punctuation, spaces,
# general and CJK punctuation.
_LETTER = r"[A-Za-z0-9\x80-\xaa\xac-\xba\xbc-\u1fff\u2070-\u2fff\u3005-\u3007\u3021-\U0010ffff]"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_MAX_PARTS = 6
_LENGTHS = range(3, 41)


def put_parts(text: str) -> str:
    """Append the parts of joined words after them."""
    pieces: list[str] = []
    at = 0
    for start, end in _joined_words(text):
        word = text[start:end]
        pieces.append(text[at:start])
        pieces.append(" ".join([word, *dict.fromkeys(_parts(word))]))
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def is_joined(word: str) -> bool:
    """Whether a word is `camelCase` or similar."""
    return next(_joined_words(word), None) == (0, len(word))


def parts_of(word: str) -> list[str]:
    """Return the words inside `camelCase` or `word15`; none for a code or a hash."""
    return _parts(word) if is_joined(word) else []


def _joined_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of joined words, found by their joints: most words have none."""
    shape = text.encode("latin-1", "replace").translate(_SHAPE)
    found = set()
    for joint in _JOINTS:
        place = shape.find(joint)
        while place >= 0:
            start, end = shape.rfind(b" ", 0, place) + 1, shape.find(b" ", place)
            end = end if end >= 0 else len(shape)
            if end - start in _LENGTHS:
                found.add((start, end))
            place = shape.find(joint, end)
    for start, end in sorted(found):
        if not _is_letter(text[start - 1 : start]) and not _is_letter(text[end : end + 1]):
            yield start, end


def _is_letter(character: str) -> bool:
    return not character.isascii() and _compiled(_LETTER).match(character) is not None


def _parts(word: str) -> list[str]:
    parts: list[str] = _compiled(_PART).findall(word)
    numbers = sum(part.isdigit() for part in parts)
    if not 2 <= len(parts) <= _MAX_PARTS or numbers > 1:
        return []
    letters = word.rstrip("0123456789")
    if letters not in (word, *parts):
        parts.insert(0, letters)  # iPhone15 is found by `iphone`
    return [part for part in parts if len(part) > 1 or part.isdigit()]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: compiling all patterns takes as long as a search."""
    return re.compile(pattern)
