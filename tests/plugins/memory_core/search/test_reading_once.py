"""Looking for a query once finds what looking for it again and again finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path

import apsw
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_embed_providers.static.provider import StaticProvider
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.index.terms import stems
from memslot_memory_core.quick_words import learn_words
from memslot_memory_core.search.candidate import AskedTerm
from memslot_memory_core.search.evidence import Evidence, gather_evidence
from memslot_memory_core.search.kept_words import KeptWords, UnknownWordsError, open_words
from memslot_memory_core.search.matching import Matcher
from memslot_memory_core.search.reading_once import gather_once, heads_of, may_hold
from memslot_memory_core.search.word_rows import LEAST_COSINE, row_of
from memslot_memory_core.search.word_vectors import WordVectors, rounded

TEXTS = [
    "Maria: likes tea and long walks.\n\nShe said so on Sunday.\n",
    "The beverage was cold; the coffee was not.\nmakeTea(kettle) returns MariaError\nTEA time",
    "昨日の会議で発売日を決めました。\nNaïve CAFÉS and cafés, 42 of them.",
    "",
    "tea",
    "Skies, sky, says and saying; ties tied. Happy happily happiness",
]
ASKED = ["maria", "tea", "beverage", "happily", "say", "café", "42", "会議", "sky"]


def _matcher(words: Sequence[str]) -> Matcher:
    found = [(stem, word) for word in words for stem in dict.fromkeys(stems(word))]
    terms = [
        AskedTerm(stem, word, 1.0 + place / 3, 1.0, has_meaning=word.isascii() and word.isalpha())
        for place, (stem, word) in enumerate(found)
    ]
    return Matcher(terms, [(first[0], second[0]) for first, second in pairwise(found)])


def _same(one: Sequence[Evidence], other: Sequence[Evidence]) -> None:
    for left, right in zip(one, other, strict=True):
        assert list(left.lines) == pytest.approx(list(right.lines), abs=1e-5)
        assert (left.line, left.window, left.phrase) == pytest.approx(
            (right.line, right.window, right.phrase), abs=1e-5
        )
        assert (left.label, left.terms) == (right.label, right.terms)


@pytest.mark.parametrize("words", [ASKED, ASKED[:2], ["tea", "likes"], ["nothing"], ["会議", "発売"]])
def test_exact_words_are_found_alike(words: Sequence[str]) -> None:
    matcher = _matcher(words)
    _same(gather_once(TEXTS, matcher), gather_evidence(TEXTS, matcher))
    assert gather_once([], matcher) == []


def test_words_of_two_texts_are_no_neighbours() -> None:
    matcher = _matcher(["green", "gate"])
    texts = ["the green", "old the gate"]  # the second word of one, the third of the other
    for found in (gather_once(texts, matcher), gather_evidence(texts, matcher)):
        assert [each.phrase for each in found] == [0.0, 0.0]


@given(
    st.lists(st.text(max_size=40), max_size=4), st.lists(st.sampled_from(ASKED), min_size=1, max_size=4, unique=True)
)
def test_any_text_is_read_alike(texts: list[str], words: list[str]) -> None:
    matcher = _matcher(words)
    _same(gather_once([*texts, *TEXTS], matcher), gather_evidence([*texts, *TEXTS], matcher))


@given(st.text(alphabet="abeginosty", min_size=1, max_size=9))
def test_no_word_is_passed_over_that_has_the_stem(word: str) -> None:
    for spelling in (word, word.capitalize(), word.upper()):
        assert may_hold([spelling], heads_of(stems(word))) == [spelling]


def test_most_words_are_passed_over() -> None:
    assert may_hold(["tea", "coffee", "Walks", "MARIA", "makeTea", "x1", "naïve"], heads_of(["tea"])) == [
        "tea",
        "makeTea",
        "x1",
        "naïve",
    ]


def test_a_row_in_plain_python_is_that_of_numpy() -> None:
    vectors = numpy.random.default_rng(5).normal(size=(50, 120)).astype(numpy.float32)
    expected = [row.tobytes() for row in rounded(vectors[:, :96]).astype(numpy.int8)]
    assert [row_of(vector.tolist()) for vector in vectors] == expected
    assert row_of([0.0, 0.0]) is None


# With vectors of words


class Index:
    """Chunks as `learn_words` reads them, and the file that it fills."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        self.file = folder / "cache" / "words.sqlite"
        db = apsw.Connection(str(folder / "index.sqlite"))
        db.execute("CREATE TABLE IF NOT EXISTS chunks_1 (id INTEGER PRIMARY KEY, text TEXT)")
        self.snapshot = Snapshot(db, Generation(1, "live", {"dims": 256}, "numpy", "", 0, 0, 0, 0, 0, 0, None))
        self.embedded: list[str] = []
        self.provider = StaticProvider()
        self.add(*texts)

    def add(self, *texts: str) -> None:
        self.snapshot.db.executemany("INSERT INTO chunks_1 (text) VALUES (?)", [(text,) for text in texts])

    def embed(self, words: Sequence[str]) -> Sequence[Sequence[float]]:
        self.embedded += words
        return self.provider.embed_documents(words)

    def learn(self, seconds: float = 60.0) -> None:
        learn_words(self.file, self.snapshot, self.embed, seconds=seconds)

    def open(self) -> KeptWords:
        last = self.snapshot.db.execute("SELECT max(id) FROM chunks_1").get
        return KeptWords(str(self.file), self.embed, 1, last)

    def listed(self) -> bool:
        return self.open()._is_listed


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path, TEXTS)


def _check(index: Index, words: Sequence[str] = ASKED) -> None:
    matcher, kept = _matcher(words), index.open()
    with_numpy = gather_evidence(TEXTS, matcher, WordVectors(index.provider.embed_documents))
    _same(gather_once(TEXTS, matcher, kept.similar), with_numpy)
    kept.close()
    assert any(each.line > 0 for each in with_numpy)


def test_similar_words_are_found_alike(index: Index) -> None:
    index.learn()
    assert index.listed()
    _check(index)
    _check(index, ["drink", "glad", "conference"])  # words that no chunk holds
    assert gather_once(["a beverage"], _matcher(["drink"]), index.open().similar)[0].line > 0


def test_without_lists_words_are_compared_one_by_one(index: Index) -> None:
    index.learn()
    db = open_words(str(index.file))
    db.execute("UPDATE progress SET listed = 0")
    db.close()
    _check(index)


def test_each_word_is_embedded_once_and_chunks_are_read_once(index: Index) -> None:
    index.learn()
    first = len(index.embedded)
    assert first == len(set(index.embedded)) > 20
    index.learn()
    assert len(index.embedded) == first
    index.add("An espresso by the espresso machine: tea again")
    index.learn()
    assert sorted(index.embedded[first:]) == ["again", "an", "by", "espresso", "machine"]
    assert index.listed()


def test_a_new_word_is_on_the_lists_of_the_old_ones(index: Index) -> None:
    index.learn()
    index.add("drinks")
    assert not index.listed()
    index.learn()
    close = index.open().similar(["beverage"], list)
    assert close["drinks"][0] >= LEAST_COSINE


def test_what_was_cut_short_goes_on_the_next_time(index: Index) -> None:
    index.learn(seconds=-1.0)
    assert index.embedded == []
    index.learn()
    assert index.listed()
    _check(index)


def test_a_few_words_that_nobody_has_met_are_learnt(index: Index) -> None:
    index.learn()
    index.add("new words: lemonade, juice")
    before = len(index.embedded)
    matcher, kept = _matcher(["drink"]), index.open()
    once = gather_once(["lemonade and juice"], matcher, kept.similar)
    kept.close()
    _same(once, gather_evidence(["lemonade and juice"], matcher, WordVectors(index.provider.embed_documents)))
    assert {"lemonade", "juice"} <= set(index.embedded[before:])


def test_many_unknown_words_are_left_to_the_usual_way_which_reads_all_again(index: Index) -> None:
    index.learn()
    many: Callable[[], Collection[str]] = lambda: [f"strange{number}" for number in range(300)]  # noqa: E731
    with pytest.raises(UnknownWordsError):
        index.open().similar(["drink"], many)
    assert not index.listed()
    index.learn()
    assert index.listed()


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_file_is_made_anew(index: Index, damage: bytes) -> None:
    index.learn()
    index.file.write_bytes(damage)
    with pytest.raises(apsw.Error):
        index.open()
    index.learn()
    _check(index)


def test_words_for_another_embedder_are_thrown_away(index: Index) -> None:
    index.learn()
    other = Generation(1, "live", {"dims": 64}, "numpy", "", 0, 0, 0, 0, 0, 0, None)
    index.provider = StaticProvider(64)
    index.snapshot = Snapshot(index.snapshot.db, other)
    index.learn()
    _check(index)


def test_words_of_an_index_that_was_built_anew_are_gone(index: Index) -> None:
    index.learn()
    db = index.snapshot.db
    db.execute("CREATE TABLE chunks_2 AS SELECT * FROM chunks_1 WHERE text LIKE '%Maria%'")
    index.snapshot = Snapshot(db, Generation(2, "live", {"dims": 256}, "numpy", "", 0, 0, 0, 0, 0, 0, None))
    index.learn()
    words = {word for (word,) in open_words(str(index.file)).execute("SELECT word FROM words")}
    assert "maria" in words
    assert "happiness" not in words


def test_the_file_is_for_this_user_alone(index: Index) -> None:
    index.learn()
    assert index.file.stat().st_mode & 0o777 == 0o600


def test_a_place_that_cannot_be_written_is_no_failure(index: Index, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    index.learn()
