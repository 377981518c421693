"""Secrets identified by their column heading in a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from memslot.redaction import names
from memslot.redaction.values import Kind, is_secret

_RULE = re.compile(r"^[ \t>]*\|?[ \t]*:?-{2,}:?[ \t]*\|[ \t|:-]*$", re.MULTILINE)
_CELL = re.compile(r"[^|\n]+")
_MAX_HEADING_CHARS = 128


def find_in_tables(text: str, pattern: names.NamePattern) -> Iterator[tuple[int, int]]:
    if "|" not in text or "--" not in text:
        return
    for rule in _RULE.finditer(text):
        head_end = rule.start() - 1
        head_start = text.rfind("\n", 0, max(0, head_end)) + 1
        columns = _columns(text[head_start : max(head_start, head_end)], pattern)
        at = rule.end() + 1
        while columns and (end := _line_end(text, at)) > at and "|" in text[at:end]:
            yield from _secrets(text, at, end, columns)
            at = end + 1


def _columns(heading: str, pattern: names.NamePattern) -> dict[int, Kind]:
    """Return the columns whose headings end in a secret's name, by index."""
    found: dict[int, Kind] = {}
    for place, cell in enumerate(_CELL.findall(heading.strip(" \t>|"))):
        name = cell.strip(" \t*_`")
        if len(name) > _MAX_HEADING_CHARS:
            continue
        lowered = name.lower()
        for word in pattern.regex.finditer(lowered):
            if word.end() == len(lowered):
                start = lowered.rfind(" ", 0, word.start()) + 1
                kind = names.kind_of(
                    name[start:], word.start() - start, word[0], cast("Kind", word.lastgroup), lowered[: word.start()]
                )
                if kind is not None:
                    found[place] = kind
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _secrets(text: str, at: int, end: int, columns: dict[int, Kind]) -> Iterator[tuple[int, int]]:
    while at < end and text[at] in " \t>|":
        at += 1
    for place, cell in enumerate(_CELL.finditer(text, at, end)):
        kind = columns.get(place)
        value = cell[0].strip(" \t*`") if kind is not None else ""
        if kind is not None and value and " " not in value and is_secret(value, kind, assigned=False, alone=False):
            start = cell.start() + cell[0].index(value)
            yield start, start + len(value)
