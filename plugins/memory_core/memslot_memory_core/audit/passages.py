"""Splits a note into passages: paragraphs, list items, code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)")
_RULE = re.compile(r"\s{0,3}(?:[-*_]\s*){3,}$|\s{0,3}=+\s*$")
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_BOX = re.compile(r"\[[ xX]\]\s+")
_MARKUP = str.maketrans("", "", "*_`~>#")


class Passage(NamedTuple):
    """A passage: its lines, counted from 1, and its text without the list marker."""

    start_line: int
    end_line: int
    text: str
    is_code: bool = False

    @property
    def key(self) -> str:
        """The text without markup, case, spacing and final period, to compare passages by."""
        if self.is_code:
            return self.text
        return " ".join(self.text.translate(_MARKUP).split()).casefold().rstrip(".,;:!。！；")


def passages_of(lines: Sequence[str]) -> Iterator[Passage]:
    """The passages of a note in order, without headings, rules and front matter."""
    begin, at = None, _after_front_matter(lines)
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        ends = fence or not line.strip() or _HEADING.match(line) or _RULE.match(line)
        if begin is not None and (ends or _ITEM.match(line)):
            yield _passage(lines, begin, at)
            begin = None
        if fence:
            end = _end_of_code(lines, at, fence[1])
            yield Passage(at + 1, end, "\n".join(lines[at + 1 : end]).strip(), is_code=True)
            at = end
            continue
        if not ends and begin is None:
            begin = at
        at += 1
    if begin is not None:
        yield _passage(lines, begin, len(lines))


def _passage(lines: Sequence[str], begin: int, end: int) -> Passage:
    text = "\n".join(lines[begin:end]).strip()
    item = _ITEM.match(text)
    text = text[item.end() :] if item else text
    box = _BOX.match(text)
    return Passage(begin + 1, end, text[box.end() :] if box else text)


def _after_front_matter(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(lines) if number and line.rstrip() in ("---", "...")), 0)


def _end_of_code(lines: Sequence[str], begin: int, fence: str) -> int:
    """The line after the code block, which ends at a fence at least as long, or with the note."""
    for at in range(begin + 1, len(lines)):
        closing = lines[at].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return at + 1
    return len(lines)
