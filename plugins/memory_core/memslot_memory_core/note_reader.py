"""Reads lines of indexed files, and of no others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memslot import MemoryItem, MemoryPage, MemoryText, MemslotError, redact_lines

from memslot_memory_core.sources.dates import date_of_note

if TYPE_CHECKING:
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.sources.files import SourceFile
    from memslot_memory_core.sources.transcripts import Resume

MAX_LINES = 2000


class NotInMemoryError(MemslotError):
    """The path is not that of an indexed file."""


def lines_json(part: MemoryText) -> dict[str, Any]:
    """The JSON of `memory_get` and `memslot memory get --json`."""
    shown: dict[str, Any] = {
        "path": part.path,
        "text": part.text,
        "from": part.start_line,
        "lines": part.lines,
        "truncated": part.next_line is not None,
    }
    if part.next_line is not None:
        shown["nextFrom"] = part.next_line
    return shown


def read_lines(sources: Sources, path: str, from_line: int, lines: int, *, private: bool) -> MemoryText:
    """Redacted lines of an indexed file; empty if it is missing or private.

    Raises NotInMemoryError for a path outside the memory, whether it exists or not.
    """
    file = sources.find(path)
    if file is None and not sources.may_hold(path):
        raise NotInMemoryError(f"{path!r} is not in the memory; use a path from memory_search")
    if file is None or (not private and is_hidden(file)):
        return MemoryText(path, "", from_line, 0)
    wanted = range(from_line, from_line + min(max(1, lines), MAX_LINES))
    if file.source == "sessions":
        return _part_of_transcript(file, path, wanted)
    from memslot_memory_core.sources.text import read_text_file

    document = read_text_file(file)
    # Redact before slicing: part of a private key can't be recognized.
    found = redact_lines(document.lines) if document is not None else []
    part = found[wanted.start - 1 : wanted.stop - 1]
    following = wanted.stop if part and wanted.stop <= len(found) else None
    return MemoryText(path, "\n".join(part), from_line, len(part), following)


def is_hidden(file: SourceFile) -> bool:
    """Whether a file is private to direct chats: notes about the user, and transcripts."""
    return file.private or file.source == "sessions"


def list_page(sources: Sources, cursor: str | None, limit: int, *, private: bool) -> MemoryPage:
    """A page of the indexed files: evergreen notes first, then by name, newest first."""
    files = [file for file in sources.discover().files if private or not is_hidden(file)]
    files.sort(key=lambda file: file.path, reverse=True)
    files.sort(key=lambda file: "/" in file.path)
    start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
    page = files[start : start + limit]
    items = [
        MemoryItem(file.path, file.path, file.source, _changed_at(file), file.size, _details(file)) for file in page
    ]
    end = start + len(page)
    return MemoryPage(items, str(end) if page and end < len(files) else None)


def _part_of_transcript(file: SourceFile, path: str, wanted: range) -> MemoryText:
    """The messages at these lines of the JSONL file, one line each."""
    from memslot_memory_core.sources.transcripts import chunk_transcript, read_transcript

    said: dict[int, str] = {}
    beyond: int | None = None
    resume: Resume | None = None
    while beyond is None:
        transcript = read_transcript(file, resume=resume)
        if transcript is None:
            break
        for number, line in zip(transcript.numbers, transcript.lines, strict=True):
            if number in wanted:
                said[number] = line
            elif number >= wanted.stop:
                beyond = number
                break
        if not transcript.more:
            break
        _, resume = chunk_transcript(transcript, tokens=1, overlap=0)
    return MemoryText(path, "\n".join(said.values()), wanted.start, len(said), beyond)


def _details(file: SourceFile) -> dict[str, Any]:
    day = date_of_note(file.path)
    session = file.path.removeprefix("sessions/").removesuffix(".jsonl") if file.source == "sessions" else None
    found = {"day": day, "session": session}
    return {name: value for name, value in found.items() if value is not None}


def _changed_at(file: SourceFile) -> datetime:
    return datetime.fromtimestamp(file.mtime, UTC)
