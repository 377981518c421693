"""Batch jobs as OpenAI has them and Voyage has copied them: one object with a status and two files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from memslot import ProviderError, one_line

from memslot_embed_providers.failures import message_of
from memslot_embed_providers.jsonl import Results, parsed, result_of
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
    """The name that the server gave to a file or a job."""
    return checked_name(service, answer.get("id") if isinstance(answer, dict) else None)


def checked_name(service: Service, name: Any) -> str:
    """A name from the server or from our own store, fit to stand in an address."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ProviderError(f"{service} cannot have a batch job or a file of such a name")
    return name


def state_of(service: Service, job: Any) -> BatchState:
    """How far a job is."""
    from memslot import BatchState

    job = job if isinstance(job, dict) else {}
    status = _STATUSES.get(str(job.get("status")))
    if status is None:
        raise ProviderError(f"{service} gives the batch job an unknown status: {one_line(str(job.get('status')))}")
    counts = job.get("request_counts")
    total, completed, failed = (count(counts, name) for name in ("total", "completed", "failed"))
    return BatchState(status=status, done=completed + failed, total=total, reason=_reason(service, job, status))


def results_of(service: Service, job: Any, download: Callable[[str], Iterable[str]]) -> Results:
    """All results of a job that is over, also of one that did not get through; errors come as sentences."""
    names = [job.get(name) for name in ("output_file_id", "error_file_id")] if isinstance(job, dict) else []
    results: Results = {}
    for name in names:
        if isinstance(name, str) and name:
            for record in parsed(service, download(name)):
                results[str(record.get("custom_id"))] = result_of(service, record)
    return results


def count(counts: Any, name: str) -> int:
    """A number that may be missing, or be written as text as Google does."""
    value = counts.get(name) if isinstance(counts, dict) else None
    try:
        return max(0, int(value or 0))
    except (TypeError, ValueError):
        return 0


def _reason(service: Service, job: dict[str, Any], status: Status) -> str | None:
    errors = job.get("errors")
    told = message_of(errors.get("data")) if isinstance(errors, dict) else message_of(errors)
    if told:
        return service.hide(one_line(told))
    return {"failed": "the job failed", "expired": "the job was not finished within its time"}.get(status)
