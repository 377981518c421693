"""Embedding caches, so the same text is embedded and paid for only once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from memslot.embeddings.vectors import Row

DEFAULT_MAX_ENTRIES = 50_000


class CacheKey(NamedTuple):
    """Everything an embedding depends on. `provider_key` distinguishes servers that share a model name."""

    provider: str
    model: str
    provider_key: str
    text_hash: str


@runtime_checkable
class EmbeddingCache(Protocol):
    """A key-value store of embedding rows. Must be thread-safe."""

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Row]:
        """Return the cached rows; misses are omitted."""

    def put_many(self, rows: Mapping[CacheKey, Row]) -> None:
        """Store these rows; a persistent cache must make them durable before it returns."""


class MemoryCache:
    """An in-process LRU cache."""

    def __init__(self, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self._max_entries = max(1, max_entries)
        self._rows: OrderedDict[CacheKey, Row] = OrderedDict()
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[CacheKey]) -> dict[CacheKey, Row]:
        """Return the cached rows and mark them as recently used."""
        found = {}
        with self._lock:
            for key in keys:
                row = self._rows.get(key)
                if row is not None:
                    self._rows.move_to_end(key)
                    found[key] = row
        return found

    def put_many(self, rows: Mapping[CacheKey, Row]) -> None:
        """Store these rows, evicting the least recently used."""
        with self._lock:
            for key, row in rows.items():
                # Copy: a row is often a view that would keep its whole batch in memory.
                self._rows[key] = row.copy()
                self._rows.move_to_end(key)
            while len(self._rows) > self._max_entries:
                self._rows.popitem(last=False)

    def __len__(self) -> int:
        return len(self._rows)


def text_hash(text: str) -> str:
    """Return the hex SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
