"""Detects changes of files, folders and installed packages.

A cold command asks this before anything else, so nothing slower than `os` may be imported here.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from memslot import __version__

Fingerprint = tuple[int, int, int, int] | None


def fingerprint(path: str) -> Fingerprint:
    """Changes when a file or folder is written, replaced, or gets other permissions; None if it is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116 (no pathlib here)
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def installed_fingerprint() -> list[Any]:
    """Changes when a distribution is installed, removed or upgraded in one of Python's folders."""
    folders = [[path, _installed_at(path)] for path in search_path() if os.path.isdir(path)]  # noqa: PTH112
    return [__version__, sys.version, sys.prefix, folders]


def _installed_at(path: str) -> int | None:
    """When a folder with distributions changed; None for one without, such as the folder of a script.

    Only the folder's own entries matter, and only their names: an access or a chmod does not.
    """
    try:
        has_any = any(name.endswith((".dist-info", ".egg-info", ".egg")) for name in os.listdir(path))  # noqa: PTH208
        return os.stat(path).st_mtime_ns if has_any else None  # noqa: PTH116
    except OSError:
        return None


def search_path() -> list[str]:
    """sys.path with the current folder by its name, as `python -c` and a prompt have it first."""
    return [path or os.getcwd() for path in sys.path]  # noqa: PTH109
