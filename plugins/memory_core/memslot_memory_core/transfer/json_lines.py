"""JSON Lines archives: one object per file, for other programs and pipes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from memslot import MemslotError

from memslot_memory_core.transfer.destinations import SESSIONS
from memslot_memory_core.transfer.item import MAX_FILE_BYTES, MAX_FILES, Item, UnusableItem, sha256, usable_mtime

_MAX_LINE_BYTES = 2 * MAX_FILE_BYTES
"""Escapes and base64 rarely more than double a file's length."""
_BLOCK_BYTES = 1024 * 1024


def write_json_lines(out: BinaryIO, items: Iterable[Item]) -> None:
    """Write one object per line; content that is not UTF-8 is base64."""
    for item in items:
        is_transcript = item.path.startswith(SESSIONS) and item.path.lower().endswith(".jsonl")
        record: dict[str, Any] = {"path": item.path, "source": "sessions" if is_transcript else "memory"}
        try:
            record["text"] = item.data.decode("utf-8")
        except UnicodeDecodeError:
            record["base64"] = base64.b64encode(item.data).decode("ascii")
        record["sha256"], record["mtime"] = sha256(item.data), item.mtime
        out.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def read_json_lines(file: BinaryIO, name: str) -> Iterator[Item | UnusableItem]:
    """The files of an archive; invalid lines are reported and skipped."""
    number = files = 0
    while raw := file.readline(_MAX_LINE_BYTES):
        number += 1
        if len(raw) == _MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while (rest := file.readline(_BLOCK_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield UnusableItem(f"line {number}", "is too long to be a note")
            continue
        if raw.isspace():
            continue
        files += 1
        if files > MAX_FILES:
            raise MemslotError(f"{name} holds more than {MAX_FILES:,} notes; split it to import the rest")
        yield _read_one(raw, f"line {number}")


def _read_one(raw: bytes, line: str) -> Item | UnusableItem:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return UnusableItem(line, "is not a complete JSON object; the file was truncated or changed")
    path = record.get("path") if isinstance(record, dict) else None
    if not isinstance(path, str):
        return UnusableItem(line, 'has no "path"')
    data = _data_of(record)
    if data is None:
        return UnusableItem(path, f'{line} has neither a "text" nor a "base64" that can be read')
    if len(data) > MAX_FILE_BYTES:
        return UnusableItem(path, f"is larger than {MAX_FILE_BYTES:,} bytes")
    if record.get("sha256") not in (None, sha256(data)):
        return UnusableItem(path, "is damaged: its checksum doesn't match")
    return Item(path, data, usable_mtime(record.get("mtime")))


def _data_of(record: dict[str, Any]) -> bytes | None:
    text, packed = record.get("text"), record.get("base64")
    try:
        if isinstance(text, str):
            return text.encode()
        if isinstance(packed, str):
            return base64.b64decode(packed, validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        pass
    return None
