"""One writer at a time for an index, across threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memslot_memory_core.index.connection import IndexBusyError, IndexFault

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE_SECONDS = 0.05


@contextmanager
def writer_lock(file: Path, *, wait_seconds: float, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """Hold the lock beside the index. The system lets go of it when a process dies, however it dies."""
    import filelock
    from memslot import make_private_dir

    lock = filelock.FileLock(file.with_name(f"{file.name}.lock"), mode=0o600, thread_local=False)
    deadline = time.monotonic() + wait_seconds
    try:
        make_private_dir(file.parent)
        while True:
            try:
                lock.acquire(timeout=0)
                break
            except filelock.Timeout:
                if time.monotonic() >= deadline or (cancelled is not None and cancelled()):
                    raise IndexBusyError("another process is writing to the index") from None
                time.sleep(_PAUSE_SECONDS)
    except OSError as error:
        raise IndexFault(
            f"the index folder {file.parent} cannot be written ({error.strerror or error}); check its permissions"
        ) from None
    try:
        yield
    finally:
        lock.release()
