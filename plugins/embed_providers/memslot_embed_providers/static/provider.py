"""Sums of word vectors, as a provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memslot import ProviderError

if TYPE_CHECKING:
    from memslot import ProviderOptions, SearchAdvice

MODEL = "wordllama-l2-supercat-256"
DIMENSIONS = (64, 128, 256)
"""The model was trained so that its first numbers work alone (Matryoshka); these lengths were."""


def missing(options: ProviderOptions) -> str | None:
    import importlib.util

    # Another model was asked for: quietly giving this one would rebuild an index with vectors nobody wanted.
    if options.model not in (None, MODEL):
        return f"static has one model, {MODEL}, and memorySearch.model asks for {options.model!r}"
    if options.dimensions not in (None, *DIMENSIONS):
        return f"static has 64, 128 or 256 dimensions, and memorySearch.dimensions asks for {options.dimensions}"
    if importlib.util.find_spec("wordllama") is None:
        return 'the package "wordllama" that holds its weights is gone; bring it back with: pip install wordllama'
    return None


def create(options: ProviderOptions) -> StaticProvider:
    lack = missing(options)
    if lack is not None:
        raise ProviderError(lack)
    return StaticProvider(options.dimensions or DIMENSIONS[-1])


class StaticProvider:
    """Any number of threads may use it; the model behind it is read once per process, at the first text."""

    id = "static"
    model = MODEL
    max_input_tokens = 1_000_000  # a sum has no longest text; this is a number for those who cut texts
    max_batch_items = 1_000

    def __init__(self, dims: int = DIMENSIONS[-1]) -> None:
        self.dims = dims

    @property
    def advice(self) -> SearchAdvice:
        from memslot import SearchAdvice

        return SearchAdvice(vector_weight=0.5, text_weight=0.5, min_score=0.25, scripts=frozenset({"LATIN"}))

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One row of length 1 each; a text without anything but white space gets zeros."""
        from memslot_embed_providers.static.model import load_model, unit

        # An array is a sequence in all but name.
        return cast(Sequence[Sequence[float]], unit(load_model().sums(texts)[:, : self.dims]))

    def token_vectors(self, text: str) -> Sequence[Sequence[float]]:
        """One row of length 1 for each token of the text, in order: a dot product of two of them is their cosine.

        The model has no context: a token has the same vector in every text. A long word has several tokens.
        """
        from memslot_embed_providers.static.model import load_model, unit

        return cast(Sequence[Sequence[float]], unit(load_model().token_rows(text)[:, : self.dims]))
