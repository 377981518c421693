"""Turns a file on disk into rows for the index: chunks, user lines and a resume point."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memslot import redact_lines, without_starter

from memslot_memory_core.index.file_writer import Piece, PreparedFile
from memslot_memory_core.index.memory_sources import UNSETTLED, IndexedFile, Unchanged
from memslot_memory_core.sources.chunking import Chunk, chunk_lines
from memslot_memory_core.sources.dates import time_of_note
from memslot_memory_core.sources.text import read_text_file
from memslot_memory_core.sources.transcripts import Resume, chunk_transcript, read_transcript

if TYPE_CHECKING:
    from memslot_memory_core.settings import SearchSettings
    from memslot_memory_core.sources.files import SourceFile

_TICK_SECONDS, _COARSE_TICK_SECONDS = 0.05, 2.5


def prepare_note(
    file: SourceFile, known: IndexedFile | None, settings: SearchSettings
) -> Sequence[PreparedFile] | Unchanged | None:
    """Prepare a note; `Unchanged` if its content is indexed already, None if it is gone."""
    document = read_text_file(file)
    if document is None:
        return None
    stamp = _settled(document.stamp)
    if known is not None and known.hash == document.hash:
        return Unchanged(stamp)
    # Redact before chunking: half a secret can't be recognized.
    chunks = chunk_lines(redact_lines(without_starter(document.lines)), None, **_chunking(settings))
    remarks = [f"{document.replaced} undecodable bytes were replaced"] if document.replaced else []
    if document.truncated:
        remarks.append("too large, only the first 64 MB are indexed")
    written = time_of_note(file.path)
    pieces = [_piece(chunk, written, has_parts=True) for chunk in chunks]
    return [_prepared(file, stamp, document.hash, pieces, remark="; ".join(remarks) or None)]


def prepare_transcript(
    file: SourceFile, known: IndexedFile | None, settings: SearchSettings
) -> Sequence[PreparedFile] | Unchanged | None:
    """Prepare a transcript's new messages, in one or more parts; None if it is gone."""
    resume = None if known is None else Resume.from_text(known.resume)
    parts: list[PreparedFile] = []
    while True:
        transcript = read_transcript(file, resume=resume)
        if transcript is None:
            return parts or None
        if resume is not None and not parts and transcript.resumed and transcript.end == resume.end:
            return Unchanged(_settled(transcript.stamp))
        more = transcript.more
        chunks, resume = chunk_transcript(transcript, **_chunking(settings))
        parts.append(
            _prepared(
                file,
                _settled(transcript.stamp),
                resume.guard,
                [_piece(chunk, transcript.time_of(chunk.start_line, chunk.end_line)) for chunk in chunks],
                turns=[_turn(line.number, line.text) for line in transcript.user_lines],
                from_line=transcript.first_line,
                resume=resume.to_text(),
                remark=f"{transcript.broken} lines could not be read" if transcript.broken else None,
            )
        )
        if not more:
            return parts


def _chunking(settings: SearchSettings) -> dict[str, int]:
    return {"tokens": settings.chunking.tokens, "overlap": settings.chunking.overlap}


def _prepared(
    file: SourceFile,
    stamp: str,
    content_hash: str,
    chunks: Sequence[Piece],
    *,
    turns: Sequence[Piece] = (),
    from_line: int = 1,
    resume: str | None = None,
    remark: str | None = None,
) -> PreparedFile:
    return PreparedFile(
        source=file.source,
        path=file.path,
        stamp=stamp,
        hash=content_hash,
        size=file.size,
        mtime=file.mtime,
        private=file.private,
        chunks=chunks,
        turns=turns,
        from_line=from_line,
        resume=resume,
        remark=remark,
    )


def _piece(chunk: Chunk, written: float | None, *, has_parts: bool = False) -> Piece:
    return Piece(chunk.start_line, chunk.end_line, chunk.text, bytes.fromhex(chunk.hash), written, has_parts)


def _turn(line: int, text: str) -> Piece:
    return Piece(line, line, text, hashlib.sha256(text.encode()).digest())


def _settled(stamp: str, now: Callable[[], float] = time.time) -> str:
    """The stamp, marked as unsettled if a further change could go unnoticed within the clock's resolution."""
    _, *times = stamp.split(":")[:3]
    # A time far in the future, as after a clock change, is safe: new writes get the current time.
    return stamp + UNSETTLED if any(_is_now(int(each), now()) for each in times) else stamp


def _is_now(moment_ns: int, now: float) -> bool:
    tick = _COARSE_TICK_SECONDS if moment_ns % 1_000_000_000 == 0 else _TICK_SECONDS
    return abs(now - moment_ns / 1e9) <= tick
