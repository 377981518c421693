"""Which candidates are shown, in which order, and why the others are not."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import WEAK_SCORE, WeightedTerm, Weights
from memslot_memory_core.search.candidate import Candidate, RankingQuery
from memslot_memory_core.search.ranking import Ranked, RankingSettings, decay, rank
from memslot_memory_core.sources.dates import time_of_note

from .conftest import MakeSearch

BOTH, WORDS, MEANING = Weights(), Weights(1.0, 0.0), Weights(0.0, 1.0)
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


class TestWhatIsShown:
    def test_a_question_about_something_else_gets_the_nearest_and_is_told_so(self, make_search: MakeSearch) -> None:
        question = "What is the spin of the Higgs boson?"
        query, candidates = make_search(question, FILLER[:5], zs=[0.9, 0.4, 0.1, -0.2, None], others=FILLER)

        ranked = rank(candidates, query, RankingSettings(compared=5))

        assert _ids(ranked)[0] == 0
        assert ranked.weak
        assert {each.explanation.outcome for each in ranked.results} == {"shown as a weak match"}

    def test_what_comes_with_a_good_answer_is_shown_and_makes_it_no_weaker(self, make_search: MakeSearch) -> None:
        texts = ["wifi password: tulip-42", *FILLER[:4]]
        query, candidates = make_search("wifi password", texts, zs=[4.0, 0.5, 0.1, 0.1, 0.1], others=FILLER)

        ranked = rank(candidates, query, RankingSettings(compared=5))

        assert _ids(ranked)[0] == 0
        assert len(ranked.results) == 5
        assert not ranked.weak
        assert ranked.results[0].score > 0.7
        assert all(each.score < WEAK_SCORE for each in ranked.results[1:])

    def test_a_floor_that_is_asked_for_cuts_each_result(self, make_search: MakeSearch) -> None:
        texts = ["The zephyrine parcel.", "A parcel of bread.", "Milk."]
        query, candidates = make_search("zephyrine parcel", texts, zs=[3.0, 1.0, 0.1], others=FILLER)
        best = rank(candidates, query, RankingSettings(compared=3)).results[0].score

        few = rank(candidates, query, RankingSettings(compared=3, min_score=best))
        none = rank(candidates, query, RankingSettings(compared=3, min_score=best + 0.01))

        assert (_ids(few), few.weak) == ([0], False)
        assert [each.explanation.outcome for each in few.dropped] == ["below minScore"] * 2
        assert (none.results, none.weak) == ((), False)

    def test_a_word_that_few_notes_hold_is_no_weak_match(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("zephyrine", ["Milk.", "The zephyrine parcel."], zs=[1.0, 0.0], others=FILLER)

        ranked = rank(candidates, query, RankingSettings(compared=22))

        assert _ids(ranked) == [1, 0]
        assert not ranked.weak

    def test_one_word_of_many_is_a_weak_match(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("parcel of Vespa tyres", ["The parcel."], others=FILLER)

        assert rank(candidates, query, RankingSettings(WORDS)).weak


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


def test_meaning_alone_leaves_words_out(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["the garden", "a flower bed"], zs=[0.3, 2.8])

    assert _ids(rank(candidates, query, RankingSettings(MEANING, compared=2))) == [1, 0]


def test_words_alone_leave_meaning_out(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["a flower bed", "the garden"], zs=[9.0, 0.0], others=FILLER)

    assert _ids(rank(candidates, query, RankingSettings(WORDS))) == [1, 0]


def test_what_stands_out_by_meaning_comes_before_a_shared_word(make_search: MakeSearch) -> None:
    texts = ["Ana went home.", "The tea is what she likes."]
    query, candidates = make_search("Does Ana enjoy hot drinks?", texts, zs=[0.0, 5.0], others=FILLER)

    assert _ids(rank(candidates, query, RankingSettings(compared=22))) == [1, 0]


def test_a_query_without_words_is_ranked_by_meaning() -> None:
    candidates = [Candidate(number, "a.md", "memory", 1, 1, "text", 0.0, z) for number, z in enumerate((0.5, 4.0))]

    ranked = rank(candidates, RankingQuery(()), RankingSettings(MEANING, compared=2))

    assert _ids(ranked) == [1, 0]
    assert not ranked.weak


def test_nothing_comes_of_nothing(make_search: MakeSearch) -> None:
    query, _ = make_search("garden", [])

    ranked = rank([], query, RankingSettings(BOTH, mmr_balance=0.5))

    assert (ranked.results, ranked.dropped) == ((), ())


class TestExplanation:
    def test_every_candidate_is_accounted_for(self, make_search: MakeSearch) -> None:
        texts = ["garden plan", "garden plan b", "milk", "garden"]
        query, candidates = make_search("garden plan", texts, zs=[5.0, 4.0, 0.0, None], others=FILLER)

        ranked = rank(candidates, query, RankingSettings(BOTH, max_results=1, min_score=0.35))

        outcomes = {each.candidate.id: each.explanation.outcome for each in (*ranked.results, *ranked.dropped)}
        assert outcomes[0] == "shown"
        assert outcomes[1] == "beyond maxResults"
        assert outcomes[2] == "below minScore"
        assert len(outcomes) == 4

    def test_it_is_json_with_both_scores_and_ranks(self, make_search: MakeSearch) -> None:
        query, candidates = make_search("garden plan", ["garden plan", "milk"], zs=[0.5, 0.9], others=FILLER)

        told = rank(candidates, query, RankingSettings(BOTH, min_score=0.0)).results[0].explanation.to_json()

        assert json.loads(json.dumps(told)) == told
        assert (told["textRank"], told["zRank"]) == (1, 2)
        assert (told["z"], told["decay"], told["mmrPenalty"], told["date"]) == (0.5, 1.0, 0.0, None)
        assert list(told) == [
            "path", "startLine", "endLine", "score", "outcome", "textScore", "textRank", "z", "zRank",
            "vectorScore", "partScore", "words", "relevance", "bestLine", "bestWindow", "date", "decay", "mmrPenalty",
            "parts",
        ]  # fmt: skip


TERMS = [WeightedTerm("garden", 1.0), WeightedTerm("plan", 2.0)]
CANDIDATES = st.lists(
    st.builds(
        lambda text, r, z, time: (text, r, z, time),
        st.sampled_from(["garden", "garden plan", "plan\nof a\ngarden", "milk", "", "花园"]),
        st.floats(0, 50),
        st.none() | st.floats(-5, 15),
        st.none() | st.floats(0, 2e9),
    ),
    max_size=70,
).map(
    lambda rows: [
        Candidate(number, f"{number}.md", "memory", 1, 1, text, r, z, time=time)
        for number, (text, r, z, time) in enumerate(rows)
    ]
)


@given(
    CANDIDATES,
    st.sampled_from([BOTH, WORDS, MEANING]),
    st.integers(1, 80),
    st.none() | st.floats(0, 1),
    st.integers(0, 100_000),
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0.1, 1000),
)
def test_whatever_comes_in_scores_fall_and_nothing_is_lost(
    candidates: list[Candidate],
    weights: Weights,
    wanted: int,
    floor: float | None,
    compared: int,
    balance: float | None,
    half_life: float | None,
) -> None:
    settings = RankingSettings(weights, compared, wanted, floor, balance, half_life, now=1.7e9)
    query = RankingQuery(tuple(TERMS), sum_idf=8.0)

    ranked = rank(candidates, query, settings)

    scores = [each.score for each in ranked.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert len(ranked.results) <= wanted
    seen = [each.candidate.id for each in (*ranked.results, *ranked.dropped)]
    assert sorted(seen) == [each.id for each in candidates]
    assert all(floor is None or each.score >= floor for each in ranked.results)
    assert not ranked.weak or max(scores) < WEAK_SCORE


def test_words_are_ranked_without_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from memslot.retrieval import Matcher, Weights, WeightedTerm, make_snippet\n"
        "from memslot_memory_core.search.candidate import Candidate, RankingQuery\n"
        "from memslot_memory_core.search.ranking import RankingSettings, rank\n"
        "query = RankingQuery((WeightedTerm('garden', 1.0),), sum_idf=2.0)\n"
        "found = [Candidate(1, 'a.md', 'memory', 1, 1, 'the garden', 2.0)]\n"
        "(best,) = rank(found, query, RankingSettings(Weights(1, 0), mmr_balance=0.5)).results\n"
        "print(make_snippet('the garden', best.evidence.lines, Matcher(query.terms), 20))\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "the garden"), done.stderr


def test_what_is_shown_knows_its_best_lines_even_where_words_do_not_count(make_search: MakeSearch) -> None:
    query, candidates = make_search("garden", ["a shed\nthe garden"], zs=[3.0])

    (shown,) = rank(candidates, query, RankingSettings(MEANING)).results

    assert shown.evidence is not None
    assert list(shown.evidence.lines) == [0.0, 1.0]
    assert shown.explanation.line is None


def test_other_conversations_have_a_place_among_the_first_six(make_search: MakeSearch) -> None:
    query, candidates = make_search("gate", ["The gate is green."] * 12, zs=[12.0 - number for number in range(12)])
    best, second, others = "sessions/best.jsonl", "sessions/second.jsonl", "sessions/{}.jsonl"
    paths = [best, best, best, second, second, *(others.format(number) for number in range(5)), best, best]
    said = [each._replace(path=path, source="sessions") for each, path in zip(candidates, paths, strict=True)]

    ranked = rank(said, query, RankingSettings(max_results=12))

    assert [each.candidate.path for each in ranked.results[:6]] == [best, best, second, *map(others.format, range(3))]
    assert sorted(_ids(ranked)) == list(range(12)), "nothing is lost"
