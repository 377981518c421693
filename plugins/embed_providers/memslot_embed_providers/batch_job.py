"""Batch jobs of the OpenAI API, which Voyage copied: one object with a status and two files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from memslot import ProviderError, one_line

from memslot_embed_providers.batch_files import Results, read_records, result_of
from memslot_embed_providers.error_mapping import message_of
from memslot_embed_providers.service import Service

if TYPE_CHECKING:
    from memslot import BatchState

    Status = Literal["running", "done", "failed", "expired", "cancelled"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STATUSES: dict[str, Status] = {
    "validating": "running",
    "in_progress": "running",
    "finalizing": "running",
    "cancelling": "running",
    "completed": "done",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}


def id_of(service: Service, answer: Any) -> str:
    """The server's id of a file or job."""
    return checked_name(service, answer.get("id") if isinstance(answer, dict) else None)


def checked_name(service: Service, name: Any) -> str:
    """A file or job id, checked to be safe in a URL."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ProviderError(f"{service} has no batch job or file with such an id")
    return name


def state_of(service: Service, job: Any) -> BatchState:
    """The state of a job."""
    from memslot import BatchState

    job = job if isinstance(job, dict) else {}
    status = _STATUSES.get(str(job.get("status")))
    if status is None:
        raise ProviderError(f"{service} reports an unknown batch job status: {one_line(str(job.get('status')))}")
    return BatchState(status, _reason(service, job, status))


def results_of(service: Service, job: Any, download: Callable[[str], Iterable[str]]) -> Results:
    """All results of a finished job, successful or not; errors are sentences."""
    names = [job.get(name) for name in ("output_file_id", "error_file_id")] if isinstance(job, dict) else []
    results: Results = {}
    for name in names:
        if isinstance(name, str) and name:
            for record in read_records(service, download(name)):
                results[str(record.get("custom_id"))] = result_of(service, record)
    return results


def _reason(service: Service, job: dict[str, Any], status: Status) -> str | None:
    errors = job.get("errors")
    told = message_of(errors.get("data")) if isinstance(errors, dict) else message_of(errors)
    if told:
        return service.hide(one_line(told))
    return {"failed": "the job failed", "expired": "the job expired before it was finished"}.get(status)
