"""The provider `voyage`."""

from __future__ import annotations

from memslot import EmbeddingProviderSpec, PluginContext, hookimpl

from memslot_embed_providers.pending import pending


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    return [pending("voyage", auto_order=40)]
