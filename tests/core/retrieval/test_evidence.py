"""What lines hold of a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval.evidence import gather_evidence, has_label
from memslot.retrieval.matcher import Matcher, WeightedTerm
from memslot.retrieval.vocabulary import shared_vocabulary


def _matcher(*stems: str, **more: bool) -> Matcher:
    return Matcher([WeightedTerm(stem, 1.0, **more) for stem in stems])


def test_a_line_counts_by_the_terms_it_holds() -> None:
    (found,) = gather_evidence(["Maria went home.\nNothing here.\nMaria's camping trip"], _matcher("maria", "camping"))

    assert found.lines == pytest.approx((0.5, 0.0, 1.0))
    assert found.line == found.window == pytest.approx(1.0)


def test_neighbouring_lines_count_together_blank_ones_aside() -> None:
    near, far = gather_evidence(
        ["Maria came.\n\n\nIt rained.\n\nWe went camping.", "Maria came.\nA.\nB.\nWe went camping."],
        _matcher("maria", "camping"),
    )

    assert (near.line, near.window) == pytest.approx((0.5, 1.0))
    assert (far.line, far.window) == pytest.approx((0.5, 0.5))


def test_a_window_never_reaches_into_another_text() -> None:
    found = gather_evidence(["Maria", "camping"], _matcher("maria", "camping"))

    assert [each.window for each in found] == pytest.approx([0.5, 0.5])


def test_a_text_without_anything_has_no_evidence() -> None:
    found = gather_evidence(["", "\n \n", "…!?"], _matcher("maria"))

    assert [each.passage for each in found] == [0.0, 0.0, 0.0]
    assert [len(each.lines) for each in found] == [1, 3, 1]


@pytest.mark.parametrize(
    ("line", "is_label"),
    [("Maria: yes", True), ("- **Maria**: yes", True), ("yes, Maria: no", True), ("John: Maria came", False)],
)
def test_a_line_may_be_filed_under_a_word_of_the_query(line: str, is_label: bool) -> None:
    assert has_label(line, _matcher("maria")) is is_label


def test_an_unspaced_run_is_matched_inside() -> None:
    matcher = _matcher("会议", "议室", is_pair=True)

    hit, miss = gather_evidence(["明天在三号会议室开会。", "明天在咖啡馆见面。"], matcher)

    assert hit.line == 1.0
    assert miss.line == 0.0


def test_letters_that_are_no_word_cost_nothing_where_they_are_missing() -> None:
    word = WeightedTerm("会议", 1.0, is_pair=True)
    straddling = WeightedTerm("议几", 1.0, is_pair=True, share=0.0)
    (found,) = gather_evidence(["会议在明天"], Matcher([word, straddling]))

    assert found.line == 1.0


def test_letters_that_are_no_word_count_a_little_where_they_are_held() -> None:
    words = [WeightedTerm(word, 1.0, is_pair=True) for word in ("会议", "预算")]
    hint = WeightedTerm("室", 1.0, is_pair=True, share=0.0)
    without, held = gather_evidence(["会议", "会议室"], Matcher([*words, hint]))

    assert without.line == 0.5
    assert 0.5 < held.line < 0.6


def test_diacritics_and_case_do_not_matter() -> None:
    (found,) = gather_evidence(["CAFÉ"], _matcher("cafe"))

    assert found.line == 1.0


@given(st.lists(st.text(max_size=60), min_size=1, max_size=4), st.text(max_size=20))
def test_any_text_and_any_term_give_shares(texts: list[str], term: str) -> None:
    for found in gather_evidence(texts, _matcher(term or "a", "maria")):
        assert all(0.0 <= share <= 1.0 for share in (*found.lines, found.window))


def test_a_vocabulary_that_grew_too_large_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memslot.retrieval.vocabulary._MAX_WORDS", 3)
    matcher = _matcher("maria")

    for number in range(20):
        (found,) = gather_evidence([f"word{number} other{number}\nMaria came"], matcher)

        assert list(found.lines) == pytest.approx([0.0, 1.0])
    assert len(shared_vocabulary(matcher.tokenizer)) < 12
