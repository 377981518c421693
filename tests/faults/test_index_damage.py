"""An index file that is deleted, cut short, overwritten or mixed up: the notes are all there, so it is made again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from memslot_memory_core.index.connection import IndexTooNewError
from memslot_memory_core.manager import MemoryManager

from .index_worker import DigestProvider
from .index_world import QUERIES, Nursery, World, answers, assert_like_fresh, check_whole, content


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", seed=1)


@pytest.fixture
def manager(world: World) -> Iterator[MemoryManager]:
    made = world.manager(DigestProvider())
    made.sync()
    yield made
    made.close()


def wal(file: Path) -> Path:
    return Path(f"{file}-wal")


def shm(file: Path) -> Path:
    return Path(f"{file}-shm")


def cut_to(share: float) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def cut_to_bytes(size: int) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, size)


def fill_with(data: bytes) -> Callable[[Path], None]:
    return lambda file: file.write_bytes((data * (file.stat().st_size // len(data) + 1))[: file.stat().st_size])


def overwrite(start: float, end: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        size = file.stat().st_size
        with file.open("r+b") as opened:
            opened.seek(int(size * start))
            opened.write(bytes(7 * number % 256 for number in range(int(size * (end - start)))))

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "empty": cut_to_bytes(0),
    "one byte": cut_to_bytes(1),
    "half a header": cut_to_bytes(50),
    "header alone": cut_to_bytes(100),
    "one page": cut_to_bytes(4096),
    "a page and a half": cut_to_bytes(6000),
    "half": cut_to(0.5),
    "all but the end": cut_to(0.97),
    "zeros": fill_with(b"\0"),
    "text": fill_with(b"this is no database at all\n"),
    "header overwritten": overwrite(0.0, 0.01),
    "schema overwritten": overwrite(0.002, 0.05),
    "middle overwritten": overwrite(0.3, 0.6),
    "end overwritten": overwrite(0.7, 1.0),
}


@pytest.mark.parametrize("open_before", [True, False], ids=["in use", "not in use"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_again(
    world: World, manager: MemoryManager, tmp_path: Path, damage: str, open_before: bool
) -> None:
    before = answers(manager)
    if not open_before:
        manager.close()  # the log goes into the file
    DAMAGES[damage](world.location.index_file)
    if damage not in ("deleted",):
        wal(world.location.index_file).unlink(missing_ok=True)
        shm(world.location.index_file).unlink(missing_ok=True)
    after = world.manager(DigestProvider())
    try:
        after.status(deep=True)
        for query in QUERIES:
            outcome = after.search(query)
            assert outcome.mode != "unavailable", outcome.warning
        assert_like_fresh(world, after, tmp_path / "scratch")
        assert answers(after) == before
    finally:
        after.close()


def test_a_manager_that_has_the_file_open_notices_that_it_was_deleted(world: World, manager: MemoryManager) -> None:
    before = answers(manager)
    shutil.rmtree(world.location.index_file.parent)
    outcome = manager.search(QUERIES[0])
    assert outcome.hits, "an index that is not there is built before the first answer"
    assert answers(manager) == before
    assert manager.status(deep=True).is_healthy


def test_a_manager_that_has_the_file_open_notices_that_it_was_overwritten(world: World, manager: MemoryManager) -> None:
    before = answers(manager)
    file = world.location.index_file
    fill_with(b"this is no database at all\n")(file)
    wal(file).write_bytes(b"")
    outcome = manager.search(QUERIES[0])
    assert outcome.mode in ("hybrid", "unavailable")
    manager.sync()
    assert answers(manager) == before
    assert file.with_name("main.sqlite.damaged").exists(), "what was there is kept for whoever wants to look at it"


@pytest.mark.parametrize("engine", ["sqlite-vec", "vec1", "numpy"])
def test_damage_in_any_tenth_of_the_file_never_reaches_the_agent(tmp_path: Path, engine: str) -> None:
    world = World(tmp_path / "world", seed=2, files=8)
    manager = world.manager(DigestProvider(), engine=engine)
    manager.sync()
    manager.close()
    sound = world.location.index_file.read_bytes()
    for tenth in range(10):
        world.delete_index()
        world.location.index_file.parent.mkdir()
        world.location.index_file.write_bytes(sound)
        overwrite(tenth / 10, (tenth + 1) / 10)(world.location.index_file)
        manager = world.manager(DigestProvider(), engine=engine)
        try:
            manager.status(deep=True)
            outcome = manager.search(QUERIES[0])
            assert outcome.hits or outcome.warning
            manager.sync()
            manager.sync(force=True)
            assert_like_fresh(world, manager, tmp_path / "scratch", engine=engine)
            check_whole(world.location.index_file)
        finally:
            manager.close()


def leave_log_behind(world: World, nursery: Nursery) -> None:
    """Have a process killed that has written something: its log is not in the file yet."""
    world.edit()
    nursery.end(nursery.start("run_sync", die_at=25, folder=str(world.folder)))


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.mark.parametrize("garbage", ["zeros", "noise", "half", "header only", "empty", "bit"])
def test_a_garbled_log_costs_at_most_what_it_held(world: World, tmp_path: Path, nursery: Nursery, garbage: str) -> None:
    nursery.end(nursery.start("run_sync", folder=str(world.folder)))
    leave_log_behind(world, nursery)
    log = wal(world.location.index_file)
    data = log.read_bytes()
    assert len(data) > 8192
    middle = len(data) // 2
    log.write_bytes(
        {
            "zeros": bytes(len(data)),
            "noise": bytes(7 * number % 256 for number in range(len(data))),
            "half": data[:middle],
            "header only": data[:32],
            "empty": b"",
            "bit": data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :],
        }[garbage]
    )
    check_whole(world.location.index_file)
    manager = world.manager(DigestProvider())
    try:
        assert manager.search(QUERIES[0]).hits
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


@pytest.mark.parametrize("shared_memory", ["deleted", "garbage"])
def test_the_shared_memory_file_is_not_needed_to_recover(
    world: World, tmp_path: Path, nursery: Nursery, shared_memory: str
) -> None:
    nursery.end(nursery.start("run_sync", folder=str(world.folder)))
    leave_log_behind(world, nursery)
    file = shm(world.location.index_file)
    assert file.exists()
    if shared_memory == "deleted":
        file.unlink()
    else:
        file.write_bytes(b"nonsense" * 4096)
    check_whole(world.location.index_file)
    manager = world.manager(DigestProvider())
    try:
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def test_the_log_of_another_index_does_no_lasting_harm(world: World, tmp_path: Path, nursery: Nursery) -> None:
    other = World(tmp_path / "other", seed=9)
    for each in (world, other):
        nursery.end(nursery.start("run_sync", folder=str(each.folder)))
    leave_log_behind(other, nursery)
    shutil.copy(wal(other.location.index_file), wal(world.location.index_file))
    manager = world.manager(DigestProvider())
    try:
        manager.status(deep=True)
        outcome = manager.search(QUERIES[0])
        assert outcome.hits or outcome.warning
        manager.sync(force=True)
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def test_a_log_without_its_index_is_not_played_into_a_new_one(world: World, tmp_path: Path, nursery: Nursery) -> None:
    nursery.end(nursery.start("run_sync", folder=str(world.folder)))
    leave_log_behind(world, nursery)
    world.location.index_file.unlink()
    for note in world.notes[:5]:
        note.unlink()
    manager = world.manager(DigestProvider())
    try:
        assert manager.search(QUERIES[0]).mode == "hybrid"
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def test_an_index_of_a_newer_memslot_is_left_alone_and_named(world: World, manager: MemoryManager) -> None:
    manager.close()
    db = apsw.Connection(str(world.location.index_file))
    db.pragma("user_version", 99)
    db.close()
    before = world.location.index_file.read_bytes()
    newer = world.manager(DigestProvider())
    try:
        outcome = newer.search(QUERIES[0])
        assert outcome.mode == "unavailable"
        assert "newer memslot" in (outcome.warning or "")
        status = newer.status(deep=True)
        assert any("newer memslot" in problem for problem in status.problems)
        with pytest.raises(IndexTooNewError, match="schema 99"):
            newer.sync()
        newer.start_session()
    finally:
        newer.close()
    assert world.location.index_file.read_bytes() == before


def test_a_repair_by_one_process_is_not_undone_by_another(world: World, manager: MemoryManager) -> None:
    late = world.manager(DigestProvider())
    file = world.location.index_file
    assert late.search(QUERIES[0]).hits
    fill_with(b"this is no database at all\n")(file)
    wal(file).write_bytes(b"")
    with pytest.raises(apsw.Error), late._index.snapshot():
        raise apsw.CorruptError("seen by this one, before the other repairs it")
    manager.sync()
    repaired = content(file)
    late._index.discard(wait_seconds=1.0)
    assert content(file) == repaired
    assert late.search(QUERIES[0]).hits
    late.close()


def test_something_else_in_the_place_of_the_index_is_named(world: World) -> None:
    world.location.index_file.mkdir(parents=True)
    manager = world.manager(DigestProvider())
    try:
        outcome = manager.search(QUERIES[0])
        assert outcome.mode == "unavailable"
        assert str(world.location.index_file) in f"{outcome.warning} {outcome.stale}"
        assert manager.status(deep=True).problems
    finally:
        manager.close()


def test_a_link_in_the_place_of_the_index_is_not_followed(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    elsewhere.write_bytes(b"")
    world.location.index_file.parent.mkdir(parents=True)
    world.location.index_file.symlink_to(elsewhere)
    manager = world.manager(DigestProvider())
    try:
        assert manager.search(QUERIES[0]).mode == "unavailable"
        assert manager.status(deep=True).problems
    finally:
        manager.close()
    assert elsewhere.read_bytes() == b""
