"""The agent's notes as MCP resources: listed from the workspace, read through the memory's own tool."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from memslot import Host, Session, ToolResult

PREFIX = "memslot://notes/"
TEMPLATE = PREFIX + "{+path}"
READER = "memory_get"
"""The tool that reads notes; a memory without it has none to show."""
MAX_CHARS = 1_000_000
_TOP = ("MEMORY.md", "memory.md", "USER.md")
_FOLDER = "memory"
_LINES = 1000
_SKIPPED = frozenset({"node_modules", "venv", "__pycache__"})


@dataclass(frozen=True)
class Note:
    """A Markdown file of the workspace."""

    path: str
    size: int
    changed: datetime

    @property
    def uri(self) -> str:
        return PREFIX + quote(self.path)


def path_of(uri: str) -> str | None:
    """The path that a URI of ours means, or None."""
    if not uri.startswith(PREFIX):
        return None
    return unquote(uri.removeprefix(PREFIX), errors="replace") or None


def has_notes(host: Host) -> bool:
    return any(tool.name == READER for tool in host.tools("direct"))


def list_notes(host: Host) -> list[Note]:
    """The notes of the workspace: what is always true first, then the newest."""
    if not has_notes(host):
        return []
    workspace = host.config.workspace(host.agent_id, host.places)
    top = [note for entry in _entries(workspace) if entry.name in _TOP and (note := _note("", entry)) is not None]
    below = sorted(_walk(workspace / _FOLDER, f"{_FOLDER}/"), key=lambda note: note.path, reverse=True)
    return [*sorted(top, key=lambda note: _TOP.index(note.path)), *below]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds; links and hidden things are left out, as the memory does."""
    try:
        with os.scandir(folder) as listing:
            return [each for each in listing if not each.is_symlink() and not each.name.startswith(".")]
    except OSError:
        return []


def _walk(folder: Path, prefix: str) -> Iterator[Note]:
    for entry in _entries(folder):
        if not entry.is_dir(follow_symlinks=False):
            if entry.name.lower().endswith(".md") and (note := _note(prefix, entry)) is not None:
                yield note
        elif entry.name not in _SKIPPED:
            yield from _walk(folder / entry.name, f"{prefix}{entry.name}/")


def _note(prefix: str, entry: os.DirEntry[str]) -> Note | None:
    path = prefix + entry.name
    try:
        path.encode()  # a name that is no text has no URI
        status = entry.stat(follow_symlinks=False)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Note(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def read_note(host: Host, path: str, session: Session) -> str | None:
    """A whole note, without secrets, as the memory gives it; None where there is no such note."""
    parts: list[str] = []
    room = MAX_CHARS
    line: int | None = 1
    count = _LINES
    while line is not None and room > 0:
        result = host.call_tool(READER, {"path": path, "from": line, "lines": count}, session=session)
        if result.truncated and count > 1:  # so many of them are more than a tool may return
            count //= 2
            continue
        part = _lines_in(result, line)
        if part is None:
            break
        text, line = part
        parts.append(text)
        room -= len(text) + 1
    if not parts:
        return "" if any(note.path == path for note in list_notes(host)) else None
    whole = "\n".join(parts)
    return whole if len(whole) <= MAX_CHARS else f"{whole[:MAX_CHARS]}\n[cut: the note is longer]"


def _lines_in(result: ToolResult, line: int) -> tuple[str, int | None] | None:
    """The text that was read, and the line to go on with; None where there is none."""
    if result.truncated:
        return f"[line {line} is too long to be shown]", line + 1
    data: Any = result.data
    if result.is_error or not isinstance(data, dict) or not data.get("lines"):
        return None
    following = data.get("nextFrom")
    return str(data.get("text", "")), following if isinstance(following, int) and following > line else None
