"""One writer at a time for an agent's sessions, across processes and threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memslot.config.paths import make_private_dir
from memslot.errors import SessionError

WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.005
"""A write takes milliseconds, so whoever waits looks again soon."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of sessions, which is made if it is missing.

    One lock for the registry and all transcripts: a session cannot be deleted between its two halves, and no lock
    file is left behind for each transcript.
    """
    import filelock

    lock_file = folder / ".sessions.lock"
    try:
        make_private_dir(folder)
        lock = filelock.FileLock(lock_file, timeout=WAIT_SECONDS, mode=0o600, poll_interval=_POLL_SECONDS)
        lock.acquire()
    except filelock.Timeout:
        raise SessionError(
            f"The sessions in {folder} have been locked by another process for {WAIT_SECONDS:.0f} seconds; try again."
        ) from None
    except OSError as error:
        raise SessionError(
            f"{lock_file} could not be made ({error.strerror or error}); check the folder's permissions."
        ) from None
    try:
        yield
    finally:
        lock.release()
