"""What a search found, before it is handed out as the host's own types or told as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memslot_memory_core.records import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memslot import MemorySearchOutcome


@dataclass(frozen=True)
class Hit:
    """A passage to show: `MemoryHit` before it is handed out."""

    path: str
    score: float
    snippet: str
    source: str
    start_line: int
    end_line: int
    explanation: Mapping[str, Any] | None

    @property
    def citation(self) -> str:
        return f"{self.path}#L{self.start_line}-L{self.end_line}"


@dataclass(frozen=True)
class Found:
    """What a search found, and how: `MemorySearchOutcome` before it is handed out.

    A search that is to be told as JSON at once need not load what the host's own types take.
    """

    hits: Sequence[Hit]
    mode: str
    provider: str | None = None
    model: str | None = None
    warning: str | None = None
    action: str | None = None
    fallback: str | None = None
    stale: str | None = None
    explanation: Mapping[str, Any] | None = None

    def to_outcome(self) -> MemorySearchOutcome:
        from memslot import MemoryHit, MemorySearchOutcome

        return MemorySearchOutcome(**{**vars(self), "hits": [MemoryHit(**vars(hit)) for hit in self.hits]})
