"""How texts become requests: estimates, batches, and the cutting of texts that are too long."""

from __future__ import annotations

import itertools
import unicodedata

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.embeddings.long_texts import cut, weighted_mean
from memslot.embeddings.pieces import Assembly, batches, split
from memslot.embeddings.tokens import estimate_tokens

any_text = st.text(st.characters(), max_size=400)
scripts = st.text(st.sampled_from("ab c.\n\n,。日本語й한국emój👍🏽👨‍👩‍👧e\u0301\u200d"), max_size=400)


# Tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd" * 100, 100),
        ("记忆" * 50, 100),
        ("記憶です", 4),
        ("한국어", 3),
        ("👍", 2),
        ("abcd记忆", 3),
    ],
)
def test_latin_counts_four_characters_a_token_and_cjk_one(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_cyrillic_takes_more_tokens_than_latin_of_the_same_length() -> None:
    assert estimate_tokens("п" * 400) == 200


@given(any_text, any_text)
def test_a_longer_text_never_has_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + other) >= max(estimate_tokens(one), estimate_tokens(other))


# Batches


@given(sizes=st.lists(st.integers(0, 50)), max_tokens=st.integers(1, 60), max_items=st.integers(1, 10))
def test_every_text_is_in_one_batch_in_order_and_within_the_limits(
    sizes: list[int], max_tokens: int, max_items: int
) -> None:
    made = list(batches(sizes, max_tokens=max_tokens, max_items=max_items))
    assert [number for batch in made for number in batch] == list(range(len(sizes)))
    for batch in made:
        assert 1 <= len(batch) <= max_items
        assert len(batch) == 1 or sum(sizes[n] for n in batch) <= max_tokens
    for one, following in itertools.pairwise(made):
        is_full = len(one) == max_items or sum(sizes[n] for n in one) + sizes[following[0]] > max_tokens
        assert is_full, "two requests were made where one would have done"


# Long texts


@given(text=any_text | scripts, max_tokens=st.integers(1, 40))
def test_parts_make_up_the_text_and_are_small_enough(text: str, max_tokens: int) -> None:
    parts = list(cut(text, max_tokens))
    assert "".join(parts) == text
    assert all(parts)
    for part in parts:
        # One character can be larger than the limit by itself.
        assert estimate_tokens(part) <= max_tokens or len(part) == 1


@given(text=st.text(st.sampled_from("abc é日"), min_size=60, max_size=300), max_tokens=st.integers(8, 30))
def test_no_part_begins_with_an_accent(text: str, max_tokens: int) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    starts = {part[0] for part in list(cut(decomposed, max_tokens))[1:]}
    assert not any(unicodedata.combining(character) for character in starts)


def test_a_pair_of_surrogates_stays_together() -> None:
    pairs = "\ud83d\ude00" * 40
    assert all(len(part) % 2 == 0 for part in cut(pairs, 7))


def test_a_family_of_emoji_stays_together() -> None:
    family = "👨‍👩‍👧"
    assert all(part.count(family) * len(family) == len(part) for part in cut(family * 20, 25))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One two. Three four five.\n\nSix seven eight nine ten.", "One two. Three four five.\n\n"),
        ("One two three. Four five six seven eight nine ten", "One two three. Four five six "),
        ("One two three four five. Six seven eight nine", "One two three four five. "),
        ("一二三四五六。七八九十一二三四五", "一二三四五六。"),
    ],
)
def test_it_is_cut_where_a_reader_pauses(text: str, first: str) -> None:
    assert next(iter(cut(text, 8))) == first


def test_a_text_of_accents_alone_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 1000
    assert "".join(cut(text, 5)) == text


def test_a_text_that_fits_is_left_whole_and_a_blank_one_is_nothing() -> None:
    assert [piece.text for piece in split(3, "short", 100)] == ["short"]
    assert split(0, " \n\t ", 100) == []
    assert split(0, "", 100) == []


def test_what_is_beyond_the_parts_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    pieces = split(0, "word " * 1000, 10, 5)
    assert len(pieces) == 5
    assert "is truncated" in caplog.text


def test_the_mean_is_weighted_by_length_and_a_unit_vector() -> None:
    rows = numpy.array([[1.0, 0.0], [0.0, 1.0]], dtype=numpy.float32)
    mean = weighted_mean(rows, [3, 1])
    assert mean.dtype == numpy.float32
    assert mean.tolist() == pytest.approx([3 / 10**0.5, 1 / 10**0.5])


def test_parts_that_cancel_out_give_zeros() -> None:
    rows = numpy.array([[1.0, 0.0], [-1.0, 0.0]], dtype=numpy.float32)
    assert weighted_mean(rows, [1, 1]).tolist() == [0.0, 0.0]


def test_parts_may_come_back_in_any_order() -> None:
    pieces = split(0, "word " * 20, 5) + split(1, "short", 5)
    rows = numpy.eye(len(pieces), 8, dtype=numpy.float32)
    forwards, backwards = Assembly(pieces), Assembly(pieces)
    one = dict(forwards.add(pieces, rows))
    other: dict[int, object] = {}
    for number in reversed(range(len(pieces))):
        other.update(backwards.add(pieces[number : number + 1], rows[number : number + 1]))
    assert one.keys() == other.keys() == {0, 1}
    assert numpy.allclose(one[0], other[0])
