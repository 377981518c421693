"""Reads the notes for an audit: their lines, and the same lines without secrets, which alone may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memslot_memory_core.audit.finding import LINK, TOO_LARGE, UNREADABLE, Finding, Spot, excerpt_of
from memslot_memory_core.audit.hiding import hide_secrets
from memslot_memory_core.audit.links import find_links
from memslot_memory_core.sources.files import discover
from memslot_memory_core.sources.roots import ExtraPathLike
from memslot_memory_core.sources.text import MAX_BYTES, read_text_file


@dataclass(frozen=True)
class Note:
    """A note as it was read; `shown` has as many lines as `lines`."""

    path: str
    lines: Sequence[str]
    shown: Sequence[str]
    secrets: Sequence[tuple[int, int]]
    """First and last line of each secret, counted from 1."""

    def excerpt(self, start_line: int, end_line: int) -> str:
        return excerpt_of(self.shown[start_line - 1 : end_line])


def read_notes(
    workspace: Path, extra_paths: Sequence[str | ExtraPathLike] = (), max_bytes: int = MAX_BYTES
) -> tuple[list[Note], list[Finding]]:
    """Every note that can be read, and what is wrong with files and folders as such. Transcripts are no notes."""
    found = discover(workspace, extra_paths=extra_paths)
    notes: list[Note] = []
    findings = [
        Finding(UNREADABLE, Spot("."), problem, "correct the settings or the rights, or leave it out on purpose")
        for problem in found.problems
    ]
    for path in find_links(workspace, extra_paths):
        action = "put the real file here, or add the place it leads to to memorySearch.extraPaths"
        findings.append(Finding(LINK, Spot(path), "a link; what is behind it is not indexed", action))
    for file in found.files:
        try:
            document = read_text_file(file, max_bytes)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            findings.append(Finding(UNREADABLE, Spot(file.path), reason, "correct the file's rights or its owner"))
            continue
        if document is None:
            continue  # gone since the folder was listed
        if document.replaced:
            reason = f"{document.replaced} bytes are no text in UTF-8"
            findings.append(Finding(UNREADABLE, Spot(file.path), reason, "save it as UTF-8"))
        if document.truncated:
            reason = f"{file.size:,} bytes, of which only the first {max_bytes:,} are indexed"
            findings.append(Finding(TOO_LARGE, Spot(file.path), reason, "divide it into smaller notes"))
        shown, secrets = hide_secrets(document.lines)
        notes.append(Note(file.path, document.lines, shown, secrets))
    return notes, findings
