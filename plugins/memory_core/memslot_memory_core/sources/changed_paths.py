"""Discovery limited to changed paths, with the same result as a full walk."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memslot_memory_core.sources.files import SKIPPED_FOLDERS, Discovery, Seen, Walk, make_source_file
from memslot_memory_core.sources.globs import States
from memslot_memory_core.sources.lookup import may_overlap
from memslot_memory_core.sources.roots import (
    ExtraPathLike,
    Root,
    Roots,
    find_roots,
    is_below,
    is_junction,
    is_safe,
    join,
    shown_folder,
)

if TYPE_CHECKING:
    from memslot_memory_core.sources.roots import Source

MOST_PATHS = 300
"""With more paths, a full walk is as fast and misses nothing."""


def discover_changed(
    workspace: Path,
    paths: Collection[str],
    *,
    extra_paths: Sequence[str | ExtraPathLike] = (),
    sessions_dir: Path | None = None,
) -> Discovery | None:
    """What `discover` would list at and below these paths; None if only a full walk can tell.

    A full walk is needed if a root appears, disappears or becomes unreadable, if a file may have two names, of which
    the first counts, and if there is a link, since links are counted. Paths outside the roots, and invalid ones, are
    ignored.
    """
    if len(paths) > MOST_PATHS:
        return None
    roots = find_roots(workspace, extra_paths, sessions_dir)
    if may_overlap(roots):
        return None
    try:
        return _ChangedPathScan(roots).at(paths)
    except OSError:
        return None  # the full walk reports the error


class _ChangedPathScan:
    """A scan of some paths below the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._found = Discovery(unread=roots.unread)
        self._seen: Seen = {}
        real = ((os.path.realpath(root.folder), root.folder) for root in roots.roots)
        self._real = [(there, folder) for there, folder in real if there != folder]

    def at(self, paths: Collection[str]) -> Discovery | None:
        within: list[tuple[Source, str]] = []
        for place in _topmost(self._places(paths)):
            if any(place == top or is_below(place, top) for top in self._tops()) or _has_other_names(place):
                return None
            for root in self._roots.roots:
                if is_below(root.folder, place):
                    shown = self._shown(root, place)
                    if not is_safe(shown):
                        if os.path.lexists(place):
                            return None
                        continue
                    if not self._scan_in(root, place, shown):
                        return None
                    within.append((root.source, shown))
        found = self._found
        if found.skipped_links or found.problems or found.doubles:
            return None
        if any(_has_other_names(file.location) for file in found.files):
            return None
        found.within = list(dict.fromkeys(within))
        return found

    def _tops(self) -> Iterator[str]:
        """Paths whose events concern more than themselves."""
        for root in self._roots.roots:
            yield root.folder
        yield from self._roots.refused

    def _places(self, paths: Collection[str]) -> Iterator[str]:
        """The paths as spelled by the roots: some systems report a link's target instead."""
        for path in paths:
            if "\0" in path:
                continue
            place = os.path.abspath(path)  # noqa: PTH100 (Path.resolve would follow links)
            if not any(is_below(root.folder, place) for root in self._roots.roots):
                inside = (folder + place[len(real) :] for real, folder in self._real if is_below(real, place))
                place = next(inside, place)
            yield place

    def _shown(self, root: Root, place: str) -> str:
        if root.source == "sessions":
            return root.shown + place[len(join(root.folder, "")) :]
        return shown_folder(self._roots.workspace, place).removesuffix("/")

    def _scan_in(self, root: Root, place: str, shown: str) -> bool:
        """Add what a root has at this path, if anything; False if only a full walk can tell."""
        *way, last = Path(place).relative_to(root.folder).parts
        if way and root.source == "sessions":
            return True
        folder = root.folder
        states = root.glob.begin() if root.glob else None
        for name in way:
            states = _step(root, states, name)
            status = _status(folder, name)
            if status is None or not _is_folder(status) or name in SKIPPED_FOLDERS or _is_over(states):
                return True
            folder = join(folder, name)
        states = _step(root, states, last)
        if _is_over(states) or (root.only is not None and [root.only] != [*way, last]):
            return True
        status = _status(folder, last)
        return status is None or self._take(root, join(folder, last), shown, status, states)

    def _take(self, root: Root, place: str, shown: str, status: os.stat_result, states: States | None) -> bool:
        if stat.S_ISLNK(status.st_mode) or is_junction(status):
            return False
        if _is_folder(status):
            if root.source != "sessions" and Path(place).name not in SKIPPED_FOLDERS:
                Walk(root, self._roots.workspace, self._found, self._seen).run(place, f"{shown}/", states)
        elif _is_file(status) and place.lower().endswith(root.suffixes) and _is_accepted(root, states):
            self._found.add(make_source_file(root.source, shown, place, status), status, self._seen)
        return True


def _topmost(places: Iterator[str]) -> Iterator[str]:
    """The paths that are not below another one."""
    top = None
    for place in sorted(set(places), key=lambda place: Path(place).parts):
        if top is None or not is_below(top, place):
            top = place
            yield place


def _has_other_names(place: str) -> bool:
    """Whether the file has other hard links, which may be indexed."""
    try:
        status = os.lstat(place)
    except (OSError, ValueError):
        return False
    return _is_file(status) and status.st_nlink > 1


def _step(root: Root, states: States | None, name: str) -> States | None:
    return states if root.glob is None or states is None else root.glob.after(states, name)


def _is_over(states: States | None) -> bool:
    return states is not None and not states


def _is_accepted(root: Root, states: States | None) -> bool:
    return root.glob is None or states is None or root.glob.accepts(states)


def _is_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)


def _is_folder(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and not is_junction(status)


def _status(folder: str, name: str) -> os.stat_result | None:
    """The folder entry with exactly this name, or None."""
    try:
        status = os.lstat(join(folder, name))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return status if _has_exact_case(folder, name, status) else None


def _has_exact_case(folder: str, name: str, status: os.stat_result) -> bool:
    """Some file systems ignore case; only a listing shows the exact name."""
    if os.name != "nt":
        spellings = {name.swapcase(), unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)}
        if not any(_is_at(join(folder, other), status) for other in spellings - {name}):
            return True
    return name in os.listdir(folder)  # noqa: PTH208 (names as they are, without a Path for each)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except (OSError, ValueError):
        return False
