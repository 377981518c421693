"""Search outcomes as JSON for agents and scripts, and as text."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Literal

from memslot import MemslotError

if TYPE_CHECKING:
    from memslot import MemoryHit, MemorySearchOutcome, Session

    Citations = Literal["auto", "on", "off"]


logger = logging.getLogger("memslot.plugin.memory-core")


def unavailable(why: str, action: str) -> MemorySearchOutcome:
    """The outcome of a search that was not possible."""
    from memslot import MemorySearchOutcome

    return MemorySearchOutcome(hits=[], mode="unavailable", warning=why, action=action)


def failed_search(error: Exception) -> MemorySearchOutcome:
    """The outcome of a failed search; unexpected errors are logged."""
    import apsw

    if not isinstance(error, MemslotError | apsw.Error | OSError):
        logger.error("a search failed", exc_info=error)
    return unavailable(f"the memory cannot be searched: {error_text(error)}", "run: memslot memory status --deep")


def cites_sources(citations: Citations, session: Session) -> bool:
    """Whether snippets name their source: always, never, or in direct chats (auto)."""
    return citations == "on" or (citations == "auto" and session.is_private)


def outcome_json(outcome: MemorySearchOutcome, *, cites: bool, footer: bool = True) -> dict[str, Any]:
    """A search outcome as JSON with stable keys; with `footer`, snippets end with their source."""
    if outcome.mode == "unavailable":
        return {
            "results": [],
            "disabled": True,
            "unavailable": True,
            "error": outcome.warning,
            "warning": outcome.warning,
            "action": outcome.action,
        }
    optional = {
        "fallback": outcome.fallback,
        "warning": outcome.warning,
        "action": outcome.action,
        "stale": outcome.stale,
        "explain": outcome.explanation,
    }
    return {
        "results": [_hit_json(hit, cites, footer) for hit in outcome.hits],
        "provider": outcome.provider,
        "model": outcome.model,
        "mode": outcome.mode,
        "citations": "on" if cites else "off",
        **({"weak": True} if outcome.weak else {}),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _hit_json(hit: MemoryHit, cites: bool, footer: bool) -> dict[str, Any]:
    result = hit.to_json()
    if cites and footer:
        result["snippet"] += f"\n\nSource: {hit.citation}"
    if not cites:
        del result["citation"]
    return result


def age(moment: float | None) -> str:
    """How long ago, such as "2 hours ago"."""
    if moment is None:
        return "never"
    seconds = max(0.0, time.time() - moment)
    for name, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now"


def pluralize(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def error_text(error: Exception) -> str:
    """An error's message, or its class name if it has none."""
    if isinstance(error, MemslotError):
        return str(error)
    said = str(getattr(error, "strerror", None) or error)
    return said.removeprefix(f"{type(error).__name__}: ") or type(error).__name__
