"""Joins what memories recall before a run: one scale, no duplicates, one budget, one fence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memslot.events import AgentStart, RecalledItem
from memslot.memory.fence import fence, fence_room, item_cost


def join_recalled(
    starts: Mapping[str, AgentStart],
    *,
    side_by_side: bool = False,
    cosine: Callable[[str, str], float | None] = lambda one, other: None,
) -> str:
    """Return the fenced block of what plugins recall; empty if they recall nothing.

    Each plugin's items are cut to its own budget, then all of them to the largest budget. With `side_by_side` every
    item names its source, even if only one memory recalls something.
    """
    found = {each: start for each, start in starts.items() if start.recalled}
    if not found:
        return ""
    names_sources = side_by_side or len(found) > 1
    items: list[_Item] = []
    for plugin_id, start in found.items():
        items += _fitted([_labelled(plugin_id, item, names_sources) for item in start.recalled], start.recall_chars)
    room = max(start.recall_chars for start in found.values())
    if len(found) > 1:
        from memslot.retrieval.fusion import fuse

        texts, scores, sources = zip(*((item.text, item.score, item.plugin_id) for item in items), strict=True)
        items = _fitted([items[index] for index, _ in fuse(texts, scores, sources, cosine=cosine)], room)
    return fence([item.line for item in items], max_chars=room)


@dataclass(frozen=True)
class _Item:
    plugin_id: str
    label: str
    text: str
    score: float

    @property
    def line(self) -> str:
        return self.label + self.text


def _labelled(plugin_id: str, item: RecalledItem, names_source: bool) -> _Item:
    source = plugin_id if item.source is None and names_source else item.source
    return _Item(plugin_id, f"{source}: " if source else "", item.text, item.score)


def _fitted(items: Sequence[_Item], max_chars: int) -> list[_Item]:
    """Return the items that fit, whole or as many lines as fit; if none does, the first, for the fence to cut."""
    room = fence_room(max_chars)
    kept: list[_Item] = []
    for item in items:
        cost = item_cost(item.line)
        if cost > room:
            item = _shortened(item, room)
            cost = item_cost(item.line)
        if item.text.strip() and cost <= room:
            kept.append(item)
            room -= cost
    return kept or list(items[:1])


def _shortened(item: _Item, room: int) -> _Item:
    """An item with as many of its lines as fit; without text where not even the first does."""
    lines = [line for line in item.text.split("\n") if line.strip()]
    most = bisect_right(range(1, len(lines) + 1), room, key=lambda n: item_cost(item.label + "\n".join(lines[:n])))
    return replace(item, text="\n".join(lines[:most]))
