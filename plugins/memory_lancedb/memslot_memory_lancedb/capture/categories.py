"""What kind of memory a text is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from memslot_memory_lancedb.capture.reading import fold, show
from memslot_memory_lancedb.capture.triggers import Kind, Trigger, find_triggers

Category = Literal["preference", "fact", "decision", "entity", "other"]

# A rule ("always answer in German") tells how somebody wants things. Being asked to remember says nothing of the kind.
_CATEGORY: dict[Kind, Category] = {
    "decision": "decision",
    "preference": "preference",
    "entity": "entity",
    "fact": "fact",
    "rule": "preference",
}
_RANK: dict[Kind, int] = {kind: rank for rank, kind in enumerate(_CATEGORY)}


def detect_category(text: str) -> Category:
    """The category of a text by the first telling phrase in it; `other` if there is none."""
    return category_of(find_triggers(fold(show(text))))


def category_of(triggers: Iterable[Trigger]) -> Category:
    """The category that triggers stand for: what is said first counts, and a habit counts least."""
    telling = [trigger for trigger in triggers if trigger.kind in _RANK]
    if not telling:
        return "other"
    first = min(telling, key=lambda trigger: (trigger.kind == "rule", trigger.rank, _RANK[trigger.kind]))
    return _CATEGORY[first.kind]
