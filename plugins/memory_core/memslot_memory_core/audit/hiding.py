"""Finds secrets line by line, and gives the lines as they may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memslot import redact

_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_HIDDEN = "[redacted]"
_WINDOW = 4
"""A name and its secret may stand in two lines with blank ones between them; further apart is taken as unrelated."""


def hide_secrets(lines: Sequence[str]) -> tuple[Sequence[str], list[tuple[int, int]]]:
    """The lines without what `redact` would replace, and the first and last line of each secret, counted from 1."""
    if not _changes(lines):
        return lines, []
    shown, spans = list(lines), list[tuple[int, int]]()
    at = 0
    while at < len(shown):
        end = _end_of_secret(shown, at)
        if end > at:
            shown[at:end] = _redacted(shown[at:end])
            spans.append((at + 1, end))
        at = max(end, at + 1)
    for size in range(2, _WINDOW + 1):
        if not _changes(shown):
            break
        for at in range(len(shown) - size + 1):
            if _changes(shown[at : at + size]):
                shown[at : at + size] = _redacted(shown[at : at + size])
                spans.append((at + 1, at + size))
    if _changes(shown):
        # The rules match over more lines than are looked at here: rather show nothing than too much.
        return [_HIDDEN] * len(lines), sorted(spans) or [(1, len(lines))]
    return shown, sorted(spans)


def _changes(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    return redact(text) != text


def _end_of_secret(lines: Sequence[str], at: int) -> int:
    """Where the secret that begins in this line ends; the line itself where none does."""
    if redact(lines[at]) == lines[at]:
        return at
    begins = [match.end() for match in _KEY_BEGIN.finditer(lines[at])]
    if not begins or _KEY_END.search(lines[at], begins[-1]):
        return at + 1
    return next((end + 1 for end in range(at + 1, len(lines)) if _KEY_END.search(lines[end])), len(lines))


def _redacted(lines: Sequence[str]) -> list[str]:
    """As many lines as before, so that all below keep their numbers."""
    hidden = redact("\n".join(lines)).split("\n")
    return [*hidden, *[""] * (len(lines) - len(hidden))]
