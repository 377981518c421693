"""Embedding providers for tests: one that works, and some that misbehave in one way each."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence

from memslot.errors import ProviderError


class HashingProvider:
    """Deterministic and offline: texts that share character trigrams get similar vectors."""

    id = "testing"
    model = "testing-hashing"
    max_input_tokens = 8192

    def __init__(self, dims: int = 64) -> None:
        self.dims = dims

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        vector = [0.0] * self.dims
        folded = f"  {text.casefold()} "
        for start in range(len(folded) - 2):
            piece = folded[start : start + 3].encode("utf-8", errors="surrogatepass")
            number = int.from_bytes(hashlib.blake2b(piece, digest_size=8).digest(), "big")
            vector[number % self.dims] += 1.0 if number >> 63 else -1.0
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector] if length else vector


class WrongDimsProvider(HashingProvider):
    """Declares one number of dimensions and returns another, as after a silent change of model."""

    model = "testing-wrong-dims"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector[:-1] for vector in super().embed_documents(texts)]


class NaNProvider(HashingProvider):
    """Returns vectors with NaN and infinity in them, as an overflowing model does."""

    model = "testing-nan"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[math.nan, math.inf, *vector[2:]] for vector in super().embed_documents(texts)]


class HangingProvider(HashingProvider):
    """Never answers, until `release()` is called or `seconds` have passed; `started` is set by the first call."""

    model = "testing-hanging"
    query_timeout: float | None = None
    batch_timeout: float | None = None
    """Its time-out in seconds; None leaves it to the caller."""

    def __init__(self, dims: int = 64, *, seconds: float = 3600.0) -> None:
        super().__init__(dims)
        self.started = threading.Event()
        self._seconds = seconds
        self._released = threading.Event()

    def release(self) -> None:
        """Let all calls go on, now and later."""
        self._released.set()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.started.set()
        self._released.wait(self._seconds)
        return super().embed_documents(texts)


class FailingProvider(HashingProvider):
    """Raises a ProviderError with this message, every time; `calls` counts how often it was asked."""

    model = "testing-failing"

    def __init__(self, message: str = "the provider is down", dims: int = 64) -> None:
        super().__init__(dims)
        self.message = message
        self.calls = 0

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        raise ProviderError(self.message)
