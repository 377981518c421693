"""Finds conversations in files, folders and archives, and says which program each is of."""

from __future__ import annotations

import itertools
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from memslot.errors import SessionError
from memslot.sessions.foreign import ForeignSession, Program
from memslot.sessions.importers.chatgpt import is_chatgpt, read_chatgpt
from memslot.sessions.importers.claude_code import is_claude_code, read_claude_code
from memslot.sessions.importers.codex import is_codex, read_codex
from memslot.sessions.importers.openclaw import is_openclaw, read_openclaw
from memslot.sessions.importers.packed import PACKED, read_packed_lines
from memslot.sessions.transcript import Line, read_lines

MAX_JSON_BYTES = 2 * 1024 * 1024 * 1024
_LOOK = 200
"""Lines in which the program is looked for: files may begin with lines that tell nothing."""
_READERS = {
    "claude-code": read_claude_code,
    "codex": read_codex,
    "openclaw": read_openclaw,
    "memslot": read_openclaw,
}


def find_files(path: Path) -> Iterator[Path]:
    """The files of a folder, and of those below it, that may hold conversations; links in it are not followed."""
    if not path.is_dir():
        yield path.resolve() if path.is_symlink() else path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            if _may_hold(name) and not file.is_symlink() and file.is_file():
                yield file


def _may_hold(name: str) -> bool:
    return name.removesuffix(PACKED).endswith((".jsonl", ".zip")) or _is_export(name)


def _is_export(name: str) -> bool:
    """`conversations.json`, or one of the parts `conversations-000.json` into which a large export is cut."""
    return name.startswith("conversations") and name.endswith(".json")


def read_file(path: Path, program: Program | None) -> Iterator[ForeignSession]:
    """The conversations of a file; a SessionError that says why there are none."""
    try:
        if path.suffix.lower() == ".zip":
            yield from _read_zip(path)
        elif path.suffix.lower() == ".json5":
            from memslot.sessions.importers.own_export import read_own_export

            yield read_own_export(path)
        elif path.suffix.lower() == ".json":
            with path.open("rb") as file:
                yield from _read_export(str(path), file, path.stat().st_size)
        else:
            yield _read_jsonl(path, program)
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None


def _read_jsonl(path: Path, program: Program | None) -> ForeignSession:
    found = program or _program_of(path)
    if found is None or found not in _READERS:
        raise SessionError(
            f"{path} is not a transcript that is known: not of Claude Code, Codex, OpenClaw, ChatGPT or memslot."
        )
    return _READERS[found](path.name.removesuffix(PACKED).removesuffix(".jsonl"), _lines(path))


def _lines(path: Path) -> Iterator[Line]:
    return read_packed_lines(path) if path.name.endswith(PACKED) else read_lines(path)


def _program_of(path: Path) -> Program | None:
    for _, _, record in itertools.islice(_lines(path), _LOOK):
        if record is None:
            continue
        if is_claude_code(record):
            return "claude-code"
        if is_codex(record):
            return "codex"
        if is_openclaw(record):
            return "openclaw"
    return None


def _read_zip(path: Path) -> Iterator[ForeignSession]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if _is_export(each.filename.rsplit("/", 1)[-1])]
            if not members:
                raise SessionError(f"{path} holds no conversations.json; is it the export of ChatGPT?")
            for member in members:
                with archive.open(member) as file:
                    yield from _read_export(f"{path}: {member.filename}", file, member.file_size)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise SessionError(f"{path} cannot be unpacked ({error}); download the export again.") from None


def _read_export(name: str, file: IO[bytes], size: int) -> Iterator[ForeignSession]:
    if size > MAX_JSON_BYTES:
        raise SessionError(f"{name} is larger than {MAX_JSON_BYTES:,} bytes; is it the right file?")
    try:
        tree = json.loads(file.read(size + 1).decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise SessionError(f"{name} is not whole JSON ({error}); download the export again.") from None
    if tree and not is_chatgpt(tree):
        raise SessionError(f"{name} is not the export of ChatGPT: its entries have no mapping.")
    yield from read_chatgpt(tree)
