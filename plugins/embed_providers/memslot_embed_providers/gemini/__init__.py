"""The provider `gemini`: Google's Gemini embeddings."""

from __future__ import annotations

from memslot import EmbeddingProvider, EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

from memslot_embed_providers.service import missing_key, missing_package

KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    return [EmbeddingProviderSpec("gemini", create, missing=missing, auto_order=30)]


def missing(options: ProviderOptions) -> str | None:
    return missing_package("gemini") or missing_key(options, KEY_NAMES)


def create(options: ProviderOptions) -> EmbeddingProvider:
    from memslot_embed_providers.gemini.provider import GeminiProvider

    return GeminiProvider(options, KEY_NAMES)
