"""What a memory can do beyond searching. Each capability is a small Protocol that a memory has or has not.

Ask with `isinstance(host.memory, CanRead)`. Servers, hooks, adapters and commands go by these alone, so they work
with every memory plugin. `session` says who listens: a memory leaves out what is private where others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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


@dataclass(frozen=True)
class MemoryFiles:
    """Where a memory keeps the note files that it indexes."""

    root: Path
    folder: str
    """Holds the notes and folders of notes; relative to `root`."""
    named: tuple[str, ...] = ()
    """Notes with a name of their own, which are in `root` itself."""
    suffix: str = ".md"
    """How the name of every note ends."""

    def path_of(self, name: str) -> str:
        """The path that search and read use for a note or folder of this name, relative to `root`."""
        return name if name in self.named else f"{self.folder}/{name}"


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


@runtime_checkable
class CanKeepFiles(Protocol):
    """For a memory whose notes are files that other programs may write, under `note_lock` and with `write_file`."""

    def files(self) -> MemoryFiles:
        """Where its note files are."""

    def files_changed(self, *paths: str) -> None:
        """Hear that files were written, moved or deleted, by their paths relative to the root; returns at once."""


CAPABILITIES: dict[str, type] = {
    "refresh": CanRefresh,
    "read": CanRead,
    "list": CanList,
    "remember": CanRemember,
    "forget": CanForget,
    "files": CanKeepFiles,
}
"""By the word that status and docs use."""


def capabilities_of(memory: object) -> tuple[str, ...]:
    """The names of what a memory can do, such as ("refresh", "read")."""
    return tuple(name for name, protocol in CAPABILITIES.items() if isinstance(memory, protocol))
