"""The terms of a query, and a text prepared for an index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import index_forms, index_text, query_terms, stems
from memslot.retrieval.languages import CODES
from memslot.retrieval.terms import MAX_TERMS


def test_plain_english_is_handed_on_as_it_is() -> None:
    text = "The quick brown fox; it's 2024-05-01, I think."
    assert index_text(text) is text


def test_a_contraction_alone_is_asked_for() -> None:
    assert query_terms("don't").stems == ("don", "t")


def test_stop_words_of_another_language_stay_in_an_english_question() -> None:
    assert {"hat", "die", "sin", "war"} <= set(query_terms("did the man with the hat die of sin in the war").stems)


def test_names_and_numbers_are_marked() -> None:
    terms = {term.word: term for term in query_terms("when did Melanie run 10k in 2023").terms}
    assert terms["2023"].number
    assert terms["10k"].number
    assert not terms["melanie"].number


def test_the_number_of_terms_is_bounded() -> None:
    assert len(query_terms(" ".join(f"w{number}" for number in range(5_000))).terms) == MAX_TERMS


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What did we decide about the harbour?", ["decide", "harbour"]),
        ("Wo war der Schlüssel zum Keller?", ["schlussel", "keller"]),
        ("Когда мы встречаемся с Анной?", ["встреча", "ан"]),
        ("回忆一下 会議はいつですか", ["回忆", "会議"]),
        ("हिन्दी भाषा", ["हिन्द", "भाष"]),
    ],
)
def test_stop_words_are_left_out(query: str, expected: list[str]) -> None:
    assert list(query_terms(query).stems) == expected


def test_parts_of_a_compound_are_terms_only_where_the_whole_is_missing() -> None:
    terms = query_terms("useEffect")

    assert terms.stems == ("useeffect",)
    assert [term.stem for term in terms.compounds[0].instead] == ["use", "effect"]
    assert stems("useEffect") == ["useeffect", "use", "effect"]


@given(st.text(st.characters(exclude_categories=["Cn", "Co", "Cs"]), max_size=80))
def test_a_text_holds_the_terms_of_itself(text: str) -> None:
    held = {*stems(text), *stems(text.replace("'", " ").replace("’", " "))}
    assert all(held.intersection(index_forms(term, CODES)) for term in query_terms(text).terms)
