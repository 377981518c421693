"""All pages of a memory's list and all parts of a text, with an end even if the memory never names one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memslot.memory.capabilities import CanList, CanRead, MemoryItem, MemoryText

if TYPE_CHECKING:
    from memslot.events import Session

_AT_ONCE = 1000


def list_all(memory: CanList, *, most: int, session: Session | None = None) -> Iterator[MemoryItem]:
    """Yield the items of a memory, at most so many. A page that is empty or repeats its cursor is the last."""
    given = _given(session)
    cursor: str | None = None
    left = most
    while left > 0:
        page = memory.list_items(cursor=cursor, limit=min(left, _AT_ONCE), **given)
        items = list(page.items)[:left]
        yield from items
        left -= len(items)
        if not items or page.cursor in (None, cursor):
            return
        cursor = page.cursor


def read_parts(
    memory: CanRead, path: str, *, at_once: int = _AT_ONCE, session: Session | None = None
) -> Iterator[MemoryText]:
    """Yield the parts of a text in order. A part that does not lead on is the last."""
    given = _given(session)
    line = 1
    while True:
        part = memory.read(path, start_line=line, max_lines=at_once, **given)
        yield part
        if part.next_line is None or part.next_line <= line:
            return
        line = part.next_line


def _given(session: Session | None) -> dict[str, Any]:
    """Without a session, a memory's own default counts."""
    return {} if session is None else {"session": session}
