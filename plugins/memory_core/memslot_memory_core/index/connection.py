"""Opening and locking an index file: private, in WAL mode, one writer at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import apsw
from memslot import MemslotError

if TYPE_CHECKING:
    from pathlib import Path

BUSY_MILLISECONDS = 10_000
READ_BUSY_MILLISECONDS = 2_000
"""Readers wait only for a program that locked the whole file; a search should report that soon."""
SMALLEST_DATABASE = 512
"""Bytes; a smaller file is empty."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


class IndexFault(MemslotError):
    """The index is unusable; the message says why and what to do."""


class IndexBusyError(IndexFault):
    """Another process is writing to the index right now."""


class IndexTooNewError(IndexFault):
    """The index was written by a newer memslot."""


_CACHE_KIB = 32 * 1024
"""Allocated as pages are read. With SQLite's default of 2 MB every search of a large index reads from disk."""

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
"""What SQLite raises for a damaged file, or one that is not a database."""


def open_index(file: Path) -> apsw.Connection:
    """Open the index for writing, creating it with mode 0600 if needed."""
    _make_private(file)
    db = _open(file, BUSY_MILLISECONDS)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON")  # overwrite deleted text, in free pages too
    except BaseException:
        db.close()
        raise
    return db


def _open(file: Path, busy_milliseconds: int) -> apsw.Connection:
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        db.set_busy_timeout(busy_milliseconds)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except BaseException:
        db.close()
        raise
    return db


def open_for_reading(file: Path) -> apsw.Connection:
    """Open the index for searching, which also works on a full disk and in a read-only folder.

    It never creates the file: only a writer may replace a damaged index.
    """
    try:
        return _open(file, READ_BUSY_MILLISECONDS)
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError):
        if _has_log(file):
            raise
    except (apsw.IOError, apsw.FullError):
        # No room for the WAL's shared-memory file.
        if _has_log(file):
            return _open_exclusive(file)
    return _open_immutable(file)


def is_single_use(db: apsw.Connection) -> bool:
    """Whether a connection must not be pooled: it would miss changes, or lock others out."""
    return is_immutable(db) or db.pragma("locking_mode") == "exclusive"


def is_immutable(db: apsw.Connection) -> bool:
    """Whether it reads without locks: apparent damage may be a concurrent write."""
    return db.readonly("main")


def _has_log(file: Path) -> bool:
    try:
        return os.stat(f"{file}-wal").st_size > 0  # noqa: PTH116 (pathlib takes longer to import than an index to open)
    except OSError:
        return False


def _open_immutable(file: Path) -> apsw.Connection:
    """Open without locks; without a WAL, everything committed is in the file itself."""
    from urllib.parse import quote

    uri = f"file:{quote(str(file.absolute()))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    return apsw.Connection(uri, flags=flags)


def _open_exclusive(file: Path) -> apsw.Connection:
    """Open in exclusive mode, where SQLite keeps the WAL index in memory."""
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        db.set_busy_timeout(READ_BUSY_MILLISECONDS)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA trusted_schema = OFF")
        db.pragma("user_version")
    except BaseException:
        db.close()
        raise
    return db


def damage_in(db: apsw.Connection, most: int = 10) -> list[str]:
    """Run SQLite's integrity checks and return what they report."""
    found = _damage_in(db, most)
    if found and db.txn_state("main") != apsw.SQLITE_TXN_WRITE:
        # FTS5 caches a table's structure between statements and may check new rows against an old one.
        from pathlib import Path

        other = open_for_reading(Path(db.filename))
        try:
            return _damage_in(other, most)
        finally:
            other.close()
    return found


def _damage_in(db: apsw.Connection, most: int) -> list[str]:
    found = [str(line) for (line,) in db.execute(f"PRAGMA integrity_check({most})") if line != "ok"]
    return found + [f"broken foreign key: {row}" for row in islice(db.execute("PRAGMA foreign_key_check"), most)]


def _make_private(file: Path) -> None:
    if file.exists():
        return
    from memslot import make_private_dir

    make_private_dir(file.parent)
    # SQLite gives -wal and -shm the mode of the database file.
    # Close only a file just created: closing one that SQLite has open would drop its locks.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, _CREATE, 0o600))


def file_identity(file: Path) -> tuple[int, int] | None:
    """Device and inode, to notice a replaced file; None if there is none."""
    try:
        status = os.stat(file)  # noqa: PTH116 (a path may be given as text)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def damaged_copy(file: Path) -> Path:
    """Where a damaged index is moved."""
    return file.with_name(f"{file.name}.damaged")


def move_aside(file: Path) -> Path:
    """Move a damaged index aside, with its WAL; one such copy is kept.

    The writer's lock must be held. The database goes first: if this is interrupted, a database without its WAL could
    pass for a sound one, whereas SQLite discards a WAL beside an empty file.
    """
    aside = damaged_copy(file)
    with contextlib.suppress(FileNotFoundError):
        if file.stat().st_size < SMALLEST_DATABASE:
            file.unlink()  # empty, nothing to inspect later
        else:
            file.replace(aside)
    for suffix in ("-wal", "-shm"):
        file.with_name(f"{file.name}{suffix}").unlink(missing_ok=True)
    return aside


@contextmanager
def writer_lock(file: Path, *, wait_seconds: float, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """Hold the writer's lock beside the index; the OS releases it when the process dies."""
    from memslot import FileBusyError, file_lock, make_private_dir

    with ExitStack() as held:
        try:
            make_private_dir(file.parent)
            lock_file = file.with_name(f"{file.name}.lock")
            held.enter_context(file_lock(lock_file, seconds=wait_seconds, cancelled=cancelled))
        except FileBusyError:
            raise IndexBusyError("another process is writing to the index") from None
        except OSError as error:
            raise IndexFault(
                f"the index folder {file.parent} cannot be written ({error.strerror or error}); check its permissions"
            ) from None
        yield
