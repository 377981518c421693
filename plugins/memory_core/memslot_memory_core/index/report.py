"""What a sync did, and what stands in the way of a rebuild."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Progress = Callable[["SyncProgress"], None]
LOOK = "look"
"""The fact that holds what the last look at all files showed."""
UPKEEP = "upkeep"
"""The fact that upkeep is "due" after changes, or was "begun" and is not done."""
_MOST_PROBLEMS = 50


@dataclass(frozen=True)
class SyncProgress:
    """How far a sync is, for a bar."""

    files: int
    total: int
    chunks: int
    phase: Literal["indexing", "finishing"] = "indexing"
    """`finishing`: all files are in, and the vector tables are brought into shape."""


@dataclass(frozen=True)
class Mismatch:
    """The settings ask for another index than the one there is: what differs, and what building it would cost."""

    differences: Sequence[str]
    chunks: int
    tokens: int
    provider: str | None
    returned: bool = False
    """Whether the index was rebuilt away from the wanted settings less than a day ago."""

    BEGINNING: ClassVar[str] = "the index was built with other settings"

    @property
    def sentence(self) -> str:
        told = f"{self.BEGINNING} ({'; '.join(self.differences)})"
        if self.returned:
            told += (
                "; it was rebuilt from the wanted ones less than a day ago and is not rebuilt back by itself, "
                "in case two configs share it"
            )
        if not self.chunks:
            return f"{told}; a rebuild embeds no text anew"
        receiver = f" sent to {self.provider}" if self.provider else ""
        return f"{told}; a rebuild means {self.chunks:,} chunks, about {self.tokens:,} tokens{receiver}"

    def to_json(self) -> dict[str, Any]:
        return {
            "differences": list(self.differences),
            "chunks": self.chunks,
            "tokens": self.tokens,
            "provider": self.provider,
            "returned": self.returned,
        }


@dataclass(frozen=True)
class Look:
    """What a look at all files showed beside the files: links, files with a second name, what could not be read."""

    links: int = 0
    doubles: int = 0
    problems: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return {"links": self.links, "doubles": self.doubles, "problems": list(self.problems)[:_MOST_PROBLEMS]}


@dataclass(frozen=True)
class SyncReport:
    """What changed, and what did not work; `complete` is false where a limit or a cancellation ended it early."""

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
    """Whether a provider was still asked when the time was up."""
    looked_at: float = field(default_factory=time.time)
    """When the files were listed: what came later is not known."""
    look: Look | None = None
    """None where only some paths were looked at."""

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
