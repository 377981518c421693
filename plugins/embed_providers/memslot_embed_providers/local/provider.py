"""A GGUF model as a provider."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from memslot import (
    PluginContext,
    ProviderError,
    ProviderOptions,
    encodable,
    extra_install_command,
    provider_key,
)

from memslot_embed_providers.local.gguf import ModelFile, read_model_file
from memslot_embed_providers.local.model_source import EXAMPLE, HubFile, cache_folder, parse_model_path

# Prefixes these models were trained with, for queries and documents.
_PROMPTS: Mapping[str, tuple[str, str]] = {
    "gemma-embedding": ("task: search result | query: ", "title: none | text: "),
    "nomic-bert": ("search_query: ", "search_document: "),
    "nomic-bert-moe": ("search_query: ", "search_document: "),
}


class LocalModels:
    """Finds the configured model; downloads it only if this provider is named in the config."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    def missing(self, options: ProviderOptions) -> str | None:
        if not options.model_path:
            return f"memorySearch.local.modelPath is not set; set it to a GGUF file or to {EXAMPLE}"
        try:
            source = parse_model_path(options.model_path)
        except ProviderError as error:
            return str(error)
        path = source.path_in(self._cache(options)) if isinstance(source, HubFile) else source
        if not path.is_file():
            if not isinstance(source, HubFile):
                return f'"{path}" does not exist; check memorySearch.local.modelPath'
            if not self._is_named():
                return (
                    f"{source} is not downloaded yet, and only a provider named in the config downloads by itself; "
                    "get it with: memslot local-model"
                )
        if importlib.util.find_spec("llama_cpp") is None:
            return f'the provider "local" needs llama.cpp: {extra_install_command("local")}'
        return None

    def create(self, options: ProviderOptions) -> LocalProvider:
        lack = self.missing(options)
        if lack is not None or not options.model_path:
            raise ProviderError(lack or "local.modelPath is not set")
        source = parse_model_path(options.model_path)
        if isinstance(source, HubFile):
            from memslot_embed_providers.local.background_download import download_in_background

            path = download_in_background(source, self._cache(options), env=options.env, logger=self._ctx.logger)
        else:
            path = source
        file = read_model_file(path)
        if options.dimensions not in (None, file.dims):
            raise ProviderError(
                f"{file.name} has {file.dims} dimensions, but memorySearch.dimensions is {options.dimensions}"
            )
        return LocalProvider(file)

    def _is_named(self) -> bool:
        settings = self._ctx.memory_search
        return "local" in (settings.provider, settings.fallback)

    def _cache(self, options: ProviderOptions) -> Path:
        return cache_folder(self._ctx, options.model_cache_dir)


class LocalProvider:
    """Thread-safe; calls are serialized. The model is loaded on first use."""

    id = "local"
    max_batch_items = 64
    query_timeout = 300.0
    batch_timeout = 600.0

    def __init__(self, file: ModelFile) -> None:
        from memslot_embed_providers.local.llama_engine import context_length

        self._file = file
        self._query_prompt, self._text_prompt = _PROMPTS.get(file.architecture, ("", ""))
        self.model = file.name
        self.dims = file.dims
        self.max_input_tokens = context_length(file)
        # Two files may have one name; vectors of two models must never be compared.
        self.key = provider_key(self.id, f"{file.name} {file.fingerprint} {self._query_prompt}{self._text_prompt}")

    def embed_query(self, text: str) -> Sequence[float]:
        return self._embed([text], self._query_prompt)[0]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self._embed(texts, self._text_prompt)

    def _embed(self, texts: Sequence[str], prompt: str) -> list[Sequence[float]]:
        """One vector per text; blank texts get zeros without a call."""
        vectors: list[Sequence[float]] = [[0.0] * self.dims for _ in texts]
        asked = [(number, prompt + encodable(text)) for number, text in enumerate(texts) if text.strip()]
        if not asked:
            return vectors
        from memslot_embed_providers.local.llama_engine import load_engine

        engine = load_engine(self._file)
        # In batches, so that a query doesn't wait for a thousand texts.
        for start in range(0, len(asked), self.max_batch_items):
            part = asked[start : start + self.max_batch_items]
            for (number, _), vector in zip(part, engine.embed([text for _, text in part]), strict=True):
                if len(vector) != self.dims:
                    raise ProviderError(
                        f"{self.model} returned a vector of {len(vector)} dimensions instead of {self.dims}"
                    )
                vectors[number] = vector
        return vectors
