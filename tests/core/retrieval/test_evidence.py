"""What lines hold of a query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval.evidence import gather_evidence
from memslot.retrieval.matcher import Matcher, WeightedTerm
from memslot.retrieval.vocabulary import Vocabulary, shared_vocabulary
from memslot.retrieval.word_vectors import WordVectors

NEAR = {"camp": [1.0, 0.0, 0.0], "camping": [1.0, 0.0, 0.0], "tent": [0.8, 0.6, 0.0], "tax": [0.0, 0.0, 1.0]}


def _embed(words: Sequence[str]) -> numpy.ndarray:
    """A toy provider: a tent is somewhat like camping, and nothing else is like anything."""
    return numpy.array([NEAR.get(word, [0.0, 1.0, 0.0] if word == "river" else [0.0, 0.0, 0.0]) for word in words])


def _matcher(*stems: str, phrases: Sequence[tuple[str, str]] = (), **more: bool) -> Matcher:
    return Matcher([WeightedTerm(stem, stem, 1.0, 1.0, **more) for stem in stems], phrases)


@pytest.fixture(params=["exact words", "similar words"])
def words(request: pytest.FixtureRequest) -> WordVectors | None:
    return WordVectors(_embed) if request.param == "similar words" else None


def test_a_line_counts_by_the_terms_it_holds(words: WordVectors | None) -> None:
    (found,) = gather_evidence(
        ["Maria went home.\nNothing here.\nMaria's camping trip"], _matcher("maria", "camping"), words
    )

    assert found.lines == pytest.approx((0.5, 0.0, 1.0))
    assert found.line == found.window == pytest.approx(1.0)


def test_neighbouring_lines_count_together_blank_ones_aside(words: WordVectors | None) -> None:
    near, far = gather_evidence(
        ["Maria came.\n\n\nIt rained.\n\nWe went camping.", "Maria came.\nA.\nB.\nWe went camping."],
        _matcher("maria", "camping"),
        words,
    )

    assert (near.line, near.window) == pytest.approx((0.5, 1.0))
    assert (far.line, far.window) == pytest.approx((0.5, 0.5))


def test_a_window_never_reaches_into_another_text(words: WordVectors | None) -> None:
    found = gather_evidence(["Maria", "camping"], _matcher("maria", "camping"), words)

    assert [each.window for each in found] == pytest.approx([0.5, 0.5])


def test_a_text_without_anything_has_no_evidence(words: WordVectors | None) -> None:
    found = gather_evidence(["", "\n \n", "…!?"], _matcher("maria"), words)

    assert [each.passage for each in found] == [0.0, 0.0, 0.0]
    assert [len(each.lines) for each in found] == [1, 3, 1]


def test_a_similar_word_counts_in_part() -> None:
    exact, similar = (
        gather_evidence(["we bought a tent"], _matcher("camping"), each)[0].line for each in (None, WordVectors(_embed))
    )

    assert exact == 0.0
    assert similar == pytest.approx(0.64, abs=0.01)  # a word's vector is kept in bytes


def test_numbers_are_met_exactly_or_not_at_all() -> None:
    words = WordVectors(lambda each: numpy.ones((len(each), 2)) / math.sqrt(2))

    (found,) = gather_evidence(["in 2023"], Matcher([WeightedTerm("2022", "2022", 1.0, 1.0, has_meaning=False)]), words)

    assert found.line == 0.0


def test_words_side_by_side_are_a_phrase() -> None:
    matcher = _matcher("support", "group", phrases=[("support", "group")])

    beside, apart, across = gather_evidence(
        ["the support group", "a group gives support", "their support\ngroup"], matcher
    )

    assert (beside.phrase, apart.phrase, across.phrase) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("line", "is_label"),
    [("Maria: yes", True), ("- **Maria**: yes", True), ("yes, Maria: no", True), ("John: Maria came", False)],
)
def test_a_line_may_be_filed_under_a_word_of_the_query(line: str, is_label: bool) -> None:
    (found,) = gather_evidence([line], _matcher("maria"))

    assert found.label is is_label


def test_an_unspaced_run_is_matched_inside() -> None:
    matcher = _matcher("会议", "议室", is_pair=True)

    hit, miss = gather_evidence(["明天在三号会议室开会。", "明天在咖啡馆见面。"], matcher)

    assert hit.line == 1.0
    assert miss.line == 0.0


def test_letters_that_are_no_word_cost_nothing_where_they_are_missing() -> None:
    word = WeightedTerm("会议", "会议", 1.0, 1.0, is_pair=True)
    straddling = WeightedTerm("议几", "议几", 1.0, 1.0, is_pair=True, share=0.0)
    (found,) = gather_evidence(["会议在明天"], Matcher([word, straddling]))

    assert found.line == 1.0


def test_letters_that_are_no_word_count_a_little_where_they_are_held() -> None:
    words = [WeightedTerm(word, word, 1.0, 1.0, is_pair=True) for word in ("会议", "预算")]
    hint = WeightedTerm("室", "室", 1.0, 1.0, is_pair=True, share=0.0)
    without, held = gather_evidence(["会议", "会议室"], Matcher([*words, hint]))

    assert without.line == 0.5
    assert 0.5 < held.line < 0.6


def test_diacritics_and_case_do_not_matter() -> None:
    (found,) = gather_evidence(["CAFÉ"], _matcher("cafe"))

    assert found.line == 1.0


TEXTS = st.lists(st.text(alphabet="ab maria camping\n会议.:", max_size=40), min_size=1, max_size=5)


@given(TEXTS)
def test_without_similar_words_both_ways_of_counting_agree(texts: list[str]) -> None:
    matcher = _matcher("maria", "camping", "会议")
    unlike = WordVectors(lambda words: numpy.zeros((len(words), 2)))

    exact, counted = gather_evidence(texts, matcher), gather_evidence(texts, matcher, unlike)

    for one, other in zip(exact, counted, strict=True):
        assert one.lines == pytest.approx(other.lines, abs=1e-6)
        assert (one.window, one.phrase, one.terms) == pytest.approx((other.window, other.phrase, other.terms), abs=1e-6)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=4), st.text(max_size=20))
def test_any_text_and_any_term_give_shares(texts: list[str], term: str) -> None:
    for found in gather_evidence(texts, _matcher(term or "a", "maria")):
        assert all(0.0 <= share <= 1.0 for share in (*found.lines, found.window, found.phrase))


def test_word_vectors_are_asked_for_once() -> None:
    asked: list[list[str]] = []
    known = Vocabulary()

    def embed(words: Sequence[str]) -> numpy.ndarray:
        asked.append(list(words))
        return numpy.array([[float(len(word)), 1.0] for word in words])

    words = WordVectors(embed)

    def likeness(one: str, *said: str) -> list[float]:
        (numbers,) = known.read([" ".join(said)])
        read = numpy.frombuffer(numbers, dtype=numpy.uint32)[:-1].astype(numpy.intp)
        return [round(float(each), 2) for each in words.cosines([one], read, known)[:, 0]]

    assert likeness("a", "a", "Bb") == [1.0, 0.95]
    assert likeness("bb", "ccc", "BB") == [0.99, 1.0]
    assert likeness("a", "ccc") == [0.89]
    assert asked == [["a"], ["a", "bb"], ["bb"], ["ccc"]]


def test_a_vocabulary_that_grew_too_large_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memslot.retrieval.vocabulary._MOST_WORDS", 3)
    matcher, words = _matcher("maria"), WordVectors(_embed)

    for number in range(20):
        (found,) = gather_evidence([f"word{number} other{number}\nMaria came"], matcher, words)

        assert list(found.lines) == pytest.approx([0.0, 1.0])
    assert len(shared_vocabulary(matcher.tokenizer)) < 12
