"""QMD collections: which folders it indexes, their registration, and which files are readable."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memslot_memory_core.qmd.errors import QmdError, QmdPathError
from memslot_memory_core.qmd.patterns import literal, matches
from memslot_memory_core.qmd.program import QmdProgram
from memslot_memory_core.qmd.settings import ExtraPath, QmdSettings

MEMORY_ROOT, MEMORY_DIR, SESSIONS = "memory-root", "memory-dir", "sessions"
PRIVATE_FILES = ("MEMORY.md", "memory.md", "USER.md")
"""Notes about the user, private to direct chats."""
MAX_FILE_BYTES = 16 * 1024 * 1024
_MARKDOWN = "**/*.md"
_LISTED = re.compile(r"^(\S+) \(qmd://\S+/\)[^\n]*\n\s+Pattern:[ \t]+([^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Collection:
    """A named folder; `private` for direct chats only."""

    name: str
    root: Path
    pattern: str
    private: bool = False
    source: str = "memory"

    @property
    def key(self) -> tuple[str, str]:
        return str(self.root), self.pattern

    def file(self, path: str) -> Path | None:
        """The file at that relative path, existing or not; None if it can't belong to the collection."""
        if "\0" in path or "\\" in path or not matches(self.pattern, path):
            return None
        file = self.root / path
        try:
            # These differ if there is a link on the path.
            return file if Path(os.path.realpath(file)) == file else None
        except (OSError, ValueError):
            return None


def desired_collections(settings: QmdSettings, workspace: Path, sessions_dir: Path | None) -> list[Collection]:
    """The configured collections, without folders that don't exist yet."""
    workspace = workspace.resolve()
    wanted: list[Collection] = []
    if settings.include_default_memory:
        wanted.append(Collection(MEMORY_ROOT, workspace, ",".join(PRIVATE_FILES), private=True))
        if not (workspace / "memory").is_symlink():
            wanted.append(Collection(MEMORY_DIR, workspace / "memory", _MARKDOWN))
    if sessions_dir is not None:
        # Transcripts of direct chats are private.
        wanted.append(Collection(SESSIONS, sessions_dir.resolve(), _MARKDOWN, private=True, source="sessions"))
    taken = {MEMORY_ROOT, MEMORY_DIR, SESSIONS}
    for extra in settings.paths:
        wanted.append(_extra(extra, workspace, taken))
        taken.add(wanted[-1].name)
    first = {collection.key: collection for collection in reversed(wanted)}
    return [each for each in wanted if first[each.key] is each and each.root.is_dir()]


def sync_collections(
    program: QmdProgram, desired: Iterable[Collection], known: Mapping[str, tuple[str, str]], *, timeout: float
) -> str:
    """Add missing or changed collections to QMD, and remove old ones with their texts.

    Returns what it printed about new ones.
    """
    wanted = {collection.name: collection for collection in desired}
    listed = {
        match[1]: match[2] for match in _LISTED.finditer(program.run("collection", "list", timeout=timeout).stdout)
    }
    kept = {
        name
        for name, pattern in listed.items()
        if name in wanted and wanted[name].key == known.get(name) and wanted[name].pattern == pattern
    }
    for name in listed.keys() - kept:
        program.run("collection", "remove", "--", name, timeout=timeout)
    printed = ""
    for name, collection in wanted.items():
        if name not in kept:
            mask = f"--mask={collection.pattern}"
            command = ("collection", "add", f"--name={name}", mask, "--", str(collection.root))
            printed += program.run(*command, timeout=timeout).stdout
    return printed


def is_private(collection: Collection, file: Path, workspace: Path) -> bool:
    """Whether the file is private, whichever collection it is reached through."""
    if collection.private:
        return True
    return file.parent == workspace and file.name.casefold() in {name.casefold() for name in PRIVATE_FILES}


def read_text(collections: Sequence[Collection], path: str, *, private: bool, workspace: Path) -> str:
    """The text at `qmd/<collection>/<path>`, empty if the file is missing. Raises QmdPathError for other paths."""
    prefix, _, rest = path.partition("/")
    name, _, relative = rest.partition("/")
    collection = next((each for each in collections if each.name == name), None) if prefix == "qmd" else None
    file = collection.file(relative) if collection is not None else None
    if collection is None or file is None or (not private and is_private(collection, file, workspace)):
        raise QmdPathError(f"{path!r} is not in the memory; use a path from memory_search")
    data = read_regular(file)
    return "" if data is None else data.decode("utf-8-sig", errors="replace")


def read_regular(file: Path) -> bytes | None:
    """A file's content up to the size limit; None if it is not a regular file."""
    try:
        # Non-blocking: opening a pipe would wait for its writer. No following: it may just have become a link.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return None
        return opened.read(MAX_FILE_BYTES)


def _extra(extra: ExtraPath, workspace: Path, taken: set[str]) -> Collection:
    try:
        path = Path(extra.path).expanduser()
    except RuntimeError:
        raise QmdError(f"memory.qmd.paths names {extra.path}, but there is no such user") from None
    path = Path(os.path.realpath(workspace / path))
    wished = re.sub(r"[^A-Za-z0-9_]+", "-", extra.name or path.stem).strip("-") or "notes"
    name, number = wished, 2
    while name in taken:
        name, number = f"{wished}-{number}", number + 1
    if path.is_file():
        return Collection(name, path.parent, literal(path.name))
    return Collection(name, path, extra.pattern or _MARKDOWN)
