"""Gemini's embeddings, and its batch jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot import ProviderError, ProviderOptions, encodable

from memslot_embed_providers.gemini import batches
from memslot_embed_providers.remote_provider import RemoteProvider
from memslot_embed_providers.service import describe_service
from memslot_embed_providers.vectors import Floats, read_list, read_vector, room_for

if TYPE_CHECKING:
    from memslot import BatchState

DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"
DEFAULT_MODEL = "gemini-embedding-001"
KNOWN_DIMS = {"gemini-embedding-001": 3072}


class GeminiProvider(RemoteProvider):
    """Embeds texts with Google's Gemini API."""

    id = "gemini"
    max_input_tokens = 2048
    max_batch_items = 100

    def __init__(self, options: ProviderOptions, key_names: tuple[str, ...]) -> None:
        model = (options.model or DEFAULT_MODEL).removeprefix("models/")
        service = describe_service(options, name="Gemini", default_url=DEFAULT_URL, key_names=key_names)
        super().__init__(service, model, dimensions=options.dimensions, known_dims=KNOWN_DIMS.get(model))
        self._url = f"{service.base_url}/models/{model}"

    def _auth_headers(self) -> Mapping[str, str]:
        return {"x-goog-api-key": self.service.key or ""}

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        room = room_for(len(texts))
        if query and len(texts) == 1:
            body = self._request(texts[0], "RETRIEVAL_QUERY")
            answer = self._api.post(f"{self._url}:embedContent", body, seconds=self.query_timeout, room=room)
            return [self._vector(answer.get("embedding") if isinstance(answer, dict) else None)]
        requests = [self._request(text, "RETRIEVAL_DOCUMENT") for text in texts]
        answer = self._api.post(
            f"{self._url}:batchEmbedContents", {"requests": requests}, seconds=self.batch_timeout, room=room
        )
        return [self._vector(row) for row in read_list(self.service, answer, len(texts))]

    def _request(self, text: str, task: str) -> dict[str, Any]:
        request = {"model": f"models/{self.model}", "content": {"parts": [{"text": text}]}, "taskType": task}
        return request if self.dimensions is None else {**request, "outputDimensionality": self.dimensions}

    def _vector(self, row: Any) -> Floats[float]:
        if not isinstance(row, dict):
            raise ProviderError(f"{self.service} returned no vector")
        return read_vector(self.service, row.get("values"))

    # Batch jobs

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        lines = (
            {"key": custom_id, "request": self._request(encodable(text) or " ", "RETRIEVAL_DOCUMENT")}
            for custom_id, text in requests
        )
        file_name = batches.upload(self._api, self.service, lines)
        return batches.start(self._api, self.service, self.model, file_name)

    def poll_batch(self, job_id: str) -> BatchState:
        return batches.state(self._api, self.service, job_id)

    def fetch_batch(self, job_id: str) -> Mapping[str, Floats[float] | str]:
        return batches.results(self._api, self.service, job_id, self._vector)

    def cancel_batch(self, job_id: str) -> None:
        batches.cancel(self._api, self.service, job_id)
