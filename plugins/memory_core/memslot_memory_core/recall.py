"""Recall before a run: the best passages for the sentences of a prompt, as whole lines within a budget."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memslot import visible, without_starter

from memslot_memory_core.session_notes import says_no_more

if TYPE_CHECKING:
    from memslot import MemoryHit, Session

    from memslot_memory_core.searchable import Searchable

RECALL_CHARS = 2400
MIN_PROMPT_CHARS = 5
_MOST, _MOST_OF_MANY = 3, 5
"""Passages for one query, and for the queries of a longer prompt."""
_BEHIND_BEST = 0.2
"""A passage that scores so much less than the best one is seldom what was asked for."""
_LEAST_LETTERS = 12
_AROUND_ITEM = 3
"""Characters that the fence puts around each item."""


def recall(memory: Searchable, prompt: str, session: Session) -> list[MemoryHit]:
    """The passages that a prompt asks for, best first; none that is a weak match."""
    from memslot.retrieval import prompt_queries, recall_score

    if len(prompt.strip()) < MIN_PROMPT_CHARS:
        return []
    queries = prompt_queries(prompt)
    floor = recall_score(len(queries))
    best: dict[tuple[str, int | None], MemoryHit] = {}
    for number, query in enumerate(queries):
        # Changes on disk are looked for once.
        fresh = None if number == 0 else 0.0
        for hit in memory.search(query, max_results=_MOST, session=session, fresh_seconds=fresh).hits:
            place = (hit.path, hit.start_line)
            if hit.score >= floor and (place not in best or hit.score > best[place].score):
                best[place] = hit
    found = sorted(best.values(), key=lambda hit: -hit.score)
    most = _MOST if len(queries) == 1 else _MOST_OF_MANY
    return [hit for hit in found if hit.score >= found[0].score - _BEHIND_BEST][:most]


def recalled_items(hits: Sequence[MemoryHit], told: Sequence[str], max_chars: int = RECALL_CHARS) -> list[str]:
    """The passages as items for the fence: whole lines, nothing twice, and nothing that was told already."""
    items: list[str] = []
    said = set(told)
    room = max_chars
    for hit in hits:
        text = without_starter(hit.snippet)
        if says_no_more(text, list(said)):
            continue
        lines = [line for line in text.split("\n") if line.strip() and line.strip() not in said]
        source = f"{hit.citation}:"
        kept: list[str] = []
        for line in lines:
            if _cost(" ".join([source, *kept, line])) > room:
                break
            kept.append(line.strip())
        item = " ".join([source, *kept])
        if sum(character.isalpha() for line in kept for character in line) < _LEAST_LETTERS:
            continue
        items.append(item)
        said.update(kept)
        room -= _cost(item)
    return items


def _cost(item: str) -> int:
    return len(html.escape(" ".join(visible(item).split()), quote=True)) + _AROUND_ITEM
