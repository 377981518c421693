"""Embedder migration: memories are re-embedded into a new table, which then replaces the old one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from memslot import EmbeddingCancelledError

from memslot_memory_lancedb.embedding.embedder import Embedder
from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable

Progress = Callable[[int, int], None]
AT_ONCE = 500
"""Rows per batch: the most work lost if the process ends."""
_PASSES = 10
"""Others may write faster than this copies: the rest is copied once the new table is live."""


def is_due(store: MemoryStore, identity: Identity | None) -> bool:
    """Whether the live table's vectors are of another embedder than the current one."""
    table = store.live() if identity is not None else None
    return table is not None and table.generation.identity != identity


def may_start_automatically(store: MemoryStore, identity: Identity) -> bool:
    """Whether this machine may migrate automatically.

    Otherwise two machines that share a store with different embedders would undo each other's work forever. An embedder
    that another machine replaced comes back only on request.
    """
    generations = store.catalogue.generations()
    return generations[-1].machine == store.machine or all(each.identity != identity for each in generations)


def reembed(
    store: MemoryStore,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    cancelled: threading.Event | None = None,
) -> int:
    """Fill the next generation and make it live; returns its number of memories. Resumes an interrupted run."""
    identity, old = embedder.identity, store.live()
    if identity is None or old is None or old.generation.identity == identity:
        return 0
    generation = store.make(old.generation.number + 1, identity)
    new = store.open(generation)
    copied = _catch_up(old, new, embedder, identity, progress, cancelled)
    store.catalogue.publish(generation)
    # Copy what others wrote to the old table since; from now on they write to the new one.
    _copy_changes(old, new, embedder, identity, copied, cancelled)
    return new.count()


def _catch_up(
    old: MemoryTable,
    new: MemoryTable,
    embedder: Embedder,
    identity: Identity,
    progress: Progress | None,
    cancelled: threading.Event | None,
) -> dict[str, object]:
    """Copy until nothing is missing; returns the state of the old table that was copied."""
    for _ in range(_PASSES):
        wanted, there = old.changes(), new.changes()
        missing = [each for each, changed in wanted.items() if there.get(each) != changed]
        new.remove([each for each in there if each not in wanted])
        if not missing:
            return dict(wanted)
        done = len(wanted) - len(missing)
        for start in range(0, len(missing), AT_ONCE):
            part = old.get_many(missing[start : start + AT_ONCE])
            _embed_into(new, part, embedder, identity, cancelled)
            done += AT_ONCE
            if progress is not None:
                progress(min(done, len(wanted)), len(wanted))
    return dict(wanted)


def _copy_changes(
    old: MemoryTable,
    new: MemoryTable,
    embedder: Embedder,
    identity: Identity,
    before: dict[str, object],
    cancelled: threading.Event | None,
) -> None:
    """Copy only changes of the old table: deletions in the new one must persist."""
    now = old.changes()
    changed = [each for each, moment in now.items() if before.get(each) != moment]
    _embed_into(new, old.get_many(changed), embedder, identity, cancelled)
    new.remove([each for each in before if each not in now])


def _embed_into(
    table: MemoryTable,
    memories: Sequence[MemoryRecord],
    embedder: Embedder,
    identity: Identity,
    cancelled: threading.Event | None,
) -> None:
    if cancelled is not None and cancelled.is_set():
        raise EmbeddingCancelledError("re-embedding was stopped; the next run resumes it")
    if memories:
        vectors = embedder.embed_documents([each.text for each in memories], cancelled=cancelled)
        table.put([replace(each, embedder=identity.digest) for each in memories], vectors)


def embed_missing(
    store: MemoryStore,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    cancelled: threading.Event | None = None,
) -> int:
    """Embed memories that were stored while the embedder failed; returns how many."""
    identity, table = embedder.identity, store.live()
    if identity is None or table is None or table.generation.identity != identity:
        return 0
    waiting = table.read(WAITING)
    for start in range(0, len(waiting), AT_ONCE):
        part = waiting[start : start + AT_ONCE]
        vectors = embedder.embed_documents([each.text for each in part], cancelled=cancelled)
        table.refresh([replace(each, embedder=identity.digest) for each in part], vectors)
        if progress is not None:
            progress(min(start + AT_ONCE, len(waiting)), len(waiting))
    return len(waiting)
