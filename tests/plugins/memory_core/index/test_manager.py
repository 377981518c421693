"""The memory as an agent sees it: it answers, it says how it is, and it never raises for a fault of the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import MemslotError
from memslot.testing.providers import HashingProvider
from memslot_memory_core import freshness as module
from memslot_memory_core.index.connection import writer_lock
from memslot_memory_core.manager import MemoryManager


def write(manager: MemoryManager, text: str, name: str = "memory/a.md") -> Path:
    file = manager.workspace / name
    file.write_text(text)
    return file


def test_the_first_search_waits_for_the_first_index(make_manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_INDEX_SECONDS", 60.0)  # on a busy machine, too
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    assert manager.search("lighthouse").hits


def test_a_search_never_waits_for_a_sync(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    manager.sync()
    write(manager, "The windmill is white.\n", "memory/b.md")
    with writer_lock(manager.location.index_file, wait_seconds=0):
        assert manager.search("lighthouse").hits
        assert manager.search("lighthouse", fresh_seconds=3600.0).hits  # longer than any test may take
    assert manager.search("windmill", fresh_seconds=60.0).hits


def test_a_look_that_finds_nothing_new_needs_no_lock(make_manager: Any) -> None:
    writing = make_manager()
    write(writing, "The lighthouse is red.\n")
    time.sleep(0.1)  # a file that was written this moment is read once more
    writing.sync()
    reading = make_manager()
    with writer_lock(writing.location.index_file, wait_seconds=0):
        outcome = reading.search("lighthouse", fresh_seconds=60.0)
        assert (len(outcome.hits), outcome.stale) == (1, None)
        write(writing, "The windmill is white.\n", "memory/b.md")
        assert "another process" in (reading.search("lighthouse", fresh_seconds=0.1).stale or "")
    assert reading.search("windmill", fresh_seconds=60.0).hits


def test_a_look_before_a_search_takes_up_files_that_are_gone(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    write(manager, "The windmill is white.\n", "memory/b.md")
    time.sleep(0.1)
    manager.sync()
    assert manager.search("windmill", fresh_seconds=60.0).hits
    (manager.location.workspace / "memory" / "b.md").unlink()
    assert not manager.search("windmill", fresh_seconds=60.0).hits


def test_the_log_stays_between_syncs_that_find_nothing_and_goes_with_the_memory(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    log = Path(f"{manager.location.index_file}-wal")
    manager.sync()
    manager.sync()
    assert log.exists()
    manager.close()
    assert not log.exists()


def test_a_search_that_could_not_take_up_changes_says_so(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    manager.sync()
    write(manager, "The windmill is white.\n", "memory/b.md")
    with writer_lock(manager.location.index_file, wait_seconds=0):
        missed = manager.search("windmill", fresh_seconds=60.0)
    assert not missed.hits
    assert missed.stale == "recent changes may be missing: another process is writing to the index"
    found = manager.search("windmill", fresh_seconds=60.0)
    assert (len(found.hits), found.stale) == (1, None)


def test_status_counts_what_has_changed_since_the_last_sync(make_manager: Any) -> None:
    settings = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
    manager = make_manager(**settings)
    write(manager, "The lighthouse is red.\n")
    kept = write(manager, "The windmill is white.\n", "memory/b.md")
    talk = manager.location.sessions_dir / "s.jsonl"
    talk.parent.mkdir(parents=True)
    talk.write_text('{"type": "message", "message": {"role": "user", "content": "hello"}}\n')
    manager.sync()
    assert manager.status().details["changedSince"] == 0
    write(manager, "The lighthouse is blue now.\n")
    write(manager, "A new one.\n", "memory/c.md")
    kept.unlink()
    with talk.open("a") as more:
        more.write('{"type": "message", "message": {"role": "user", "content": "too little to be due"}}\n')
    assert manager.status().details["changedSince"] == 3
    assert manager.status().is_healthy
    manager.sync()
    assert manager.status().details["changedSince"] == 0


def test_status_goes_on_telling_what_could_not_be_decoded(make_manager: Any) -> None:
    manager = make_manager()
    (manager.workspace / "memory" / "a.md").write_bytes(b"caf\xe9\n")
    manager.sync()
    manager.sync()
    status = manager.status()
    assert status.details["remarks"] == ["memory/a.md: 1 undecodable bytes were replaced"]
    assert status.is_healthy


def test_a_search_takes_up_changes_soon(make_manager: Any) -> None:
    manager = make_manager(sync={"watch": False, "onSearch": True})
    write(manager, "The lighthouse is red.\n")
    manager.sync()
    write(manager, "The windmill is white.\n", "memory/b.md")
    manager.search("lighthouse")
    deadline = time.monotonic() + 30
    while not manager.search("windmill").hits and time.monotonic() < deadline:
        time.sleep(0.05)
    assert manager.search("windmill").hits


def test_a_first_index_that_took_long_does_not_put_off_what_comes_after_it(make_manager: Any) -> None:
    class Slow(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            time.sleep(1.0)  # times 20, that is longer than this test waits
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> list[float]:
            return self._embed(text)

    manager = make_manager(Slow(), sync={"watch": False, "onSearch": True})
    write(manager, "The lighthouse is red.\n")
    assert manager.search("lighthouse").hits
    write(manager, "The windmill is white.\n", "memory/b.md")
    assert until(lambda: any("windmill" in hit.snippet for hit in manager.search("windmill").hits))


def is_idle(manager: MemoryManager) -> bool:
    background = manager._freshness._background
    return background.wait(0) and not background._asked


def watch_from_now_on(manager: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start watching, and wait until both watches have asked for their first look at everything."""
    told: list[Any] = []
    schedule = manager._freshness._schedule_changed

    def hear(paths: Any) -> None:
        schedule(paths)
        told.append(paths)

    monkeypatch.setattr(manager._freshness, "_schedule_changed", hear)
    manager.start_watching()
    watcher = manager._freshness._watcher
    assert watcher is not None
    assert until(lambda: watcher.is_sure and told.count(None) == 2)
    return watcher


def test_a_search_in_a_watched_workspace_takes_up_what_was_seen_and_looks_nowhere_else(
    make_manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make_manager(sync={"watch": True, "onSearch": True, "watchDebounceMs": 60_000})
    write(manager, "The lighthouse is red.\n")
    manager.sync()
    watch_from_now_on(manager, monkeypatch)
    manager.search("lighthouse")  # looks at everything: it is the first one, and the watch has just begun
    assert until(lambda: is_idle(manager))
    # Moved there whole: the events of a file that is written in place may come apart, and be two syncs.
    write(manager, "The windmill is white.\n", "../b.md").rename(manager.workspace / "memory" / "b.md")
    assert until(lambda: bool(manager.search("windmill").hits))
    assert until(lambda: is_idle(manager))  # found as soon as it is committed, reported a moment later
    last = manager.last_sync()
    assert last is not None
    assert (last.indexed, last.unchanged, last.scan) == (1, 1, None)


def test_a_person_who_asks_to_watch_is_not_refused_by_the_settings_of_sessions(make_manager: Any) -> None:
    manager = make_manager(sync={"watch": False, "onSearch": False, "watchDebounceMs": 10})
    manager.sync()
    manager.start_session()
    assert manager._freshness._watcher is None
    manager.start_watching()
    write(manager, "The windmill is white.\n", "memory/b.md")
    assert until(lambda: bool(manager.search("windmill").hits))


def test_what_the_watcher_missed_is_found_by_a_search_after_a_while(
    make_manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make_manager(sync={"watch": True, "onSearch": True, "watchDebounceMs": 60_000})
    write(manager, "The lighthouse is red.\n")
    manager.sync()
    watcher = watch_from_now_on(manager, monkeypatch)
    manager.search("lighthouse")
    assert until(lambda: is_idle(manager))
    monkeypatch.setattr(watcher, "_on_change", lambda _: None)
    write(manager, "The windmill is white.\n", "memory/b.md")
    manager.search("windmill")
    assert manager._freshness._background.wait(30.0)
    assert not manager.search("windmill").hits
    monkeypatch.setattr(module, "_WATCHED_SYNC_SECONDS", 0.0)
    monkeypatch.setattr(module, "_WATCHED_SYNC_SHARE", 0.0)
    assert until(lambda: bool(manager.search("windmill").hits))


def until(is_so: Callable[[], bool], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def test_an_empty_query_is_the_callers_mistake(make_manager: Any) -> None:
    with pytest.raises(MemslotError, match="empty"):
        make_manager().search(" \n")


def test_what_nobody_thought_of_is_an_answer_and_no_exception(
    make_manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    manager.sync()

    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(manager._searcher, "find", fails)
    outcome = manager.search("lighthouse")
    assert outcome.mode == "unavailable"
    assert "division by zero" in (outcome.warning or "")
    monkeypatch.setattr("memslot_memory_core.health.check_health", fails)
    assert any("division by zero" in problem for problem in manager.status(deep=True).problems)


def test_a_sync_that_works_ends_what_failed_before(make_manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    with monkeypatch.context() as patch:

        def fails(*_: Any, **__: Any) -> None:
            raise OSError(5, "Input/output error")

        patch.setattr(manager._freshness._sync, "run", fails)
        manager.request_sync()
        assert manager._freshness._background.wait(30.0)
    assert any("Input/output error" in problem for problem in manager.status().problems)
    manager.sync()
    assert manager.status().is_healthy


def test_a_sync_that_was_stopped_does_not_pass_for_a_whole_one(make_manager: Any) -> None:
    manager = make_manager()
    for number in range(2500):
        (manager.workspace / "memory" / f"{number}.md").write_text(f"Note {number}.\n")
    steps: list[Any] = []
    assert not manager.sync(progress=steps.append, cancelled=lambda: bool(steps)).complete
    assert manager.status().details["syncedAt"] is None
    manager.sync()
    assert manager.status().details["syncedAt"] is not None


def test_the_last_user_closes_it(make_manager: Any) -> None:
    manager = make_manager()
    write(manager, "The lighthouse is red.\n")
    assert manager.acquire()
    manager.close()
    assert manager.search("lighthouse").hits
    manager.close()
    assert not manager.acquire()
    assert "closed" in (manager.search("lighthouse").warning or "")


def test_no_thread_outlives_a_manager(make_manager: Any) -> None:
    before = set(threading.enumerate())
    manager = make_manager(
        HashingProvider(), sync={"watch": True, "watchDebounceMs": 50, "intervalMinutes": 1, "onSessionStart": True}
    )
    write(manager, "The lighthouse is red.\n")
    manager.start_session()
    manager.start_session()
    assert manager.search("lighthouse").hits
    manager.close()
    deadline = time.monotonic() + 30.0  # a thread that embedded waits a few seconds for the next call
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    ours = [each.name for each in set(threading.enumerate()) - before if each.name.startswith("memslot")]
    assert not ours


def test_many_threads_may_do_everything_at_once(make_manager: Any) -> None:
    manager = make_manager(HashingProvider())
    for number in range(30):
        write(manager, f"The lighthouse number {number} is red.\n", f"memory/{number}.md")
    manager.sync()
    wrong: list[BaseException | str] = []

    def use(number: int) -> None:
        try:
            for step in range(6):
                if number == 0:
                    manager.sync(force=step % 2 == 0)
                elif number == 1:
                    manager.status(deep=True)
                elif number == 2:
                    write(manager, f"The windmill {step} is white.\n", "memory/wind.md")
                    manager.request_sync()
                elif not manager.search("lighthouse red").hits:
                    wrong.append("nothing found")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    manager.sync()
    assert manager.status(deep=True).is_healthy
