"""Copies notes and transcripts atomically, and never overwrites what was edited here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot import FileBusyError, note_lock, write_file

MARKDOWN = (".md", ".markdown")
TRANSCRIPT = (".jsonl",)
SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"})
MAX_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class Copied:
    """The outcome of a file: `new`, `same`, `grown` (ours was its beginning), `replaced` (ours was the untouched
    starter), `conflict`, `refused` or `skipped` (a link)."""

    path: str
    state: str
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "state": self.state, **({"reason": self.reason} if self.reason else {})}


def copy_notes(
    source: Path, target: Path, names: tuple[str, ...], folder: str, *, starter: bytes, dry_run: bool
) -> list[Copied]:
    """Copy the named files of a folder and all Markdown below one of its subfolders."""
    done = []
    for path in _markdown(source, names, folder):
        done.append(_copy(source, target, path, MARKDOWN, starter=starter, dry_run=dry_run))
    return done


def copy_transcripts(source: Path, target: Path, *, dry_run: bool) -> list[Copied]:
    """Copy the transcripts of a folder; one that has only been added to since the last time is brought up to date."""
    names = [entry.name for entry in _entries(source) if entry.name.endswith(TRANSCRIPT) and not entry.is_dir()]
    return [_copy(source, target, name, TRANSCRIPT, grows=True, dry_run=dry_run) for name in names]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return []


def _markdown(source: Path, names: tuple[str, ...], folder: str) -> Iterator[str]:
    for entry in _entries(source):
        if entry.name in names and not entry.is_dir():
            yield entry.name
        elif entry.name == folder:
            yield from [folder] if entry.is_symlink() else _below(source / folder, f"{folder}/")


def _below(folder: Path, shown: str) -> Iterator[str]:
    for entry in _entries(folder):
        is_text = entry.name.lower().endswith(MARKDOWN)
        if entry.is_symlink():
            if is_text or entry.is_dir():
                yield shown + entry.name
        elif entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED_FOLDERS:
                yield from _below(folder / entry.name, f"{shown}{entry.name}/")
        elif is_text:
            yield shown + entry.name


def _copy(
    source: Path,
    target: Path,
    path: str,
    suffixes: tuple[str, ...],
    *,
    starter: bytes | None = None,
    grows: bool = False,
    dry_run: bool,
) -> Copied:
    if (source / path).is_symlink():
        return Copied(path, "skipped", "is a link, and links are not followed")
    file = target / path
    try:
        data, mtime_ns = read_regular_file(source / path)
        fault = find_obstacle(target, file)
        if fault is not None:
            return Copied(path, "refused", fault)
        state = _state(data, file, starter, grows)
        if state in ("same", "conflict") or dry_run:
            return _copied(path, state)
        with note_lock(file):
            state = _state(data, file, starter, grows)
            if state not in ("same", "conflict"):
                write_file(file, data, mtime_ns=mtime_ns, overwrite=state != "new")
        return _copied(path, state)
    except FileExistsError:
        return _copied(path, "conflict")
    except FileBusyError:
        return Copied(path, "refused", "is being changed by another process; import it again")
    except OSError as error:
        return Copied(path, "refused", f"cannot be copied: {error.strerror or error}")


def _copied(path: str, state: str) -> Copied:
    return Copied(path, state, "another text has this name here" if state == "conflict" else "")


def _state(data: bytes, file: Path, starter: bytes | None, grows: bool) -> str:
    there = file.read_bytes() if file.exists() else None
    if there is None:
        return "new"
    if there == data or (grows and there.startswith(data)):
        return "same"
    if grows and data.startswith(there):
        return "grown"
    # The unchanged file from `init` contains nothing of the user's.
    return "replaced" if starter is not None and there == starter else "conflict"


def read_regular_file(file: Path) -> tuple[bytes, int]:
    """A file's bytes and its time. Raises OSError for links, devices, pipes and what is too large."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        if status.st_size > MAX_BYTES:
            raise OSError(0, f"it is larger than {MAX_BYTES:,} bytes")
        return opened.read(), status.st_mtime_ns


def find_obstacle(root: Path, file: Path) -> str | None:
    """Return what prevents writing: a link, or a file in place of a folder."""
    for each in [*reversed(file.relative_to(root).parents), file.relative_to(root)][1:]:
        here = root / each
        if here.is_symlink():
            return f"{here} is a link, and links are not followed"
        if here.exists() and (here.is_dir() if here == file else not here.is_dir()):
            return f"{here} is in the way"
    return None
