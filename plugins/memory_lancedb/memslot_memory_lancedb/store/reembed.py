"""A change of embedder: all memories go into a new table while the old one serves, then the new one goes live."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from memslot import EmbeddingCancelledError

from memslot_memory_lancedb.embedding.embedder import Embedder, Progress
from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.memories import Remembered
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable

AT_ONCE = 500
"""Rows that are embedded and written together: what is lost when the process ends in between."""
_PASSES = 10
"""Others may write faster than this copies: then the rest is brought over once the new table is live."""


def is_due(store: MemoryStore, identity: Identity | None) -> bool:
    """Whether the live table holds vectors of another embedder than the one in use."""
    table = store.live() if identity is not None else None
    return table is not None and table.generation.identity != identity


def may_begin_unasked(store: MemoryStore, identity: Identity) -> bool:
    """Whether a change of embedder is this machine's own.

    Two machines that share a store and are set to different embedders would otherwise undo each other's work for
    ever. An embedder that was live before and was replaced from elsewhere comes back only when somebody asks.
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
    """Fill the next generation and make it live; how many memories it holds. What was begun before is taken up."""
    identity, old = embedder.identity, store.live()
    if identity is None or old is None or old.generation.identity == identity:
        return 0
    generation = store.make(old.generation.number + 1, identity)
    new = store.open(generation)
    copied = _bring_up_to_date(old, new, embedder, identity, progress, cancelled)
    store.catalogue.publish(generation)
    # What others wrote into the old table since it was last looked at; from now on they write into the new one.
    _copy_changes(old, new, embedder, identity, copied, cancelled)
    return new.count()


def _bring_up_to_date(
    old: MemoryTable,
    new: MemoryTable,
    embedder: Embedder,
    identity: Identity,
    progress: Progress | None,
    cancelled: threading.Event | None,
) -> dict[str, object]:
    """Copy until nothing is missing; gives the state of the old table that the new one has."""
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
    """Only what changed in the old table: what was forgotten in the new one meanwhile must stay forgotten."""
    now = old.changes()
    changed = [each for each, moment in now.items() if before.get(each) != moment]
    _embed_into(new, old.get_many(changed), embedder, identity, cancelled)
    new.remove([each for each in before if each not in now])


def _embed_into(
    table: MemoryTable,
    memories: Sequence[Remembered],
    embedder: Embedder,
    identity: Identity,
    cancelled: threading.Event | None,
) -> None:
    if cancelled is not None and cancelled.is_set():
        raise EmbeddingCancelledError("re-embedding was stopped; it goes on where it ended")
    if memories:
        vectors = embedder.embed_documents([each.text for each in memories], cancelled=cancelled)
        table.put([replace(each, embedder=identity.digest) for each in memories], vectors)


def fill_waiting(
    store: MemoryStore,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    cancelled: threading.Event | None = None,
) -> int:
    """Give vectors to memories that were stored while the embedder failed; how many."""
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
