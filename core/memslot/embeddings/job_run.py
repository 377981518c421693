"""One run of batch jobs: hands them in, waits for them, and collects what they give."""

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
from memslot.embeddings.cancellation import Stop
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
"""A job whose answer got lost may be there all the same, and would be paid for twice."""


@dataclass
class _Running:
    job: StoredJob
    give_up_at: float
    done: int = 0


@dataclass
class JobRun:
    """`rows` has what came back, by key; `pending()` what still runs."""

    pipeline: EmbeddingPipeline
    provider: Any  # an EmbeddingProvider that is a BatchJobs, too; Python has no type for both
    folder: Path
    concurrency: int
    poll_interval: float
    timeout: float
    per_job: int
    progress: Callable[[int], None]
    stop: Stop
    rows: dict[CacheKey, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._store = JobStore(self.folder, key_of(self.provider))
        self._todo: deque[tuple[tuple[str, ...], bool]] = deque()
        self._running: list[_Running] = []
        self._failures = 0
        self._texts: Mapping[str, str] = {}

    def work(self, texts: Mapping[str, str], *, wait: bool) -> None:
        """Embed texts, by their hash, as far as jobs can do it; without `wait`, look at each job once."""
        self._texts = texts
        self._take_up()
        covered = {text_hash for each in self._running for text_hash in each.job.hashes}
        rest = [text_hash for text_hash in texts if text_hash not in covered]
        for start in range(0, len(rest), self.per_job):
            self._todo.append((tuple(rest[start : start + self.per_job]), False))
        try:
            while self._running or (self._todo and self._failures < _MAX_FAILURES):
                self._fill_up()
                for each in list(self._running):
                    self._look_at(each)
                self._tell()
                if self._running and not wait:
                    break
                if self._running:
                    self.stop.pause(self.poll_interval)
        except (KeyboardInterrupt, EmbeddingCancelledError):
            self._cancel_all()
            raise

    def pending(self) -> dict[CacheKey, Row]:
        """Zeros for the texts whose jobs still run, or wait for their turn when nobody waits for them."""
        import numpy

        waiting = [each.job.hashes for each in self._running]
        if self._running and self._failures < _MAX_FAILURES:
            waiting += [hashes for hashes, _ in self._todo]
        zeros: Row = numpy.zeros(self.provider.dims, dtype=numpy.float32)
        return {self._key(text_hash): zeros for hashes in waiting for text_hash in hashes}

    def _take_up(self) -> None:
        """Wait again for jobs of an earlier run that hold a text we need."""
        for job in self._store.load():
            if any(text_hash in self._texts for text_hash in job.hashes):
                logger.info("waiting again for the batch job %s of %d texts", job.id, len(job.hashes))
                self._running.append(_Running(job, time.monotonic() + self.timeout))

    def _fill_up(self) -> None:
        while self._todo and len(self._running) < self.concurrency and self._failures < _MAX_FAILURES:
            hashes, expired_before = self._todo.popleft()
            requests = [(text_hash, self._texts[text_hash]) for text_hash in hashes]
            try:
                job_id = self._ask(lambda: self.provider.submit_batch(requests), _TRANSFER_SECONDS, _SUBMIT_ONCE)  # noqa: B023
            except ProviderRefusedError:
                raise
            except ProviderError as error:
                self._count_failure(f"a batch job could not be handed in: {error}")
                self._todo.append((hashes, expired_before))
                continue
            job = StoredJob(str(job_id), hashes, time.time(), expired_before)
            try:
                self._store.save(job)
            except OSError as error:
                logger.warning("the batch job %s cannot be noted, and is lost if this program ends: %s", job.id, error)
            self._running.append(_Running(job, time.monotonic() + self.timeout))

    def _look_at(self, each: _Running) -> None:
        try:
            state: BatchState = self._ask(lambda: self.provider.poll_batch(each.job.id), self.pipeline.batch_timeout)
        except ProviderRefusedError:
            raise  # the job stays in the store: with another key it can be had
        except ProviderBusyError as error:
            # The job goes on without us, so a lost connection is no reason to give it up.
            logger.info("the batch job %s cannot be looked at: %s", each.job.id, error)
            state = BatchState("running", each.done)
        except ProviderError as error:
            state = BatchState("failed", reason=str(error))
        each.done = max(each.done, state.done)
        if state.status == "done":
            self._collect(each)
        elif state.status == "expired" and not each.job.expired_before:
            self._drop(each)
            logger.info("the batch job %s expired and is handed in again", each.job.id)
            self._hand_in_again(each, expired_before=True)
        elif state.status != "running":
            self._drop(each)
            self._count_failure(f"the batch job {each.job.id} is {state.status}: {state.reason or 'no reason given'}")
            if state.status == "failed":
                self._hand_in_again(each, expired_before=each.job.expired_before)
        elif time.monotonic() >= each.give_up_at:
            self._cancel([each])
            self._count_failure(f"the batch job {each.job.id} was given up after {self.timeout / 60:.0f} minutes")

    def _collect(self, each: _Running) -> None:
        try:
            results: Mapping[str, Any] = self._ask(lambda: self.provider.fetch_batch(each.job.id), _TRANSFER_SECONDS)
        except (ProviderRefusedError, ProviderBusyError):
            raise  # it is done and paid for, and stays in the store
        except ProviderError as error:
            self._drop(each)
            self._count_failure(f"the results of the batch job {each.job.id} cannot be had: {error}")
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
            said = one_line("; ".join(dict.fromkeys(reasons)) or "they are not among its results")
            message = "%d of the %d texts of the batch job %s are embedded by plain calls: %s"
            logger.warning(message, len(ours) - len(made), len(ours), each.job.id, said)
        self.rows.update((key, row) for key, row in made.items() if not is_zero(row))
        self.pipeline.keep_rows(made)  # before the job is forgotten: a crash between the two costs nothing
        self._drop(each)

    def _hand_in_again(self, each: _Running, *, expired_before: bool) -> None:
        # A job of an earlier run may hold texts that nobody has any more.
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
        """Cancel at the provider, all at once and without waiting for long; then forget them."""
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
            logger.warning("the batch job %s could not be cancelled and may be charged: %s", job_id, error)

    def _tell(self) -> None:
        self.progress(len(self.rows) + sum(each.done for each in self._running))

    def _ask(self, function: Callable[[], Any], seconds: float, policy: RetryPolicy | None = None) -> Any:
        return self.pipeline.requests.call(function, seconds=seconds, stop=self.stop, policy=policy)

    def _key(self, text_hash: str) -> CacheKey:
        return CacheKey(self.provider.id, self.provider.model, key_of(self.provider), text_hash)
