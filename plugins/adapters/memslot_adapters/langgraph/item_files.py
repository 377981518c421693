"""The store's items as note files: one writer at a time, written atomically, links refused."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memslot import MemoryFiles, MemslotError, note_lock, write_file

from memslot_adapters.langgraph.item import Stored, read_note

FOLDER = "store"
"""Name of the folder of notes that holds the items."""
MAX_DEPTH = 16
_LONGEST = 100
_READABLE = 60
# Lower case only, for case-insensitive file systems; no dot, so that a label is never an item's file name.
_PLAIN = re.compile(rb"[a-z0-9_-]")
# Reserved on Windows, or folders that are never searched for notes.
_TAKEN = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|node_modules|venv|__pycache__)")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_log = logging.getLogger("memslot.adapters")


class NoteFiles:
    """The items among a memory's note files. Processes and threads may share them."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def path_of(self, namespace: Sequence[str], key: str) -> str:
        """The path of an item's note as the memory names it."""
        return self._files.path_of(note_name(namespace, key, self._files.suffix))

    def _file(self, namespace: Sequence[str], key: str) -> Path:
        return self._files.root / self.path_of(namespace, key)

    def get(self, namespace: Sequence[str], key: str) -> Stored | None:
        """An item; raises a MemslotError if its note cannot be read."""
        file = self._file(namespace, key)
        try:
            self._refuse_links(file)
            return self._read(file)
        except (OSError, ValueError) as error:
            raise MemslotError(f"{file} cannot be read as an item: {error}") from None

    def below(self, namespace: Sequence[str]) -> Iterator[Stored]:
        """The items of a namespace and those below it; unreadable notes are skipped with a warning."""
        folder = self._files.root / self._files.path_of(folder_name(namespace))
        try:
            self._refuse_links(folder)
        except MemslotError as error:
            _log.warning("%s", error)
            return
        for file in _notes(str(folder), self._files.suffix):
            try:
                stored = self._read(Path(file))
            except (OSError, ValueError) as error:
                _log.warning("%s is skipped: %s", file, error)
                continue
            if stored is None:
                continue
            if self._file(stored.namespace, stored.key) != Path(file):
                _log.warning("%s is skipped: it names another item", file)
                continue
            yield stored

    def _read(self, file: Path) -> Stored | None:
        try:
            descriptor = os.open(file, os.O_RDONLY | _FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with os.fdopen(descriptor, "rb") as found:
            return read_note(found.read())

    # Writing

    @contextlib.contextmanager
    def locked(self, items: Iterable[tuple[Sequence[str], str]]) -> Iterator[None]:
        """Lock these items, each a namespace and a key, for writing."""
        files = [self._file(namespace, key) for namespace, key in items]
        for file in files:
            self._refuse_links(file)
        try:
            with note_lock(*files):
                yield
        except OSError as error:
            raise MemslotError(f"{files[0]} could not be written: {error.strerror or error}") from None

    def write(self, stored: Stored, note: bytes) -> None:
        """Write a note atomically."""
        file = self._file(stored.namespace, stored.key)
        try:
            self._refuse_links(file)
            write_file(file, note)
        except OSError as error:
            raise MemslotError(f"{file} could not be written: {error.strerror or error}") from None

    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Remove an item, and folders that become empty."""
        file = self._file(namespace, key)
        try:
            self._refuse_links(file)
            file.unlink(missing_ok=True)
            for folder in file.parents[: len(namespace)]:
                folder.rmdir()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            if file.exists():
                raise MemslotError(f"{file} could not be deleted: {error.strerror or error}") from None

    def _refuse_links(self, file: Path) -> None:
        for each in (file, *file.parents):
            if each == self._files.root:
                return
            if each.is_symlink():
                raise MemslotError(f"{each} is a symbolic link, which is not followed; replace it with its target")


def _notes(folder: str, suffix: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        _log.warning("%s is skipped: %s", folder, error.strerror or error)
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(suffix):
            yield entry.path
        elif entry.is_dir(follow_symlinks=False):
            yield from _notes(entry.path, suffix)


def note_name(namespace: Sequence[str], key: str, suffix: str) -> str:
    """The name of an item's note, which is unique for any key."""
    return f"{folder_name(namespace)}/{encode(key)}{suffix}"


def folder_name(namespace: Sequence[str]) -> str:
    """The folder of notes with the items of a namespace and of those below it."""
    if len(namespace) > MAX_DEPTH:
        raise MemslotError(f"a namespace has at most {MAX_DEPTH} labels, this one has {len(namespace)}")
    return "/".join([FOLDER, *(encode(label) for label in namespace)])


@functools.lru_cache(maxsize=4096)
def encode(name: str) -> str:
    """Encode a name for a path: special bytes as %xx, long names as a prefix and a hash."""
    data = name.encode("utf-8", "surrogatepass")
    coded = "".join(chr(byte) if _PLAIN.match(bytes([byte])) else f"%{byte:02x}" for byte in data)
    if _TAKEN.fullmatch(coded):
        coded = f"%{data[0]:02x}{coded[1:]}"
    if not coded:
        return "~"
    if len(coded) <= _LONGEST:
        return coded
    return f"{coded[:_READABLE]}~{hashlib.sha256(data).hexdigest()[:32]}"
