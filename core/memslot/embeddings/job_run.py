"""One run of batch jobs: submits, polls and collects them."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.embeddings.cache import CacheKey
from memslot.embeddings.cancellation import StopToken
from memslot.embeddings.contract import key_of
from memslot.embeddings.job_store import JobStore, StoredJob
from memslot.embeddings.jobs import BatchState
from memslot.embeddings.retries import RetryPolicy
from memslot.embeddings.vectors import is_zero, unit_rows
from memslot.errors import EmbeddingCancelledError, ProviderBusyError, ProviderError, ProviderRefusedError
from memslot.text import one_line

if TYPE_CHECKING:
    from memslot.embeddings.pipeline import EmbeddingPipeline
    from memslot.embeddings.vectors import Row

logger = logging.getLogger("memslot.embeddings")
_MAX_FAILURES = 2
_TRANSFER_SECONDS = 600.0
_CANCEL_SECONDS = 10.0
_SUBMIT_ONCE = RetryPolicy(retries_timeouts=False)
"""A submit that timed out may have created the job; a retry would pay for it twice."""


@dataclass
class _Running:
    job: StoredJob
    give_up_at: float


@dataclass
class JobRun:
    """Runs batch jobs; `rows` holds the results by key, `pending()` what is still running."""

    pipeline: EmbeddingPipeline
    provider: Any  # both an EmbeddingProvider and a BatchJobs; Python has no intersection types
    folder: Path
    concurrency: int
    poll_interval: float
    timeout: float
    per_job: int
    stop: StopToken
    rows: dict[CacheKey, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._store = JobStore(self.folder, key_of(self.provider))
        self._todo: deque[tuple[tuple[str, ...], bool]] = deque()
        self._running: list[_Running] = []
        self._failures = 0
        self._texts: Mapping[str, str] = {}

    def work(self, texts: Mapping[str, str], *, wait: bool) -> None:
        """Embed texts, keyed by hash, in batch jobs. Without `wait`, poll each job only once."""
        self._texts = texts
        self._resume_stored()
        covered = {text_hash for each in self._running for text_hash in each.job.hashes}
        rest = [text_hash for text_hash in texts if text_hash not in covered]
        for start in range(0, len(rest), self.per_job):
            self._todo.append((tuple(rest[start : start + self.per_job]), False))
        try:
            while self._running or (self._todo and self._failures < _MAX_FAILURES):
                self._submit_queued()
                for each in list(self._running):
                    self._poll(each)
                if self._running and not wait:
                    break
                if self._running:
                    self.stop.pause(self.poll_interval)
        except (KeyboardInterrupt, EmbeddingCancelledError):
            self._cancel_all()
            raise

    def pending(self) -> dict[CacheKey, Row]:
        """Return zero rows for texts whose jobs are running, or queued behind a running one."""
        import numpy

        waiting = [each.job.hashes for each in self._running]
        if self._running and self._failures < _MAX_FAILURES:
            waiting += [hashes for hashes, _ in self._todo]
        zeros: Row = numpy.zeros(self.provider.dims, dtype=numpy.float32)
        return {self._key(text_hash): zeros for hashes in waiting for text_hash in hashes}

    def _resume_stored(self) -> None:
        """Resume jobs of an earlier run that contain a text we need."""
        for job in self._store.load():
            if any(text_hash in self._texts for text_hash in job.hashes):
                logger.info("resuming batch job %s (%d texts)", job.id, len(job.hashes))
                self._running.append(_Running(job, time.monotonic() + self.timeout))

    def _submit_queued(self) -> None:
        while self._todo and len(self._running) < self.concurrency and self._failures < _MAX_FAILURES:
            hashes, expired_before = self._todo.popleft()
            requests = [(text_hash, self._texts[text_hash]) for text_hash in hashes]
            try:
                job_id = self._call(lambda: self.provider.submit_batch(requests), _TRANSFER_SECONDS, _SUBMIT_ONCE)  # noqa: B023
            except ProviderRefusedError:
                raise
            except ProviderError as error:
                self._count_failure(f"a batch job could not be submitted: {error}")
                self._todo.append((hashes, expired_before))
                continue
            job = StoredJob(str(job_id), hashes, time.time(), expired_before)
            try:
                self._store.save(job)
            except OSError as error:
                logger.warning("batch job %s cannot be saved, and is lost if this process exits: %s", job.id, error)
            self._running.append(_Running(job, time.monotonic() + self.timeout))

    def _poll(self, each: _Running) -> None:
        try:
            state: BatchState = self._call(lambda: self.provider.poll_batch(each.job.id), self.pipeline.batch_timeout)
        except ProviderRefusedError:
            raise  # the job stays in the store: another key can still fetch it
        except ProviderBusyError as error:
            # The job runs on the server, so a lost connection is no reason to give up.
            logger.info("batch job %s cannot be polled: %s", each.job.id, error)
            state = BatchState("running")
        except ProviderError as error:
            state = BatchState("failed", reason=str(error))
        if state.status == "done":
            self._collect(each)
        elif state.status == "expired" and not each.job.expired_before:
            self._drop(each)
            logger.info("batch job %s expired; resubmitting it", each.job.id)
            self._resubmit(each, expired_before=True)
        elif state.status != "running":
            self._drop(each)
            self._count_failure(f"batch job {each.job.id} is {state.status}: {state.reason or 'no reason given'}")
            if state.status == "failed":
                self._resubmit(each, expired_before=each.job.expired_before)
        elif time.monotonic() >= each.give_up_at:
            self._cancel([each])
            self._count_failure(f"batch job {each.job.id} was given up after {self.timeout / 60:.0f} minutes")

    def _collect(self, each: _Running) -> None:
        try:
            results: Mapping[str, Any] = self._call(lambda: self.provider.fetch_batch(each.job.id), _TRANSFER_SECONDS)
        except (ProviderRefusedError, ProviderBusyError):
            raise  # finished and paid for: keep it in the store
        except ProviderError as error:
            self._drop(each)
            self._count_failure(f"the results of batch job {each.job.id} cannot be fetched: {error}")
            return
        ours = set(each.job.hashes)
        made: dict[CacheKey, Row] = {}
        reasons: list[str] = []
        for text_hash, result in results.items():
            if text_hash not in ours:
                continue
            if isinstance(result, str):
                reasons.append(result)
                continue
            try:
                made[self._key(text_hash)] = unit_rows([result], dims=self.provider.dims, provider=self.provider.id)[0]
            except ProviderError as error:
                reasons.append(str(error))
        if len(made) < len(ours):
            said = one_line("; ".join(dict.fromkeys(reasons)) or "missing from its results")
            message = "falling back to plain calls for %d of the %d texts of batch job %s: %s"
            logger.warning(message, len(ours) - len(made), len(ours), each.job.id, said)
        self.rows.update((key, row) for key, row in made.items() if not is_zero(row))
        self.pipeline.keep_rows(made)  # before the job is dropped: a crash in between loses nothing
        self._drop(each)

    def _resubmit(self, each: _Running, *, expired_before: bool) -> None:
        # A job of an earlier run may contain texts that no longer exist.
        wanted = tuple(text_hash for text_hash in each.job.hashes if text_hash in self._texts)
        if wanted:
            self._todo.append((wanted, expired_before))

    def _drop(self, each: _Running) -> None:
        self._running.remove(each)
        self._store.forget(each.job)

    def _count_failure(self, message: str) -> None:
        self._failures += 1
        logger.warning("%s", message)
        if self._failures == _MAX_FAILURES:
            logger.warning("batch jobs failed %d times: the rest is embedded by plain calls", _MAX_FAILURES)

    def _cancel_all(self) -> None:
        self._cancel(list(self._running))

    def _cancel(self, which: Sequence[_Running]) -> None:
        """Cancel jobs at the provider, in parallel and with a short time-out; then drop them."""
        threads = [threading.Thread(target=self._cancel_one, args=(each.job.id,), daemon=True) for each in which]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _CANCEL_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        for each in which:
            self._drop(each)

    def _cancel_one(self, job_id: str) -> None:
        try:
            self.provider.cancel_batch(job_id)
        except Exception as error:
            logger.warning("batch job %s could not be cancelled and may be charged: %s", job_id, error)

    def _call(self, function: Callable[[], Any], seconds: float, policy: RetryPolicy | None = None) -> Any:
        return self.pipeline.requests.call(function, seconds=seconds, stop=self.stop, policy=policy)

    def _key(self, text_hash: str) -> CacheKey:
        return CacheKey(self.provider.id, self.provider.model, key_of(self.provider), text_hash)
