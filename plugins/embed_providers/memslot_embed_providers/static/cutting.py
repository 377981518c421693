"""Cuts a text into words, each of which the tokenizer can cut alone."""

from __future__ import annotations

import re

_SEGMENT = re.compile(" +[^ ]*")
"""A word with the spaces before it. No token of the vocabulary goes on after a space, so words can be cut alone."""
_SPECIAL = ("<s>", "</s>", "<unk>")
"""Written out in a text, these are single tokens and change how their neighbours are cut."""


def readable(text: str) -> str:
    """The text without half a surrogate pair, which the tokenizer would refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def segments(text: str) -> list[str] | None:
    """The words of a text with the spaces before them; None for one that can only be cut as a whole."""
    if not text or text.isspace():
        return []
    if "<" in text and any(mark in text for mark in _SPECIAL):
        return None
    # To the tokenizer a space and the mark "▁" are one and the same.
    return _SEGMENT.findall(" " + text.replace("▁", " "))
