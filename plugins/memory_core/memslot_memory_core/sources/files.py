"""File discovery: lists the files to index without opening any."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from memslot_memory_core.sources.globs import States
from memslot_memory_core.sources.roots import (
    PRIVATE_NAMES,
    ExtraPathLike,
    Root,
    find_roots,
    is_safe,
    join,
)

if TYPE_CHECKING:
    from pathlib import Path

    from memslot_memory_core.sources.roots import Source

SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"})
Seen = dict[tuple[int, int], str]
"""The first path of each file, by device and inode."""
_by_name = attrgetter("name")


class SourceFile(NamedTuple):
    """A discovered file: `path` is its name in the index, `stamp` changes when the file does.

    `path` is relative to the workspace inside it, absolute outside, and `sessions/<name>` for a transcript;
    always with forward slashes. A tuple, not a frozen dataclass: creating it is a third of a walk's time.
    """

    source: Source
    path: str
    location: str
    stamp: str
    size: int
    mtime: float
    private: bool

    @property
    def file(self) -> Path:
        """Its path on disk, created on demand: a thousand Paths take longer than finding the files."""
        from pathlib import Path

        return Path(self.location)


@dataclass
class Discovery:
    """All files once, in a stable order, and what was skipped."""

    files: list[SourceFile] = field(default_factory=list)
    skipped_links: int = 0
    doubles: int = 0
    """Files found again by another path: hard links, or folders with two names."""
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Path prefixes of files in unreadable folders."""
    within: Sequence[tuple[Source, str]] | None = None
    """The scanned paths; None means everywhere."""

    def add(self, file: SourceFile, status: os.stat_result, seen: Seen) -> None:
        """Add a file, unless it was found before."""
        identity = (status.st_dev, status.st_ino)
        if identity not in seen:
            seen[identity] = file.path
            self.files.append(file)
        elif seen[identity] != file.path:
            self.doubles += 1


def make_stamp(status: os.stat_result) -> str:
    """A quick change check. The inode distinguishes replaced files of equal size and time."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def discover(
    workspace: Path, *, extra_paths: Sequence[str | ExtraPathLike] = (), sessions_dir: Path | None = None
) -> Discovery:
    """List MEMORY.md, memory.md, USER.md, memory/**, the extra paths and the transcripts.

    Links are skipped and counted. A file reachable by two paths is listed under the first: in the order above, each
    folder's files before its subfolders, by name. Names are case-sensitive even if the file system is not, so that
    every system returns the same list.
    """
    roots = find_roots(workspace, extra_paths, sessions_dir)
    found = Discovery(skipped_links=roots.skipped_links, problems=roots.problems, unread=roots.unread)
    seen: Seen = {}
    for root in roots.roots:
        if root.only is not None:
            try:
                single = single_file(root, root.only)
            except OSError as error:
                record_unreadable_file(root.shown + root.only, error, found)
                continue
            if single is not None:
                found.add(*single, seen)
        else:
            Walk(root, roots.workspace, found, seen).run(
                root.folder, root.shown, root.glob.begin() if root.glob else None
            )
    return found


UNREAD_WORKSPACE = "The workspace "
"""Start of the message about an unreadable workspace."""


class Walk:
    """A walk through a root, or part of one; adds files to `found`."""

    def __init__(self, root: Root, workspace: str, found: Discovery, seen: Seen) -> None:
        self.root, self.workspace, self.found, self.seen = root, workspace, found, seen
        self.stack: list[tuple[str, str, States | None]] = []

    def run(self, folder: str, shown: str, states: States | None) -> None:
        """Walk a folder whose paths start with `shown`; `states` is the glob's state there."""
        root = self.root
        self.stack.append((folder, shown, states))
        while self.stack:
            folder, shown, states = self.stack.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=_by_name)
            except OSError as error:
                _record_unreadable_folder(root, folder, shown, error, self.found)
            else:
                self._visit(entries, shown, states)

    def _visit(self, entries: list[os.DirEntry[str]], shown: str, states: States | None) -> None:
        """Add the files of one folder, and push its subfolders on the stack, first on top."""
        suffixes, subfolders = self.root.suffixes, []
        for entry in entries:
            name = entry.name
            reached = states
            if states is not None and not (reached := self._step(states, name)):
                continue
            is_text = name.lower().endswith(suffixes)
            try:
                if is_text and entry.is_file(follow_symlinks=False):
                    if reached is None or self._accepts(reached):
                        self._add(entry, shown + name)
                elif leads_elsewhere(entry):
                    if (is_text or _leads_to_folder(entry)) and name not in SKIPPED_FOLDERS:
                        self.found.skipped_links += 1
                elif entry.is_dir(follow_symlinks=False) and name not in SKIPPED_FOLDERS:
                    subfolders.append((entry, reached))
            except OSError as error:  # a file system whose listings don't include types
                self._record_unknown(shown + name, is_text, error)
        for entry, reached in reversed(subfolders):
            self._enter(entry, shown + entry.name, reached)

    def _step(self, states: States, name: str) -> States:
        return self.root.glob.after(states, name) if self.root.glob else states

    def _accepts(self, states: States) -> bool:
        return self.root.glob is None or self.root.glob.accepts(states)

    def _add(self, entry: os.DirEntry[str], path: str) -> None:
        if not is_safe(entry.name):
            self.found.problems.append(f"File {path!r} is skipped: its name can't be displayed or stored; rename it.")
            return
        try:
            status = entry.stat(follow_symlinks=False)
            if not status.st_ino:  # Windows omits it from listings
                status = os.lstat(entry.path)
        except FileNotFoundError:
            return  # gone since the folder was listed
        except OSError as error:
            record_unreadable_file(path, error, self.found)
            return
        if stat.S_ISREG(status.st_mode):
            self.found.add(make_source_file(self.root.source, path, entry.path, status), status, self.seen)

    def _record_unknown(self, path: str, is_text: bool, error: OSError) -> None:
        """Record an unreadable entry: a note or a folder."""
        if is_text:
            record_unreadable_file(path, error, self.found)
        if self.root.source != "sessions":
            if not is_text:
                self.found.problems.append(f"{path!r} cannot be read: {error.strerror}.")
            self.found.unread.append(f"{path}/")

    def _enter(self, entry: os.DirEntry[str], path: str, states: States | None) -> None:
        root = self.root
        if root.source == "sessions":
            return
        if not is_safe(entry.name):
            self.found.problems.append(f"Folder {path!r} is skipped: its name can't be displayed or stored; rename it.")
            return
        if root.glob is not None and states is not None and root.glob.accepts_everything(states):
            states = None
        # A root above the workspace contains it; paths inside stay relative.
        self.stack.append((entry.path, "" if entry.path == self.workspace else f"{path}/", states))


def leads_elsewhere(entry: os.DirEntry[str]) -> bool:
    """Whether it is a symbolic link or a Windows junction."""
    if entry.is_symlink():
        return True
    is_junction = getattr(entry, "is_junction", None)  # Python 3.12
    return is_junction is not None and os.name == "nt" and bool(is_junction())


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:
        return False  # a loop, or an inaccessible target


def record_unreadable_file(path: str, error: OSError, found: Discovery) -> None:
    found.problems.append(f"File {path!r} cannot be read: {error.strerror}.")
    found.unread.append(path)


def _record_unreadable_folder(root: Root, folder: str, shown: str, error: OSError, found: Discovery) -> None:
    missing = isinstance(error, FileNotFoundError)
    if missing and (root.source == "sessions" or folder != root.folder):
        return  # no session yet, or gone since its parent was listed
    if folder == root.folder and root.shown == "" and root.source == "memory":
        name = f"{UNREAD_WORKSPACE}{folder}"
    else:
        name = f"Folder {folder}"
    found.problems.append(f"{name} cannot be read: {error.strerror}.")
    found.unread.append(shown)


def make_source_file(source: Source, path: str, file: str, status: os.stat_result) -> SourceFile:
    """A SourceFile from a stat result."""
    private = source == "memory" and path.endswith(PRIVATE_NAMES) and path.rpartition("/")[2] in PRIVATE_NAMES
    # Bypasses the constructor, which is twice as slow: a walk creates one per file.
    return tuple.__new__(SourceFile, (source, path, file, make_stamp(status), status.st_size, status.st_mtime, private))


def single_file(root: Root, name: str) -> tuple[SourceFile, os.stat_result] | None:
    """The file of a single-file root; None if it is gone. Raises OSError if that can't be determined."""
    if root.glob is not None and not root.glob.accepts(root.glob.after(root.glob.begin(), name)):
        return None
    try:
        status = os.lstat(join(root.folder, name))
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return make_source_file(root.source, root.shown + name, join(root.folder, name), status), status
