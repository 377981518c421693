"""Glob patterns that are followed folder by folder, so that a walk enters only where something can match."""

from __future__ import annotations

from collections.abc import Callable

States = frozenset[tuple[int, int]]
"""How far each pattern has got: its number and the segment that comes next."""

_ANY_DEPTH = "**"


class Glob:
    """One or more patterns, `/` between segments: `*`, `?` and `[…]` inside one, `**` for any number of folders.

    Case counts on every system. Dots at the beginning of a name are nothing special. There is no way up or out:
    a pattern is compared with names that were found below its folder, and with nothing else.
    """

    def __init__(self, *patterns: str) -> None:
        self._patterns = [[_segment(text) for text in _split(pattern)] for pattern in patterns]

    def begin(self) -> States:
        """Where a walk stands before its first name."""
        return self._skip_depths({(number, 0) for number in range(len(self._patterns))})

    def after(self, states: States, name: str) -> States:
        """Where it stands after one more name; empty when nothing below can match any more."""
        reached = set()
        for number, at in states:
            pattern = self._patterns[number]
            if at < len(pattern):
                segment = pattern[at]
                if segment is None:
                    reached.add((number, at))
                elif segment(name):
                    reached.add((number, at + 1))
        return self._skip_depths(reached)

    def accepts(self, states: States) -> bool:
        """Does a pattern end here?"""
        return any(at == len(self._patterns[number]) for number, at in states)

    def accepts_everything(self, states: States) -> bool:
        """Will every name below match, whatever it is? Then a walk need not ask again."""
        return any(self._patterns[number][at:] == [None] for number, at in states)

    def _skip_depths(self, states: set[tuple[int, int]]) -> States:
        """`**` also stands for no folder at all, so whoever waits at one waits behind it, too."""
        closed = set(states)
        for number, at in states:
            pattern = self._patterns[number]
            while at < len(pattern) and pattern[at] is None:
                at += 1
                closed.add((number, at))
        return frozenset(closed)


def why_not(pattern: str) -> str | None:
    """The reason why a pattern cannot be used, or None."""
    if pattern.startswith("/") or "\\" in pattern:
        return "must be relative to its folder, with forward slashes"
    if ".." in pattern.split("/"):
        return "must not lead out of its folder"
    if not _split(pattern):
        return "is empty"
    return None


def _split(pattern: str) -> list[str]:
    return [text for text in pattern.split("/") if text not in ("", ".")]


def _segment(text: str) -> Callable[[str], object] | None:
    """What tells whether a name is meant; None for any number of them."""
    if text == _ANY_DEPTH:
        return None
    if not any(sign in text for sign in "*?["):
        return text.__eq__
    import fnmatch
    import re

    return re.compile(fnmatch.translate(text)).match
