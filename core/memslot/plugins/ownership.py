"""Whether a folder's code may be run: only the user (or root) can have written it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memslot.errors import ManifestError


def refuse_link_out(root: Path, path: Path) -> None:
    """Raise ManifestError if a path below a plugin's root resolves outside it."""
    real = path.resolve()
    if not real.is_relative_to(root.resolve()):
        raise ManifestError(f"{path} leads out of {root} to {real}; copy it there or name that folder")


def refuse_unsafe_folder(root: Path, package: Path) -> None:
    """Raise a ManifestError where a plugin's folder leaves its root or could have been changed by others."""
    for path in (root, package, *_code_files(package)):
        refuse_link_out(root, path)
        _refuse_unsafe_path(path)


def _code_files(package: Path) -> list[Path]:
    """Everything below the package that Python or the host could read, links not followed."""
    files: list[Path] = []
    for folder, subfolders, names in os.walk(package):
        files.extend(Path(folder, name) for name in [*subfolders, *names])
    return files


def _refuse_unsafe_path(path: Path) -> None:
    if os.name != "posix":
        return
    try:
        status = path.stat()
    except FileNotFoundError:  # a link to nothing, such as an editor's lock: there is no code in it
        return
    if status.st_mode & stat.S_IWOTH:
        raise ManifestError(f"{path} can be written by everybody; run: chmod o-w {path}")
    if status.st_uid not in (0, os.geteuid()):
        raise ManifestError(f"{path} belongs to another user (uid {status.st_uid}); copy it or chown it to yourself")
