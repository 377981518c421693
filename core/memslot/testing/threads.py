"""Many threads at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from memslot.threads import call_within

Value = TypeVar("Value")
THREADS = 8
_PATIENCE_SECONDS = 120.0


def within(seconds: float, what: str, job: Callable[[], Value]) -> Value:
    """Run a job in its own thread and return its value, or raise its error; fail if it takes longer."""
    done = threading.Event()

    def work() -> Value:
        try:
            return job()
        finally:
            done.set()

    try:
        return call_within(seconds, work)
    except TimeoutError:
        assert done.is_set(), f"{what} did not come back within {seconds:g} s"
        raise


def all_at_once(jobs: Sequence[Callable[[], Value]]) -> list[Value]:
    """Run all jobs at the same moment, each in its own thread; return their values, or raise the first error."""
    values: dict[int, Value] = {}
    errors: list[BaseException] = []
    start = threading.Barrier(len(jobs))

    def work(number: int, job: Callable[[], Value]) -> None:
        try:
            start.wait()
            values[number] = job()
        except BaseException as error:
            errors.append(error)

    # Daemons: a job that never comes back must fail the test, not keep the test run from ending.
    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE_SECONDS)
    if errors:
        raise errors[0]
    stuck = sum(thread.is_alive() for thread in threads)
    assert not stuck, f"{stuck} of {len(jobs)} calls made at once did not come back within {_PATIENCE_SECONDS:g} s"
    return [values[number] for number in range(len(jobs))]
