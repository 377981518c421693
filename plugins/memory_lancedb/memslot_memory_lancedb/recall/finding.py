"""Finds the memories that answer a query: by meaning, and by words where there is no vector to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memslot import strip_recalled

from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedded, Embedder
from memslot_memory_lancedb.memories import Found, sendable
from memslot_memory_lancedb.scores import score_of
from memslot_memory_lancedb.store.predicate import VECTORLESS
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.words import find_by_words

MEANING, WORDS = "vector", "words"
MAX_QUERY_CHARS = 4000
"""A longer prompt says what it is about within its first part."""


@dataclass(frozen=True)
class Recalled:
    """What was found, which legs ran, and why one did not."""

    found: Sequence[Found]
    mode: str
    warning: str | None = None
    action: str | None = None


class Recalling:
    """Searches the memories of one agent. Safe to use from several threads."""

    def __init__(self, store: MemoryStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

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
        table = self._store.live()
        if table is None:
            return Recalled((), MEANING, None)
        embedded, action = self._embed(table, text, seconds)
        if embedded.vector is None:
            by_words = _by_words(table, text, limit)
            return Recalled(by_words, WORDS, f"searched by words: {embedded.why_not}", action)
        # Words first: a memory that gets its vector in between is then found by the second leg, not by neither.
        by_words = _by_words(table, text, limit, VECTORLESS) if table.count_vectorless() else []
        found = [Found(memory, score_of(distance)) for memory, distance in table.nearest(embedded.vector, limit)]
        if not by_words:
            return Recalled(found, MEANING)
        known = {each.memory.id for each in found}
        found += [each for each in by_words if each.memory.id not in known]
        return Recalled(sorted(found, key=lambda each: -each.score)[:limit], f"{MEANING}+{WORDS}")

    def _embed(self, table: MemoryTable, text: str, seconds: float) -> tuple[Embedded, str | None]:
        identity = self._embedder.identity
        stored = table.generation.identity
        if identity is not None and identity != stored:
            why = f"the memories' vectors are of {stored or 'no embedder'}, and {identity} is in use"
            return Embedded(None, why), "memslot ltm optimize gives them the vectors of the embedder in use"
        return self._embedder.embed_query(text, seconds), None


def clean_query(query: str) -> str:
    """What is looked for: without what was recalled before, and not longer than it helps."""
    return strip_recalled(sendable(query)).replace("\x00", " ").strip()[:MAX_QUERY_CHARS]


def _by_words(table: MemoryTable, text: str, limit: int, *conditions: str) -> list[Found]:
    return [Found(memory, score, "words") for memory, score in find_by_words(table, text, limit, *conditions)]
