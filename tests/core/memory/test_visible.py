"""Characters that nobody sees do not reach the model; those that a script needs do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import Tool, fence, visible
from memslot.text import json_text

HIDDEN = ["\U000e0041", "\u200b", "\u202e", "\u2066", "\x1b", "\x9b", "\x00", "\xad", "\ufeff", "\U000e0101", "\u3164"]
NEEDED = ["👩\u200d🚀", "❤\ufe0f", "1\ufe0f\u20e3", "می\u200cخواهم", "क्\u200dष", "ന്\u200d", "café", "a\tb\nc"]


@pytest.mark.parametrize("character", HIDDEN)
def test_an_invisible_character_reaches_no_model(character: str) -> None:
    tool = Tool("look", "Looks.", {"type": "object"}, lambda args: None)
    assert visible(f"a{character}b") == "ab"
    assert character not in fence([f"a{character}b"])
    assert tool.render(f"a{character}b").text == "ab"
    assert tool.render({"snippet": [f"a{character}b"]}).data == {"snippet": ["ab"]}


@pytest.mark.parametrize("text", NEEDED)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert visible(text) == text


def test_line_separators_become_spaces_and_half_pairs_a_mark() -> None:
    assert visible("a\u2028b\u2029c\ud800") == "a b c\ufffd"


@given(st.text(st.characters() | st.sampled_from([*HIDDEN, "\u200d", "\u200c", "\ufe0f", "👩", "م"])))
def test_nothing_is_left_to_take_out_that_no_neighbour_asks_for(text: str) -> None:
    once = visible(text)
    assert not set(once) & set(HIDDEN)
    once.encode()


@given(st.text())
def test_printed_json_says_the_same_without_raw_controls(text: str) -> None:
    printed = json_text({"a": text}, "utf-8")
    assert json.loads(printed) == {"a": text}
    assert not any(c in printed for c in HIDDEN)
