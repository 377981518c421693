"""A project's own config, `.memslot/memslot.json5`: finding it and reading it safely."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from memslot.config.paths import CONFIG_NAMES, Places
from memslot.errors import TrustError

FOLDER = ".memslot"


@dataclass(frozen=True)
class ProjectFile:
    """A project's config file, read once so that hash and parser see the same bytes."""

    path: Path
    """The real path."""
    root: Path
    """The project folder, which contains `.memslot`."""
    data: bytes = field(repr=False)
    digest: str


def find_project_file(start: Path, places: Places) -> Path | None:
    """Return the nearest project config at or above a folder, stopping at the user's home and the file system root."""
    try:
        folder = start.resolve(strict=True)
    except OSError:  # the current folder may be deleted
        return None
    own_home = places.home.resolve()
    own_config = places.config_file.resolve()
    person = Path("~").expanduser().resolve()
    while folder not in (person, folder.parent):
        candidate = folder / FOLDER
        if candidate.resolve() != own_home:
            for name in CONFIG_NAMES:
                path = candidate / name
                if os.path.lexists(path) and path.resolve() != own_config:
                    return path
        folder = folder.parent
    return None


def read_project_file(path: Path) -> ProjectFile:
    """Read a project's config, rejecting one that another user could have planted."""
    import hashlib

    from memslot.config.read import read_config_bytes

    root = path.parent.parent.resolve()
    real = path.resolve()
    if not real.is_relative_to(root):
        raise TrustError(f"{path} is a symlink out of its project folder; replace it with a file.")
    found = read_config_bytes(path)
    if found is None:
        raise TrustError(f"{path} does not exist; name the project folder or its {FOLDER}/{CONFIG_NAMES[0]}.")
    data, status = found
    if hasattr(os, "geteuid"):
        if status.st_mode & stat.S_IWOTH:
            raise TrustError(f"{path} is world-writable; run `chmod o-w` on it first.")
        if status.st_uid not in (0, os.geteuid()):
            raise TrustError(f"{path} belongs to another user; copy it or change its owner first.")
    return ProjectFile(real, root, data, hashlib.sha256(data).hexdigest())


def project_file_at(path: Path) -> Path:
    """Resolve a project folder, its `.memslot` folder or the file itself to the config file."""
    if not path.is_dir():
        return path
    folder = path if path.name == FOLDER else path / FOLDER
    found = (folder / name for name in CONFIG_NAMES)
    return next((each for each in found if os.path.lexists(each)), folder / CONFIG_NAMES[0])
