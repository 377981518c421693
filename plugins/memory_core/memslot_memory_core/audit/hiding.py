"""Finds secrets line by line, and gives the lines as they may be shown."""

from __future__ import annotations

from collections.abc import Sequence

from memslot import find_secrets, redact_lines


def hide_secrets(lines: Sequence[str]) -> tuple[Sequence[str], list[tuple[int, int]]]:
    """The lines without their secrets, and the first and last line of each secret, counted from 1."""
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    at, line = 0, 1
    for start, end in find_secrets(text):
        first = line + text.count("\n", at, start)
        at, line = end, first + text.count("\n", start, end)
        if not spans or spans[-1] != (first, line):
            spans.append((first, line))
    return (redact_lines(lines), spans) if spans else (lines, [])
