"""Changes a file of another program: in one step, with a copy of what was there, and never one it cannot read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from memslot import MemslotError

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
                _replace(copy, old, real)
            if _replace(real, new, real, expected=before):
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


_Stamp = tuple[int, int, int] | None


def _stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise MemslotError("it is not a file")
    if not status.st_mode & 0o222:  # putting another file in its place would not even ask
        raise MemslotError("it is read-only")
    return status.st_ino, status.st_size, status.st_mtime_ns


def _replace(target: Path, text: str, like: Path, *, expected: _Stamp | bool = False) -> bool:
    """Write beside the file and put it in its place; False when it is no longer the one that was read."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(text.encode("utf-8"))
            out.flush()
            if hasattr(os, "fchmod") and like.exists():
                _make_alike(out.fileno(), like.stat())
            os.fsync(out.fileno())
        if not isinstance(expected, bool) and _stamp(target) != expected:
            temporary.unlink()
            return False
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def _make_alike(descriptor: int, status: os.stat_result) -> None:
    """Give a new file the owner and the mode of the one that it replaces."""
    with contextlib.suppress(PermissionError):  # root alone can, and root alone may have to
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
