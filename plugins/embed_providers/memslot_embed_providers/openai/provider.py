"""OpenAI's embeddings and batch jobs, through its own SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot import ProviderOptions

from memslot_embed_providers.batch_job import checked_name, id_of, results_of, state_of
from memslot_embed_providers.http import room_for
from memslot_embed_providers.jsonl import written
from memslot_embed_providers.openai.sdk import Sdk
from memslot_embed_providers.remote import RemoteProvider, sendable
from memslot_embed_providers.service import describe_service
from memslot_embed_providers.vectors import Floats, read_rows

if TYPE_CHECKING:
    from memslot import BatchState

DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
KNOWN_DIMS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
FILE_SECONDS = 600.0
MAX_FILE_BYTES = 200_000_000


class OpenAIProvider(RemoteProvider):
    """Texts to OpenAI's API, or to any server that speaks it."""

    id = "openai"
    max_input_tokens = 8191
    max_batch_items = 2048

    def __init__(self, options: ProviderOptions, key_names: tuple[str, ...]) -> None:
        model = options.model or DEFAULT_MODEL
        service = describe_service(options, name="OpenAI", default_url=DEFAULT_URL, key_names=key_names)
        super().__init__(service, model, dimensions=options.dimensions, known_dims=KNOWN_DIMS.get(model))
        self._sdk = Sdk(service)

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        seconds = self.query_seconds if query else self.batch_seconds
        answer = self._sdk.json(
            lambda sdk: sdk.embeddings.with_streaming_response.create(input=texts, **self._settings()),
            seconds=seconds,
            room=room_for(len(texts)),
        )
        return read_rows(self.service, answer, len(texts))

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self.model, "encoding_format": "base64"}
        if self.dimensions is not None:
            settings["dimensions"] = self.dimensions
        return settings

    # Batch jobs

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        with written(self.service, self._lines(requests), max_bytes=MAX_FILE_BYTES) as file:
            upload = ("memslot.jsonl", file, "application/jsonl")
            uploaded = self._sdk.json(
                lambda sdk: sdk.files.with_streaming_response.create(file=upload, purpose="batch"),
                seconds=FILE_SECONDS,
            )
        name = id_of(self.service, uploaded)
        job = self._sdk.json(
            lambda sdk: sdk.batches.with_streaming_response.create(
                input_file_id=name, endpoint="/v1/embeddings", completion_window="24h"
            ),
            seconds=self.batch_seconds,
        )
        return id_of(self.service, job)

    def poll_batch(self, job_id: str) -> BatchState:
        return state_of(self.service, self._job(job_id))

    def fetch_batch(self, job_id: str) -> Mapping[str, Floats[float] | str]:
        return results_of(self.service, self._job(job_id), self._download)

    def cancel_batch(self, job_id: str) -> None:
        name = checked_name(self.service, job_id)
        self._sdk.json(lambda sdk: sdk.batches.with_streaming_response.cancel(name), seconds=self.batch_seconds)

    def _job(self, job_id: str) -> Any:
        name = checked_name(self.service, job_id)
        return self._sdk.json(
            lambda sdk: sdk.batches.with_streaming_response.retrieve(name), seconds=self.query_seconds
        )

    def _download(self, file_id: str) -> Iterator[str]:
        name = checked_name(self.service, file_id)
        return self._sdk.lines(lambda sdk: sdk.files.with_streaming_response.content(name), seconds=FILE_SECONDS)

    def _lines(self, requests: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        for custom_id, text in requests:
            body = {"input": sendable(text) or " ", **self._settings()}
            yield {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": body}
