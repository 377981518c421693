"""Parts of chunks have vectors of their own: made once, waited for in an outage, and gone with their chunk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy
import pytest
from memslot import ProviderBusyError, ProviderError
from memslot.retrieval import background_texts
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index import generation as generations
from memslot_memory_core.index import schema
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.part_vectors import PartIndex, PartRows, best_parts, from_bytes, to_bytes
from memslot_memory_core.manager import MemoryManager

from tests.plugins.memory_core.conftest import own_texts

FACTS = [
    "Ana prefers tea over coffee.",
    "The gate code is kept by Ines.",
    "The violin lesson is on Thursday.",
    "We planted roses by the fence.",
]


class Provider(HashingProvider):
    """Keeps the texts that it is given, and fails where it is told to."""

    id = "old"

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.most: int | None = None
        self.refused: str | None = None
        self.max_batch_items = self.at_once = 1  # with more, an error may overtake an answer, which is then lost

    def embed_query(self, text: str) -> Any:
        return self._embed(text)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        own = own_texts(texts)
        if self.refused is not None and any(self.refused in text for text in own):
            raise ProviderError("the provider does not take this text")
        if self.most is not None and len(self.texts) + len(own) > self.most:
            raise ProviderBusyError("the quota of this test is used up", retry_after=1000.0)
        self.texts += own
        return super().embed_documents(texts)


def a_list(metadata: Sequence[str]) -> str:
    return "".join(f"- {fact}\n" for fact in metadata)


def write(manager: MemoryManager, text: str, name: str = "a") -> Path:
    file = manager.workspace / "memory" / f"{name}.md"
    file.write_text(text)
    return file


def rows(manager: MemoryManager) -> tuple[int, int, int]:
    """Vectors of parts in the live generation, as rows, as counted, and parts that wait for theirs."""
    db = apsw.Connection(str(manager.location.index_file))
    try:
        live = generations.find(db, "live")
        assert live is not None
        count = db.execute(f"SELECT count(*) FROM {live.tables.parts}").get
        waiting = db.execute(f"SELECT coalesce(sum(waiting), 0) FROM {live.tables.part_bits}").get
        return int(count), live.part_vectors, int(waiting)
    finally:
        db.close()


def chunk_ids(manager: MemoryManager) -> list[int]:
    db = apsw.Connection(str(manager.location.index_file))
    try:
        live = generations.find(db, "live")
        assert live is not None
        return [number for (number,) in db.execute(f"SELECT id FROM {live.tables.chunks} ORDER BY id")]
    finally:
        db.close()


def change(manager: MemoryManager, sql: str) -> None:
    db = apsw.Connection(str(manager.location.index_file))
    try:
        db.execute(sql)
    finally:
        db.close()


def test_each_fact_of_a_list_is_embedded_once(make_manager: Any) -> None:
    manager = make_manager(provider := Provider())
    write(manager, a_list(FACTS))
    write(manager, a_list(FACTS[:2]), "b")
    manager.sync()

    assert sorted(provider.texts) == sorted([*FACTS, a_list(FACTS).strip(), a_list(FACTS[:2]).strip()])
    assert rows(manager) == (6, 6, 0)


def test_a_changed_line_has_its_chunk_and_itself_embedded_again(make_manager: Any) -> None:
    manager = make_manager(provider := Provider())
    file = write(manager, a_list(FACTS))
    write(manager, a_list(["The car needs tyres.", "The printer needs toner."]), "other")
    manager.sync()
    provider.texts.clear()
    changed = [*FACTS[:2], "The cello lesson is on Friday.", FACTS[3]]
    file.write_text(a_list(changed))
    report = manager.sync()

    assert sorted(provider.texts) == sorted([changed[2], a_list(changed).strip()])
    assert report.embedded == 2
    assert rows(manager) == (6, 6, 0)
    hit = manager.search("When is the cello lesson?").hits[0]
    assert "cello" in hit.snippet


@pytest.mark.parametrize("most", [0, 2, 4])
def test_parts_that_an_outage_left_out_are_made_up_for(make_manager: Any, most: int) -> None:
    manager = make_manager(provider := Provider())
    write(manager, a_list(FACTS))
    provider.most = most
    report = manager.sync()
    assert any("quota" in problem for problem in report.problems)
    assert rows(manager)[2] == 4 - most
    assert manager.search("violin lesson").hits

    provider.most = None
    report = manager.sync()
    assert not report.problems
    assert rows(manager) == (4, 4, 0)
    assert len(provider.texts) == len(set(provider.texts)) == 5, "nothing is embedded twice"
    assert not manager.sync().changed


def test_vectors_that_come_later_join_the_rows_that_are_there(make_manager: Any) -> None:
    """Searches of a process that has its own copy of the vectors find them, too."""
    manager = make_manager(provider := Provider())
    for number, fact in enumerate(FACTS):
        write(manager, a_list([fact, f"Number {number} is in the folder.", "The kettle is new."]), f"note{number}")
    provider.most = 6
    manager.sync()
    queries = [*FACTS, "Number 3 is in the folder", "kettle"]
    for query in queries:  # often enough for a copy
        assert manager.search(query).hits
    before = chunk_ids(manager)
    assert 0 < rows(manager)[2] < 12, "some parts wait"

    provider.most = None
    manager.sync()

    assert chunk_ids(manager) == before
    assert rows(manager) == (12, 12, 0)
    fresh = make_manager(Provider())
    for query in queries:
        assert manager.search(query).hits == fresh.search(query).hits
    assert manager.status(deep=True).is_healthy


def test_an_outage_of_the_background_is_made_up_for(make_manager: Any) -> None:
    class Down(Provider):
        is_down = True

        def embed_documents(self, texts: Sequence[str]) -> Any:
            if self.is_down:
                raise ProviderBusyError("down for repairs", retry_after=1000.0)
            return super().embed_documents(texts)

    manager = make_manager(provider := Down())
    write(manager, a_list(FACTS))
    manager.sync()
    assert rows(manager) == (0, 0, 4)
    provider.is_down = False
    manager.sync()
    assert rows(manager) == (4, 4, 0)
    assert manager.search("When is the violin lesson?").mode == "hybrid"


def test_a_part_that_is_refused_does_not_keep_the_others_waiting(make_manager: Any) -> None:
    manager = make_manager(provider := Provider())
    write(manager, a_list(FACTS))
    provider.most = 0
    manager.sync()
    provider.most, provider.refused = None, "Ines"
    manager.sync()

    assert rows(manager) == (3, 3, 1)


def test_a_text_of_the_background_that_is_refused_stops_nothing(make_manager: Any) -> None:
    refused = background_texts()[17]

    class Refusing(Provider):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            if refused in texts:
                raise ProviderError("the provider does not take this text")
            return super().embed_documents(texts)

    manager = make_manager(Refusing())
    write(manager, a_list(FACTS))
    report = manager.sync()

    assert report.problems == []
    assert rows(manager) == (4, 4, 0)
    assert manager.search("When is the violin lesson?").mode == "hybrid"
    assert not manager.sync().changed


def test_a_provider_that_finds_nothing_in_the_background_still_embeds_notes(make_manager: Any) -> None:
    class Blank(Provider):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            return [self._embed(text) if own_texts([text]) else [0.0] * self.dims for text in texts]

    manager = make_manager(Blank())
    write(manager, a_list(FACTS))
    report = manager.sync()

    assert any("ordinary sentences" in problem for problem in report.problems)
    assert manager.status().counts["vectors"] == 1
    assert "violin" in manager.search("violin lesson").hits[0].snippet


def test_parts_of_what_is_removed_are_gone(make_manager: Any) -> None:
    manager = make_manager(Provider())
    file = write(manager, a_list(FACTS))
    other = write(manager, a_list(FACTS[:3]), "b")
    manager.sync()
    assert rows(manager) == (7, 7, 0)
    file.write_text(FACTS[0])
    manager.sync()
    assert rows(manager) == (3, 3, 0)
    other.unlink()
    manager.sync()
    assert rows(manager) == (0, 0, 0)
    assert manager.status(deep=True).is_healthy


def test_only_vectors_of_parts_that_are_gone_are_pruned(make_manager: Any) -> None:
    manager = make_manager(provider := Provider(), cache={"enabled": False})
    file = write(manager, a_list(FACTS))
    manager.sync()
    file.write_text(a_list(FACTS[:2]))
    manager.sync()
    assert manager.status().counts["embeddings"] == 3, "a chunk and its two parts, and nothing of the background"
    provider.texts.clear()
    file.write_text(a_list(FACTS[:3]))
    manager.sync()
    assert sorted(provider.texts) == sorted([FACTS[2], a_list(FACTS[:3]).strip()])
    assert rows(manager) == (3, 3, 0)


class TestStatus:
    def test_it_counts_parts_and_tells_of_those_that_wait(self, make_manager: Any) -> None:
        manager = make_manager(provider := Provider())
        write(manager, a_list(FACTS))
        provider.most = 2
        manager.sync()
        status = manager.status()
        assert status.counts["parts"] == 2
        assert any("2 of 4 parts of chunks have no vector yet" in problem for problem in status.problems)

        provider.most = None
        manager.sync()
        status = manager.status(deep=True)
        assert (status.counts["parts"], status.problems) == (4, [])

    def test_it_tells_of_a_background_that_is_missing(self, make_manager: Any) -> None:
        manager = make_manager(Provider())
        write(manager, a_list(FACTS))
        manager.sync()
        change(manager, "UPDATE spaces SET background = NULL")
        assert any("similarity is calibrated against" in problem for problem in manager.status().problems)
        manager.sync()
        assert manager.status().problems == []

    @pytest.mark.parametrize(
        ("sql", "problem"),
        [
            (
                "DELETE FROM parts_1 WHERE embedding_id = (SELECT max(embedding_id) FROM parts_1)",
                "row counters are wrong",
            ),
            ("UPDATE part_bits_1 SET bits = substr(bits, 1, length(bits) / 2)", "2 parts of chunks are searchable"),
        ],
    )
    def test_it_tells_of_rows_that_do_not_agree(self, make_manager: Any, sql: str, problem: str) -> None:
        manager = make_manager(Provider())
        write(manager, a_list(FACTS))
        manager.sync()
        change(manager, sql)
        problems = manager.status(deep=True).problems
        assert any(problem in each and "--force" in each for each in problems)

    def test_an_index_without_parts_counts_none(self, make_manager: Any) -> None:
        manager = make_manager(Provider(), store={"vector": {"parts": "off"}})
        write(manager, a_list(FACTS))
        manager.sync()
        status = manager.status(deep=True)
        assert ("parts" in status.counts, status.problems) == (False, [])


class TestWhoHasParts:
    @pytest.mark.parametrize(
        ("parts", "sends_text_away", "count"),
        [("auto", False, 4), ("auto", True, 0), ("on", True, 4), ("off", False, 0)],
    )
    def test_by_default_those_whose_parts_cost_nothing(
        self, make_manager: Any, parts: str, sends_text_away: bool, count: int
    ) -> None:
        provider = Provider()
        manager = make_manager(provider, sends_text_away=sends_text_away, store={"vector": {"parts": parts}})
        write(manager, a_list(FACTS))
        manager.sync()

        assert len(provider.texts) == 1 + count
        assert rows(manager) == (count, count, 0)
        outcome = manager.search("When is the violin lesson?")
        assert (outcome.mode, bool(outcome.hits)) == ("hybrid", True)

    def test_to_have_them_from_a_paid_provider_is_agreed_to_first(self, make_manager: Any) -> None:
        first = make_manager(Provider(), sends_text_away=True)
        write(first, a_list(FACTS))
        first.sync()
        first.close()
        provider = Provider()
        manager = make_manager(provider, sends_text_away=True, store={"vector": {"parts": "on"}})
        report = manager.sync()

        assert provider.texts == []
        assert report.mismatch is not None
        assert (report.mismatch.chunks, report.mismatch.provider) == (1, "old")
        assert report.mismatch.tokens > 10
        assert any("vectors of the parts" in problem for problem in manager.status().problems)
        assert manager.search("violin lesson").mode == "hybrid", "the index as it is serves meanwhile"

        assert manager.sync(force=True).rebuilt
        assert sorted(provider.texts) == sorted(FACTS), "chunks are in the cache"
        assert rows(manager) == (4, 4, 0)

    def test_a_free_provider_makes_them_without_being_told(self, make_manager: Any) -> None:
        first = make_manager(Provider(), store={"vector": {"parts": "off"}})
        write(first, a_list(FACTS))
        first.sync()
        first.close()
        manager = make_manager(provider := Provider())

        assert manager.sync().rebuilt
        assert sorted(provider.texts) == sorted(FACTS)
        assert rows(manager) == (4, 4, 0)

    def test_an_outage_meanwhile_does_not_publish_an_index_that_lacks_them(self, make_manager: Any) -> None:
        first = make_manager(Provider(), store={"vector": {"parts": "off"}})
        write(first, a_list(FACTS))
        first.sync()
        first.close()
        manager = make_manager(provider := Provider())
        provider.most = 2
        assert not manager.sync().rebuilt
        provider.most = None
        assert manager.sync().rebuilt
        assert rows(manager) == (4, 4, 0)


def test_nothing_is_remembered_of_an_index_file_that_was_replaced(make_manager: Any) -> None:
    def fill(of: str, count: int) -> None:
        for number in range(count):
            write(manager, a_list([f"{of} {number} {fact}" for fact in FACTS]), f"n{number}")

    manager = make_manager(Provider())
    fill("Yesterday", 30)
    manager.sync()
    for _ in range(5):  # from then on vectors are kept in memory
        manager.search("When is the violin lesson?")
    for file in manager.location.index_file.parent.glob(f"{manager.location.index_file.name}*"):
        file.unlink()
    fill("Tomorrow", 40)
    other = make_manager(Provider())
    other.sync()

    def found(by: MemoryManager) -> list[tuple[str, float]]:
        outcome = by.search("Who keeps the code of the gate tomorrow 7?", explain=True)
        return [(hit.path, hit.score) for hit in outcome.hits]

    assert found(manager) == found(other)


def make_old(file: Path) -> None:
    """Take an index back to the schema that had no parts."""
    db = apsw.Connection(str(file))
    live = generations.find(db, "live")
    assert live is not None
    identity = {name: value for name, value in live.identity.items() if name != "parts"}
    db.execute(f"DROP TABLE {live.tables.parts}")
    db.execute(f"DROP TABLE {live.tables.part_bits}")
    db.execute("UPDATE generations SET identity = ?", (json.dumps(identity, sort_keys=True),))
    db.execute("ALTER TABLE generations DROP COLUMN part_vectors")
    db.execute("ALTER TABLE spaces DROP COLUMN background")
    db.execute("DELETE FROM embeddings WHERE space_id IN (SELECT id FROM spaces WHERE key LIKE '%:parts')")
    db.pragma("user_version", 2)
    db.close()


def old_index(make_manager: Any, *, sends_text_away: bool) -> None:
    first = make_manager(Provider(), sends_text_away=sends_text_away)
    write(first, a_list(FACTS))
    first.sync()
    first.close()
    make_old(first.location.index_file)


def test_an_index_from_before_parts_is_built_anew_and_embeds_no_chunk_twice(make_manager: Any) -> None:
    old_index(make_manager, sends_text_away=False)
    manager = make_manager(provider := Provider())

    assert manager.sync().rebuilt
    assert sorted(provider.texts) == sorted(FACTS)
    assert rows(manager) == (4, 4, 0)
    assert manager.search("When is the violin lesson?").mode == "hybrid"
    assert manager.status(deep=True).is_healthy


def test_an_index_from_before_parts_of_a_paid_provider_stays_and_gets_its_background(make_manager: Any) -> None:
    old_index(make_manager, sends_text_away=True)
    manager = make_manager(provider := Provider(), sends_text_away=True)
    report = manager.sync()

    assert (report.rebuilt, report.mismatch, report.indexed) == (False, None, 0)
    assert provider.texts == []
    assert manager.search("When is the violin lesson?").mode == "hybrid"
    assert manager.status(deep=True).is_healthy
    write(manager, a_list(FACTS[:2]))
    manager.sync()
    assert provider.texts == [a_list(FACTS[:2]).strip()]


def test_an_index_from_before_parts_is_searched_without_waiting_for_a_command(make_manager: Any) -> None:
    old_index(make_manager, sends_text_away=False)
    manager = make_manager(Provider())

    assert "violin" in manager.search("When is the violin lesson?").hits[0].snippet


# The vectors themselves


@pytest.mark.parametrize("dims", [1, 63, 64, 65, 512])
def test_the_nearest_chunk_by_bits_and_bytes_is_the_nearest_of_all(dims: int) -> None:
    random = numpy.random.default_rng(dims)
    db = apsw.Connection(":memory:")
    schema.prepare(db)
    db.execute("INSERT INTO spaces (id, provider, model, key) VALUES (1, 'p', 'm', 'k')")
    generation = generations.create(db, "live", {"dims": dims})
    center = numpy.zeros(dims, dtype=numpy.float32)
    writer = PartRows(db, generation.tables, center)
    vectors: dict[bytes, int] = {}
    parts: dict[int, Any] = {}
    for chunk in range(1, 41 if dims > 1 else 3):
        made = random.normal(size=(3, dims)) if dims > 1 else numpy.array([[1.0 if chunk == 1 else -1.0]])
        parts[chunk] = (made / numpy.linalg.norm(made, axis=1, keepdims=True)).astype(numpy.float32)
        for number, row in enumerate(parts[chunk]):
            name = bytes([chunk, number])
            sql = "INSERT INTO embeddings (space_id, text_hash, vector, used_at) VALUES (1, ?, ?, 0)"
            db.execute(sql, (name, to_bytes(row)))
            vectors[name] = db.last_insert_rowid()
    writer.vectors = vectors
    writer.add([(chunk, {bytes([chunk, n]): "" for n in range(len(each))}) for chunk, each in parts.items()])
    finder = PartIndex(generation.tables)

    for chunk, each in parts.items():
        query = (0.9 * each[-1] + 0.1 * random.normal(size=dims) / numpy.sqrt(dims)).astype(numpy.float32)
        query /= numpy.linalg.norm(query)
        live = _now(db, generation)
        brute = max(parts, key=lambda one: float((parts[one] @ query).max()))
        assert brute == chunk

        compared = finder.compare(db, live, query)

        assert compared.nearest(1) == [chunk]
        assert compared.cosines([chunk, 999]).keys() == {chunk}
        exact = best_parts(db, live.tables, query, list(parts))
        assert max(exact, key=lambda one: exact[one][0]) == chunk
        assert exact[chunk] == (pytest.approx(float((each @ query).max()), abs=0.02), len(each))

    # A finder that has read already sees what is new, and chunks without any part do no harm.
    writer.vectors = {b"new": vectors[bytes([1, 0])]}
    writer.add([(50, {b"absent": ""}), (51, {b"new": ""})])
    db.execute("UPDATE generations SET changes = changes + 1")
    assert set(finder.compare(db, _now(db, generation), parts[1][0]).nearest(2)) == {1, 51}

    # A part that comes later is found in the chunk that waited for it.
    writer.vectors = {b"absent": vectors[bytes([2, 0])]}
    writer.remove([50])
    writer.add([(50, {b"absent": ""})])
    db.execute("UPDATE generations SET changes = changes + 1")
    assert set(finder.compare(db, _now(db, generation), parts[2][0]).nearest(2)) == {2, 50}
    assert set(finder.compare(db, _now(db, generation), parts[1][0]).nearest(2)) == {1, 51}


def _now(db: apsw.Connection, generation: Generation) -> Generation:
    found = generations.by_number(db, generation.number)
    assert found is not None
    return found


def test_a_vector_in_bytes_is_almost_itself() -> None:
    row = numpy.random.default_rng(1).normal(size=200).astype(numpy.float32)
    row /= numpy.linalg.norm(row)

    (read,) = from_bytes([to_bytes(row)])

    assert float(read @ row) == pytest.approx(1.0, abs=1e-3)
    assert len(to_bytes(row)) == 4 + 200
    assert to_bytes(numpy.zeros(8, dtype=numpy.float32)) == b""
