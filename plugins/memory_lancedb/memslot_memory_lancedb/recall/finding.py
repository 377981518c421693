"""Finds the memories that answer a query, by words and by meaning, and says which of them ran."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memslot import strip_recalled

from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedded, Embedder
from memslot_memory_lancedb.memories import LEGS, Found, sendable
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.recall.statistics import Statistics
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable, SearchRow

if TYPE_CHECKING:
    from memslot_memory_lancedb.recall.ranking import QueryMeaning

BOTH, MEANING, WORDS = "hybrid", "vector", "words"
POOL = 60
"""Candidates of each leg."""
MAX_QUERY_CHARS = 4000
"""A longer query says what it is about within its first part."""


@dataclass(frozen=True)
class Recalled:
    """What was found, which legs ran, and why one did not."""

    found: Sequence[Found]
    mode: str
    warning: str | None = None
    action: str | None = None


class Recalling:
    """Searches the memories of one agent. Safe to use from several threads."""

    def __init__(self, store: MemoryStore, embedder: Embedder, backgrounds: Backgrounds) -> None:
        self._store = store
        self._embedder = embedder
        self._backgrounds = backgrounds
        self._statistics = Statistics()

    @property
    def fault(self) -> str | None:
        """What the embedder last failed at, if it has not worked since."""
        return self._embedder.fault

    def find(self, query: str, limit: int, seconds: float = PATIENCE_SECONDS) -> Recalled:
        """The best memories for a query, best first; after `seconds` without a vector it goes by words.

        Raises a StoreError where the store cannot be read.
        """
        text = clean_query(query)
        if not text:
            return Recalled((), "none", "the query is empty", "say what to look for")
        return self.find_any([text], limit, seconds)

    def find_any(self, queries: Sequence[str], limit: int, seconds: float = PATIENCE_SECONDS) -> Recalled:
        """The best memories for any of some queries: each counts by the query that it answers best."""
        table = self._store.live()
        if table is None or not queries:
            return Recalled((), BOTH)
        until = time.monotonic() + seconds
        embedded, action = self._embed(table, queries, until)
        search = _Search(table, self._statistics, self._backgrounds, until)
        best: dict[str, Found] = {}
        for query, each in zip(queries, embedded, strict=True):
            for found in search.run(query, each, len(queries)):
                known = best.get(found.memory.id)
                best[found.memory.id] = found if known is None else _better(known, found)
        ordered = sorted(best.values(), key=lambda each: (-each.relevance, -each.score, each.memory.id))
        why_not = next((each.why_not for each in embedded if each.vector is None), None) or search.why_not
        warning = None if search.by_meaning or why_not is None else f"searched by words: {why_not}"
        return Recalled(ordered[:limit], search.mode, warning, action)

    def _embed(self, table: MemoryTable, queries: Sequence[str], until: float) -> tuple[list[Embedded], str | None]:
        identity = self._embedder.identity
        stored = table.generation.identity
        if identity is not None and identity != stored:
            why = f"the memories' vectors are of {stored or 'no embedder'}, and {identity} is in use"
            action = "memslot ltm optimize gives them the vectors of the embedder in use"
            return [Embedded(None, why)] * len(queries), action
        embedded: list[Embedded] = []
        for query in queries:
            if embedded and embedded[-1].vector is None and self._embedder.fault is not None:
                embedded.append(embedded[-1])  # it would fail again
            else:
                embedded.append(self._embedder.embed_query(query, until - time.monotonic()))
        return embedded, None


class _Search:
    """Queries against one table."""

    def __init__(self, table: MemoryTable, statistics: Statistics, backgrounds: Backgrounds, until: float) -> None:
        self._table = table
        self._statistics = statistics
        self._backgrounds = backgrounds
        self._until = until
        self._rows = table.count()
        self._terms = statistics.terms(table, self._rows)
        self._wordless = table.wordless()
        self.by_words = self.by_meaning = False
        self.why_not: str | None = None

    @property
    def mode(self) -> str:
        if not self.by_meaning:
            return WORDS
        return BOTH if self.by_words else MEANING

    def run(self, text: str, embedded: Embedded, queries: int) -> list[Found]:
        from memslot_memory_lancedb.recall.query import weigh
        from memslot_memory_lancedb.recall.ranking import rank

        query = weigh(text, self._terms)
        meaning = self._meaning(embedded)
        rows: dict[str, SearchRow] = {}
        if query.matcher.terms:
            self.by_words = True
            scored = [(query.text_score(row.stems), row) for row in self._wordless]
            best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:POOL]
            rows |= {row.memory.id: row for _, row in best}
            rows |= {row.memory.id: row for row in self._table.holding(query.forms, POOL)}
        if meaning is not None:
            self.by_meaning = True
            unstored = {row.memory.id: row for row in self._wordless}
            for row in self._table.near(meaning.focused, POOL):
                rows.setdefault(row.memory.id, unstored.get(row.memory.id, row))
        return rank(list(rows.values()), query, meaning, self._rows * queries)

    def _meaning(self, embedded: Embedded) -> QueryMeaning | None:
        from memslot_memory_lancedb.recall.ranking import QueryMeaning

        identity = self._table.generation.identity
        if embedded.vector is None or identity is None:
            return None
        background = self._backgrounds.get(identity, max(0.0, self._until - time.monotonic()))
        scale = self._statistics.scale(self._table, self._rows, background)
        focused = scale.focus(embedded.vector)
        noise = scale.noise(focused)
        if noise is None:
            self.why_not = "there are too few memories yet to compare meanings"
            return None
        return QueryMeaning(embedded.vector, focused, noise)


def _better(one: Found, other: Found) -> Found:
    """The one that answers better, found by all legs that found either."""
    best = max(one, other, key=lambda each: each.relevance)
    legs = {*one.found_by, *other.found_by}
    return replace(best, found_by=tuple(leg for leg in LEGS if leg in legs))


def clean_query(query: str) -> str:
    """What is looked for: without what was recalled before, and not longer than it helps."""
    return strip_recalled(sendable(query)).replace("\x00", " ").strip()[:MAX_QUERY_CHARS]
