"""Changes a file of another program: in one step, with a copy of what was there, and never one it cannot read."""

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
    """Give a file's text to `edit` and write what it returns; None where nothing changed, else the copy's path.

    A file that is not there is made, with no copy (then the path itself is returned). A link is written through, since
    people keep their dotfiles elsewhere. Raises a MemslotError that says of the file ("it …") why nothing was written.
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
        raise MemslotError(f"it cannot be written: {error.strerror or error}") from None
    raise MemslotError("it is being changed by another program without pause; close that and try again")


def _read(file: Path) -> str:
    with file.open("rb") as found:
        data = found.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise MemslotError(f"it is larger than {MAX_BYTES // 1024**2} MB, which is no config file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise MemslotError("it is not UTF-8 text") from None


def _stamp(file: Path) -> FileStamp | None:
    """What a file is known by; raises a MemslotError for what cannot be replaced."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise MemslotError("it is not a file")
    if not mode & 0o222:
        raise MemslotError("it is read-only")
    return file_stamp(file)
