"""A provider that has its name and its settings but cannot embed yet, and says so."""

from __future__ import annotations

from memslot import EmbeddingProvider, EmbeddingProviderSpec, ProviderError, ProviderOptions


def pending(provider_id: str, *, auto_order: int | None = None) -> EmbeddingProviderSpec:
    reason = f'the provider "{provider_id}" cannot embed yet in this version'

    def create(options: ProviderOptions) -> EmbeddingProvider:
        raise ProviderError(reason)

    return EmbeddingProviderSpec(
        provider_id, create, missing=lambda options: reason, auto_order=auto_order, sends_text_away=True
    )
