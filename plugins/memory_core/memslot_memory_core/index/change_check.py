"""Tells whether the index is as the disk is, by reading alone: most looks before a search find nothing to do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.connection import IndexFault
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.report import LOOK, Look, SyncReport

if TYPE_CHECKING:
    from memslot_memory_core.index.embeddings import Embedder
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.index.store import IndexFile, Snapshot

_RECENT_SECONDS = 3600.0
"""An index that was not synced for so long gets a whole sync, which writes down when it was."""


def report_unchanged(index: IndexFile, sources: Sources, embedder: Embedder) -> SyncReport | None:
    """What a sync would report where it would change nothing; None where it must run to find out."""
    started = time.monotonic()
    looked_at = time.time()
    try:
        with index.snapshot() as snapshot:
            if snapshot is None or not _is_settled(snapshot, sources.identity_of(embedder.pipeline), looked_at):
                return None
            db, tables = snapshot.db, snapshot.generation.tables
            if embedder.pipeline is not None and _lacks_vectors(snapshot):
                return None
            found = sources.discover()
            look = Look(found.skipped_links, found.doubles, found.problems)
            if found.problems or Facts(db).read(LOOK) != {**look.to_json(), "complete": True}:
                return None
            rows = set(db.execute(f"SELECT source, path, stamp FROM {tables.files}"))
            if rows != {(file.source, file.path, file.stamp) for file in found.files}:
                return None
    except (apsw.Error, IndexFault, OSError):
        return None  # the sync finds out, and repairs what can be repaired
    return SyncReport(
        unchanged=len(rows),
        problems=[embedder.absent] if embedder.absent else [],
        seconds=time.monotonic() - started,
        looked_at=looked_at,
        look=look,
    )


def _is_settled(snapshot: Snapshot, wanted: Identity, now: float) -> bool:
    """Whether the last sync was complete, of these settings and not long ago."""
    db, live = snapshot.db, snapshot.generation
    if live.synced_at is None or not 0 <= now - live.synced_at < _RECENT_SECONDS:
        return False
    if generations.find(db, "building") is not None or Identity.from_json(live.identity) != wanted:
        return False
    return not Facts(db).problems()


def _lacks_vectors(snapshot: Snapshot) -> bool:
    from memslot_memory_core.index.embeddings import has_background

    db, tables = snapshot.db, snapshot.generation.tables
    waiting = [f"SELECT 1 FROM {table} WHERE embedding_id IS NULL LIMIT 1" for table in (tables.chunks, tables.turns)]
    if snapshot.generation.vectors and not has_background(db, Identity.from_json(snapshot.generation.identity)):
        return True
    if snapshot.generation.identity.get("parts"):
        waiting.append(f"SELECT 1 FROM {tables.part_bits} WHERE waiting > 0 LIMIT 1")
    return any(db.execute(each).get is not None for each in waiting)
