"""Where an archived file goes in this memory, and which names are refused."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memslot_memory_core.sources.files import SKIPPED_FOLDERS
from memslot_memory_core.sources.globs import Glob
from memslot_memory_core.sources.roots import (
    MARKDOWN,
    PRIVATE_NAMES,
    TRANSCRIPT,
    ExtraPathLike,
    is_below,
    is_safe,
    join,
    posix,
)
from memslot_memory_core.transfer.item import UnusableItem

if TYPE_CHECKING:
    from memslot_memory_core.sources.roots import Source

SESSIONS = "sessions/"
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE)
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]$')


@dataclass(frozen=True)
class Destination:
    """A destination: in the workspace, or in the transcripts folder."""

    source: Source
    path: str
    """As displayed and exported: `memory/a.md`, `sessions/b.jsonl`."""

    @property
    def relative(self) -> str:
        """Below the workspace or the folder of transcripts."""
        return self.path.removeprefix(SESSIONS) if self.source == "sessions" else self.path


def destination_of(
    path: str, workspace: Path, extra_paths: Sequence[str | ExtraPathLike] = (), *, windows: bool = os.name == "nt"
) -> Destination | UnusableItem:
    """Where a file goes; below `memory/` if its own path would not be indexed.

    Markdown goes into the workspace and `sessions/<name>.jsonl` to the transcripts; nothing goes anywhere else.
    """
    fault = _fault(path, windows)
    if fault is not None:
        return UnusableItem(path, fault)
    parts = path.split("/")
    name = parts[-1].lower()
    if name.endswith(TRANSCRIPT) and len(parts) == 2 and path.startswith(SESSIONS):
        return Destination("sessions", path)
    if not name.endswith(MARKDOWN):
        return UnusableItem(path, "is neither Markdown nor a transcript", harmless=True)
    if parts[0] == "__MACOSX" or name.startswith("._"):
        return UnusableItem(path, "is macOS metadata", harmless=True)
    if not SKIPPED_FOLDERS.isdisjoint(parts[:-1]):
        return UnusableItem(path, "is in a folder that is never indexed", harmless=True)
    return Destination("memory", path if _is_indexed(path, workspace, extra_paths) else f"memory/{path}")


def _fault(path: str, windows: bool) -> str | None:
    """Why a path is refused: it could escape the memory, or is not a plain file name."""
    if not path or not is_safe(path):
        return "has a name that can't be displayed or stored"
    if path.startswith("/") or _DRIVE.match(path):
        return "has an absolute path, which could lead anywhere"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a path with empty, `.` or `..` segments"
    # These are valid names elsewhere: a memory that has such a note must stay movable.
    if windows and any(_DEVICE.fullmatch(part) for part in parts):
        return "has a reserved device name"
    if windows and any(_NOT_ON_WINDOWS.search(part) for part in parts):
        return "has a name that Windows does not allow"
    return None


def _is_indexed(path: str, workspace: Path, extra_paths: Sequence[str | ExtraPathLike]) -> bool:
    """Whether a file at that path would be indexed, by its name alone."""
    if path in PRIVATE_NAMES or path.startswith("memory/"):
        return True
    root = os.path.abspath(workspace)  # noqa: PTH100 (Path.resolve would follow links)
    whole = join(root, path.replace("/", os.sep))
    for extra in extra_paths:
        text, pattern = (extra, None) if isinstance(extra, str) else (extra.path, extra.pattern)
        where = os.path.abspath(Path(root, os.path.expanduser(text)))  # noqa: PTH100, PTH111
        if whole == where or (is_below(where, whole) and _fits(posix(os.path.relpath(whole, where)), pattern)):
            return True
    return False


def _fits(path: str, pattern: str | None) -> bool:
    if pattern is None:
        return True
    glob = Glob(pattern)
    states = glob.begin()
    for name in path.split("/"):
        states = glob.after(states, name)
    return glob.accepts(states)
