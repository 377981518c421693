"""A folder of Markdown as an archive: a vault, or an unpacked export."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memslot import MemslotError

from memslot_memory_core.sources.files import SKIPPED_FOLDERS, leads_elsewhere, make_source_file
from memslot_memory_core.sources.roots import MARKDOWN, TRANSCRIPT
from memslot_memory_core.sources.text import open_source
from memslot_memory_core.transfer.item import MAX_FILE_BYTES, MAX_FILES, Item, UnusableItem


def read_folder(folder: Path) -> Iterator[Item | UnusableItem]:
    """The Markdown files below a folder, and the transcripts in its `sessions`; links are skipped."""
    files = 0
    for found in _walk(str(folder), ""):
        if isinstance(found, UnusableItem):
            yield found
            continue
        files += 1
        if files > MAX_FILES:
            raise MemslotError(f"{folder} holds more than {MAX_FILES:,} notes; import its subfolders one by one")
        path, location = found
        yield _read_one(path, location)


def _walk(folder: str, shown: str) -> Iterator[tuple[str, str] | UnusableItem]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield UnusableItem(shown or folder, f"cannot be read: {error.strerror or error}")
        return
    for entry in entries:
        path = shown + entry.name
        is_text = entry.name.lower().endswith(MARKDOWN) or (
            shown == "sessions/" and entry.name.lower().endswith(TRANSCRIPT)
        )
        if leads_elsewhere(entry):
            if is_text or entry.is_dir():
                yield UnusableItem(path, "is a symbolic link; import its target instead", harmless=True)
        elif entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED_FOLDERS:
                yield from _walk(entry.path, f"{path}/")
        elif is_text:
            yield path, entry.path


def _read_one(path: str, location: str) -> Item | UnusableItem:
    try:
        status = os.lstat(location)
        file = open_source(make_source_file("memory", path, location, status))
        if file is None:
            return UnusableItem(path, "changed during the import; import again")
        with file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return UnusableItem(path, f"cannot be read: {error.strerror or error}")
    if len(data) > MAX_FILE_BYTES:
        return UnusableItem(path, f"is larger than {MAX_FILE_BYTES:,} bytes")
    return Item(path, data, status.st_mtime)
