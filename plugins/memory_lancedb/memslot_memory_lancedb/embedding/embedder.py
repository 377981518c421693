"""The embedder of one agent: chosen when it is first needed, and what it last failed at."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memslot import EmbeddingCancelledError, EmbeddingPipeline, MemslotError, Selection, one_line

from memslot_memory_lancedb.embedding.identity import Identity

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

Choose = Callable[[], tuple[EmbeddingPipeline | None, Selection]]
Progress = Callable[[int, int], None]
PATIENCE_SECONDS = 10.0
"""For one text, while somebody waits: after this the store does without a vector."""
CHOOSE_AGAIN_SECONDS = 60.0
"""A provider that was not ready is asked for again after this long."""


@dataclass(frozen=True)
class Embedded:
    """A vector, or the reason why there is none."""

    vector: Vector | None
    why_not: str = ""


class Embedder:
    """Gives vectors, or None where a vector would say nothing. Safe to use from several threads."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._pipeline: EmbeddingPipeline | None = None
        self._selection: Selection | None = None
        self._chosen_at = 0.0
        self._closed = False
        self.fault: str | None = None
        """Why the last call failed; None once one has worked."""

    @property
    def identity(self) -> Identity | None:
        """Whose vectors it gives; None where there is no provider."""
        pipeline = self._ready()
        return Identity.of(pipeline) if pipeline is not None else None

    @property
    def is_chosen(self) -> bool:
        """Whether somebody has needed it yet; choosing may take a while."""
        return self._selection is not None

    @property
    def problem(self) -> str | None:
        """What is wrong with it, as far as is known without asking."""
        if self.fault is not None:
            return self.fault
        selection = self._selection
        if selection is None or selection.provider is not None or selection.requested == "none":
            return None
        return one_line(f"there is no embedding provider, so search goes by words: {selection.reason}")

    def embed_query(self, text: str, seconds: float = PATIENCE_SECONDS) -> Embedded:
        """The vector of what somebody searches for. Does not raise, and gives up after `seconds`."""
        pipeline = self._ready()
        if pipeline is None:
            return Embedded(None, self.problem or "no embedding provider is in use")
        until = time.monotonic() + seconds
        try:
            row = pipeline.embed_query(text, cancelled=lambda: time.monotonic() > until)
        except MemslotError as error:
            return Embedded(None, self._failed(pipeline, error, seconds))
        self.fault = None
        if pipeline.is_zero(row):
            return Embedded(None, f"{pipeline.provider.id} has nothing to say about this text")
        return Embedded(row)

    def embed_documents(
        self,
        texts: Sequence[str],
        *,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
        seconds: float | None = None,
    ) -> list[Vector | None]:
        """A vector for each text; None for a text that it cannot say anything about.

        Raises a MemslotError, also when it took longer than `seconds`.
        """
        pipeline = self._ready()
        if pipeline is None:
            raise MemslotError(self.problem or "no embedding provider is in use")
        until = time.monotonic() + seconds if seconds is not None else math.inf

        def must_stop() -> bool:
            return time.monotonic() > until or (cancelled is not None and cancelled.is_set())

        try:
            rows = pipeline.embed_documents(texts, progress=progress, cancelled=must_stop)
        except MemslotError as error:
            if cancelled is not None and cancelled.is_set():
                raise
            raise MemslotError(self._failed(pipeline, error, seconds)) from error
        self.fault = None
        return [None if pipeline.is_zero(row) else row for row in rows]

    def _failed(self, pipeline: EmbeddingPipeline, error: MemslotError, seconds: float | None) -> str:
        late = isinstance(error, EmbeddingCancelledError) and seconds is not None and not self._closed
        why = f"no answer within {round(seconds or 0.0, 1):g} s" if late else str(error)
        self.fault = one_line(f"the embedder {pipeline.provider.id} failed: {why}")
        return self.fault

    def close(self) -> None:
        """End what is under way, and begin nothing more."""
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.close()

    def _ready(self) -> EmbeddingPipeline | None:
        with self._lock:
            is_due = self._pipeline is None and (
                self._selection is None or time.monotonic() - self._chosen_at > CHOOSE_AGAIN_SECONDS
            )
            if is_due and not self._closed:
                self._pipeline, self._selection = self._choose()
                self._chosen_at = time.monotonic()
            return self._pipeline
