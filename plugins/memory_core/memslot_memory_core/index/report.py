"""Reports of a sync: what it did, and why a rebuild is pending."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Progress = Callable[["SyncProgress"], None]
DISK_SCAN = "look"
"""Metadata key: the result of the last full scan."""
MAINTENANCE = "upkeep"
"""Metadata key: maintenance is "due" after changes, or was "begun" and is unfinished."""
_MOST_PROBLEMS = 50


@dataclass(frozen=True)
class SyncProgress:
    """Progress of a sync."""

    files: int
    total: int
    phase: Literal["indexing", "finishing"] = "indexing"
    """`finishing`: all files are indexed, and the vector tables are being optimized."""


@dataclass(frozen=True)
class Mismatch:
    """The index doesn't match the settings: what differs, and what a rebuild would cost."""

    differences: Sequence[str]
    chunks: int
    tokens: int
    provider: str | None
    returned: bool = False
    """Whether a rebuild replaced an index of these settings less than a day ago."""

    BEGINNING: ClassVar[str] = "the index was built with other settings"

    @property
    def sentence(self) -> str:
        message = f"{self.BEGINNING} ({'; '.join(self.differences)})"
        if self.returned:
            message += (
                "; it replaced an index with the current settings less than a day ago and is not rebuilt "
                "automatically, in case two configs share it"
            )
        if not self.chunks:
            return f"{message}; a rebuild needs no new embeddings"
        receiver = f" sent to {self.provider}" if self.provider else ""
        return f"{message}; a rebuild embeds {self.chunks:,} chunks, about {self.tokens:,} tokens{receiver}"

    def to_json(self) -> dict[str, Any]:
        return {
            "differences": list(self.differences),
            "chunks": self.chunks,
            "tokens": self.tokens,
            "provider": self.provider,
            "returned": self.returned,
        }


@dataclass(frozen=True)
class DiskScan:
    """What a full scan found besides files: links, hard-linked duplicates, read errors."""

    links: int = 0
    doubles: int = 0
    problems: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return {"links": self.links, "doubles": self.doubles, "problems": list(self.problems)[:_MOST_PROBLEMS]}


@dataclass(frozen=True)
class SyncReport:
    """What changed and what failed; `complete` is false if a limit or cancellation ended it early."""

    indexed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    rebuilt: bool = False
    complete: bool = True
    problems: Sequence[str] = field(default_factory=tuple)
    mismatch: Mismatch | None = None
    seconds: float = 0.0
    out_of_time: bool = False
    """Whether the provider had not answered when time ran out."""
    scanned_at: float = field(default_factory=time.time)
    """When the files were listed; later changes are not included."""
    scan: DiskScan | None = None
    """None if only some paths were scanned."""

    @property
    def changed(self) -> bool:
        return bool(self.indexed or self.removed or self.rebuilt)

    def to_json(self) -> dict[str, Any]:
        return {
            "indexed": self.indexed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "embedded": self.embedded,
            "rebuilt": self.rebuilt,
            "complete": self.complete,
            "problems": list(self.problems),
            "mismatch": None if self.mismatch is None else self.mismatch.to_json(),
            "seconds": round(self.seconds, 3),
        }
