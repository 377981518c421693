"""Folder listings and file views of the memory tool."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memslot import MemoryFiles

from memslot_anthropic_memory.answer import Refused
from memslot_anthropic_memory.paths import ROOT, NotePath

MAX_LINES = 999_999
MAX_CHARS = 45_000
_AROUND = 2
_UNITS = ("B", "K", "M", "G")


def list_folder(files: MemoryFiles, spot: NotePath) -> str:
    """List a folder's notes two levels deep, with sizes."""
    rows = list(_rows(spot.file, spot.shown, 1, files.suffix))
    if spot.is_root:
        rows = [*_named_rows(files), *rows]
    whole = sum(size for size, _, level in rows if level == 1)
    lines = [f"{_human(whole)}\t{spot.shown}", *(f"{_human(size)}\t{shown}" for size, shown, _ in rows)]
    depth = "up to 2 levels deep"
    head = f"Here're the files and directories {depth} in {spot.shown}, excluding hidden items and node_modules:"
    return "\n".join([head, *lines])


def _named_rows(files: MemoryFiles) -> Iterator[tuple[int, str, int]]:
    for name in files.named:
        file = files.root / name
        if file.is_file() and not file.is_symlink():
            yield file.stat().st_size, f"{ROOT}/{name}", 1


def _rows(folder: Path, shown: str, depth: int, suffix: str) -> Iterator[tuple[int, str, int]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "node_modules" or entry.is_symlink():
            continue
        path = f"{shown}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            below = list(_rows(folder / entry.name, path, depth + 1, suffix))
            size = sum(size for size, _, level in below if level == depth + 1)
            yield size, f"{path}/", depth
            if depth < 2:
                yield from below
        elif entry.name.endswith(suffix):
            yield entry.stat(follow_symlinks=False).st_size, path, depth


def _human(size: int) -> str:
    value = float(size)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f}{unit}" if unit == "B" else f"{value:.1f}{unit}"


def show_file(shown: str, lines: Sequence[str], view_range: Any) -> str:
    """A note's lines with numbers, truncated to what a model should read at once."""
    if len(lines) > MAX_LINES:
        raise Refused(f"File {shown} exceeds maximum line limit of {MAX_LINES:,} lines.")
    first, last = _checked_range(view_range, len(lines))
    numbered = number(lines[first - 1 : last], first)
    kept: list[str] = []
    room = MAX_CHARS
    for line in numbered:
        room -= len(line) + 1
        if room < 0:
            following = first + len(kept)
            kept.append(
                f"[truncated; continue with view_range [{following}, -1]]" if kept else f"{line[:MAX_CHARS]}[truncated]"
            )
            break
        kept.append(line)
    return "\n".join([f"Here's the content of {shown} with line numbers:", *kept])


def show_around(lines: Sequence[str], first: int, last: int) -> str:
    """The lines around a change, with numbers; `first` and `last` count from 0."""
    start = max(0, first - _AROUND)
    return "\n".join(number(lines[start : last + _AROUND + 1], start + 1))[:MAX_CHARS]


def number(lines: Sequence[str], first: int) -> list[str]:
    return [f"{place:6d}\t{line}" for place, line in enumerate(lines, first)]


def split_lines(text: str) -> list[str]:
    """The lines of a text, without an empty one after a final newline."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _checked_range(view_range: Any, count: int) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if not isinstance(view_range, list | tuple) or [type(each) for each in view_range] != [int, int]:
        raise Refused("Error: `view_range` must be two line numbers")
    first: int = view_range[0]
    last: int = max(1, count) if view_range[1] == -1 else view_range[1]
    if not 1 <= first <= max(1, count) or last < first:
        raise Refused(f"Error: Invalid `view_range`: {list(view_range)}. The file has {count} lines")
    return first, last
