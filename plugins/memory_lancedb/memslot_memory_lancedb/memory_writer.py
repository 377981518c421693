"""Writes: storing, updating and deleting memories. Nothing is merged or overwritten implicitly."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from memslot import MemslotError, redact, strip_recalled

from memslot_memory_lancedb.capture.rules import detect_category
from memslot_memory_lancedb.embedding.embedder import PATIENCE_SECONDS, Embedder
from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory_record import MAX_CHARS, Category, MemoryRecord, Origin, SearchHit, sendable
from memslot_memory_lancedb.scores import DUPLICATE, score_of
from memslot_memory_lancedb.store.store import MemoryStore

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

DEFAULT_IMPORTANCE = 0.7
_NO = re.compile(
    r"(?i)\b(?:no|not|never|without|cannot|nicht|nie|kein\w*|ohne|pas|jamais|sans|nunca|sin|não|nem|sem|non|mai|senza"
    r"|ne|není|nikdy|bez|не|нет|нельзя|никогда|без|niet|geen|inte|ikke)\b"
    r"|n['’]t\b|[不没沒无無未别別]|ない|ません|안 |않|못"
)


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
    ) -> WriteResult:
        """Update a memory; its previous form is in the result and the history."""
        cleaned = self._store.get(memory_id).text if text is None else clean_text(text)
        vector, identity, warning = self._embed(cleaned)
        with self._lock:
            before = self._store.get(memory_id)
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
        table = self._store.live()
        if table is None:
            return None
        if vector is not None and identity == table.generation.identity:
            for memory, distance in table.nearest(vector, 4):
                # Some models give slightly different vectors for a capital or a full stop.
                score = 1.0 if _folded(memory.text) == _folded(text) else score_of(distance)
                if memory.id != but and score >= DUPLICATE and is_duplicate(memory.text, text):
                    return SearchHit(memory, score)
        # Vectors don't help if one is missing or from another embedder.
        if vector is None or identity != table.generation.identity or table.count_without_vectors():
            memory_of_text = table.with_text(text)
            if memory_of_text is not None and memory_of_text.id != but:
                return SearchHit(memory_of_text, 1.0, found_by=("words",), compared=False)
        return None


def _folded(text: str) -> str:
    """The text without case, spacing and final period."""
    return " ".join(text.casefold().split()).rstrip(".!。！ ")


def is_duplicate(one: str, other: str) -> bool:
    """Whether two similar texts have the same words in the same order, or one contains the other's.

    Vectors hardly capture word order: "tea over coffee" and "coffee over tea" have a cosine of .99.
    """
    if _folded(one) == _folded(other):
        return True
    first, second = _content(one), _content(other)
    if _negations(one) != _negations(other):
        return False
    shorter, longer = sorted((first, second), key=len)
    starts = range(len(longer) - len(shorter) + 1)
    return bool(shorter) and any(longer[start : start + len(shorter)] == shorter for start in starts)


def _content(text: str) -> tuple[str, ...]:
    """The stems of a text without stop words, in order."""
    from memslot.retrieval import STEMMING_TOKENIZER, query_terms

    return query_terms(text, STEMMING_TOKENIZER).stems


def _negations(text: str) -> int:
    """Number of negations in a text; most are stop words, but they invert a statement."""
    return len(_NO.findall(text))


def clean_text(text: str) -> str:
    """The text without recalled blocks and secrets; raises a StoreError if nothing is left."""
    cleaned = redact(strip_recalled(sendable(text)).replace("\x00", "")).strip()
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
