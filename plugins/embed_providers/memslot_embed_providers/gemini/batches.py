"""Gemini's batch jobs: requests uploaded through the Files API, an operation to poll, a results file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from memslot import ProviderError

from memslot_embed_providers.batch_files import Results, read_records, sentence, vector_or_error, write_requests
from memslot_embed_providers.error_mapping import message_of
from memslot_embed_providers.service import Service
from memslot_embed_providers.vectors import Floats

if TYPE_CHECKING:
    from memslot import BatchState

    from memslot_embed_providers.http import Api

    Status = Literal["running", "done", "failed", "expired", "cancelled"]

MAX_FILE_BYTES = 2_000_000_000
CALL_SECONDS, FILE_SECONDS = 120.0, 600.0
_NAME = re.compile(r"(?:batches|files)/[A-Za-z0-9][A-Za-z0-9._-]*")
# The reference says BATCH_STATE_…, the guide JOB_STATE_…; the end is the same.
_STATES: dict[str, Status] = {
    "UNSPECIFIED": "running",
    "PENDING": "running",
    "QUEUED": "running",
    "RUNNING": "running",
    "SUCCEEDED": "done",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}


def upload(api: Api, service: Service, lines: Iterable[Mapping[str, Any]]) -> str:
    """Upload the requests by the resumable protocol; returns the name, `files/…`."""
    with write_requests(service, lines, max_bytes=MAX_FILE_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        begun = api.headers_of(
            _beside(service, "upload", "files"),
            seconds=CALL_SECONDS,
            json={"file": {"displayName": "memslot"}},
            headers={
                "X-Goog-Upload-Protocol": "resumable",
                "X-Goog-Upload-Command": "start",
                "X-Goog-Upload-Header-Content-Length": str(size),
                "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            },
        )
        place = begun.get("x-goog-upload-url", "")
        if urlsplit(place)[:2] != urlsplit(service.base_url)[:2]:
            raise ProviderError(f"{service} redirects the upload to another address, which must not get the key")
        answer = api.call(
            "POST",
            place,
            seconds=FILE_SECONDS,
            content=iter(lambda: file.read(65536), b""),
            headers={
                "Content-Length": str(size),
                "X-Goog-Upload-Offset": "0",
                "X-Goog-Upload-Command": "upload, finalize",
            },
        )
    described = answer.get("file") if isinstance(answer, dict) else None
    return _name(service, described.get("name") if isinstance(described, dict) else None)


def start(api: Api, service: Service, model: str, file_name: str) -> str:
    """Start a job; returns its name, `batches/…`."""
    body = {"batch": {"displayName": "memslot", "inputConfig": {"fileName": file_name}}}
    url = f"{service.base_url}/models/{model}:asyncBatchEmbedContent"
    answer = api.post(url, body, seconds=CALL_SECONDS)
    return _name(service, answer.get("name") if isinstance(answer, dict) else None)


def state(api: Api, service: Service, job_id: str) -> BatchState:
    """The state of a job."""
    from memslot import BatchState

    job = _job(api, service, job_id)
    about = _part(job, "metadata")
    named = str(about.get("state", "UNSPECIFIED"))
    status = _STATES.get(named.rpartition("_STATE_")[2])
    if status is None:
        raise ProviderError(f"{service} reports an unknown batch job status: {sentence(service, named)}")
    reason = sentence(service, message_of(job.get("error"))) if status == "failed" else None
    if status == "expired":
        reason = "the job expired before it was finished"
    return BatchState(status, reason)


def results(api: Api, service: Service, job_id: str, read: Callable[[Any], Floats[float]]) -> Results:
    """All results of a finished job; errors are sentences."""
    job = _job(api, service, job_id)
    name = _part(job, "response").get("responsesFile") or _part(_part(job, "metadata"), "output").get("responsesFile")
    if not name:
        return {}
    url = f"{_beside(service, 'download', _name(service, name))}:download?alt=media"
    found: Results = {}
    for record in read_records(service, api.lines(url, seconds=FILE_SECONDS)):
        row = _part(record, "response").get("embedding")
        if row is None:
            told = message_of(record.get("error")) or message_of(_part(record, "response"))
            found[str(record.get("key"))] = sentence(service, told)
        else:
            found[str(record.get("key"))] = vector_or_error(service, lambda row=row: read(row))
    return found


def cancel(api: Api, service: Service, job_id: str) -> None:
    api.post(f"{service.base_url}/{_name(service, job_id)}:cancel", {}, seconds=CALL_SECONDS)


def _job(api: Api, service: Service, job_id: str) -> dict[str, Any]:
    job = api.get(f"{service.base_url}/{_name(service, job_id)}", seconds=CALL_SECONDS)
    if not isinstance(job, dict):
        raise ProviderError(f"{service} did not describe the batch job")
    return job


def _part(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = tree.get(name)
    return part if isinstance(part, dict) else {}


def _name(service: Service, name: Any) -> str:
    """A file or job id, checked to be safe in a URL."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ProviderError(f"{service} has no batch job or file with such an id")
    return name


def _beside(service: Service, kind: str, rest: str) -> str:
    """Upload and download paths precede the version: /upload/v1beta/files."""
    parts = urlsplit(service.base_url)
    return urlunsplit((parts.scheme, parts.netloc, f"/{kind}{parts.path}/{rest}", "", ""))
