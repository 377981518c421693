"""Background vectors of the embedder: everyday texts that show how similar unrelated texts are to it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import (
    EmbeddingCancelledError,
    MemslotError,
    ProviderBusyError,
    ProviderError,
    ProviderRefusedError,
    write_file,
)

from memslot_memory_lancedb.embedding.embedder import Embedder
from memslot_memory_lancedb.embedding.identity import Identity

if TYPE_CHECKING:
    from memslot.retrieval import Background

    from memslot_memory_lancedb.store.schema import Vector

_MOST_FAILURES = 24
"""Failed requests before giving up on a provider; bisecting 512 texts for a bad one takes ten."""


class Backgrounds:
    """Embeds the background once per embedder and caches it in a file. Thread-safe."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: tuple[str, Background] | None = None

    def get(
        self, identity: Identity, seconds: float | None = None, cancelled: threading.Event | None = None
    ) -> Background | None:
        """The background; None if the embedder fails or takes longer than `seconds`."""
        known = self.known(identity)
        if known is not None:
            return known
        # Another thread may have embedded it meanwhile.
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return None
        fault = self._embedder.fault
        try:
            return self.known(identity) or self._embed(identity, seconds, cancelled)
        except MemslotError as error:
            if isinstance(error.__cause__, EmbeddingCancelledError):
                # Hundreds of texts take longer than a query's timeout, which is no failure.
                self._embedder.fault = fault
            return None
        finally:
            self._lock.release()

    def known(self, identity: Identity) -> Background | None:
        """The background if it is cached, in memory or on disk."""
        if self._kept is not None and self._kept[0] == identity.digest:
            return self._kept[1]
        from memslot.retrieval import Background

        try:
            background = Background.from_bytes(self._file(identity).read_bytes(), identity.dims)
        except (OSError, ValueError):
            return None
        if background is not None:
            self._kept = (identity.digest, background)
        return background

    def _embed(self, identity: Identity, seconds: float | None, cancelled: threading.Event | None) -> Background | None:
        import numpy
        from memslot.retrieval import Background, background_texts

        vectors = self._vectors(background_texts(), seconds, cancelled)
        blank = numpy.zeros(identity.dims, dtype=numpy.float32)
        rows = [vectors.get(text) for text in background_texts()]
        background = Background.from_vectors([blank if each is None else each for each in rows])
        if not len(background.statements) or not len(background.questions):
            return None
        self._kept = (identity.digest, background)
        with contextlib.suppress(OSError):  # then the next process embeds it again
            write_file(self._file(identity), background.to_bytes(), mode=0o600)
        return background

    def _vectors(
        self, texts: Sequence[str], seconds: float | None, cancelled: threading.Event | None
    ) -> dict[str, Vector | None]:
        """Vectors of the texts, without those the provider refuses, found by bisection."""
        until = None if seconds is None else time.monotonic() + seconds
        found: dict[str, Vector | None] = {}
        waiting, failures = [texts], 0
        while waiting:
            some = waiting.pop()
            left = None if until is None else max(0.0, until - time.monotonic())
            try:
                found |= zip(some, self._embedder.embed_documents(some, seconds=left, cancelled=cancelled), strict=True)
            except MemslotError as error:
                failures += 1
                if failures >= _MOST_FAILURES or not _may_be_one_text(error.__cause__):
                    raise
                if len(some) > 1:
                    waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
        if failures:
            self._embedder.fault = None
        return found

    def _file(self, identity: Identity) -> Path:
        return self._folder / f"background-{identity.digest}.bin"


def _may_be_one_text(error: BaseException | None) -> bool:
    """Whether the error may be due to a single text."""
    return isinstance(error, ProviderError) and not isinstance(error, ProviderBusyError | ProviderRefusedError)
