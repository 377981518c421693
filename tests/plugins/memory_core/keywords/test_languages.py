"""Words of many languages in one keyword table: forms, compounds, and what they weigh."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot.retrieval import Matcher, gather_evidence, make_snippet
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import FTS5, query_terms, stems
from memslot_memory_core.search.candidate import ranking_query

from tests.plugins.memory_core.keywords.conftest import Notes

NOTES = [
    "Am Dienstag habe ich einen Zahnarzttermin in der Stadt, danach gehen wir in die Bücherei.",
    "Вчера мы встречались с Анной и обсуждали новые проекты.",
    "El martes tenemos una reunión con los organizadores de la fiesta en el jardín.",
    "The dentist appointment is on Tuesday; we are going to the library with Anna.",
    "Nous avons acheté des légumes au marché, et Anna a mangé une délicieuse tarte.",
    "Dünkü toplantıda yeni evlerin kapılarını konuştuk ve çok beğendik.",
    "Igår köpte vi nya böcker till barnen och åt middag på restaurangen.",
    "Het tandartsbezoek is morgen, en de kinderen gaan niet naar de kinderopvang.",
    "Der Steuerberater hat die Unterlagen für die Handlung nicht bekommen, und die Hand tut mir weh.",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Zahnarzt", [1]),
        ("Termine", [1]),
        ("Arzttermin", [1]),
        ("Berater", [9]),
        ("Steuern", [9]),
        ("Hand", [9]),
        ("проект", [2]),
        ("встретились ли мы с Анной", [2]),
        ("reuniones", [3]),
        ("jardin", [3]),
        ("libraries", [4]),
        ("acheter", [5]),
        ("toplantı", [6]),
        ("barn", [7]),
        ("bezoek", [8]),
        ("kind", [8]),
        ("Anna", [4, 5]),
        ("art", []),
        ("rent", []),
    ],
)
def test_a_single_word_finds_its_forms_and_compounds(query: str, found: list[int]) -> None:
    assert sorted(Notes(NOTES).find(query)) == found


def test_a_compound_finds_its_parts_and_the_compound_first() -> None:
    notes = Notes(["Der Termin beim Zahnarzt ist am Montag.", "Die Katze ist nicht da.", "Ein Termin, und ich"])
    assert notes.find("Zahnarzttermin")[0] == 1
    notes.add(["Mein Zahnarzttermin ist am Freitag, und das ist gut."])
    assert notes.find("Zahnarzttermin")[:2] == [4, 1]


def test_english_words_are_not_split() -> None:
    notes = Notes(["The firehouse is on the left.", "A housewarming party for us.", "Our dog is in the house."])
    assert notes.find("house") == [3]
    assert notes.find("houseparty") == []


def test_a_derived_word_is_no_compound() -> None:
    notes = Notes(["Die Handlung ist langweilig, und das Unternehmen ist es auch.", "Ich habe nicht gehandelt."])
    assert notes.find("Hand") == []
    assert notes.find("nehmen") == []


def test_all_ways_of_scoring_agree_on_a_term_with_many_forms() -> None:
    texts = [NOTES[number % len(NOTES)] + f" filler{number}" for number in range(70)]
    notes = Notes(texts)
    query = keywords.weigh(notes.db, "fts_1", query_terms("Anna Termin acheter"))
    assert len(query.forms["anna"]) > 1
    by_lists = dict(keywords.score_query(notes.db, "fts_1", query).best(100))
    assert by_lists.keys() == {number for number, text in notes.texts.items() if "Anna" in text or "termin" in text}
    assert dict(keywords.search(notes.db, "fts_1", query, 100).hits) == pytest.approx(by_lists)
    assert keywords.score(notes.db, "fts_1", query, list(by_lists)) == pytest.approx(by_lists)
    assert {row: query.score_text(text) for row, text in texts_of(notes, by_lists).items()} == pytest.approx(by_lists)


def texts_of(notes: Notes, rows: dict[int, float]) -> dict[int, str]:
    return {row: notes.texts[row] for row in rows}


def test_evidence_and_snippets_see_the_forms_of_a_term() -> None:
    notes = Notes(NOTES)
    terms = query_terms("Termine beim Zahnarzt")
    asked = ranking_query("Termine beim Zahnarzt", keywords.weigh(notes.db, "fts_1", terms))
    matcher = Matcher(asked.terms, FTS5)
    text = "Heute ist nichts los, und das ist schön so.\n" + "Lorem ipsum " * 40 + "der Zahnarzttermin ist um neun"
    found = gather_evidence([text], matcher)[0]
    assert found.lines[0] == 0
    assert found.lines[1] == 1
    assert "Zahnarzttermin" in make_snippet(text, found.lines, matcher, 200)


def test_an_index_of_another_language_is_not_much_larger() -> None:
    text = " ".join(note for note in NOTES if stems(note)[-1] in ("ᵈᵉ", "ⁿˡ", "ˢᵛ"))
    words = len(stems(text, "en"))
    assert len(stems(text)) <= 1.3 * words


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(" ".join(NOTES).split()), min_size=1, max_size=30))
def test_words_in_any_order_find_their_text(words: list[str]) -> None:
    text = " ".join(words)
    notes = Notes(["etwas ganz anderes, und nicht das", text, "nothing of the kind at all"])
    for word in words:
        if query_terms(word).terms:
            assert 2 in notes.find(word)
