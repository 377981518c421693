"""Positions of the keys and values in a JSON5 text, for edits and line numbers.

pyjson5 parses values but reports no positions. This parser reports positions only; it runs on text that pyjson5 has
accepted, so it validates nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memslot.config.keypath import KeyPath, list_index

_BLANK = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_WORD = re.compile(r"[^\s\ufeff,:/\[\]{}\"']+")
_LINE_END = re.compile(r"\r\n|\n|\r")


class Node(NamedTuple):
    """A value, spanning `text[start:end]`."""

    start: int
    end: int
    kind: Literal["object", "array", "scalar"]
    entries: tuple[Entry, ...]


class Entry(NamedTuple):
    """A member of an object, or a list item (without a key)."""

    key: str | None
    start: int
    value: Node
    comma: int | None


class DuplicateKey(NamedTuple):
    path: KeyPath
    first_line: int
    second_line: int


@dataclass(frozen=True)
class Outline:
    """The positions in a whole text."""

    text: str
    root: Node
    line_starts: tuple[int, ...]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def entry(self, path: KeyPath) -> Entry | None:
        """Return the entry at a path; the last of duplicate keys, like the parser."""
        node, found = self.root, None
        for step in path:
            found = entry_of(node, step)
            if found is None:
                return None
            node = found.value
        return found

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of its nearest existing ancestor."""
        for length in range(len(path), 0, -1):
            if found := self.entry(path[:length]):
                return self.position(found.start)[0]
        return None

    def duplicates(self) -> list[DuplicateKey]:
        """Return all duplicate keys."""
        return list(self._duplicates(self.root, ()))

    def _duplicates(self, node: Node, path: KeyPath) -> Iterator[DuplicateKey]:
        seen: dict[str, int] = {}
        for index, entry in enumerate(node.entries):
            here = (*path, index if entry.key is None else entry.key)
            if entry.key is not None:
                if entry.key in seen:
                    lines = self.position(seen[entry.key])[0], self.position(entry.start)[0]
                    yield DuplicateKey(here, *lines)
                seen.setdefault(entry.key, entry.start)
            if entry.value.entries:
                yield from self._duplicates(entry.value, here)


def entry_of(node: Node, step: str | int) -> Entry | None:
    """Return the entry at one step of a key path."""
    if node.kind == "object":
        return next((entry for entry in reversed(node.entries) if entry.key == step), None)
    index = list_index(step)
    if node.kind == "array" and index is not None and index < len(node.entries):
        return node.entries[index]
    return None


def line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def outline(text: str) -> Outline:
    """Parse the positions in a JSON5 text that pyjson5 accepts."""
    return Outline(text, _value(text, skip_blank(text, 0)), line_starts(text))


def skip_blank(text: str, position: int) -> int:
    """Return the first offset after whitespace and comments."""
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _value(text: str, start: int) -> Node:
    opening = text[start]
    if opening == "{":
        return _container(text, start, "object", "}")
    if opening == "[":
        return _container(text, start, "array", "]")
    return Node(start, _scalar_end(text, start), "scalar", ())


def _container(text: str, start: int, kind: Literal["object", "array"], closing: str) -> Node:
    entries = []
    position = skip_blank(text, start + 1)
    while text[position] != closing:
        entry_start, key = position, None
        if kind == "object":
            key_end = _scalar_end(text, position)
            key = _decoded_key(text[position:key_end])
            colon = skip_blank(text, key_end)
            position = skip_blank(text, colon + 1)
        value = _value(text, position)
        position = skip_blank(text, value.end)
        comma = None
        if text[position] == ",":
            comma = position
            position = skip_blank(text, position + 1)
        entries.append(Entry(key, entry_start, value, comma))
    return Node(start, position + 1, kind, tuple(entries))


def _scalar_end(text: str, start: int) -> int:
    pattern = _STRING if text[start] in "\"'" else _WORD
    match = pattern.match(text, start)
    if match is None:
        raise ValueError(f"no key or value at offset {start}")
    return match.end()


def _decoded_key(written: str) -> str:
    quoted = written[0] in "\"'"
    if "\\" not in written:
        return written[1:-1] if quoted else written
    import pyjson5

    if quoted:
        return str(pyjson5.decode(written))
    return str(next(iter(pyjson5.decode("{" + written + ":0}"))))
