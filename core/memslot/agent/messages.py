"""Converts chat messages of any library to plain dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memslot.events import Message
from memslot.plugins.isolation import own_copy


def plain_messages(messages: Iterable[Any]) -> tuple[tuple[Message, ...], int]:
    """Messages as plain dicts of their own, and how many could not be read.

    Objects of vendors' libraries are taken too: those that can dump themselves, or have a role and a content.
    """
    plain: list[Message] = []
    unread = 0
    for message in messages:
        found = _as_mapping(message)
        if found is None:
            unread += 1
        else:
            plain.append(own_copy(found))
    return tuple(plain), unread


def _as_mapping(message: Any) -> Mapping[str, Any] | None:
    if isinstance(message, Mapping):
        return message
    dump = getattr(message, "model_dump", None)
    if callable(dump):
        try:
            dumped = dump(mode="json", exclude_none=True)
        except Exception:
            return None
        return dumped if isinstance(dumped, Mapping) else None
    if hasattr(message, "role") and hasattr(message, "content"):
        return {"role": message.role, "content": message.content}
    return None


def message_text(message: Message) -> str:
    """Return a message's text: its content, or its text parts joined by newlines."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))
