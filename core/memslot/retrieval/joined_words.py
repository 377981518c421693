"""Words written as one: `camelCase`, `word15`, and their parts."""

from __future__ import annotations

import re
from functools import cache

_SHAPE = bytes(
    ord("a") if chr(code).islower() and code < 128
    else ord("A") if chr(code).isupper() and code < 128
    else ord("0") if chr(code).isdigit() and code < 128
    else ord(" ")
    for code in range(256)
)  # fmt: skip
_BEFORE_DIGITS = (b"aa0", b"Aa0", b"AA0")
# Possibly a letter to some tokenizer, so that a word next to it goes on: all but ASCII punctuation, spaces, general and
# CJK punctuation.
_LETTER = r"[A-Za-z0-9\x80-\xaa\xac-\xba\xbc-\u1fff\u2070-\u2fff\u3005-\u3007\u3021-\U0010ffff]"
_JOINED = rf"(?<!{_LETTER})(?=[A-Za-z0-9]*?(?:[a-z][A-Z]|[A-Za-z]{{2}}[0-9]))[A-Za-z0-9]{{3,40}}(?!{_LETTER})"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_MAX_PARTS = 6


def put_parts(text: str) -> str:
    """Put the parts of joined words behind them."""
    return _compiled(_JOINED).sub(_with_parts, text) if _may_be_joined(text) else text


def is_joined(word: str) -> bool:
    """Whether a word is `camelCase` or the like, with words inside."""
    return _may_be_joined(word) and _compiled(_JOINED).fullmatch(word) is not None


def _may_be_joined(text: str) -> bool:
    shape = text.encode("latin-1", "replace").translate(_SHAPE)
    return b"aA" in shape or (b"0" in shape and any(join in shape for join in _BEFORE_DIGITS))


def parts_of(word: str) -> list[str]:
    """The words inside `camelCase` or `word15`; none for a code or a hash."""
    if not _may_be_joined(word) or not _compiled(_JOINED).fullmatch(word):
        return []
    parts: list[str] = _compiled(_PART).findall(word)
    numbers = sum(part.isdigit() for part in parts)
    if not 2 <= len(parts) <= _MAX_PARTS or numbers > 1:
        return []
    letters = word.rstrip("0123456789")
    if letters not in (word, *parts):
        parts.insert(0, letters)  # iPhone15 is found by `iphone`
    return [part for part in parts if len(part) > 1 or part.isdigit()]


def _with_parts(found: re.Match[str]) -> str:
    return " ".join([found[0], *dict.fromkeys(parts_of(found[0]))])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: compiling all patterns takes as long as a search."""
    return re.compile(pattern)
