"""Finds and reads conversations in files, folders and archives of several programs."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import IO, Any

from memslot import (
    ForeignSession,
    SessionError,
    extra_install_command,
    find_coding_agent,
    read_agent_export,
    read_agent_lines,
    read_jsonl,
    read_opencode,
    read_session_file,
)

from memslot_importers.chatgpt import is_chatgpt, read_chatgpt

PACKED = ".zst"
"""Codex compresses old transcripts with Zstandard."""
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
MAX_JSON_BYTES = 2 * 1024 * 1024 * 1024
KNOWN = "Claude Code, Codex, Gemini CLI, Qwen Code, opencode, OpenClaw, ChatGPT"
_OF_LINES = ("claude-code", "codex", "gemini", "qwen")
_LOOK = 200
"""Lines to inspect to detect the program: the first ones may be inconclusive."""
_OPENCODE = re.compile(r"opencode(?:-[\w.-]+)?\.db")
"""opencode's database; one per release channel."""
_OF_GEMINI = re.compile(r"session-[\w-]+\.json")
"""A conversation of Gemini CLI from before it wrote JSON Lines."""
_Line = tuple[int, bytes, dict[str, Any] | None]
"""Its number, its bytes, and its record, or None if it is not a JSON object."""


def find_files(path: Path) -> Iterator[Path]:
    """The files in a folder and below it that may hold conversations; links are not followed."""
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
    is_one = _is_export(name) or _OPENCODE.fullmatch(name) or _OF_GEMINI.fullmatch(name)
    return bool(is_one) or name.removesuffix(PACKED).endswith((".jsonl", ".zip"))


def _is_export(name: str) -> bool:
    """`conversations.json`, or one of the parts `conversations-000.json` into which a large export is cut."""
    return name.startswith("conversations") and name.endswith(".json")


def read_file(path: Path, program: str | None) -> Iterator[ForeignSession]:
    """The conversations of a file; raises a SessionError if it has none."""
    try:
        if path.suffix.lower() == ".zip":
            yield from _read_zip(path)
        elif path.suffix.lower() == ".json5":
            yield read_session_file(path)
        elif path.suffix.lower() == ".db":
            yield from read_opencode(path)
        elif path.suffix.lower() == ".json":
            with path.open("rb") as file:
                yield from _read_export(str(path), file, path.stat().st_size)
        else:
            yield _read_jsonl(path, program)
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None


def _read_jsonl(path: Path, program: str | None) -> ForeignSession:
    found = program or _program_of(path)
    if found in _OF_LINES:
        return read_agent_lines(found, path.name.removesuffix(PACKED).removesuffix(".jsonl"), _read_lines(path))
    if found in ("openclaw", "memslot"):
        session = read_session_file(path, _read_lines(path))
        return session if session.program else replace(session, program="openclaw")
    raise SessionError(f"{path} is not a transcript of {KNOWN} or memslot.")


def _read_lines(path: Path) -> Iterator[_Line]:
    """All lines of a file; raises OSError, or a SessionError if it cannot be decompressed."""
    if not path.name.endswith(PACKED):
        yield from read_jsonl(path)
        return
    try:
        zstd = importlib.import_module(_ZSTD)
    except ImportError:
        raise SessionError(
            f"{path} is compressed, and {_ZSTD} is not installed; "
            f"run `{extra_install_command('codex')}`, or decompress the file with `zstd -d`."
        ) from None
    try:
        with zstd.open(path) as file:
            yield from read_jsonl(file)
    except (zstd.ZstdError, EOFError) as error:
        raise SessionError(f"{path} cannot be decompressed ({error}).") from None


def _program_of(path: Path) -> str | None:
    for _, _, record in itertools.islice(_read_lines(path), _LOOK):
        if record is None:
            continue
        if agent := find_coding_agent(record):
            return agent
        if _is_openclaw(record):
            return "openclaw"
    return None


def _is_openclaw(record: Mapping[str, Any]) -> bool:
    """A header, or a message wrapped as theirs and ours are."""
    if record.get("type") == "session":
        return isinstance(record.get("id"), str)
    return record.get("type") == "message" and isinstance(record.get("message"), Mapping)


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
        raise SessionError(f"{name} is not valid JSON ({error}); download the export again.") from None
    if session := read_agent_export(PurePath(name).stem, tree):
        yield session
        return
    if tree and not is_chatgpt(tree):
        raise SessionError(f"{name} is not a ChatGPT export: its entries have no mapping.")
    yield from read_chatgpt(tree)
