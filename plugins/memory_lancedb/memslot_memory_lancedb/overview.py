"""What is in the store, for people who look: counts, sizes, how it is searched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store.growth import INDEX_FROM_NUMBERS, INDEX_FROM_ROWS, has_index
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.versions import list_versions
from memslot_memory_lancedb.store.words import has_words_index


@dataclass(frozen=True)
class Overview:
    """Figures about one agent's store."""

    location: str
    agent: str
    memories: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    without_vector: int = 0
    waiting: int = 0
    embedder: str | None = None
    table: str | None = None
    version: int | None = None
    versions: int = 0
    files: int = 0
    size: int = 0
    indexed: bool = False
    index_from: int | None = None
    with_words: int = 0
    words_indexed: bool = False


def overview_of(memory: LanceMemory) -> Overview:
    """Look at everything; raises a StoreError where the store cannot be read."""
    store = memory.store
    table = store.live()
    if table is None:
        return Overview(store.database.location, store.owner.agent_id)
    identity = table.generation.identity
    stats = store.database.attempt(table.handle.stats)
    return Overview(
        location=store.database.location,
        agent=store.owner.agent_id,
        memories=table.count(),
        categories=dict(Counter(table.columns({"category": "`category`"})["category"].to_pylist()).most_common()),
        without_vector=table.count_vectorless(),
        waiting=table.count(WAITING),
        embedder=str(identity) if identity is not None else None,
        table=table.generation.table,
        version=table.version,
        versions=len(list_versions(table, store.database)),
        files=stats["fragment_stats"]["num_fragments"],
        size=stats["total_bytes"],
        indexed=has_index(table, store.database),
        index_from=max(INDEX_FROM_ROWS, -(-INDEX_FROM_NUMBERS // identity.dims)) if identity is not None else None,
        with_words=table.count() - table.count_wordless(),
        words_indexed=has_words_index(table, store.database),
    )
