"""A unified diff as rows with a sign each; in lines that were rewritten, the words that differ are marked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from memslot_inspector.markup import Child, Markup, h

MOST_MARKED_CHARS = 2000
"""Of a line whose words are compared."""
MOST_COMPARED = 10
"""Removed lines that an added one is compared with."""
_KINDS = {"+": "added", "-": "removed", "@": "place"}
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_PLACE = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_ALIKE = 0.5
"""Lines that share fewer of their words are not one line that was rewritten."""


def diff(lines: Sequence[str]) -> Markup:
    """The lines of a unified diff, as difflib gives them; `@@ name` begins a part with a name of its own."""
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]  # the file's name, twice
    return h("pre", _rows(lines), class_="diff")


def diff_of(before: str, after: str) -> list[str]:
    """The lines of a diff of two texts."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))


def _rows(lines: Sequence[str]) -> Iterator[Markup]:
    removed: list[str] = []
    for sign, some in groupby(lines, key=lambda line: line[:1]):
        texts = [line[1:] for line in some]
        if sign == "-":
            removed = texts
            continue
        if sign == "+":
            yield from _rewritten(removed, texts)
        else:
            yield from (_row("-", text) for text in removed)
            yield from (_row(sign, text) for text in texts)
        removed = []
    yield from (_row("-", text) for text in removed)


def _rewritten(removed: Sequence[str], added: Sequence[str]) -> Iterator[Markup]:
    old: list[Child] = list(removed)
    new: list[Child] = list(added)
    for before, after in _pairs(removed, added):
        old[before], new[after] = _marked(removed[before], added[after])
    yield from (_row("-", text) for text in old)
    yield from (_row("+", text) for text in new)


def _pairs(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Each line that was rewritten, with what it became."""
    begin = 0
    for after, text in enumerate(added):
        for before in range(begin, min(len(removed), begin + MOST_COMPARED)):
            if _is_rewritten(removed[before], text):
                yield before, after
                begin = before + 1
                break


def _is_rewritten(old: str, new: str) -> bool:
    if max(len(old), len(new)) > MOST_MARKED_CHARS:
        return False
    matcher = difflib.SequenceMatcher(None, old.split(), new.split(), autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


def _marked(old: str, new: str) -> tuple[Child, Child]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    were: list[Child] = []
    are: list[Child] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        gone, come = "".join(before[start:end]), "".join(after[new_start:new_end])
        were.append(h("del", gone) if kind != "equal" and gone else gone)
        are.append(h("ins", come) if kind != "equal" and come else come)
    return were, are


def _row(sign: str, text: Child) -> Markup:
    if sign == "@":
        place = _PLACE.match(f"@{text}")
        text = f"line {place[1]}" if place else str(text).removeprefix("@").strip()
        sign = ""
    kind = _KINDS.get(sign, None if sign else "place")
    return h("span", h("span", sign or " ", class_="gutter"), h("span", text, "\n"), class_=kind)
