"""Gives an agent the lines it asks for, of the files that are its memory and of no other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memslot import MemoryItem, MemoryPage, MemoryText, MemslotError, redact_lines

if TYPE_CHECKING:
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.sources.files import SourceFile
    from memslot_memory_core.sources.transcripts import Resume

MAX_LINES = 2000


class NotInMemoryError(MemslotError):
    """A path was asked for that is none of an indexed file, or not in this chat."""


def text_json(part: MemoryText) -> dict[str, Any]:
    """Lines as `memory_get` and `memslot memory get --json` give them."""
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


def read_part(sources: Sources, path: str, from_line: int, lines: int, *, private: bool) -> MemoryText:
    """Lines of an indexed file, without secrets; one that is missing, or not for this chat, reads as empty.

    Raises a NotInMemoryError for a path that is none of an indexed file, whatever is there.
    """
    file = sources.find(path)
    if file is None and not sources.may_hold(path):
        raise NotInMemoryError(f"{path!r} is not in the memory; use a path as memory_search gave it")
    if file is None or (not private and is_hidden(file)):
        return MemoryText(path, "", from_line, 0)
    wanted = range(from_line, from_line + min(max(1, lines), MAX_LINES))
    if file.source == "sessions":
        return _part_of_transcript(file, path, wanted)
    from memslot_memory_core.sources.text import read_text_file

    document = read_text_file(file)
    # Before anything is cut out: a part of a private key does not look like one.
    found = redact_lines(document.lines) if document is not None else []
    part = found[wanted.start - 1 : wanted.stop - 1]
    following = wanted.stop if part and wanted.stop <= len(found) else None
    return MemoryText(path, "\n".join(part), from_line, len(part), following)


def is_hidden(file: SourceFile) -> bool:
    """Whether a file is for the person's eyes only: what is about them, and what they said elsewhere."""
    return file.private or file.source == "sessions"


def list_page(sources: Sources, cursor: str | None, limit: int, *, private: bool) -> MemoryPage:
    """The indexed files: what is always true first, then the rest from the newest name on."""
    files = [file for file in sources.discover().files if private or not is_hidden(file)]
    files.sort(key=lambda file: file.path, reverse=True)
    files.sort(key=lambda file: "/" in file.path)
    start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
    page = files[start : start + limit]
    items = [MemoryItem(file.path, file.path, file.source, _changed_at(file), file.size) for file in page]
    end = start + len(page)
    return MemoryPage(items, str(end) if page and end < len(files) else None)


def _part_of_transcript(file: SourceFile, path: str, wanted: range) -> MemoryText:
    """The messages whose lines in the JSONL file are asked for, each as one line."""
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


def _changed_at(file: SourceFile) -> datetime:
    return datetime.fromtimestamp(file.mtime, UTC)
