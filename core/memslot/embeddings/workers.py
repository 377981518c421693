"""Parallel batches in daemon threads, so a hung batch blocks neither the caller nor interpreter exit."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from memslot.embeddings.cancellation import LOOK_SECONDS, StopToken
from memslot.errors import EmbeddingCancelledError
from memslot.threads import start_thread

Job = TypeVar("Job")
Value = TypeVar("Value")


def run_jobs(
    jobs: Sequence[Job], function: Callable[[Job], Value], *, workers: int, stop: StopToken
) -> Iterator[tuple[Job, Value]]:
    """Yield each job with the function's result, as they complete.

    The first error ends the run, as does `stop`; results finished by then are yielded before it is raised.
    """
    todo = deque(jobs)
    finished: queue.SimpleQueue[tuple[Job, Value | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        while not stop.is_set():
            try:
                job = todo.popleft()
            except IndexError:
                return
            try:
                finished.put((job, function(job), None))
            except BaseException as error:
                finished.put((job, None, error))
                return

    for number in range(min(workers, len(jobs))):
        start_thread(work, f"memslot task embedding {number + 1}")
    left = len(jobs)
    failure: BaseException | None = None
    try:
        while left:
            if failure is None:
                try:
                    stop.ask()
                except EmbeddingCancelledError as error:
                    failure = error
            # After a failure, only drain what has finished.
            item = _next(finished, LOOK_SECONDS if failure is None else 0.0)
            if item is None:
                if failure is not None:
                    raise failure
                continue
            job, value, fault = item
            if fault is not None:
                stop.set("another batch failed")
                failure = failure or fault
                continue
            left -= 1
            yield job, value  # type: ignore[misc]  # a job without a fault has a value
    finally:
        stop.set("the work is over")


def _next(finished: queue.SimpleQueue[Value], seconds: float) -> Value | None:
    try:
        return finished.get(timeout=seconds)
    except queue.Empty:
        return None
