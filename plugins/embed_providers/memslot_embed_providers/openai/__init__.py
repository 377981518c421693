"""The provider `openai`: OpenAI and compatible servers."""

from __future__ import annotations

from memslot import EmbeddingProvider, EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

from memslot_embed_providers.service import missing_key, missing_package

KEY_NAMES = ("OPENAI_API_KEY",)


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    return [EmbeddingProviderSpec("openai", create, missing=missing, auto_order=20)]


def missing(options: ProviderOptions) -> str | None:
    """A self-hosted server may work without a key."""
    return missing_package("openai") or (None if options.base_url else missing_key(options, KEY_NAMES))


def create(options: ProviderOptions) -> EmbeddingProvider:
    from memslot_embed_providers.openai.provider import OpenAIProvider

    return OpenAIProvider(options, KEY_NAMES)
