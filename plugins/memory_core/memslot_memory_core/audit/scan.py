"""Runs the audit: reads all notes once and applies the requested checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from pathlib import Path

from memslot import strip_recalled

from memslot_memory_core.audit.duplicates import Occurrence, find_duplicates, find_near_duplicates
from memslot_memory_core.audit.findings import (
    DUPLICATE,
    KINDS,
    NEAR_DUPLICATE,
    RECALLED,
    SECRET,
    STALE,
    AuditReport,
    Finding,
    NoteLines,
)
from memslot_memory_core.audit.notes import Note, read_notes
from memslot_memory_core.audit.passages import passages_of
from memslot_memory_core.audit.stale import find_stale
from memslot_memory_core.sources.roots import ExtraPathLike

STALE_DAYS = 180
_BLOCK = re.compile(r"(?<!`)<relevant-memories>", re.IGNORECASE)
_BLOCK_END = re.compile(r"</relevant-memories>", re.IGNORECASE)


def audit(
    workspace: Path,
    extra_paths: Sequence[str | ExtraPathLike] = (),
    *,
    kinds: Collection[str] = KINDS,
    stale_days: int = STALE_DAYS,
    today: date | None = None,
) -> AuditReport:
    """Audit all notes of a workspace. Nothing is written, and the report contains no secrets."""
    today = today or date.today()
    notes, findings = read_notes(workspace, extra_paths)
    occurrences = [Occurrence(note, passage) for note in notes for passage in passages_of(note.lines)]
    for note in notes:
        findings += _secrets(note)
        findings += _recalled(note)
        findings += find_stale(note, stale_days, today) if STALE in kinds else ()
    repeats: dict[str, Callable[[list[Occurrence]], list[Finding]]] = {
        DUPLICATE: find_duplicates,
        NEAR_DUPLICATE: find_near_duplicates,
    }
    for kind, find in repeats.items():
        findings += find(occurrences) if kind in kinds else []
    wanted = [finding for finding in findings if finding.kind in kinds]
    wanted.sort(key=lambda each: (KINDS.index(each.kind), each.spot.path, each.spot.start_line or 0))
    return AuditReport(len(notes), len(occurrences), wanted)


def _secrets(note: Note) -> Iterator[Finding]:
    action = "remove and rotate it: agents see it redacted, but the file holds it in plain text"
    for start, end in note.secrets:
        yield Finding(SECRET, NoteLines(note.path, start, end), note.excerpt(start, end), action)


def _recalled(note: Note) -> Iterator[Finding]:
    """Recalled blocks pasted into a note. A tag in backticks is a mention, not a block."""
    text = "\n".join(note.lines)
    if strip_recalled(text) == text:
        return
    action = "delete the block: it duplicates other notes and would be recalled again"
    at = 0
    while (begin := _BLOCK.search(text, at)) is not None:
        end = _BLOCK_END.search(text, begin.end())
        at = end.end() if end else len(text)
        first, last = text.count("\n", 0, begin.start()) + 1, text.count("\n", 0, at) + 1
        yield Finding(RECALLED, NoteLines(note.path, first, last), note.excerpt(first, last), action)
