"""Places a file atomically, and never overwrites one without a backup."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from memslot import FileBusyError, note_lock, write_file


@dataclass(frozen=True)
class PlacementResult:
    """The outcome: `new`, `same`, `conflict`, `overwritten` (`backup` is the old file's name) or `refused`."""

    state: str
    reason: str = ""
    backup: str | None = None


_CONFLICT = PlacementResult("conflict", "a file with other content has this name")


def place_file(
    root: Path, relative: str, data: bytes, mtime: float | None, *, overwrite: bool = False, dry_run: bool = False
) -> PlacementResult:
    """Write a file below `root`. At any moment its name is the complete old file, the complete new one or missing."""
    file = root / relative
    try:
        fault = _obstacle(root, file)
        if fault is not None:
            return PlacementResult("refused", fault)
        if dry_run or (_current_content(file, data) == "other" and not overwrite):
            return _preview(file, data, overwrite)
        with note_lock(file):
            return _place(file, data, None if mtime is None else int(mtime * 1e9), overwrite)
    except FileBusyError:
        return PlacementResult("refused", "keeps being changed by another process; import it again")
    except OSError as error:
        return PlacementResult("refused", f"cannot be written: {error.strerror or error}")


def _preview(file: Path, data: bytes, overwrite: bool) -> PlacementResult:
    holds = _current_content(file, data)
    if holds == "nothing":
        return PlacementResult("new")
    if holds == "same":
        return PlacementResult("same")
    return PlacementResult("overwritten", backup=_free_name(file).name) if overwrite else _CONFLICT


def _place(file: Path, data: bytes, mtime_ns: int | None, overwrite: bool) -> PlacementResult:
    placed = _preview(file, data, overwrite)
    if placed.state == "new":
        try:
            write_file(file, data, mtime_ns=mtime_ns, overwrite=False)
        except FileExistsError:
            return _CONFLICT
    elif placed.state == "overwritten":
        placed = PlacementResult("overwritten", backup=_back_up(file))
        write_file(file, data, mtime_ns=mtime_ns)
    return placed


def _obstacle(root: Path, file: Path) -> str | None:
    """What blocks the path: links are not followed, not even those of folders."""
    for each in [*reversed(file.relative_to(root).parents), file.relative_to(root)]:
        try:
            mode = (root / each).lstat().st_mode
        except FileNotFoundError:
            return None
        if each == Path():
            continue  # the workspace itself may be a link: the user put it there
        if stat.S_ISLNK(mode):
            return f"{each.as_posix()} is a link here, and links are not followed"
        if root / each == file:
            return None if stat.S_ISREG(mode) else "something other than a file has this name"
        if not stat.S_ISDIR(mode):
            return f"{each.as_posix()} is not a folder here"
    return None


def _current_content(file: Path, data: bytes) -> Literal["nothing", "same", "other"]:
    """The current content under this name."""
    try:
        is_same = file.lstat().st_size == len(data) and file.read_bytes() == data
    except FileNotFoundError:
        return "nothing"
    return "same" if is_same else "other"


def _back_up(file: Path) -> str:
    """Back up the current content under another name."""
    while True:
        backup = _free_name(file)
        try:
            backup.hardlink_to(file)
            if backup.samefile(file):
                return backup.name
            # Another writer just replaced it: back that content up, too.
        except FileExistsError:
            continue  # another process was faster
        except OSError:  # a file system without hard links
            write_file(backup, file.read_bytes(), mtime_ns=file.stat().st_mtime_ns)
            return backup.name


def _free_name(file: Path) -> Path:
    names = (file.with_name(f"{file.name}.bak-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))
