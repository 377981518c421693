"""One writer at a time for an agent's sessions, across processes and threads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memslot.errors import FileBusyError, SessionError
from memslot.storage.folder import make_private_dir
from memslot.storage.lock import file_lock

WAIT_SECONDS = 30.0


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the lock of a sessions folder, creating the folder if needed.

    One lock covers the registry and all transcripts, so the two stay consistent and there is no lock file per
    transcript.
    """
    lock_file = folder / ".sessions.lock"
    with contextlib.ExitStack() as held:
        try:
            make_private_dir(folder)
            held.enter_context(file_lock(lock_file, seconds=WAIT_SECONDS))
        except FileBusyError:
            raise SessionError(
                f"The sessions in {folder} have been locked by another process for {WAIT_SECONDS:.0f} seconds; "
                "try again."
            ) from None
        except OSError as error:
            raise SessionError(
                f"{lock_file} could not be created ({error.strerror or error}); check the folder's permissions."
            ) from None
        yield
