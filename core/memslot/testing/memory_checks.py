"""The queries that the kit runs on every memory, and checks of the results."""

from __future__ import annotations

from collections.abc import Callable

from memslot.errors import MemslotError
from memslot.memory.contract import Memory, MemoryHit, MemorySearchOutcome, MemoryStatus

FACTS = {
    "Which plant stands in the harbour office?": "An orchid stands in the harbour office.",
    "When is the violin lesson?": "The violin lesson is on Thursday at five.",
    "What does the tractor need?": "The tractor needs a new fuel filter before winter.",
}


def search(memory: Memory, query: str, max_results: int | None = None) -> MemorySearchOutcome:
    outcome = memory.search(query, max_results=max_results) if max_results else memory.search(query)
    assert isinstance(outcome, MemorySearchOutcome), f"search gave a {type(outcome).__name__}"
    assert isinstance(outcome.mode, str), f"mode must name the legs that ran, not {outcome.mode!r}"
    assert outcome.mode, "mode must name the legs that ran"
    for hit in outcome.hits:
        assert isinstance(hit, MemoryHit), f"search gave a {type(hit).__name__} among its hits"
        assert 0 <= hit.score <= 1, f"a score must be in 0..1, not {hit.score}"
    return outcome


def finds(memory: Memory, query: str, text: str) -> bool:
    return any(text in hit.snippet for hit in search(memory, query).hits)


def ask(question: Callable[[], MemorySearchOutcome | None]) -> MemorySearchOutcome | None:
    """Return the outcome of a question; None if it was refused in one of the ways that callers expect."""
    try:
        return question()
    except (MemslotError, ValueError) as error:
        check_clear(error)
        return None


def check_clear(error: Exception) -> None:
    assert str(error), f"{type(error).__name__} says nothing"


def check_status(memory: Memory) -> MemoryStatus:
    status = memory.status()
    assert isinstance(status, MemoryStatus), f"status gave a {type(status).__name__}"
    return status
