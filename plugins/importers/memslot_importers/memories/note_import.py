"""Writes notes of other programs into the memory in the slot, each with a line that says where it is from."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import (
    CanKeepFiles,
    FileBusyError,
    FileChangedError,
    Memory,
    MemslotError,
    file_stamp,
    find_secrets,
    make_private_dir,
    note_lock,
    one_line,
    redact,
    strip_recalled,
    write_file,
)

from memslot_importers.memories.claude_code import claude_code_notes
from memslot_importers.memories.codex import codex_notes
from memslot_importers.memories.foreign import ForeignNote
from memslot_importers.memories.hermes import hermes_notes
from memslot_importers.openclaw.copies import find_obstacle

_ORIGIN = re.compile(r"<!-- Imported from .*; sha256 ([0-9a-f]{16}) -->\n\n?")


@dataclass(frozen=True)
class Program:
    """A program whose memories can be imported."""

    title: str
    home: str
    variable: str
    """The environment variable that names another home."""
    notes: Callable[[Path], Iterator[ForeignNote]]


PROGRAMS = {
    "claude-code": Program("Claude Code", "~/.claude", "CLAUDE_CONFIG_DIR", claude_code_notes),
    "codex": Program("Codex", "~/.codex", "CODEX_HOME", codex_notes),
    "hermes": Program("Hermes", "~/.hermes", "HERMES_HOME", hermes_notes),
}


@dataclass(frozen=True)
class ImportedNote:
    """The outcome of a note: `new`, `same`, `updated` (only theirs had changed), `conflict`, `refused` or `empty`."""

    origin: str
    path: str
    state: str
    reason: str = ""
    secrets: int = 0

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"from": self.origin, "path": self.path, "state": self.state}
        return {
            **told,
            **({"reason": self.reason} if self.reason else {}),
            **({"redacted": self.secrets} if self.secrets else {}),
        }


@dataclass
class NotesImport:
    """All notes of a program that were, or with `dry_run` would be, imported."""

    program: str
    home: Path
    root: Path
    dry_run: bool
    notes: list[ImportedNote] = field(default_factory=list)

    @property
    def left_alone(self) -> list[ImportedNote]:
        return [note for note in self.notes if note.state in ("conflict", "refused")]

    def count(self, state: str) -> int:
        return sum(note.state == state for note in self.notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "from": str(self.home),
            "workspace": str(self.root),
            "dryRun": self.dry_run,
            "counts": dict(sorted(Counter(note.state for note in self.notes).items())),
            "notes": [note.to_json() for note in self.notes],
        }


def import_notes(name: str, home: Path, memory: Memory | CanKeepFiles | None, *, dry_run: bool = False) -> NotesImport:
    """Import a program's notes. Its files stay unchanged, and so do notes of ours that were edited here.

    Raises a MemslotError if there is nothing to import, or no memory that keeps note files.
    """
    program = PROGRAMS[name]
    if not isinstance(memory, CanKeepFiles):
        raise MemslotError(f"{program.title}'s notes become note files, and no memory in the slot keeps any")
    files = memory.files()
    root = files.root.expanduser().absolute()
    done = NotesImport(name, home, root, dry_run)
    taken: dict[str, str] = {}
    for note in program.notes(home):
        path = files.path_of(note.name) if note.name else ""
        origin = _origin(note.file)
        rival = taken.setdefault(path.casefold(), origin) if path and not note.refusal else origin
        if rival != origin:
            done.notes.append(ImportedNote(origin, path, "refused", f"would have the same name as {rival}"))
        else:
            done.notes.append(_import(note, origin, program.title, root, path, dry_run))
    if not done.notes:
        raise MemslotError(f"there are no memories of {program.title} in {home}")
    written = [note.path for note in done.notes if note.state in ("new", "updated")]
    if written and not dry_run:
        memory.files_changed(*written)
    return done


def _origin(file: Path) -> str:
    """A file's path, in a form that is safe inside a comment."""
    try:
        path = f"~/{file.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        path = str(file)
    return one_line(path.encode("utf-8", "replace").decode(), 10_000).replace("-->", "--")


def _import(note: ForeignNote, origin: str, title: str, root: Path, path: str, dry_run: bool) -> ImportedNote:
    if note.refusal:
        return ImportedNote(origin, path, "refused", note.refusal)
    plain = strip_recalled(note.text).strip()
    if not plain:
        return ImportedNote(origin, path, "empty")
    text, secrets = redact(plain), len(find_secrets(plain))
    digest = _digest(text)
    data = f"<!-- Imported from {title}: {origin}, {note.changed}; sha256 {digest} -->\n\n{text}\n"
    file = root / path
    try:
        if obstacle := find_obstacle(root, file):
            return ImportedNote(origin, path, "refused", obstacle)
        state = _state(file, digest)
        if state in ("new", "updated") and not dry_run:
            make_private_dir(file.parent)
            with note_lock(file):
                state, stamp = _state(file, digest), file_stamp(file)
                if state in ("new", "updated"):
                    write_file(file, data, overwrite=state == "updated", expected=stamp)
    except (FileBusyError, FileChangedError, FileExistsError):
        return ImportedNote(origin, path, "refused", "is being changed by another process; import it again")
    except OSError as error:
        return ImportedNote(origin, path, "refused", f"cannot be written: {error.strerror or error}")
    reason = "was changed here, and in the other program or by another import" if state == "conflict" else ""
    return ImportedNote(origin, path, state, reason, secrets)


def _state(file: Path, digest: str) -> str:
    try:
        there = file.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return "new"
    origin = _ORIGIN.match(there)
    if origin is None:
        return "conflict"
    if origin[1] == digest:
        return "same"
    body = there[origin.end() :].strip()
    return "updated" if _digest(body) == origin[1] else "conflict"


def _digest(text: str) -> str:
    """Tells whether a note was edited. Short, because it is recalled with the note."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
