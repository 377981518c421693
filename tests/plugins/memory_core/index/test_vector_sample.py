"""The sample of an index: drawn again when there is more to learn from, and never by reading the whole index."""

from __future__ import annotations

from typing import Any

import apsw
from memslot.retrieval import background_texts
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index import generation as generations
from memslot_memory_core.index import schema
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.part_vectors import part_hash
from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.index.vector_sample import Samples

DIMS = 64


def make_index(embedded: range, chunks: int) -> Snapshot:
    """An index of many chunks, some of which have a vector."""
    db = apsw.Connection("")
    schema.prepare(db)
    identity = Identity("p", "m", "k", DIMS, 400, 80, ("memory",))
    live = generations.create(db, "live", identity.to_json())
    db.execute("INSERT INTO spaces (id, provider, model, key) VALUES (1, 'p', 'm', 'k')")
    db.execute(f"INSERT INTO {live.tables.files} VALUES (1, 'memory', 'a.md', '', '', 0, 0, 0, NULL, NULL)")
    one = b"\x00\x00\x80\x3f" + bytes(4 * (DIMS - 1))
    with schema.transaction(db):
        db.executemany(
            "INSERT INTO embeddings VALUES (?, 1, ?, ?, 0)",
            [(number, str(number).encode(), one) for number in embedded],
        )
        db.executemany(
            f"INSERT INTO {live.tables.chunks} VALUES (?, 1, 1, 1, 'text', x'00', NULL, ?)",
            [(number, number if number in embedded else None) for number in range(1, chunks + 1)],
        )
        db.execute("UPDATE generations SET chunks = ?, vectors = ?", (chunks, len(embedded)))
    found = generations.find(db, "live")
    assert isinstance(found, Generation)
    return Snapshot(db, found)


def test_rows_without_a_vector_are_passed_once_at_most() -> None:
    snapshot = make_index(range(1, 501), 20_000)
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    snapshot.db.set_progress_handler(count, 1000)
    sample = Samples().of(snapshot)
    assert len(sample.chunks) >= 5
    assert steps < 1000, "so many thousand steps of SQLite"


def test_a_sample_is_spread_over_the_rows_that_there_are() -> None:
    snapshot = make_index(range(15_001, 20_001), 20_000)
    snapshot.db.execute(f"DELETE FROM {snapshot.generation.tables.chunks} WHERE id <= 15000")
    assert len(Samples().of(snapshot).chunks) == 200


def test_a_background_that_comes_later_is_used(make_manager: Any) -> None:
    manager = make_manager(HashingProvider(), store={"vector": {"parts": "off"}})
    for number in range(40):
        (manager.workspace / "memory" / f"{number}.md").write_text(f"The violin lesson {number} is on Thursday.")
    manager.sync()
    db = apsw.Connection(str(manager.location.index_file))
    db.execute("UPDATE spaces SET background = NULL")
    db.close()

    def score() -> float:
        return float(manager.search("When is the violin lesson?").hits[0].score)

    without = score()
    manager.sync()
    fresh = make_manager(HashingProvider(), store={"vector": {"parts": "off"}})
    expected = fresh.search("When is the violin lesson?").hits[0].score
    assert without != expected
    assert score() == expected


def test_a_background_of_which_a_part_could_not_be_kept_is_embedded_again(make_manager: Any) -> None:
    """As on a disk that is full for a moment while the background is embedded."""

    class Small(HashingProvider):
        max_batch_items = 30

    manager = make_manager(Small())
    manager.sync()
    (manager.workspace / "memory" / "violin.md").write_text("The violin lesson is on Thursday.")
    db = apsw.Connection(str(manager.location.index_file))
    lost = part_hash(background_texts()[0]).hex()
    db.execute(
        f"CREATE TRIGGER full_disk BEFORE INSERT ON embeddings WHEN NEW.text_hash = x'{lost}' "
        "BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
    )
    manager.sync()
    assert db.execute("SELECT count(*) FROM embeddings").get > 100
    assert db.execute("SELECT count(background) FROM spaces").get == 0
    db.execute("DROP TRIGGER full_disk")
    manager.sync()
    assert db.execute("SELECT count(background) FROM spaces").get == 1
    db.close()
