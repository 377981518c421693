"""Text of models, tools and memory, made safe for a terminal."""

from __future__ import annotations

import re
from typing import Any

from memslot.text import json_text

# Escape sequences begin with a control character (C0, DEL or C1); without it they are harmless letters. Bidirectional
# controls can show a text in another order than it is, and the Unicode tags carry text that nobody sees.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_HALVES = re.compile("[\ud800-\udfff]")


def safe(text: str) -> str:
    """The text without what could steer a terminal or hide itself; lines and tabs stay."""
    return _HALVES.sub("\ufffd", _UNSAFE.sub("", text))


def safe_json(data: Any, encoding: str | None = None) -> str:
    """A JSON document in which the same characters stand as escapes: nothing is lost, and nothing acts."""
    text = json_text(data, encoding)
    for pattern in (_UNSAFE, _HALVES):
        text = pattern.sub(_escaped, text)
    return text


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
