"""Writes the agent's notes: locked, atomic, and only to real note files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from memslot import (
    FileChangedError,
    MemslotError,
    file_stamp,
    note_lock,
    redact,
    redact_lines,
    strip_recalled,
    write_file,
)

from memslot_memory_core.sources.roots import MAX_NOTE_CHARS
from memslot_memory_core.sources.text import encoding_of, split_lines

Target = Literal["daily", "memory"]
_ATTEMPTS = 5
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""Including its line end, if any."""
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")


def append_note(
    workspace: Path, text: str, target: Target, section: str | None = None, *, today: date | None = None
) -> str:
    """Append text to today's note or to MEMORY.md, optionally below a heading; returns the path.

    Recalled blocks and secrets are removed first. The write is atomic. Raises a MemslotError if nothing was written.
    """
    cleaned = redact(strip_recalled(text)).strip()
    if not cleaned:
        raise MemslotError("nothing to write: the text is empty or contains only recalled memory")
    if len(cleaned) > MAX_NOTE_CHARS:
        raise MemslotError(f"the text has {len(cleaned):,} characters; the limit is {MAX_NOTE_CHARS:,} per call")
    path = "MEMORY.md" if target == "memory" else f"memory/{(today or date.today()).isoformat()}.md"
    _rewrite(workspace, workspace / path, lambda content: insert(content, cleaned, section))
    return path


def replace_note(workspace: Path, file: Path, text: str, expected: str | None) -> None:
    """Replace a note's text with the user's edit of it, in which secrets are redacted.

    Lines that are as `expected` keep their bytes, secrets included. Raises a MemslotError if nothing was written.
    """

    def edit(content: str) -> str:
        lines = split_lines(content)
        shown = redact_lines(lines)
        if expected is not None and _joined(shown) != _joined(split_lines(expected)):
            raise MemslotError(f"{file.name} was changed meanwhile, and nothing was written; look at it again")
        wanted = split_lines(text)
        newline = next((end for end in ("\r\n", "\n", "\r") if end in content), "\n")
        return "".join(f"{line}{newline}" for line in _merged_lines(lines, shown, wanted))

    if not file.is_file():
        raise MemslotError(f"{file.name} does not exist")
    _rewrite(workspace, file, edit)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip()


def _merged_lines(lines: Sequence[str], shown: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted lines, with the original in place of each one that was not edited."""
    merged = list(redact_lines(wanted))
    # Most edits are in one place. Matching takes the square of the length if lines are repeated.
    shorter = min(len(shown), len(wanted))
    start = next((number for number in range(shorter) if shown[number] != wanted[number]), shorter)
    tail = next((n for n in range(shorter - start) if shown[-1 - n] != wanted[-1 - n]), shorter - start)
    old_end, new_end = len(shown) - tail, len(wanted) - tail
    merged[:start], merged[new_end:] = lines[:start], lines[old_end:]
    matcher = SequenceMatcher(None, shown[start:old_end], wanted[start:new_end], autojunk=False)
    for block in matcher.get_matching_blocks():
        first = start + block.a
        merged[start + block.b : start + block.b + block.size] = lines[first : first + block.size]
    return merged


def _rewrite(workspace: Path, file: Path, edit: Callable[[str], str]) -> None:
    """Change a note's text under its lock."""
    try:
        _refuse_links(workspace, file)  # before the lock, which creates the folder
        with note_lock(file):
            _refuse_links(workspace, file)
            for _ in range(_ATTEMPTS):
                if _write_once(file, edit):
                    return
    except OSError as error:
        raise MemslotError(f"{file} could not be written: {error.strerror or error}") from None
    raise MemslotError(f"{file} keeps being changed by another program; try again")


def insert(content: str, text: str, section: str | None) -> str:
    """The content with the text appended, or added to the end of the section, which is created if missing.

    Only blank lines at that point change; every line keeps its line end.
    """
    lines = _LINE.findall(content)
    bare = [line.rstrip("\r\n") for line in lines]
    newline = lines[0][len(bare[0]) :] or "\n" if lines else "\n"
    added = split_lines(text)
    place = len(lines)
    if section is not None:
        title = " ".join(section.split()).lstrip("#").strip()
        if not title:
            raise MemslotError("the section name is empty")
        end = _end_of_section(bare, title)
        if end is None:
            added = [f"## {title}", "", *added]
        else:
            place = end
    before, after = lines[:place], lines[place:]
    while before and not before[-1].strip():
        before.pop()
    gap = newline if before else ""
    if before and not before[-1].endswith(("\r", "\n")):
        gap += newline
    rest = newline + "".join(after) if "".join(after).strip() else ""
    return "".join(before) + gap + "".join(f"{line}{newline}" for line in added) + rest


def _end_of_section(lines: list[str], title: str) -> int | None:
    """The end of a section: the next heading of the same or a higher level, or the end of the file."""
    level = 0
    is_code = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            is_code = not is_code
        heading = None if is_code else _HEADING.match(line)
        if heading is None:
            continue
        if level and len(heading[1]) <= level:
            return number
        if not level and heading[2].casefold() == title.casefold():
            level = len(heading[1])
    return len(lines) if level else None


def _write_once(file: Path, edit: Callable[[str], str]) -> bool:
    """Write once; False if a program without our lock, such as an editor, changed the file meanwhile."""
    before = file_stamp(file)
    data = _edit_in_kind(file, file.read_bytes() if before is not None else b"", edit)
    try:
        write_file(file, data, expected=before)
    except FileChangedError:
        return False
    return True


def _edit_in_kind(file: Path, data: bytes, edit: Callable[[str], str]) -> bytes:
    """The edited note, in the note's own encoding and with its BOM."""
    mark, encoding = encoding_of(data)
    # Invalid UTF-8 can be preserved byte by byte; in wider encodings only lone surrogates can.
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    try:
        content = data[len(mark) :].decode(encoding, errors)
    except UnicodeDecodeError:
        raise MemslotError(f"{file} starts as {encoding.upper()} but is not valid {encoding.upper()}") from None
    return mark + edit(content).encode(encoding, errors)


def _refuse_links(workspace: Path, file: Path) -> None:
    for each in (file, *file.parents):
        if each == workspace:
            return
        if each.is_symlink():
            raise MemslotError(f"{each} is a symbolic link, and links are not indexed; replace it with a real file")
