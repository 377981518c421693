"""Changes on disk are noticed, whichever way they come about, and threads end when watching does."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot_memory_core.index import watcher
from memslot_memory_core.index.watcher import WatchedFolders, Watcher

QUIET_MS = 40


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "_RESCAN_SECONDS", 0.3)


class Watched:
    """A folder under watch, and how often something was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.extra = folder.parent / "extra"
        self.told = 0
        self.paths: list[set[str] | None] = []
        self.watcher = Watcher(self._folders, self._tell, QUIET_MS)

    def _folders(self) -> WatchedFolders:
        return WatchedFolders([self.folder], [self.folder / "memory", self.extra])

    def _tell(self, paths: Collection[str] | None) -> None:
        self.told += 1
        self.paths.append(None if paths is None else set(paths))

    @property
    def named(self) -> set[str]:
        """All paths that were told."""
        return set().union(*(paths or () for paths in self.paths))

    def maintain(self) -> None:
        """Wait until the watch has begun, which it tells, and what was written before has been told."""
        assert until(lambda: self.told > 0)
        time.sleep(0.5)

    def tells_of(self, change: Callable[[], Any]) -> bool:
        before = self.told
        change()
        return until(lambda: self.told > before)


def until(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not is_so():
        time.sleep(0.01)
    return is_so()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    made = Watched(folder)
    made.watcher.start()
    made.maintain()
    assert until(lambda: made.watcher.is_sure)
    yield made
    made.watcher.close()


def test_every_way_of_changing_a_note_is_noticed(watched: Watched) -> None:
    memory = watched.folder / "memory"
    assert watched.tells_of(lambda: (memory / "a.md").write_text("one"))
    assert watched.tells_of(lambda: (memory / "a.md").write_text("two"))
    assert watched.tells_of(lambda: (watched.folder / "MEMORY.md").write_text("three"))
    (memory / "a.tmp").write_text("four")
    assert watched.tells_of(lambda: (memory / "a.tmp").replace(memory / "a.md"))
    assert watched.tells_of((memory / "a.md").unlink)


def test_the_paths_that_have_changed_are_named(watched: Watched) -> None:
    memory = watched.folder / "memory"
    watched.paths.clear()
    assert watched.tells_of(lambda: (memory / "a.md").write_text("one"))
    assert watched.tells_of(lambda: (memory / "a.md").rename(memory / "b.md"))
    assert until(lambda: str(memory / "b.md") in watched.named)
    assert None not in watched.paths
    assert watched.named == {str(memory / "a.md"), str(memory / "b.md")}


def test_after_an_error_it_goes_on_and_everything_may_have_changed(watched: Watched) -> None:
    memory = watched.folder / "memory"
    watched.paths.clear()
    (memory / os.fsdecode(b"caf\xe9.md")).write_text("Latin-1")  # watchfiles has no word for such a name
    assert until(lambda: None in watched.paths)
    assert until(lambda: watched.watcher.is_sure)
    assert not watched.watcher.is_polling
    watched.paths.clear()
    assert watched.tells_of(lambda: (memory / "a.md").write_text("one"))
    assert {str(memory / "a.md")} in watched.paths


def test_folders_that_come_and_go_are_noticed_with_what_is_in_them(watched: Watched, tmp_path: Path) -> None:
    memory = watched.folder / "memory"
    assert watched.tells_of(lambda: (memory / "deep" / "deeper").mkdir(parents=True))
    time.sleep(0.3)
    assert watched.tells_of(lambda: (memory / "deep" / "deeper" / "b.md").write_text("five"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.md").write_text("six")
    assert watched.tells_of(lambda: elsewhere.rename(memory / "moved"))
    assert watched.tells_of(lambda: shutil.rmtree(memory / "deep"))


def test_memory_that_is_deleted_and_made_again_is_watched_again(watched: Watched) -> None:
    memory = watched.folder / "memory"
    assert watched.tells_of(lambda: shutil.rmtree(memory))
    time.sleep(0.3)
    assert watched.tells_of(memory.mkdir)
    watched.maintain()
    assert watched.tells_of(lambda: (memory / "a.md").write_text("back"))


def test_a_note_written_right_after_its_folder_was_made_is_not_missed(watched: Watched) -> None:
    shutil.rmtree(watched.folder / "memory")
    watched.maintain()
    seen: list[bool] = []
    note = watched.folder / "memory" / "a.md"
    watched.watcher._on_change = lambda _: seen.append(note.exists())
    note.parent.mkdir()
    time.sleep(QUIET_MS * 3 / 1000)  # the watch is just being moved
    note.write_text("quick")
    assert until(lambda: bool(seen) and seen[-1]), "told when the note was there"


def test_an_extra_folder_that_is_made_later_is_watched(watched: Watched) -> None:
    assert watched.tells_of(watched.extra.mkdir)
    watched.maintain()
    assert watched.tells_of(lambda: (watched.extra / "a.md").write_text("extra"))


def test_a_burst_of_writes_is_told_a_few_times(watched: Watched) -> None:
    before, began = watched.told, time.monotonic()
    for number in range(100):
        (watched.folder / "memory" / f"{number}.md").write_text("burst")
    assert until(lambda: len(watched.named) == 100)
    seconds = time.monotonic() - began
    assert watched.told - before <= 8 + seconds * 1000 / QUIET_MS, "one for each step of time, on a busy machine"


def test_a_folder_with_a_dot_in_its_name_is_noticed_when_it_goes(watched: Watched, tmp_path: Path) -> None:
    folder = watched.folder / "memory" / "vault.v2"
    assert watched.tells_of(folder.mkdir)
    time.sleep(0.3)
    assert watched.tells_of(lambda: folder.rename(tmp_path / "elsewhere"))


def test_extra_paths_are_watched_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    extra = ["vault.v2", "docs/a.MD", "folder.md", "~nobody-of-this-name/x"]
    folders = WatchedFolders.of(tmp_path, extra, tmp_path / "sessions")
    assert folders.flat == [tmp_path, tmp_path / "docs", tmp_path / "sessions"]
    assert folders.deep == [tmp_path / name for name in ("memory", "vault.v2", "folder.md", "~nobody-of-this-name/x")]


def test_files_of_no_interest_are_not_told(watched: Watched) -> None:
    (watched.folder / "picture.png").write_bytes(b"png")
    (watched.folder / "memory" / ".a.md.swp").write_bytes(b"swap")
    notes = [watched.folder / "MEMORY.md", watched.folder / "memory" / "a.md"]
    for note in notes:
        note.write_text("told after what came before it")
    wanted = {str(note) for note in notes}
    assert until(lambda: watched.named >= wanted)
    assert watched.named == wanted


def test_where_the_system_cannot_notify_it_looks_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    real = watchfiles.watch

    def limited(*folders: Any, force_polling: bool | None = None, **options: Any) -> Any:
        if not force_polling:
            raise OSError(28, "No space left on device (os error 28) about the inotify watch limit")
        return real(*folders, force_polling=True, poll_delay_ms=50, **options)

    monkeypatch.setattr(watchfiles, "watch", limited)
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    watched = Watched(folder)
    watched.watcher.start()
    watched.maintain()
    assert watched.watcher.is_polling
    assert not watched.watcher.is_sure
    assert watched.tells_of(lambda: (folder / "memory" / "a.md").write_text("polled"))
    assert all(paths is None for paths in watched.paths), "two changes may look like one, so it names none"
    watched.watcher.close()
    assert until(lambda: not watching_threads())


def watching_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("memslot-watch")]


def test_closing_ends_all_threads_at_any_moment(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    for pause in (0.0, 0.001, 0.01, 0.05, 0.2):
        watched = Watched(folder)
        watched.watcher.start()
        time.sleep(pause)
        shutil.rmtree(folder / "memory")
        (folder / "memory").mkdir()
        watched.watcher.close()
    assert until(lambda: not watching_threads())


def test_an_error_of_whoever_is_told_does_not_end_the_watch(watched: Watched) -> None:
    told: list[int] = []

    def failing(_: object) -> None:
        told.append(1)
        raise RuntimeError("a mistake elsewhere")

    watched.watcher._on_change = failing
    (watched.folder / "memory" / "a.md").write_text("one")
    assert until(lambda: len(told) == 1)
    time.sleep(0.2)
    (watched.folder / "memory" / "a.md").write_text("two")
    assert until(lambda: len(told) == 2)


def test_a_watched_memory_answers_with_what_was_written_just_now(make_manager: Any) -> None:
    manager = make_manager(sync={"watch": True, "watchDebounceMs": 50, "onSearch": False, "onSessionStart": True})
    manager.start_session()
    note = manager.workspace / "memory" / "a.md"
    note.write_text("The lighthouse is red.\n")
    assert until(lambda: bool(manager.search("lighthouse").hits))
    note.write_text("The windmill is white.\n")
    assert until(lambda: bool(manager.search("windmill").hits))
    manager.close()
    assert until(lambda: not watching_threads())
