"""OpenAI's embeddings and batch jobs, through its SDK. It imports the SDK, so import it late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx2
import openai
from memslot import ProviderError, ProviderOptions, one_line

from memslot_embed_providers.batch_files import write_requests
from memslot_embed_providers.batch_job import checked_name, id_of, results_of, state_of
from memslot_embed_providers.error_mapping import error_for_response
from memslot_embed_providers.http import BoundedClient, Reply, error_for_transport, limits, read_json, room_for
from memslot_embed_providers.remote_provider import RemoteProvider, sendable
from memslot_embed_providers.service import Service, describe_service
from memslot_embed_providers.vectors import Floats, read_rows

if TYPE_CHECKING:
    from memslot import BatchState

_NO_KEY = "none"  # the SDK requires one; a server without keys ignores it
_SMALL_BYTES = 1024 * 1024


class Sdk:
    """Calls that return JSON or lines; no retries, no redirects, no vector parsing by the SDK."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = openai.OpenAI(
            api_key=service.key or _NO_KEY,
            base_url=service.base_url,
            default_headers=dict(service.headers),
            max_retries=0,  # the host retries, and knows for how long
            http_client=BoundedClient(),
        )

    def json(self, opener: Callable[[openai.OpenAI], Any], *, seconds: float, room: int = _SMALL_BYTES) -> Any:
        """Make a call and parse its response."""
        with self._open(opener, seconds) as reply:
            return read_json(self._service, reply.headers, reply.read(room))

    def lines(self, opener: Callable[[openai.OpenAI], Any], *, seconds: float) -> Iterator[str]:
        """Make a call and stream its response by line."""
        with self._open(opener, seconds) as reply:
            yield from reply.lines()

    def _open(self, opener: Callable[[openai.OpenAI], Any], seconds: float) -> Reply:
        outcome: Any
        try:
            outcome = opener(self._client.with_options(timeout=limits(seconds))).__enter__()
        except openai.APIStatusError as error:
            answer = error.response
            outcome = error_for_response(self._service, answer.status_code, answer.headers, answer.text)
        except openai.APIConnectionError as error:
            outcome = error_for_transport(self._service, error.__cause__ or httpx2.ReadTimeout("no answer"))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            outcome = error_for_transport(self._service, error)
        except openai.OpenAIError as error:
            told = self._service.hide(one_line(str(error)))
            outcome = ProviderError(f"{self._service} cannot be asked: {told}")
        # Raised outside the handler, so that the SDK's error, which may contain a key, is not its context.
        if isinstance(outcome, ProviderError):
            raise outcome
        return Reply(self._service, outcome.headers, outcome)


DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
KNOWN_DIMS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
FILE_SECONDS = 600.0
MAX_FILE_BYTES = 200_000_000


class OpenAIProvider(RemoteProvider):
    """Embeds texts with OpenAI's API or a compatible server."""

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
        with write_requests(self.service, self._lines(requests), max_bytes=MAX_FILE_BYTES) as file:
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
