"""Embeds many texts: each once, from the cache if possible, in large batches, several at once."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot.embeddings.cache import CacheKey, EmbeddingCache, text_hash
from memslot.embeddings.cancellation import StopToken
from memslot.embeddings.circuit import Circuits, circuits
from memslot.embeddings.contract import EmbeddingProvider, batch_items_of, batch_tokens_of, key_of, timeouts_of
from memslot.embeddings.long_texts import weighted_mean
from memslot.embeddings.pieces import Assembly, Piece, batches, split
from memslot.embeddings.requests import Requests
from memslot.embeddings.retries import RetryPolicy
from memslot.embeddings.vectors import is_zero
from memslot.embeddings.workers import run_jobs
from memslot.errors import EmbeddingCancelledError
from memslot.text import encodable

if TYPE_CHECKING:
    from memslot.embeddings.query_rows import QueryRows
    from memslot.embeddings.vectors import Matrix, Row

Progress = Callable[[int, int], None]
"""Called with the number of texts done, and the total."""
Cancelled = threading.Event | Callable[[], bool]
"""An event that is set, or a function that returns true, once the work should stop."""

logger = logging.getLogger("memslot.embeddings")
_MAX_QUERY_PARTS = 4
_KEYS_AT_ONCE = 1000


class EmbeddingPipeline:
    """Embeds texts with one provider. Thread-safe.

    Limits default to the provider's own, else to 8,000 tokens and 120 s for a batch and 60 s for a query.
    The provider is not closed with the pipeline: it may serve another one.
    """

    def __init__(
        self,
        provider: EmbeddingProvider,
        *,
        cache: EmbeddingCache | None = None,
        concurrency: int = 4,
        batch_tokens: int | None = None,
        query_timeout: float | None = None,
        batch_timeout: float | None = None,
        circuits: Circuits = circuits,
        query_rows: QueryRows | None = None,
        retries: RetryPolicy = RetryPolicy(),  # noqa: B008  it is frozen
    ) -> None:
        advised_query, advised_batch = timeouts_of(provider)
        self.provider = provider
        self.cache = cache
        self.batch_timeout = batch_timeout or advised_batch
        self._query_timeout = query_timeout or advised_query
        self._concurrency = max(1, concurrency)
        self._batch_tokens = max(1, batch_tokens_of(provider) if batch_tokens is None else batch_tokens)
        self.requests = Requests(provider, concurrency=self._concurrency, circuits=circuits, policy=retries)
        self._key = key_of(provider)
        self._query_rows = query_rows
        self._stops: weakref.WeakSet[StopToken] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        self._cache_failed = False

    def embed_documents(
        self,
        texts: Iterable[str],
        *,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
        known: Mapping[CacheKey, Row] | None = None,
    ) -> Matrix:
        """Return one unit-length row per text, in order; a blank text gets a zero row and is not sent.

        Duplicates, and texts in the cache or in `known`, are not embedded again. Every finished batch is
        cached at once, so a failed call can be repeated and resumes where it ended. Raises a
        ProviderError, or an EmbeddingCancelledError within a second of being cancelled.
        """
        import numpy

        stop = self.stop_token(cancelled)
        wanted = sendable_texts(texts)
        numbers: dict[str, int] = {}
        order = [numbers.setdefault(text, len(numbers)) for text in wanted]
        rows: Matrix = numpy.zeros((len(numbers), self.provider.dims), dtype=numpy.float32)
        tally = _ProgressCounter(order, progress)

        keys = [self.cache_key(text) for text in numbers] if known or self.cache is not None else []
        found = self.find_rows(keys, known)
        there = [key in found for key in keys] or [False] * len(numbers)
        for number, key in enumerate(keys):
            if there[number]:
                rows[number] = found[key]
        pieces = [piece for text, n in numbers.items() if not there[n] for piece in self._split(n, text)]
        tally.add(set(numbers.values()) - {piece.owner for piece in pieces})

        def embed(batch: Sequence[Piece]) -> Matrix:
            texts = [piece.text for piece in batch]
            return self.requests.embed_batch(texts, seconds=self.batch_timeout, stop=stop)

        assembly = Assembly(pieces)
        try:
            for batch, made in run_jobs(self._batches(pieces), embed, workers=self._concurrency, stop=stop):
                complete = dict(assembly.add(batch, made))
                for number, row in complete.items():
                    rows[number] = row
                if keys:
                    self.keep_rows({keys[number]: row for number, row in complete.items()})
                tally.add(complete)
        finally:
            stop.set("the work is over")  # also when `progress` raises, while threads are busy
        return rows if len(order) == len(numbers) else rows[order]

    def embed_query(self, text: str, *, cancelled: Cancelled | None = None) -> Row:
        """Return a query's unit-length row; check `is_zero` before comparing it with anything."""
        stop = self.stop_token(cancelled)
        stop.ask()
        text = sendable_texts([text])[0]
        if self._query_rows is None:
            return self._embed_query(text, stop)
        return self._query_rows.get(self.cache_key(text), lambda: self._embed_query(text, stop), stop)

    def _embed_query(self, text: str, stop: StopToken) -> Row:
        import numpy

        pieces = self._split(0, text, _MAX_QUERY_PARTS)
        if not pieces:
            nothing: Row = numpy.zeros(self.provider.dims, dtype=numpy.float32)
            return nothing
        made = self.requests.embed_query([piece.text for piece in pieces], seconds=self._query_timeout, stop=stop)
        row: Row = made[0]
        return row if len(pieces) == 1 else weighted_mean(made, [piece.tokens for piece in pieces])

    @staticmethod
    def is_zero(row: Row) -> bool:
        """Whether a row is all zeros. It must not be compared: search by keywords, and say so."""
        return is_zero(row)

    def close(self) -> None:
        """End running calls with an EmbeddingCancelledError and refuse new ones. Idempotent."""
        with self._lock:
            self._closed = True
            stops = list(self._stops)
        for stop in stops:
            stop.set("the embedding pipeline was closed")

    def stop_token(self, cancelled: Cancelled | None) -> StopToken:
        """Return the cancellation token of one call; `close` sets it as well."""
        stop = StopToken(cancelled)
        with self._lock:
            if self._closed:
                raise EmbeddingCancelledError("the embedding pipeline was closed")
            self._stops.add(stop)
        return stop

    def cache_key(self, text: str) -> CacheKey:
        """Return the cache key of a text."""
        return CacheKey(self.provider.id, self.provider.model, self._key, text_hash(text))

    def find_rows(self, keys: Sequence[CacheKey], known: Mapping[CacheKey, Row] | None = None) -> dict[CacheKey, Row]:
        """Return the rows that need not be embedded: those given, and cached ones that still fit."""
        found = {key: known[key] for key in keys if key in known} if known else {}
        left = [key for key in keys if key not in found]
        if self.cache is None:
            return found
        for start in range(0, len(left), _KEYS_AT_ONCE):
            try:
                cached = self.cache.get_many(left[start : start + _KEYS_AT_ONCE])
            except Exception as error:
                self._report_cache(error)
                break
            # A provider whose model changed under the same name has vectors of another length.
            found.update((key, row) for key, row in cached.items() if len(row) == self.provider.dims)
        return found

    def keep_rows(self, rows: Mapping[CacheKey, Row]) -> None:
        """Cache rows, except zero rows, which may be a transient fault of the provider."""
        worth = {key: row for key, row in rows.items() if not is_zero(row)}
        if self.cache is None or not worth:
            return
        try:
            self.cache.put_many(worth)
        except Exception as error:
            self._report_cache(error)

    def _report_cache(self, error: Exception) -> None:
        """Log a failing cache once: it makes things slower, not wrong."""
        if not self._cache_failed:
            self._cache_failed = True
            logger.warning("the embedding cache does not work, so texts are embedded again: %s", error)

    def _split(self, number: int, text: str, *max_parts: int) -> list[Piece]:
        return split(number, text, self.provider.max_input_tokens, *max_parts)

    def _batches(self, pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
        limits = {"max_tokens": self._batch_tokens, "max_items": batch_items_of(self.provider)}
        return [pieces[r.start : r.stop] for r in batches([piece.tokens for piece in pieces], **limits)]


class _ProgressCounter:
    """Counts finished texts, duplicates included, and reports progress."""

    def __init__(self, order: Sequence[int], progress: Progress | None) -> None:
        self._progress = progress
        self._total = len(order)
        self._done = 0
        self._times: dict[int, int] = {}
        for number in order:
            self._times[number] = self._times.get(number, 0) + 1

    def add(self, numbers: Iterable[int]) -> None:
        self._done += sum(self._times[number] for number in numbers)
        if self._progress is not None:
            self._progress(self._done, self._total)


def sendable_texts(texts: Iterable[Any]) -> list[str]:
    """Return texts that can be encoded as UTF-8: lone surrogates become replacement characters."""
    if isinstance(texts, str | bytes):
        raise TypeError("expected a list of texts, got a single string")
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"expected str, got {type(text).__name__}")
    return [encodable(text) for text in listed]
