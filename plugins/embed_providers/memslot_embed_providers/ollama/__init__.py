"""The provider `ollama`: models of an Ollama server, most often on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from memslot import EmbeddingProvider, EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

from memslot_embed_providers.service import is_loopback, missing_package

DEFAULT_PORT = 11434


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    address = server_address(ctx.memory_search.remote.base_url, os.environ)
    return [EmbeddingProviderSpec("ollama", create, missing=missing, sends_text_away=not is_loopback(address))]


def missing(options: ProviderOptions) -> str | None:
    lack = missing_package("ollama")
    if lack is None and not options.model:
        return "it needs a model in memorySearch.model, such as nomic-embed-text"
    return lack


def create(options: ProviderOptions) -> EmbeddingProvider:
    from memslot_embed_providers.ollama.provider import OllamaProvider

    return OllamaProvider(options)


def server_address(base_url: str | None, env: Mapping[str, str]) -> str:
    """The configured address, else OLLAMA_HOST (`host`, `host:port` or a URL), else this machine."""
    if base_url:
        return base_url.strip().rstrip("/")
    host_variable = env.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not host_variable:
        return f"http://127.0.0.1:{DEFAULT_PORT}"
    bare = "://" not in host_variable
    try:
        parts = urlsplit(f"http://{host_variable}" if bare else host_variable)
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return host_variable  # refused later, when the provider is created
    if host in ("0.0.0.0", "::"):  # a listen address, not one to connect to
        host = "127.0.0.1"
    port = port or (DEFAULT_PORT if bare else None)
    place = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{place}:{port}" if port else place, parts.path.rstrip("/"), "", ""))
