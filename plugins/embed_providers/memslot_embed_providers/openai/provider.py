"""OpenAI's embeddings, and its batch jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot import ProviderOptions

from memslot_embed_providers.batch_files import write_requests
from memslot_embed_providers.batch_job import checked_name, id_of, results_of, state_of
from memslot_embed_providers.remote_provider import RemoteProvider, sendable
from memslot_embed_providers.service import describe_service
from memslot_embed_providers.vectors import Floats, read_rows, room_for

if TYPE_CHECKING:
    from memslot import BatchState

DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
KNOWN_DIMS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
FILE_SECONDS = 600.0
MAX_FILE_BYTES = 200_000_000
BATCH_TOKENS = 32_000
"""OpenAI allows 300,000, but every finished request is progress that a crash does not lose."""


class OpenAIProvider(RemoteProvider):
    """Embeds texts with OpenAI's API or a compatible server."""

    id = "openai"
    max_input_tokens = 8191
    max_batch_items = 2048

    def __init__(self, options: ProviderOptions, key_names: tuple[str, ...]) -> None:
        model = options.model or DEFAULT_MODEL
        service = describe_service(options, name="OpenAI", default_url=DEFAULT_URL, key_names=key_names)
        super().__init__(service, model, dimensions=options.dimensions, known_dims=KNOWN_DIMS.get(model))
        if service.base_url == DEFAULT_URL:  # a self-hosted server may need minutes for that many
            self.max_batch_tokens = BATCH_TOKENS

    def _auth_headers(self) -> Mapping[str, str]:
        # Some self-hosted servers check that there is a key, but not which.
        return {"Authorization": f"Bearer {self.service.key or 'none'}"}

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        answer = self._api.post(
            f"{self.service.base_url}/embeddings",
            {"input": texts, **self._settings()},
            seconds=self.query_seconds if query else self.batch_seconds,
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
        with write_requests(self.service, self._lines(requests), max_bytes=MAX_FILE_BYTES) as file:
            uploaded = self._api.call(
                "POST",
                f"{self.service.base_url}/files",
                seconds=FILE_SECONDS,
                data={"purpose": "batch"},
                files={"file": ("memslot.jsonl", file, "application/jsonl")},
            )
        body = {
            "input_file_id": id_of(self.service, uploaded),
            "endpoint": "/v1/embeddings",
            "completion_window": "24h",
        }
        return id_of(self.service, self._api.post(self._place("batches"), body, seconds=self.batch_seconds))

    def poll_batch(self, job_id: str) -> BatchState:
        return state_of(self.service, self._job(job_id))

    def fetch_batch(self, job_id: str) -> Mapping[str, Floats[float] | str]:
        return results_of(self.service, self._job(job_id), self._download)

    def cancel_batch(self, job_id: str) -> None:
        self._api.post(f"{self._place('batches', job_id)}/cancel", {}, seconds=self.batch_seconds)

    def _job(self, job_id: str) -> Any:
        return self._api.get(self._place("batches", job_id), seconds=self.query_seconds)

    def _download(self, file_id: str) -> Iterator[str]:
        return self._api.lines(f"{self._place('files', file_id)}/content", seconds=FILE_SECONDS)

    def _place(self, *steps: str) -> str:
        return "/".join((self.service.base_url, *(checked_name(self.service, step) for step in steps)))

    def _lines(self, requests: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        for custom_id, text in requests:
            body = {"input": sendable(text) or " ", **self._settings()}
            yield {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": body}
