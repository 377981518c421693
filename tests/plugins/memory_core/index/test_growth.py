"""An index that was small when it was made, and has grown: no scan for each row, no upkeep in a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index.report import SyncProgress
from memslot_memory_core.index.vectors.extensions import load
from memslot_memory_core.manager import MemoryManager


class Watch:
    """All statements of all connections, and how many steps of SQLite's virtual machine they took."""

    def __init__(self) -> None:
        self.statements: set[str] = set()
        self.kilosteps = 0

    def __call__(self, db: apsw.Connection) -> None:
        db.exec_trace = self._note
        db.set_progress_handler(self._count, 1000)

    def _note(self, _cursor: apsw.Cursor, sql: str, _bindings: Any) -> bool:
        self.statements.add(sql)
        return True

    def _count(self) -> bool:
        self.kilosteps += 1
        return False


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    apsw.connection_hooks.append(made)
    yield made
    apsw.connection_hooks.remove(made)


def write_notes(manager: MemoryManager, notes: int, chunks: int = 1) -> None:
    for number in range(notes):
        lines = (f"The lantern of harbour {number} at pier {pier} is green.\n\n" for pier in range(chunks))
        (manager.workspace / "memory" / f"note{number}.md").write_text("".join(lines))


def say_one_row(file: Path) -> None:
    """Leave the statistics of an index that has one row in each table, as an older memslot did."""
    db = apsw.Connection(str(file))
    db.execute("ANALYZE")
    db.execute("DELETE FROM sqlite_stat1")
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        names = [name for (name,) in db.execute("SELECT name FROM pragma_index_list(?)", (table,))]
        rows = [(table, name, "1 1 1" if name else "1") for name in names or [None]]
        db.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", rows)
    db.execute("ALTER TABLE generations DROP COLUMN part_vectors")
    db.execute("ALTER TABLE spaces DROP COLUMN background")
    db.pragma("user_version", 1)
    db.close()


def steps_of_growth(manager: MemoryManager, watch: Watch) -> int:
    write_notes(manager, 20, chunks=60)
    before = watch.kilosteps
    manager.sync()
    return watch.kilosteps - before


def test_an_index_that_was_small_grows_as_fast_as_a_new_one(make_manager: Any, watch: Watch) -> None:
    grown = make_manager(
        HashingProvider(), agent_id="grown", store={"vector": {"engine": "numpy"}}, chunking={"tokens": 20}
    )
    write_notes(grown, 1)
    grown.sync()
    grown.close()
    say_one_row(grown.location.index_file)
    settings: dict[str, Any] = {"store": {"vector": {"engine": "vec1"}}, "chunking": {"tokens": 20}}
    # Another engine: its table is filled from what is there.
    in_grown = steps_of_growth(make_manager(HashingProvider(), agent_id="grown", **settings), watch)
    in_new = steps_of_growth(make_manager(HashingProvider(), agent_id="new", **settings), watch)
    assert in_grown < 1.5 * in_new


def test_no_query_scans_a_table_for_each_row_of_another(make_manager: Any, watch: Watch) -> None:
    file = Path()
    for engine in ("numpy", "sqlite-vec", "vec1"):
        manager = make_manager(
            HashingProvider(),
            store={"vector": {"engine": engine}},
            sources=["memory", "sessions"],
            experimental={"sessionMemory": True},
        )
        file = manager.location.index_file
        write_notes(manager, 12)
        manager.location.sessions_dir.mkdir(parents=True, exist_ok=True)
        said = {"type": "message", "message": {"role": "user", "content": "the lantern is lit"}}
        (manager.location.sessions_dir / "s1.jsonl").write_text(4 * (json.dumps(said) + "\n"))
        manager.sync()
        manager.sync(force=True)
        (manager.workspace / "memory" / "note3.md").unlink()
        (manager.workspace / "memory" / "note4.md").write_text("The windmill is white.\n")
        manager.sync()
        manager.search("lantern harbour")
        manager.search("lantern harbour", explain=True)
        manager.status(deep=True)
        manager.close()
    db = apsw.Connection(str(file))
    load(db, "vec1")
    load(db, "sqlite-vec")
    assert not db.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'").get
    live = db.execute("SELECT id FROM generations WHERE state = 'live'").get
    queries = [re.sub(r"(?<=[a-z]_)\d+", str(live), sql) for sql in watch.statements if " FROM " in sql]
    plans = {sql: plan for sql in queries if (plan := plan_of(db, sql))}
    assert len(plans) > 30
    bad = {sql: plan for sql, plan in plans.items() if has_nested_scan(plan)}
    assert not bad, bad


def plan_of(db: apsw.Connection, sql: str) -> list[tuple[int, str]]:
    marks = len(set(re.findall(r"\?\d+", sql))) or sql.count("?")
    try:
        return [(row[1], row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * marks)]
    except apsw.SQLError:  # a table of an engine, or of a connection, that is gone
        return []


def has_nested_scan(plan: list[tuple[int, str]]) -> bool:
    """Whether a loop that is not the outermost goes over a whole table; plans give each loop with its parent."""
    loops = [(parent, step) for parent, step in plan if step.startswith(("SCAN", "SEARCH"))]
    inner = [step for place, (parent, step) in enumerate(loops) if parent in {each for each, _ in loops[:place]}]
    return any(step.startswith("SCAN") and "VIRTUAL TABLE" not in step for step in inner)


def test_a_search_leaves_upkeep_to_the_next_index_and_status_says_so(make_manager: Any) -> None:
    first = make_manager(HashingProvider(), store={"vector": {"engine": "sqlite-vec"}})
    write_notes(first, 3)
    first.sync()
    first.close()
    manager = make_manager(HashingProvider(), store={"vector": {"engine": "vec1"}})
    write_notes(manager, 5)
    assert len(manager.search("lantern harbour", fresh_seconds=60.0, min_score=0.0).hits) == 5
    status = manager.status()
    assert status.details["engine"] == "sqlite-vec"
    assert status.details["unfinished"]
    phases: list[str] = []
    manager.sync(progress=lambda progress: phases.append(progress.phase))
    status = manager.status()
    assert status.details["engine"] == "vec1"
    assert not status.details["unfinished"]
    assert phases[-1] == "finishing"


def test_upkeep_that_was_interrupted_is_told_and_made_up_for(
    make_manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make_manager(HashingProvider())
    write_notes(manager, 3)
    manager.sync()

    def stop(progress: SyncProgress) -> None:
        if progress.phase == "finishing":
            monkeypatch.setattr(manager._vectors, "maintain", interrupted)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    write_notes(manager, 4)
    with pytest.raises(KeyboardInterrupt):
        manager.sync(progress=stop)
    monkeypatch.undo()
    assert manager.status().details["unfinished"]
    assert not manager.sync().changed
    assert not manager.status().details["unfinished"]
