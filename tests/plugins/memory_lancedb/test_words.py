"""Search by words: the way of memories without vectors, and of every memory while the embedder is down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store.words import MAX_TERMS, score_words, terms_of

MakeMemory = Callable[..., LanceMemory]


def test_words_that_say_nothing_are_left_out() -> None:
    assert terms_of("What is the name of my dentist?") == ["name", "dentist"]
    assert terms_of("who am I") != [], "but a query of nothing else is still a query"
    assert terms_of("?!") == []


def test_scripts_without_spaces_are_looked_at_two_characters_at_a_time() -> None:
    assert terms_of("我的狗") == ["我的", "的狗"]
    assert terms_of("狗") == ["狗"]
    assert terms_of("GPU显卡 costs") == ["gpu", "显卡", "costs"]


def test_a_long_query_is_cut() -> None:
    assert len(terms_of(" ".join(f"word{number}" for number in range(1000)))) == MAX_TERMS
    assert len(terms_of("x" * 100_000)[0]) < 100


def test_a_rare_word_weighs_more(make_memory: MakeMemory) -> None:
    memory = make_memory(without_provider=True)
    for number in range(20):
        memory.keep(f"The meeting number {number} was long.")
    memory.keep("The orchid was bought in spring.")
    first = memory.search("meeting about the orchid").hits[0]
    assert "orchid" in first.snippet
    assert 0.5 < first.score < 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("lessons", "The violin lesson is on Thursday."),
        ("THURSDAY", "The violin lesson is on Thursday."),
        ("Café", "We met at the Cafe\u0301 Zölle."),
        ("50%_off'", "It was 50%_off' on Monday."),
        ("目的", "私の目的は旅行です"),
    ],
)
def test_words_are_found_in_other_forms(make_memory: MakeMemory, query: str, text: str) -> None:
    memory = make_memory(without_provider=True)
    memory.keep("Something quite different.")
    memory.keep(text)
    assert [hit.snippet for hit in memory.search(query).hits] == [text]


def test_a_part_of_a_word_is_no_word(make_memory: MakeMemory) -> None:
    memory = make_memory(without_provider=True)
    memory.keep("We start at noon.")
    assert memory.search("art").hits == []


def test_a_memory_that_holds_every_word_scores_one() -> None:
    assert score_words("My doctor's name is Novak", {"dentist": 2.0, "novak": 3.0}) == pytest.approx(0.6)
    assert score_words("The dentist Novak", {"dentist": 2.0, "novak": 3.0}) == 1.0
