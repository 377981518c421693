"""What is shown of a chunk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval.evidence import gather_evidence
from memslot.retrieval.matcher import Matcher, WeightedTerm
from memslot.retrieval.snippets import GAP, cut_around, make_snippet

QUERY = Matcher([WeightedTerm("budget", 1.0), WeightedTerm("maria", 1.0)])


def _snippet(text: str, limit: int) -> str:
    (found,) = gather_evidence([text], QUERY)
    return make_snippet(text, found.lines, QUERY, limit)


def test_a_short_chunk_is_shown_whole() -> None:
    assert _snippet("# Plan\n\nMaria has the budget.", 700) == "# Plan\n\nMaria has the budget."


def test_the_lines_that_answer_are_shown_in_their_order_with_gaps_marked() -> None:
    filler = "Something else entirely happened on that day."
    text = "\n".join([filler, "The budget is 400.", filler, filler, filler, "Maria keeps it.", filler])

    assert _snippet(text, 60) == f"{GAP}\nThe budget is 400.\n{GAP}\nMaria keeps it.\n{GAP}"


def test_blank_lines_are_no_gap() -> None:
    filler = "x" * 50

    assert _snippet(f"Maria\n\nbudget\n{filler}", 20) == f"Maria\nbudget\n{GAP}"


def test_a_line_that_tells_is_preferred_to_one_that_asks() -> None:
    text = "It is with Maria now.\nDoes Maria have it?\n" + "The sea was calm and very blue. " * 3

    assert _snippet(text, 25) == f"It is with Maria now.\n{GAP}"


def test_a_line_that_follows_a_match_is_worth_showing() -> None:
    sea = ["the sea was very calm"] * 2

    shown = _snippet("\n".join([*sea, "The budget of Maria:", "four hundred in all", *sea]), 48)

    assert shown == f"{GAP}\nThe budget of Maria:\nfour hundred in all\n{GAP}"


def test_a_long_line_is_cut_around_what_matches() -> None:
    line = "word " * 100 + "the budget of Maria is 400 " + "word " * 100

    shown = cut_around(line, QUERY, 80)

    assert "budget of Maria" in shown
    assert shown.startswith(GAP)
    assert shown.endswith(GAP)
    assert len(shown) <= 80


def test_a_long_line_without_spaces_is_cut_around_what_matches() -> None:
    matcher = Matcher([WeightedTerm("预算", 1.0, is_pair=True)])

    assert "预算" in cut_around("字" * 300 + "预算" + "词" * 300, matcher, 60)


def test_the_rest_of_the_room_goes_to_a_part_of_the_next_line() -> None:
    text = "Maria has the budget.\n" + "and more about the budget that does not fit in whole " * 10

    shown = _snippet(text, 200)

    first, second = shown.split("\n")
    assert first == "Maria has the budget."
    assert second.startswith("and more about the budget")
    assert 150 < len(shown) <= 200


@pytest.mark.parametrize("limit", [20, 21, 25, 40])
def test_a_tiny_limit_still_shows_the_match(limit: int) -> None:
    assert "Maria" in _snippet("x " * 50 + "\nMaria " + "y " * 50 + "\n" + "z " * 50, limit)


LINES = st.lists(
    st.text(alphabet=st.sampled_from("ab \t?？:预算é😀"), max_size=30)
    | st.sampled_from(["Maria has the budget", "Maria?", "budget: " + "x" * 300]),
    min_size=1,
    max_size=12,
)


@given(LINES, st.integers(20, 200))
def test_a_snippet_keeps_to_its_limit_and_to_the_text(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)

    shown = _snippet(text, limit)

    assert len(shown) <= limit
    for part in shown.split("\n"):
        assert part.strip(GAP).strip() in text
    if text.strip():
        assert shown.replace(GAP, "").strip()
