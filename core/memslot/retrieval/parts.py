"""Parts: the list items, paragraphs and lines of a text that may each state a separate fact.

Notes are lists of facts, and the vector of six facts is close to none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_PARTS = 64
_MAX_CHARS = 400
_MIN_CHARS = 8
_MIN_CHARS_UNSPACED = 4
_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_LABEL = re.compile(r"[^\s:：][^:：]{0,39}[:：]\s*\S")
_FENCE = re.compile(r"(?:```|~~~)")
_RULE = re.compile(r"[-=*_|:\s]+$")
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_ENDS_SENTENCE = (".", "!", "?", "…", ":", ";", "。", "！", "？", "：", "；", "|")


def parts_of(text: str) -> list[str]:
    """Split a text into its parts, in order; none if it is a single part."""
    parts = [part for block in blocks_of(text) for part in _cut(block)]
    parts = [part for part in dict.fromkeys(parts) if _says_something(part)]
    return parts[:MAX_PARTS] if len(parts) > 1 else []


class Block(NamedTuple):
    """A list item with its continuation lines, a paragraph or a labelled line. Lines count from 1, both included."""

    first_line: int
    last_line: int
    text: str


def blocks_of(text: str) -> Iterator[str]:
    """Yield list items with their continuation lines, paragraphs and labelled lines; no headings, rules or code."""
    return (block.text for block in numbered_blocks(text))


def numbered_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text with their lines."""
    block: list[str] = []
    in_code = in_item = False
    number = 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if _FENCE.match(stripped):
            in_code = not in_code
            stripped = ""
        if in_code or not stripped or _HEADING.match(stripped) or _RULE.match(stripped):
            if block:
                yield _block(block, number - 1)
            block, in_item = [], False
            continue
        marker = _MARKER.match(stripped)
        # A wrapped line may start with a capital; an unindented line after a list item is a new sentence.
        begins = (in_item and stripped[0].isupper()) or _begins(stripped)
        in_item = marker is not None or (in_item and _continues(line))
        if block and (marker or begins or block[-1].endswith(_ENDS_SENTENCE)) and not _continues(line):
            yield _block(block, number - 1)
            block = []
        block.append(stripped[marker.end() :] if marker else stripped)
    if block:
        yield _block(block, number)


def _block(lines: list[str], last: int) -> Block:
    return Block(last - len(lines) + 1, last, " ".join(lines))


def _begins(line: str) -> bool:
    return line.startswith("|") or _LABEL.match(line) is not None


def _continues(line: str) -> bool:
    """Whether an indented line continues the list item above it."""
    return line[:2] == "  " and not _MARKER.match(line.strip())


def _cut(block: str) -> Iterator[str]:
    """Split a long paragraph into groups of sentences."""
    if len(block) <= _MAX_CHARS:
        yield block
        return
    group = ""
    for sentence in filter(None, SENTENCE_END.split(block)):
        if group and len(group) + len(sentence) > _MAX_CHARS:
            yield group
            group = ""
        group = f"{group} {sentence}" if group else sentence
    if group:
        yield group


def _says_something(part: str) -> bool:
    least = _MIN_CHARS if part.isascii() else _MIN_CHARS_UNSPACED
    return len(part) >= least and any(character.isalpha() for character in part)
