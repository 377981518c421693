"""Transcripts: one append-only file per conversation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memslot.agent.messages import message_text
from memslot.errors import SessionError
from memslot.sessions.lines import MAX_LINE_BYTES, VERSION, Header, header_of, message_of, parse
from memslot.sessions.times import to_ms
from memslot.storage.atomic import append_durably

SUMMARY_LEAD = "Summary of the conversation so far:"
_BLOCK = 1024 * 1024
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class Line(NamedTuple):
    """A raw line; `record` is None if it is not a JSON object."""

    number: int
    raw: bytes
    record: dict[str, Any] | None


@dataclass(frozen=True)
class Entry:
    """A message of a transcript, with its line number and time."""

    line: int
    id: str | None
    time: int | None
    message: Mapping[str, Any]

    @property
    def role(self) -> str:
        return str(self.message.get("role", ""))

    @property
    def text(self) -> str:
        return message_text(self.message)


class Compacted(NamedTuple):
    """The last compaction: its line, its summary, and the first message kept."""

    line: int
    summary: str
    first_kept_id: str | None


@dataclass(frozen=True)
class Transcript:
    """A parsed transcript. `broken` lists unparseable lines; `torn` means the last line is cut off."""

    header: Header | None
    entries: tuple[Entry, ...]
    broken: tuple[int, ...] = ()
    torn: bool = False
    compacted: Compacted | None = None

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """All messages, including compacted ones."""
        return tuple(entry.message for entry in self.entries)

    @property
    def context(self) -> tuple[Mapping[str, Any], ...]:
        """The messages to resume with: the last summary, if any, and everything after it."""
        if self.compacted is None:
            return self.messages
        summary = {"role": "user", "content": f"{SUMMARY_LEAD}\n\n{self.compacted.summary}"}
        return summary, *(entry.message for entry in self.entries[self._first_kept(self.compacted) :])

    def _first_kept(self, compacted: Compacted) -> int:
        for place, entry in enumerate(self.entries):
            if entry.line > compacted.line or (entry.id is not None and entry.id == compacted.first_kept_id):
                return place
        return len(self.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, one sentence each."""
        said = []
        if self.header is not None and self.header.is_newer:
            said.append(
                f"was written by a newer program (version {self.header.version}); unknown line types are ignored"
            )
        if self.broken:
            shown = ", ".join(map(str, self.broken[:5])) + (" …" if len(self.broken) > 5 else "")
            said.append(f"has {len(self.broken)} unreadable line(s): {shown}")
        if self.torn:
            said.append("ends in the middle of a line, which is ignored: its writer was interrupted")
        return tuple(said)


def read_jsonl(source: Path | BinaryIO) -> Iterator[Line]:
    """Yield a file's lines; overlong ones without their content. Raises OSError."""
    if isinstance(source, Path):
        with _open(source) as file:
            yield from read_jsonl(file)
        return
    file, number = source, 0
    while raw := file.readline(MAX_LINE_BYTES + 2):
        number += 1
        if raw.endswith(b"\n") or len(raw) < MAX_LINE_BYTES + 2:
            if raw.strip():
                yield Line(number, raw, parse(raw))
            continue
        while (block := file.readline(_BLOCK)) and not block.endswith(b"\n"):
            pass
        yield Line(number, b"\n" if block else b"", None)


def read_transcript(path: Path) -> Transcript:
    """Read a transcript; unknown line types are ignored. Raises OSError."""
    header: Header | None = None
    entries: list[Entry] = []
    broken: list[int] = []
    torn = False
    compacted: Compacted | None = None
    for number, raw, record in read_jsonl(path):
        if record is None:
            torn = not raw.endswith(b"\n")
            if not torn:
                broken.append(number)
            continue
        if number == 1:
            header = header_of(record)
        message = message_of(record)
        if message is not None:
            entries.append(_entry(number, record, message))
        elif record.get("type") == "compaction" and isinstance(record.get("summary"), str):
            first = record.get("firstKeptEntryId")
            compacted = Compacted(number, record["summary"], first if isinstance(first, str) else None)
    return Transcript(header, tuple(entries), tuple(broken), torn, compacted)


def _entry(number: int, record: Mapping[str, Any], message: Mapping[str, Any]) -> Entry:
    found = record.get("id")
    time = to_ms(record.get("timestamp")) or to_ms(message.get("timestamp"))
    return Entry(number, found if isinstance(found, str) else None, time, message)


def read_header(path: Path) -> Header | None:
    """Read only the header. Raises OSError."""
    with _open(path) as file:
        return header_of(parse(file.readline(_BLOCK)))


def append_lines(path: Path, session_id: str, lines: Sequence[bytes]) -> None:
    """Append whole lines durably. Requires the lock.

    On failure the file is unchanged. A torn last line gets its newline first, so nothing else is lost. Raises OSError,
    or SessionError if the file is not ours to write.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | _NO_WAIT | _FLAGS)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        _refuse_to_write(path, session_id, header_of(parse(file.readline(_BLOCK))))
        size = file.seek(0, os.SEEK_END)
        data = b"".join(lines)
        if size:
            file.seek(size - 1)
            data = data if file.read(1) == b"\n" else b"\n" + data
        append_durably(descriptor, data)


def _refuse_to_write(path: Path, session_id: str, header: Header | None) -> None:
    if header is None:
        return  # a foreign file without a header
    if header.is_newer:
        raise SessionError(
            f"{path} was written by a newer program (version {header.version}, this one knows {VERSION}) and is "
            "left unchanged; upgrade memslot, or start another session."
        )
    if header.id is not None and header.id != session_id and path.stem != session_id:
        raise SessionError(f"{path} is the transcript of another session, {header.id!r}; choose another id.")


def _open(path: Path) -> BinaryIO:
    """Open without following links or blocking on pipes: the folder may contain anything."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _FLAGS)
    return os.fdopen(descriptor, "rb")
