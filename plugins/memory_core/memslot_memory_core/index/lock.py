"""One writer at a time for an index, across threads and processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from memslot_memory_core.index.connection import IndexBusyError, IndexFault

if TYPE_CHECKING:
    from pathlib import Path


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
