"""Looks up one file by its index path, and only files that are indexed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from memslot_memory_core.sources.files import (
    SKIPPED_FOLDERS,
    SourceFile,
    discover,
    leads_elsewhere,
    make_source_file,
    single_file,
)
from memslot_memory_core.sources.roots import (
    ExtraPathLike,
    Root,
    Roots,
    find_roots,
    is_below,
    is_junction,
    is_safe,
    join,
)


def find(
    workspace: Path,
    path: str,
    *,
    extra_paths: Sequence[str | ExtraPathLike] = (),
    sessions_dir: Path | None = None,
) -> SourceFile | None:
    """Return the file that `discover` lists under exactly this path, or None; reads only the folders on the way.

    Nothing else can be reached: no `..`, no other spelling, no link, no other root.
    """
    if not path or not is_safe(path):
        return None
    roots = find_roots(workspace, extra_paths, sessions_dir)
    for root in roots.roots:
        found = _find_below(root, roots, path)
        if found is None:
            continue
        file, links = found
        # A file with two names is listed under the first, and only a walk can tell which.
        if links > 1 or may_overlap(roots):
            listed = discover(workspace, extra_paths=extra_paths, sessions_dir=sessions_dir).files
            return next((one for one in listed if one.path == path), None)
        return file
    return None


def may_be_listed(
    workspace: Path,
    path: str,
    *,
    extra_paths: Sequence[str | ExtraPathLike] = (),
    sessions_dir: Path | None = None,
) -> bool:
    """Whether a missing file would be listed under exactly this path.

    False for any other path: those are not missing files.
    """
    if not path or not is_safe(path):
        return False
    roots = find_roots(workspace, extra_paths, sessions_dir)
    return any(_has_room_for(root, roots, path) for root in roots.roots)


def coverage(
    workspace: Path, *, extra_paths: Sequence[str | ExtraPathLike] = (), sessions_dir: Path | None = None
) -> Callable[[str, str], bool]:
    """A predicate: whether `discover` could list a source and path; checks only the roots."""
    roots = find_roots(workspace, extra_paths, sessions_dir)
    unread = tuple(roots.unread)

    @cache
    def covers(source: str, path: str) -> bool:
        if source == "memory" and path.startswith(unread):
            return True
        return any(root.source == source and _names_below(root, roots, path) is not None for root in roots.roots)

    return covers


def _names_below(root: Root, roots: Roots, path: str) -> list[str] | None:
    """The path segments below a root that could list it; None for any other path."""
    parts = _parts_below(root, roots, path)
    if parts is None or not parts[-1].lower().endswith(root.suffixes):
        return None
    if not SKIPPED_FOLDERS.isdisjoint(parts[:-1]) or (root.only is not None and parts != [root.only]):
        return None
    if root.glob is not None:
        states = root.glob.begin()
        for name in parts:
            states = root.glob.after(states, name)
        if not root.glob.accepts(states):
            return None
    return parts


def _has_room_for(root: Root, roots: Roots, path: str) -> bool:
    parts = _names_below(root, roots, path)
    if parts is None:
        return False
    place = root.folder
    for name in parts:
        place = join(place, name)
        try:
            status = os.lstat(place)
        except (OSError, ValueError):
            return True
        if not stat.S_ISDIR(status.st_mode) or is_junction(status):
            return False
    return False


def _find_below(root: Root, roots: Roots, path: str) -> tuple[SourceFile, int] | None:
    """The file at that path in one root, and its link count."""
    parts = _parts_below(root, roots, path)
    if parts is None or not parts[-1].lower().endswith(root.suffixes):
        return None
    if root.only is not None:
        try:
            single = single_file(root, root.only) if parts == [root.only] else None
        except OSError:
            return None
        return (single[0], single[1].st_nlink) if single else None
    states = root.glob.begin() if root.glob else None
    folder = root.folder
    for depth, name in enumerate(parts):
        if root.glob is not None and states is not None:
            states = root.glob.after(states, name)
            if not states:
                return None
        try:
            with os.scandir(folder) as listing:
                entry = next((one for one in listing if one.name == name), None)
            if entry is None or leads_elsewhere(entry):
                return None
            if depth < len(parts) - 1:
                if name in SKIPPED_FOLDERS or not entry.is_dir(follow_symlinks=False):
                    return None
                folder = entry.path
                continue
            status = os.lstat(entry.path)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        if root.glob is not None and states is not None and not root.glob.accepts(states):
            return None
        return make_source_file(root.source, path, entry.path, status), status.st_nlink
    return None


def _parts_below(root: Root, roots: Roots, path: str) -> list[str] | None:
    """The segments from the root to the path, or None if it is elsewhere."""
    if root.source == "sessions":
        name = path.removeprefix(root.shown)
        return [name] if name != path and "/" not in name else None
    parts = path.split("/")
    if os.path.isabs(path):  # noqa: PTH117 (a Path would tidy up what has to be refused)
        parts = parts[1:]
        whole = path.replace("/", os.sep)
        if is_below(roots.workspace, whole):
            return None  # files inside the workspace only have their relative name
    else:
        whole = join(roots.workspace, path.replace("/", os.sep))
    if any(part in ("", ".", "..") for part in parts) or not is_below(root.folder, whole):
        return None
    return whole[len(root.folder) :].strip(os.sep).split(os.sep)  # noqa: PTH206 (a Path takes ten times as long)


def may_overlap(roots: Roots) -> bool:
    """Whether one file may be reachable by two paths, because a root goes through a link."""
    folders = {root.folder for root in roots.roots if root.source == "memory"}
    return len(folders) > 1 and any(os.path.realpath(folder) != folder for folder in folders)
