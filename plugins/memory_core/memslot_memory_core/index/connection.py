"""Opens an index file: private, in WAL mode, and never one that is not what it was."""

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
"""Readers wait for nobody but a program that has locked the whole file, and a search should say so soon."""
SMALLEST_DATABASE = 512
"""Bytes; what is smaller holds nothing."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


class IndexFault(MemslotError):
    """The index cannot be used; the sentence says why and what to do."""


class IndexBusyError(IndexFault):
    """Another process is writing to the index right now."""


class IndexTooNewError(IndexFault):
    """The index was written by a newer memslot."""


_CACHE_KIB = 32 * 1024
"""Memory is taken as pages are read. With SQLite's usual 2 MB every search of a large index reads from the system."""

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
"""What SQLite raises for a file that is no database, or no longer a whole one."""


def open_index(file: Path) -> apsw.Connection:
    """A connection to the index, which is made when it is not there: for the owner's eyes only."""
    _make_private(file)
    db = _open(file, BUSY_MILLISECONDS)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON")  # text that was deleted is overwritten, also in free pages
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


def open_to_read(file: Path) -> apsw.Connection:
    """A connection for searches; it also works on a full disk, and in a folder that cannot be written.

    It makes no file: between a damaged index that is taken away and the new one, only a writer may.
    """
    try:
        return _open(file, READ_BUSY_MILLISECONDS)
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError):
        if _has_log(file):
            raise
    except (apsw.IOError, apsw.FullError):
        # There is no room for the log's index, which readers share.
        if _has_log(file):
            return _open_alone(file)
    return _open_immutable(file)


def is_for_one_use(db: apsw.Connection) -> bool:
    """Whether a connection must not be kept: it would miss changes, or keep others out."""
    return is_immutable(db) or db.pragma("locking_mode") == "exclusive"


def is_immutable(db: apsw.Connection) -> bool:
    """Whether it reads without locks: what looks like damage may be somebody's write."""
    return db.readonly("main")


def _has_log(file: Path) -> bool:
    try:
        return os.stat(f"{file}-wal").st_size > 0  # noqa: PTH116 (pathlib takes longer to import than an index to open)
    except OSError:
        return False


def _open_immutable(file: Path) -> apsw.Connection:
    """Without a log beside it, all that was committed is in the file itself."""
    from urllib.parse import quote

    uri = f"file:{quote(str(file.absolute()))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    return apsw.Connection(uri, flags=flags)


def _open_alone(file: Path) -> apsw.Connection:
    """A connection that keeps the log's index in its memory, which SQLite allows to the only one that has the file."""
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
    """Reads the whole file, and says what is wrong with it."""
    found = _damage_in(db, most)
    if found and db.txn_state("main") != apsw.SQLITE_TXN_WRITE:
        # FTS5 keeps a table's structure from one statement to the next, and may check new rows against an old one.
        from pathlib import Path

        other = open_to_read(Path(db.filename))
        try:
            return _damage_in(other, most)
        finally:
            other.close()
    return found


def _damage_in(db: apsw.Connection, most: int) -> list[str]:
    found = [str(line) for (line,) in db.execute(f"PRAGMA integrity_check({most})") if line != "ok"]
    return found + [f"a row points nowhere: {row}" for row in islice(db.execute("PRAGMA foreign_key_check"), most)]


def _make_private(file: Path) -> None:
    if file.exists():
        return
    from memslot import make_private_dir

    make_private_dir(file.parent)
    # SQLite gives the files beside it (-wal, -shm) the mode of the database itself.
    # Only a file of our own making may be closed here: closing one that SQLite has open would drop its locks.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, _CREATE, 0o600))


def file_identity(file: Path) -> tuple[int, int] | None:
    """Tells a file from another one of the same name; None where there is none."""
    try:
        status = os.stat(file)  # noqa: PTH116 (a path may be given as text)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def damaged_copy(file: Path) -> Path:
    """Where an index goes that was found damaged."""
    return file.with_name(f"{file.name}.damaged")


def move_aside(file: Path) -> Path:
    """Take a damaged index out of the way, with what SQLite keeps beside it; one such copy is kept.

    The writer's lock must be held. The database goes first: without its log it could pass for a sound one if this
    were interrupted, whereas SQLite throws away a log that it finds beside an empty file.
    """
    aside = damaged_copy(file)
    with contextlib.suppress(FileNotFoundError):
        if file.stat().st_size < SMALLEST_DATABASE:
            file.unlink()  # nothing in it to look at later
        else:
            file.replace(aside)
    for suffix in ("-wal", "-shm"):
        file.with_name(f"{file.name}{suffix}").unlink(missing_ok=True)
    return aside


@contextmanager
def writer_lock(file: Path, *, wait_seconds: float, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """Hold the lock beside the index. The system lets go of it when a process dies, however it dies."""
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
