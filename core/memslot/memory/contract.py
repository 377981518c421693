"""What the owner of the memory slot offers, whatever it is built on."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class MemoryHit:
    """One piece of memory that answers a query: where it is, how well it fits (0..1), and its text."""

    path: str
    score: float
    snippet: str
    source: str = "memory"
    start_line: int | None = None
    end_line: int | None = None
    explanation: Mapping[str, Any] | None = None
    """How the score came about, where somebody asked for it."""

    @property
    def citation(self) -> str:
        """`path#L3-L7`, or the path alone where there are no lines."""
        return self.path if self.start_line is None else f"{self.path}#L{self.start_line}-L{self.end_line}"


@dataclass(frozen=True)
class MemorySearchOutcome:
    """What a search gave and how: `mode` names the legs that ran, `warning` and `action` say what did not and why."""

    hits: Sequence[MemoryHit]
    mode: str
    provider: str | None = None
    model: str | None = None
    warning: str | None = None
    action: str | None = None
    fallback: str | None = None
    """What answered in place of what was configured, if so."""
    stale: str | None = None
    """What on disk is not yet in the answer, if anything."""
    weak: bool = False
    """Whether none of the hits is a good one: they are the nearest there is."""
    explanation: Mapping[str, Any] | None = None
    """What was considered and why it was dropped, if asked for."""


@dataclass(frozen=True)
class MemoryStatus:
    """How the memory is: `problems` is empty when all is well."""

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
    """The memory of one agent. Used from several threads at once."""

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        """Find what is relevant; best first.

        It may take further options: `session` (who listens), `min_score` (cut below it) and `explain` (say how the
        scores came about). `search_memory` passes those that a memory takes.
        """

    def status(self) -> MemoryStatus:
        """Say how it is, without waiting for anything."""

    def close(self) -> None:
        """Let go of files and connections; calling it twice is fine."""


def misfit(value: Any) -> str | None:
    """Why something cannot own the memory slot, or None."""
    lacks = [name for name in ("search", "status", "close") if not callable(getattr(value, name, None))]
    return f"{type(value).__name__} is not a memory: it lacks {', '.join(lacks)}" if lacks else None


def search_memory(memory: Memory, query: str, *, max_results: int | None = None, **options: Any) -> MemorySearchOutcome:
    """Search with those of the options that the memory's `search` takes."""
    taken = inspect.signature(memory.search).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    known = {name: value for name, value in options.items() if takes_all or name in taken}
    return memory.search(query, max_results=max_results, **known)
