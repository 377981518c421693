"""What a memory can do beyond searching. Each capability is a small, optional Protocol.

Test with `isinstance(host.memory, CanRead)`. Servers, hooks, adapters and commands rely on these alone, so they work
with every memory plugin. `session` identifies the audience: in a group, a memory leaves out private items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from memslot.events import Session


@dataclass(frozen=True)
class MemoryItem:
    """One item of a memory: a note, a conversation, a fact. `path` identifies it in search, read and forget."""

    path: str
    title: str
    source: str = "memory"
    changed_at: datetime | None = None
    size: int | None = None
    """In bytes, if known."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the memory knows, for tables: `category`, `importance` (0..1), `created` (a datetime), `session` (the
    id of the conversation it came from), `day` (the date that it is about)."""


@dataclass(frozen=True)
class MemoryPage:
    """A page of items; `cursor` requests the next page and is None on the last."""

    items: Sequence[MemoryItem]
    cursor: str | None = None


@dataclass(frozen=True)
class MemoryText:
    """Lines of an item; `next_line` is where to continue, None at the end. A missing item reads as empty."""

    path: str
    text: str
    start_line: int = 1
    lines: int = 0
    next_line: int | None = None


@dataclass(frozen=True)
class MemoryReceipt:
    """The result of `remember`: where the text is kept, and whether it is new."""

    path: str
    is_new: bool = True
    warning: str | None = None
    """A remark for the caller, such as that a secret was redacted."""


@dataclass(frozen=True)
class MemoryFiles:
    """Where a memory keeps the note files that it indexes."""

    root: Path
    folder: str
    """Holds the notes and folders of notes; relative to `root`."""
    named: tuple[str, ...] = ()
    """Notes with special names, directly in `root`."""
    suffix: str = ".md"
    """The file suffix of notes."""

    def path_of(self, name: str) -> str:
        """The path that search and read use for a note or folder of this name, relative to `root`."""
        return name if name in self.named else f"{self.folder}/{name}"


@dataclass(frozen=True)
class MemoryVersion:
    """The memory as it was after a write; `id` is what `restore` takes."""

    id: str
    at: datetime
    items: int | None = None
    """The number of items, if known."""


@dataclass(frozen=True)
class MemoryFinding:
    """Something in the memory that the user should look at, such as a duplicate or a secret."""

    kind: str
    path: str
    excerpt: str
    """The beginning of the text in one line, secrets redacted."""
    action: str
    """What to do about it, in one sentence."""
    start_line: int | None = None
    end_line: int | None = None
    others: Sequence[tuple[str, int | None]] = ()
    """Where else: path and first line."""


@dataclass(frozen=True)
class MemoryPoint:
    """A piece of an item and its vector; only points of one answer can be compared."""

    path: str
    excerpt: str
    vector: Sequence[float]
    source: str = "memory"
    start_line: int | None = None
    changed_at: datetime | None = None


@runtime_checkable
class CanRefresh(Protocol):
    """A memory that can take up changes of its sources on demand."""

    def refresh(self) -> None:
        """Index what changed in the sources; return once it can be found."""


@runtime_checkable
class CanRead(Protocol):
    """A memory whose items can be read by their paths."""

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """Return lines of an item. Raises a MemslotError for a path outside the memory."""


@runtime_checkable
class CanList(Protocol):
    """A memory that can list all its items."""

    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: Session | None = None) -> MemoryPage:
        """Return a page of all items, in an order that is stable while nothing is written."""


@runtime_checkable
class CanRemember(Protocol):
    """A memory that can store a text."""

    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        """Store a text durably. Secrets are redacted."""


@runtime_checkable
class CanForget(Protocol):
    """A memory that can delete an item."""

    def forget(self, path: str) -> bool:
        """Delete an item permanently; return False if there is none at that path."""


@runtime_checkable
class CanUpdate(Protocol):
    """A memory whose items can be edited."""

    def update(self, path: str, text: str, *, expected: str | None = None) -> MemoryReceipt:
        """Replace an item's text with the user's; on disk when this returns. Raises a MemslotError if that failed.

        `expected` is the text that the user saw, as `read` returned it: the update is refused if it has changed since.
        Secrets that `read` redacts stay as they are in lines that were not edited.
        """


@runtime_checkable
class CanUndo(Protocol):
    """A memory with earlier versions that can be restored."""

    def versions(self, *, limit: int = 50) -> Sequence[MemoryVersion]:
        """Earlier states of the memory, the newest first; the first one is the present."""

    def restore(self, version: str) -> None:
        """Go back to a version, by its id; the present state stays among the versions."""


@runtime_checkable
class CanAudit(Protocol):
    """A memory that can check its contents for duplicates, secrets and stale entries."""

    def audit(self) -> Sequence[MemoryFinding]:
        """Check everything, the most important findings first. Changes nothing."""


@runtime_checkable
class CanMap(Protocol):
    """A memory that can provide vectors of its contents, to draw a map."""

    def points(self, *, limit: int = 500) -> Sequence[MemoryPoint]:
        """An even sample of the memory, with vectors of one length; empty if there are none."""


@runtime_checkable
class CanKeepFiles(Protocol):
    """For a memory whose notes are files that other programs may write, under `note_lock` and with `write_file`."""

    def files(self) -> MemoryFiles:
        """Where its note files are."""

    def files_changed(self, *paths: str) -> None:
        """Note that files were written, moved or deleted (paths relative to the root); returns at once."""


CAPABILITIES: dict[str, type] = {
    "refresh": CanRefresh,
    "read": CanRead,
    "list": CanList,
    "remember": CanRemember,
    "forget": CanForget,
    "update": CanUpdate,
    "undo": CanUndo,
    "audit": CanAudit,
    "map": CanMap,
    "files": CanKeepFiles,
}
"""By the name used in status and docs."""


def has_capability(memory: object, capability: type) -> bool:
    """Whether a memory has a capability; not if merely looking raises, as a property of it may."""
    try:
        return isinstance(memory, capability)
    except Exception:
        return False


def capabilities_of(memory: object) -> tuple[str, ...]:
    """Return the names of a memory's capabilities, such as ("refresh", "read")."""
    return tuple(name for name, protocol in CAPABILITIES.items() if has_capability(memory, protocol))
