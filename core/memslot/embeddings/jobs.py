"""Batch APIs: many texts submitted as one job, at a discount, with results fetched later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from memslot.errors import ProviderError

if TYPE_CHECKING:
    from memslot.embeddings.contract import Vector
    from memslot.embeddings.pipeline import Cancelled, EmbeddingPipeline
    from memslot.embeddings.vectors import Matrix

JobStatus = Literal["running", "done", "failed", "expired", "cancelled"]
MAX_REQUESTS = 50_000


@dataclass(frozen=True)
class BatchState:
    """The state of a batch job; `reason` says why it failed."""

    status: JobStatus
    reason: str | None = None


@runtime_checkable
class BatchJobs(Protocol):
    """Optional provider capability: jobs that run on the server and outlive this process."""

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        """Submit documents as (custom id, text) and return the job's id. Not retried after a time-out."""

    def poll_batch(self, job_id: str) -> BatchState:
        """Return the job's state."""

    def fetch_batch(self, job_id: str) -> Mapping[str, Vector | str]:
        """Return, by custom id, the vector or one sentence on why it failed."""

    def cancel_batch(self, job_id: str) -> None:
        """Cancel the job if it is still running."""


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
    cancelled: Cancelled | None = None,
) -> Matrix:
    """Embed documents like `pipeline.embed_documents`, through the provider's batch API.

    Jobs are saved in `folder`, so a killed process resumes them. Texts that a job fails to embed fall back to plain
    calls, as does everything after two failed jobs. With `wait` off, texts whose job is still running get a row of
    zeros: call again later. Cancelling (Ctrl-C included) cancels the jobs at the provider.
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
    # Only plain calls can split a long text and merge its parts.
    fit = {
        key.text_hash: text
        for key, text in by_key.items()
        if key not in found and text.strip() and estimate_tokens(text) <= provider.max_input_tokens
    }
    run = JobRun(
        pipeline,
        provider,
        folder,
        concurrency=max(1, concurrency),
        poll_interval=poll_interval,
        timeout=timeout,
        per_job=max(1, min(requests_per_job, MAX_REQUESTS)),
        stop=pipeline.stop_token(cancelled),
    )
    if fit:
        run.work(fit, wait=wait)
    known = {**found, **run.rows, **run.pending()}
    return pipeline.embed_documents(wanted, cancelled=cancelled, known=known)
