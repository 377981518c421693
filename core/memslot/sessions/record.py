"""A session's metadata in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memslot.events import CHAT_TYPES, ChatType
from memslot.sessions.times import LATEST_MS


@dataclass(frozen=True)
class SessionRecord:
    """A session's registry entry; `data` is the raw entry, including keys of other programs.

    Times are Unix milliseconds. Missing or mistyped fields have their empty value.
    """

    id: str
    created_at: int = 0
    updated_at: int = 0
    chat_type: ChatType = "direct"
    title: str = ""
    channel: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    compaction_count: int = 0
    memory_flush_at: int = 0
    memory_flush_compaction_count: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, session_id: str, entry: Mapping[str, Any]) -> SessionRecord:
        chat_type = entry.get("chatType")
        origin = entry.get("origin")
        flushed = entry.get("memoryFlushCompactionCount")
        return cls(
            id=session_id,
            created_at=_moment(entry, "createdAt"),
            updated_at=_moment(entry, "updatedAt"),
            chat_type=next((known for known in CHAT_TYPES if known == chat_type), "direct"),
            title=_text(entry, "title"),
            channel=_text(entry, "channel"),
            origin=origin if isinstance(origin, Mapping) else {},
            input_tokens=_number(entry, "inputTokens"),
            output_tokens=_number(entry, "outputTokens"),
            total_tokens=_number(entry, "totalTokens"),
            compaction_count=_number(entry, "compactionCount"),
            memory_flush_at=_moment(entry, "memoryFlushAt"),
            memory_flush_compaction_count=None if flushed is None else _number(entry, "memoryFlushCompactionCount"),
            data=dict(entry),
        )


def _number(entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _moment(entry: Mapping[str, Any], key: str) -> int:
    """Return a timestamp, or 0 if it is out of range: some programs write microseconds."""
    value = _number(entry, key)
    return value if value < LATEST_MS else 0


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
