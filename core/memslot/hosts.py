"""The current host, replaced when the config changes; calls in progress keep the old one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memslot.config.paths import Places
from memslot.host import Host

_NAMES = ("memslot.json5", "memslot.toml", "memslot.json")
Stamp = tuple[tuple[str, int, int, int] | None, ...]


class _Lease:
    """A host and how many calls use it."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.users = 0
        self.is_retired = False


class Hosts:
    """One host at a time, used from any number of threads."""

    def __init__(self, load: Callable[[], Host], first: Host | None = None) -> None:
        """`first` is a host that is already loaded."""
        self._load = load
        self._lock = threading.Lock()
        self._current = _Lease(first if first is not None else load())

    @contextmanager
    def borrow(self) -> Iterator[Host]:
        """The current host; it stays open until the block ends, even if another replaces it."""
        with self._lock:
            lent = self._current
            lent.users += 1
        try:
            yield lent.host
        finally:
            with self._lock:
                lent.users -= 1
                is_last = lent.is_retired and lent.users == 0
            if is_last:
                lent.host.close()

    def reload(self) -> None:
        """Load a host with the current config; if that fails, raise a MemslotError and keep the old host."""
        fresh = _Lease(self._load())
        with self._lock:
            old, self._current = self._current, fresh
            old.is_retired = True
            is_idle = old.users == 0
        if is_idle:
            old.host.close()

    def close(self) -> None:
        """Close the host."""
        self._current.host.close()


def config_stamp() -> Stamp:
    """Changes when a config file changes; cheap enough to compute every second."""
    places = Places.from_env()
    files = [places.config_file, places.trust_file]
    try:
        folder = Path.cwd()
    except OSError:  # the folder is gone
        return tuple(_stamp(file) for file in files)
    files += [each / ".memslot" / name for each in (folder, *folder.parents) for name in _NAMES]
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[str, int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return str(file), status.st_ino, status.st_size, status.st_mtime_ns
