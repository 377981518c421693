"""Adds text to the agent's own notes: under a lock, in one step, and only to files that are notes."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Literal

from memslot import FileChangedError, MemslotError, file_stamp, note_lock, redact, strip_recalled, write_file

from memslot_memory_core.sources.roots import MAX_NOTE_CHARS
from memslot_memory_core.sources.text import encoding_of, split_lines

Target = Literal["daily", "memory"]
_ATTEMPTS = 5
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""With its line end, if it has one."""
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")


def append_note(
    workspace: Path, text: str, target: Target, section: str | None = None, *, today: date | None = None
) -> str:
    """Append a text to today's note or to MEMORY.md, below a heading if one is named; gives the file's path.

    Recalled blocks and secrets are taken out first. After a crash at any moment the file is as before or has all
    of the text. Raises a MemslotError that says why nothing was written.
    """
    cleaned = redact(strip_recalled(text)).strip()
    if not cleaned:
        raise MemslotError("there is nothing to write: the text is empty, or only what was recalled before")
    if len(cleaned) > MAX_NOTE_CHARS:
        raise MemslotError(f"the text has {len(cleaned):,} characters; a note takes {MAX_NOTE_CHARS:,} at a time")
    path = "MEMORY.md" if target == "memory" else f"memory/{(today or date.today()).isoformat()}.md"
    file = workspace / path
    try:
        _refuse_links(workspace, file)  # before the lock, which makes the folder
        with note_lock(file):
            _refuse_links(workspace, file)
            for _ in range(_ATTEMPTS):
                if _write_once(file, cleaned, section):
                    return path
    except OSError as error:
        raise MemslotError(f"{file} could not be written: {error.strerror or error}") from None
    raise MemslotError(f"{file} is being changed by another program without pause; try again")


def insert(content: str, text: str, section: str | None) -> str:
    """The content with the text at its end, or at the end of the section, which is made if it is not there.

    Nothing else changes but blank lines at that place; every line keeps its own line end.
    """
    lines = _LINE.findall(content)
    bare = [line.rstrip("\r\n") for line in lines]
    newline = lines[0][len(bare[0]) :] or "\n" if lines else "\n"
    added = split_lines(text)
    place = len(lines)
    if section is not None:
        title = " ".join(section.split()).lstrip("#").strip()
        if not title:
            raise MemslotError("the section has no name")
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
    """Where a section ends: at the next heading that is not below it, or with the file."""
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


def _write_once(file: Path, text: str, section: str | None) -> bool:
    """False when a program without our lock, such as an editor, changed the file meanwhile."""
    before = file_stamp(file)
    data = _insert_in_kind(file, file.read_bytes() if before is not None else b"", text, section)
    try:
        write_file(file, data, expected=before)
    except FileChangedError:
        return False
    return True


def _insert_in_kind(file: Path, data: bytes, text: str, section: str | None) -> bytes:
    """The note with the text, in the encoding and with the mark that the note has."""
    mark, encoding = encoding_of(data)
    # What is no UTF-8 can be kept byte by byte; in wider encodings, only halves of characters can.
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    try:
        content = data[len(mark) :].decode(encoding, errors)
    except UnicodeDecodeError:
        raise MemslotError(f"{file} begins as {encoding.upper()} and goes on as something else") from None
    return mark + insert(content, text, section).encode(encoding, errors)


def _refuse_links(workspace: Path, file: Path) -> None:
    for each in (file, *file.parents):
        if each == workspace:
            return
        if each.is_symlink():
            raise MemslotError(f"{each} is a link, and notes behind links are not indexed; replace it by a real file")
