"""The embedder of one agent: selected on first use from the plugin's `embedding` settings or the agent's own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memslot import EmbeddingCancelledError, EmbeddingPipeline, MemslotError, PluginContext, Selection, one_line

from memslot_memory_lancedb.embedding.identity import Identity

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

Choose = Callable[[], tuple[EmbeddingPipeline | None, Selection]]
PATIENCE_SECONDS = 10.0
"""Timeout for one text in the foreground; after that it is stored without a vector."""
CHOOSE_AGAIN_SECONDS = 60.0
"""Retry interval for a provider that was not available."""


@dataclass(frozen=True)
class Embedded:
    """A vector, or the reason why there is none."""

    vector: Vector | None
    why_not: str = ""


class Embedder:
    """Embeds texts; None for all-zero vectors. Thread-safe."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._pipeline: EmbeddingPipeline | None = None
        self._selection: Selection | None = None
        self._chosen_at = 0.0
        self._closed = False
        self.fault: str | None = None
        """Why the last call failed; None after a success."""

    @property
    def identity(self) -> Identity | None:
        """Identity of its vectors; None without a provider."""
        pipeline = self._ready()
        return Identity.of(pipeline) if pipeline is not None else None

    @property
    def is_chosen(self) -> bool:
        """Whether it has been selected yet, which may take a while."""
        return self._selection is not None

    @property
    def problem(self) -> str | None:
        """The known problem, without calling the provider."""
        if self.fault is not None:
            return self.fault
        selection = self._selection
        if selection is None or selection.provider is not None or selection.requested == "none":
            return None
        return one_line(f"no embedding provider, searching by keywords only: {selection.reason}")

    def embed_query(self, text: str, seconds: float = PATIENCE_SECONDS) -> Embedded:
        """Embed a query. Never raises; gives up after `seconds`."""
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
            return Embedded(None, f"{pipeline.provider.id} returned an all-zero vector for this text")
        return Embedded(row)

    def embed_documents(
        self,
        texts: Sequence[str],
        *,
        cancelled: threading.Event | None = None,
        seconds: float | None = None,
    ) -> list[Vector | None]:
        """Embed texts; None for all-zero vectors.

        Raises a MemslotError, also after `seconds`.
        """
        pipeline = self._ready()
        if pipeline is None:
            raise MemslotError(self.problem or "no embedding provider is in use")
        until = time.monotonic() + seconds if seconds is not None else math.inf

        def must_stop() -> bool:
            return time.monotonic() > until or (cancelled is not None and cancelled.is_set())

        try:
            rows = pipeline.embed_documents(texts, cancelled=must_stop)
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
        """Cancel running calls and refuse new ones."""
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


OPENAI = "openai"


def pipeline_factory(ctx: PluginContext, embedding: Mapping[str, Any]) -> Choose:
    """A function that creates the pipeline on first use."""

    def choose() -> tuple[EmbeddingPipeline | None, Selection]:
        return ctx.pipeline(search_settings(ctx.memory_search, embedding) if embedding else None)

    return choose


def search_settings(agent: Any, embedding: Mapping[str, Any]) -> Any:
    """The agent's `memorySearch` with another embedder in it.

    Key, address and model of the agent's own provider are kept for that provider only.
    """
    provider = embedding.get("provider") or _implied_provider(embedding) or agent.provider
    written = agent.written()
    if provider != agent.provider:
        written = {key: written[key] for key in ("local",) if key in written}
    written["provider"] = provider
    for key in ("model", "dimensions"):
        if key in embedding:
            written[key] = embedding[key]
    remote = {key: embedding[key] for key in ("apiKey", "baseUrl") if key in embedding}
    if remote:
        # Never send one server's key to another.
        kept = {} if "baseUrl" in remote else written.get("remote", {})
        written["remote"] = {**kept, **remote}
    return type(agent).from_tree(written)


def _implied_provider(embedding: Mapping[str, Any]) -> str | None:
    """Old settings name no provider: they mean OpenAI or a compatible server."""
    named = any(key in embedding for key in ("apiKey", "baseUrl"))
    return OPENAI if named or str(embedding.get("model", "")).startswith("text-embedding-") else None
