"""Providers that are right, and providers that are wrong in one way each; run by test_embedding_contract.py."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections.abc import Sequence

from memslot import ProviderError
from memslot.testing import (
    EmbeddingProviderContract,
    FailingProvider,
    HangingProvider,
    HashingProvider,
    NaNProvider,
    WrongDimsProvider,
)


class TestGood(EmbeddingProviderContract):
    def make_provider(self):
        return HashingProvider()

    def make_failing_provider(self, api_key):
        return FailingProvider("the server said 401; check the key")


class TestGoodWithoutKey(EmbeddingProviderContract):
    def make_provider(self):
        return HashingProvider(16)


class TestGoodThatRefusesSurrogates(EmbeddingProviderContract):
    class Strict(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            for text in texts:
                text.encode("utf-8")
            return super().embed_documents(texts)

    def make_provider(self):
        return self.Strict()


class TestWrongDims(EmbeddingProviderContract):
    def make_provider(self):
        return WrongDimsProvider()


class TestNaN(EmbeddingProviderContract):
    def make_provider(self):
        return NaNProvider()


class TestFailing(EmbeddingProviderContract):
    def make_provider(self):
        return FailingProvider()


class TestHangingBriefly(EmbeddingProviderContract):
    """Slow is not wrong."""

    def make_provider(self):
        return HangingProvider(seconds=0.001)


class TestLacksAMethod(EmbeddingProviderContract):
    class Half(HashingProvider):
        embed_query = None

    def make_provider(self):
        return self.Half()


class TestDimsAreText(EmbeddingProviderContract):
    class Texty(HashingProvider):
        max_input_tokens = "8192"

    def make_provider(self):
        return self.Texty()


class TestNoModel(EmbeddingProviderContract):
    class Nameless(HashingProvider):
        model = ""

    def make_provider(self):
        return self.Nameless()


class TestConstant(EmbeddingProviderContract):
    class Constant(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            return [[1.0] * self.dims for _ in texts]

    def make_provider(self):
        return self.Constant()


class TestRandom(EmbeddingProviderContract):
    class Random(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            return [[random.gauss() for _ in range(self.dims)] for _ in texts]

    def make_provider(self):
        return self.Random()


class TestSaltedPerObject(EmbeddingProviderContract):
    salts = itertools.count()

    class Salted(HashingProvider):
        def __init__(self, salt: int) -> None:
            super().__init__()
            self.salt = salt

        def _embed(self, text: str):
            return super()._embed(f"{self.salt} {text} {self.salt}" if text else text)

    def make_provider(self):
        return self.Salted(next(self.salts) * 7919)


class TestSortsItsBatch(EmbeddingProviderContract):
    class Sorted(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            return super().embed_documents(sorted(texts))

    def make_provider(self):
        return self.Sorted()


class TestMixesUpAfterAPage(EmbeddingProviderContract):
    """Right for small batches; pages of a large one come back in the wrong order."""

    class Paged(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            vectors = super().embed_documents(texts)
            return vectors if len(texts) <= 512 else [*vectors[512:], *vectors[:512]]

    def make_provider(self):
        return self.Paged()


class TestDropsEmptyTexts(EmbeddingProviderContract):
    class Dropping(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            return super().embed_documents([text for text in texts if text.strip()])

    def make_provider(self):
        return self.Dropping()


class TestNoTextsRaise(EmbeddingProviderContract):
    class Raising(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            if not texts:
                raise ProviderError("input must not be empty")
            return super().embed_documents(texts)

    def make_provider(self):
        return self.Raising()


class TestLongTextsRaise(EmbeddingProviderContract):
    class Short(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            if any(len(text) > 10_000 for text in texts):
                raise ProviderError("too long")
            return super().embed_documents(texts)

    def make_provider(self):
        return self.Short()


class TestOnlyTheFirstPlane(EmbeddingProviderContract):
    class Narrow(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            if any(ord(c) > 0xFFFF for text in texts for c in text):
                raise ValueError("character out of range")
            return super().embed_documents(texts)

    def make_provider(self):
        return self.Narrow()


class TestSurrogateCrash(EmbeddingProviderContract):
    class Crashing(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            if any(0xD800 <= ord(c) < 0xE000 for text in texts for c in text):
                raise KeyError("\ud83d")
            return super().embed_documents(texts)

    def make_provider(self):
        return self.Crashing()


class TestOtherDimsForQueries(EmbeddingProviderContract):
    class Uneven(HashingProvider):
        def embed_query(self, text: str):
            return HashingProvider(32).embed_query(text)

    def make_provider(self):
        return self.Uneven()


class TestNotForThreads(EmbeddingProviderContract):
    """Keeps the batch in an attribute, where the next thread overwrites it."""

    class Shared(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            self.batch = list(texts)
            if threading.active_count() > 2:
                time.sleep(0.05)
            return super().embed_documents(self.batch)

    def make_provider(self):
        return self.Shared()


class TestZeros(EmbeddingProviderContract):
    class Zeros(HashingProvider):
        def embed_documents(self, texts: Sequence[str]):
            return [[0.0] * self.dims for _ in texts]

    def make_provider(self):
        return self.Zeros()


class TestInfinity(EmbeddingProviderContract):
    class Infinite(HashingProvider):
        def embed_query(self, text: str):
            return [math.inf] * self.dims

    def make_provider(self):
        return self.Infinite()


class TestKeyInError(EmbeddingProviderContract):
    def make_provider(self):
        return HashingProvider()

    def make_failing_provider(self, api_key):
        return FailingProvider(f"401 for Authorization: Bearer {api_key}")


class TestKeyInCause(EmbeddingProviderContract):
    class Chained(HashingProvider):
        def __init__(self, api_key: str) -> None:
            super().__init__()
            self._key = api_key

        def embed_documents(self, texts: Sequence[str]):
            try:
                raise ConnectionError(f"http://host/?key={self._key}")
            except ConnectionError as error:
                raise ProviderError("the server cannot be reached") from error

    def make_provider(self):
        return HashingProvider()

    def make_failing_provider(self, api_key):
        return self.Chained(api_key)


class TestKeyInRepr(EmbeddingProviderContract):
    class Talkative(FailingProvider):
        def __repr__(self) -> str:
            return f"Talkative({vars(self)})"

    def make_provider(self):
        return HashingProvider()

    def make_failing_provider(self, api_key):
        provider = self.Talkative("no")
        provider.api_key = api_key
        return provider


class TestFailsNot(EmbeddingProviderContract):
    """Says that it has a way to fail, and has none: the test would prove nothing."""

    def make_provider(self):
        return HashingProvider()

    def make_failing_provider(self, api_key):
        return HashingProvider()
