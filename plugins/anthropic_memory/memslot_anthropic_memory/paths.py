"""Maps paths under /memories to note files, and to nothing else."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from memslot import MemoryFiles

from memslot_anthropic_memory.answer import Refused

ROOT = "/memories"
MAX_DEPTH = 8
_MAX_NAME_BYTES = 200
_ENCODED = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True)
class NotePath:
    """A path under /memories, and its file on disk."""

    shown: str
    file: Path

    @property
    def is_root(self) -> bool:
        return self.shown == ROOT

    def kind(self) -> str | None:
        """`file`, `folder`, or None if it does not exist; anything else is refused."""
        try:
            mode = self.file.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISREG(mode):
            return "file"
        if stat.S_ISDIR(mode):
            return "folder"
        raise Refused(f"Error: {self.shown} is neither a file nor a directory")


def locate(files: MemoryFiles, path: object) -> NotePath:
    """Resolve a path; raises Refused for one that could lead out of the notes."""
    names = _names(path)
    if not names:
        return NotePath(ROOT, files.root / files.folder)
    shown = "/".join((ROOT, *names))
    is_named = len(names) == 1 and names[0] in files.named
    if not is_named and names[0].casefold() in {name.casefold() for name in files.named}:
        raise Refused(f"Error: the path {shown} is not allowed: use {' and '.join(files.named)}")
    found = files.path_of("/".join(names))
    _refuse_links(files.root, found.split("/"), shown)
    return NotePath(shown, files.root / found)


def _names(path: object) -> list[str]:
    if not isinstance(path, str):
        raise Refused("Error: the path must be text")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Error: the path must begin with {ROOT}")
    names = path.removeprefix(ROOT).removeprefix("/").removesuffix("/").split("/")
    if names == [""]:
        return []
    if len(names) > MAX_DEPTH:
        raise Refused(f"Error: the path has more than {MAX_DEPTH} components")
    for name in names:
        if (fault := _fault(name)) is not None:
            raise Refused(f"Error: the path is not allowed: {fault}")
    return names


def _fault(name: str) -> str | None:
    """Why a path component is not allowed, on any operating system."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "it is not text"
    if not name or name.startswith(".") or unicodedata.normalize("NFKC", name).startswith("."):
        return "a component is empty or begins with a dot"
    if _ENCODED.search(name):
        return "it has percent-encoded characters"
    if _FORBIDDEN.search(name) or "/" in unicodedata.normalize("NFKC", name):
        return "it has characters that names may not have"
    if name != name.strip() or name.endswith("."):
        return "a component begins or ends with a space, or ends with a dot"
    if _DEVICES.fullmatch(name) or name.casefold() == "node_modules":
        return f"no note can be named {name}"
    return "a component is too long" if size > _MAX_NAME_BYTES else None


def _refuse_links(root: Path, parts: list[str], shown: str) -> None:
    """Refuse links, and spellings that differ from the name on disk."""
    folder = root
    for name in parts:
        try:
            with os.scandir(folder) as listing:
                alike = [entry for entry in listing if _folded(entry.name) == _folded(name)]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise Refused(f"Error: {shown} cannot be read: {error.strerror}") from None
        found = next((entry for entry in alike if entry.name == name), None)
        if found is None:
            if alike:
                raise Refused(f"Error: the path {shown} is not allowed: write {alike[0].name} instead of {name}")
            return
        if found.is_symlink() or getattr(found, "is_junction", bool)():
            raise Refused(f"Error: the path {shown} is not allowed: it contains a symbolic link")
        folder = folder / name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def must_be_note(spot: NotePath, suffix: str) -> None:
    """Refuse a name that the memory would not index."""
    if not spot.shown.endswith(suffix):
        stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", spot.shown)
        raise Refused(f"Error: the names of notes end with {suffix}; use {stem}{suffix} instead of {spot.shown}")
