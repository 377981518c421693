"""The memory's items as MCP resources, listed and read through its capabilities."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, unquote

from memslot import CanList, CanRead, Host, MemoryItem, MemslotError, Session

PREFIX = "memslot://notes/"
TEMPLATE = PREFIX + "{+path}"
MAX_CHARS = 1_000_000
MAX_LISTED = 10_000
_LINES = 1000
_LISTED_AT_ONCE = 500


def uri_of(item: MemoryItem) -> str:
    return PREFIX + quote(item.path)


def path_of(uri: str) -> str | None:
    """The path in one of our URIs, or None."""
    if not uri.startswith(PREFIX):
        return None
    return unquote(uri.removeprefix(PREFIX), errors="replace") or None


def has_notes(host: Host) -> bool:
    return isinstance(host.memory, CanList) and isinstance(host.memory, CanRead)


def list_notes(host: Host, session: Session) -> list[MemoryItem]:
    """The memory's items in its own order, without transcripts."""
    return [item for item in _items(host, session) if item.source != "sessions" and _has_uri(item)]


def _items(host: Host, session: Session) -> Iterator[MemoryItem]:
    cursor: str | None = None
    listed = 0
    while isinstance(host.memory, CanList) and listed < MAX_LISTED:
        page = host.memory.list_items(cursor=cursor, limit=_LISTED_AT_ONCE, session=session)
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
    """A whole note, redacted by the memory; None if there is no such note."""
    if not isinstance(host.memory, CanRead):
        return None
    parts: list[str] = []
    room = MAX_CHARS
    line: int | None = 1
    while line is not None and room > 0:
        try:
            part = host.memory.read(path, start_line=line, max_lines=_LINES, session=session)
        except MemslotError:  # a path outside the memory
            return None
        if not part.lines:
            break
        parts.append(part.text)
        room -= len(part.text) + 1
        line = part.next_line if part.next_line is not None and part.next_line > line else None
    if not parts:
        return "" if any(item.path == path for item in _items(host, session)) else None
    whole = "\n".join(parts)
    return whole if len(whole) <= MAX_CHARS else f"{whole[:MAX_CHARS]}\n[truncated: the note is longer]"
