"""Reads a file from disk and makes it ready for the index: chunks, the user's lines, where to go on next time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import real_path, redact_lines

from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.writing import Piece, Prepared
from memslot_memory_core.sources.chunking import Chunk, chunk_lines
from memslot_memory_core.sources.dates import time_of_note
from memslot_memory_core.sources.files import Discovery, SourceFile, discover
from memslot_memory_core.sources.lookup import coverage, find, may_be_listed
from memslot_memory_core.sources.text import read_text_file
from memslot_memory_core.sources.transcript_workspace import WorkspaceTranscripts
from memslot_memory_core.sources.transcripts import Resume, chunk_transcript, growth, read_transcript

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline, MemorySearch

UNSETTLED = "?"
"""At the end of a stamp: the file was read so soon after a change that another one might have the same times."""
_TICK_SECONDS, _COARSE_TICK_SECONDS = 0.05, 2.5


@dataclass(frozen=True)
class IndexedFile:
    """A file as the index knows it."""

    number: int
    source: str
    path: str
    stamp: str
    hash: str
    resume: str | None


@dataclass(frozen=True)
class Unchanged:
    """A file that was touched and says the same as before."""

    stamp: str


class Sources:
    """The files that one agent's settings name, and how they are cut."""

    def __init__(
        self, settings: MemorySearch, workspace: Path, sessions_dir: Path, *, with_unmarked: bool = False
    ) -> None:
        """`with_unmarked` also takes transcripts that don't say in which workspace they were held."""
        self._settings = settings
        self.workspace = workspace
        self._transcripts = WorkspaceTranscripts(real_path(workspace), with_unmarked=with_unmarked)
        wants_sessions = "sessions" in settings.sources and settings.experimental.session_memory
        self.sessions_dir = sessions_dir if wants_sessions else None
        self.names = ("memory", "sessions") if wants_sessions else ("memory",)

    def identity_of(self, pipeline: EmbeddingPipeline | None) -> Identity:
        """What an index of these sources, made with this pipeline, is."""
        return Identity.of(self._settings, self.names, None if pipeline is None else pipeline.provider)

    def discover(self, near: Collection[str] | None = None) -> Discovery:
        """All files that are there; with `near` those at these places of the disk, if they alone can be looked at."""
        extra_paths, sessions_dir = self._settings.extra_paths, self.sessions_dir
        if near is not None:
            from memslot_memory_core.sources.changed import look_at

            found = look_at(self.workspace, near, extra_paths=extra_paths, sessions_dir=sessions_dir)
            if found is not None:
                return self._transcripts.keep(found)
        found = discover(self.workspace, extra_paths=extra_paths, sessions_dir=sessions_dir)
        return self._transcripts.keep(found)

    def place_of(self, source: str, path: str) -> str:
        """Where on the disk a file of the index is, or was."""
        if source == "sessions" and self.sessions_dir is not None:
            return str(self.sessions_dir / path.removeprefix("sessions/"))
        return str(self.workspace / path)

    def find(self, path: str) -> SourceFile | None:
        """The file of that path, if it is one of those that are indexed."""
        file = find(self.workspace, path, extra_paths=self._settings.extra_paths, sessions_dir=self.sessions_dir)
        return file if file is None or self._transcripts.has(file) else None

    def may_hold(self, path: str) -> bool:
        """Whether a file that is not there would be indexed under that path."""
        extra_paths, sessions_dir = self._settings.extra_paths, self.sessions_dir
        return may_be_listed(self.workspace, path, extra_paths=extra_paths, sessions_dir=sessions_dir)

    def coverage(self) -> Callable[[str, str], bool]:
        """Tells of a source and a path in the index whether these settings name it, be it there or not."""
        return coverage(self.workspace, extra_paths=self._settings.extra_paths, sessions_dir=self.sessions_dir)

    def stamps(self) -> set[tuple[str, str, str]]:
        """Source, path and stamp of every file that is there."""
        return {(file.source, file.path, file.stamp) for file in self.discover().files}

    def grew_enough(self, file: SourceFile, row: IndexedFile) -> bool:
        """Whether a transcript has so much more to say that it is worth reading; any change of a note is."""
        resume = Resume.from_text(row.resume)
        if file.source != "sessions" or resume is None:
            return True
        if file.size <= resume.end:
            return True
        limits = self._settings.sync.sessions
        new_bytes, new_messages = growth(file, resume.end)
        return new_bytes >= max(1, limits.delta_bytes) or new_messages >= max(1, limits.delta_messages)

    def prepare(
        self, file: SourceFile, row: IndexedFile | None, *, anew: bool = False
    ) -> Sequence[Prepared] | Unchanged | None:
        """The file's new content in one or more parts; None when it is gone. Raises OSError for one it may not read.

        `anew`: also what the index has already.
        """
        if file.source == "sessions":
            return self._prepare_transcript(file, None if row is None or anew else Resume.from_text(row.resume))
        document = read_text_file(file)
        if document is None:
            return None
        stamp = _settled(document.stamp)
        if row is not None and not anew and row.hash == document.hash:
            return Unchanged(stamp)
        # Neither the index nor a provider is to hold a key; a later cut could not tell half of one.
        chunks = chunk_lines(redact_lines(document.lines), None, **self._chunking())
        remarks = [f"{document.replaced} undecodable bytes were replaced"] if document.replaced else []
        if document.truncated:
            remarks.append("it is too large, only its first 64 MB are indexed")
        written = time_of_note(file.path)
        pieces = [_piece(chunk, written) for chunk in chunks]
        return [_prepared(file, stamp, document.hash, pieces, remark="; ".join(remarks) or None)]

    def _prepare_transcript(self, file: SourceFile, resume: Resume | None) -> Sequence[Prepared] | Unchanged | None:
        parts: list[Prepared] = []
        while True:
            transcript = read_transcript(file, resume=resume)
            if transcript is None:
                return parts or None
            if resume is not None and not parts and transcript.resumed and transcript.end == resume.end:
                return Unchanged(_settled(transcript.stamp))
            more = transcript.more
            chunks, resume = chunk_transcript(transcript, **self._chunking())
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

    def _chunking(self) -> dict[str, int]:
        return {"tokens": self._settings.chunking.tokens, "overlap": self._settings.chunking.overlap}


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
) -> Prepared:
    return Prepared(
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


def _piece(chunk: Chunk, written: float | None) -> Piece:
    return Piece(chunk.start_line, chunk.end_line, chunk.text, bytes.fromhex(chunk.hash), written)


def _turn(line: int, text: str) -> Piece:
    return Piece(line, line, text, hashlib.sha256(text.encode()).digest())


def _settled(stamp: str, now: Callable[[], float] = time.time) -> str:
    """The stamp, marked where the next change could hide behind it: clocks of file systems tick, some slowly."""
    _, *times = stamp.split(":")[:3]
    # A time far ahead, as after the clock was set back, hides nothing: what is written now gets the time of now.
    return stamp + UNSETTLED if any(_is_now(int(each), now()) for each in times) else stamp


def _is_now(moment_ns: int, now: float) -> bool:
    tick = _COARSE_TICK_SECONDS if moment_ns % 1_000_000_000 == 0 else _TICK_SECONDS
    return abs(now - moment_ns / 1e9) <= tick
