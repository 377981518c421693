"""The contract of a memory in the slot."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from memslot.errors import MemslotError


@dataclass(frozen=True)
class MemoryHit:
    """One search result: location, score (0..1) and text."""

    path: str
    score: float
    snippet: str
    source: str = "memory"
    start_line: int | None = None
    end_line: int | None = None
    explanation: Mapping[str, Any] | None = None
    """How the score was computed, if requested. Its `parts`, if any, can be shown as bars: `words`,
    `meaning`, `evidence` (the best line or passage) and `decay` (by age), each from 0 to 1."""

    @property
    def citation(self) -> str:
        """`path#L3-L7`, or only the path if there are no lines."""
        if self.start_line is None:
            return self.path
        return f"{self.path}#L{self.start_line}-L{self.start_line if self.end_line is None else self.end_line}"

    def to_json(self) -> dict[str, Any]:
        """Return the hit with the keys that commands and tools print; `explain` only if it was requested."""
        data = {
            "path": self.path,
            "startLine": self.start_line,
            "endLine": self.end_line,
            "score": self.score,
            "snippet": self.snippet,
            "source": self.source,
            "citation": self.citation,
        }
        return data if self.explanation is None else {**data, "explain": self.explanation}


@dataclass(frozen=True)
class MemorySearchOutcome:
    """Search results and how they were found: `mode` names the legs that ran, `warning` what failed."""

    hits: Sequence[MemoryHit]
    mode: str
    provider: str | None = None
    model: str | None = None
    warning: str | None = None
    action: str | None = None
    fallback: str | None = None
    """What answered in place of the configured backend or provider, if anything."""
    stale: str | None = None
    """What on disk the results do not cover yet, if anything."""
    weak: bool = False
    """Whether no hit is a good match: they are only the closest ones."""
    explanation: Mapping[str, Any] | None = None
    """What was considered, if asked for. Its `dropped`, if any, are explanations of hits, each with a `path`, a `score`
    and the reason as its `outcome`."""


@dataclass(frozen=True)
class MemoryStatus:
    """A memory's health: `problems` is empty if there are none."""

    backend: str
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.problems, str) or not isinstance(self.problems, Sequence):
            raise TypeError("MemoryStatus.problems is a list of sentences")
        if not isinstance(self.counts, Mapping) or not isinstance(self.details, Mapping):
            raise TypeError("MemoryStatus.counts and .details are mappings")

    @property
    def is_healthy(self) -> bool:
        return not self.problems


@runtime_checkable
class Memory(Protocol):
    """The memory of one agent; must be thread-safe."""

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        """Return what is relevant, best first.

        It may accept further options: `session` (the audience), `min_score` (a floor) and `explain` (how scores were
        computed). `search_memory` passes only those that a memory accepts.
        """

    def status(self) -> MemoryStatus:
        """Report its health without blocking."""

    def close(self) -> None:
        """Release files and connections. Idempotent."""


def misfit(value: Any) -> str | None:
    """Return why a value is not a memory, or None if it is."""
    lacks = [name for name in ("search", "status", "close") if not callable(getattr(value, name, None))]
    return f"{type(value).__name__} is not a memory: it lacks {', '.join(lacks)}" if lacks else None


def search_memory(memory: Memory, query: str, *, max_results: int | None = None, **options: Any) -> MemorySearchOutcome:
    """Search with those options that the memory's `search` accepts.

    A memory that does not accept `session` is not searched in group chats: it could not leave out private items.
    """
    taken = inspect.signature(memory.search).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    session = options.get("session")
    if session is not None and not session.is_private and not takes_all and "session" not in taken:
        raise MemslotError("its search does not accept a session, so it is not asked in group chats")
    known = {name: value for name, value in options.items() if takes_all or name in taken}
    return memory.search(query, max_results=max_results, **known)
