"""Embeddings of an Ollama server."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from memslot import ProviderBusyError, ProviderError, ProviderOptions, ProviderRefusedError

from memslot_embed_providers.ollama import server_address
from memslot_embed_providers.remote_provider import RemoteProvider
from memslot_embed_providers.service import describe_service, is_loopback
from memslot_embed_providers.vectors import Floats, read_list, read_vector, room_for


class OllamaProvider(RemoteProvider):
    """Embeds texts with an Ollama server; no key, and no documented batch limit."""

    id = "ollama"
    max_input_tokens = 2048
    max_batch_items = 64
    # The first request may wait for the model to load from disk.
    query_timeout = 300.0
    batch_timeout = 600.0

    def __init__(self, options: ProviderOptions) -> None:
        address = server_address(options.base_url, options.env)
        service = describe_service(dataclasses.replace(options, base_url=address), name="Ollama", default_url=address)
        super().__init__(service, options.model or "", dimensions=options.dimensions, known_dims=None)

        # Local traffic must not go through a configured proxy.
        self._use_proxies = not is_loopback(service.base_url)

    def _auth_headers(self) -> Mapping[str, str]:
        # Ollama itself asks for no key; a gateway in front of it may.
        return {"Authorization": f"Bearer {self.service.key}"} if self.service.key else {}

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": True}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        failure: ProviderError | None = None
        try:
            answer = self._api.post(
                f"{self.service.base_url}/api/embed",
                body,
                seconds=self.query_timeout if query else self.batch_timeout,
                room=room_for(len(texts)),
            )
        except ProviderRefusedError as error:
            failure = self._explain(error)
        except ProviderBusyError as error:
            failure = self._explain_no_answer(error)
        if failure is not None:
            raise failure
        rows = read_list(self.service, answer, len(texts))
        return [read_vector(self.service, row) for row in rows]

    def _explain(self, error: ProviderRefusedError) -> ProviderRefusedError:
        if "does not know the model" not in str(error):
            return error
        return ProviderRefusedError(f"{self.service} has no model {self.model}; get it with: ollama pull {self.model}")

    def _explain_no_answer(self, error: ProviderBusyError) -> ProviderBusyError:
        if "cannot be reached" not in str(error):
            return error
        return ProviderBusyError(f"{error}; start it with: ollama serve", retry_after=error.retry_after)
