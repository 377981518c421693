"""Writes: storing, updating and deleting memories. Nothing is merged or overwritten implicitly."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from memslot import MemslotError, encodable, redact, strip_recalled

from memslot_memory_lancedb.capture.rules import detect_category
from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedder
from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.errors import ConcurrentChangeError, StoreError
from memslot_memory_lancedb.memory_record import MAX_CHARS, Category, MemoryRecord, Origin, SearchHit
from memslot_memory_lancedb.scores import DUPLICATE, score_of
from memslot_memory_lancedb.store.store import MemoryStore

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

DEFAULT_IMPORTANCE = 0.7


@dataclass(frozen=True)
class WriteResult:
    """The result of a write: `memory` is the new, changed or duplicate one."""

    action: Literal["created", "updated", "unchanged", "duplicate"]
    memory: MemoryRecord
    score: float | None = None
    before: MemoryRecord | None = None
    warning: str | None = None


class MemoryWriter:
    """Writes memories of one agent. Thread-safe."""

    def __init__(self, store: MemoryStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        # The duplicate check and the insert are one critical section.
        self._lock = threading.Lock()

    def keep(
        self,
        text: str,
        *,
        importance: float = DEFAULT_IMPORTANCE,
        category: Category | None = None,
        origin: Origin = Origin(),  # noqa: B008  it is frozen
    ) -> WriteResult:
        """Store a text, unless it is a duplicate. Secrets are redacted."""
        cleaned = clean_text(text)
        vector, identity, warning = self._embed(cleaned)
        memory = MemoryRecord(
            text=cleaned,
            category=category or detect_category(cleaned),
            importance=importance,
            origin=origin,
            embedder=_mark(identity, warning),
        )
        with self._lock:
            same = self._find_duplicate(cleaned, vector, identity)
            if same is not None:
                return WriteResult("duplicate", same.memory, same.score)
            self._store.add([memory], [vector], identity)
        return WriteResult("created", memory, warning=warning)

    def change(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        importance: float | None = None,
        category: Category | None = None,
        expected: str | None = None,
    ) -> WriteResult:
        """Update a memory; its previous form is in the result and the history.

        Raises a ConcurrentChangeError if its redacted text is not the `expected` one.
        """
        cleaned = self._store.get(memory_id).text if text is None else clean_text(text)
        vector, identity, warning = self._embed(cleaned)
        with self._lock:
            before = self._store.get(memory_id)
            if expected is not None and redact(before.text) != expected:
                raise ConcurrentChangeError(f"memory {memory_id} was changed meanwhile; look at it again")
            after = replace(
                before,
                text=cleaned,
                importance=before.importance if importance is None else importance,
                category=before.category if category is None else category,
            )
            if after == before:
                return WriteResult("unchanged", before, before=before)
            after = replace(after, updated_at=_later_than(before), embedder=_mark(identity, warning))
            same = self._find_duplicate(cleaned, vector, identity, but=memory_id) if cleaned != before.text else None
            if same is not None:
                return WriteResult("duplicate", same.memory, same.score, before)
            self._store.replace(after, vector, before, identity)
        return WriteResult("updated", after, before=before, warning=warning)

    def forget(self, ids: Sequence[str]) -> int:
        """Delete memories by id; returns how many existed."""
        return self._store.remove(ids)

    def _embed(self, text: str) -> tuple[Vector | None, Identity | None, str | None]:
        """The vector, its embedder, and a warning if there is no vector yet."""
        try:
            identity = self._embedder.identity
            if identity is None:
                return None, None, self._embedder.problem
            return self._embedder.embed_documents([text], seconds=PATIENCE_SECONDS)[0], identity, None
        except MemslotError as error:
            return None, self._embedder.identity, f"it has no vector yet and is found by keywords only: {error}"

    def _find_duplicate(
        self, text: str, vector: Vector | None, identity: Identity | None, but: str = ""
    ) -> SearchHit | None:
        """A duplicate of the text, other than `but`."""
        from memslot.retrieval import same_text, same_words

        table = self._store.live()
        if table is None:
            return None
        if vector is not None and identity == table.generation.identity:
            for memory, distance in table.nearest(vector, 4):
                # Some models return slightly different vectors for a capital or a full stop.
                score = 1.0 if same_text(memory.text, text) else score_of(distance)
                if memory.id != but and score >= DUPLICATE and same_words(memory.text, text):
                    return SearchHit(memory, score)
        # Vectors don't help if one is missing or from another embedder.
        if vector is None or identity != table.generation.identity or table.count_without_vectors():
            memory_of_text = table.with_text(text)
            if memory_of_text is not None and memory_of_text.id != but:
                return SearchHit(memory_of_text, 1.0, found_by=("words",), compared=False)
        return None


def clean_text(text: str) -> str:
    """The text without recalled blocks and secrets; raises a StoreError if nothing is left."""
    cleaned = redact(strip_recalled(encodable(text)).replace("\x00", "")).strip()
    if not cleaned:
        raise StoreError("there is no text to remember")
    if len(cleaned) > MAX_CHARS:
        raise StoreError(f"a memory has at most {MAX_CHARS} characters, this text has {len(cleaned)}: shorten it")
    return cleaned


def _mark(identity: Identity | None, warning: str | None) -> str:
    """The embedder mark of a row; empty if it should be embedded later."""
    return identity.digest if identity is not None and warning is None else ""


def _later_than(memory: MemoryRecord) -> datetime:
    """Now, but strictly later than the previous time, so that two changes differ."""
    now = datetime.now(UTC)
    return now if now != memory.changed_at else now.replace(microsecond=(now.microsecond + 1) % 1_000_000)
