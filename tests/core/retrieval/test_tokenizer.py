"""The default tokenizer and scripts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval import UNICODE_TOKENIZER, fold, script_of


def test_words_are_lower_case_without_diacritics() -> None:
    assert UNICODE_TOKENIZER.stems("Übung, Café_Noir №5: हिन्दी।") == ["ubung", "cafe", "noir", "5", "हिन्दी"]


@given(st.text(max_size=60))
def test_tokens_have_the_stems_and_stand_where_they_say(text: str) -> None:
    text = fold(text)
    tokens = UNICODE_TOKENIZER.tokens(text)

    assert [token.stem for token in tokens] == UNICODE_TOKENIZER.stems(text)
    assert all(before.end <= after.start for before, after in pairwise(tokens))
    assert all(UNICODE_TOKENIZER.stems(text[token.start : token.end]) == [token.word] for token in tokens)


@pytest.mark.parametrize(
    ("word", "script"),
    [("é", "latin"), ("中", "han"), ("あ", "kana"), ("ж", "cyrillic"), ("7", "number")],
)
def test_the_script_of_a_word(word: str, script: str) -> None:
    assert script_of(word) == script
