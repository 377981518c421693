"""Edits another program's file: atomically, with a backup, and never one it cannot read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from memslot import FileChangedError, FileStamp, MemslotError, file_stamp, write_file

MAX_BYTES = 64 * 1024 * 1024
BACKUP = ".memslot-backup"
_ATTEMPTS = 5
_BOM = "\ufeff"


def change_file(path: Path, edit: Callable[[str], str]) -> Path | None:
    """Write what `edit` makes of the file's text; returns the backup's path, or None if nothing changed.

    A missing file is created without a backup, and its own path returned. Symlinks are followed, since people keep
    their dotfiles elsewhere. The MemslotError that it raises says about the file ("it …") why nothing was written.
    """
    real = Path(os.path.realpath(path))
    try:
        for _ in range(_ATTEMPTS):
            before = _stamp(real)
            old = _read(real) if before is not None else ""
            bom = _BOM if old.startswith(_BOM) else ""
            new = bom + edit(old.removeprefix(_BOM))
            if new == old:
                return None
            real.parent.mkdir(parents=True, exist_ok=True)
            copy = real
            if before is not None:
                copy = real.with_name(real.name + BACKUP)
                write_file(copy, old, mode=stat.S_IMODE(real.stat().st_mode))
            with contextlib.suppress(FileChangedError):
                write_file(real, new, expected=before)
                return copy
    except OSError as error:
        raise MemslotError(f"it cannot be written ({error.strerror or error})") from None
    raise MemslotError("another program keeps changing it; close that program and try again")


def _read(file: Path) -> str:
    with file.open("rb") as found:
        data = found.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise MemslotError(f"it is larger than {MAX_BYTES // 1024**2} MB, too large for a config file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise MemslotError("it is not UTF-8 text") from None


def _stamp(file: Path) -> FileStamp | None:
    """The file's stamp; raises a MemslotError if it cannot be replaced."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise MemslotError("it is not a file")
    if not mode & 0o222:
        raise MemslotError("it is read-only")
    return file_stamp(file)
