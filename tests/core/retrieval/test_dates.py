"""Dates in questions, and how near a note is to them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import dates
from memslot.retrieval.dates import DateRange, closeness_to_dates, find_dates

TODAY = date(2024, 3, 14)  # a Thursday


def _days(query: str) -> list[tuple[str, str]]:
    found, _ = find_dates(query, TODAY)
    return [(each.first.isoformat(), each.last.isoformat()) for each in found if not each.every_year]


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("what happened on 2023-05-08?", "2023-05-08", "2023-05-08"),
        ("what happened on 8 May 2023?", "2023-05-08", "2023-05-08"),
        ("the 9th of December, 2023", "2023-12-09", "2023-12-09"),
        ("May 8, 2023", "2023-05-08", "2023-05-08"),
        ("on Sept 3 2023", "2023-09-03", "2023-09-03"),
        ("where were we in May 2023?", "2023-05-01", "2023-05-31"),
        ("February 2024 budget", "2024-02-01", "2024-02-29"),
        ("the 31 June 2023 release", "2023-06-01", "2023-06-30"),
        ("what did we build in 2022?", "2022-01-01", "2022-12-31"),
        ("was geschah am 3. März 2023?", "2023-03-03", "2023-03-03"),
        ("el 3 de mayo de 2023", "2023-05-03", "2023-05-03"),
        ("2023年5月8日开了什么会?", "2023-05-08", "2023-05-08"),
        ("2023년 5월 회의", "2023-05-01", "2023-05-31"),
        ("what did I do yesterday?", "2024-03-13", "2024-03-13"),
        ("what did we decide last week?", "2024-03-04", "2024-03-10"),
        ("notes of this week", "2024-03-11", "2024-03-17"),
        ("what did I eat last Monday?", "2024-03-11", "2024-03-11"),
        ("who came last Thursday?", "2024-03-07", "2024-03-07"),
        ("expenses of last month", "2024-02-01", "2024-02-29"),
        ("trips of last year", "2023-01-01", "2023-12-31"),
        ("the party last weekend", "2024-03-09", "2024-03-10"),
        ("what broke two days ago?", "2024-03-12", "2024-03-12"),
        ("昨天的会议", "2024-03-13", "2024-03-13"),
        ("先週の打ち合わせ", "2024-03-04", "2024-03-10"),
    ],
)
def test_a_date_in_a_question_is_understood(query: str, first: str, last: str) -> None:
    assert _days(query) == [(first, last)]


@pytest.mark.parametrize(
    "query",
    [
        "may I march with them?",
        "did John take part in a march?",
        "version 2.10.3 of the tool",
        "call 2023 555 0199",
        "what about room 2024?",
        "",
    ],
)
def test_what_is_no_date_is_left_alone(query: str) -> None:
    assert find_dates(query, TODAY) == ((), query)


def test_a_day_without_a_year_is_that_day_of_any_year() -> None:
    (asked,), _ = find_dates("what happened on 24 December?", TODAY)

    assert asked.closeness(date(2021, 12, 24)) == asked.closeness(date(2023, 12, 24)) == 1.0
    assert asked.closeness(date(2023, 12, 23)) < 0.01
    assert 0.3 < asked.closeness(date(2024, 1, 2)) < 0.5, "a note after New Year may tell of Christmas"


def test_the_words_of_a_date_are_taken_out_of_the_question() -> None:
    _, rest = find_dates("What did Maria plan on 7 July, 2023?", TODAY)

    assert rest.split() == ["What", "did", "Maria", "plan", "on", "?"]


def test_last_week_belongs_to_the_day_that_is_written_out() -> None:
    assert _days("what went wrong last week, as told on November 6, 2023?") == [("2023-11-06", "2023-11-06")]


def test_later_notes_count_less_and_earlier_ones_not_at_all() -> None:
    asked = DateRange(date(2023, 5, 1), date(2023, 5, 31))

    on, week_later, month_later = (asked.closeness(date(2023, *each)) for each in [(5, 31), (6, 7), (6, 30)])
    assert (on, week_later) == (1.0, 0.5)
    assert 0 < month_later < 0.1
    assert asked.closeness(date(2023, 4, 30)) == 0.0


def test_a_chunk_without_a_date_counts_by_the_dates_in_its_text() -> None:
    asked, _ = find_dates("what did we decide on 2024-03-02?", TODAY)

    assert closeness_to_dates(asked, None, "- 2024-03-02: Postgres it is") == 1.0
    assert closeness_to_dates(asked, None, "- 2024-03-03: no, SQLite\n- 2024-99-99: nonsense") == 0.0


@given(st.text(max_size=60), st.dates(min_value=date(1, 1, 1)))
def test_any_question_on_any_day_is_read(query: str, today: date) -> None:
    found, rest = find_dates(query, today)

    assert len(rest) == len(query)
    assert all(each.first <= each.last for each in found)


@given(
    st.sampled_from(
        ["3 days ago", "999 years ago", "999 months ago", "last week", "last weekend", "last month", "last year"]
    ),
    st.dates(min_value=date(1, 1, 1)),
)
def test_time_told_from_today_ends_at_the_ends_of_the_calendar(phrase: str, today: date) -> None:
    for asked in find_dates(f"what happened {phrase}", today)[0]:
        assert 0.0 <= asked.closeness(today) <= 1.0


_NUMBERS = ("8", "31", "1999", "2023", "۲۰", "two")
_NAMES = ("May", "mai", "MÄRZ", "août", "dec", "octṫ", "ſept", "ſeptember", "monday", "week", "weeks", "weeK", "day")
_SMALL = ("in", "IN", "ın", "İn", "since", "of", "de", "last", "laſt", "this", "thiſ", "ago", "today", "yeſterday", "x")
_UNSPACED = ("年", "月", "日", "월", "昨日", "上周", "지난달")
_PIECES = st.sampled_from([*_NUMBERS, *_NAMES, *_SMALL, *_UNSPACED, " ", ", ", "-", "/", "."])


@given(st.lists(_PIECES, max_size=8).map("".join) | st.lists(_PIECES, max_size=8).map(" ".join) | st.text(max_size=20))
def test_no_date_is_passed_over_for_what_its_pattern_needs(query: str) -> None:
    """Patterns are left out that cannot match; with all of them tried, the same is found."""
    with pytest.MonkeyPatch.context() as patch:
        everything = [dates._compiled(each) for each in dates._ABSOLUTE], [dates._compiled(dates._RELATIVE)]
        patch.setattr(dates, "_possible", lambda _: everything)
        expected = find_dates(query, TODAY)
    assert find_dates(query, TODAY) == expected


def test_a_question_without_a_date_compiles_no_pattern() -> None:
    assert dates._possible("where do we keep the spare boat keys?") == ([], [])


def test_letters_that_a_pattern_takes_for_others_are_read_as_those() -> None:
    assert _days("on 3 ſept 2023") == [("2023-09-03", "2023-09-03")]
    assert _days("what did we do yeſterday") == _days("what did we do yesterday") == [("2024-03-13", "2024-03-13")]
