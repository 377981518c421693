"""Which words are compounds of which, without a dictionary."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from memslot.retrieval.compounds import part_of, splits
from memslot.retrieval.languages import tagged
from memslot.retrieval.term_forms import TermForms
from memslot.retrieval.terms import make_term
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER


def _is_part(part: str, whole: str, language: str) -> bool:
    found = part_of(part.lower(), language)
    forms = tagged(whole.lower(), language).split()
    return any(found.is_in(form) and any(start < form < end for start, end in found.ranges) for form in forms)


@pytest.mark.parametrize(
    ("language", "pairs"),
    [
        ("de", "Termin/Zahnarzttermine Zahnarzt/Zahnarzttermin Arzt/Zahnarzt Kind/Kindergarten Garten/Kindergarten"),
        ("de", "Versicherungen/Krankenversicherung Rechnung/Stromrechnung Arbeit/Arbeitsvertrag Boot/Bootstour"),
        ("de", "Schlüssel/Hausschlüssel Urlaub/Urlaubsplanung Bahn/Autobahn Katze/Katzenfutter Wohnung/Ferienwohnung"),
        ("nl", "tandarts/tandartsafspraak afspraken/tandartsafspraak verjaardag/verjaardagsfeest"),
        ("sv", "försäkring/bilförsäkringar"),
        ("da", "forsikring/bilforsikring"),
        ("no", "forsikring/bilforsikringen"),
        ("fi", "lääkäri/hammaslääkäri hammas/hammaslääkäri kirja/kirjahylly"),
    ],
)
def test_a_word_is_part_of_its_compounds(language: str, pairs: str) -> None:
    for pair in pairs.split():
        part, whole = pair.split("/")
        assert _is_part(part, whole, language), pair


@pytest.mark.parametrize(
    ("language", "pairs"),
    [
        ("de", "Hand/Handlung Stand/Verstand nehmen/unternehmen Hand/handeln Wein/weinen Rat/Heirat Kind/kindisch"),
        ("de", "Freund/freundlich Freund/Freundschaft Haus/hausieren frei/Freiheit Arbeit/Arbeiter Bild/Bildung"),
        ("de", "Arbeit/Arbeitslosigkeit Grund/gründlich Herr/herrschen Termin/Termine Ton/Beton"),
        ("nl", "vriend/vriendelijk vriend/vriendschap hand/handeling"),
        ("sv", "vän/vänlig vän/vänskap"),
        ("fi", "kirja/kirjasto"),
    ],
)
def test_a_word_with_an_ending_or_a_prefix_is_no_compound(language: str, pairs: str) -> None:
    for pair in pairs.split():
        part, whole = pair.split("/")
        assert not _is_part(part, whole, language), pair


def test_a_compound_is_split_where_two_words_meet() -> None:
    assert ("zahnarzt", "termin") in splits("zahnarzttermin")
    assert ("arbeit", "vertrag") in splits("arbeitsvertrag")
    assert list(splits("termin")) == []


@pytest.mark.parametrize(("repeats", "is_split"), [(1, True), (200, False)])
def test_only_words_of_a_length_that_words_have_are_split(repeats: int, is_split: bool) -> None:
    word = "zahnarzt" * repeats + "termin"
    looked_up: list[str] = []

    def count(stems: Sequence[str]) -> dict[str, int]:
        looked_up.extend(stems)
        return {stem: int(stem in {"ᵈᵉ", "zahnarztᵈᵉ", "terminᵈᵉ"}) for stem in stems}

    forms = TermForms(count, lambda first, last: [])
    assert bool(forms.split([make_term(word, UNICODE_TOKENIZER)])) == is_split
    assert len(looked_up) < 1000, "a page of letters would be looked up at each of its places"
