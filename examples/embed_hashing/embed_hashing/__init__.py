"""The embedding provider `hashing`: words and pieces of words, hashed into a vector."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence

from memslot import EmbeddingProviderSpec, PluginContext, ProviderOptions, hookimpl

_WORD = re.compile(r"\w+")
_WHOLE_WORD, _PIECE = 1.0, 0.4
"""A shared word says more than a shared piece of one."""


@hookimpl
def register_embedding_providers(ctx: PluginContext) -> list[EmbeddingProviderSpec]:
    def create(options: ProviderOptions) -> HashingProvider:
        return HashingProvider(options.dimensions or ctx.config["dimensions"])

    return [EmbeddingProviderSpec("hashing", create, sends_text_away=False)]


class HashingProvider:
    """Keeps nothing between two calls, so any number of threads may use it."""

    id = "hashing"
    max_input_tokens = 1_000_000

    def __init__(self, dims: int = 256) -> None:
        self.dims = dims
        self.model = f"words-and-trigrams-{dims}"

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        vector = [0.0] * self.dims
        for feature, weight in _features(text):
            # hash() gives other numbers in every process; blake2b gives the same for ever.
            digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            # Half of the features count down, so that those that meet in one place tend to cancel out.
            vector[number % self.dims] += weight if number >> 63 else -weight
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector] if length else vector


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Each word, and its runs of three letters with its edges marked: "cats" gives <ca, cat, ats and ts>."""
    # A text without a word (an emoji) is one feature as it is.
    for word in _WORD.findall(text.casefold()) or [text]:
        yield f"word {word}", _WHOLE_WORD
        marked = f"<{word}>"
        for start in range(len(marked) - 2):
            yield f"piece {marked[start : start + 3]}", _PIECE
