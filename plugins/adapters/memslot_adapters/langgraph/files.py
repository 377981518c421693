"""The notes of the store on disk: one writer at a time, never half of one, and nothing behind a link."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memslot import MemoryFiles, MemslotError, note_lock, write_file

from memslot_adapters.langgraph.item import Stored, read_note
from memslot_adapters.langgraph.item_paths import folder_name, note_name

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
        """An item; a MemslotError where its note is there and cannot be read."""
        file = self._file(namespace, key)
        try:
            self._refuse_links(file)
            return self._read(file)
        except (OSError, ValueError) as error:
            raise MemslotError(f"{file} cannot be read as an item: {error}") from None

    def below(self, namespace: Sequence[str]) -> Iterator[Stored]:
        """The items of a namespace and of those below it. A note that cannot be read is passed over with a warning."""
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
                _log.warning("%s is passed over: %s", file, error)
                continue
            if stored is None:
                continue
            if self._file(stored.namespace, stored.key) != Path(file):
                _log.warning("%s is passed over: it says that it is another item", file)
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
        """Be the only one who changes these items, each a namespace and a key; reading needs no lock."""
        files = [self._file(namespace, key) for namespace, key in items]
        for file in files:
            self._refuse_links(file)
        try:
            with note_lock(*files):
                yield
        except OSError as error:
            raise MemslotError(f"{files[0]} could not be written: {error.strerror or error}") from None

    def write(self, stored: Stored, note: bytes) -> None:
        """Put a note in its place in one step; after a crash at any moment it is the old or the new."""
        file = self._file(stored.namespace, stored.key)
        try:
            self._refuse_links(file)
            write_file(file, note)
        except OSError as error:
            raise MemslotError(f"{file} could not be written: {error.strerror or error}") from None

    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Remove an item, and the folders that are empty without it."""
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
                raise MemslotError(f"{each} is a link, and the store follows none; replace it by what it leads to")


def _notes(folder: str, suffix: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        _log.warning("%s is passed over: %s", folder, error.strerror or error)
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(suffix):
            yield entry.path
        elif entry.is_dir(follow_symlinks=False):
            yield from _notes(entry.path, suffix)
