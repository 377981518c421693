"""One line about each session, for lists."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot.agent.messages import message_text
from memslot.memory.fence import strip_recalled
from memslot.redaction.redact import redact
from memslot.sessions.lines import MAX_LINE_BYTES, message_of, parse
from memslot.sessions.record import SessionRecord
from memslot.sessions.times import to_iso, to_ms
from memslot.text import one_line

TITLE_CHARS = 80
_TITLE_SOURCE_CHARS = 2000
_MESSAGE = re.compile(rb'"type"\s*:\s*"message"')
_TYPE_BYTES = 400
"""Bytes of a line to scan for its type: parsing whole records would make lists slow."""
_END = 16 * 1024


@dataclass(frozen=True)
class SessionSummary:
    """A session in a list: registry data plus figures from the transcript."""

    record: SessionRecord
    path: Path | None
    messages: int = 0
    bytes: int = 0
    updated_at: int = 0
    title: str = ""
    problem: str = ""

    @property
    def id(self) -> str:
        return self.record.id

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "messages": self.messages,
            "bytes": self.bytes,
            "createdAt": to_iso(self.record.created_at) if self.record.created_at else None,
            "updatedAt": to_iso(self.updated_at) if self.updated_at else None,
            "chatType": self.record.chat_type,
            "channel": self.record.channel or None,
            "origin": dict(self.record.origin) or None,
            "inputTokens": self.record.input_tokens,
            "outputTokens": self.record.output_tokens,
            "compactionCount": self.record.compaction_count,
            "path": str(self.path) if self.path else None,
        }
        return {**fields, **({"problem": self.problem} if self.problem else {})}


def summarise(record: SessionRecord, path: Path | None, updated_at: int) -> SessionSummary:
    """Summarise a transcript; the title defaults to the user's first message."""
    count, size, title, problem = 0, 0, record.title, ""
    try:
        if path is not None:
            size = path.stat().st_size
            with path.open("rb") as file:
                while raw := file.readline(MAX_LINE_BYTES):
                    if _MESSAGE.search(raw[:_TYPE_BYTES]):
                        count += 1
                        title = title or _said_by_user(parse(raw))
    except OSError as error:
        count, size, problem = 0, 0, str(error.strerror)
    return SessionSummary(record, path, count, size, updated_at, title, problem)


def last_use(record: SessionRecord, path: Path | None) -> int:
    """Return the last-used time: the later of entry and last message, else the file's mtime."""
    if path is None:
        return record.updated_at
    try:
        return max(record.updated_at, _last_said(path) or 0) or path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return record.updated_at


def _last_said(path: Path) -> int | None:
    """Return the time of the last complete message, scanning backwards so that length doesn't matter."""
    with path.open("rb") as file:
        start, data, block = file.seek(0, os.SEEK_END), b"", _END
        while start and len(data) < MAX_LINE_BYTES:
            end, start = start, max(0, start - block)
            file.seek(start)
            data, block = file.read(end - start) + data, block * 4
            *lines, _ = data.split(b"\n")  # drop the torn tail
            for raw in reversed(lines[1:] if start else lines):
                if _MESSAGE.search(raw[:_TYPE_BYTES]):
                    return _time_of(parse(raw))
    return None


def title_of(text: str) -> str:
    """Return the beginning of a message as a one-line title without secrets."""
    said = strip_recalled(text)[:_TITLE_SOURCE_CHARS]
    return one_line(redact(said), TITLE_CHARS)  # not the other way round: half a secret is not recognized


def _said_by_user(record: Mapping[str, Any] | None) -> str:
    message = message_of(record) if record else None
    return title_of(message_text(message)) if message and message.get("role") == "user" else ""


def _time_of(record: Mapping[str, Any] | None) -> int | None:
    return to_ms(record.get("timestamp")) if record else None
