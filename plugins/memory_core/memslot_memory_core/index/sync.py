"""Makes the index equal to what is on disk: finds what changed, embeds it, writes it file by file."""

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
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.index_pass import Filling, Limits
from memslot_memory_core.index.memory_sources import Sources
from memslot_memory_core.index.report import LOOK, UPKEEP, Look, Mismatch, Progress, SyncProgress, SyncReport
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.index.vector_tables import VectorTables

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

_UNFINISHED = "the index is being built anew; until that is complete, the old one serves"

_SAME_MOMENT_SECONDS = 30.0
"""A look at the disk that finds nothing new writes down when it was, but not if the last one was this short ago."""


class Synchronizer:
    """Keeps one agent's index in step. One run at a time: the index's own lock sees to that."""

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
        upkeep: bool = True,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
        wait_seconds: float = 0.0,
    ) -> SyncReport:
        """Bring the index up to date; `force` builds it anew beside the old one.

        `near` are the places on the disk where something has changed, if all of them are known; what lies elsewhere
        is then looked at only where there is need. `every_growth` also takes transcripts that grew by less than the
        settings wait for. Without `upkeep`, work that grows with the index (vector tables, unused vectors) is left to
        a later run. Raises IndexBusyError when another process is at it, and IndexFault where the index cannot be
        written.
        """
        started = time.monotonic()
        deadline = None if seconds is None else started + seconds
        with self._index.writer(wait_seconds=wait_seconds, cancelled=cancelled) as db:
            self._index.claim(db, lambda number: self._vectors.drop(db, number))
            self._embeddings.attach(db)
            try:
                limits = Limits(cancelled, deadline, every_growth or force, force)
                report = self._run(db, embedder, None if force else near, force, upkeep, progress, limits)
            finally:
                self._embeddings.attach(None)
        if not report.changed:  # and so more such looks are likely to come
            self._index.stay_open()
        return replace(report, seconds=time.monotonic() - started)

    def _run(
        self,
        db: apsw.Connection,
        embedder: Embedder,
        near: Collection[str] | None,
        force: bool,
        upkeep: bool,
        progress: Progress | None,
        limits: Limits,
    ) -> SyncReport:
        if force and damage_in(db, 1):
            # What all generations share would stay as it is.
            raise apsw.CorruptError("the index is damaged")
        if upkeep:
            rebuild.clean_up(db, self._vectors)
        target, mismatch = self._target(db, embedder, force)
        if not target.vectors and not target.turn_vectors:
            # An empty table costs nothing to make, and from then on it follows every change.
            self._vectors.settle(db, target, changed=False)
            target = generations.by_number(db, target.number) or target
        looked = self._looked_at_all(db, target)
        near = None if looked is None else near
        filling = Filling(db, target, self._sources, embedder, self._vectors, progress, limits, self._embeddings, near)
        report = filling.run()
        is_new = target.state == "building"
        problems = [*report.problems] if looked is None or report.look else [*looked, *report.problems]
        if mismatch is not None:
            problems.append(mismatch.sentence)
        report = replace(report, problems=problems, mismatch=mismatch, rebuilt=is_new and report.complete)
        if is_new and report.complete:
            if upkeep:
                _tell_finishing(progress, report)
                self._vectors.settle(db, generations.by_number(db, target.number) or target)
            rebuild.publish(db, target, for_now=embedder.is_fallback)
            if upkeep:
                rebuild.clean_up(db, self._vectors)
        if report.complete or not is_new:
            self._finish(db, target, report, upkeep, progress)
            if force:
                erase_free_pages(db)
        else:
            self._keep_live_fresh(db, limits)
            with transaction(db):
                Facts(db).write_problems([*problems, _UNFINISHED])
        return replace(report, problems=[*problems, embedder.absent]) if embedder.absent else report

    def _keep_live_fresh(self, db: apsw.Connection, limits: Limits) -> None:
        """While a rebuild waits for its provider, new notes are found by their words in the index that serves."""
        live = generations.find(db, "live")
        if live is not None and not limits.reached:
            Filling(db, live, self._sources, Embedder(), self._vectors, None, limits, self._embeddings).run()

    def _target(self, db: apsw.Connection, embedder: Embedder, force: bool) -> tuple[Generation, Mismatch | None]:
        """The generation to write to: the live one, or one that will take its place."""
        wanted = self._identity(embedder.pipeline)
        live = generations.find(db, "live")
        if live is None:
            with transaction(db):
                return generations.create(db, "live", wanted.to_json()), None
        there = Identity.from_json(live.identity)
        if not force and rebuild.was_left(db, live, wanted):
            return live, rebuild.find_mismatch(db, live, wanted, embedder)
        if wanted.provider is None and there.provider is not None:
            # Nobody embeds now: vectors that are there stay, and wait for somebody who can use them.
            kept = wanted.with_vectors_of(there)
            if embedder.absent is not None and (force or kept != there):
                cost = rebuild.cost(db, live, kept)
                if cost.chunks:
                    return live, Mismatch(
                        there.differences(kept) or ["a rebuild was asked for"], cost.chunks, cost.tokens, None
                    )
                wanted = kept
            elif not force and kept == there:
                wanted = kept
        if there.provider is None and there.same_layout(wanted) and wanted != there and not force:
            # Built by keywords alone: every chunk is simply one that waits for its vector.
            with transaction(db):
                rebuild.rename(db, live, wanted)
            live = generations.find(db, "live")
            assert live is not None
            return live, None
        if wanted == there and not force:
            rebuild.forget_building(db, self._vectors)
            return live, None
        mismatch = None if force else rebuild.find_mismatch(db, live, wanted, embedder)
        if mismatch is None:
            return rebuild.begin(db, wanted, self._vectors, afresh=force), None
        rebuild.forget_building(db, self._vectors, keep=wanted)
        return live, mismatch

    @staticmethod
    def _looked_at_all(db: apsw.Connection, target: Generation) -> Sequence[str] | None:
        """What the last look at all files could not read; None where some of them may be unknown to the generation.

        Where one file has two names it is known by one of them, and may have to be known by the other any time.
        """
        look = Facts(db).read(LOOK)
        if look is None or not look["complete"] or look["doubles"]:
            return None
        if target.state != "live" or target.synced_at is None:
            return None
        problems: list[str] = look["problems"]
        return problems

    @staticmethod
    def _was_same(db: apsw.Connection, now: Generation, report: SyncReport) -> bool:
        """Whether the index says all that this look at the disk found out, or as good as all."""
        facts = Facts(db)
        if facts.problems() != list(report.problems):
            return False
        if report.look is None:
            return True
        ago = None if now.synced_at is None else time.time() - now.synced_at
        is_recent = ago is not None and 0 <= ago < _SAME_MOMENT_SECONDS
        return is_recent and facts.read(LOOK) == _told(report, report.look)

    def _finish(
        self, db: apsw.Connection, target: Generation, report: SyncReport, upkeep: bool, progress: Progress | None
    ) -> None:
        """Note what this look found and when, then do the upkeep that is due."""
        now = generations.by_number(db, target.number)
        if now is None:
            return
        due = Facts(db).read(UPKEEP)
        is_same = not report.changed and self._was_same(db, now, report)
        if not is_same:
            with transaction(db):
                if report.complete and (report.look is not None or now.synced_at is None):
                    db.execute("UPDATE generations SET synced_at = ? WHERE id = ?", (report.looked_at, target.number))
                Facts(db).write_problems(report.problems)
                if report.look is not None:
                    Facts(db).write(LOOK, _told(report, report.look))
                if report.changed and due != "begun":
                    Facts(db).write(UPKEEP, "due")
        if upkeep and (report.changed or due or (report.look is not None and self._vectors.is_due(db, now))):
            _tell_finishing(progress, report)
            # Whether a table should have another shape can wait: finding out takes as long as the table is large.
            self._do_upkeep(db, now, reshape=report.look is not None or due is not None)

    def _do_upkeep(self, db: apsw.Connection, generation: Generation, *, reshape: bool) -> None:
        """Bring the vector tables into the shape that their size asks for, and drop vectors that nothing uses."""
        with transaction(db):
            Facts(db).write(UPKEEP, "begun")
        self._vectors.settle(db, generation, changed=reshape)
        prune(db, generations.numbers(db), self._keep_embeddings)
        if reshape:
            erase_removed(db, generation.tables, self._index.file)
        with transaction(db):
            Facts(db).forget(UPKEEP)


def _tell_finishing(progress: Progress | None, report: SyncReport) -> None:
    if progress is not None:
        progress(SyncProgress(report.indexed, report.indexed, 0, "finishing"))


def _told(report: SyncReport, look: Look) -> dict[str, Any]:
    """What is remembered of a look, and whether all that it found is in the index."""
    return {**look.to_json(), "complete": report.complete}
