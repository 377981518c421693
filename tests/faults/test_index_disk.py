"""A disk that is full, fails, or may not be written: said in a sentence, and made up for once it works again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from memslot_memory_core.index.connection import IndexFault
from memslot_memory_core.manager import MemoryManager

from .index_worker import DigestProvider, FaultyFiles
from .index_world import QUERIES, Nursery, World, answers, assert_like_fresh, check_whole

# SQLite cannot hand on every error of a disk, such as one while a file is closed; apsw then shows it like this.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

STEPS = (1, 2, 3, 5, 8, 12, 17, 23, 30, 38, 47, 57, 70, 90, 120)


class Disk:
    """Fails at the n-th write from now on, and then at each, until it is mended."""

    def __init__(self) -> None:
        self.error: type[apsw.Error] = apsw.FullError
        self._left: int | None = None
        self.failed = False

    def fail_at(self, write: int, error: type[apsw.Error]) -> None:
        self._left, self.error, self.failed = write, error, False

    def mend(self) -> None:
        self._left = None

    def step(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.failed = True
                raise self.error("a failure of this test")


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    usual = apsw.vfs_names()[0]
    files = FaultyFiles(made.step)
    apsw.set_default_vfs("faulty")
    yield made
    made.mend()
    apsw.set_default_vfs(usual)
    files.unregister()


def fault_of(manager: MemoryManager, **arguments: bool) -> str | None:
    """What a sync that fails says."""
    try:
        manager.sync(**arguments)
    except IndexFault as fault:
        return str(fault)
    return None


@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError], ids=["full", "failing"])
@pytest.mark.parametrize("work", ["first index", "changes", "rebuild"])
def test_a_disk_that_fails_at_any_write_leaves_a_whole_index(
    tmp_path: Path, disk: Disk, work: str, error: type[apsw.Error]
) -> None:
    world = World(tmp_path / "world", seed=3, files=8)
    manager = world.manager(DigestProvider())
    manager.sync()
    failures = 0
    for step in STEPS:
        if work == "first index":
            manager.close()
            world.delete_index()
            manager = world.manager(DigestProvider())
        else:
            world.edit()
        disk.fail_at(step, error)
        said = fault_of(manager, force=work == "rebuild")
        failures += said is not None
        assert said is None or ("main.sqlite" in said and "a failure of this test" in said)
        outcome = manager.search(QUERIES[0])
        assert outcome.hits or outcome.warning
        manager.status(deep=True)
        disk.mend()
        check_whole(world.location.index_file)
    assert failures >= 4
    assert_like_fresh(world, manager, tmp_path / "scratch")
    manager.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path, nursery: Nursery, share: float) -> None:
    world = World(tmp_path / "world", seed=4)
    manager = world.manager(DigestProvider())
    manager.sync()
    manager.close()
    size = world.location.index_file.stat().st_size
    world.delete_index()
    answer = tmp_path / "answer.json"
    child = nursery.start(
        "run_within", folder=str(world.folder), most_bytes=max(4096, int(size * share)), answer=str(answer)
    )
    assert nursery.end(child) == 0
    told = json.loads(answer.read_text())
    assert "main.sqlite" in told["sync"]
    assert told["problems"] or told["hits"]
    check_whole(world.location.index_file)
    manager = world.manager(DigestProvider())
    try:
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def run(*command: str | Path) -> bool:
    return subprocess.run([str(part) for part in command], capture_output=True, check=False).returncode == 0


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    folder.mkdir(parents=True)
    if os.geteuid() != 0 or not run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder):
        pytest.skip("only the superuser may mount a small disk")
    try:
        yield
    finally:
        assert run("umount", folder)


def test_a_real_disk_that_is_full(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=5, files=60)
    with small_disk(world.location.index_file.parent, 200):
        manager = world.manager(DigestProvider())
        try:
            with pytest.raises(IndexFault, match="full"):
                manager.sync()
            outcome = manager.search(QUERIES[0])
            assert outcome.hits or "full" in f"{outcome.warning} {outcome.stale}"
            check_whole(world.location.index_file)
            assert run("mount", "-o", "remount,size=8m", world.location.index_file.parent)
            assert_like_fresh(world, manager, tmp_path / "scratch")
        finally:
            manager.close()


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Nothing in this folder can be written, not even by the superuser."""
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    if not (run("mount", "--bind", folder, folder) and run("mount", "-o", "remount,ro,bind", folder)):
        pytest.skip("the superuser can write everywhere, and may not mount anything here")
    try:
        yield
    finally:
        assert run("umount", folder)


def test_an_index_in_a_folder_that_cannot_be_written_is_searched_all_the_same(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=6)
    manager = world.manager(DigestProvider())
    manager.sync()
    before = answers(manager)
    manager.close()
    with unwritable(world.location.index_file.parent):
        manager = world.manager(DigestProvider())
        try:
            assert answers(manager) == before
            world.edit()
            with pytest.raises(IndexFault, match="cannot be"):
                manager.sync()
            status = manager.status(deep=True)
            assert status.counts["chunks"] > 0
            assert any("cannot be written, so changes are not indexed" in problem for problem in status.problems)
            stale = manager.search("lighthouse", fresh_seconds=1.0).stale
            assert stale is not None
            assert "sync failed" in stale
            manager.start_session()
            assert manager._freshness._background.wait(30.0)
            assert any("sync failed" in problem for problem in manager.status().problems)
            assert answers(manager) == before
        finally:
            manager.close()


def test_a_log_left_in_a_folder_that_cannot_be_written_is_read_or_named(tmp_path: Path, nursery: Nursery) -> None:
    world = World(tmp_path / "world", seed=7)
    nursery.end(nursery.start("run_sync", folder=str(world.folder)))
    world.edit()
    nursery.end(nursery.start("run_sync", die_at=25, folder=str(world.folder)))
    assert world.location.index_file.with_name("main.sqlite-wal").stat().st_size
    with unwritable(world.location.index_file.parent):
        manager = world.manager(DigestProvider())
        try:
            outcome = manager.search(QUERIES[0])
            assert outcome.hits or "main.sqlite" in (outcome.warning or "")
            manager.status(deep=True)
        finally:
            manager.close()


def test_without_an_index_and_without_a_place_for_one_the_reason_is_given(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=8)
    world.location.index_file.parent.mkdir()
    with unwritable(world.location.index_file.parent):
        manager = world.manager(DigestProvider())
        try:
            outcome = manager.search(QUERIES[0])
            assert not outcome.hits
            assert "cannot be written" in f"{outcome.warning} {outcome.stale}"
            assert any("cannot be written" in problem for problem in manager.status(deep=True).problems)
        finally:
            manager.close()


def in_the_way(folder: Path) -> None:
    folder.write_text("a file where the folder should be")


def dangling(folder: Path) -> None:
    folder.symlink_to("/nonexistent/place")


@pytest.mark.parametrize("obstacle", [in_the_way, dangling])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, obstacle: Callable[[Path], None]) -> None:
    world = World(tmp_path / "world", seed=8)
    obstacle(world.location.index_file.parent)
    manager = world.manager(DigestProvider())
    try:
        outcome = manager.search(QUERIES[0])
        assert str(world.location.index_file.parent) in f"{outcome.warning} {outcome.stale}"
        assert manager.status(deep=True).problems
        with pytest.raises(IndexFault):
            manager.sync()
    finally:
        manager.close()
