"""Puts a file in its place in one step, and never over another one unless that is kept under another name."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

_LEFTOVER = ".memslot-import-"


@dataclass(frozen=True)
class Placed:
    """What became of a file: `new`, `same`, `conflict`, `overwritten` (`backup` is the old one's name) or `refused`."""

    state: str
    reason: str = ""
    backup: str | None = None


def place(
    root: Path, relative: str, data: bytes, mtime: float | None, *, overwrite: bool = False, dry_run: bool = False
) -> Placed:
    """Write a file below `root`. At every moment its name stands for the whole old file, the whole new one or none."""
    file = root / relative
    try:
        fault = _obstacle(root, file)
        if fault is not None:
            return Placed("refused", fault)
        holds = _what_holds(file, data)
        if holds == "same":
            return Placed("same")
        if holds == "other" and not overwrite:
            return Placed("conflict", "another text has this name")
        if dry_run:
            return Placed("new") if holds == "nothing" else Placed("overwritten", backup=_free_name(file).name)
        _make_folders(root, file.parent)
        with _written_beside(file, data, mtime) as temporary:
            if holds == "nothing":
                return Placed("new") if _put(temporary, file) else Placed("conflict", "another text has this name")
            backup = _keep_old(file)
            temporary.replace(file)
            return Placed("overwritten", backup=backup)
    except OSError as error:
        return Placed("refused", f"cannot be written: {error.strerror or error}")


def remove_leftovers(folders: set[Path]) -> None:
    """Delete what an import that was killed left beside the files; call it only where no other import runs."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for each in folder.iterdir():
                if each.name.startswith(_LEFTOVER) and each.name.endswith(".tmp"):
                    each.unlink(missing_ok=True)


def _obstacle(root: Path, file: Path) -> str | None:
    """What stands in the way: links are not followed, also not those of folders."""
    for each in [*reversed(file.relative_to(root).parents), file.relative_to(root)]:
        try:
            mode = (root / each).lstat().st_mode
        except FileNotFoundError:
            return None
        if each == Path():
            continue  # the workspace itself may be reached through a link: the person put it there
        if stat.S_ISLNK(mode):
            return f"{each.as_posix()} is a link here, and links are not followed"
        if root / each == file:
            return None if stat.S_ISREG(mode) else "something that is no file has this name"
        if not stat.S_ISDIR(mode):
            return f"{each.as_posix()} is no folder here"
    return None


def _what_holds(file: Path, data: bytes) -> Literal["nothing", "same", "other"]:
    """What the name stands for now."""
    try:
        is_same = file.lstat().st_size == len(data) and file.read_bytes() == data
    except FileNotFoundError:
        return "nothing"
    return "same" if is_same else "other"


def _make_folders(root: Path, folder: Path) -> None:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in reversed(folder.relative_to(root).parents):
        (root / each).mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def _written_beside(file: Path, data: bytes, mtime: float | None) -> Iterator[Path]:
    """A whole copy in the same folder, safe on the disk; whatever is left of it at the end is removed."""
    temporary = file.with_name(f"{_LEFTOVER}{os.getpid()}-{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if mtime is not None:
            os.utime(temporary, (mtime, mtime))
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _put(temporary: Path, file: Path) -> bool:
    """Give the file its name unless something has it by now."""
    try:
        file.hardlink_to(temporary)
        return True
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(file):
            return False
        temporary.replace(file)
        return True


def _keep_old(file: Path) -> str:
    """Let the file's present content stay under a name of its own."""
    while True:
        backup = _free_name(file)
        try:
            backup.hardlink_to(file)
            if backup.samefile(file):
                return backup.name
            # Somebody has just put another text there: that one is to be kept, too.
        except FileExistsError:
            continue  # somebody was faster
        except OSError:  # a file system without hard links
            status = file.stat()
            with _written_beside(file, file.read_bytes(), status.st_mtime) as copy:
                copy.replace(backup)
            return backup.name


def _free_name(file: Path) -> Path:
    names = (file.with_name(f"{file.name}.bak-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))
