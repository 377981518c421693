"""Which candidates are shown, in which order, and why the others are not."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import WeightedTerm, Weights
from memslot_memory_core.search.candidate import Candidate, RankingQuery
from memslot_memory_core.search.ranking import Ranked, RankingSettings, decay, rank
from memslot_memory_core.sources.dates import time_of_note

from .conftest import MakeSearch

BOTH, WORDS, VECTORS = Weights(0.5, 0.5), Weights(0.0, 1.0), Weights(1.0, 0.0)
DAY = 86_400.0
FILLER = ["The weather was fine.", "Bread and milk.", "A walk by the sea.", "Called the plumber.", "Nothing new."] * 4


def _ids(ranked: Ranked) -> list[int]:
    return [each.candidate.id for each in ranked.results]


def test_words_in_one_line_beat_words_here_and_there(make_search: MakeSearch) -> None:
    scattered = "Maria called.\nA.\nB.\nC.\nThe budget grew.\nD.\nE.\nF.\nA meeting."
    together = "G.\nH.\nI.\nJ.\nMaria moved the budget meeting.\nK.\nL.\nM.\nN."
    query, candidates = make_search("Maria budget meeting", [scattered, together], others=FILLER)

    assert _ids(rank(candidates, query, RankingSettings(WORDS, min_score=0.0))) == [1, 0]


def test_a_date_in_the_question_prefers_notes_of_that_date(make_search: MakeSearch) -> None:
    texts = ["We planned the garden."] * 3
    times = [time_of_note(f"memory/2023-0{month}-10.md") for month in (4, 5, 6)]
    query, candidates = make_search("what did we plan for the garden in May 2023?", texts, times=times, others=FILLER)

    ranked = rank(candidates, query, RankingSettings(WORDS, min_score=0.0))

    assert _ids(ranked)[0] == 1
    assert [each.explanation.date for each in ranked.results] == sorted(
        (each.explanation.date or 0.0 for each in ranked.results), reverse=True
    )


def test_a_date_that_no_note_is_near_changes_nothing(make_search: MakeSearch) -> None:
    times = [time_of_note("memory/2023-04-10.md")]
    plain, candidates = make_search("garden plans", ["The garden plans."], times=times, others=FILLER)
    dated, _ = make_search("garden plans in May 1999", ["The garden plans."], times=times, others=FILLER)

    assert rank(candidates, dated, RankingSettings(WORDS, min_score=0.0)).results[0].explanation.date is None
    assert plain.terms == dated.terms


def test_a_question_about_something_else_gets_nothing(make_search: MakeSearch) -> None:
    query, candidates = make_search(
        "What is the spin of the Higgs boson?", FILLER[:5], cosines=[0.2, 0.1, 0.15, 0.0, -0.1], others=FILLER
    )

    assert rank(candidates, query, RankingSettings(BOTH)).results == ()


def test_a_full_match_scores_high(make_search: MakeSearch) -> None:
    query, candidates = make_search(
        "wifi password", ["wifi password: tulip-42", *FILLER[:4]], cosines=[0.7, 0.1, 0.1, 0.1, 0.1], others=FILLER
    )

    ranked = rank(candidates, query, RankingSettings(BOTH))

    assert _ids(ranked) == [0]
    assert ranked.results[0].score > 0.7


class TestNeverDroppedToNothing:
    def test_what_holds_the_rare_words_is_shown_and_marked(self, make_search: MakeSearch) -> None:
        query, candidates = make_search(
            "zephyrine", ["The zephyrine parcel.", "Milk."], cosines=[0.0, 0.1], others=FILLER
        )

        ranked = rank(candidates, query, RankingSettings(Weights(0.9, 0.1), min_score=0.99))

        assert _ids(ranked) == [0]
        assert ranked.results[0].below_floor
        assert "rare words" in ranked.results[0].explanation.outcome
        assert [each.explanation.outcome for each in ranked.dropped] == ["below minScore"]

    def test_a_rare_word_that_is_nowhere_cannot_be_held(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("parcel of Vespa tyres", ["The parcel."], others=FILLER)

        assert rank(candidates, query, RankingSettings(WORDS, min_score=0.99)).results == ()

    def test_nor_can_a_word_of_three_letters_without_spaces(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("사막화의 주된 원인은?", ["담당 주무관"], others=FILLER)

        assert rank(candidates, query, RankingSettings(WORDS, min_score=0.99)).results == ()

    def test_it_does_not_add_to_what_passes(self, make_search: MakeSearch) -> None:
        texts = ["zephyrine zephyrine parcel", "a zephyrine " + "word " * 200]
        query, candidates = make_search("zephyrine parcel", texts, others=FILLER)

        ranked = rank(candidates, query, RankingSettings(WORDS, min_score=0.6))

        assert _ids(ranked) == [0]
        assert not ranked.results[0].below_floor


class TestAge:
    def test_half_is_left_after_the_half_life(self) -> None:
        assert decay(0.0, 30.0, 30 * DAY) == pytest.approx(0.5)
        assert decay(0.0, 30.0, 60 * DAY) == pytest.approx(0.25)

    def test_evergreen_texts_and_those_of_the_future_lose_nothing(self) -> None:
        assert decay(None, 30.0, 9e9) == 1.0
        assert decay(100 * DAY, 30.0, 0.0) == 1.0

    def test_the_newer_of_two_like_notes_comes_first(self, make_search: MakeSearch) -> None:
        now = datetime(2024, 3, 14).timestamp()
        query, candidates = make_search(
            "garden", ["the garden", "the garden", "the garden"], times=[now - 60 * DAY, now - DAY, None], others=FILLER
        )

        plain = rank(candidates, query, RankingSettings(WORDS))
        aged = rank(candidates, query, RankingSettings(WORDS, half_life_days=30.0, now=now, min_score=0.0))

        assert _ids(plain) == [0, 1, 2]
        assert _ids(aged) == [2, 1, 0]
        assert [each.explanation.decay for each in aged.results] == pytest.approx([1.0, 0.977, 0.25], abs=1e-3)


class TestVariety:
    def test_a_repetition_gives_way(self, make_search: MakeSearch) -> None:
        texts = ["garden plans for roses", "garden plans for roses", "plans of the garden: a new shed"]
        query, candidates = make_search("garden plans", texts, others=FILLER)

        plain = rank(candidates, query, RankingSettings(WORDS, min_score=0.0))
        varied = rank(candidates, query, RankingSettings(WORDS, min_score=0.0, mmr_balance=0.3))

        assert _ids(plain)[:2] == [0, 1]
        assert _ids(varied)[1] == 2
        assert varied.results[2].explanation.mmr_penalty > varied.results[1].explanation.mmr_penalty

    def test_unspaced_scripts_are_compared_too(self, make_search: MakeSearch) -> None:
        texts = ["花园计划种玫瑰", "花园计划种玫瑰", "花园计划搭木屋"]
        query, candidates = make_search("花园计划", texts, others=FILLER)

        assert _ids(rank(candidates, query, RankingSettings(WORDS, min_score=0.0, mmr_balance=0.3)))[1] == 2

    def test_scores_shown_never_rise(self, make_search: MakeSearch) -> None:
        texts = ["garden plans", "garden plans", "garden", "plans", "a garden of plans"]
        query, candidates = make_search("garden plans", texts, others=FILLER)

        scores = [
            each.score
            for each in rank(candidates, query, RankingSettings(WORDS, min_score=0.0, mmr_balance=0.1)).results
        ]

        assert scores == sorted(scores, reverse=True)


def test_asking_for_more_does_not_change_the_top(make_search: MakeSearch) -> None:
    texts = [f"garden plan {number} " + "word " * number for number in range(80)]
    query, candidates = make_search("garden plan", texts, others=FILLER)

    few, many = (
        rank(candidates, query, RankingSettings(WORDS, max_results=wanted, min_score=0.0)) for wanted in (6, 80)
    )

    assert _ids(many)[:6] == _ids(few)
    assert len(many.results) == 80


def test_meaning_alone_is_the_cosine(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["the garden", "a flower bed"], cosines=[0.3, 0.8])

    ranked = rank(candidates, query, RankingSettings(VECTORS))

    assert [(each.candidate.id, each.score) for each in ranked.results] == [(1, 0.8), (0, 0.3)]


def test_ranks_alone_decide_where_asked_for(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["the garden", "a bed", "a shed"], cosines=[0.9, 0.5, 0.4], others=FILLER)

    ranked = rank(candidates, query, RankingSettings(BOTH, fusion="rrf", min_score=0.0))

    assert _ids(ranked) == [0, 1, 2]
    assert ranked.results[0].score == pytest.approx(1.0)


def test_a_query_without_words_is_ranked_by_meaning() -> None:
    candidates = [Candidate(1, "a.md", "memory", 1, 1, "text", 0.0, 0.6)]

    assert rank(candidates, RankingQuery(()), RankingSettings(VECTORS)).results[0].score == 0.6


def test_nothing_comes_of_nothing(make_search: MakeSearch) -> None:
    query, _ = make_search("garden", [])

    ranked = rank([], query, RankingSettings(BOTH, mmr_balance=0.5))

    assert (ranked.results, ranked.dropped) == ((), ())


class TestExplanation:
    def test_every_candidate_is_accounted_for(self, make_search: MakeSearch) -> None:
        texts = ["garden plan", "garden plan b", "milk", "garden"]
        query, candidates = make_search("garden plan", texts, cosines=[0.9, 0.8, 0.0, None], others=FILLER)

        ranked = rank(candidates, query, RankingSettings(BOTH, max_results=1))

        outcomes = {each.candidate.id: each.explanation.outcome for each in (*ranked.results, *ranked.dropped)}
        assert outcomes[0] == "shown"
        assert outcomes[1] == "beyond maxResults"
        assert outcomes[2] == "below minScore"
        assert len(outcomes) == 4

    def test_it_is_json_with_both_scores_and_ranks(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("garden plan", ["garden plan", "milk"], cosines=[0.5, 0.9], others=FILLER)

        told = rank(candidates, query, RankingSettings(BOTH, min_score=0.0)).results[0].explanation.to_json()

        assert json.loads(json.dumps(told)) == told
        assert (told["textRank"], told["vectorRank"]) == (1, 2)
        assert (told["vectorScore"], told["decay"], told["mmrPenalty"], told["date"]) == (0.5, 1.0, 0.0, None)
        assert list(told) == [
            "path", "startLine", "endLine", "score", "outcome", "textScore", "textRank", "vectorScore", "vectorRank",
            "fusedScore", "bestLine", "bestWindow", "phrase", "label", "date", "decay", "mmrPenalty",
        ]  # fmt: skip


TERMS = [WeightedTerm("garden", "garden", 1.0, 1.0), WeightedTerm("plan", "plan", 2.0, 2.0)]
CANDIDATES = st.lists(
    st.builds(
        lambda text, r, cosine, time: (text, r, cosine, time),
        st.sampled_from(["garden", "garden plan", "plan\nof a\ngarden", "milk", "", "花园"]),
        st.floats(0, 50),
        st.none() | st.floats(-1, 1),
        st.none() | st.floats(0, 2e9),
    ),
    max_size=70,
).map(
    lambda rows: [
        Candidate(number, f"{number}.md", "memory", 1, 1, text, r, cosine, time)
        for number, (text, r, cosine, time) in enumerate(rows)
    ]
)


@given(
    CANDIDATES,
    st.sampled_from([BOTH, WORDS, VECTORS]),
    st.integers(1, 80),
    st.floats(0, 1),
    st.sampled_from(["weighted", "rrf"]),
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0.1, 1000),
)
def test_whatever_comes_in_scores_fall_and_nothing_is_lost(
    candidates: list[Candidate],
    weights: Weights,
    wanted: int,
    floor: float,
    fusion: str,
    balance: float | None,
    half_life: float | None,
) -> None:
    settings = RankingSettings(weights, wanted, floor, fusion, balance, half_life, now=1.7e9)  # type: ignore[arg-type]
    query = RankingQuery(tuple(TERMS), (("garden", "plan"),), sum_idf=8.0)

    ranked = rank(candidates, query, settings)

    scores = [each.score for each in ranked.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert len(ranked.results) <= wanted
    seen = [each.candidate.id for each in (*ranked.results, *ranked.dropped)]
    assert sorted(seen) == [each.id for each in candidates]
    assert all(each.score >= floor or each.below_floor or balance is not None for each in ranked.results)


def test_words_are_ranked_without_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from memslot.retrieval import Matcher, Weights, WeightedTerm, make_snippet\n"
        "from memslot_memory_core.search.candidate import Candidate, RankingQuery\n"
        "from memslot_memory_core.search.ranking import RankingSettings, rank\n"
        "query = RankingQuery((WeightedTerm('garden', 'garden', 1.0, 1.0),), sum_idf=2.0)\n"
        "found = [Candidate(1, 'a.md', 'memory', 1, 1, 'the garden', 2.0)]\n"
        "(best,) = rank(found, query, RankingSettings(Weights(0, 1), mmr_balance=0.5)).results\n"
        "print(make_snippet('the garden', best.evidence.lines, Matcher(query.terms), 5, numbers=[1]).lines)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "(1,)"), done.stderr


def test_what_is_shown_knows_its_best_lines_even_where_words_do_not_count(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["a shed\nthe garden"], cosines=[0.9])

    (shown,) = rank(candidates, query, RankingSettings(VECTORS)).results

    assert shown.evidence is not None
    assert list(shown.evidence.lines) == [0.0, 1.0]
    assert shown.explanation.line is None


@pytest.mark.parametrize(
    ("query_text", "better", "worse"),
    [
        ("support group", "the support group met", "the group got support"),
        ("Maria roses", "Maria: red roses", "red roses, Maria"),
    ],
    ids=["words side by side", "a line filed under a word"],
)
def test_of_two_with_the_same_words_the_closer_wording_comes_first(
    query_text: str, better: str, worse: str, make_search: MakeSearch
) -> None:
    query, candidates = make_search(query_text, [worse, better], others=FILLER)
    alike = [each._replace(text_r=5.0) for each in candidates]

    assert _ids(rank(alike, query, RankingSettings(WORDS, min_score=0.0))) == [1, 0]


def test_a_common_word_need_not_be_held(make_search: MakeSearch) -> None:
    query, candidates = make_search("zephyrine weather", ["A zephyrine."], others=["The weather."] * 30)

    assert _ids(rank(candidates, query, RankingSettings(WORDS, min_score=0.99))) == [0]


def _score_of(query: RankingQuery, weights: Weights) -> float:
    half_met = Candidate(1, "a.md", "memory", 1, 1, "花园 garden", 3.0, 0.3)
    return rank([half_met], query, RankingSettings(weights, min_score=0.0)).results[0].score


def _pairs(missing: int, *, is_known: bool = True) -> RankingQuery:
    """A question of which a quarter is met, by weight, and which has so many other words."""
    met = WeightedTerm("花园", "花园", 1.0, 1.0, is_pair=True)
    others = [
        WeightedTerm(word, word, 3 / missing, 1.0, is_pair=True, is_known=is_known)
        for word in "甲乙丙丁戊己庚"[:missing]
    ]
    return RankingQuery((met, *others), sum_idf=10.0)


def test_faint_likeness_stays_below_the_floor() -> None:
    """The same parts make less of a score where meaning counts."""
    words = RankingQuery((WeightedTerm("garden", "garden", 1.0, 1.0), WeightedTerm("x", "x", 3.0, 3.0)), sum_idf=10.0)

    assert _score_of(words, BOTH) < _score_of(words, WORDS) < 0.3


def test_without_spaces_a_long_question_need_not_be_met_by_as_much() -> None:
    assert 0.25 < _score_of(_pairs(1), WORDS) < _score_of(_pairs(3), WORDS) < _score_of(_pairs(7), WORDS)


def test_without_spaces_words_that_no_note_holds_tell_of_another_topic() -> None:
    assert _score_of(_pairs(1, is_known=False), WORDS) < 0.25 < _score_of(_pairs(1), WORDS)
