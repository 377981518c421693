"""Reads and writes note files under the lock that all writers share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from memslot import FileBusyError, FileStamp, note_lock, write_file

from memslot_anthropic_memory.answer import Refused
from memslot_anthropic_memory.paths import NotePath

MAX_BYTES = 4 * 1024 * 1024


@contextlib.contextmanager
def locked(*spots: NotePath) -> Iterator[None]:
    """Lock these notes, and the notes in these folders."""
    notes = [spot.file for spot in spots]
    notes += [Path(folder) / "any" for spot in spots for folder, _, _ in os.walk(spot.file)]
    try:
        with note_lock(*notes):
            yield
    except FileBusyError:
        raise Refused(f"Error: {spots[0].shown} is being changed by another process; try again") from None


def read_text(file: Path, shown: str) -> str:
    """A note's text."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as found:
        data = found.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Refused(f"Error: {shown} is larger than {MAX_BYTES // 1024**2} MB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"Error: {shown} is not UTF-8 text") from None


def write_text(file: Path, text: str, shown: str, *, expected: FileStamp | None) -> None:
    """Replace a note atomically; raises a FileChangedError if it has changed since."""
    data = text.encode("utf-8")
    if len(data) > MAX_BYTES:
        raise Refused(f"Error: {shown} would be larger than {MAX_BYTES // 1024**2} MB")
    write_file(file, data, expected=expected)
