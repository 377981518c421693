"""Nothing that a model, a tool or a memory says steers the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from memslot import fence
from memslot_chat.screen import count_recalled, safe

ATTACKS = [
    "\x1b[2J",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;aGk=\x07",
    "\x9b31mred",
    "\x9d0;title\x9c",
    "\x08\x08rm",
    "a\rb",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "\U000e0041hidden",
    "\x7f",
    "\x00",
]


@pytest.mark.parametrize("text", ATTACKS, ids=ascii)
def test_control_characters_go(text: str) -> None:
    shown = safe(f"before {text} after\n\tnext")

    assert shown.startswith("before ")
    assert shown.endswith(" after\n\tnext")
    assert not any(unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" for each in shown)
    assert not set(shown) & set("\u202e\u202c\u2066\u2069\U000e0041")


def test_writing_of_all_kinds_stays() -> None:
    text = "naïve 日本語 می‌خواهم 👩‍👩‍👧 ❤️ e\u0301 «x»\n\t–"

    assert safe(text) == text


def test_only_what_is_fenced_counts_as_recalled() -> None:
    recalled = fence(["the gate is blue", "Ines has the key"])

    assert count_recalled(f"- a list of a plugin\n{recalled}\n- and its end") == 2
    assert count_recalled("- a list of a plugin") == 0
