"""Many memories: an index, few files, and no bytes of what was forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy
import pytest
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store import compaction
from memslot_memory_lancedb.store.compaction import has_index, optimize, wants_index

MakeMemory = Callable[..., LanceMemory]
WEEK = timedelta(days=7)


def files_with(folder: Path, word: str) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file() and word.encode() in each.read_bytes()]


def fill(memory: LanceMemory, count: int, seed: int = 1) -> numpy.ndarray[Any, Any]:
    """Rows in clusters, as texts about a few hundred subjects would lie."""
    identity = memory.embedder.identity
    assert identity is not None
    random = numpy.random.default_rng(seed)
    centres = random.normal(size=(200, identity.dims))
    rows = (centres[random.integers(0, 200, count)] + 0.5 * random.normal(size=(count, identity.dims))).astype("f4")
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    memories = [MemoryRecord(f"text {n}", id=f"{seed}-{n}", embedder=identity.digest) for n in range(count)]
    memory.store.add(memories, list(rows), identity)
    return rows


class TestIndex:
    def test_it_is_worth_it_from_some_size_on(self) -> None:
        assert not wants_index(1_000, 256)
        assert not wants_index(1_900, 3072), "too few to train one, however long the vectors are"
        assert not wants_index(7_000, 256)
        assert wants_index(8_000, 256)
        assert wants_index(2_000, 1536)

    @pytest.fixture
    def indexed(self, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch) -> tuple[LanceMemory, Any]:
        monkeypatch.setattr(compaction, "INDEX_FROM_NUMBERS", 5_000 * 64)
        memory = make_memory()
        rows = fill(memory, 6_000)
        done = optimize(memory.store, memory.embedder.identity, keep=WEEK)
        assert done is not None
        assert done.indexed
        return memory, rows

    def test_it_finds_what_a_full_scan_finds(self, indexed: tuple[LanceMemory, Any]) -> None:
        memory, rows = indexed
        table = memory.store.live()
        assert table is not None
        assert has_index(table, memory.store.database)
        hits = 0
        for number in range(0, 6_000, 120):
            exact = set(numpy.argsort(-(rows @ rows[number]))[:5].tolist())
            found = table.nearest(rows[number], 5)
            assert found[0][0].id == f"1-{number}"
            hits += len(exact & {int(each.id.split("-")[1]) for each, _ in found})
        assert hits / 250 > 0.95

    def test_scores_by_index_are_exact(self, indexed: tuple[LanceMemory, Any]) -> None:
        memory, rows = indexed
        table = memory.store.live()
        assert table is not None
        for each, distance in table.nearest(rows[7], 5):
            exact = float(((rows[7] - rows[int(each.id.split("-")[1])]) ** 2).sum())
            assert distance == pytest.approx(exact, abs=1e-5)

    def test_rows_that_come_later_are_found_at_once(self, indexed: tuple[LanceMemory, Any]) -> None:
        memory, _ = indexed
        kept = memory.keep("The orchid stands in the harbour office.").memory
        assert memory.search("The orchid stands in the harbour office.").hits[0].path == f"ltm/{kept.id}"
        memory.writer.change(kept.id, text="The violin lesson is on Thursday.")
        assert memory.search("The violin lesson is on Thursday.").hits[0].path == f"ltm/{kept.id}"
        memory.writer.forget([kept.id])
        assert memory.search("The violin lesson is on Thursday.").hits[0].path != f"ltm/{kept.id}"

    def test_it_comes_by_itself_in_the_background(
        self, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction, "INDEX_FROM_NUMBERS", 5_000 * 64)
        memory = make_memory()
        fill(memory, 6_000)
        memory.search("anything")
        memory.maintenance.wait(60)
        table = memory.store.live()
        assert table is not None
        assert has_index(table, memory.store.database)


class TestFiles:
    def test_many_small_files_become_few(self, make_memory: MakeMemory) -> None:
        memory = make_memory(provider=None)
        for number in range(12):
            memory.keep(f"Memory about {'abcdefghijkl'[number] * 9}.")
        done = optimize(memory.store, memory.embedder.identity, keep=WEEK)
        assert done is not None
        assert (done.files_before, done.files_after, done.purged) == (12, 1, False)
        assert memory.status().counts["memories"] == 12

    def test_it_happens_by_itself(self, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compaction, "SMALL_FILES", 8)
        memory = make_memory()
        for number in range(40):
            memory.keep(f"Number {number}: {chr(97 + number % 26) * 9} {number * 7919}.")
        memory.maintenance.wait(20)
        table = memory.store.live()
        assert table is not None
        assert compaction.count_files(table, memory.store.database) < 40
        assert table.count() == 40

    def test_tables_of_earlier_embedders_are_dropped(self, make_memory: MakeMemory, tmp_path: Path) -> None:
        from memslot.testing import HashingProvider

        make_memory().keep("One.")
        other = make_memory(provider=HashingProvider(dims=16))
        other.search("One.")
        other.maintenance.wait(30.0)
        assert len(list((tmp_path / "lancedb").glob("memories_*"))) == 2
        done = optimize(other.store, other.embedder.identity, keep=WEEK)
        assert done is not None
        assert done.tables_dropped == 1
        assert len(list((tmp_path / "lancedb").glob("memories_*"))) == 1
        assert other.search("One.").hits

    def test_another_agents_tables_are_left_alone(self, make_memory: MakeMemory) -> None:
        first, second = make_memory("first"), make_memory("second")
        first.keep("Of the first.")
        second.keep("Of the second.")
        optimize(second.store, second.embedder.identity, keep=WEEK, purge=True)
        assert first.search("Of the first.").hits[0].snippet == "Of the first."


class TestForgottenBytes:
    """LanceDB marks a row as removed and leaves its bytes where they are."""

    @pytest.mark.parametrize("together", [True, False], ids=["one file", "a file each"])
    @pytest.mark.parametrize("place", [0, 25, 49], ids=["first row", "in the middle", "last row"])
    def test_they_are_gone_after_optimize(
        self, make_memory: MakeMemory, tmp_path: Path, together: bool, place: int
    ) -> None:
        memory = make_memory()
        identity = memory.embedder.identity
        texts = [f"Harmless text number {n}." for n in range(50)]
        texts[place] = "The orchid is called heliotrope."
        rows = [MemoryRecord(text, embedder=identity.digest) for text in texts]  # type: ignore[union-attr]
        vectors = memory.embedder.embed_documents(texts)
        if together:
            memory.store.add(rows, vectors, identity)
        else:
            for row, vector in zip(rows, vectors, strict=True):
                memory.store.add([row], [vector], identity)
        memory.writer.forget([rows[place].id])
        assert files_with(tmp_path, "heliotrope"), "it should still be there, or this test shows nothing"

        done = optimize(memory.store, identity, keep=WEEK)

        assert done is not None
        assert done.purged
        assert files_with(tmp_path, "heliotrope") == []
        assert memory.status().counts["memories"] == 49

    def test_and_from_the_tables_of_earlier_embedders(self, make_memory: MakeMemory, tmp_path: Path) -> None:
        from memslot.testing import HashingProvider

        kept = make_memory().keep("The orchid is called heliotrope.").memory
        other = make_memory(provider=HashingProvider(dims=16))
        other.search("orchid")
        other.maintenance.wait(30.0)
        other.writer.forget([kept.id])
        optimize(other.store, other.embedder.identity, keep=WEEK)
        assert files_with(tmp_path, "heliotrope") == []

    def test_history_stays_where_nothing_was_forgotten(self, make_memory: MakeMemory) -> None:
        memory = make_memory()
        for text in ("One orchid.", "Two violins.", "Three lamps."):
            memory.keep(text)
        done = optimize(memory.store, memory.embedder.identity, keep=WEEK)
        assert done is not None
        assert (done.purged, done.versions_removed) == (False, 0)

    def test_history_can_be_kept_although_something_was_forgotten(
        self, make_memory: MakeMemory, tmp_path: Path
    ) -> None:
        memory = make_memory()
        kept = memory.keep("The orchid is called heliotrope.").memory
        memory.keep("Something else.")
        memory.writer.forget([kept.id])
        optimize(memory.store, memory.embedder.identity, keep=WEEK, purge=False)
        assert files_with(tmp_path, "heliotrope")


def test_copies_of_a_memory_are_removed_and_the_newest_stays(make_memory: MakeMemory) -> None:
    """Two machines that change one memory at one moment, while a third removes versions, may leave two."""
    memory = make_memory()
    kept = memory.keep("The orchid stands here.").memory
    memory.keep("The violin hangs there.")
    newer = replace(kept, text="The orchid was moved.", updated_at=kept.created_at + timedelta(seconds=5))
    memory.store.add([newer], memory.embedder.embed_documents([newer.text]), memory.embedder.identity)
    table = memory.store.live()
    assert table is not None
    assert table.count() == 3
    optimize(memory.store, memory.embedder.identity, keep=WEEK)
    assert table.count() == 2
    assert memory.store.get(kept.id).text == "The orchid was moved."


def test_a_version_that_goes_while_it_is_read_is_no_damage(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_memory()
    memory.keep("The orchid stands here.")
    database = memory.store.database
    answers: list[Any] = [RuntimeError("Not found: data/0.lance"), RuntimeError("commit conflict"), 7]

    def read() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    assert database.attempt(read) == 7


def test_a_write_that_is_tried_again_does_not_write_twice(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have got through before it failed."""
    memory = make_memory()
    memory.keep("The orchid stands here.")
    table = memory.store.live()
    assert table is not None
    add = table.handle.add

    def fail_afterwards(rows: Any) -> None:
        add(rows)
        raise RuntimeError("Not found: _versions/7.manifest")

    monkeypatch.setattr(table.handle, "add", fail_afterwards)
    memory.keep("The violin hangs there.")
    assert table.count() == 2
