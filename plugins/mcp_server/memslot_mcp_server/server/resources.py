"""The memories' items as MCP resources, listed and read through their capabilities."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from memslot import CanList, CanRead, Host, MemoryItem, MemslotError, Session

PREFIX = "memslot://notes/"
TEMPLATE = PREFIX + "{+path}"
MAX_CHARS = 1_000_000
MAX_LISTED = 10_000
_LINES = 1000
_LISTED_AT_ONCE = 500
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
        try:
            for item in _items(memory, session):
                if item.source != "sessions" and _has_uri(item):
                    items.setdefault(item.path, item)
        except Exception as error:
            if len(host.memories) == 1:
                raise
            _log.warning("the items of %s cannot be listed: %s", memory_id, error)
    return list(items.values())


def _readable(host: Host) -> list[tuple[str, Any]]:
    """The memories whose items can be listed and read, with their ids."""
    return [
        (each, memory) for each, memory in host.memories if isinstance(memory, CanList) and isinstance(memory, CanRead)
    ]


def _items(memory: CanList, session: Session) -> Iterator[MemoryItem]:
    cursor: str | None = None
    listed = 0
    while listed < MAX_LISTED:
        page = memory.list_items(cursor=cursor, limit=_LISTED_AT_ONCE, session=session)
        yield from page.items
        listed += len(page.items)
        cursor = page.cursor
        if cursor is None or not page.items:
            return


def _has_uri(item: MemoryItem) -> bool:
    """A path with a lone surrogate has no URI."""
    try:
        item.path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_note(host: Host, path: str, session: Session) -> str | None:
    """A whole note, redacted by its memory; None if no memory has such a note."""
    for _, memory in _readable(host):
        text = _read(memory, path, session)
        if text is not None:
            return text
    return None


def _read(memory: Any, path: str, session: Session) -> str | None:
    parts: list[str] = []
    room = MAX_CHARS
    line: int | None = 1
    while line is not None and room > 0:
        try:
            part = memory.read(path, start_line=line, max_lines=_LINES, session=session)
        except MemslotError:  # a path outside the memory
            return None
        if not part.lines:
            break
        parts.append(part.text)
        room -= len(part.text) + 1
        line = part.next_line if part.next_line is not None and part.next_line > line else None
    if not parts:
        return "" if any(item.path == path for item in _items(memory, session)) else None
    whole = "\n".join(parts)
    return whole if len(whole) <= MAX_CHARS else f"{whole[:MAX_CHARS]}\n[truncated: the note is longer]"
