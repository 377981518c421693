"""Finds and reads the notes of a workspace, and nothing outside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SKIPPED_FOLDERS = {".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"}
_PRIVATE_FILES = ("MEMORY.md", "memory.md", "USER.md")
"""What is about the person, and so for nobody's eyes but theirs."""
MAX_NOTE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Note:
    """One Markdown file: `path` is relative to the workspace, with forward slashes."""

    path: str
    file: Path


def list_notes(workspace: Path, *, private: bool = True) -> list[Note]:
    """MEMORY.md, memory.md and USER.md in private chats, and memory/**/*.md.

    Links are not followed, and one file counts once.
    """
    seen: set[tuple[int, int]] = set()
    notes: list[Note] = []
    top = _PRIVATE_FILES if private else ()
    for file in (*(workspace / name for name in top), *_markdown_below(workspace / "memory")):
        try:
            status = file.lstat()
        except OSError:
            continue
        # A file system that ignores case shows MEMORY.md under both spellings.
        identity = (status.st_dev, status.st_ino)
        if file.is_symlink() or not file.is_file() or identity in seen:
            continue
        seen.add(identity)
        notes.append(Note(file.relative_to(workspace).as_posix(), file))
    return notes


def _markdown_below(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():
        return
    for parent, subfolders, names in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name not in _SKIPPED_FOLDERS)
        yield from (Path(parent, name) for name in sorted(names) if name.lower().endswith(".md"))


def read_lines(note: Note) -> list[str]:
    """The lines of a note; undecodable bytes are replaced, and what is too large is cut."""
    with note.file.open("rb") as file:
        return file.read(MAX_NOTE_BYTES).decode("utf-8-sig", errors="replace").splitlines()


def find_note(workspace: Path, path: str, *, private: bool = True) -> Note | None:
    """The note of that path, if it is one of the listed: no other file can be named, however it is written."""
    return next((note for note in list_notes(workspace, private=private) if note.path == path), None)
