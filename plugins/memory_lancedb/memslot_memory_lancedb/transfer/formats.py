"""Export formats: JSON Lines, and Markdown that people can edit; both lossless.

## 3f0c…  the id
- category: preference
- importance: 0.7
- created: 2026-03-05T10:30:00+00:00

> The text, each line of it quoted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memslot_memory_lancedb.errors import TransferError
from memslot_memory_lancedb.memory_record import MemoryRecord


def write_jsonl(memories: Iterable[MemoryRecord]) -> Iterator[str]:
    """The lines of a file, with newlines."""
    for memory in memories:
        yield json.dumps(memory.to_json(), ensure_ascii=False) + "\n"


def read_jsonl(lines: Iterable[str]) -> Iterator[MemoryRecord]:
    """The memories of a file; raises a TransferError that names the line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield MemoryRecord.from_json(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise TransferError(f"line {number} is not a memory: {error}") from None


TITLE = "# Memories"
_KEYS = {"category": "category", "importance": "importance", "created": "createdAt", "updated": "updatedAt"}
_ORIGIN = ("session", "message")


def write_markdown(memories: Iterable[MemoryRecord]) -> Iterator[str]:
    """The pieces of a file."""
    yield f"{TITLE}\n"
    for memory in memories:
        tree = memory.to_json()
        yield f"\n## {memory.id}\n\n"
        for name, key in _KEYS.items():
            if tree[key] is not None:
                yield f"- {name}: {tree[key]}\n"
        for name in _ORIGIN:
            if tree["origin"][name]:
                # As JSON, because it may contain anything, including newlines.
                yield f"- {name}: {json.dumps(tree['origin'][name])}\n"
        yield "\n"
        # Split at line feeds only: other line ends belong to the text.
        yield from (f"> {line}\n" if line else ">\n" for line in memory.text.split("\n"))


def read_markdown(text: str) -> Iterator[MemoryRecord]:
    """The memories of a file; raises a TransferError that names the line."""
    entry: dict[str, Any] = {}
    quoted: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            if start:
                yield _finish(entry, quoted, start)
            entry, quoted, start = {"id": line[3:].strip(), "origin": {}}, [], number
        elif line.startswith("> ") or line.rstrip() == ">":
            quoted.append(line[2:])
        elif line.startswith("- ") and start and not quoted:
            _read_field(entry, line[2:].rstrip("\r"), number)
        elif line.strip() and line.rstrip() != TITLE:
            raise TransferError(f"line {number} belongs to no memory: {line[:60]!r}")
    if start:
        yield _finish(entry, quoted, start)


def _read_field(entry: dict[str, Any], field: str, number: int) -> None:
    name, _, value = field.partition(": ")
    try:
        if name in _ORIGIN:
            entry["origin"][name] = json.loads(value)
        elif name == "importance":
            entry["importance"] = float(value)
        elif name in _KEYS:
            entry[_KEYS[name]] = value.strip()
        else:
            raise ValueError(f"{name!r} is not one of {', '.join((*_KEYS, *_ORIGIN))}")
    except ValueError as error:
        raise TransferError(f"line {number} cannot be read: {error}") from None


def _finish(entry: dict[str, Any], quoted: list[str], start: int) -> MemoryRecord:
    try:
        return MemoryRecord.from_json({**entry, "text": "\n".join(quoted)})
    except ValueError as error:
        raise TransferError(f"the memory at line {start} cannot be read: {error}") from None
