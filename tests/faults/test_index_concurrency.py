"""Many processes at one index, and processes that differ: nobody waits for long, and nobody sees half of anything."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot_memory_core.index import connection
from memslot_memory_core.index.connection import IndexBusyError

from .index_worker import DigestProvider, location_below, make_manager
from .index_world import QUERIES, Nursery, World, answers, assert_like_fresh, check_whole, wait_until

SECONDS = 4.0


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", seed=11)


def test_eight_processes_search_while_one_syncs_and_one_rebuilds(tmp_path: Path, nursery: Nursery) -> None:
    folder = tmp_path / "world"
    notes = folder / "main" / "memory"
    notes.mkdir(parents=True)
    (folder / "sessions").mkdir()
    # With one chunk size every line is a chunk, with the other every two: an answer shows where it is from.
    for number in range(30):
        lines = [f"Line {line} of note {number} speaks of the lighthouse and {'the sea ' * 12}" for line in range(8)]
        (notes / f"note{number}.md").write_text("\n".join(lines) + "\n")
    first = make_manager(location_below(folder), DigestProvider(), tokens=40)
    first.sync()
    first.close()
    stop = tmp_path / "stop"
    common = {"folder": str(folder), "stop": str(stop)}
    reports = [tmp_path / f"answers{number}.json" for number in range(8)]
    children = [nursery.start("run_searches", answers=str(file), query="lighthouse", **common) for file in reports]
    children.append(nursery.start("run_syncs", tokens=40, **common))
    children.append(nursery.start("run_rebuilds", sizes=[80, 40], **common))
    flips = seen_sizes(location_below(folder).index_file, seconds=SECONDS, most_seconds=10 * SECONDS)
    stop.touch()
    assert [nursery.end(child) for child in children] == [0] * 10
    told = [json.loads(file.read_text()) for file in reports]
    assert [each["wrong"] for each in told] == [[]] * 8
    assert all(sum(each["lengths"].values()) >= 3 for each in told)
    assert flips >= {40, 80}, "both kinds of index were there to be searched"
    assert {length for each in told for length in each["lengths"]} <= {"1", "2"}
    check_whole(location_below(folder).index_file)


def seen_sizes(file: Path, *, seconds: float, most_seconds: float) -> set[int]:
    """The chunk sizes of the live generation over some seconds, or until there were two."""
    db = apsw.Connection(str(file))
    db.set_busy_timeout(1000)
    sizes: set[int] = set()
    started = time.monotonic()
    while (passed := time.monotonic() - started) < most_seconds and (passed < seconds or len(sizes) < 2):
        identity = db.execute("SELECT identity FROM generations WHERE state = 'live'").get
        sizes.add(json.loads(identity)["tokens"])
        time.sleep(0.01)
    db.close()
    return sizes


def test_threads_of_one_manager_search_while_it_rebuilds(world: World) -> None:
    manager = world.manager(DigestProvider())
    manager.sync()
    expected = answers(manager)
    wrong: list[Any] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            try:
                if answers(manager) != expected:
                    wrong.append("another answer")
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        assert manager.sync(force=True).rebuilt
    done.set()
    for thread in threads:
        thread.join()
    manager.close()
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("exclusive", [False, True], ids=["write lock", "whole file"])
def test_a_program_that_keeps_the_index_locked_is_named(
    world: World, tmp_path: Path, nursery: Nursery, monkeypatch: pytest.MonkeyPatch, exclusive: bool
) -> None:
    monkeypatch.setattr(connection, "BUSY_MILLISECONDS", 100)
    monkeypatch.setattr(connection, "READ_BUSY_MILLISECONDS", 100)
    manager = world.manager(DigestProvider())
    manager.sync()
    manager.close()
    stop = tmp_path / "stop"
    holder = nursery.start("hold_lock", folder=str(world.folder), stop=str(stop), exclusive=exclusive)
    assert wait_until(Path(f"{stop}.held").exists)
    manager = world.manager(DigestProvider())
    try:
        outcome = manager.search(QUERIES[0])
        if exclusive:
            assert outcome.mode == "unavailable"
            assert "locked" in (outcome.warning or "")
            assert any("locked" in problem for problem in manager.status(deep=True).problems)
        else:
            assert outcome.hits
        world.edit()
        with pytest.raises(IndexBusyError, match="locked"):
            manager.sync()
        stop.touch()
        assert nursery.end(holder) == 0
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def test_two_managers_in_one_process_agree(world: World) -> None:
    one, other = world.manager(DigestProvider()), world.manager(DigestProvider())
    both = [threading.Thread(target=each.sync) for each in (one, other, one, other)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert answers(one) == answers(other)
    one.close()
    assert other.search(QUERIES[0]).hits
    assert other.status(deep=True).is_healthy
    other.close()


@pytest.mark.parametrize("engine", ["sqlite-vec", "vec1"])
@pytest.mark.parametrize("lacking", ["auto", "sqlite-vec", "numpy"])
def test_a_process_without_the_extension_and_one_with_it_share_an_index(
    world: World, tmp_path: Path, engine: str, lacking: str
) -> None:
    garbage = tmp_path / "vec0.so"
    garbage.write_bytes(b"this is no shared library")
    able = world.manager(DigestProvider(), engine=engine)
    able.sync()
    expected = answers(able)
    unable = world.manager(DigestProvider(), engine=lacking, extension=str(garbage))
    assert answers(unable) == expected
    for _ in range(3):
        world.edit()
        unable.sync()
        status = unable.status(deep=True)
        assert status.is_healthy, status.problems
        assert answers(able) == answers(unable)
        world.edit()
        able.sync()
        assert able.status().details["engine"] == engine
        assert answers(able) == answers(unable)
    unable.sync(force=True)
    able.sync()
    assert_like_fresh(world, able, tmp_path / "scratch", engine=engine)
    check_whole(world.location.index_file)
    able.close()
    unable.close()


def test_tables_that_nobody_here_can_drop_are_dropped_by_one_who_can(world: World, tmp_path: Path) -> None:
    able = world.manager(DigestProvider(), engine="sqlite-vec")
    able.sync()
    garbage = tmp_path / "vec0.so"
    garbage.write_bytes(b"this is no shared library")
    unable = world.manager(DigestProvider(), engine="sqlite-vec", extension=str(garbage))
    unable.sync(force=True)
    unable.close()
    able.sync()
    able.close()
    db = apsw.Connection(str(world.location.index_file))
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'vec_[0-9]*'")]
    db.close()
    assert {name.split("_")[1] for name in tables} == {"2"}


def test_a_vector_table_that_an_extension_cannot_read_is_made_anew(world: World, tmp_path: Path) -> None:
    manager = world.manager(DigestProvider(), engine="sqlite-vec")
    manager.sync()
    expected = answers(manager)
    db = apsw.Connection(str(world.location.index_file))
    db.execute("UPDATE vec_1_vector_chunks00 SET vectors = x'00'")
    db.close()
    assert answers(manager) == expected, "the vectors themselves are still there"
    manager.sync()
    assert manager.status().details["engine"] == "sqlite-vec"
    assert_like_fresh(world, manager, tmp_path / "scratch", engine="sqlite-vec")
    check_whole(world.location.index_file)
    manager.close()
