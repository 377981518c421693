"""Reads notes for an audit, as raw lines and as redacted lines; only the latter may be shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memslot import find_secrets, redact_lines

from memslot_memory_core.audit.findings import LINK, TOO_LARGE, UNREADABLE, Finding, NoteLines, excerpt_of
from memslot_memory_core.sources.files import SKIPPED_FOLDERS, discover, leads_elsewhere
from memslot_memory_core.sources.globs import States
from memslot_memory_core.sources.roots import ExtraPathLike, Root, find_roots
from memslot_memory_core.sources.text import MAX_BYTES, read_text_file


@dataclass(frozen=True)
class Note:
    """A note's raw lines and the same lines redacted (`shown`)."""

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
    """Every readable note, and findings about files and folders. Transcripts don't count."""
    found = discover(workspace, extra_paths=extra_paths)
    notes: list[Note] = []
    findings = [
        Finding(UNREADABLE, NoteLines("."), problem, "fix the settings or the permissions, or exclude it")
        for problem in found.problems
    ]
    for path in find_links(workspace, extra_paths):
        action = "replace it by the real file, or add its target to memorySearch.extraPaths"
        findings.append(Finding(LINK, NoteLines(path), "a symbolic link; its target is not indexed", action))
    for file in found.files:
        try:
            document = read_text_file(file, max_bytes)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            findings.append(Finding(UNREADABLE, NoteLines(file.path), reason, "fix the file's permissions or owner"))
            continue
        if document is None:
            continue  # gone since the folder was listed
        if document.replaced:
            reason = f"{document.replaced} bytes are not valid UTF-8"
            findings.append(Finding(UNREADABLE, NoteLines(file.path), reason, "save it as UTF-8"))
        if document.truncated:
            reason = f"{file.size:,} bytes; only the first {max_bytes:,} are indexed"
            findings.append(Finding(TOO_LARGE, NoteLines(file.path), reason, "split it into smaller notes"))
        shown, secrets = hide_secrets(document.lines)
        notes.append(Note(file.path, document.lines, shown, secrets))
    return notes, findings


def hide_secrets(lines: Sequence[str]) -> tuple[Sequence[str], list[tuple[int, int]]]:
    """The redacted lines, and the first and last line of each secret, counted from 1."""
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    at, line = 0, 1
    for start, end in find_secrets(text):
        first = line + text.count("\n", at, start)
        at, line = end, first + text.count("\n", start, end)
        if not spans or spans[-1] != (first, line):
            spans.append((first, line))
    return (redact_lines(lines), spans) if spans else (lines, [])


def find_links(workspace: Path, extra_paths: Sequence[str | ExtraPathLike]) -> list[str]:
    """Links to Markdown files and folders that would be indexed if they were real; the index only counts them."""
    found: dict[str, None] = {}
    for root in find_roots(workspace, extra_paths).roots:
        if root.only is None:
            _find_links_below(root, root.folder, root.shown, root.glob.begin() if root.glob else None, found)
    return list(found)


def _find_links_below(root: Root, folder: str, shown: str, states: States | None, found: dict[str, None]) -> None:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return  # reported by file discovery
    for entry in entries:
        reached = root.glob.after(states, entry.name) if root.glob and states is not None else None
        if entry.name in SKIPPED_FOLDERS or (root.glob and not reached):
            continue
        if leads_elsewhere(entry):
            if entry.name.lower().endswith(root.suffixes) or entry.is_dir():
                found.setdefault(shown + entry.name)
        elif entry.is_dir(follow_symlinks=False):
            _find_links_below(root, entry.path, f"{shown}{entry.name}/", reached, found)
