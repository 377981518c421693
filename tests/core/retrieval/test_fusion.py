"""Two legs, one score."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import SearchAdvice
from memslot.retrieval.fusion import (
    UserLine,
    Weights,
    choose_weights,
    fuse_by_rank,
    fuse_weighted,
    ranks,
    text_score,
    with_user_lines,
)

STATIC = SearchAdvice(0.5, 0.5, 0.25, frozenset({"LATIN"}))
STRONG = SearchAdvice()
SHARES = st.floats(0, 1)


@dataclass(frozen=True)
class Candidate:
    """What any memory's result needs to be fused."""

    text_r: float
    cosine: float | None
    user_lines: tuple[UserLine, ...] | None = None


class TestWeights:
    def test_the_provider_advises_where_nothing_is_set(self) -> None:
        assert choose_weights(None, None, STATIC, {"latin"}) == Weights(0.5, 0.5)
        assert choose_weights(None, None, STRONG, {"han"}) == Weights(0.7, 0.3)

    def test_what_is_set_wins_over_advice_and_script(self) -> None:
        assert choose_weights(0.9, 0.1, STATIC, {"han"}) == Weights(0.9, 0.1)
        assert choose_weights(3, 1, STATIC) == Weights(0.75, 0.25)
        assert choose_weights(None, 1.0, STRONG) == Weights(0.0, 1.0)

    def test_a_script_the_provider_does_not_know_is_searched_by_words(self) -> None:
        weights = choose_weights(None, None, STATIC, {"han", "kana"})

        assert (weights.vector, weights.text) == (0.0, 1.0)
        assert weights.reason is not None
        assert "han, kana" in weights.reason

    def test_a_query_of_two_scripts_keeps_the_part_that_is_known(self) -> None:
        weights = choose_weights(None, None, STATIC, {"latin", "han"})

        assert (weights.vector, weights.text) == (0.25, 0.75)

    def test_a_leg_that_did_not_run_leaves_all_to_the_other_even_if_set(self) -> None:
        no_vectors = choose_weights(0.9, 0.1, STATIC, has_vectors=False)
        no_words = choose_weights(0.1, 0.9, STATIC, has_keywords=False)

        assert (no_vectors.vector, no_vectors.text) == (0.0, 1.0)
        assert (no_words.vector, no_words.text) == (1.0, 0.0)
        assert no_vectors.reason
        assert no_words.reason

    def test_nobody_who_gives_vectors_means_words_only(self) -> None:
        assert choose_weights(None, None, None).text == 1.0

    @given(
        st.none() | SHARES,
        st.none() | SHARES,
        st.sampled_from([STATIC, STRONG, None]),
        st.sets(st.sampled_from(["latin", "han"])),
    )
    def test_weights_sum_to_one(
        self, vector: float | None, text: float | None, advice: SearchAdvice | None, scripts: set[str]
    ) -> None:
        weights = choose_weights(vector, text, advice, scripts)

        assert weights.vector >= 0
        assert weights.text >= 0
        assert weights.vector + weights.text == pytest.approx(1.0)


class TestWeighted:
    def test_each_leg_counts_by_its_weight(self) -> None:
        fused = fuse_weighted([Candidate(3.0, 0.4), Candidate(20.0, None)], 10.0, Weights(0.5, 0.5))

        assert fused == pytest.approx([0.5 * 0.3 + 0.5 * 0.4, 0.5])

    @given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(-1, 1), SHARES)
    def test_a_score_lies_between_0_and_1(self, r: float, sum_idf: float, cosine: float, share: float) -> None:
        (score,) = fuse_weighted([Candidate(r, cosine)], sum_idf, Weights(share, 1 - share))

        assert 0.0 <= score <= 1.0

    @given(st.floats(0, 100), st.floats(0, 100), st.floats(-1, 1), SHARES)
    def test_more_words_never_lower_a_score(self, r: float, more: float, cosine: float, share: float) -> None:
        weights = Weights(share, 1 - share)

        less, greater = fuse_weighted([Candidate(r, cosine), Candidate(r + more, cosine)], 20.0, weights)

        assert greater >= less

    def test_no_terms_means_no_text_score(self) -> None:
        assert text_score(3.0, 0.0) == 0.0

    def test_the_best_of_the_users_lines_is_half_of_a_transcripts_score(self) -> None:
        lines = (UserLine(0.2, 0.0), UserLine(1.0, 0.6), UserLine(0.0, None))

        said, silent, plain = fuse_weighted(
            [
                Candidate(4.0, 0.4, user_lines=lines),
                Candidate(4.0, 0.4, user_lines=()),
                Candidate(4.0, 0.4),
            ],
            10.0,
            Weights(0.5, 0.5),
        )

        assert (said, silent, plain) == pytest.approx((0.6, 0.2, 0.4))
        assert with_user_lines(0.4, []) == 0.2


class TestByRank:
    def test_first_in_both_legs_scores_1(self) -> None:
        fused = fuse_by_rank([Candidate(9.0, 0.9), Candidate(1.0, 0.1)], Weights(0.5, 0.5))

        assert fused[0] == pytest.approx(1.0)
        assert 0 < fused[1] < 1

    def test_what_a_leg_did_not_find_gets_nothing_from_it(self) -> None:
        fused = fuse_by_rank([Candidate(0.0, 0.9), Candidate(5.0, None)], Weights(0.7, 0.3))

        assert fused == pytest.approx([0.7, 0.3])

    def test_equal_scores_share_a_rank(self) -> None:
        assert ranks([2.0, 3.0, 2.0, 0.0, 1.0]) == {1: 1, 0: 2, 2: 2, 4: 4}
