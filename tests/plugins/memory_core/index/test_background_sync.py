"""One sync at a time in the background, however many ask, and always an end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from memslot_memory_core import background_sync as module
from memslot_memory_core.background_sync import BackgroundSync, Paths
from memslot_memory_core.index.connection import IndexBusyError
from memslot_memory_core.index.report import SyncProgress, SyncReport


class Work:
    """A sync that does as it is told, and remembers."""

    def __init__(self) -> None:
        self.runs = 0
        self.paths: list[Paths] = []
        self.batch_size = 0
        self.most_at_once = 0
        self.go_on = threading.Event()
        self.go_on.set()
        self.errors: list[Exception] = []

    def __call__(
        self, paths: Paths, cancelled: Callable[[], bool], progress: Callable[[SyncProgress], None]
    ) -> SyncReport:
        self.runs += 1
        self.paths.append(paths)
        self.batch_size += 1
        self.most_at_once = max(self.most_at_once, self.batch_size)
        try:
            progress(SyncProgress(1, 2))
            while not self.go_on.wait(0.01):
                if cancelled():
                    return SyncReport(complete=False)
            if self.errors:
                raise self.errors.pop(0)
            return SyncReport(indexed=self.runs)
        finally:
            self.batch_size -= 1


def test_what_is_done_already_need_not_be_waited_for() -> None:
    work = Work()
    upkeep = BackgroundSync(work)
    upkeep.request()
    while not work.runs or upkeep.is_busy:
        time.sleep(0.001)
    assert upkeep.wait(0.0)
    upkeep.close()


def test_requests_during_a_run_mean_one_more_run() -> None:
    work = Work()
    work.go_on.clear()
    upkeep = BackgroundSync(work)
    upkeep.request()
    assert until(lambda: upkeep.progress is not None)
    for _ in range(50):
        upkeep.request()
    assert upkeep.progress == SyncProgress(1, 2)
    assert not upkeep.wait(0.05)
    work.go_on.set()
    assert upkeep.wait(30.0)
    assert work.runs == 2
    assert work.most_at_once == 1
    assert upkeep.progress is None
    upkeep.close()


def test_a_request_that_came_just_now_is_enough() -> None:
    work = Work()
    upkeep = BackgroundSync(work)
    upkeep.request()
    assert upkeep.wait(30.0)
    upkeep.request(at_most_every=60.0)
    assert upkeep.wait(30.0)
    assert work.runs == 1
    upkeep.close()


def test_a_failure_is_remembered_until_a_run_succeeds() -> None:
    work = Work()
    work.errors = [RuntimeError("the disk is on fire")]
    upkeep = BackgroundSync(work)
    upkeep.request()
    assert upkeep.wait(30.0)
    assert upkeep.failure == "the last sync failed: the disk is on fire"
    upkeep.request()
    assert upkeep.wait(30.0)
    assert upkeep.failure is None
    assert upkeep.last is not None
    assert upkeep.last.indexed == 2
    upkeep.close()


def test_another_writer_is_waited_for_and_named_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(module, "_BUSY_RETRIES", 3)
    work = Work()
    work.errors = [IndexBusyError("busy")] * 2
    upkeep = BackgroundSync(work)
    upkeep.request()
    assert upkeep.wait(30.0)
    assert (work.runs, upkeep.failure) == (3, None)
    work.errors = [IndexBusyError("busy")] * 3
    upkeep.request()
    assert upkeep.wait(30.0)
    assert "another process" in (upkeep.failure or "")
    upkeep.close()


def test_paths_are_gathered_until_all_is_quiet_or_somebody_asks() -> None:
    work = Work()
    upkeep = BackgroundSync(work)
    upkeep.schedule({"a"}, 3600.0)
    upkeep.schedule({"b"}, 3600.0)
    assert upkeep.wait(0.0), "nobody has to wait for what waits itself"
    assert work.paths == []
    upkeep.run_now()
    assert upkeep.wait(30.0)
    assert work.paths == [frozenset({"a", "b"})]
    upkeep.run_now()
    assert upkeep.wait(30.0)
    assert len(work.paths) == 1, "nothing was left to do"
    upkeep.schedule({"c"}, 0.02)
    assert until(lambda: len(work.paths) == 2)
    assert work.paths[1] == frozenset({"c"})
    upkeep.close()


def test_a_file_that_is_written_without_pause_is_looked_at_all_the_same() -> None:
    work = Work()
    upkeep = BackgroundSync(work)
    deadline = time.monotonic() + 20.0
    while not work.runs and time.monotonic() < deadline:
        upkeep.schedule({"a"}, 0.1)
        time.sleep(0.01)
    upkeep.close()
    assert work.paths[0] == frozenset({"a"})


def test_a_look_at_everything_takes_the_paths_along_and_does_not_wait() -> None:
    work = Work()
    upkeep = BackgroundSync(work)
    upkeep.schedule({"a"}, 3600.0)
    upkeep.request()
    assert upkeep.wait(30.0)
    assert work.paths == [None]
    upkeep.schedule(None, 3600.0)
    upkeep.schedule({"a"}, 3600.0)
    upkeep.run_now()
    assert upkeep.wait(30.0)
    assert work.paths == [None, None]
    upkeep.close()


def test_after_a_run_that_failed_everything_is_looked_at() -> None:
    work = Work()
    work.errors = [RuntimeError("the disk is on fire")]
    upkeep = BackgroundSync(work)
    upkeep.schedule({"a"}, 0.0)
    assert until(lambda: work.runs == 1)
    assert upkeep.wait(30.0)
    upkeep.schedule({"b"}, 0.0)
    assert until(lambda: work.runs == 2)
    assert upkeep.wait(30.0)
    upkeep.schedule({"c"}, 0.0)
    assert until(lambda: work.runs == 3)
    upkeep.close()
    assert work.paths == [frozenset({"a"}), None, frozenset({"c"})]


def test_changes_do_not_put_off_what_comes_by_the_clock() -> None:
    work = Work()
    upkeep = BackgroundSync(work, interval_seconds=0.2)
    upkeep.start_interval()
    deadline = time.monotonic() + 20.0
    while None not in work.paths and time.monotonic() < deadline:
        upkeep.schedule({"a"}, 0.0)
        time.sleep(0.01)
    upkeep.close()
    assert None in work.paths
    assert frozenset({"a"}) in work.paths


def until(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)
    return is_so()


def test_runs_come_by_the_clock() -> None:
    work = Work()
    upkeep = BackgroundSync(work, interval_seconds=0.03)
    upkeep.start_interval()
    deadline = time.monotonic() + 30.0
    while work.runs < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    upkeep.close()
    assert work.runs >= 3


@pytest.mark.parametrize("moment", ["idle", "running", "waiting for another writer"])
def test_closing_ends_the_thread(moment: str) -> None:
    work: Any = Work()
    upkeep = BackgroundSync(work)
    if moment == "running":
        work.go_on.clear()
    elif moment == "waiting for another writer":
        work.errors = [IndexBusyError("busy")] * 100
    upkeep.request()
    while not work.runs:
        time.sleep(0.001)
    upkeep.close(30.0)
    assert upkeep._thread is not None
    assert not upkeep._thread.is_alive()
    upkeep.request()
    assert work.runs == 1
