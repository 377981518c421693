"""Text that is safe to print."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot.text import json_text


@settings(deadline=None)
@given(st.text(), st.sampled_from(["utf-8", "ascii"]))
def test_json_keeps_every_character_and_prints_no_control_character(text: str, encoding: str) -> None:
    written = json_text({"answer": text}, encoding)

    assert json.loads(written) == {"answer": text}
    assert not any(unicodedata.category(each) in ("Cc", "Cs") and each != "\n" for each in written)
    written.encode(encoding)


@pytest.mark.parametrize("text", ["\u202eevil\u202c", "\u2066x\u2069", "\U000e0041hidden", "\x9b31mred"], ids=ascii)
def test_json_escapes_what_reorders_or_hides_text(text: str) -> None:
    assert json_text({"answer": text}, "utf-8").isascii()


def test_json_shows_other_scripts_as_they_are() -> None:
    assert "日本語 👩‍👧" in json_text({"answer": "日本語 👩‍👧"}, "utf-8")
