"""Hybrid search over memories: keyword and vector legs, and their ranking."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memslot import encodable, strip_recalled
from memslot.retrieval import calibrated, gather_evidence, relevance_of

from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedded, Embedder
from memslot_memory_lancedb.memory_record import LEGS, Leg, SearchHit
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.recall.query import WeighedQuery, weigh
from memslot_memory_lancedb.recall.statistics import Statistics
from memslot_memory_lancedb.scores import score_of
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable, SearchRow

if TYPE_CHECKING:
    from memslot.retrieval import Noise

    from memslot_memory_lancedb.store.schema import Vector

_STANDS_OUT = 1.0
"""Minimum z-score for a vector match."""


@dataclass(frozen=True, eq=False)
class QueryMeaning:
    """A query's vector, the same centered on the memories, and its noise."""

    vector: Vector
    focused: Vector
    noise: Noise


def rank(
    rows: Sequence[SearchRow], query: WeighedQuery, meaning: QueryMeaning | None, compared: int
) -> list[SearchHit]:
    """Rank the candidates; `compared` is the number of memories compared."""
    evidence = gather_evidence([row.memory.text for row in rows], query.matcher)
    found = []
    for row, line in zip(rows, evidence, strict=True):
        # Score the best line alone: BM25 prefers the shortest of these short texts.
        words = line.line
        z = score = None
        if meaning is not None and row.vector is not None:
            z = meaning.noise.z(float(row.vector @ meaning.focused))
            difference = row.vector - meaning.vector
            score = score_of(float(difference @ difference))
        # Without a vector there is no chance similarity to correct for.
        relevance = calibrated(relevance_of(words, z), compared if z is not None else 0)
        if words > 0 or z is not None:
            parts = {"words": words, **({} if z is None else {"meaning": relevance_of(0.0, z)})}
            shown = {name: round(min(1.0, max(0.0, share)), 4) for name, share in parts.items()}
            nearness = words if score is None else score
            found.append(SearchHit(row.memory, nearness, relevance, _legs(words, z), score is not None, shown))
    return sorted(found, key=lambda each: (-each.relevance, -each.score, each.memory.id))


def _legs(words: float, z: float | None) -> tuple[Leg, ...]:
    legs: list[Leg] = []
    if words > 0:
        legs.append("words")
    if z is not None and (z >= _STANDS_OUT or not legs):
        legs.append("meaning")
    return tuple(legs)


BOTH, MEANING, WORDS = "hybrid", "vector", "words"
POOL = 60
"""Candidates of each leg."""
MAX_QUERY_CHARS = 4000
"""Longer queries are truncated."""


@dataclass(frozen=True)
class SearchOutcome:
    """The hits, the legs that ran, and why one did not."""

    found: Sequence[SearchHit]
    mode: str
    warning: str | None = None
    action: str | None = None


class MemorySearcher:
    """Searches the memories of one agent. Thread-safe."""

    def __init__(self, store: MemoryStore, embedder: Embedder, backgrounds: Backgrounds) -> None:
        self._store = store
        self._embedder = embedder
        self._backgrounds = backgrounds
        self._statistics = Statistics()

    @property
    def fault(self) -> str | None:
        """The embedder's last failure, if it has not worked since."""
        return self._embedder.fault

    def find(self, query: str, limit: int) -> SearchOutcome:
        """The best memories for a query. Raises a StoreError if the store can't be read."""
        text = clean_query(query)
        if not text:
            return SearchOutcome((), "none", "the query is empty", "give a few words to search for")
        return self.find_any([text], limit)

    def find_any(self, queries: Sequence[str], limit: int, seconds: float = PATIENCE_SECONDS) -> SearchOutcome:
        """The best memories for any of several queries, scored by their best query.

        By keywords only if there is no vector after `seconds`.
        """
        table = self._store.live()
        if table is None or not queries:
            return SearchOutcome((), BOTH)
        until = time.monotonic() + seconds
        embedded, action = self._embed(table, queries, until)
        search = _Search(table, self._statistics, self._backgrounds, until)
        best: dict[str, SearchHit] = {}
        for query, each in zip(queries, embedded, strict=True):
            for found in search.run(query, each, len(queries)):
                known = best.get(found.memory.id)
                best[found.memory.id] = found if known is None else _better(known, found)
        ordered = sorted(best.values(), key=lambda each: (-each.relevance, -each.score, each.memory.id))
        why_not = next((each.why_not for each in embedded if each.vector is None), None) or search.why_not
        warning = None if search.by_meaning or why_not is None else f"searched by keywords only: {why_not}"
        return SearchOutcome(ordered[:limit], search.mode, warning, action)

    def _embed(self, table: MemoryTable, queries: Sequence[str], until: float) -> tuple[list[Embedded], str | None]:
        identity = self._embedder.identity
        stored = table.generation.identity
        if identity is not None and identity != stored:
            why = f"the memories' vectors come from {stored or 'no embedder'}, and {identity} is in use"
            action = "re-embed the memories with: memslot ltm optimize"
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
        self._wordless = table.without_stems()
        self.by_words = self.by_meaning = False
        self.why_not: str | None = None

    @property
    def mode(self) -> str:
        if not self.by_meaning:
            return WORDS
        return BOTH if self.by_words else MEANING

    def run(self, text: str, embedded: Embedded, queries: int) -> list[SearchHit]:
        query = weigh(text, self._terms)
        meaning = self._meaning(embedded)
        rows: dict[str, SearchRow] = {}
        if query.matcher.terms:
            self.by_words = True
            scored = [(query.text_score(row.stems), row) for row in self._wordless]
            best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:POOL]
            rows |= {row.memory.id: row for _, row in best}
            rows |= {row.memory.id: row for row in self._table.with_any_stem(query.forms, POOL)}
        if meaning is not None:
            self.by_meaning = True
            unstored = {row.memory.id: row for row in self._wordless}
            for row in self._table.near(meaning.focused, POOL):
                rows.setdefault(row.memory.id, unstored.get(row.memory.id, row))
        return rank(list(rows.values()), query, meaning, self._rows * queries)

    def _meaning(self, embedded: Embedded) -> QueryMeaning | None:
        identity = self._table.generation.identity
        if embedded.vector is None or identity is None:
            return None
        background = self._backgrounds.get(identity, max(0.0, self._until - time.monotonic()))
        scale = self._statistics.scale(self._table, self._rows, background)
        focused = scale.focus(embedded.vector)
        noise = scale.noise(focused)
        if noise is None:
            self.why_not = "there are too few memories yet for vector search"
            return None
        return QueryMeaning(embedded.vector, focused, noise)


def _better(one: SearchHit, other: SearchHit) -> SearchHit:
    """The better of two hits, with the legs of both."""
    best = max(one, other, key=lambda each: each.relevance)
    legs = {*one.found_by, *other.found_by}
    return replace(best, found_by=tuple(leg for leg in LEGS if leg in legs))


def clean_query(query: str) -> str:
    """The query without recalled blocks, truncated."""
    return strip_recalled(encodable(query)).replace("\x00", " ").strip()[:MAX_QUERY_CHARS]
