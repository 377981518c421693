"""Passages: single paragraphs, list items and lines of the texts that a memory keeps and a person may edit."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from memslot.errors import MemslotError
from memslot.memory.capabilities import CanRead, CanUpdate
from memslot.memory.contract import MemoryHit
from memslot.memory.paging import read_parts

_MOST_LINES = 10_000
_ADDRESS = re.compile(r"(?P<path>.+)#L(?P<first>[1-9]\d{0,8})(?:-L?(?P<last>[1-9]\d{0,8}))?", re.DOTALL)


@runtime_checkable
class CanEdit(CanRead, CanUpdate, Protocol):
    """A memory whose texts can be read and replaced, so that single lines of them can be removed."""


@dataclass(frozen=True)
class Passage:
    """Lines of a text, counted from 1, both included."""

    path: str
    first_line: int
    last_line: int
    text: str
    whole: str = field(repr=False)
    """The text that the lines are from, as it was when they were read."""

    @property
    def address(self) -> str:
        """`path#L3`, or `path#L3-L5`."""
        end = "" if self.first_line == self.last_line else f"-L{self.last_line}"
        return f"{self.path}#L{self.first_line}{end}"


def passage_at(memory: CanRead, address: str) -> Passage | None:
    """The passage with an address such as `path#L3-L5`; None if these lines are missing or blank."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    first, last = int(match["first"]), int(match["last"] or match["first"])
    whole = _read_whole(memory, match["path"])
    lines = whole.split("\n")
    text = "\n".join(lines[first - 1 : last])
    if not first <= last <= len(lines) or not text.strip():
        return None
    return Passage(match["path"], first, last, text, whole)


def passages_of(memory: CanRead, hits: Sequence[MemoryHit], query: str) -> list[Passage]:
    """The paragraphs and list items that a search found, those with most words of the query first.

    Of a weak match, those without such a word are left out.
    """
    from memslot.retrieval.parts import numbered_blocks
    from memslot.retrieval.relevance import WEAK_SCORE
    from memslot.retrieval.sameness import content_words

    words = set(content_words(query))
    wholes: dict[str, str] = {}
    found: dict[Passage, int] = {}
    for hit in hits:
        if hit.source != "memory" or hit.start_line is None or hit.end_line is None:
            continue
        if hit.path not in wholes:
            wholes[hit.path] = _read_whole(memory, hit.path)
        for block in numbered_blocks(wholes[hit.path]):
            if block.last_line < hit.start_line or block.first_line > hit.end_line:
                continue
            shared = len(words & set(content_words(block.text)))
            if shared or hit.score >= WEAK_SCORE:
                found[Passage(hit.path, block.first_line, block.last_line, block.text, wholes[hit.path])] = shared
    return sorted(found, key=lambda passage: -found[passage])


def _read_whole(memory: CanRead, path: str) -> str:
    parts: list[str] = []
    for part in read_parts(memory, path, at_once=_MOST_LINES):
        if (part.next_line or 0) > _MOST_LINES:
            raise MemslotError(f"{path} has more than {_MOST_LINES:,} lines; delete them in an editor")
        parts.append(part.text)
    return "\n".join(parts)


def without(text: str, passages: Collection[Passage]) -> str:
    """A text without some of its lines, and without the blank lines that stood around them twice."""
    gone = {number for each in passages for number in range(each.first_line, each.last_line + 1)}
    kept: list[str] = []
    after_gap = False
    for number, line in enumerate(text.split("\n"), 1):
        if number in gone:
            after_gap = True
            continue
        if after_gap and not line.strip() and (not kept or not kept[-1].strip()):
            continue
        kept.append(line)
        after_gap = after_gap and not line.strip()
    while after_gap and kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept)
