"""Work that nobody waits for: new vectors, missing ones, compaction, the index. In a thread, one at a time."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

from memslot import EmbeddingCancelledError, MemslotError, one_line

from memslot_memory_lancedb.embedding.embedder import Embedder
from memslot_memory_lancedb.errors import StoreAwayError
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.store.growth import is_compaction_due, is_index_due, make_index
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.purge import compact, expire, is_expiry_due, purge, was_forgotten
from memslot_memory_lancedb.store.reembed import fill_waiting, is_due, may_begin_unasked, reembed
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.versions import list_versions
from memslot_memory_lancedb.store.words import are_due, fill_stems

LOOK_EVERY_WRITES = 16
AGAIN_AFTER_SECONDS = 60.0
"""After a failure nothing is tried for this long."""
CLOSE_SECONDS = 20.0
"""LanceDB cannot be interrupted, and a Python that ends under it dies with a crash instead of an exit code."""
logger = logging.getLogger("memslot.plugin.memory-lancedb")


class Upkeep:
    """Does what is due, when it is nudged. It ends with its process; what was cut short is taken up the next time."""

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
        self.doing: str | None = None
        """What is under way, as a sentence."""
        self.reembedding: str | None = None
        """The same, while it keeps search from going by meaning."""
        self.problem: str | None = None

    def nudge(self, *, forgotten: bool = False) -> None:
        """Look whether something is due, at the first use and after every few writes; returns at once."""
        with self._lock:
            is_soon = self._store.writes - self._looked_at_writes < LOOK_EVERY_WRITES
            if forgotten and self._purge_on_forget:
                # Should the thread be busy, the next nudge looks again.
                is_soon, self._looked_at_writes = False, -LOOK_EVERY_WRITES
            is_busy = self._thread is not None and self._thread.is_alive()
            if is_soon or is_busy or self._stop.is_set() or time.monotonic() < self._not_before:
                return
            self._looked_at_writes = self._store.writes
            self._thread = threading.Thread(target=self._work, name="memslot memory-lancedb upkeep", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending
                self._thread = None

    def close(self) -> None:
        """Stop at the next good moment, and wait a little for it."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def wait(self, seconds: float) -> None:
        """Wait for what is under way."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        try:
            self._catch_up()
            self.problem = None
        except EmbeddingCancelledError:
            pass
        except StoreAwayError as error:
            # Whoever asks how the store is hears it from the store, and for as long as it is so.
            self._fail(str(error))
            self.problem = None
        except MemslotError as error:
            self._fail(f"upkeep did not finish and is tried again: {error}")
        except Exception as error:
            self._fail(f"upkeep failed: {type(error).__name__}: {error}")
        finally:
            self.doing = self.reembedding = None

    def _fail(self, problem: str) -> None:
        self.problem = one_line(problem)
        self._not_before = time.monotonic() + AGAIN_AFTER_SECONDS
        self._looked_at_writes = -LOOK_EVERY_WRITES
        logger.warning("%s", self.problem)

    def _catch_up(self) -> None:
        store, embedder = self._store, self._embedder
        identity = embedder.identity
        if identity is not None and is_due(store, identity) and may_begin_unasked(store, identity):
            self._report(0, 0)
            reembed(store, embedder, progress=self._report, cancelled=self._stop)
            self.doing = self.reembedding = None
        table = store.live()
        if table is None or self._stop.is_set():
            return
        if are_due(table):
            self.doing = "memories of an older version are getting their words"
            fill_stems(table, self._stop)
        if identity is not None and table.generation.identity == identity:
            self._backgrounds.get(identity, cancelled=self._stop)
        if identity is not None and table.generation.identity == identity and table.count(WAITING):
            self.doing = "memories that were stored while the embedder failed are getting their vectors"
            fill_waiting(store, embedder, cancelled=self._stop)
        self._remove_bytes(table)
        if not self._stop.is_set() and is_compaction_due(table, store.database):
            self.doing = "small files are being put together"
            compact(table, store.database, self._keep)
        if not self._stop.is_set() and is_index_due(table, store.database):
            self.doing = "the index is being built"
            make_index(table, store.database)
            compact(table, store.database, self._keep)

    def _remove_bytes(self, table: MemoryTable) -> None:
        """Remove text that was forgotten: at once where it is so set, else when the history has expired."""
        database = self._store.database
        if self._purge_on_forget and was_forgotten(list_versions(table, database)):
            self.doing = "forgotten memories are being removed from the disk"
            purge(self._store, self._stop)
        elif not self._stop.is_set() and is_expiry_due(table, database, self._keep):
            self.doing = "expired versions are being removed"
            expire(table, database, self._keep)

    def _report(self, done: int, total: int) -> None:
        count = f" ({done} of {total})" if total else ""
        self.doing = self.reembedding = f"memories are being embedded anew{count}; until then search goes by words"
