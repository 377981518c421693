"""Stores of a version that had no column of words: they are searched at once, and get it by themselves."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.stems_column import fill_stems, needs_stems
from memslot_memory_lancedb.store.table import MemoryTable
from memslot_memory_lancedb.store.versions import history, restore

MakeMemory = Callable[..., LanceMemory]
TEXTS = [f"Shelf {number} holds {number} books about beetles." for number in range(60)]
KILLED = """
import os, signal, sys
from pathlib import Path
from memslot import EmbeddingPipeline, Selection
from memslot.testing import HashingProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store import stems_column

provider = HashingProvider()
memory = LanceMemory(
    sys.argv[1], "main", lambda: (EmbeddingPipeline(provider), Selection(provider, provider.id, "")), Path(sys.argv[2])
)
stems_column.AT_ONCE = 7
table = memory.store.live()
fill, done = table.fill_stems, []


def fill_some(memories):
    if len(done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(fill(memories))


table.fill_stems = fill_some
stems_column.fill_stems(table)
"""


def make_old(memory: LanceMemory, *texts: str) -> MemoryTable:
    """Fill a memory as an older version did."""
    identity = memory.embedder.identity
    assert identity is not None
    rows = [MemoryRecord(text, embedder=identity.digest) for text in texts]
    memory.store.put(rows, memory.embedder.embed_documents(texts), identity)
    table = memory.store.live()
    assert table is not None
    table.handle.drop_columns(["stems"])
    memory.store.reopen()
    live = memory.store.live()
    assert live is not None
    assert not live.has_stems
    return live


@pytest.fixture
def old(make_memory: MakeMemory) -> LanceMemory:
    memory = make_memory()
    make_old(memory, *TEXTS, "Der Nachbar hat einen Hund und eine Katze.")
    return memory


def test_they_are_searched_by_words_before_anything_is_written(old: LanceMemory) -> None:
    (found,) = old.searcher.find("Hunde der Nachbarn", 1).found
    assert "Nachbar" in found.memory.text
    assert "words" in found.found_by


def test_the_column_comes_by_itself(make_memory: MakeMemory, old: LanceMemory) -> None:
    assert old.status().counts["withWords"] == 0
    memory = make_memory()
    memory.search("beetles")
    memory.maintenance.wait(20)
    assert memory.maintenance.problem is None
    assert memory.status().counts["withWords"] == len(TEXTS) + 1
    table = memory.store.live()
    assert table is not None
    assert [row.memory.text for row in table.with_any_stem(["59"], 2)] == [TEXTS[59]]
    assert {each.text for each in table.scan()} == {*TEXTS, "Der Nachbar hat einen Hund und eine Katze."}
    assert table.count_without_vectors() == 0


def test_a_process_that_opened_the_store_before_writes_and_finds_after_it(
    make_memory: MakeMemory, old: LanceMemory
) -> None:
    other = make_memory()
    assert other.store.live() is not None
    table = old.store.live()
    assert table is not None
    fill_stems(table)
    other.keep("The heliotrope stands in the hall.")
    assert [each.memory.text for each in other.searcher.find("heliotrope", 1).found] == [
        "The heliotrope stands in the hall."
    ]
    assert not needs_stems(table)


def test_a_row_that_an_older_version_writes_later_is_found_and_filled(old: LanceMemory) -> None:
    table = old.store.live()
    assert table is not None
    before = table.handle.schema
    fill_stems(table)
    row = MemoryRecord("The heliotrope stands in the hall.")
    from memslot_memory_lancedb.store.schema import to_arrow

    table.handle.add(to_arrow(table.owner, before, [row], old.embedder.embed_documents([row.text])))
    assert needs_stems(table)
    assert old.searcher.find("heliotrope", 1).found[0].memory.id == row.id
    assert fill_stems(table) == 1
    assert not needs_stems(table)


def test_two_at_once(make_memory: MakeMemory, old: LanceMemory) -> None:
    tables = [make_memory().store.live() for _ in range(2)]
    failed: list[BaseException] = []

    def fill(table: MemoryTable | None) -> None:
        assert table is not None
        try:
            fill_stems(table)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=fill, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = make_memory().store.live()
    assert failed == []
    assert table is not None
    assert (table.count(), table.count_without_stems()) == (len(TEXTS) + 1, 0)


def test_killed_in_the_middle_nothing_is_lost_and_the_rest_follows(
    make_memory: MakeMemory, old: LanceMemory, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "lancedb"), str(tmp_path / "state")], check=False, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    memory = make_memory()
    table = memory.store.live()
    assert table is not None
    assert table.count() == len(TEXTS) + 1
    assert 0 < table.count_without_stems() < len(TEXTS)
    for number in (0, 30, 59):
        assert TEXTS[number] in [each.memory.text for each in memory.searcher.find(f"shelf {number}", 3).found]
    fill_stems(table)
    assert table.count_without_stems() == 0


def test_a_version_from_before_can_be_restored(old: LanceMemory) -> None:
    table = old.store.live()
    assert table is not None
    before = history(old.store)[-1].number
    fill_stems(table)
    restore(old.store, before)
    old.keep("The heliotrope stands in the hall.")
    assert old.searcher.find("heliotrope", 1).found[0].memory.text == "The heliotrope stands in the hall."
    live = old.store.live()
    assert live is not None
    assert (live.count(), live.count_without_stems()) == (len(TEXTS) + 2, 0)
