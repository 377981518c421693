"""The provider `ollama`: models of an Ollama server, most often on this machine."""

from __future__ import annotations

import os

from memslot import EmbeddingProvider, EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

from memslot_embed_providers.ollama.address import server_address
from memslot_embed_providers.service import is_loopback, lacks_package


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    address = server_address(ctx.memory_search.remote.base_url, os.environ)
    return [EmbeddingProviderSpec("ollama", create, missing=missing, sends_text_away=not is_loopback(address))]


def missing(options: ProviderOptions) -> str | None:
    lack = lacks_package("httpx2", "ollama")
    if lack is None and not options.model:
        return "it needs the name of a model in memorySearch.model, such as nomic-embed-text"
    return lack


def create(options: ProviderOptions) -> EmbeddingProvider:
    from memslot_embed_providers.ollama.provider import OllamaProvider

    return OllamaProvider(options)
