"""The outer form of a text: how long it is, and whether it is a sentence or something pasted."""

from __future__ import annotations

import re

SHORTEST = 10
MOST_EMOJI = 3
# A Chinese, Japanese or Korean character says about as much as two or three Latin letters.
CJK_WEIGHT = 2.5

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,40}(?:\s[^<>]{0,300}|/)?>|&lt;/?[A-Za-z]{1,40}")
# Written like a tag, but an address or a type: `<ann@example.org>`, `List<String>`.
_NO_TAG = re.compile(r"<[^<>\s]{1,100}@[^<>\s]{1,100}>|\w<[A-Z]\w{0,40}>|\w<[a-z]\d{1,3}>")
_FENCE = re.compile(r"(?:^|\n)\s{0,3}(?:```|~~~)")
_LIST = re.compile(
    r"(?:^|\n)[ \t]{0,8}(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]{1,4}\S[^\n]*\n[ \t]{0,8}(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]{1,4}\S"
)
_LIST_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*+•‣▪])[ \t]{1,4}\S")
_HEADING = re.compile(r"(?:^|\n)[ \t]{0,3}#{1,6}[ \t]{1,4}\S")
_TABLE = re.compile(r"(?:^|\n)[ \t]{0,3}\|[^\n|]{0,200}\||\|[ \t]{0,3}:?-{3,}")
_INDENTED_CODE = re.compile(r"(?:^|\n)(?: {4}|\t)\S[^\n]*[;{}()=][^\n]*\n(?: {4}|\t)")
# One sign as people see it: flags, families and skin tones are made of several characters.
_ONE = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[\U0001f300-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3]"
    "[\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]{0,8})"
)
_EMOJI = re.compile(f"{_ONE}(?:\u200d{_ONE}){{0,6}}")


def weight(text: str) -> float:
    """The length of a text in Latin letters."""
    return len(text) if text.isascii() else len(text) + (CJK_WEIGHT - 1) * len(_CJK.findall(text))


def pasted_form(text: str) -> str | None:
    """Which form a text has that no spoken sentence has: a key of `REASONS`."""
    if "<" in text or "&lt;" in text:
        without = _NO_TAG.sub("", text)
        if _TAG.search(without):
            return "markup"
    if _FENCE.search(text) or _INDENTED_CODE.search(text):
        return "code"
    if _TABLE.search(text):
        return "table"
    if _LIST.search(text) or _LIST_ITEM.search(text):
        return "list"
    if _HEADING.search(text):
        return "heading"
    if count_emoji(text) > MOST_EMOJI:
        return "emoji"
    return None


def count_emoji(text: str) -> int:
    """How many emoji a person sees."""
    return 0 if text.isascii() else len(_EMOJI.findall(text))


REASONS = {
    "markup": "It holds markup.",
    "code": "It is a block of code.",
    "table": "It is a table.",
    "list": "It is a list.",
    "heading": "It is a document with headings.",
    "emoji": f"It has more than {MOST_EMOJI} emoji.",
}
