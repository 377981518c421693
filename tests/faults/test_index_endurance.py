"""Clocks that jump, files that are replaced, very many and very large ones, and very long use."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from memslot_memory_core.manager import MemoryManager

from .index_worker import DigestProvider
from .index_world import QUERIES, Nursery, World

DAY = 86_400


def text_of(manager: MemoryManager, query: str) -> str:
    return "\n".join(hit.snippet for hit in manager.search(query, fresh_seconds=0.0).hits)


@pytest.mark.parametrize("jump", [400 * DAY, -400 * DAY], ids=["ahead", "back"])
def test_a_change_under_a_clock_that_jumped_is_taken_up(tmp_path: Path, jump: int) -> None:
    world = World(tmp_path / "world", seed=2, files=4)
    note = world.location.workspace / "memory" / "clock.md"
    moment = time.time() + jump
    manager = world.manager()
    for colour in ("red", "tan", "red", "sky"):  # as many bytes each, at the very same time
        note.write_text(f"The zeppelin is {colour}.\n")
        os.utime(note, (moment, moment))
        manager.sync()
        assert f"The zeppelin is {colour}." in text_of(manager, "zeppelin")
    assert manager.status().details["changedSince"] == 0
    manager.close()


def test_a_file_that_is_replaced_while_it_is_read_is_indexed_whole(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=2, files=4)
    note = world.location.workspace / "memory" / "changing.md"
    texts = [f"The zeppelin has number {number}.\n" * 2000 for number in range(2)]
    note.write_text(texts[0])
    stop = threading.Event()

    def replace() -> None:
        number = 0
        while not stop.is_set():
            number = 1 - number
            spare = note.with_suffix(".tmp")
            spare.write_text(texts[number])
            spare.replace(note)

    thread = threading.Thread(target=replace)
    thread.start()
    manager = world.manager()
    try:
        for _ in range(5):
            manager.sync()
            with manager._index.snapshot() as snapshot:
                assert snapshot is not None
                tables = snapshot.generation.tables
                rows = snapshot.db.execute(
                    f"SELECT c.text FROM {tables.chunks} c JOIN {tables.files} f ON f.id = c.file_id "
                    "WHERE f.path = 'memory/changing.md'"
                ).fetchall()
            lines = {line for (text,) in rows for line in text.splitlines() if line}
            assert len(lines) <= 1, "lines of two versions"
    finally:
        stop.set()
        thread.join()
    manager.sync()
    assert note.read_text().splitlines()[0] in text_of(manager, "zeppelin number")
    manager.close()


def usage() -> dict[str, int]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "threads": threading.active_count(),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("cycles", "searches"), [(20, 200), pytest.param(1000, 10_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
def test_long_use_takes_no_more_memory_files_or_threads(tmp_path: Path, cycles: int, searches: int) -> None:
    world = World(tmp_path / "world", seed=2)

    def use(times: int, each: int) -> None:
        for _ in range(times):
            manager: Any = world.manager(DigestProvider())
            manager.sync()
            for number in range(each):
                assert manager.search(QUERIES[number % len(QUERIES)]).hits
            manager.close()

    use(cycles // 4, searches // cycles)
    before = usage()
    use(cycles, searches // cycles)
    after = usage()
    assert after["threads"] <= before["threads"]
    assert after["files"] <= before["files"]
    assert after["bytes"] - before["bytes"] < 24_000_000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_thousand_files_are_indexed_and_one_change_is_found(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=2, files=1)
    folder = world.location.workspace / "memory"
    for number in range(50_000):
        part = folder / f"part{number // 500}"
        part.mkdir(exist_ok=True)
        (part / f"{number}.md").write_text(f"The lantern number {number} hangs in row {number % 97}.\n")
    manager = world.manager(DigestProvider())
    assert manager.sync().complete
    (folder / "part7" / "3501.md").write_text("The zeppelin landed.\n")
    assert "zeppelin" in "".join(hit.snippet for hit in manager.search("The zeppelin landed", fresh_seconds=60.0).hits)
    status = manager.status()
    assert not status.problems
    manager.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_note_of_200_megabytes_is_indexed_in_part_and_in_little_memory_and_status_says_so(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=2, files=1)
    with (world.location.workspace / "memory" / "huge.md").open("w") as note:
        note.write("The zeppelin landed.\n")
        for number in range(3_400_000):
            note.write(f"The lantern number {number:07} hangs high, all day long.\n")
    nursery, told = Nursery(), tmp_path / "told"  # a process of its own: a peak is never forgotten
    try:
        assert (
            nursery.end(nursery.start("run_measured", folder=str(world.folder), query="zeppelin", told=str(told))) == 0
        )
    finally:
        nursery.close()
    answer = json.loads(told.read_text())
    assert answer["complete"]
    assert "zeppelin" in "".join(answer["snippets"])
    assert any("huge.md" in remark and "64 MB" in remark for remark in answer["remarks"])
    assert answer["peak"] < 10 * 64 * 1024 * 1024, f"it took {answer['peak'] // 1_000_000} MB"
