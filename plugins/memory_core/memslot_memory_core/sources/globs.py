"""Glob patterns matched folder by folder, so that a walk enters only folders that can match."""

from __future__ import annotations

from collections.abc import Callable

States = frozenset[tuple[int, int]]
"""Match state: pattern number and next segment."""

_ANY_DEPTH = "**"


class Glob:
    """One or more patterns, `/` between segments: `*`, `?` and `[…]` inside one, `**` for any number of folders.

    Case-sensitive on every system. Leading dots are not special. A pattern can't escape its folder: it is only matched
    against names found below it.
    """

    def __init__(self, *patterns: str) -> None:
        self._patterns = [[_segment(text) for text in _split(pattern)] for pattern in patterns]

    def begin(self) -> States:
        """The initial state."""
        return self._skip_depths({(number, 0) for number in range(len(self._patterns))})

    def after(self, states: States, name: str) -> States:
        """The state after one more name; empty if nothing below can match."""
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
        """Whether a pattern ends here."""
        return any(at == len(self._patterns[number]) for number, at in states)

    def accepts_everything(self, states: States) -> bool:
        """Whether every name below matches, so that a walk can stop checking."""
        return any(self._patterns[number][at:] == [None] for number, at in states)

    def _skip_depths(self, states: set[tuple[int, int]]) -> States:
        """Expand states: `**` also matches zero folders, so a state at one is also past it."""
        closed = set(states)
        for number, at in states:
            pattern = self._patterns[number]
            while at < len(pattern) and pattern[at] is None:
                at += 1
                closed.add((number, at))
        return frozenset(closed)


def invalid_reason(pattern: str) -> str | None:
    """Why a pattern is invalid, or None."""
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
    """A matcher for one segment; None for `**`."""
    if text == _ANY_DEPTH:
        return None
    if not any(sign in text for sign in "*?["):
        return text.__eq__
    import fnmatch
    import re

    return re.compile(fnmatch.translate(text)).match
