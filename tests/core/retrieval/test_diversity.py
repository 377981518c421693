"""Results that say something new come first."""

from __future__ import annotations

import pytest
from memslot.retrieval import diversify

WORDS = [{"red", "car"}, {"red", "car"}, {"blue", "boat"}]


def test_a_repetition_moves_behind_what_is_new() -> None:
    assert [index for index, _ in diversify([1.0, 0.9, 0.5], WORDS, 0.5)] == [0, 2, 1]


def test_relevance_alone_keeps_the_order() -> None:
    assert diversify([1.0, 0.9, 0.5], WORDS, 1.0) == [(0, 0.0), (1, 0.0), (2, 0.0)]


def test_the_penalty_is_the_likeness_to_what_came_before() -> None:
    penalties = dict(diversify([0.5, 0.5], [{"a", "b"}, {"b", "c"}], 0.4))

    assert penalties == pytest.approx({0: 0.0, 1: 0.6 / 3})


def test_nothing_to_order_is_no_error() -> None:
    assert diversify([], [], 0.5) == []
