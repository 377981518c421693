"""Owner-only folders."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_dir(path: Path) -> Path:
    """Create a folder and its missing parents with mode 0700, durably. An existing folder keeps its mode."""
    missing = []
    folder = Path(path)
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        # Path.mkdir(parents=True) applies the mode to the last folder only.
        each.mkdir(mode=0o700, exist_ok=True)
        sync_folder(each.parent)
    Path(path).mkdir(exist_ok=True)  # raises FileExistsError if it is a file
    return path


def sync_folder(folder: Path) -> None:
    """Fsync a folder's entries (new names, renames), if the file system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
