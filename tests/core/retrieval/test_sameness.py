"""Whether two texts say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import same_text, same_words, says
from memslot.retrieval.sameness import may_mean_same, means_same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("I eat meat", "I do not eat meat", False),
        ("Ich esse Fleisch", "Ich esse kein Fleisch", False),
        ("我喜欢喝茶", "我不喜欢喝茶", False),
        ("My sister lives in Graz", "My sister lives in Graz now", True),
        ("My sister lives in Graz", "My sister lives in Linz", False),
        ("Моя сестра живёт в Казани", "Моя сестра живёт в Казани.", True),
        ("I prefer coffee over tea", "I prefer tea over coffee", False),
    ],
)
def test_words_their_order_and_a_not_decide(one: str, other: str, same: bool) -> None:
    assert same_words(one, other) is same
    assert same_words(other, one) is same


def test_case_spacing_and_the_final_period_are_no_difference() -> None:
    assert same_text("We deploy on  Fridays.", "we deploy on fridays")
    assert not same_text("We deploy on Fridays", "We deploy on Fridays?")


NOTE = """# Kitchen

- Ana prefers tea over coffee.
- The kettle is descaled in May,
  before the guests come.
- Ben does not eat meat at all.
"""


@pytest.mark.parametrize(
    "statement",
    [
        "Ana prefers tea over coffee",
        "- ana prefers tea over coffee",
        "The kettle is descaled in May, before the guests come.",
        "Ben does not eat meat at all\n\nAna prefers tea over coffee",
    ],
)
def test_a_note_says_each_of_its_statements(statement: str) -> None:
    assert says(NOTE, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "Ana prefers coffee over tea",
        "Ben does eat meat at all",
        "Ana prefers tea over coffee\n\nShe has a cat",
        "tea coffee",
        "The kettle is descaled in June, before the guests come.",
    ],
)
def test_a_note_does_not_say_what_is_not_in_one_of_its_lines(statement: str) -> None:
    assert not says(NOTE, statement)


@pytest.mark.parametrize(
    "statement", ["Ana prefers tea over coffee.", "Does she want milk in it?", "The kettle in the kitchen is old"]
)
def test_another_sentence_of_a_paragraph_does_not_hide_what_is_said(statement: str) -> None:
    text = "Ana prefers tea over coffee. Does she want milk in it? She never said so. The kettle in the kitchen is old."
    assert says(text, statement)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Die neuen Häuser in Graz sind teuer geworden.", "die neuen häuser in graz"),
        ("Моя сестра живёт теперь в Казани у вокзала", "Моя сестра живёт теперь в Казани"),
        ("我喜欢喝茶，不喜欢喝咖啡", "我喜欢喝茶，不喜欢喝咖啡。"),
        ("The kettles were descaled in May by Ben", "kettle descaled in May"),
    ],
)
def test_word_forms_and_scripts_do_not_hide_what_is_said(text: str, statement: str) -> None:
    assert says(text, statement)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The light switch in the basement is on.", "The light switch in the basement is off."),
        ("I take the pills before lunch every day", "I take the pills after lunch every day"),
        ("My dentist is called Doctor Novak", "Her dentist is called Doctor Novak"),
        ("He owes me a lot of money since spring", "I owe him a lot of money since spring"),
        ("The API key is in vault A.", "The API key is in vault B."),
        ("Ben prefers tea over coffee", "I prefer tea over coffee"),
        ("The train goes from Graz to Wien daily", "The train goes to Graz from Wien daily"),
        ("Die Heizung im Keller ist nachts an", "Die Heizung im Keller ist nachts aus"),
        ("Does Ana prefer tea over coffee?", "Ana prefers tea over coffee"),
        ("Ana's brother prefers tea over coffee", "Ana prefers tea over coffee"),
        ("Ana used to prefer tea over coffee", "Ana prefers tea over coffee"),
        ("The lowest temperature is -5 degrees", "The lowest temperature is 5 degrees"),
        ("A value of x > 80 degrees fails", "A value of x < 80 degrees fails"),
        ("मुझे कॉफी पसंद नहीं है", "मुझे कॉफी पसंद है"),
        ("Tôi không thích cà phê", "Tôi thích cà phê"),
        ("Saya tidak suka kopi hitam", "Saya suka kopi hitam"),
        ("Δεν πίνω μαύρο καφέ", "Πίνω μαύρο καφέ"),
        ("أنا لا آكل اللحم يوم الجمعة", "أنا آكل اللحم يوم الجمعة"),
    ],
)
def test_small_words_and_signs_make_another_statement(one: str, other: str) -> None:
    for text, statement in ((one, other), (other, one)):
        assert not says(text, statement)
        assert not same_words(text, statement)
        assert not may_mean_same(text, statement)


def test_a_statement_does_not_say_the_whole_note() -> None:
    assert not says("Ana prefers tea over coffee", NOTE)


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_text_says_itself_and_one_that_quotes_it(text: str, other: str) -> None:
    assert says(text, text)
    assert same_words(text, text)
    assert says(text, other) or not same_text(text, other)


def test_a_cosine_counts_only_where_the_words_do_not_object() -> None:
    longer = "Ana, who is my sister, prefers green tea over coffee"
    shorter = "Ana prefers tea over coffee"
    assert not says(longer, shorter)
    assert means_same(longer, shorter, 0.95)
    assert not means_same(longer, shorter, 0.5)
    assert not means_same(longer, shorter, None)
    assert not means_same(longer, "Ana prefers coffee over tea", 0.99)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The meeting with Ben is on Monday at 10", "The meeting with Ben is on Tuesday at 10"),
        ("The meeting with Ben lasts 20 minutes", "The meeting with Ben lasts minutes"),
        ("Ben never eats fresh meat at home", "Ben eats meat at home"),
        (NOTE, "Ana prefers coffee"),
    ],
)
def test_another_day_number_or_a_never_is_another_statement(text: str, other: str) -> None:
    assert not may_mean_same(text, other)


def test_code_is_part_of_what_a_text_says() -> None:
    prose = "Run the migration with care."
    with_code = f"{prose}\n```sh\nmake migrate\n```"
    assert says(with_code, prose)
    assert not says(prose, with_code)
    assert says(f"{with_code}\n~~~\n  make test\n~~~", with_code)
