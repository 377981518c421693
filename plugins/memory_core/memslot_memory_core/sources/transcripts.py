"""Reads transcripts, one line per message, and incrementally after the first time."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from memslot_memory_core.sources.chunking import Chunk, chunk_lines
from memslot_memory_core.sources.files import SourceFile, make_stamp
from memslot_memory_core.sources.messages import BrokenLineError, Message, is_whole, read_message
from memslot_memory_core.sources.text import open_source

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Longer lines are skipped: they contain files, not messages."""
MAX_CHARS = 16 * 1024 * 1024
"""Characters per read; more than a chunk, so that each read makes progress."""
_GROWTH_BYTES = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_RESUME = re.compile(r"([0-9]{1,18}):([0-9]{1,18}):([0-9]{1,18}):([0-9a-f]{64})")
_MESSAGE = re.compile(rb'"type"\s*:\s*"message"')


@dataclass(frozen=True)
class Resume:
    """A resume point: the line and offset of the last chunk that begins a line.

    `end` is how far the file has been read, `guard` the SHA-256 of all bytes up to there: if it doesn't match, the file
    was not only appended to, and is read from the start.
    """

    offset: int
    line: int
    end: int
    guard: str

    def to_text(self) -> str:
        return f"{self.offset}:{self.line}:{self.end}:{self.guard}"

    @classmethod
    def from_text(cls, text: str | None) -> Resume | None:
        """Parse the output of `to_text`; None if it is invalid, which means to read everything."""
        found = _RESUME.fullmatch(text or "")
        if found is None:
            return None
        resume = cls(int(found[1]), int(found[2]), int(found[3]), found[4])
        return resume if resume.offset <= resume.end and resume.line >= 1 else None


class UserLine(NamedTuple):
    """A user message in one line of the JSONL file."""

    number: int
    text: str


class _Position(NamedTuple):
    offset: int
    line: int


@dataclass(frozen=True)
class Transcript:
    """The messages of a transcript from line `first_line` on, each as one line.

    It replaces everything indexed of the file from that line on; `first_line` is 1 if all was read. If `resumed`, an
    earlier read was continued, and what it read is still valid. `numbers` are line numbers in the JSONL file, `times`
    Unix times of the messages. `broken` counts unreadable lines. If `more`, the file continues: read again from the
    resume point that `chunk_transcript` returns.
    """

    first_line: int
    resumed: bool
    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    times: tuple[float | None, ...]
    user_lines: tuple[UserLine, ...]
    stamp: str
    broken: int
    more: bool
    positions: tuple[_Position, ...]
    rest: _Position
    end: int
    guard: str

    def time_of(self, start_line: int, end_line: int) -> float | None:
        """Return the time of the last message in these lines."""
        begin, end = bisect_left(self.numbers, start_line), bisect_right(self.numbers, end_line)
        return max((time for time in self.times[begin:end] if time is not None), default=None)


def read_transcript(
    source: SourceFile, *, resume: Resume | None = None, max_chars: int = MAX_CHARS
) -> Transcript | None:
    """Read the messages from the resume point on, or all if the file was rewritten; None if it is gone.

    A last line without a line end counts if it is a complete record.
    """
    file = open_source(source)
    if file is None:
        return None
    with file:
        stamp = make_stamp(os.fstat(file.fileno()))
        reading = _TranscriptReader(file, max_chars)
        resumed = resume is not None and reading.resume_at(resume)
        if not resumed:
            reading.rewind()
        return reading.run(stamp, resumed)


def chunk_transcript(transcript: Transcript, *, tokens: int, overlap: int) -> tuple[list[Chunk], Resume]:
    """Chunk what was read; return the chunks and the resume point."""
    chunks = chunk_lines(transcript.lines, transcript.numbers, tokens=tokens, overlap=overlap)
    place = transcript.rest
    for chunk in reversed(chunks):
        if chunk.begins_line:
            place = transcript.positions[bisect_left(transcript.numbers, chunk.start_line)]
            break
    return chunks, Resume(place.offset, place.line, transcript.end, transcript.guard)


def growth(source: SourceFile, consumed: int) -> tuple[int, int]:
    """Return the bytes and messages, including tools', after the part already read (`Resume.end`).

    Messages are counted by a pattern, in the first few megabytes only. A file that has shrunk was rewritten, and counts
    as a whole.
    """
    file = open_source(source)
    if file is None:
        return 0, 0
    with file:
        size = os.fstat(file.fileno()).st_size
        begin = consumed if consumed <= size else 0
        file.seek(begin)
        return size - begin, len(_MESSAGE.findall(file.read(min(size - begin, _GROWTH_BYTES))))


class _TranscriptReader:
    """Reads a file line by line and records the position of each message."""

    def __init__(self, file: BinaryIO, max_chars: int) -> None:
        self.file, self.max_chars = file, max_chars
        self.offset, self.line = 0, 1
        self.hash = hashlib.sha256()
        """Hash of all bytes before the offset."""
        self.broken = 0
        self.spoken: list[Message] = []
        self.numbers: list[int] = []
        self.positions: list[_Position] = []

    def rewind(self) -> None:
        self.file.seek(0)
        self.offset, self.line, self.hash = 0, 1, hashlib.sha256()

    def resume_at(self, resume: Resume) -> bool:
        """Resume an earlier read; False if the file was not only appended to."""
        if os.fstat(self.file.fileno()).st_size < resume.end:
            return False
        self.file.seek(0)
        before = hashlib.sha256()
        last = self._hash_into(before, resume.offset)
        all_read = before.copy()
        last = self._hash_into(all_read, resume.end - resume.offset) or last
        if all_read.hexdigest() != resume.guard:
            return False
        if last not in (b"", b"\n") and self.file.readline(MAX_LINE_BYTES).strip():
            return False  # a line without its end was taken as complete, but continued
        self.file.seek(resume.offset)
        self.offset, self.line, self.hash = resume.offset, resume.line, before
        return True

    def _hash_into(self, target: hashlib._Hash, length: int) -> bytes:
        """Hash the next bytes of the file; returns the last of them."""
        last = b""
        while length > 0 and (block := self.file.read(min(length, _BLOCK_BYTES))):
            target.update(block)
            length -= len(block)
            last = block[-1:]
        return last

    def run(self, stamp: str, resumed: bool) -> Transcript:
        first_line = self.line
        # The first message doesn't count: one longer than the limit must not stop the read without progress.
        chars, more, unended = 0, False, b""
        while raw := self.file.readline(MAX_LINE_BYTES):
            if chars > self.max_chars:
                more = True
                break
            if raw.endswith(b"\n"):
                chars += self._take(raw)
                self.hash.update(raw)
                self._pass(len(raw))
            elif len(raw) < MAX_LINE_BYTES:
                if is_whole(raw):
                    self._take(raw)
                    unended = raw
                break
            elif not self._pass_rest(raw):
                break
        rest = self._position()
        end = self.offset + len(unended)
        self.hash.update(unended)
        return Transcript(
            first_line=first_line,
            resumed=resumed,
            lines=tuple([said.line for said in self.spoken]),
            numbers=tuple(self.numbers),
            times=tuple([said.time for said in self.spoken]),
            user_lines=tuple(
                [
                    UserLine(number, said.text)
                    for number, said in zip(self.numbers, self.spoken, strict=True)
                    if said.speaker == "User"
                ]
            ),
            stamp=stamp,
            broken=self.broken,
            more=more,
            positions=tuple(self.positions),
            rest=rest,
            end=end,
            guard=self.hash.hexdigest(),
        )

    def _take(self, raw: bytes) -> int:
        """Keep a line's message; return how many characters count towards the limit."""
        try:
            said = read_message(raw)
        except BrokenLineError:
            self.broken += 1
            return 0
        if said is None:
            return 0
        self.spoken.append(said)
        self.numbers.append(self.line)
        self.positions.append(self._position())
        return len(said.text) if len(self.spoken) > 1 else 0

    def _pass(self, length: int) -> None:
        self.offset += length
        self.line += 1

    def _pass_rest(self, raw: bytes) -> bool:
        """Skip a line that is too long; False if its end is not written yet."""
        length, line_hash = len(raw), self.hash.copy()
        line_hash.update(raw)
        while block := self.file.readline(_BLOCK_BYTES):
            length += len(block)
            line_hash.update(block)
            if block.endswith(b"\n"):
                self.broken += 1
                self.hash = line_hash
                self._pass(length)
                return True
        return False

    def _position(self) -> _Position:
        return _Position(self.offset, self.line)
