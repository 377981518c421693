"""The base of remote providers: batching, blank texts, dimensions, response checks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memslot import ProviderError, encodable, provider_key

from memslot_embed_providers.service import Service
from memslot_embed_providers.vectors import Floats, wrong_count, zeros

if TYPE_CHECKING:
    from memslot_embed_providers.http import Api


class RemoteProvider:
    """A remote provider; subclasses implement `_auth_headers` and one request in `_ask`."""

    id = "remote"
    max_input_tokens = 8192
    max_batch_items = 100
    max_batch_tokens = 8000
    query_timeout = 60.0
    batch_timeout = 120.0
    _use_proxies = True

    def __init__(self, service: Service, model: str, *, dimensions: int | None, known_dims: int | None) -> None:
        self.service = service
        self.model = model
        self.dimensions = dimensions
        self._dims = dimensions or known_dims
        self._probe = threading.Lock()
        self._opening = threading.Lock()
        self._opened: Api | None = None

    def _auth_headers(self) -> Mapping[str, str]:
        """The headers that carry the key."""
        raise NotImplementedError

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        """Make one request; returns a vector per text."""
        raise NotImplementedError

    @property
    def _api(self) -> Api:
        """The HTTP client, loaded with the first request: its import takes long."""
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    from memslot_embed_providers.http import Api

                    self._opened = Api(self.service, self._auth_headers(), use_proxies=self._use_proxies)
        return self._opened

    @property
    def key(self) -> str:
        """Identifies comparable vectors; includes the dimensions, if set."""
        model = self.model if self.dimensions is None else f"{self.model}#{self.dimensions}"
        return provider_key(self.id, model, base_url=self.service.address, headers=self.service.headers)

    @property
    def dims(self) -> int:
        """The dimensions; for an unknown model, one request finds out."""
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
        cleaned = [encodable(text) for text in texts]
        # Servers reject blank texts, which have nothing to embed.
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
            raise ProviderError(f"{self.service} returned vectors of {odd} dimensions instead of {self._dims}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model} at {self.service.address}>"
