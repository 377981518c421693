"""Locks between processes and threads. The OS releases them when a process dies.

A note is locked through its folder, with `flock` on the folder itself. So all writers share the lock, whatever their
home, user, container or spelling of the path, and no lock file litters the notes. Windows can't lock a folder, and on
a network file system `flock` may hold on one machine only: there the folder also gets a lock file, `.memslot.lock`,
which is honoured wherever it exists.
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
    """Hold a lock file, which is not deleted afterwards.

    Raises FileBusyError, naming `what` it guards, if it is not free in time, and OSError if it can't be created.
    """
    release = _take_file(lock_file, 0o600, _Wait(lock_file if what is None else what, seconds, cancelled))
    try:
        yield
    finally:
        release()


@contextlib.contextmanager
def note_lock(*notes: Path, seconds: float = 10.0) -> Iterator[None]:
    """Lock these notes against all other users of this function.

    Creates missing folders. Notes in one folder share a lock that is not reentrant: pass all notes in one call. Raises
    FileBusyError if the lock is not free within `seconds`, and OSError if a folder is unusable.
    """
    wait = _Wait(notes[0], seconds)
    with contextlib.ExitStack() as held:
        wait.until(lambda: _take_folders({Path(os.path.realpath(note)).parent for note in notes}, held, wait))
        yield


class _Wait:
    """Retries an attempt until a deadline."""

    def __init__(self, what: object, seconds: float, cancelled: Callable[[], bool] | None = None) -> None:
        self._what, self._seconds, self._cancelled = what, seconds, cancelled
        self._deadline = time.monotonic() + seconds

    def until(self, attempt: Callable[[], bool]) -> None:
        while not attempt():
            if time.monotonic() >= self._deadline or (self._cancelled is not None and self._cancelled()):
                raise FileBusyError(
                    f"{self._what} is being changed by another process (waited {self._seconds:g} s); try again."
                )
            time.sleep(_POLL_SECONDS * (0.5 + time.monotonic_ns() % 1009 / 1009))  # jitter


def _take_folders(folders: set[Path], held: contextlib.ExitStack, wait: _Wait) -> bool:
    """Lock each folder once, in a fixed order to avoid deadlocks; False if one was removed or replaced meanwhile."""
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
            mode = folder.stat().st_mode & 0o666 | 0o600  # whoever can write the folder can lock it
            held.callback(_take_file(lock_file, mode, wait))
        return held.pop_all().close


def _flock(folder: Path, held: contextlib.ExitStack, wait: _Wait) -> bool:
    """Lock the folder itself; False if the OS can't."""
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
    # Closing is not enough: a child forked meanwhile has inherited the descriptor.
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
    """Whether the folder is on a network mount (Linux only)."""
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
