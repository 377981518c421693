"""Words and meaning on one scale, and the score that is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import WEAK_SCORE, Weights, calibrated, ranks, recall_score, relevance_of, text_score

SHARES = st.floats(0, 1)
ZS = st.floats(-10, 30)
COUNTS = st.integers(0, 1_000_000)


@given(SHARES, SHARES, ZS, ZS)
def test_more_words_and_more_meaning_never_mean_less(words: float, more: float, z: float, higher: float) -> None:
    assert relevance_of(max(words, more), z) >= relevance_of(words, z)
    assert relevance_of(words, max(z, higher)) >= relevance_of(words, z) >= relevance_of(words, None)


def test_most_words_are_worth_more_than_some_words_twice() -> None:
    assert relevance_of(0.8, None) > 2 * relevance_of(0.4, None)


def test_a_text_of_another_date_is_worth_less() -> None:
    near, far, undated = (relevance_of(0.5, 1.0, date=date) for date in (1.0, 0.0, None))

    assert near == undated > far


@given(st.floats(-2, 5), st.floats(-2, 5), COUNTS, COUNTS)
def test_scores_rise_with_relevance_and_fall_with_what_was_compared(
    one: float, other: float, few: int, many: int
) -> None:
    few, many = sorted((few, many))

    assert 0 <= calibrated(one, few) <= 1
    assert calibrated(max(one, other), few) >= calibrated(min(one, other), few)
    assert calibrated(one, many) <= calibrated(one, few)


def test_what_was_compared_does_not_matter_where_meaning_does_not() -> None:
    words = Weights(1.0, 0.0)

    assert calibrated(0.5, 100_000, words) == calibrated(0.5, 0, words)


@pytest.mark.parametrize("compared", [1, 300, 100_000])
def test_all_words_are_a_good_match_and_none_are_a_weak_one(compared: int) -> None:
    assert calibrated(relevance_of(1.0, 0.0), compared) > WEAK_SCORE
    assert calibrated(relevance_of(0.0, 0.0), compared) < WEAK_SCORE


def test_recall_asks_for_more_the_more_it_asks() -> None:
    assert recall_score(1) == WEAK_SCORE < recall_score(2) < recall_score(8) < 0.45


@pytest.mark.parametrize(
    ("vector", "text", "weights"),
    [
        (None, None, Weights(1.0, 1.0)),
        (0.5, 0.5, Weights(1.0, 1.0)),
        (0.7, 0.3, Weights(0.6, 1.4)),
        (7.0, 3.0, Weights(0.6, 1.4)),
        (0.7, None, Weights(0.6, 1.4)),
        (None, 0.3, Weights(0.6, 1.4)),
        (1.0, 0.0, Weights(0.0, 2.0)),
        (None, 1.0, Weights(2.0, 0.0)),
        (0.0, 0.0, Weights(1.0, 1.0)),
    ],
)
def test_weights_are_the_shares_of_the_settings(vector: float | None, text: float | None, weights: Weights) -> None:
    made = Weights.of_settings(vector, text)

    assert (made.words, made.meaning) == pytest.approx((weights.words, weights.meaning))


def test_bm25_counts_as_a_share_of_what_could_be_reached() -> None:
    assert [text_score(r, 10.0) for r in (-1.0, 0.0, 5.0, 10.0, 99.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert text_score(5.0, 0.0) == 0.0


def test_equal_scores_share_a_rank_and_nothing_has_none() -> None:
    assert ranks([0.5, 0.9, 0.5, 0.0, 0.1]) == {1: 1, 0: 2, 2: 2, 4: 4}
