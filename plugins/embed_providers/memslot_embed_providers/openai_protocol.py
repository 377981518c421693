"""The embeddings and the batch jobs of OpenAI's API, which Voyage copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from memslot import ProviderOptions

from memslot_embed_providers.batch_files import write_requests
from memslot_embed_providers.batch_job import checked_name, id_of, results_of, state_of
from memslot_embed_providers.remote_provider import RemoteProvider
from memslot_embed_providers.service import describe_service
from memslot_embed_providers.vectors import Floats, read_rows, room_for

if TYPE_CHECKING:
    from memslot import BatchState

FILE_SECONDS = 600.0
BATCH_TOKENS = 32_000
"""The services allow more, but every finished request is progress that a crash does not lose."""


class OpenAIProtocol(RemoteProvider):
    """A provider with OpenAI's protocol; subclasses fill in what differs."""

    name: ClassVar[str]
    default_url: ClassVar[str]
    default_model: ClassVar[str]
    known_dims: ClassVar[Mapping[str, int]]
    max_file_bytes: ClassVar[int]

    def __init__(self, options: ProviderOptions, key_names: tuple[str, ...]) -> None:
        model = options.model or self.default_model
        service = describe_service(options, name=self.name, default_url=self.default_url, key_names=key_names)
        super().__init__(service, model, dimensions=options.dimensions, known_dims=self.known_dims.get(model))
        if service.base_url == self.default_url:  # a self-hosted server may need minutes for that many
            self.max_batch_tokens = BATCH_TOKENS

    def _settings(self, *, query: bool) -> dict[str, Any]:
        """The parameters of a request, beside its texts."""
        raise NotImplementedError

    def _batch_lines(self, requests: Sequence[tuple[str, str]]) -> Iterable[Mapping[str, Any]]:
        """The lines of the file that a batch job reads."""
        raise NotImplementedError

    def _batch_settings(self) -> dict[str, Any]:
        """The parameters of a batch job."""
        raise NotImplementedError

    def _ask(self, texts: list[str], *, query: bool) -> list[Floats[float]]:
        answer = self._api.post(
            f"{self.service.base_url}/embeddings",
            {"input": texts, **self._settings(query=query)},
            seconds=self.query_timeout if query else self.batch_timeout,
            room=room_for(len(texts)),
        )
        return read_rows(self.service, answer, len(texts))

    # Batch jobs

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        with write_requests(self.service, self._batch_lines(requests), max_bytes=self.max_file_bytes) as file:
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
            **self._batch_settings(),
        }
        return id_of(self.service, self._api.post(self._place("batches"), body, seconds=self.batch_timeout))

    def poll_batch(self, job_id: str) -> BatchState:
        return state_of(self.service, self._job(job_id))

    def fetch_batch(self, job_id: str) -> Mapping[str, Floats[float] | str]:
        return results_of(self.service, self._job(job_id), self._download)

    def cancel_batch(self, job_id: str) -> None:
        self._api.post(f"{self._place('batches', job_id)}/cancel", {}, seconds=self.batch_timeout)

    def _job(self, job_id: str) -> Any:
        return self._api.get(self._place("batches", job_id), seconds=self.query_timeout)

    def _download(self, file_id: str) -> Iterator[str]:
        return self._api.lines(f"{self._place('files', file_id)}/content", seconds=FILE_SECONDS)

    def _place(self, *steps: str) -> str:
        return "/".join((self.service.base_url, *(checked_name(self.service, step) for step in steps)))
