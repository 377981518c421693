"""Roots of discovery: the workspace, the configured extra paths and the transcripts folder."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from memslot_memory_core.sources.globs import Glob, invalid_reason

if TYPE_CHECKING:
    from pathlib import Path

    Source = Literal["memory", "sessions"]


PRIVATE_NAMES = ("MEMORY.md", "memory.md", "USER.md")
"""Notes about the user, private to direct chats. A file with such a name is private wherever it is."""
MARKDOWN = (".md", ".markdown")
TRANSCRIPT = (".jsonl",)

# Line breaks and control characters would break listings and citations, a backslash is a separator elsewhere, and a
# lone surrogate is an invalid UTF-8 byte that can't be stored as text.
_UNSAFE = "[\x00-\x1f\x7f-\x9f\\\\\u2028\u2029\ud800-\udfff]"


MAX_NOTE_CHARS = 20_000
"""Longest text per append."""


class ExtraPathLike(Protocol):
    """An entry of `memorySearch.extraPaths` with a glob pattern."""

    @property
    def path(self) -> str: ...
    @property
    def pattern(self) -> str | None: ...


@dataclass(frozen=True)
class Root:
    """A folder to walk, or a single file; `shown` prefixes the paths below it."""

    source: Source
    folder: str
    shown: str
    suffixes: tuple[str, ...] = MARKDOWN
    glob: Glob | None = None
    only: str | None = None


@dataclass
class Roots:
    """All roots in order of precedence, and problems with configured ones."""

    workspace: str
    roots: list[Root] = field(default_factory=list)
    skipped_links: int = 0
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Path prefixes of files that may exist but can't be checked now."""
    refused: list[str] = field(default_factory=list)
    """Extra paths that are currently not roots."""


def is_safe(name: str) -> bool:
    """Whether the name is safe in a path that people and programs read back."""
    return (name.isprintable() and "\\" not in name) or not re.search(_UNSAFE, name)


def posix(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def join(folder: str, name: str) -> str:
    return folder + name if folder.endswith(os.sep) else folder + os.sep + name


def find_roots(
    workspace: Path, extra_paths: Sequence[str | ExtraPathLike] = (), sessions_dir: Path | None = None
) -> Roots:
    """Resolve the roots; an extra path that is missing, a link or not Markdown becomes a problem, not a root.

    The workspace and the transcripts folder may be reached through links, since the user created them. An extra path
    must not be one, nor be reached through one inside the workspace.
    """
    roots = Roots(os.path.abspath(workspace))  # noqa: PTH100 (Path.resolve would follow links)
    notes = Glob(*PRIVATE_NAMES, "memory/**")
    roots.roots.append(Root("memory", roots.workspace, "", glob=notes))
    for extra in extra_paths:
        where = _place_of(roots.workspace, extra)
        if not _add_extra(roots, extra, where):
            roots.refused.append(where)
    if sessions_dir is not None:
        folder = os.path.abspath(sessions_dir)  # noqa: PTH100
        roots.roots.append(Root("sessions", folder, "sessions/", suffixes=TRANSCRIPT))
    return roots


def _place_of(workspace: str, extra: str | ExtraPathLike) -> str:
    text = extra if isinstance(extra, str) else extra.path
    return os.path.abspath(os.path.join(workspace, os.path.expanduser(text)))  # noqa: PTH100, PTH111, PTH118


def _add_extra(roots: Roots, extra: str | ExtraPathLike, where: str) -> bool:
    """Add the extra path at `where`; returns whether it became a root."""
    text, pattern = (extra, None) if isinstance(extra, str) else (extra.path, extra.pattern)
    name = f"Extra path {text!r}"
    fault = invalid_reason(pattern) if pattern is not None else None
    if fault is not None:
        roots.problems.append(f"{name} is skipped: its pattern {pattern!r} {fault}.")
        return False
    if not is_safe(posix(where)):
        roots.problems.append(f"{name} is skipped: its name has characters that can't be displayed or stored.")
        return False
    try:
        link = _first_link(roots.workspace, where)
        status = os.lstat(where)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        roots.problems.append(f"{name} cannot be indexed: {reason}. Fix it or remove it from extraPaths.")
        if isinstance(error, OSError) and not _is_absent(where, error):
            roots.unread += _may_begin_with(roots.workspace, where)
        return False
    if link is not None:
        roots.skipped_links += 1
        roots.problems.append(f"{name} is skipped: {link} is a symbolic link. Use its target instead.")
        return False
    glob = Glob(pattern) if pattern is not None else None
    if stat.S_ISDIR(status.st_mode):
        shown = shown_folder(roots.workspace, where)
        roots.roots.append(Root("memory", where, shown, glob=glob))
    elif stat.S_ISREG(status.st_mode) and where.lower().endswith(MARKDOWN):
        folder, only = os.path.split(where)
        roots.roots.append(Root("memory", folder, shown_folder(roots.workspace, folder), glob=glob, only=only))
    else:
        roots.problems.append(f"{name} is skipped: it is neither a folder nor a Markdown file.")
        return False
    return True


def _is_absent(where: str, error: OSError) -> bool:
    """Whether the path is certainly absent: a readable parent folder doesn't list it.

    On an unmounted drive or in an unreadable folder it may still exist.
    """
    if not isinstance(error, FileNotFoundError):
        return False
    folder, name = os.path.split(where)
    try:
        return name not in os.listdir(folder)  # noqa: PTH208 (names as they are, without a Path for each)
    except OSError:
        return False


def _may_begin_with(workspace: str, where: str) -> list[str]:
    """Path prefixes of an extra path that may be a folder or a file."""
    shown = shown_folder(workspace, where)
    return [shown, shown.rstrip("/")] if where.lower().endswith(MARKDOWN) else [shown]


def shown_folder(workspace: str, folder: str) -> str:
    """The path prefix of a folder's files: relative to the workspace inside it, else absolute."""
    if folder == workspace:
        return ""
    if is_below(workspace, folder):
        return posix(os.path.relpath(folder, workspace)) + "/"
    return posix(folder).rstrip("/") + "/"


def is_below(folder: str, path: str) -> bool:
    return path.startswith(join(folder, ""))


def _first_link(workspace: str, where: str) -> str | None:
    """Return the first link among the extra path and, inside the workspace, its parent folders."""
    if where == workspace:
        return None
    steps = [where]
    if is_below(workspace, where):
        steps = []
        at = workspace
        for part in where[len(join(workspace, "")) :].split(os.sep):  # noqa: PTH206
            at = join(at, part)
            steps.append(at)
    return next((step for step in steps if is_link(step)), None)


def is_link(path: str) -> bool:
    """Whether it is a symbolic link or a Windows junction."""
    status = os.lstat(path)
    return stat.S_ISLNK(status.st_mode) or is_junction(status)


def is_junction(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_reparse_tag", 0) == _JUNCTION)


_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
