"""The language of a text, and what its words are found by."""

from __future__ import annotations

import subprocess
import sys

import pytest
from memslot.retrieval import LANGUAGES, STEMMING_TOKENIZER, index_forms, index_stems, index_text, query_terms, stems
from memslot.retrieval.languages import CODES, languages_of
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER


def _finds(query: str, text: str) -> bool:
    held = set(stems(text))
    return all(held.intersection(index_forms(term, CODES)) for term in query_terms(query).terms)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Zahnarzttermin Dienstag 15 Uhr"),
        ("de", "Häuser und Gärten"),
        ("es", "¿Dónde está la llave?"),
        ("fr", "J'ai acheté une voiture"),
        ("pt", "A reunião é na terça-feira"),
        ("it", "La riunione è domani alle dieci"),
        ("nl", "Ik heb morgen een afspraak bij de tandarts"),
        ("sv", "Jag ska träffa läkaren på fredag"),
        ("fi", "Tapaan lääkärin huomenna ja käyn kaupassa"),
        ("hu", "Holnap találkozom az orvossal"),
        ("ro", "Mâine am o întâlnire cu medicul"),
        ("tr", "Yarın doktorla randevum var ve çok heyecanlıyım"),
        ("pl", "Jutro mam spotkanie z lekarzem i nie wiem gdzie"),
        ("cs", "Zítra mám schůzku s lékařem, ale nevím kde"),
        ("id", "Besok saya ada rapat dengan dokter"),
        ("en", "Café Noir in Zürich"),
        ("en", "Call Müller tomorrow"),
        ("en", "Oscar de la Renta did not take part in the show, as you know"),
        ("en", "TODO: fix die bug in der Pipeline"),
        ("en", "Tôi sẽ gặp bác sĩ vào ngày mai"),  # Vietnamese: no stemmer
        ("en", "Kubernetes"),
        ("en", ""),
    ],
)
def test_the_language_is_told_by_small_words_and_letters(language: str, text: str) -> None:
    assert languages_of(text) == [language]


def test_each_line_of_a_mixed_note_has_its_own_language() -> None:
    note = "We are going to the dentist on Monday.\nDer Termin ist um neun, und ich habe das Auto.\nPraxis Weber"
    assert languages_of(note) == ["en", "de", "de"]  # the last line tells nothing: most of the note is German


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("книга", "Вчера я читал новые книги о космосе"),
        ("встреча", "Мы обсудили это на встрече с Анной"),
        ("ёлка", "Детям нравятся елки"),
        ("Haus", "Wir haben uns zwei Häuser in der Stadt angesehen"),
        ("Mueller", "Der Vertrag ist von Herrn Müller und nicht von uns"),
        ("Straße", "Die Strassen sind in der Nacht nicht sicher"),
        ("amigo", "Mis amigas viven en la casa de la esquina"),
        ("organizacion", "La organización de la fiesta es para el lunes"),
        ("cheval", "Les chevaux sont dans le pré avec les vaches"),
        ("acheter", "Nous avons acheté des légumes au marché"),
        ("reunião", "As reuniões são sempre na segunda-feira"),
        ("gatto", "I gatti sono nella cucina della nonna"),
        ("boek", "Ik heb de boeken niet bij me, maar ze zijn thuis"),
        ("książka", "Gdzie są książki, które mam oddać w piątek?"),
        ("kitap", "Yeni kitaplarımız geldi ve çok güzel"),
        ("kapı", "Evlerin kapıları açık kaldı ve kimse yoktu"),
        ("flicka", "Flickorna är på väg till skolan och de är sena"),
        ("talo", "Talossa on uusi katto, mutta se ei ole vielä valmis"),
        ("σπίτι", "Τα σπίτια είναι στην παραλία"),
        ("किताब", "मैंने दो किताबें खरीदीं"),
    ],
)
def test_another_form_of_a_word_finds_it(query: str, text: str) -> None:
    assert _finds(query, text)


def test_a_word_in_a_mixed_note_is_found_in_either_language() -> None:
    note = "We talked about the meetings with the clients.\nDie Häuser sind nicht zu verkaufen, und das ist gut."
    assert _finds("Haus", note)
    assert _finds("meetings clients", note)
    assert not _finds("Hausmeister", note)


@pytest.mark.parametrize(
    "text",
    [
        "Die Kollegen aus Berlin haben den Kubernetes-Cluster mit useEffect und Version v2.3 neu gestartet.",
        "La reunión con María y l'équipe de François es el martes a las 10:30.",
        "Мы с John обсудили новый проект в Zürich.",
        "Şirketin İstanbul'daki ofisi yarın açılacak ve ılık bir gün olacak.",
        "Các bạn gặp nhau ở Hà Nội vào ngày mai.",
        "Jag såg fjällräven på väg till stugan, och den var inte rädd.",
    ],
)
def test_every_word_of_a_text_finds_it(text: str) -> None:
    for token in UNICODE_TOKENIZER.tokens(text):
        assert _finds(text[token.start : token.end], text)
        assert _finds(token.word, text)


def test_words_of_one_language_are_not_taken_for_those_of_another() -> None:
    assert not _finds("notes", "I did not see it")  # `not` is the French stem of `notes`


def test_english_needs_no_stemmer() -> None:
    code = (
        "import sys; from memslot.retrieval import index_text, query_terms;"
        "index_text('The dentist is on Monday, we think.'); query_terms('when is the dentist');"
        "sys.exit('Stemmer' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_in_another_language_names_it_once() -> None:
    text = index_text("Der Termin ist am Montag und nicht heute")
    assert text.split().count(CODES["de"]) == 1


def test_the_stems_of_a_text_are_one_string_for_any_index() -> None:
    held = index_stems("The dentists are going to town.\nDie Häuser sind nicht zu verkaufen.").split()
    for query in ("dentist", "towns", "Haus", "verkaufen"):
        (term,) = query_terms(query, STEMMING_TOKENIZER).terms
        assert set(index_forms(term, LANGUAGES, STEMMING_TOKENIZER)) & set(held)
    assert len(held) <= 1.3 * 12 + 1
