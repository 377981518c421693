"""What a query asks for: its words without the empty ones, and never a syntax error."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import query_terms, stems

from .conftest import Notes

HOSTILE = [
    '"',
    '""" OR "',
    "a AND OR NOT b",
    "NEAR(a b, 3)",
    "text:secret",
    "^start",
    "pre*",
    "-minus +plus",
    "{a b}:c",
    "a\x00b",
    "\x00",
    "'; DROP TABLE fts_1; --",
    "\ud800 lone",
    "😀🎉",
    "?!.,;",
    "   \t\n ",
    "",
    "\ufffe\uffff\U0010ffff",
    "\ue000 private",
    "(" * 500,
    "a" * 40_000,
]


@pytest.mark.parametrize("query", HOSTILE)
def test_nothing_asked_is_a_syntax_error(query: str) -> None:
    notes = Notes(["alpha a b secret text start minus plus pre", "lone private c"])
    notes.score_query(query)
    assert keywords.count(notes.db, "fts_1") == 2


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
@example("ア")
@example("ァ")
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    notes = Notes([text, "something else altogether"])
    terms = query_terms(text)
    assert bool(terms.terms) <= bool(stems(text))
    if terms.terms:
        assert 1 in notes.find(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_what_is_indexed_is_what_is_compared(text: str) -> None:
    notes = Notes([text])
    held = {term for (term,) in notes.db.execute("SELECT term FROM fts_1_vocab")}
    assert held == set(stems(text))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What did we decide about the harbour?", ["harbour", "decid"]),
        ("war and peace", ["war", "peac"]),
        ("Wo war der Schlüssel zum Keller?", ["schlussel", "keller"]),
        ("¿Dónde está la llave de la casa?", ["llave", "casa"]),
        ("Où est la clé de l'appartement?", ["cle", "appart"]),
        ("Dove sono le chiavi della macchina?", ["chiavi", "macchina"]),
        ("Onde estão as chaves do carro?", ["chave", "carro"]),
        ("Когда мы встречаемся с Анной?", ["встреча", "ан"]),
        ("متى نلتقي في المكتبة", ["نلتق", "مكتبه"]),
        ("회의는 언제 있나요", ["회의"]),
        ("会議はいつですか", ["会議"]),
        ("我们什么时候去东京", ["去东", "东京"]),
        ("I don't know Anna's dog", ["know", "anna", "dog"]),
        ("meet in May or in June", ["meet", "mai", "june"]),
        ("vitamin D", ["vitamin", "d"]),
    ],
)
def test_stop_words_are_left_out(query: str, expected: list[str]) -> None:
    assert sorted(query_terms(query).stems) == sorted(expected)


@pytest.mark.parametrize("query", ["to be or not to be", "the who", "的", "は", "이", "где"])
def test_stop_words_alone_are_all_kept(query: str) -> None:
    assert set(query_terms(query).stems) == set(stems(query))


def test_words_are_asked_for_once() -> None:
    assert query_terms("run running runs Run 東京 東京").stems == ("run", "東京")


def test_a_huge_query_keeps_its_rarest_words() -> None:
    notes = Notes([f"common filler{number % 90}" for number in range(300)] + ["zanzibar common"])
    query = " ".join(f"filler{number % 90} common" for number in range(2_000)) + " zanzibar"
    assert len(query) > 10_000
    asked = keywords.weigh(notes.db, "fts_1", query_terms(query)).asked
    assert asked[0] == "zanzibar"
    assert len(asked) == keywords.MOST_TERMS
    assert "common" not in asked
    assert notes.find(query)[0] == 301


def test_terms_are_read_in_many_threads_at_once() -> None:
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(100):
            if query_terms("Running cafés 東京").stems != ("run", "cafe", "東京") or stems("東京") != [
                "東",
                "東京",
                "京",
            ]:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
