"""One request to a provider: the circuit, the tries, the time-out, and a look at what came back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from memslot.diagnostics import describe_error
from memslot.embeddings.cancellation import LOOK_SECONDS, Stop
from memslot.embeddings.circuit import Circuits
from memslot.embeddings.contract import EmbeddingProvider, key_of
from memslot.embeddings.long_texts import cut, weighted_mean
from memslot.embeddings.retries import RetryPolicy, call_with_retries
from memslot.embeddings.tokens import estimate_tokens
from memslot.embeddings.vectors import unit_rows
from memslot.errors import InputTooLargeError, MemslotError, ProviderBusyError, ProviderError
from memslot.redaction.redact import redact
from memslot.text import one_line
from memslot.threads import call_within

if TYPE_CHECKING:
    from memslot.embeddings.contract import Vector
    from memslot.embeddings.vectors import Matrix

Value = TypeVar("Value")
_SMALLEST_TEXT = 8
"""Tokens. A provider that finds even this too large will not take less."""


class Requests:
    """Asks one provider. Safe to use from several threads; never more than `concurrency` batches at once."""

    def __init__(
        self, provider: EmbeddingProvider, *, concurrency: int, circuits: Circuits, policy: RetryPolicy
    ) -> None:
        self._provider = provider
        self._key = key_of(provider)
        self._places = threading.BoundedSemaphore(concurrency)
        self._circuits = circuits
        self._policy = policy

    def embed_batch(self, texts: Sequence[str], *, seconds: float, stop: Stop) -> Matrix:
        """One row per text, each try within `seconds`. What is too large is sent in smaller pieces."""

        def ask(some: Sequence[str]) -> Sequence[Vector]:
            self._take_place(stop)
            try:
                return call_within(seconds, lambda: self._provider.embed_documents(list(some)), stop.check)
            finally:
                self._places.release()

        return self._embed(texts, ask, stop)

    def embed_query(self, parts: Sequence[str], *, seconds: float, stop: Stop) -> Matrix:
        """One row for each part of a query, all within `seconds`, tries and waits included.

        A search does not queue behind the batches of an index that is being built.
        """

        def ask(some: Sequence[str]) -> Sequence[Vector]:
            return [self._provider.embed_query(part) for part in some]

        try:
            return call_within(seconds, lambda: self._embed(parts, ask, stop), stop.ask)
        except TimeoutError as error:
            raise self._as_ours(error) from None
        finally:
            stop.set("the query is over")  # ends a try that would still come after a wait

    def call(
        self, function: Callable[[], Value], *, seconds: float, stop: Stop, policy: RetryPolicy | None = None
    ) -> Value:
        """Ask for something else than vectors, with the same circuit, tries and errors."""

        def attempt() -> Value:
            stop.check()
            with self._circuits.around(self._key, self._provider.id):
                return call_within(seconds, function, stop.ask)

        return self._guarded(attempt, policy or self._policy)

    def _embed(self, texts: Sequence[str], ask: Callable[[Sequence[str]], Sequence[Vector]], stop: Stop) -> Matrix:
        import numpy

        def attempt() -> Matrix:
            stop.check()
            with self._circuits.around(self._key, self._provider.id):
                return self._checked(ask(texts), len(texts))

        try:
            return self._guarded(attempt, self._policy)
        except InputTooLargeError:
            if len(texts) > 1:
                middle = len(texts) // 2
                halves = [self._embed(half, ask, stop) for half in (texts[:middle], texts[middle:])]
                return numpy.concatenate(halves)
            tokens = estimate_tokens(texts[0])
            if tokens <= _SMALLEST_TEXT:
                raise
            # Its tokenizer counts more than we do: the text is treated as one that is too long.
            parts = [part for part in cut(texts[0], tokens // 2) if part.strip()]
            rows = self._embed(parts, ask, stop)
            mean: Matrix = weighted_mean(rows, [estimate_tokens(part) for part in parts])[numpy.newaxis, :]
            return mean

    def _guarded(self, attempt: Callable[[], Value], policy: RetryPolicy) -> Value:
        try:
            return call_with_retries(attempt, policy)
        except (Exception, SystemExit) as error:
            ours = self._as_ours(error)
        # Raised here and not above, where Python would tie the original to it, with whatever its text gives away.
        raise ours

    def _as_ours(self, error: BaseException) -> MemslotError:
        """The error that callers know, without anything that could hold a key."""
        name = self._provider.id
        if isinstance(error, MemslotError):
            return error
        said = redact(one_line(describe_error(error)))
        if isinstance(error, TimeoutError | ConnectionError):
            return ProviderBusyError(f"{name} does not answer: {said}")
        return ProviderError(f"{name} failed: {said}")

    def _checked(self, vectors: Any, count: int) -> Matrix:
        name = self._provider.id
        try:
            given = len(vectors)
        except TypeError:
            raise ProviderError(f"{name} returned {type(vectors).__name__} where a list of vectors was due") from None
        if given != count:
            raise ProviderError(f"{name} returned {given} vectors for {count} texts")
        return unit_rows(vectors, dims=self._provider.dims, provider=name)

    def _take_place(self, stop: Stop) -> None:
        while not self._places.acquire(timeout=LOOK_SECONDS):
            stop.check()
