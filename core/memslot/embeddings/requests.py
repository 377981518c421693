"""One request to a provider: circuit breaker, retries, time-out and validation of the response."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from memslot.diagnostics import describe_error
from memslot.embeddings.cancellation import LOOK_SECONDS, StopToken
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
_MIN_TEXT_TOKENS = 8
"""In tokens. A provider that rejects even this as too large won't accept less."""


class Requests:
    """Sends requests to one provider. Thread-safe; at most `concurrency` batches at once."""

    def __init__(
        self, provider: EmbeddingProvider, *, concurrency: int, circuits: Circuits, policy: RetryPolicy
    ) -> None:
        self._provider = provider
        self._key = key_of(provider)
        self._slots = threading.BoundedSemaphore(concurrency)
        self._circuits = circuits
        self._policy = policy

    def embed_batch(self, texts: Sequence[str], *, seconds: float, stop: StopToken) -> Matrix:
        """Return one row per text, each attempt within `seconds`. Oversized input is split."""

        def ask(some: Sequence[str]) -> Sequence[Vector]:
            self._take_slot(stop)
            try:
                return call_within(seconds, lambda: self._provider.embed_documents(list(some)), stop.check)
            finally:
                self._slots.release()

        return self._embed(texts, ask, stop)

    def embed_query(self, parts: Sequence[str], *, seconds: float, stop: StopToken) -> Matrix:
        """Return one row per part of a query, all within `seconds`, retries and waits included.

        Skips the concurrency limit: a search must not queue behind an index build.
        """

        def ask(some: Sequence[str]) -> Sequence[Vector]:
            return [self._provider.embed_query(part) for part in some]

        try:
            return call_within(seconds, lambda: self._embed(parts, ask, stop), stop.ask)
        except TimeoutError as error:
            raise self._as_ours(error) from None
        finally:
            stop.set("the query is over")  # prevents a retry that is still waiting

    def call(
        self, function: Callable[[], Value], *, seconds: float, stop: StopToken, policy: RetryPolicy | None = None
    ) -> Value:
        """Make a call that doesn't return vectors, with the same circuit, retries and errors."""

        def attempt() -> Value:
            stop.check()
            with self._circuits.around(self._key, self._provider.id):
                return call_within(seconds, function, stop.ask)

        return self._guarded(attempt, policy or self._policy)

    def _embed(self, texts: Sequence[str], ask: Callable[[Sequence[str]], Sequence[Vector]], stop: StopToken) -> Matrix:
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
            if tokens <= _MIN_TEXT_TOKENS:
                raise
            # The provider's tokenizer counts more tokens than our estimate: split the text further.
            parts = [part for part in cut(texts[0], tokens // 2) if part.strip()]
            rows = self._embed(parts, ask, stop)
            mean: Matrix = weighted_mean(rows, [estimate_tokens(part) for part in parts])[numpy.newaxis, :]
            return mean

    def _guarded(self, attempt: Callable[[], Value], policy: RetryPolicy) -> Value:
        try:
            return call_with_retries(attempt, policy)
        except (Exception, SystemExit) as error:
            ours = self._as_ours(error)
        # Outside the except block: Python would chain the original, whose text may contain a key.
        raise ours

    def _as_ours(self, error: BaseException) -> MemslotError:
        """Convert an error to one of ours, with secrets redacted."""
        name = self._provider.id
        if isinstance(error, MemslotError):
            return error
        message = redact(one_line(describe_error(error)))
        if isinstance(error, TimeoutError | ConnectionError):
            return ProviderBusyError(f"{name} does not answer: {message}")
        return ProviderError(f"{name} failed: {message}")

    def _checked(self, vectors: Any, count: int) -> Matrix:
        name = self._provider.id
        try:
            given = len(vectors)
        except TypeError:
            raise ProviderError(f"{name} returned {type(vectors).__name__} instead of a list of vectors") from None
        if given != count:
            raise ProviderError(f"{name} returned {given} vectors for {count} texts")
        return unit_rows(vectors, dims=self._provider.dims, provider=name)

    def _take_slot(self, stop: StopToken) -> None:
        while not self._slots.acquire(timeout=LOOK_SECONDS):
            stop.check()
