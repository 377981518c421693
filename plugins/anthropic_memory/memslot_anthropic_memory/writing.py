"""Writes notes: one writer at a time, and never half of one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from memslot_anthropic_memory.answer import Refused

MAX_BYTES = 4 * 1024 * 1024
_LOCK_SECONDS = 10.0
Stamp = tuple[int, int, int] | None
"""What a note is known by; None is for one that is not there."""


class Changed(Exception):
    """A note is no longer the one that was read, and was not written."""


@contextlib.contextmanager
def locked(workspace: Path, lock_dir: Path) -> Iterator[None]:
    """Be the only one who changes notes through this tool, in this and in other processes."""
    import filelock

    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
    make_folders(lock_dir)
    try:
        with filelock.FileLock(lock_dir / f"{name}.lock", timeout=_LOCK_SECONDS, mode=0o600):
            yield
    except filelock.Timeout:
        raise Refused("Error: the notes are being changed by another process; try again") from None


def read_text(file: Path, shown: str) -> str:
    """A note's text, with plain line ends."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as found:
        data = found.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Refused(f"Error: {shown} is larger than {MAX_BYTES // 1024**2} MB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"Error: {shown} is not UTF-8 text") from None


def stamp_of(file: Path) -> Stamp:
    try:
        status = file.lstat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def write_text(file: Path, text: str, shown: str, *, expected: Stamp) -> None:
    """Put a note in its place in one step; after a crash at any moment it is the old or the new.

    Raises Changed where another program has written it since.
    """
    data = text.encode("utf-8")
    if len(data) > MAX_BYTES:
        raise Refused(f"Error: {shown} would be larger than {MAX_BYTES // 1024**2} MB")
    make_folders(file.parent)
    mode = stat.S_IMODE(file.lstat().st_mode) if file.exists() else 0o600
    temporary = file.with_name(f".{file.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        if stamp_of(file) != expected:
            raise Changed
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def make_folders(folder: Path) -> None:
    """Make a folder and the ones above it that are missing, for the owner's eyes only."""
    if not folder.is_dir():
        make_folders(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
