"""A rebuild happens beside the index that serves, costs what was announced, and takes over in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot import ProviderBusyError
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index.report import SyncProgress
from memslot_memory_core.manager import MemoryManager

from tests.plugins.memory_core.conftest import own_texts


class Provider(HashingProvider):
    """Counts what it is given, and fails from a chosen text on."""

    def __init__(self, name: str = "old", dims: int = 32) -> None:
        super().__init__(dims)
        self.id = name
        self.model = f"{name}-model"
        self.texts: list[str] = []
        self.most: int | None = None
        self.max_batch_items = 4

    def embed_query(self, text: str) -> Any:
        return self._embed(text)

    def embed_documents(self, texts: Any) -> Any:
        own = own_texts(texts)
        if self.most is not None and len(self.texts) + len(own) > self.most:
            raise ProviderBusyError("the quota of this test is used up", retry_after=1000.0)
        self.texts += own
        return super().embed_documents(texts)


def write_notes(manager: MemoryManager, count: int = 12) -> None:
    for number in range(count):
        file = manager.workspace / "memory" / f"{number}.md"
        file.write_text(f"Note number {number} tells of a lighthouse with {number * 3} windows.\n")


def tables_of(manager: MemoryManager) -> set[int]:
    db = apsw.Connection(str(manager.location.index_file))
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    db.close()
    return {int(name.split("_")[1]) for name in names if name.startswith(("files_", "chunks_", "turns_"))}


def all_found(manager: MemoryManager) -> list[str]:
    return sorted(hit.path for hit in manager.search("lighthouse windows", max_results=50).hits)


@pytest.fixture
def indexed(make_manager: Any) -> MemoryManager:
    manager: MemoryManager = make_manager(Provider("old"))
    write_notes(manager)
    manager.sync()
    return manager


def test_another_free_provider_means_a_new_index_by_itself(make_manager: Any, indexed: MemoryManager) -> None:
    manager = make_manager(provider := Provider("new", dims=48))
    report = manager.sync()
    assert report.rebuilt
    assert report.mismatch is None
    assert len(provider.texts) == 12
    assert manager.status(deep=True).is_healthy
    assert manager.search("lighthouse").mode == "hybrid"
    assert tables_of(manager) == {2}


@pytest.mark.parametrize("change", [{"chunking": {"tokens": 50, "overlap": 0}}, {"chunking": {"tokens": 800}}])
def test_other_chunks_mean_a_new_index_and_no_text_is_embedded_twice(
    make_manager: Any, indexed: MemoryManager, change: dict[str, Any]
) -> None:
    manager = make_manager(provider := Provider("old"), **change)
    assert manager.sync().rebuilt
    assert provider.texts == []
    assert manager.status(deep=True).is_healthy


def test_status_shows_a_mismatch_and_its_cost_before_any_sync(make_manager: Any, indexed: MemoryManager) -> None:
    manager = make_manager(provider := Provider("paid", dims=48), sends_text_away=True)
    (manager.workspace / "memory" / "more.md").write_text("A note that came with the change.\n")
    before = manager.status()
    assert [each for each in before.problems if "12 chunks" in each and "sent to paid" in each]
    assert before.details["mismatch"]["chunks"] == 12
    report = manager.sync()
    assert report.mismatch is not None
    assert report.mismatch.to_json() == before.details["mismatch"]
    after = manager.status()
    assert [each for each in after.problems if "13 chunks" in each]
    assert not [each for each in after.problems if "12 chunks" in each], "what was noted at the sync is told once"
    assert not [each for each in after.problems if "have no vector yet" in each], "an index run would not help"
    assert provider.texts == []


def test_status_forgets_a_mismatch_with_the_setting_that_caused_it(make_manager: Any, indexed: MemoryManager) -> None:
    make_manager(Provider("paid", dims=48), sends_text_away=True).sync()
    assert make_manager(Provider("old")).status().is_healthy


def test_a_paid_provider_is_asked_only_when_told_to(make_manager: Any, indexed: MemoryManager) -> None:
    before = all_found(indexed)
    manager = make_manager(provider := Provider("paid", dims=48), sends_text_away=True)
    report = manager.sync()
    assert not report.rebuilt
    assert provider.texts == []
    assert report.mismatch is not None
    assert (report.mismatch.chunks, report.mismatch.provider) == (12, "paid")
    assert 100 < report.mismatch.tokens < 400
    [sentence] = [each for each in manager.status().problems if "12 chunks" in each]
    assert "tokens" in sentence
    assert "sent to paid" in sentence
    assert "old → paid" in sentence
    outcome = manager.search("lighthouse windows", max_results=50)
    assert sorted(hit.path for hit in outcome.hits) == before
    assert outcome.mode == "keywords"
    assert "memslot memory index --force" in (outcome.action or "")

    assert manager.sync(force=True).rebuilt
    assert len(provider.texts) == 12
    assert manager.status(deep=True).is_healthy
    assert manager.search("lighthouse").mode == "hybrid"


def test_notes_that_change_while_the_old_index_serves_are_found_by_their_words(
    make_manager: Any, indexed: MemoryManager
) -> None:
    manager = make_manager(provider := Provider("paid", dims=48), sends_text_away=True)
    (manager.workspace / "memory" / "new.md").write_text("The windmill is white.\n")
    assert manager.sync().indexed == 1
    assert provider.texts == []
    assert [hit.path for hit in manager.search("windmill").hits] == ["memory/new.md"]


def test_going_back_to_the_old_provider_costs_nothing(make_manager: Any) -> None:
    first = make_manager(Provider("old"), sends_text_away=True)
    write_notes(first)
    first.sync()
    make_manager(Provider("new", dims=48)).sync()
    manager = make_manager(provider := Provider("old"), sends_text_away=True)
    report = manager.sync()
    assert not report.rebuilt
    assert report.mismatch is not None
    assert report.mismatch.returned
    (problem,) = manager.status().problems
    for told in ("new → old", "needs no new embeddings", "memslot memory index --force"):
        assert told in problem
    outcome = manager.search("lighthouse")
    assert "new → old" in (outcome.warning or "")
    assert "memslot memory index --force" in (outcome.action or "")

    assert manager.sync(force=True).rebuilt
    assert provider.texts == [], "all its vectors are kept, so that it is free"
    assert manager.status(deep=True).is_healthy
    assert not manager.search("lighthouse").warning


def test_a_provider_that_is_back_is_followed_and_its_fallback_no_more(
    make_manager: Any, indexed: MemoryManager
) -> None:
    fallback = make_manager(Provider("new", dims=48), requested="old")
    assert fallback.sync().rebuilt
    assert make_manager(provider := Provider("old"), sends_text_away=True).sync().rebuilt
    assert provider.texts == []
    fallback = make_manager(Provider("new", dims=48), requested="old")
    assert not fallback.sync().rebuilt, "or an unsteady provider would mean a rebuild for each of its failures"


def test_other_chunks_wait_for_a_provider_that_cannot_be_had(make_manager: Any, indexed: MemoryManager) -> None:
    """A rebuild without it would lose the vectors that are there."""
    alone = make_manager(None, requested="old", chunking={"tokens": 100, "overlap": 0})
    report = alone.sync()
    assert not report.rebuilt
    assert report.mismatch is not None
    assert report.mismatch.chunks == 12
    assert not alone.sync(force=True).rebuilt
    provider = Provider("old")
    assert make_manager(provider).search("lighthouse").mode == "hybrid"
    back = make_manager(provider, chunking={"tokens": 100, "overlap": 0})
    assert back.sync().rebuilt
    assert back.search("lighthouse").mode == "hybrid"


def test_settings_tried_on_an_empty_memory_can_be_changed_back(make_manager: Any) -> None:
    make_manager(Provider("old")).sync()
    make_manager(Provider("new", dims=48)).sync()
    write_notes(back := make_manager(Provider("old")))
    assert back.sync().mismatch is None
    assert back.search("lighthouse").mode == "hybrid"
    assert back.status(deep=True).is_healthy


def test_an_interrupted_rebuild_goes_on_and_repeats_no_request(make_manager: Any) -> None:
    manager = make_manager(Provider("old"))
    write_notes(manager, 1200)
    manager.sync()
    new = make_manager(provider := Provider("new", dims=48))
    steps: list[SyncProgress] = []
    report = new.sync(progress=steps.append, cancelled=lambda: bool(steps))
    assert not report.complete
    assert not report.rebuilt
    assert 0 < len(provider.texts) < 1200
    assert any("rebuilt" in problem for problem in new.status().problems)
    assert manager.search("lighthouse").mode == "hybrid", "the old index serves"
    assert len(manager.search("lighthouse windows", max_results=50).hits) == 50
    report = new.sync()
    assert report.rebuilt
    assert len(provider.texts) == len(set(provider.texts)) == 1200
    assert new.status(deep=True).is_healthy
    assert tables_of(new) == {2}


def test_a_rebuild_that_runs_out_of_quota_does_not_take_over(make_manager: Any, indexed: MemoryManager) -> None:
    provider = Provider("new", dims=48)
    provider.most = 5
    manager = make_manager(provider)
    assert not manager.sync().rebuilt
    assert any("quota" in problem for problem in manager.status().problems)
    assert all_found(indexed) == all_found(manager)
    assert indexed.search("lighthouse").mode == "hybrid"
    provider.most = None
    assert manager.sync().rebuilt
    assert manager.status(deep=True).is_healthy


def test_a_rebuild_nobody_wants_any_more_leaves_nothing(make_manager: Any, indexed: MemoryManager) -> None:
    provider = Provider("new", dims=48)
    provider.most = 5
    make_manager(provider, cache={"enabled": False}).sync()
    assert tables_of(indexed) == {1, 2}
    back = make_manager(Provider("old"), cache={"enabled": False})
    (back.workspace / "memory" / "0.md").unlink()
    report = back.sync()
    assert (report.removed, report.problems) == (1, [])
    assert tables_of(back) == {1}
    assert back.status(deep=True).is_healthy


def test_vectors_of_a_rebuild_under_way_are_not_dropped_as_unused(make_manager: Any, indexed: MemoryManager) -> None:
    provider = Provider("paid", dims=48)
    provider.most = 8
    manager = make_manager(provider, sends_text_away=True, cache={"enabled": False})
    assert not manager.sync(force=True).rebuilt
    paid = len(provider.texts)
    assert 0 < paid <= 8
    (manager.workspace / "memory" / "0.md").unlink()
    report = manager.sync()  # not forced: the old index serves, and vectors that nobody uses are dropped
    assert report.removed == 1
    assert report.mismatch is not None
    assert report.mismatch.chunks < 12 - 1, "what was paid for is not offered again"
    provider.most = None
    assert manager.sync(force=True).rebuilt
    assert manager.status(deep=True).is_healthy


def test_a_reader_with_a_snapshot_sees_the_old_generation_to_its_end(indexed: MemoryManager) -> None:
    with indexed._index.snapshot() as snapshot:
        assert snapshot is not None
        tables = snapshot.generation.tables
        count = f"SELECT count(*), max(id) FROM {tables.chunks}"
        before = snapshot.db.execute(count).get
        assert indexed.sync(force=True).rebuilt
        with indexed._index.snapshot() as newer:
            assert newer is not None
            assert newer.generation.number == snapshot.generation.number + 1
        assert snapshot.db.execute(count).get == before
        words = snapshot.db.execute(f"SELECT count(*) FROM {tables.words} WHERE {tables.words} MATCH 'lighthous*'").get
        assert words == before[0]
    assert all_found(indexed)


def test_the_file_does_not_grow_with_every_rebuild(make_manager: Any) -> None:
    manager = make_manager(Provider("old"))
    write_notes(manager, 300)
    manager.sync()
    sizes = []
    for _ in range(20):
        manager.sync(force=True)
        sizes.append(_size(manager.location.index_file))
    assert max(sizes[10:]) <= max(sizes[:4]), sizes
    assert tables_of(manager) == {21}


def _size(file: Path) -> int:
    return sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
