"""Executes the commands of Anthropic's memory tool on a memory's note files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memslot import (
    CanKeepFiles,
    FileChangedError,
    FileStamp,
    Memory,
    MemslotError,
    file_stamp,
    find_secrets,
    redact,
    redact_lines,
    strip_recalled,
)

from memslot_anthropic_memory.answer import MemoryAnswer, Refused
from memslot_anthropic_memory.display import list_folder, show_around, show_file, split_lines
from memslot_anthropic_memory.note_files import locked, read_text, write_text
from memslot_anthropic_memory.paths import NotePath, locate, must_be_note

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
MAX_TEXT_CHARS = 1_000_000
_ATTEMPTS = 5


class MemoryTool:
    """The note files of a memory, as Claude's memory tool sees them under /memories: `MemoryTool(host.memory)`.

    Safe across threads and processes. It only reads and writes notes: no path or link leads out. Secrets are redacted
    in what it shows and writes.
    """

    def __init__(self, memory: Memory | CanKeepFiles | None) -> None:
        """Raises MemslotError for a memory without note files."""
        if not isinstance(memory, CanKeepFiles):
            raise MemslotError("the memory tool edits note files, and the memory in the slot has none")
        self._memory = memory
        files = memory.files()
        self._files = replace(files, root=Path(os.path.realpath(files.root.expanduser())))

    def handle(self, command: Mapping[str, Any]) -> MemoryAnswer:
        """Execute a command, the `input` of a tool_use block. Never raises for invalid input from a model."""
        try:
            return MemoryAnswer(self._carry_out(command))
        except Refused as refusal:
            return MemoryAnswer(str(refusal), is_error=True)
        except OSError as error:
            return MemoryAnswer(f"Error: cannot access the notes: {error.strerror or error}", is_error=True)

    def _carry_out(self, command: Mapping[str, Any]) -> str:
        if not isinstance(command, Mapping):
            raise Refused("Error: a command must be an object")
        name = command.get("command")
        if name == "view":
            return self._view(command)
        if name not in COMMANDS:
            raise Refused(f"Error: `command` must be one of {', '.join(COMMANDS)}")
        for _ in range(_ATTEMPTS):  # the lock excludes other note writers, but not an editor
            with contextlib.suppress(FileChangedError):
                return self._change(name, command) + _redaction_notice(command)
        raise Refused("Error: the note is being changed by another process; try again")

    @contextlib.contextmanager
    def _changing(self, *spots: NotePath) -> Iterator[None]:
        """Lock these notes for a change, then notify the memory."""
        with locked(*spots):
            yield
        self._memory.files_changed(*(spot.file.relative_to(self._files.root).as_posix() for spot in spots))

    def _change(self, name: str, command: Mapping[str, Any]) -> str:
        if name == "create":
            return self._create(command)
        if name == "str_replace":
            return self._str_replace(command)
        if name == "insert":
            return self._insert(command)
        return self._delete(command) if name == "delete" else self._rename(command)

    def _view(self, command: Mapping[str, Any]) -> str:
        spot = locate(self._files, command.get("path"))
        kind = spot.kind()
        if spot.is_root or kind == "folder":
            return list_folder(self._files, spot)
        if kind is None or not spot.shown.endswith(self._files.suffix):
            raise Refused(f"The path {spot.shown} does not exist. Please provide a valid path.")
        # Redaction must keep the line count: the model uses line numbers to insert.
        lines = redact_lines(split_lines(_plain(read_text(spot.file, spot.shown))))
        return show_file(spot.shown, lines, command.get("view_range"))

    def _create(self, command: Mapping[str, Any]) -> str:
        spot = locate(self._files, command.get("path"))
        text = _cleaned(command, "file_text")
        if spot.is_root or spot.kind() is not None:
            raise Refused(f"Error: File {spot.shown} already exists")
        must_be_note(spot, self._files.suffix)
        self._refuse_file_as_parent(spot)
        with self._changing(spot):
            write_text(spot.file, text, spot.shown, expected=None)
        return f"File created successfully at: {spot.shown}"

    def _str_replace(self, command: Mapping[str, Any]) -> str:
        missing = "Error: The path {} does not exist. Please provide a valid path."
        spot = self._locate_note(command, missing)
        with self._changing(spot):
            return self._replace_in(spot, command)

    def _replace_in(self, spot: NotePath, command: Mapping[str, Any]) -> str:
        content, newline, stamp = _open(spot)
        old, new = _text(command, "old_str").replace("\r\n", "\n"), _cleaned(command, "new_str", or_empty=True)
        count = content.count(old) if old else 0
        if count == 0:
            raise Refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {spot.shown}.")
        offset = content.index(old)
        if count > 1:
            numbers = ", ".join(str(each) for each in _lines_of(content, old))
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
                "Please ensure it is unique"
            )
        changed = content[:offset] + new + content[offset + len(old) :]
        write_text(spot.file, changed.replace("\n", newline), spot.shown, expected=stamp)
        first = content.count("\n", 0, offset)
        snippet = show_around(redact_lines(split_lines(changed)), first, first + new.count("\n"))
        return f"The memory file has been edited.\n{snippet}"

    def _insert(self, command: Mapping[str, Any]) -> str:
        spot = self._locate_note(command, "Error: The path {} does not exist")
        with self._changing(spot):
            return self._insert_in(spot, command)

    def _insert_in(self, spot: NotePath, command: Mapping[str, Any]) -> str:
        content, newline, stamp = _open(spot)
        lines, place = split_lines(content), command.get("insert_line")
        added = _cleaned(command, "insert_text")
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place <= len(lines):
            raise Refused(
                f"Error: Invalid `insert_line` parameter: {place}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        changed = "\n".join([*lines[:place], *split_lines(added), *lines[place:]]) + "\n"
        write_text(spot.file, changed.replace("\n", newline), spot.shown, expected=stamp)
        return f"The file {spot.shown} has been edited."

    def _delete(self, command: Mapping[str, Any]) -> str:
        spot = locate(self._files, command.get("path"))
        kind = spot.kind()
        if spot.is_root:
            raise Refused(f"Error: {spot.shown} itself cannot be deleted")
        if kind is None or (kind == "file" and not spot.shown.endswith(self._files.suffix)):
            raise Refused(f"Error: The path {spot.shown} does not exist")
        with self._changing(spot):
            if kind == "file":
                spot.file.unlink()
            else:
                _refuse_other_files(spot, self._files.suffix)
                shutil.rmtree(spot.file)
        return f"Successfully deleted {spot.shown}"

    def _rename(self, command: Mapping[str, Any]) -> str:
        old = locate(self._files, command.get("old_path"))
        new = locate(self._files, command.get("new_path"))
        kind = old.kind()
        if old.is_root or new.is_root:
            raise Refused(f"Error: {old.shown if old.is_root else new.shown} itself cannot be renamed or replaced")
        if kind is None or (kind == "file" and not old.shown.endswith(self._files.suffix)):
            raise Refused(f"Error: The path {old.shown} does not exist")
        _refuse_taken(new)
        if kind == "file":
            must_be_note(new, self._files.suffix)
        elif new.shown.endswith(self._files.suffix) or f"{new.shown}/".startswith(f"{old.shown}/"):
            raise Refused(f"Error: the directory {old.shown} cannot become {new.shown}")
        self._refuse_file_as_parent(new)
        with self._changing(old, new):
            _refuse_taken(new)
            old.file.rename(new.file)
        return f"Successfully renamed {old.shown} to {new.shown}"

    def _locate_note(self, command: Mapping[str, Any], missing: str) -> NotePath:
        spot = locate(self._files, command.get("path"))
        if spot.kind() != "file" or not spot.shown.endswith(self._files.suffix):
            raise Refused(missing.format(spot.shown))
        return spot

    def _refuse_file_as_parent(self, spot: NotePath) -> None:
        for folder in spot.file.parents:
            if folder == self._files.root:
                return
            if folder.exists() and not folder.is_dir():
                raise Refused(f"Error: a parent of {spot.shown} is a file, not a directory")


def _open(spot: NotePath) -> tuple[str, str, FileStamp | None]:
    """A note's text with \\n newlines, its own newline, and its stamp."""
    stamp = file_stamp(spot.file)
    text = read_text(spot.file, spot.shown)
    return _plain(text), "\r\n" if "\r\n" in text else "\n", stamp


def _redaction_notice(command: Mapping[str, Any]) -> str:
    texts = (command.get(key) for key in ("file_text", "new_str", "insert_text"))
    if any(isinstance(text, str) and find_secrets(strip_recalled(text)) for text in texts):
        return "\nSecrets in the text were replaced by [redacted]; notes do not keep them."
    return ""


def _refuse_taken(spot: NotePath) -> None:
    if spot.kind() is not None:
        raise Refused(f"Error: The destination {spot.shown} already exists")


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _text(command: Mapping[str, Any], key: str) -> str:
    value = command.get(key)
    if not isinstance(value, str):
        raise Refused(f"Error: `{key}` is missing or not text")
    if len(value) > MAX_TEXT_CHARS:
        raise Refused(f"Error: `{key}` has more than {MAX_TEXT_CHARS:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused(f"Error: `{key}` is not text: it has a lone surrogate") from None
    return value


def _cleaned(command: Mapping[str, Any], key: str, *, or_empty: bool = False) -> str:
    """A text to write, without secrets and recalled memories."""
    if or_empty and command.get(key) is None:
        return ""
    return _plain(redact(strip_recalled(_text(command, key))))


def _lines_of(content: str, wanted: str) -> list[int]:
    numbers, start = [], content.find(wanted)
    while start != -1:
        numbers.append(content.count("\n", 0, start) + 1)
        start = content.find(wanted, start + len(wanted))
    return numbers


def _refuse_other_files(spot: NotePath, suffix: str) -> None:
    """Refuse to delete a folder with files that the model cannot see."""
    for folder, folders, files in os.walk(spot.file):
        names = [name for name in files if not name.endswith(suffix)]
        names += [name for name in folders if (Path(folder) / name).is_symlink() or name == "node_modules"]
        names += [name for name in (*folders, *files) if name.startswith(".")]
        if names:
            raise Refused(f"Error: {spot.shown} has files that are not notes and was not deleted, such as {names[0]}")
