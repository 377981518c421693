"""The provider `voyage`: Voyage AI's embeddings."""

from __future__ import annotations

from memslot import EmbeddingProvider, EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

from memslot_embed_providers.service import missing_key, missing_package

KEY_NAMES = ("VOYAGE_API_KEY",)


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    return [EmbeddingProviderSpec("voyage", create, missing=missing, auto_order=40)]


def missing(options: ProviderOptions) -> str | None:
    return missing_package("voyage") or missing_key(options, KEY_NAMES)


def create(options: ProviderOptions) -> EmbeddingProvider:
    from memslot_embed_providers.voyage.provider import VoyageProvider

    return VoyageProvider(options, KEY_NAMES)
