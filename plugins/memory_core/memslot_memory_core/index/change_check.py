"""A read-only check for changes: most syncs before a search have nothing to do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.connection import IndexFault
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.report import DISK_SCAN, DiskScan, SyncReport

if TYPE_CHECKING:
    from memslot_memory_core.index.embeddings import Embedder
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.index.store import IndexFile, Snapshot

_RECENT_SECONDS = 3600.0
"""An older index gets a full sync, which updates synced_at."""


def report_unchanged(index: IndexFile, sources: Sources, embedder: Embedder) -> SyncReport | None:
    """The report of a sync that would change nothing; None if the sync has to run."""
    started = time.monotonic()
    scanned_at = time.time()
    try:
        with index.snapshot() as snapshot:
            if snapshot is None or not _is_settled(snapshot, sources.identity_of(embedder.pipeline), scanned_at):
                return None
            db, tables = snapshot.db, snapshot.generation.tables
            if embedder.pipeline is not None and _lacks_vectors(snapshot):
                return None
            found = sources.discover()
            scan = DiskScan(found.skipped_links, found.doubles, found.problems)
            if found.problems or IndexMetadata(db).read(DISK_SCAN) != {**scan.to_json(), "complete": True}:
                return None
            rows = set(db.execute(f"SELECT source, path, stamp FROM {tables.files}"))
            if rows != {(file.source, file.path, file.stamp) for file in found.files}:
                return None
    except (apsw.Error, IndexFault, OSError):
        return None  # the sync will report it, and repair what it can
    return SyncReport(
        unchanged=len(rows),
        problems=[embedder.absent] if embedder.absent else [],
        seconds=time.monotonic() - started,
        scanned_at=scanned_at,
        scan=scan,
    )


def _is_settled(snapshot: Snapshot, wanted: Identity, now: float) -> bool:
    """Whether the last sync was complete, recent and made with these settings."""
    db, live = snapshot.db, snapshot.generation
    if live.synced_at is None or not 0 <= now - live.synced_at < _RECENT_SECONDS:
        return False
    if generations.find(db, "building") is not None or Identity.from_json(live.identity) != wanted:
        return False
    return not IndexMetadata(db).problems()


def _lacks_vectors(snapshot: Snapshot) -> bool:
    from memslot_memory_core.index.embeddings import has_background

    db, tables = snapshot.db, snapshot.generation.tables
    waiting = [f"SELECT 1 FROM {table} WHERE embedding_id IS NULL LIMIT 1" for table in (tables.chunks, tables.turns)]
    if snapshot.generation.vectors and not has_background(db, Identity.from_json(snapshot.generation.identity)):
        return True
    if snapshot.generation.identity.get("parts"):
        waiting.append(f"SELECT 1 FROM {tables.part_bits} WHERE waiting > 0 LIMIT 1")
    return any(db.execute(each).get is not None for each in waiting)
