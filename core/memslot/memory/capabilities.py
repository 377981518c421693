"""What a memory can do beyond searching. Each capability is a small Protocol that a memory has or has not.

Ask with `isinstance(host.memory, CanRead)`. Servers, hooks, adapters and commands go by these alone, so they work
with every memory plugin. `session` says who listens: a memory leaves out what is private where others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from memslot.events import Session


@dataclass(frozen=True)
class MemoryItem:
    """One thing a memory holds: a note, a conversation, a fact. `path` is what search, read and forget call it."""

    path: str
    title: str
    source: str = "memory"
    changed_at: datetime | None = None
    size: int | None = None
    """Bytes, where the memory knows."""


@dataclass(frozen=True)
class MemoryPage:
    """Some of the items; `cursor` asks for the next page and is None on the last."""

    items: Sequence[MemoryItem]
    cursor: str | None = None


@dataclass(frozen=True)
class MemoryText:
    """Some lines of an item; `next_line` is where to go on, None at the end. A missing item reads as empty."""

    path: str
    text: str
    start_line: int = 1
    lines: int = 0
    next_line: int | None = None


@dataclass(frozen=True)
class MemoryReceipt:
    """What became of a text: where it is kept, and whether it was there before."""

    path: str
    is_new: bool = True
    warning: str | None = None
    """What the caller should be told, such as that a secret was redacted."""


@runtime_checkable
class CanRefresh(Protocol):
    def refresh(self) -> None:
        """Take up what changed in the sources; returns when it can be found."""


@runtime_checkable
class CanRead(Protocol):
    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """Lines of an item by its path. A path outside the memory is a MemslotError."""


@runtime_checkable
class CanList(Protocol):
    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: Session | None = None) -> MemoryPage:
        """What is remembered, in pages, in an order that stays the same while nothing is written."""


@runtime_checkable
class CanRemember(Protocol):
    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        """Keep a text; on disk when this returns. Secrets in it are redacted."""


@runtime_checkable
class CanForget(Protocol):
    def forget(self, path: str) -> bool:
        """Remove an item for good; False where there is none of that path."""


CAPABILITIES: dict[str, type] = {
    "refresh": CanRefresh,
    "read": CanRead,
    "list": CanList,
    "remember": CanRemember,
    "forget": CanForget,
}
"""By the word that status and docs use."""


def capabilities_of(memory: object) -> tuple[str, ...]:
    """The names of what a memory can do, such as ("refresh", "read")."""
    return tuple(name for name, protocol in CAPABILITIES.items() if isinstance(memory, protocol))
