"""The contract of an embedding provider, as tests."""

from __future__ import annotations

import math
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from memslot.embeddings.contract import EmbeddingProvider, misfit
from memslot.errors import InputTooLargeError, ProviderError
from memslot.testing.optional_tests import is_overridden, keep_if_overridden
from memslot.testing.samples import LONE_SURROGATE, SCRIPTS
from memslot.testing.threads import THREADS, all_at_once

API_KEY = "sk-conformance-0123456789"
_SAME = 1e-4
_MANY = 1000
_LONGEST_TEXT = 1_000_000
_ABOUT_KEYS = ("test_the_key_is_in_no_error", "test_the_key_is_not_in_repr")
_NOUNS = ("harbour", "invoice", "violin", "glacier", "password", "recipe", "tractor", "ballot", "comet", "ledger")


class EmbeddingProviderContract:
    """Subclass it, override `make_provider`, and pytest checks the rest.

    Override `make_failing_provider` too where a provider uses a key: then the tests that look for the
    key in errors and in `repr` are there as well.
    """

    def make_provider(self) -> EmbeddingProvider:
        """A new provider, ready to embed."""
        raise NotImplementedError(f"{type(self).__name__} must override make_provider")

    def make_failing_provider(self, api_key: str) -> EmbeddingProvider:
        """A provider that has this key and cannot embed: a wrong address, or a server that says no.

        Making it may raise too; the error is looked at in the same way.
        """
        raise NotImplementedError

    @classmethod
    def has_failure_mode(cls) -> bool:
        """Whether `make_failing_provider` was overridden; without it the tests about keys are not generated."""
        return is_overridden(cls, EmbeddingProviderContract, "make_failing_provider")

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        keep_if_overridden(cls, EmbeddingProviderContract, "make_failing_provider", _ABOUT_KEYS)

    # What it is

    def test_it_has_everything_a_provider_has(self) -> None:
        provider = self.make_provider()
        fault = misfit(provider)
        assert fault is None, fault
        for name in ("id", "model"):
            value = getattr(provider, name)
            assert isinstance(value, str), f"{name} must be text, not {value!r}"
            assert value.strip(), f"{name} must not be empty"
        for name in ("dims", "max_input_tokens"):
            value = getattr(provider, name)
            assert isinstance(value, int), f"{name} must be a whole number, not {value!r}"
            assert not isinstance(value, bool), f"{name} must be a whole number, not {value!r}"
            assert value > 0, f"{name} must be positive, not {value}"

    def test_its_limits_of_a_batch_are_whole_numbers(self) -> None:
        """The host would ignore others, and use its own."""
        provider = self.make_provider()
        for name in ("max_batch_items", "max_batch_tokens"):
            value = getattr(provider, name, 1)
            assert isinstance(value, int), f"{name} must be a whole number, not {value!r}"
            assert value > 0, f"{name} must be positive, not {value}"

    # What it gives

    def test_vectors_have_dims_finite_numbers(self) -> None:
        provider = self.make_provider()
        texts = ["a short text", "Another one, with a number: 42.", "x"]
        for text, vector in zip(texts, _embed(provider, texts), strict=True):
            assert _length(vector) > 0, f"{text!r} got a vector of zeros, which can never be found"

    def test_query_and_document_vectors_have_the_same_dims(self) -> None:
        provider = self.make_provider()
        query, document = _embed_query(provider, "what did we decide?"), _embed(provider, ["we decided"])[0]
        assert len(query) == len(document), f"a query gets {len(query)} numbers, a document {len(document)}"

    def test_different_texts_get_different_vectors(self) -> None:
        provider = self.make_provider()
        first, second = _embed(provider, ["the harbour at night", "an unpaid electricity invoice"])
        assert _cosine(first, second) < 1 - _SAME, "two texts with nothing in common got the same vector"

    def test_the_same_text_gets_the_same_vector_again(self) -> None:
        text = "Determinism lets an index be cached."
        provider = self.make_provider()
        first, second, other = (_embed(each, [text])[0] for each in (provider, provider, self.make_provider()))
        assert _cosine(first, second) > 1 - _SAME, "one provider gave two vectors for one text"
        assert _cosine(first, other) > 1 - _SAME, "two providers made alike gave two vectors for one text"

    # Few, many, short, long

    def test_no_texts_give_no_vectors(self) -> None:
        assert len(self.make_provider().embed_documents([])) == 0, "an empty list must give an empty list"

    def test_an_empty_text_gets_a_vector(self) -> None:
        provider = self.make_provider()
        _embed_query(provider, "")
        _embed(provider, ["", "  \n", "text between empty ones", ""])

    def test_one_text_alone_is_the_same_as_in_a_batch(self) -> None:
        provider = self.make_provider()
        texts = ["first of three", "second, a good deal longer than its neighbours are", "third"]
        self._check_same_alone(provider, texts, _embed(provider, texts), range(3))

    def test_a_thousand_texts_keep_their_order(self) -> None:
        provider = self.make_provider()
        texts = [f"{_NOUNS[i % 10]} number {i}, and {'so on, ' * (i % 7)}the end" for i in range(_MANY)]
        vectors = _embed(provider, texts)
        self._check_same_alone(provider, texts, vectors, [0, 1, 99, 256, 511, 512, 777, 998, 999])

    def _check_same_alone(
        self,
        provider: EmbeddingProvider,
        texts: list[str],
        vectors: Sequence[Sequence[float]],
        numbers: Sequence[int],
    ) -> None:
        for i in numbers:
            alone = _embed(provider, [texts[i]])[0]
            likeness = _cosine(alone, vectors[i])
            assert likeness > 1 - _SAME, (
                f"text {i} of {len(texts)} got another vector than alone: cosine {likeness:.5f}"
            )

    def test_a_very_long_text_works(self) -> None:
        """Or is refused by an InputTooLargeError, upon which the host sends it in parts."""
        provider = self.make_provider()
        length = min(provider.max_input_tokens * 8, _LONGEST_TEXT)
        text = ("The minutes of a meeting that did not end. " * (length // 40 + 1))[:length]
        try:
            assert _length(_embed(provider, [text])[0]) > 0, "a very long text got a vector of zeros"
            _embed_query(provider, text)
        except InputTooLargeError:
            return

    # Every writing system

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_unicode(self, script: str) -> None:
        provider = self.make_provider()
        _embed(provider, [SCRIPTS[script]])
        _embed_query(provider, SCRIPTS[script])

    def test_a_lone_surrogate_works_or_is_a_clear_error(self) -> None:
        """It cannot be written as UTF-8, so a provider may refuse it: with a ProviderError or a UnicodeError."""
        provider = self.make_provider()
        for embed in (lambda: _embed(provider, [LONE_SURROGATE]), lambda: _embed_query(provider, LONE_SURROGATE)):
            try:
                embed()
            except (ProviderError, UnicodeError) as error:
                _check_clear(error)

    # Threads

    def test_it_works_from_many_threads_at_once(self) -> None:
        provider = self.make_provider()
        batches = [[f"{noun} {i}" for noun in _NOUNS] for i in range(THREADS)]
        expected = [_embed(self.make_provider(), batch) for batch in batches]
        answers = all_at_once([partial(_embed, provider, batch) for batch in batches])
        for batch, want, got in zip(batches, expected, answers, strict=True):
            for text, a, b in zip(batch, want, got, strict=True):
                assert _cosine(a, b) > 1 - _SAME, f"{text!r} got another vector when {THREADS} threads asked at once"

    # Secrets

    def test_the_key_is_in_no_error(self) -> None:
        text = _failure_of(self, API_KEY)
        assert API_KEY not in text, "the key is in the error's text, its causes or its notes"
        assert API_KEY[3:] not in text, "the key is in the error without its prefix"

    def test_the_key_is_not_in_repr(self) -> None:
        try:
            provider = self.make_failing_provider(API_KEY)
        except Exception:
            return  # there is no object to look at, and the test above looks at the error
        assert API_KEY not in f"{provider!r} {provider!s}", "the key is in repr() or str() of the provider"


def _failure_of(contract: EmbeddingProviderContract, api_key: str) -> str:
    """All that is printed when embedding fails: the error, its causes and its notes."""
    try:
        provider = contract.make_failing_provider(api_key)
        provider.embed_documents(["a text"])
    except Exception as error:
        # Source lines of the stack may hold a key that a test wrote down; the messages may not.
        told, seen = "", error
        while seen is not None:
            told += f"{seen!s} {seen!r} " + "".join(traceback.format_exception_only(seen))
            seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
        return told
    pytest.fail("make_failing_provider gave a provider that can embed, so its errors cannot be looked at")


def _embed(provider: EmbeddingProvider, texts: list[str]) -> Sequence[Sequence[float]]:
    vectors = provider.embed_documents(texts)
    assert len(vectors) == len(texts), f"{len(texts)} texts got {len(vectors)} vectors"
    for vector in vectors:
        _check(provider, vector)
    return vectors


def _embed_query(provider: EmbeddingProvider, text: str) -> Sequence[float]:
    vector = provider.embed_query(text)
    _check(provider, vector)
    return vector


def _check(provider: EmbeddingProvider, vector: Sequence[float]) -> None:
    assert len(vector) == provider.dims, f"a vector has {len(vector)} numbers where dims is {provider.dims}"
    odd = [x for x in vector if not math.isfinite(x)]
    assert not odd, f"a vector holds {odd[0]}"


def _check_clear(error: Exception) -> None:
    assert str(error), f"{type(error).__name__} says nothing"


def _length(vector: Sequence[float]) -> float:
    return math.sqrt(sum(float(x) * float(x) for x in vector))


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """How alike two vectors are; two vectors of zeros are the same."""
    lengths = _length(a) * _length(b)
    if lengths == 0:
        return 1.0 if _length(a) == _length(b) else 0.0
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True)) / lengths
