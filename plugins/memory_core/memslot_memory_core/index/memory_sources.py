"""The files of one agent's memory, as configured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import real_path

from memslot_memory_core.index.identity import Identity
from memslot_memory_core.sources.files import Discovery, SourceFile, discover
from memslot_memory_core.sources.transcript_workspace import WorkspaceTranscripts

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline

    from memslot_memory_core.index.file_writer import PreparedFile
    from memslot_memory_core.settings import SearchSettings

UNSETTLED = "?"
"""Suffix of a stamp: the file was read so soon after a change that a later change could have the same mtime."""


@dataclass(frozen=True)
class IndexedFile:
    """A file's row in the index."""

    stamp: str
    hash: str
    resume: str | None


@dataclass(frozen=True)
class Unchanged:
    """A file with a new stamp but the same content."""

    stamp: str


class Sources:
    """One agent's configured files, and how they are chunked."""

    def __init__(
        self,
        settings: SearchSettings,
        workspace: Path,
        sessions_dir: Path,
        *,
        with_unmarked: bool = False,
        embeds_parts: Callable[[], bool] = lambda: True,
    ) -> None:
        """`with_unmarked` includes transcripts that name no workspace. `embeds_parts` says whether parts of chunks are
        embedded too.
        """
        self._settings = settings
        self._embeds_parts = embeds_parts
        self.workspace = workspace
        self._transcripts = WorkspaceTranscripts(real_path(workspace), with_unmarked=with_unmarked)
        wants_sessions = "sessions" in settings.sources and settings.experimental.session_memory
        self.sessions_dir = sessions_dir if wants_sessions else None
        self.names = ("memory", "sessions") if wants_sessions else ("memory",)

    def identity_of(self, pipeline: EmbeddingPipeline | None) -> Identity:
        """The identity of an index built from these sources with this pipeline."""
        if pipeline is None:
            return Identity.of(self._settings, self.names, None)
        return Identity.of(self._settings, self.names, pipeline.provider, parts=self._embeds_parts())

    def discover(self, near: Collection[str] | None = None) -> Discovery:
        """All files, or with `near` only those at these paths, if it can be limited to them."""
        extra_paths, sessions_dir = self._settings.extra_paths, self.sessions_dir
        if near is not None:
            from memslot_memory_core.sources.changed_paths import discover_changed

            found = discover_changed(self.workspace, near, extra_paths=extra_paths, sessions_dir=sessions_dir)
            if found is not None:
                return self._transcripts.keep(found)
        found = discover(self.workspace, extra_paths=extra_paths, sessions_dir=sessions_dir)
        return self._transcripts.keep(found)

    def path_on_disk(self, source: str, path: str) -> str:
        """The path on disk of an indexed file, which may be gone."""
        if source == "sessions" and self.sessions_dir is not None:
            return str(self.sessions_dir / path.removeprefix("sessions/"))
        return str(self.workspace / path)

    def find(self, path: str) -> SourceFile | None:
        """The file at that index path, if there is one."""
        from memslot_memory_core.sources.lookup import find

        file = find(self.workspace, path, extra_paths=self._settings.extra_paths, sessions_dir=self.sessions_dir)
        return file if file is None or self._transcripts.has(file) else None

    def may_hold(self, path: str) -> bool:
        """Whether a missing file would be indexed under that path."""
        from memslot_memory_core.sources.lookup import may_be_listed

        extra_paths, sessions_dir = self._settings.extra_paths, self.sessions_dir
        return may_be_listed(self.workspace, path, extra_paths=extra_paths, sessions_dir=sessions_dir)

    def coverage(self) -> Callable[[str, str], bool]:
        """A predicate on source and path: whether these settings include it, existing or not."""
        from memslot_memory_core.sources.lookup import coverage

        return coverage(self.workspace, extra_paths=self._settings.extra_paths, sessions_dir=self.sessions_dir)

    def grew_enough(self, file: SourceFile, row: IndexedFile) -> bool:
        """Whether a transcript grew enough to be read again; notes always are."""
        if file.source != "sessions":
            return True
        from memslot_memory_core.sources.transcripts import Resume, growth

        resume = Resume.from_text(row.resume)
        if resume is None:
            return True
        if file.size <= resume.end:
            return True
        limits = self._settings.sync.sessions
        new_bytes, new_messages = growth(file, resume.end)
        return new_bytes >= max(1, limits.delta_bytes) or new_messages >= max(1, limits.delta_messages)

    def prepare(
        self, file: SourceFile, row: IndexedFile | None, *, from_start: bool = False
    ) -> Sequence[PreparedFile] | Unchanged | None:
        """The file's new content in one or more parts; None if it is gone. Raises OSError if unreadable.

        `from_start` includes what is indexed already.
        """
        from memslot_memory_core.index.file_preparation import prepare_note, prepare_transcript

        prepare = prepare_transcript if file.source == "sessions" else prepare_note
        return prepare(file, None if from_start else row, self._settings)
