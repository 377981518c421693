"""Access to an index file: many readers, each with its own snapshot, and one writer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.connection import (
    DAMAGE,
    SMALLEST_DATABASE,
    IndexBusyError,
    IndexFault,
    damage_in,
    file_identity,
    is_immutable,
    is_single_use,
    move_aside,
    open_for_reading,
    open_index,
    writer_lock,
)
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.schema import is_prepared, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from memslot_memory_core.index.owner import Owner

_MOST_IDLE = 8


@dataclass(frozen=True)
class Snapshot:
    """A consistent view of the index, unaffected by concurrent writes."""

    db: apsw.Connection
    generation: Generation


class IndexFile:
    """One agent's index file. Thread-safe; other processes may use the same file."""

    def __init__(self, file: Path, owner: Owner | None = None) -> None:
        self.file = file
        self._owner = owner
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._opened_as: tuple[int, int] | None = None
        self._filled: tuple[int, int] | None = None
        """The identity of the file last seen with indexed files in it."""
        self._damaged: tuple[int, int] | None = None
        self._closed = False

    @property
    def was_filled(self) -> bool:
        """Whether the current file was seen with indexed files in it."""
        return self._filled is not None and file_identity(self.file) == self._filled

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot | None]:
        """A snapshot of the live generation; None if nothing was ever indexed."""
        identity = file_identity(self.file)
        may_be_torn = False
        try:
            db = self._acquire(identity)
            if db is None:
                yield None
                return
            may_be_torn = is_immutable(db)
            try:
                with _read_transaction(db):
                    live = generations.find(db, "live") if is_prepared(db) and self._may_serve(db) else None
                    if live is not None and self._filled != identity and (live.synced_at is not None or live.files > 0):
                        self._filled = identity
                    yield None if live is None else Snapshot(db, live)
            except BaseException:
                _close(db)
                raise
            self._release(db, identity)
        except DAMAGE:
            if not may_be_torn:
                self._damaged = identity
            raise

    @contextmanager
    def writer(
        self, *, wait_seconds: float = 0.0, cancelled: Callable[[], bool] | None = None
    ) -> Iterator[apsw.Connection]:
        """The only connection that may write, with the schema migrated. Raises IndexBusyError if there is another.

        A damaged file is moved aside as soon as it is noticed; the index is rebuilt from the notes.
        """
        with writer_lock(self.file, wait_seconds=wait_seconds, cancelled=cancelled):
            if self._closed:
                raise IndexFault("this memory is closed")
            db = self._open_writer()
            try:
                yield db
            except DAMAGE:
                _close(db)
                self.drop_readers()
                move_aside(self.file)
                raise
            finally:
                _close(db)

    def keep_reader_open(self) -> None:
        """Keep a reader open: SQLite removes the WAL with the last connection, and recreating it is a third of a sync
        that finds nothing."""
        if not self._idle:
            with contextlib.suppress(apsw.Error, IndexFault), self.snapshot():
                pass

    def _open_writer(self) -> apsw.Connection:
        for attempt in (1, 2):
            db = None
            try:
                self._remove_stub()
                db = open_index(self.file)
                prepare(db)
                generations.find(db, "live")
                self._may_serve(db)
                return db
            except DAMAGE:
                _close(db)
                if attempt == 2:
                    raise
                move_aside(self.file)
            except IndexFault:
                _close(db)
                raise
            except (apsw.BusyError, apsw.LockedError):
                _close(db)
                raise IndexBusyError(f"another program has locked the index {self.file}") from None
            except (apsw.Error, OSError) as error:
                _close(db)
                raise IndexFault(f"the index {self.file} cannot be opened for writing: {_reason(error)}") from error
        raise AssertionError("unreachable")

    def _may_serve(self, db: apsw.Connection) -> bool:
        """Whether the index is claimed for its owner. Raises IndexFault for another owner's."""
        try:
            return self._owner is None or self._owner.owns(db)
        except IndexFault as error:
            raise IndexFault(f"{self.file}: {error}") from None

    def claim(self, db: apsw.Connection, drop: Callable[[int], object]) -> None:
        """Claim the index for its owner; for the writer."""
        if self._owner is not None:
            self._owner.claim(db, drop)

    def _remove_stub(self) -> None:
        """Remove a truncated file: a process that still has it open would keep it locked forever."""
        with contextlib.suppress(FileNotFoundError):
            if self.file.stat().st_size < SMALLEST_DATABASE and self.file.is_file():
                move_aside(self.file)

    def check_damage(self) -> bool:
        """Check the whole file; if it is damaged, `discard` will remove it."""
        identity = file_identity(self.file)
        try:
            with self.snapshot() as snapshot:
                is_damaged = snapshot is not None and bool(damage_in(snapshot.db, 1))
        except DAMAGE:
            is_damaged = True
        if is_damaged:
            self._damaged = identity
        return is_damaged

    def discard(self, *, wait_seconds: float) -> None:
        """Move aside a file that a reader found damaged, unless it was replaced already.

        The next writer builds a new one. Raises IndexBusyError if a writer is still active after `wait_seconds`.
        """
        with writer_lock(self.file, wait_seconds=wait_seconds):
            self.drop_readers()
            if self._damaged is not None and file_identity(self.file) == self._damaged:
                move_aside(self.file)

    def drop_readers(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            _close(db)

    def close(self) -> None:
        self._closed = True
        self.drop_readers()

    def _acquire(self, identity: tuple[int, int] | None) -> apsw.Connection | None:
        if self._closed:
            raise IndexFault("this memory is closed")
        if identity is None:
            self.drop_readers()
            return None
        with self._lock:
            stale: list[apsw.Connection] = []
            if identity != self._opened_as:  # deleted or replaced under us
                stale, self._idle, self._opened_as = self._idle, [], identity
            db = self._idle.pop() if self._idle else None
        for each in stale:
            _close(each)
        if db is not None:
            return db
        try:
            return open_for_reading(self.file)
        except DAMAGE:
            raise
        except (apsw.Error, OSError) as error:
            if file_identity(self.file) is None:  # taken away just now
                return None
            raise IndexFault(f"the index {self.file} cannot be opened: {_reason(error)}") from error

    def _release(self, db: apsw.Connection, identity: tuple[int, int] | None) -> None:
        with self._lock:
            # A connection to a file that was replaced since would show the old index forever.
            is_current = identity == self._opened_as
            is_wanted = is_current and not self._closed and len(self._idle) < _MOST_IDLE
            if is_wanted and not is_single_use(db):
                self._idle.append(db)
                return
        _close(db)


@contextmanager
def _read_transaction(db: apsw.Connection) -> Iterator[None]:
    db.execute("BEGIN")
    try:
        yield
        db.execute("COMMIT")  # keeps the connection's temp tables
    finally:
        with contextlib.suppress(apsw.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")


def _close(db: apsw.Connection | None) -> None:
    if db is not None:
        with contextlib.suppress(apsw.Error):
            db.close()


def _reason(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error)
