"""What several memories found, as one list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import WEAK_SCORE, fuse
from memslot.retrieval.fusion import shortlist

TEA = "Ana prefers tea over coffee."
NOTE = "- Ana prefers tea over coffee.\n- Ben repaired the roof of the shed."
ROOF = "Ben repaired the roof of the shed"


def test_the_best_comes_first_wherever_it_is_from() -> None:
    assert fuse(["one", "two", "three"], [0.2, 0.9, 0.5], ["a", "a", "b"]) == [(1, 0.9), (2, 0.5), (0, 0.2)]


def test_the_same_text_of_two_sources_stays_once_at_its_better_place() -> None:
    assert fuse([TEA, "Other thing", TEA], [0.4, 0.6, 0.8], ["a", "a", "b"]) == [(2, 0.8), (1, 0.6)]


def test_the_text_that_says_more_takes_the_place_of_all_it_says() -> None:
    assert fuse([NOTE, TEA, ROOF], [0.5, 0.9, 0.7], ["notes", "facts", "facts"]) == [(0, 0.9)]


def test_one_source_may_repeat_itself_since_it_knows_its_texts() -> None:
    assert fuse([TEA, TEA], [0.5, 0.4], ["a", "a"]) == [(0, 0.5), (1, 0.4)]


def test_what_a_source_calls_weak_comes_after_what_another_calls_good() -> None:
    fused = fuse(["nearest of nothing", "a good one"], [0.9, 0.5], ["a", "b"], weak=["a"])
    assert [index for index, _ in fused] == [1, 0]
    assert fused[1][1] < WEAK_SCORE


def test_a_paraphrase_is_said_once_where_an_embedder_finds_it_alike() -> None:
    texts = ["Ana, my sister, prefers green tea over coffee", "Ana prefers tea over coffee"]
    assert len(fuse(texts, [0.9, 0.8], ["a", "b"], cosine=lambda one, other: 0.95)) == 1
    assert len(fuse(texts, [0.9, 0.8], ["a", "b"], cosine=lambda one, other: 0.4)) == 2
    assert len(fuse(texts, [0.9, 0.8], ["a", "b"])) == 2


statements = st.lists(
    st.tuples(st.sampled_from([TEA, NOTE, ROOF, "x", ""]), st.floats(0, 1), st.sampled_from("abc")), max_size=8
)


@given(statements)
def test_nothing_is_lost_and_the_order_is_by_score(found: list[tuple[str, float, str]]) -> None:
    from memslot.retrieval import says

    texts, scores, sources = [[each[part] for each in found] for part in range(3)]
    fused = fuse(texts, scores, sources)  # type: ignore[arg-type]
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    kept = [texts[index] for index, _ in fused]
    assert all(any(says(str(text), str(each)) for text in kept) for each in texts)


def test_of_texts_that_fit_alike_the_longer_ones_stay_in_their_order() -> None:
    texts, scores = ["line", "line " * 2, "passage " * 50, "line " * 3], [0.6, 0.5, 0.45, 0.4]
    assert shortlist(texts, scores, 2) == [0, 2]
    assert shortlist(texts, scores, 3) == [0, 1, 2]


def test_the_best_text_stays_however_short_it_is() -> None:
    assert shortlist(["tea", "passage " * 100], [0.61, 0.6], 1) == [0]
    assert shortlist(["tea", "passage " * 100], [0.61, 0.6], 5) == [0, 1]
    assert shortlist([], [], 5) == []


def test_a_long_text_that_fits_badly_pushes_out_no_good_one() -> None:
    assert shortlist(["tea", "coffee or tea", "passage " * 100], [0.9, 0.85, 0.3], 2) == [0, 1]
