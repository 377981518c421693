"""Syncs the index with the disk: finds changes, embeds them, writes them file by file."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index import rebuild
from memslot_memory_core.index.connection import damage_in
from memslot_memory_core.index.embeddings import Embedder, EmbeddingStore, prune
from memslot_memory_core.index.erasure import erase_free_pages, erase_removed
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.index_pass import IndexPass, Limits
from memslot_memory_core.index.memory_sources import Sources
from memslot_memory_core.index.report import (
    DISK_SCAN,
    MAINTENANCE,
    DiskScan,
    Mismatch,
    Progress,
    SyncProgress,
    SyncReport,
)
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

_UNFINISHED = "the index is being rebuilt; searches use the old one until that is complete"

_SAME_MOMENT_SECONDS = 30.0
"""Don't rewrite synced_at within this many seconds if nothing changed."""


class Synchronizer:
    """Syncs one agent's index. The index's lock allows one run at a time."""

    def __init__(
        self,
        index: IndexFile,
        sources: Sources,
        embeddings: EmbeddingStore,
        vectors: VectorTables,
        *,
        identity: Callable[[EmbeddingPipeline | None], Identity],
        keep_embeddings: int,
    ) -> None:
        self._index = index
        self._sources = sources
        self._embeddings = embeddings
        self._vectors = vectors
        self._identity = identity
        self._keep_embeddings = keep_embeddings

    def run(
        self,
        embedder: Embedder,
        *,
        near: Collection[str] | None = None,
        force: bool = False,
        every_growth: bool = False,
        maintenance: bool = True,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
        wait_seconds: float = 0.0,
    ) -> SyncReport:
        """Update the index; `force` rebuilds it beside the old one.

        `near` lists the changed paths, if all are known; other paths are scanned only if necessary. `every_growth`
        includes transcripts that grew by less than the configured threshold. Without `maintenance`, work that grows
        with the index (vector tables, unused vectors) is left to a later run. Raises IndexBusyError if another process
        is writing, and IndexFault if the index can't be written.
        """
        started = time.monotonic()
        deadline = None if seconds is None else started + seconds
        with self._index.writer(wait_seconds=wait_seconds, cancelled=cancelled) as db:
            self._index.claim(db, lambda number: self._vectors.drop(db, number))
            self._embeddings.attach(db)
            try:
                limits = Limits(cancelled, deadline, every_growth or force, force)
                report = self._run(db, embedder, None if force else near, force, maintenance, progress, limits)
            finally:
                self._embeddings.attach(None)
        if not report.changed:  # more such syncs are likely
            self._index.keep_reader_open()
        return replace(report, seconds=time.monotonic() - started)

    def _run(
        self,
        db: apsw.Connection,
        embedder: Embedder,
        near: Collection[str] | None,
        force: bool,
        maintenance: bool,
        progress: Progress | None,
        limits: Limits,
    ) -> SyncReport:
        if force and damage_in(db, 1):
            # A rebuild would not replace what all generations share.
            raise apsw.CorruptError("the index is damaged")
        if maintenance:
            rebuild.clean_up(db, self._vectors)
        target, mismatch = self._target(db, embedder, force)
        if not target.vectors and not target.turn_vectors:
            # An empty table is free to create, and follows every change from then on.
            self._vectors.maintain(db, target, changed=False)
            target = generations.by_number(db, target.number) or target
        known_problems = self._unread_at_last_scan(db, target)
        near = None if known_problems is None else near
        index_pass = IndexPass(
            db, target, self._sources, embedder, self._vectors, progress, limits, self._embeddings, near
        )
        report = index_pass.run()
        is_new = target.state == "building"
        problems = [*report.problems] if known_problems is None or report.scan else [*known_problems, *report.problems]
        if mismatch is not None:
            problems.append(mismatch.sentence)
        report = replace(report, problems=problems, mismatch=mismatch, rebuilt=is_new and report.complete)
        if is_new and report.complete:
            if maintenance:
                _report_finishing(progress, report)
                self._vectors.maintain(db, generations.by_number(db, target.number) or target)
            rebuild.publish(db, target, temporary=embedder.is_fallback)
            if maintenance:
                rebuild.clean_up(db, self._vectors)
        if report.complete or not is_new:
            self._finish(db, target, report, maintenance, progress)
            if force:
                erase_free_pages(db)
        else:
            self._keep_live_fresh(db, limits)
            with transaction(db):
                IndexMetadata(db).write_problems([*problems, _UNFINISHED])
        return replace(report, problems=[*problems, embedder.absent]) if embedder.absent else report

    def _keep_live_fresh(self, db: apsw.Connection, limits: Limits) -> None:
        """While a rebuild waits for its provider, index new notes by keywords in the live generation."""
        live = generations.find(db, "live")
        if live is not None and not limits.reached:
            IndexPass(db, live, self._sources, Embedder(), self._vectors, None, limits, self._embeddings).run()

    def _target(self, db: apsw.Connection, embedder: Embedder, force: bool) -> tuple[Generation, Mismatch | None]:
        """The generation to write to: the live one, or its replacement."""
        wanted = self._identity(embedder.pipeline)
        live = generations.find(db, "live")
        if live is None:
            with transaction(db):
                return generations.create(db, "live", wanted.to_json()), None
        there = Identity.from_json(live.identity)
        if not force and rebuild.was_recently_replaced(db, live, wanted):
            return live, rebuild.find_mismatch(db, live, wanted, embedder)
        if wanted.provider is None and there.provider is not None:
            # No provider now: keep the existing vectors for when there is one.
            kept = wanted.with_vectors_of(there)
            if embedder.absent is not None and (force or kept != there):
                cost = rebuild.cost(db, live, kept)
                if cost.chunks:
                    return live, Mismatch(
                        there.differences(kept) or ["a rebuild was requested"], cost.chunks, cost.tokens, None
                    )
                wanted = kept
            elif not force and kept == there:
                wanted = kept
        if there.provider is None and there.same_layout(wanted) and wanted != there and not force:
            # A keyword-only index of the same layout: its chunks only lack their vectors.
            with transaction(db):
                rebuild.relabel(db, live, wanted)
            live = generations.find(db, "live")
            assert live is not None
            return live, None
        if wanted == there and not force:
            rebuild.drop_unfinished(db, self._vectors)
            return live, None
        mismatch = None if force else rebuild.find_mismatch(db, live, wanted, embedder)
        if mismatch is None:
            return rebuild.begin(db, wanted, self._vectors, afresh=force), None
        rebuild.drop_unfinished(db, self._vectors, keep=wanted)
        return live, mismatch

    @staticmethod
    def _unread_at_last_scan(db: apsw.Connection, target: Generation) -> Sequence[str] | None:
        """Read errors of the last full scan; None if a new full scan is needed.

        A file with two names is indexed under one, and may have to move to the other at any time.
        """
        scan = IndexMetadata(db).read(DISK_SCAN)
        if scan is None or not scan["complete"] or scan["doubles"]:
            return None
        if target.state != "live" or target.synced_at is None:
            return None
        problems: list[str] = scan["problems"]
        return problems

    @staticmethod
    def _was_same(db: apsw.Connection, now: Generation, report: SyncReport) -> bool:
        """Whether the index already records this scan's outcome, give or take a moment."""
        metadata = IndexMetadata(db)
        if metadata.problems() != list(report.problems):
            return False
        if report.scan is None:
            return True
        ago = None if now.synced_at is None else time.time() - now.synced_at
        is_recent = ago is not None and 0 <= ago < _SAME_MOMENT_SECONDS
        return is_recent and metadata.read(DISK_SCAN) == _scan_record(report, report.scan)

    def _finish(
        self, db: apsw.Connection, target: Generation, report: SyncReport, maintenance: bool, progress: Progress | None
    ) -> None:
        """Record the outcome of this sync, then do maintenance that is due."""
        now = generations.by_number(db, target.number)
        if now is None:
            return
        due = IndexMetadata(db).read(MAINTENANCE)
        is_same = not report.changed and self._was_same(db, now, report)
        if not is_same:
            with transaction(db):
                if report.complete and (report.scan is not None or now.synced_at is None):
                    db.execute("UPDATE generations SET synced_at = ? WHERE id = ?", (report.scanned_at, target.number))
                IndexMetadata(db).write_problems(report.problems)
                if report.scan is not None:
                    IndexMetadata(db).write(DISK_SCAN, _scan_record(report, report.scan))
                if report.changed and due != "begun":
                    IndexMetadata(db).write(MAINTENANCE, "due")
        if maintenance and (
            report.changed or due or (report.scan is not None and self._vectors.needs_maintenance(db, now))
        ):
            _report_finishing(progress, report)
            # Checking whether a table should be reshaped takes time in proportion to its size, so it can wait.
            self._maintain(db, now, reshape=report.scan is not None or due is not None)

    def _maintain(self, db: apsw.Connection, generation: Generation, *, reshape: bool) -> None:
        """Optimize the vector tables for their size, and prune unused vectors."""
        with transaction(db):
            IndexMetadata(db).write(MAINTENANCE, "begun")
        self._vectors.maintain(db, generation, changed=reshape)
        prune(db, generations.numbers(db), self._keep_embeddings)
        if reshape:
            erase_removed(db, generation.tables, self._index.file)
        with transaction(db):
            IndexMetadata(db).forget(MAINTENANCE)


def _report_finishing(progress: Progress | None, report: SyncReport) -> None:
    if progress is not None:
        progress(SyncProgress(report.indexed, report.indexed, "finishing"))


def _scan_record(report: SyncReport, scan: DiskScan) -> dict[str, Any]:
    """The metadata stored about a scan, and whether everything it found is indexed."""
    return {**scan.to_json(), "complete": report.complete}
