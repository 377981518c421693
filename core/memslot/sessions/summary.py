"""One line about each session, for lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot.agent.messages import message_text
from memslot.memory.fence import strip_recalled
from memslot.sessions.lines import MAX_LINE_BYTES, message_of, parse
from memslot.sessions.record import SessionRecord
from memslot.sessions.times import to_iso, to_ms
from memslot.text import one_line

TITLE_CHARS = 80
_MESSAGE = re.compile(rb'"type"\s*:\s*"message"')
_LOOK = 400
"""Bytes of a line in which its type is looked for: reading whole records would make a list slow."""


@dataclass(frozen=True)
class SessionSummary:
    """A session in a list: what the registry knows, and what a look at the transcript shows."""

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
        told: dict[str, Any] = {
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
        return {**told, **({"problem": self.problem} if self.problem else {})}


def summarise(record: SessionRecord, path: Path) -> SessionSummary:
    """Count a transcript's messages; its time is that of the last one, its title what the user said first."""
    count, title, last = 0, record.title, b""
    try:
        size, mtime_ms = path.stat().st_size, path.stat().st_mtime_ns // 1_000_000
        with path.open("rb") as file:
            while raw := file.readline(MAX_LINE_BYTES):
                if not _MESSAGE.search(raw[:_LOOK]):
                    continue
                count += 1
                if raw.endswith(b"\n"):
                    last = raw
                if not title:
                    title = _said_by_user(parse(raw))
    except OSError as error:
        return SessionSummary(record, path, updated_at=record.updated_at, title=title, problem=str(error.strerror))
    said_at = _time_of(parse(last)) if last else None
    updated = max(record.updated_at, said_at or 0) or mtime_ms
    return SessionSummary(record, path, count, size, updated, title)


def title_of(text: str) -> str:
    """The beginning of what somebody said, in one line."""
    return one_line(strip_recalled(text), TITLE_CHARS)


def _said_by_user(record: Mapping[str, Any] | None) -> str:
    message = message_of(record) if record else None
    return title_of(message_text(message)) if message and message.get("role") == "user" else ""


def _time_of(record: Mapping[str, Any] | None) -> int | None:
    return to_ms(record.get("timestamp")) if record else None
