"""Locks between processes and threads. The system releases them when a process dies, however it dies.

A note is locked through its folder: `flock` on the folder itself, which every path to it leads to. So writers agree
whatever their home, user, container or spelling of the path, and nothing is left beside the notes. Windows cannot
lock a folder, and on a network file system such a lock holds on one machine only: there the folder gets a lock file,
`.memslot.lock`, which is taken as well wherever one is found.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memslot.errors import FileBusyError
from memslot.storage.folder import make_private_dir

NOTE_LOCK_NAME = ".memslot.lock"
_POLL_SECONDS = 0.005
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "glusterfs", "fuse.", "virtiofs", "vboxsf")
_UNSUPPORTED = {errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EISDIR}


@contextlib.contextmanager
def file_lock(
    lock_file: Path, *, seconds: float = 10.0, what: object = None, cancelled: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Hold a lock file, which is left there. A FileBusyError names `what` it guards when it is not free in time.

    Raises OSError where the file cannot be made.
    """
    release = _take_file(lock_file, 0o600, _Wait(lock_file if what is None else what, seconds, cancelled))
    try:
        yield
    finally:
        release()


@contextlib.contextmanager
def note_lock(*notes: Path, seconds: float = 10.0) -> Iterator[None]:
    """Be the only one who changes these notes, among all programs that use this function.

    Missing folders are made. Notes of one folder share a lock, and it is not reentrant: name all notes in one call.
    Raises a FileBusyError when another has the lock for `seconds`, and OSError where a folder cannot be used.
    """
    wait = _Wait(notes[0], seconds)
    with contextlib.ExitStack() as held:
        wait.until(lambda: _take_folders({Path(os.path.realpath(note)).parent for note in notes}, held, wait))
        yield


class _Wait:
    """Tries something again and again until the time is over."""

    def __init__(self, what: object, seconds: float, cancelled: Callable[[], bool] | None = None) -> None:
        self._what, self._seconds, self._cancelled = what, seconds, cancelled
        self._deadline = time.monotonic() + seconds

    def until(self, attempt: Callable[[], bool]) -> None:
        while not attempt():
            if time.monotonic() >= self._deadline or (self._cancelled is not None and self._cancelled()):
                raise FileBusyError(
                    f"{self._what} is being changed by another process (waited {self._seconds:g} s); try again."
                )
            time.sleep(_POLL_SECONDS * (0.5 + time.monotonic_ns() % 1009 / 1009))  # no two poll in step


def _take_folders(folders: set[Path], held: contextlib.ExitStack, wait: _Wait) -> bool:
    """Lock each folder once, always in the same order; False when one was removed or replaced meanwhile."""
    known: set[tuple[int, int]] = set()
    try:
        for identity, folder in sorted((_identity(make_private_dir(folder)), folder) for folder in folders):
            if identity not in known:
                held.callback(_take_folder(folder, wait))
                known.add(identity)
            if _identity(folder) != identity:
                held.close()
                return False
    except FileNotFoundError:
        held.close()
        return False
    return True


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _take_folder(folder: Path, wait: _Wait) -> Callable[[], None]:
    with contextlib.ExitStack() as held:
        is_locked = _flock(folder, held, wait)
        lock_file = folder / NOTE_LOCK_NAME
        if not is_locked or lock_file.exists() or _is_on_network(folder):
            mode = folder.stat().st_mode & 0o666 | 0o600  # who may write the folder may lock it
            held.callback(_take_file(lock_file, mode, wait))
        return held.pop_all().close


def _flock(folder: Path, held: contextlib.ExitStack, wait: _Wait) -> bool:
    """Lock the folder itself; False where the system cannot."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    held.callback(os.close, descriptor)

    def attempt() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        wait.until(attempt)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    # Closing is not enough: a child that was forked meanwhile has the descriptor, too.
    held.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
    return True


def _take_file(lock_file: Path, mode: int, wait: _Wait) -> Callable[[], None]:
    import filelock

    lock = filelock.FileLock(lock_file, mode=mode, thread_local=False)

    def attempt() -> bool:
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        return True

    wait.until(attempt)
    return lock.release


def _is_on_network(folder: Path) -> bool:
    """Whether Linux mounted the folder's file system from elsewhere."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
    try:
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                mounted, _, source = line.partition(" - ")
                if mounted.split()[2] == wanted:
                    return source.startswith(_NETWORK)
    except OSError:
        pass
    return False
