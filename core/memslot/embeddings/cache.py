"""Embeddings that are kept, so that the same text is embedded and paid for once."""

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
    """What an embedding depends on. `provider_key` also tells apart two servers that use one model's name."""

    provider: str
    model: str
    provider_key: str
    text_hash: str


@runtime_checkable
class EmbeddingCache(Protocol):
    """Keeps rows by key. Used from several threads, as the pipeline is."""

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Row]:
        """The rows that are there; a key that is missing is left out."""

    def put_many(self, rows: Mapping[CacheKey, Row]) -> None:
        """Keep these rows for good: what was handed over survives a crash, if the cache survives at all."""


class MemoryCache:
    """A cache for as long as the program runs: what was not used for longest goes first."""

    def __init__(self, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self._max_entries = max(1, max_entries)
        self._rows: OrderedDict[CacheKey, Row] = OrderedDict()
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[CacheKey]) -> dict[CacheKey, Row]:
        """The rows that are there; each counts as used now."""
        found = {}
        with self._lock:
            for key in keys:
                row = self._rows.get(key)
                if row is not None:
                    self._rows.move_to_end(key)
                    found[key] = row
        return found

    def put_many(self, rows: Mapping[CacheKey, Row]) -> None:
        """Keep these rows, and let the oldest go where there are too many."""
        with self._lock:
            for key, row in rows.items():
                # A copy: a row is often a view of its whole batch, which would stay in memory with it.
                self._rows[key] = row.copy()
                self._rows.move_to_end(key)
            while len(self._rows) > self._max_entries:
                self._rows.popitem(last=False)

    def __len__(self) -> int:
        return len(self._rows)


def text_hash(text: str) -> str:
    """SHA-256 of a text, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
