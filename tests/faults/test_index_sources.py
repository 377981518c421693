"""Notes that vanish while they are read, and clocks that jump."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot_memory_core.index import file_preparation
from memslot_memory_core.manager import MemoryManager

from .index_worker import DigestProvider
from .index_world import QUERIES, World, answers, assert_like_fresh


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", seed=31)


@pytest.fixture
def manager(world: World) -> Iterator[MemoryManager]:
    made = world.manager(DigestProvider())
    yield made
    made.close()


def do_before_reading(monkeypatch: pytest.MonkeyPatch, number: int, action: Any) -> None:
    """Have something happen after the folders were listed, right before the n-th note is opened."""
    read, seen = file_preparation.read_text_file, 0

    def reading(file: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == number:
            action()
        return read(file)

    monkeypatch.setattr(file_preparation, "read_text_file", reading)


def test_a_note_that_vanishes_before_it_is_read_is_passed_over(
    world: World, manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_before_reading(monkeypatch, 4, lambda: [note.unlink() for note in world.notes[-3:]])
    report = manager.sync()
    assert report.complete
    assert_like_fresh(world, manager, tmp_path / "scratch")


def test_a_folder_that_vanishes_during_a_sync_is_passed_over(
    world: World, manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.sync()
    world.edit()
    for note in world.notes:
        note.write_text(note.read_text() + "One more paragraph about balova.\n")
    do_before_reading(monkeypatch, 2, lambda: shutil.rmtree(world.location.workspace / "memory"))
    assert manager.sync().complete
    outcome = manager.search(QUERIES[0])
    assert outcome.mode == "hybrid"
    assert manager.status(deep=True).is_healthy
    (world.location.workspace / "memory").mkdir()
    world.edit()
    assert_like_fresh(world, manager, tmp_path / "scratch")


def test_a_workspace_that_vanishes_during_a_sync_costs_nothing(
    world: World, manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.sync()
    expected = answers(manager)
    hidden = tmp_path / "hidden"
    for note in world.notes:
        os.utime(note, (1, 1))
    do_before_reading(monkeypatch, 2, lambda: world.location.workspace.rename(hidden))
    manager.sync()
    manager.sync()
    assert answers(manager) == expected
    assert any("workspace" in problem for problem in manager.status().problems)
    hidden.rename(world.location.workspace)
    assert_like_fresh(world, manager, tmp_path / "scratch")


def test_a_note_that_becomes_a_folder_or_a_pipe_is_passed_over(
    world: World, manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = world.notes[-2:]

    def change() -> None:
        first.unlink()
        first.mkdir()
        second.unlink()
        os.mkfifo(second)

    do_before_reading(monkeypatch, 3, change)
    assert manager.sync().complete
    monkeypatch.undo()
    assert_like_fresh(world, manager, tmp_path / "scratch")


def test_reading_a_note_that_is_gone_is_an_empty_answer(world: World, manager: MemoryManager) -> None:
    manager.sync()
    note = world.notes[0]
    note.unlink()
    assert manager.read(f"memory/{note.name}").text == ""
    shutil.rmtree(world.location.workspace)
    assert manager.read("MEMORY.md").text == ""


MOMENTS = {"1901": -2_177_452_800, "1969": -1, "1970": 0, "2106": 4_294_967_296, "2400": 13_569_465_600}


@pytest.mark.parametrize("moment", MOMENTS)
def test_files_of_any_time_are_indexed_once(world: World, manager: MemoryManager, tmp_path: Path, moment: str) -> None:
    seconds = MOMENTS[moment]
    for note in [*world.notes, *world.location.sessions_dir.iterdir()]:
        os.utime(note, (seconds, seconds))
    manager.sync()
    time.sleep(0.06)  # a file that was changed just now is looked at once more
    manager.sync()
    assert manager.search(QUERIES[0]).hits
    reads: list[Any] = []
    monkeypatch = pytest.MonkeyPatch()
    do_before_reading(monkeypatch, 1, lambda: reads.append(1))
    manager.sync()
    monkeypatch.undo()
    assert not reads, "nothing has changed, so nothing is read"
    note = world.notes[0]
    note.write_text("Something else entirely about balova.\n")
    os.utime(note, (seconds, seconds))
    assert manager.sync().indexed == 1
    assert_like_fresh(world, manager, tmp_path / "scratch")


@pytest.mark.parametrize("jump", [-10 * 365 * 86400.0, -3600.0, -0.2, 0.2, 3600.0, 10 * 365 * 86400.0])
def test_a_clock_that_jumps_changes_nothing(
    world: World, manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    manager.sync()
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + jump)
    assert manager.search(QUERIES[0]).hits
    world.edit()
    manager.sync()
    assert_like_fresh(world, manager, tmp_path / "scratch")
    monkeypatch.undo()
    world.edit()
    assert_like_fresh(world, manager, tmp_path / "scratch")
    assert manager.search("nothing of this kind anywhere").warning is None or manager.status().is_healthy
