"""A file system without a free byte: searches go on, and say what they miss."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memslot_memory_core.index.connection import IndexFault

from .index_worker import DigestProvider
from .index_world import QUERIES, World, assert_like_fresh

_LEAVE_LOG = """
import apsw, os, sys
db = apsw.Connection(sys.argv[1])
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("INSERT INTO facts VALUES ('last words', '1')")
db.execute("DELETE FROM facts WHERE name = 'last words'")
os._exit(0)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("no file system can be mounted here: there is no mount command")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Take every byte that is left."""
    with (disk / "ballast").open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def close_cleanly(_index: Path) -> None:
    pass


def die_with_a_log(index: Path) -> None:
    """As a process that was killed leaves it: with a log whose index is lost."""
    subprocess.run([sys.executable, "-c", _LEAVE_LOG, str(index)], check=True)
    assert index.with_name(f"{index.name}-wal").stat().st_size
    index.with_name(f"{index.name}-shm").unlink()


@pytest.mark.parametrize("leave", [close_cleanly, die_with_a_log])
def test_a_full_disk_stops_no_search(small_disk: Path, tmp_path: Path, leave: Callable[[Path], None]) -> None:
    world = World(small_disk / "world", seed=5, files=8)
    first = world.manager(DigestProvider())
    first.sync()
    expected = [[hit.path for hit in first.search(query).hits] for query in QUERIES]
    first.close()
    leave(world.location.index_file)
    fill(small_disk)
    os.utime(next(world.location.workspace.glob("memory/*.md")), (0, 0))  # so that there is something to write

    manager = world.manager(DigestProvider())
    try:
        for fresh_seconds in (None, 2.0, 0.0):
            outcomes = [manager.search(query, fresh_seconds=fresh_seconds) for query in QUERIES]
            assert [[hit.path for hit in outcome.hits] for outcome in outcomes] == expected
        assert manager.search(QUERIES[0], fresh_seconds=2.0).stale
        assert manager.status().counts["files"]
        with pytest.raises(IndexFault):
            manager.sync()

        (small_disk / "ballast").unlink()
        world.edit()
        assert_like_fresh(world, manager, tmp_path / "fresh")
    finally:
        manager.close()
    assert not list(world.location.index_file.parent.glob("*.damaged"))


def test_two_managers_search_on_a_full_disk_one_after_the_other(small_disk: Path) -> None:
    world = World(small_disk / "world", seed=6, files=8)
    first = world.manager(DigestProvider())
    first.sync()
    first.close()
    die_with_a_log(world.location.index_file)
    fill(small_disk)
    managers = [world.manager(DigestProvider()) for _ in range(2)]
    try:
        for _ in range(3):
            for manager in managers:
                assert manager.search(QUERIES[0], fresh_seconds=0.0).hits
    finally:
        for manager in managers:
            manager.close()
