"""Selects the embedding provider when vectors are first needed, and retries later if none is available."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memslot import MemslotError, Selection, redact

from memslot_memory_core.index.embeddings import BatchApi, Embedder, EmbeddingStore

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

    from memslot_memory_core.settings import SearchSettings

    MakePipeline = Callable[[EmbeddingStore], tuple[EmbeddingPipeline | None, Selection]]

_ASK_AGAIN_SECONDS = 60.0
_CLOSE_SECONDS = 1.0


class EmbedderChoice:
    """The selected provider and the embedding cache in the index."""

    def __init__(
        self,
        make: MakePipeline,
        *,
        enabled: bool = True,
        batch: BatchApi | None = None,
        parts: Literal["auto", "on", "off"] = "auto",
    ) -> None:
        self.cache = EmbeddingStore()
        self._parts = parts
        self._batch = batch
        self._make = make
        self._enabled = enabled
        self._lock = threading.Lock()
        self._chosen: tuple[EmbeddingPipeline | None, Selection] | None = None
        self._chosen_at = 0.0
        self._closed = False
        self.failure: str | None = None
        """Why selecting a provider failed, if it did."""

    def choose(self) -> tuple[EmbeddingPipeline | None, Selection]:
        """The pipeline and the reason for it; without a pipeline, search is by keywords only."""
        if not self._enabled:
            return None, Selection(None, "none", "memorySearch.store.vector.enabled is false")
        with self._lock:
            now = time.monotonic()
            is_old = self._chosen is not None and self._chosen[0] is None and now - self._chosen_at > _ASK_AGAIN_SECONDS
            if self._chosen is None or is_old:
                self.failure = None
                try:
                    self._chosen = self._make(self.cache)
                except Exception as error:  # a broken plugin costs the vectors, not the search
                    self.failure = _error_text(error)
                    self._chosen = None, Selection(None, "auto", self.failure)
                self._chosen_at = now
                self._close_chosen()
            return self._chosen

    def for_sync(self) -> Embedder:
        """The embedder for a sync."""
        pipeline, selection = self.choose()
        if pipeline is not None:
            from memslot import BatchJobs

            # A provider without a batch API is called directly, which only costs more.
            batch = self._batch if isinstance(pipeline.provider, BatchJobs) else None
            is_free = not selection.sends_text_away
            return Embedder(pipeline, free=is_free, batch=batch, is_fallback=selection.is_degraded)
        absent = None if selection.requested == "none" else f"nothing is embedded: {selection.reason}"
        return Embedder(None, free=True, absent=absent)

    def embeds_parts(self) -> bool:
        """Whether parts of chunks get their own vectors; by default, if embedding is free."""
        if self._parts != "auto":
            return self._parts == "on"
        _, selection = self.choose()
        return not selection.sends_text_away

    def probe(self) -> str | None:
        """Embed a word; returns why that failed, or None."""
        pipeline, selection = self.choose()
        if pipeline is None:
            return selection.reason
        try:
            row = pipeline.embed_query("memory")
        except Exception as error:
            return _error_text(error)
        return "the provider returned an all-zero vector" if pipeline.is_zero(row) else None

    def close(self) -> None:
        """Stop embedding. A provider still being created is closed once it is."""
        self._closed = True
        if self._lock.acquire(timeout=_CLOSE_SECONDS):
            try:
                self._close_chosen()
            finally:
                self._lock.release()

    def _close_chosen(self) -> None:
        if self._closed and self._chosen is not None and self._chosen[0] is not None:
            self._chosen[0].close()


def _error_text(error: Exception) -> str:
    # HTTP clients quote the failed request, which includes the API key.
    return redact(str(error) if isinstance(error, MemslotError) else f"{type(error).__name__}: {error}")


def batch_api(settings: SearchSettings, index_file: Path) -> BatchApi | None:
    """How to use a provider's batch API, with its jobs recorded beside the index; None if disabled."""
    batch = settings.remote.batch
    if not batch.enabled:
        return None
    return BatchApi(
        folder=index_file.with_name(f"{index_file.name}.jobs"),
        concurrency=batch.concurrency,
        poll_seconds=batch.poll_interval_ms / 1000,
        timeout_seconds=batch.timeout_minutes * 60.0,
        wait=batch.wait,
    )
