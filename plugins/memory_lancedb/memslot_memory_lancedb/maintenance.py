"""Background maintenance: re-embedding, missing vectors, compaction, indices. One thread, one task at a time."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

from memslot import EmbeddingCancelledError, MemslotError, one_line

from memslot_memory_lancedb.embedding.embedder import Embedder
from memslot_memory_lancedb.errors import StoreUnreachableError
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.store.compaction import is_compaction_due, is_index_due, make_index
from memslot_memory_lancedb.store.embedder_migration import embed_missing, is_due, may_start_automatically, reembed
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.purge import compact, expire, is_expiry_due, purge, was_forgotten
from memslot_memory_lancedb.store.stems_column import fill_stems, needs_stems
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.versions import list_versions

LOOK_EVERY_WRITES = 16
AGAIN_AFTER_SECONDS = 60.0
"""Pause after a failure."""
CLOSE_SECONDS = 20.0
"""LanceDB can't be interrupted, and a Python that exits during a call crashes instead of returning its exit code."""
logger = logging.getLogger("memslot.plugin.memory-lancedb")


class Maintenance:
    """Runs due tasks. It ends with the process; interrupted tasks resume the next time."""

    def __init__(
        self,
        store: MemoryStore,
        embedder: Embedder,
        backgrounds: Backgrounds,
        *,
        keep: timedelta,
        purge_on_forget: bool = False,
    ) -> None:
        self._store = store
        self._backgrounds = backgrounds
        self._embedder = embedder
        self._keep = keep
        self._purge_on_forget = purge_on_forget
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._looked_at_writes = -LOOK_EVERY_WRITES
        self._not_before = 0.0
        self.reembedding: str | None = None
        """A sentence, while memories are re-embedded: that prevents vector search."""
        self.problem: str | None = None

    def check_now(self, *, forgotten: bool = False) -> None:
        """Check for due tasks, at first use and after every few writes; returns at once."""
        with self._lock:
            is_soon = self._store.writes - self._looked_at_writes < LOOK_EVERY_WRITES
            if forgotten and self._purge_on_forget:
                # If the thread is busy, the next check will do.
                is_soon, self._looked_at_writes = False, -LOOK_EVERY_WRITES
            is_busy = self._thread is not None and self._thread.is_alive()
            if is_soon or is_busy or self._stop.is_set() or time.monotonic() < self._not_before:
                return
            self._looked_at_writes = self._store.writes
            self._thread = threading.Thread(target=self._work, name="memslot task upkeep", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending
                self._thread = None

    def close(self) -> None:
        """Stop after the current step, and wait briefly for it."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def wait(self, seconds: float) -> None:
        """Wait for the current task."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        try:
            self._run_due_tasks()
            self.problem = None
        except EmbeddingCancelledError:
            pass
        except StoreUnreachableError as error:
            # The status reports the store's own errors while they last.
            self._fail(str(error))
            self.problem = None
        except MemslotError as error:
            self._fail(f"maintenance did not finish and will be retried: {error}")
        except Exception as error:
            self._fail(f"maintenance failed: {type(error).__name__}: {error}")
        finally:
            self.reembedding = None

    def _fail(self, problem: str) -> None:
        self.problem = one_line(problem)
        self._not_before = time.monotonic() + AGAIN_AFTER_SECONDS
        self._looked_at_writes = -LOOK_EVERY_WRITES
        logger.warning("%s", self.problem)

    def _run_due_tasks(self) -> None:
        store, embedder = self._store, self._embedder
        identity = embedder.identity
        if identity is not None and is_due(store, identity) and may_start_automatically(store, identity):
            self._report(0, 0)
            reembed(store, embedder, progress=self._report, cancelled=self._stop)
            self.reembedding = None
        table = store.live()
        if table is None or self._stop.is_set():
            return
        if needs_stems(table):
            fill_stems(table, self._stop)
        if identity is not None and table.generation.identity == identity:
            self._backgrounds.get(identity, cancelled=self._stop)
        if identity is not None and table.generation.identity == identity and table.count(WAITING):
            embed_missing(store, embedder, cancelled=self._stop)
        self._remove_bytes(table)
        if not self._stop.is_set() and is_compaction_due(table, store.database):
            compact(table, store.database, self._keep)
        if not self._stop.is_set() and is_index_due(table, store.database):
            make_index(table, store.database)
            compact(table, store.database, self._keep)

    def _remove_bytes(self, table: MemoryTable) -> None:
        """Erase forgotten text: at once if configured, else when the history has expired."""
        database = self._store.database
        if self._purge_on_forget and was_forgotten(list_versions(table, database)):
            purge(self._store, self._stop)
        elif not self._stop.is_set() and is_expiry_due(table, database, self._keep):
            expire(table, database, self._keep)

    def _report(self, done: int, total: int) -> None:
        count = f" ({done} of {total})" if total else ""
        self.reembedding = f"re-embedding memories{count}; until then search uses keywords only"
