"""What all remote providers do alike: split, leave out what is blank, learn the dimensions, check the answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from memslot import ProviderError, provider_key

from memslot_embed_providers.service import Service
from memslot_embed_providers.vectors import Floats, wrong_count, zeros


class RemoteProvider:
    """A provider behind a network; a subclass says how one request is made, in `_ask`."""

    id = "remote"
    max_input_tokens = 8192
    max_batch_items = 100
    query_seconds = 60.0
    batch_seconds = 120.0

    def __init__(self, service: Service, model: str, *, dimensions: int | None, known_dims: int | None) -> None:
        self.service = service
        self.model = model
        self.dimensions = dimensions
        self._dims = dimensions or known_dims
        self._probe = threading.Lock()

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        """One request: a vector for each text."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """Tells vectors that cannot be compared apart; a shorter vector of the same model is one of those."""
        model = self.model if self.dimensions is None else f"{self.model}#{self.dimensions}"
        return provider_key(self.id, model, base_url=self.service.address, headers=self.service.headers)

    @property
    def dims(self) -> int:
        """How many numbers a vector has; for a model we do not know, one request finds out."""
        if self._dims is None:
            with self._probe:
                if self._dims is None:
                    self._dims = len(self._ask(["dimensions"], query=False)[0])
        return self._dims

    def embed_query(self, text: str) -> Floats[float]:
        return self._embed([text], query=True)[0]

    def embed_documents(self, texts: Sequence[str]) -> list[Floats[float]]:
        return self._embed(texts, query=False)

    def _embed(self, texts: Sequence[str], *, query: bool) -> list[Floats[float]]:
        cleaned = [sendable(text) for text in texts]
        # Servers refuse blank texts, and there is nothing in them to find.
        full = [i for i, text in enumerate(cleaned) if text.strip()]
        found: dict[int, Floats[float]] = {}
        for start in range(0, len(full), self.max_batch_items):
            part = full[start : start + self.max_batch_items]
            rows = self._ask([cleaned[i] for i in part], query=query)
            self._check(rows, len(part))
            found.update(zip(part, rows, strict=True))
        return [found[i] if i in found else zeros(self.dims) for i in range(len(cleaned))]

    def _check(self, rows: list[Floats[float]], count: int) -> None:
        if len(rows) != count:
            raise wrong_count(self.service, len(rows), count)
        if self._dims is None:
            self._dims = len(rows[0])
        odd = next((len(row) for row in rows if len(row) != self._dims), None)
        if odd is not None:
            raise ProviderError(f"{self.service} gave vectors of {odd} dimensions where {self._dims} were due")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model} at {self.service.address}>"


def sendable(text: str) -> str:
    """The text as UTF-8 can carry it: half of a surrogate pair becomes a replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
