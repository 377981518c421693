"""A note of another program, and how its file is found and read."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memslot_importers.openclaw.copies import read_regular_file

MAX_CHARS = 4_000_000
_NAME = re.compile(r"\w[\w .,()+@=&'-]{0,180}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


@dataclass(frozen=True)
class ForeignNote:
    """A file of theirs and the name of ours; `refusal` says why it cannot be read."""

    file: Path
    name: str
    text: str = ""
    changed: str = ""
    refusal: str = ""


def linked(file: Path) -> ForeignNote:
    """The refused note for a link in place of a file or folder."""
    return ForeignNote(file, "", refusal="is a link, and links are not followed")


def read_note(file: Path, name: str) -> ForeignNote:
    """Read a note from a regular UTF-8 file that is not too large and has a portable name."""
    if file.is_symlink():
        return linked(file)
    if not all(map(_is_safe, name.split("/"))):
        return ForeignNote(file, name, refusal="has a name that is not safe for a file")
    try:
        data, mtime_ns = read_regular_file(file)
        text = data.decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        return ForeignNote(file, name, refusal="is not UTF-8")
    except OSError as error:
        return ForeignNote(file, name, refusal=f"cannot be read: {error.strerror or error}")
    if len(text) > MAX_CHARS:
        return ForeignNote(file, name, refusal=f"has more than {MAX_CHARS:,} characters")
    return ForeignNote(file, name, text, time.strftime("%Y-%m-%d", time.gmtime(mtime_ns / 1e9)))


def _is_safe(part: str) -> bool:
    """Whether a name is a valid file name on every system, without deceptive characters."""
    return bool(_NAME.fullmatch(part)) and not part.endswith((" ", ".")) and not _DEVICES.match(part)


def markdown_in(folder: Path) -> Iterator[Path]:
    """The Markdown files directly in a folder, links among them; none if it is missing or a link itself."""
    yield from (each for each in entries(folder) if each.name.lower().endswith(".md") and not each.is_dir())


def markdown_below(folder: Path) -> Iterator[Path]:
    """The Markdown files in a folder and the folders in it, links among them; what is hidden is left out."""
    for each in entries(folder):
        if each.name.startswith("."):
            continue
        if each.is_dir() and not each.is_symlink():
            yield from markdown_below(each)
        elif each.is_dir() or each.name.lower().endswith(".md"):
            yield each


def entries(folder: Path) -> list[Path]:
    """A folder's entries by name; none if it is missing, unreadable or a link."""
    if folder.is_symlink():
        return []
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
