"""Search by words and meaning together, on real LanceDB folders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from memslot.retrieval import WEAK_SCORE
from memslot.testing import FailingProvider, HashingProvider
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord, SearchHit
from memslot_memory_lancedb.recall.search import POOL
from memslot_memory_lancedb.scores import score_of
from memslot_memory_lancedb.store.stems_column import has_words_index, make_words_index

from tests.recall_block import recalled_block

MakeMemory = Callable[..., LanceMemory]
FILLERS = [f"Invoice {number} was paid by bank transfer to the landlord of flat {number}." for number in range(40)]


def find(memory: LanceMemory, query: str, limit: int = 5) -> list[SearchHit]:
    return list(memory.searcher.find(query, limit).found)


def put(memory: LanceMemory, *texts: str) -> None:
    """Store many texts at once, without the look for duplicates."""
    identity = memory.embedder.identity
    assert identity is not None
    rows = [MemoryRecord(text, embedder=identity.digest) for text in texts]
    memory.store.put(rows, memory.embedder.embed_documents(texts), identity)


class TestBoth:
    @pytest.fixture
    def memory(self, make_memory: MakeMemory) -> LanceMemory:
        memory = make_memory(provider=UniversalProvider())
        put(
            memory,
            *FILLERS,
            "I can't stand the taste of coriander.",
            "The ticket for the login problem is QX-7741.",
            "The ticket for the printer problem is QX-7714.",
        )
        return memory

    def test_a_paraphrase_without_a_shared_word_is_found_by_meaning(self, memory: LanceMemory) -> None:
        first = find(memory, "Which herbs does the person dislike?")[0]
        assert "coriander" in first.memory.text
        assert first.found_by == ("meaning",)
        assert first.relevance >= WEAK_SCORE

    def test_an_identifier_is_found_by_words(self, memory: LanceMemory) -> None:
        first, second = find(memory, "QX-7714", 2)
        assert "printer" in first.memory.text
        assert "words" in first.found_by
        assert first.relevance > second.relevance

    def test_scores_are_those_of_lancedb_for_the_raw_query(self, memory: LanceMemory) -> None:
        query = "what is the ticket of the login problem?"
        vector = memory.embedder.embed_query(query).vector
        table = memory.store.live()
        assert table is not None
        assert vector is not None
        distances = {each.id: distance for each, distance in table.nearest(vector, 100)}
        for found in find(memory, query, 10):
            assert found.score == pytest.approx(score_of(distances[found.memory.id]), abs=1e-4)

    def test_a_search_without_a_good_answer_is_called_weak(self, memory: LanceMemory) -> None:
        assert memory.search("Who composed the Goldberg Variations?").weak
        assert not memory.search("coriander").weak

    def test_the_outcome_tells_what_found_a_memory(self, memory: LanceMemory) -> None:
        (hit,) = memory.search("taste of coriander", max_results=1).hits
        assert hit.explanation is None, "nobody asked"
        (hit,) = memory.search("taste of coriander", max_results=1, explain=True).hits
        assert hit.explanation is not None
        assert hit.explanation["foundBy"] == ["words", "meaning"]
        assert hit.explanation["relevance"] == hit.score

    def test_two_agents_do_not_meet(self, make_memory: MakeMemory, memory: LanceMemory) -> None:
        other = make_memory("other", provider=UniversalProvider())
        other.keep("The other agent's ticket is QX-9000.")
        assert [each.memory.text for each in find(other, "QX-7714 coriander")] == [
            "The other agent's ticket is QX-9000."
        ]
        assert not any("QX-9000" in each.memory.text for each in find(memory, "QX-9000", POOL))


class TestWords:
    """Without an embedder, so that nothing but words can find a memory."""

    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("lessons", "The violin lesson is on Thursday."),
            ("THURSDAY", "The violin lesson is on Thursday."),
            ("Café", "We met at the Cafe\u0301 Zölle."),
            ("50%_off'", "It was 50%_off' on Monday."),
            ("目的", "私の目的は旅行です"),
            ("我的狗叫什么名字", "我的狗叫旺财，今年三岁"),
            ("в каких городах жила сестра", "Моя сестра живёт в городе Казань."),
            ("Wo wohnen die Frauen?", "Der Nachbar und seine Frau wohnen nicht mehr in der Gasse."),
            ("Versicherung", "Die Haftpflichtversicherung ist bei der Bank und nicht bei der Post."),
            ("error code E0308", "The build failed with E0308 again."),
        ],
    )
    def test_words_are_found_in_other_forms(self, make_memory: MakeMemory, query: str, text: str) -> None:
        memory = make_memory(without_provider=True)
        memory.keep("Something quite different.")
        memory.keep(text)
        assert [each.memory.text for each in find(memory, query)] == [text]

    def test_a_rare_word_weighs_more(self, make_memory: MakeMemory) -> None:
        memory = make_memory(without_provider=True)
        for number in range(20):
            memory.keep(f"The meeting number {number} was long.")
        memory.keep("The orchid was bought in spring.")
        first = find(memory, "meeting about the orchid")[0]
        assert "orchid" in first.memory.text
        assert (first.found_by, first.compared) == (("words",), False)
        assert 0.5 < first.score < 1

    def test_a_part_of_a_word_is_no_word(self, make_memory: MakeMemory) -> None:
        memory = make_memory(without_provider=True)
        memory.keep("We start at noon.")
        assert find(memory, "art") == []

    def test_a_language_that_comes_later_is_found_at_once(self, make_memory: MakeMemory) -> None:
        """The languages of the store are known from a count that is not made anew for each write."""
        memory = make_memory(without_provider=True)
        for number in range(30):
            memory.keep(f"Shelf {number} holds {number} books.")
        assert find(memory, "Schlüssel") == []
        memory.keep("Der Schlüssel liegt unter der Matte und nicht im Haus.")
        assert len(find(memory, "Wo sind die Schlüssel?")) == 1

    def test_a_memory_that_was_changed_is_found_by_its_new_words(self, make_memory: MakeMemory) -> None:
        memory = make_memory(without_provider=True)
        kept = memory.keep("The code of the door is on the yellow card.").memory
        memory.writer.change(kept.id, text="The code of the gate is on the green card.")
        assert find(memory, "yellow") == []
        assert [each.memory.id for each in find(memory, "gate green")] == [kept.id]

    def test_a_page_as_a_query_is_no_trouble(self, make_memory: MakeMemory) -> None:
        memory = make_memory(without_provider=True)
        memory.keep("The orchid was bought in spring.")
        page = " ".join(f"word{number}" for number in range(2000))
        assert len(find(memory, f"orchid {page}")) == 1
        assert find(memory, "?!") == []


class TestTheIndex:
    def test_it_gives_the_same_answers_also_for_rows_that_come_later(self, make_memory: MakeMemory) -> None:
        memory = make_memory()
        put(memory, *FILLERS, "Der Nachbar hat einen Hund und eine Katze.", "我的狗叫旺财")
        queries = ("paid to the landlord of flat 7", "Hunde der Nachbarn", "狗", "invoice 12")
        before = {query: [each.memory.id for each in find(memory, query)] for query in queries}
        table = memory.store.live()
        assert table is not None
        make_words_index(table, memory.store.database)
        assert has_words_index(table, memory.store.database)
        assert {query: [each.memory.id for each in find(memory, query)] for query in queries} == before
        put(memory, "The heliotrope stands in the hall.")
        found = table.with_any_stem(["heliotrop"], 5)
        assert [row.memory.text for row in found] == ["The heliotrope stands in the hall."]

    def test_forgotten_words_leave_it_with_a_purge(self, make_memory: MakeMemory) -> None:
        from memslot_memory_lancedb.store.purge import purge

        memory = make_memory()
        put(memory, *FILLERS, "The heliotrope stands in the hall.")
        table = memory.store.live()
        assert table is not None
        make_words_index(table, memory.store.database)
        (row,) = table.with_any_stem(["heliotrop"], 5)
        memory.forget_all([row.memory])
        purge(memory.store)
        assert table.with_any_stem(["heliotrop"], 5) == []
        stats = table.handle.index_stats("stems_idx")
        assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (len(FILLERS), 0)


def test_without_the_embedder_it_goes_by_words_and_says_so(make_memory: MakeMemory) -> None:
    make_memory().keep("My dentist is called Dr. Novak.")
    broken = FailingProvider("no quota")
    broken.model = HashingProvider.model
    recalled = make_memory(provider=broken).searcher.find("dentist", 3)
    assert recalled.mode == "words"
    assert "no quota" in (recalled.warning or "")
    assert recalled.found[0].found_by == ("words",)


class TestDuplicates:
    @pytest.mark.parametrize(
        ("known", "text"),
        [
            ("I prefer coffee over tea", "I prefer tea over coffee"),
            ("Anna is taller than Ben", "Ben is taller than Anna"),
            ("The alarm goes off at seven", "The alarm goes on at seven"),
        ],
    )
    def test_the_same_words_in_another_order_say_something_else(
        self, make_memory: MakeMemory, known: str, text: str
    ) -> None:
        memory = make_memory(provider=UniversalProvider())
        memory.keep(known)
        assert memory.embedder.embed_documents([known]) is not None
        assert memory.keep(text).action == "created"

    @pytest.mark.parametrize(
        "text", ["I prefer the tea over coffee", "i prefer  TEA over coffee.", "I prefer tea over coffee"]
    )
    def test_the_same_in_the_same_order_is_a_duplicate(self, make_memory: MakeMemory, text: str) -> None:
        memory = make_memory(provider=UniversalProvider())
        memory.keep("I prefer tea over coffee")
        assert memory.keep(text).action == "duplicate"


class TestPrompts:
    def test_one_sentence_of_a_long_prompt_is_enough(self, make_memory: MakeMemory) -> None:
        memory = make_memory(provider=UniversalProvider())
        put(memory, *FILLERS, "We deploy the billing service with Nomad, not with Kubernetes.")
        prompt = (
            "Please have a look at this change before I merge it.\n\n```python\n"
            + "\n".join(f"value_{number} = compute(value_{number - 1})" for number in range(60))
            + "\n```\n\nThe tests pass on my machine. How do we deploy the billing service?"
        )
        assert "Nomad" in recalled_block(memory, prompt)

    def test_what_is_too_long_is_cut_at_whole_lines(self, make_memory: MakeMemory) -> None:
        memory = make_memory(provider=UniversalProvider())
        lines = [f"Step {number} of the release: tell team {number} that the release begins." for number in range(30)]
        memory.keep("\n".join(lines))
        block = recalled_block(memory, "which steps does the release have, and whom do we tell?")
        assert 0 < len(block) <= 1000
        assert "Step 0 of the release" in block
        assert "…" not in block
