"""An embedder whose cosines lie close together: unrelated texts near .75, good answers near .9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memslot import hookimpl

if TYPE_CHECKING:
    from memslot import EmbeddingProviderSpec, PluginContext

_SHARED = 0.72
"""The share of each vector that all have in common: a cosine c becomes _SHARED + (1 - _SHARED) * c."""


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    from memslot import EmbeddingProviderSpec

    return [EmbeddingProviderSpec("squeezed", lambda options: SqueezedProvider(), sends_text_away=False)]


class SqueezedProvider:
    id = "squeezed"
    model = "squeezed-use-multilingual-v3"
    dims = 513
    max_input_tokens = 2048
    max_batch_items = 1_000

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """The universal provider's rows with one large number more; zeros stay zeros."""
        import numpy
        from memslot_embed_providers.universal.provider import UniversalProvider

        rows = numpy.asarray(UniversalProvider().embed_documents(texts), dtype=numpy.float32)
        shared = numpy.sqrt(_SHARED) * rows.any(axis=1, keepdims=True)
        return numpy.hstack((numpy.sqrt(1 - _SHARED) * rows, shared)).astype(numpy.float32)
