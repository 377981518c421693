"""Edits another program's file: atomically, with a record for undoing it, and never one it cannot parse."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from memslot import FileChangedError, FileStamp, MemslotError, file_stamp, write_file

from memslot_mcp_server.clients.catalog import Syntax
from memslot_mcp_server.clients.draft import Draft
from memslot_mcp_server.clients.edit_record import EditRecord

MAX_BYTES = 64 * 1024 * 1024
_ATTEMPTS = 5
_BOM = "\ufeff"

Step = Callable[[Draft], None]


def read_config(file: Path, syntax: Syntax) -> Draft:
    """The file's text, parsed; an empty one if there is no file."""
    real = _real(file)
    return Draft(syntax, _read(real).removeprefix(_BOM) if real.is_file() else "")


def preview(file: Path, syntax: Syntax) -> Draft:
    """The same, for a file that must also be writable."""
    with _as_said_of_the_file():
        _stamp(_real(file))
        return read_config(file, syntax)


def change_file(file: Path, syntax: Syntax, step: Step, record: EditRecord) -> Draft:
    """Write the file as changed by the step, if anything changed.

    Symlinks are followed, since people keep their dotfiles elsewhere; a missing file is created. The MemslotError that
    it raises says about the file ("it …") why nothing was written.
    """
    with _as_said_of_the_file():
        real = _real(file)
        for _ in range(_ATTEMPTS):
            before = _stamp(real)
            old = _read(real) if before is not None else ""
            bom = _BOM if old.startswith(_BOM) else ""
            draft = Draft(syntax, old.removeprefix(_BOM))
            step(draft)
            if bom + draft.text == old:
                return draft
            # Record first: an edit that was not made is never undone, since the text differs.
            record.add(real, draft, is_new=before is None)
            real.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileChangedError):
                write_file(real, bom + draft.text, expected=before)
                return draft
    raise MemslotError("another program keeps changing it; close that program and try again")


def restore_file(file: Path, syntax: Syntax, remove: Step, record: EditRecord) -> bool:
    """Remove memslot from the file: byte for byte if nothing else has changed it, else by its structure.

    Returns whether there was anything to remove. A file that was created for memslot alone is deleted.
    """
    with _as_said_of_the_file():
        real = _real(file)
        for _ in range(_ATTEMPTS):
            before = _stamp(real)
            if before is None:
                record.forget(real)
                return False
            old = _read(real)
            bom = _BOM if old.startswith(_BOM) else ""
            text, is_whole = record.take_back(real, old.removeprefix(_BOM))
            draft = Draft(syntax, text or "")
            if not is_whole:
                remove(draft)
            if text is None or (syntax == "text" and not draft.text):
                if file_stamp(real) != before:
                    continue
                real.unlink()
                record.remove_folders(real)
                record.forget(real)
                return True
            if bom + draft.text == old:
                record.forget(real)
                return False
            with contextlib.suppress(FileChangedError):
                write_file(real, bom + draft.text, expected=before)
                record.forget(real)
                return True
    raise MemslotError("another program keeps changing it; close that program and try again")


@contextlib.contextmanager
def _as_said_of_the_file() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MemslotError(f"it cannot be written ({error.strerror or error})") from None


def _real(file: Path) -> Path:
    return Path(os.path.realpath(file))


def _read(file: Path) -> str:
    try:
        with file.open("rb") as found:
            data = found.read(MAX_BYTES + 1)
    except OSError as error:
        raise MemslotError(f"it cannot be read ({error.strerror or error})") from None
    if len(data) > MAX_BYTES:
        raise MemslotError(f"it is larger than {MAX_BYTES // 1024**2} MB, too large for a config file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise MemslotError("it is not UTF-8 text") from None


def _stamp(file: Path) -> FileStamp | None:
    """The file's stamp; raises a MemslotError if it cannot be replaced."""
    folder = next(parent for parent in file.parents if parent.is_dir())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MemslotError(f"the folder {folder} is read-only")
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise MemslotError("it is not a file")
    if not mode & 0o222:
        raise MemslotError("it is read-only")
    return file_stamp(file)
