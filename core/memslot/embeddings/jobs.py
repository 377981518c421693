"""Batch APIs: many texts handed in at once, cheaper, and fetched when the provider is done with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from memslot.errors import ProviderError

if TYPE_CHECKING:
    from memslot.embeddings.contract import Vector
    from memslot.embeddings.pipeline import Cancelled, EmbeddingPipeline, Progress
    from memslot.embeddings.vectors import Matrix

JobStatus = Literal["running", "done", "failed", "expired", "cancelled"]
MAX_REQUESTS = 50_000


@dataclass(frozen=True)
class BatchState:
    """How far a batch job is; `reason` says why it failed, if it did."""

    status: JobStatus
    done: int = 0
    total: int = 0
    reason: str | None = None


@runtime_checkable
class BatchJobs(Protocol):
    """An optional part of a provider: jobs that run at the provider and survive this program."""

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        """Hand in documents as (custom id, text); give the job's id. Never tried twice after a time-out."""

    def poll_batch(self, job_id: str) -> BatchState:
        """Say how far the job is."""

    def fetch_batch(self, job_id: str) -> Mapping[str, Vector | str]:
        """By custom id, in any order: the vector, or one sentence on why there is none."""

    def cancel_batch(self, job_id: str) -> None:
        """Stop the job, if it is still running."""


def embed_in_batches(
    pipeline: EmbeddingPipeline,
    texts: Iterable[str],
    *,
    folder: Path,
    concurrency: int = 2,
    poll_interval: float = 2.0,
    timeout: float = 3600.0,
    wait: bool = True,
    requests_per_job: int = MAX_REQUESTS,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Matrix:
    """Like `pipeline.embed_documents`, by the provider's batch API.

    Jobs are noted in `folder`, so that a program that was killed takes them up again. What a job could not embed is
    embedded by plain calls; after two failed jobs everything is. With `wait` off, texts whose job is still running
    get a row of zeros: call again later. Cancelling, as by Ctrl-C, cancels the jobs at the provider.
    """
    from memslot.embeddings.job_run import JobRun
    from memslot.embeddings.pipeline import sendable_texts
    from memslot.embeddings.tokens import estimate_tokens

    provider = pipeline.provider
    if not isinstance(provider, BatchJobs):
        raise ProviderError(f"{provider.id} has no batch API; set remote.batch.enabled to false")
    wanted = sendable_texts(texts)
    by_key = {pipeline.cache_key(text): text for text in wanted}
    found = pipeline.find_rows(list(by_key))
    # A long text needs parts, and those come together in plain calls only.
    fit = {
        key.text_hash: text
        for key, text in by_key.items()
        if key not in found and text.strip() and estimate_tokens(text) <= provider.max_input_tokens
    }
    told = _Forwards(progress, len(wanted), len(wanted) - len(fit))
    run = JobRun(
        pipeline,
        provider,
        folder,
        concurrency=max(1, concurrency),
        poll_interval=poll_interval,
        timeout=timeout,
        per_job=max(1, min(requests_per_job, MAX_REQUESTS)),
        progress=told.from_jobs,
        stop=pipeline.open_stop(cancelled),
    )
    if fit:
        run.work(fit, wait=wait)
    known = {**found, **run.rows, **run.pending()}
    return pipeline.embed_documents(wanted, progress=told.at_least, cancelled=cancelled, known=known)


class _Forwards:
    """Progress that never goes back, although a job may fail when it was nearly done."""

    def __init__(self, progress: Progress | None, total: int, without_jobs: int) -> None:
        self._progress = progress
        self._total = total
        self._without_jobs = without_jobs
        self._highest = -1

    def from_jobs(self, done: int) -> None:
        # The last text is counted when its row is there, and not when the provider says so.
        self.at_least(min(self._total - 1, self._without_jobs + done), self._total)

    def at_least(self, done: int, total: int) -> None:
        self._highest = max(self._highest, done)
        if self._progress is not None:
            self._progress(self._highest, total)
