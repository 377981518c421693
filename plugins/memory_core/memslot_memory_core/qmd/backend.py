"""The QMD backend, with the builtin index as its fallback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memslot import (
    MemoryFiles,
    MemoryPage,
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryText,
    PluginContext,
    Session,
    real_path,
)

from memslot_memory_core.index.report import Progress, SyncReport
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.note_reader import MAX_LINES
from memslot_memory_core.qmd.errors import QmdError, QmdPathError
from memslot_memory_core.qmd.fallback import FallbackMemory
from memslot_memory_core.qmd.memory import QmdMemory
from memslot_memory_core.qmd.settings import settings_from
from memslot_memory_core.settings import memory_settings
from memslot_memory_core.sources.files import SourceFile, make_source_file
from memslot_memory_core.sources.text import split_lines
from memslot_memory_core.sources.transcript_workspace import WorkspaceTranscripts
from memslot_memory_core.sources.transcripts import Resume, chunk_transcript, read_transcript


class QmdBackend:
    """One agent's memory: QMD searches, and the builtin index takes over while QMD fails."""

    def __init__(self, qmd: QmdMemory, make_builtin: Callable[[], MemoryManager]) -> None:
        self.qmd = qmd
        self.memory = FallbackMemory(qmd, make_builtin)

    def search(
        self, query: str, *, max_results: int | None = None, session: Session | None = None, **options: Any
    ) -> MemorySearchOutcome:
        return self.memory.search(query, max_results=max_results, session=session, **options)

    def read(
        self, path: str, *, start_line: int = 1, max_lines: int = 200, session: Session | None = None
    ) -> MemoryText:
        """Lines of `qmd/<collection>/<path>` or of a path from the builtin index; other paths are refused."""
        if not path.startswith("qmd/"):
            # A chat outside the scope must not read through the fallback either.
            refusal = self.qmd.refusal(session)
            if refusal is not None:
                raise QmdPathError(str(refusal.warning))
            return self.memory.secondary().read(path, start_line=start_line, max_lines=max_lines, session=session)
        found = split_lines(self.qmd.read_file(path, session=session))
        start = start_line - 1
        part = found[start : start + min(max(1, max_lines), MAX_LINES)]
        following = start_line + len(part) if part and start + len(part) < len(found) else None
        return MemoryText(path, "\n".join(part), start_line, len(part), following)

    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: Session | None = None) -> MemoryPage:
        """The notes, whichever index is active."""
        if self.qmd.refusal(session) is not None:
            return MemoryPage(())
        return self.memory.secondary().list_items(cursor=cursor, limit=limit, session=session)

    def remember(self, text: str, *, session: Session | None = None) -> MemoryReceipt:
        receipt = self.memory.secondary().remember(text, session=session)
        self.request_sync()
        return receipt

    def refresh(self) -> None:
        self.sync()

    def files(self) -> MemoryFiles:
        return self.memory.secondary().files()

    def files_changed(self, *paths: str) -> None:
        self.request_sync()

    def sync(
        self,
        *,
        force: bool = False,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        wait_seconds: float = 60.0,
    ) -> SyncReport:
        """Update QMD's index now; if that fails, sync the builtin index."""
        try:
            report = self.qmd.update()
        except QmdError as error:
            behind = self.memory.secondary().sync(
                force=force, progress=progress, cancelled=cancelled, wait_seconds=wait_seconds
            )
            sentence = f"QMD could not update ({error}), so the builtin index was updated"
            return SyncReport(**{**vars(behind), "problems": (sentence, *behind.problems)})
        if report is None:
            return SyncReport(complete=False, problems=("another process is updating QMD's index",))
        return SyncReport(
            indexed=report.indexed,
            removed=report.removed,
            unchanged=report.unchanged,
            problems=report.problems,
            seconds=report.seconds,
        )

    def request_sync(self) -> None:
        self.qmd.request_update()
        if self.memory.outage is not None:
            self.memory.secondary().request_sync()

    def start_session(self) -> None:
        self.qmd.start()
        if self.memory.outage is not None:
            self.memory.secondary().start_session()

    def start_watching(self) -> str:
        """QMD doesn't watch files; it updates every `memory.qmd.update.interval`."""
        self.qmd.start()
        seconds = self.qmd.settings.interval
        return f"QMD updates every {seconds:g} s" if seconds else "QMD updates only on request"

    def last_sync(self) -> SyncReport | None:
        """Always None: QMD updates by itself."""
        return None

    def status(self, *, deep: bool = False) -> MemoryStatus:
        return self.memory.status(deep=deep)

    def close(self) -> None:
        self.memory.close()


def make_qmd_backend(
    ctx: PluginContext, make_builtin: Callable[[], MemoryManager], *, has_unmarked: bool
) -> QmdBackend:
    """Create the backend from `memory.qmd`; starts nothing."""
    held_here = WorkspaceTranscripts(real_path(ctx.workspace), with_unmarked=has_unmarked)

    def render(transcript: Path) -> str:
        return render_transcript(transcript) if held_here.has(_source_of(transcript)) else ""

    settings = settings_from(memory_settings(ctx).qmd)
    if settings.export_dir is not None:
        # Beside it, not inside: QMD indexes folders recursively.
        name = ctx.places.name_for(settings.export_dir.name, ctx.workspace)
        settings = replace(settings, export_dir=settings.export_dir.with_name(name))
    qmd = QmdMemory(
        settings,
        workspace=ctx.workspace,
        home=ctx.places.agent_dir(ctx.agent_id) / ctx.places.name_for("qmd", ctx.workspace),
        transcripts=ctx.places.sessions_dir(ctx.agent_id),
        render=render,
    )
    return QmdBackend(qmd, make_builtin)


def render_transcript(file: Path) -> str:
    """A transcript as text, one paragraph per message; empty if it is gone."""
    source = _source_of(file)
    said: dict[int, str] = {}
    resume: Resume | None = None
    while transcript := read_transcript(source, resume=resume):
        said.update(zip(transcript.numbers, transcript.lines, strict=True))
        if not transcript.more:
            break
        _, resume = chunk_transcript(transcript, tokens=1, overlap=0)
    return "\n\n".join(said[number] for number in sorted(said))


def _source_of(transcript: Path) -> SourceFile:
    return make_source_file("sessions", f"sessions/{transcript.name}", str(transcript), transcript.stat())
