"""The memories' items as MCP resources, listed and read through their capabilities."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from memslot import CanList, CanRead, Host, MemoryItem, MemslotError, Session, list_all, read_parts

PREFIX = "memslot://notes/"
TEMPLATE = PREFIX + "{+path}"
MAX_CHARS = 1_000_000
MAX_LISTED = 10_000
ANSWER_SECONDS = 10.0
Value = TypeVar("Value")
_log = logging.getLogger("memslot.mcp")


def uri_of(item: MemoryItem) -> str:
    return PREFIX + quote(item.path)


def path_of(uri: str) -> str | None:
    """The path in one of our URIs, or None."""
    if not uri.startswith(PREFIX):
        return None
    return unquote(uri.removeprefix(PREFIX), errors="replace") or None


def has_notes(host: Host) -> bool:
    return bool(_readable(host))


def list_notes(host: Host, session: Session) -> list[MemoryItem]:
    """List the items of each memory in its own order, without transcripts; of two with the same path, the first."""
    items: dict[str, MemoryItem] = {}
    for memory_id, memory in _readable(host):
        found = _ask(host, memory_id, "list", partial(_list, memory, session))
        items |= {item.path: item for item in found or () if item.path not in items}
    return list(items.values())


def _list(memory: CanList, session: Session) -> list[MemoryItem]:
    listed = list_all(memory, most=MAX_LISTED, session=session)
    return [item for item in listed if item.source != "sessions" and _has_uri(item)]


def _ask(host: Host, memory_id: str, stage: str, function: Callable[[], Value]) -> Value | None:
    """What a memory answers; None if it fails or hangs beside others, which answer for it."""
    try:
        return host.memories.call(memory_id, stage, function, seconds=ANSWER_SECONDS)
    except MemslotError as error:
        if len(host.memories) == 1:
            raise
        _log.warning("%s", error)
        return None


def _readable(host: Host) -> list[tuple[str, Any]]:
    """The memories whose items can be listed and read, with their ids."""
    return host.memories.having(CanList, CanRead)


def _has_uri(item: MemoryItem) -> bool:
    """A path with a lone surrogate has no URI."""
    try:
        item.path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_note(host: Host, path: str, session: Session) -> str | None:
    """A whole note, redacted by its memory; None if no memory has such a note."""
    for memory_id, memory in _readable(host):
        text = _ask(host, memory_id, "read", partial(_read, memory, path, session))
        if text is not None:
            return text
    return None


def _read(memory: Any, path: str, session: Session) -> str | None:
    parts: list[str] = []
    room = MAX_CHARS
    try:
        for part in read_parts(memory, path, session=session):
            if not part.lines:
                break
            parts.append(part.text)
            room -= len(part.text) + 1
            if room <= 0:
                break
    except MemslotError:  # a path outside the memory
        return None
    if not parts:
        listed = list_all(memory, most=MAX_LISTED, session=session)
        return "" if any(item.path == path for item in listed) else None
    whole = "\n".join(parts)
    return whole if len(whole) <= MAX_CHARS else f"{whole[:MAX_CHARS]}\n[truncated: the note is longer]"
