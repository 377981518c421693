"""Recall before a run: the best passages for a prompt, as whole lines within a budget."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memslot import RecalledItem, visible

from memslot_memory_core.session_notes import is_repeated

if TYPE_CHECKING:
    from memslot import MemoryHit, Session

    from memslot_memory_core.backend import Backend

RECALL_CHARS = 2400
MIN_PROMPT_CHARS = 5
_PASSAGE_CHARS = 1150
"""Two passages fill the budget: more lines of the best ones contain the answer more often than further passages."""
_MAX_PASSAGES, _MAX_PASSAGES_OF_MANY = 3, 5
"""Passages for one query, and for the queries of a longer prompt."""
_BEHIND_BEST = 0.2
"""Passages that score less than this share of the best are rarely relevant."""
_MIN_LETTERS = 12
_AROUND_ITEM = 3
"""Characters the fence adds per item."""


def recall(memory: Backend, prompt: str, session: Session) -> list[MemoryHit]:
    """Relevant passages for a prompt, best first; no weak matches."""
    from memslot.retrieval import prompt_queries, recall_score

    if len(prompt.strip()) < MIN_PROMPT_CHARS:
        return []
    queries = prompt_queries(prompt)
    floor = recall_score(len(queries))
    best: dict[tuple[str, int | None], MemoryHit] = {}
    for number, query in enumerate(queries):
        # Sync only before the first query.
        fresh = None if number == 0 else 0.0
        outcome = memory.search(
            query,
            max_results=_MAX_PASSAGES,
            min_score=floor,
            session=session,
            fresh_seconds=fresh,
            snippet_chars=_PASSAGE_CHARS,
        )
        for hit in outcome.hits:
            place = (hit.path, hit.start_line)
            if place not in best or hit.score > best[place].score:
                best[place] = hit
    found = sorted(best.values(), key=lambda hit: -hit.score)
    most = _MAX_PASSAGES if len(queries) == 1 else _MAX_PASSAGES_OF_MANY
    return [hit for hit in found if hit.score >= found[0].score - _BEHIND_BEST][:most]


def recalled_items(hits: Sequence[MemoryHit], told: Sequence[str], max_chars: int = RECALL_CHARS) -> list[RecalledItem]:
    """The passages as items for the fence: whole lines, no duplicates, nothing recalled before."""
    items: list[RecalledItem] = []
    said = set(told)
    room = max_chars
    for hit in _merge_neighbours(hits, max_chars):
        if is_repeated(hit.snippet, list(said)):
            continue
        lines = [line for line in hit.snippet.split("\n") if line.strip() and line.strip() not in said]
        source = f"{hit.citation}:"
        kept: list[str] = []
        for line in lines:
            if _cost(" ".join([source, *kept, line])) > room:
                break
            kept.append(line.strip())
        if sum(map(str.isalpha, "".join(kept))) < _MIN_LETTERS:
            continue
        items.append(RecalledItem("\n".join(kept), hit.score, hit.citation))
        said.update(kept)
        room -= _cost(" ".join([source, *kept]))
    return items


def _merge_neighbours(hits: Sequence[MemoryHit], max_chars: int) -> list[MemoryHit]:
    """Merge passages that overlap or are adjacent in a file."""
    passages: list[MemoryHit] = []
    for hit in hits:
        for place, known in enumerate(passages):
            joined = _joined(known, hit)
            if joined is not None and len(joined.snippet) < max_chars:
                passages[place] = joined
                break
        else:
            passages.append(hit)
    return passages


def _joined(one: MemoryHit, other: MemoryHit) -> MemoryHit | None:
    """Two passages as one; None if there is a gap between them."""
    begin, end, first, last = one.start_line, one.end_line, other.start_line, other.end_line
    if one.path != other.path or begin is None or end is None or first is None or last is None:
        return None
    if begin > last + 1 or first > end + 1:
        return None
    texts = (one.snippet, other.snippet) if begin <= first else (other.snippet, one.snippet)
    lines = dict.fromkeys(line for text in texts for line in text.split("\n"))
    return replace(one, snippet="\n".join(lines), start_line=min(begin, first), end_line=max(end, last))


def _cost(item: str) -> int:
    return len(html.escape(" ".join(visible(item).split()), quote=True)) + _AROUND_ITEM
