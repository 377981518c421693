"""The provider `universal`: semantic search in 16 languages without a key, a download or a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import hookimpl

from memslot_embed_providers.universal.provider import create, missing

if TYPE_CHECKING:
    from memslot import EmbeddingProviderSpec, PluginContext


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    from memslot import EmbeddingProviderSpec

    return [EmbeddingProviderSpec("universal", create, missing=missing, auto_order=60, sends_text_away=False)]
