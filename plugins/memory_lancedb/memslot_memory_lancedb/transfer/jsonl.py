"""Memories as JSON, one on each line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from memslot_memory_lancedb.errors import TransferError
from memslot_memory_lancedb.memories import Remembered


def write_jsonl(memories: Iterable[Remembered]) -> Iterator[str]:
    """Lines of a file; each ends with a newline."""
    for memory in memories:
        yield json.dumps(memory.to_json(), ensure_ascii=False) + "\n"


def read_jsonl(lines: Iterable[str]) -> Iterator[Remembered]:
    """The memories of a file; raises a TransferError that names the line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield Remembered.from_json(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise TransferError(f"line {number} is not a memory: {error}") from None
