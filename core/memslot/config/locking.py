"""One writer at a time for a file, across processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memslot.errors import ConfigError

WAIT_SECONDS = 20.0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to a file; it stands beside the file and is left there."""
    import filelock

    lock_file = path.with_name(f".{path.name}.lock")
    try:
        lock = filelock.FileLock(lock_file, timeout=WAIT_SECONDS, mode=0o600)
        lock.acquire()
    except filelock.Timeout:
        raise ConfigError(
            f"{path} is being changed by another process since {WAIT_SECONDS:.0f} seconds; try again, "
            f"or remove {lock_file} if no such process runs."
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{lock_file} could not be created ({error.strerror or error}); check the folder's permissions."
        ) from None
    try:
        yield
    finally:
        lock.release()
