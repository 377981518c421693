"""The embedding of one indexing pass: vectors from the cache or the provider, until the provider fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import apsw
from memslot import EmbeddingCancelledError, ProviderError, VectorSizeError

from memslot_memory_core.index.embeddings import (
    Embedder,
    EmbeddingStore,
    RefusedTextError,
    background_of,
    compact_space,
    embed_background,
    embed_missing,
    record_use,
    space_number,
    vector_ids,
)
from memslot_memory_core.index.file_writer import Piece
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import forget_wrong_size, record_wrong_size, wrong_size
from memslot_memory_core.index.schema import transaction

if TYPE_CHECKING:
    from memslot.retrieval import Background

_Made = TypeVar("_Made")


class EmbeddingRun:
    """Embeds the texts of one generation. After a provider error only cached vectors are found."""

    def __init__(
        self,
        db: apsw.Connection,
        identity: Identity,
        embedder: Embedder | None,
        store: EmbeddingStore,
        cancelled: Callable[[], bool],
        *,
        retry: bool,
    ) -> None:
        """`retry` calls a provider again whose vectors had the wrong size."""
        self._db = db
        self._identity = identity
        self._store = store
        self._cancelled = cancelled
        self._background: Background | None = None
        refusal = wrong_size(db, identity) if embedder is not None and not retry else None
        self.embedder = embedder if refusal is None else None
        self.stopped: Literal["time", "outage"] | None = "outage" if refusal else None
        """Why embedding stopped early, if it did."""
        self.problems = [f"embedding stopped: {refusal}"] if refusal else []
        self.embedded = 0

    @contextmanager
    def from_cache_only(self) -> Iterator[None]:
        """Within this context the provider is not called."""
        embedder, self.embedder = self.embedder, None
        try:
            yield
        finally:
            self.embedder = embedder

    def embed(self, pieces: Sequence[Piece]) -> dict[bytes, int]:
        """Embedding ids of these texts by hash, cached or new."""
        if self._identity.space is None:
            return {}
        return self._embed_texts({piece.hash: piece.text for piece in pieces}, self._identity.space)

    def embed_parts(self, pieces: Sequence[Piece]) -> dict[bytes, int]:
        """Embedding ids of these texts' parts by hash."""
        if self._identity.space is None:
            return {}
        texts = {part: text for piece in pieces for part, text in piece.parts.items()}
        with self._store.compact():
            return self._embed_texts(texts, compact_space(self._identity.space))

    def background(self) -> Background | None:
        """The vectors that calibrate scores and center the bits of parts, embedded if necessary and possible."""
        if self._background is None and self._identity.space is not None:
            self._background = background_of(self._db, self._identity)
            if self._background is None and self.embedder is not None:
                self._background = self._try(
                    partial(embed_background, self.embedder, self._store, self._db, self._identity, self._cancelled)
                )
        return self._background

    def _embed_texts(self, texts: Mapping[bytes, str], space_key: tuple[str, str, str]) -> dict[bytes, int]:
        if not texts:
            return {}
        with transaction(self._db):
            space = space_number(self._db, *space_key)
            found = vector_ids(self._db, space, list(texts))
            record_use(self._db, found.values())
        missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in found}
        if not missing or self.embedder is None:
            return found
        self._try(partial(self._make, self.embedder, space, missing))
        made = vector_ids(self._db, space, list(missing))
        self.embedded += len(made)
        return {**found, **made}

    def _make(self, embedder: Embedder, space: int, missing: Mapping[bytes, str]) -> None:
        embed_missing(embedder, self._db, space, missing, self._cancelled)
        forget_wrong_size(self._db)

    def _try(self, embed: Callable[[], _Made]) -> _Made | None:
        """Embed something; after a provider error embedding stops, and the rest is indexed by keywords."""
        try:
            return embed()
        except EmbeddingCancelledError:
            self.embedder, self.stopped = None, "time"
        except RefusedTextError as error:
            self.problems.append(str(error))
        except ProviderError as error:
            if isinstance(error, VectorSizeError):
                record_wrong_size(self._db, self._identity, str(error))
            self.embedder, self.stopped = None, "outage"
            self.problems.append(f"embedding stopped: {error}")
        return None
