"""The memory that memory-core puts in the slot."""

from __future__ import annotations

from pathlib import Path

from memslot import MemorySearchOutcome, MemoryStatus, PluginContext

from memslot_memory_core.notes import list_notes
from memslot_memory_core.scan import scan


class NotesMemory:
    """The notes of one workspace."""

    def __init__(self, workspace: Path, *, max_results: int = 6, snippet_chars: int = 700) -> None:
        self.workspace = workspace
        self.max_results = max_results
        self.snippet_chars = snippet_chars

    def search(self, query: str, *, max_results: int | None = None, private: bool = True) -> MemorySearchOutcome:
        """Passages that share words with the query; not `private`: without what is about the person."""
        hits = scan(
            self.workspace,
            query,
            max_results or self.max_results,
            snippet_chars=self.snippet_chars,
            private=private,
        )
        return MemorySearchOutcome(hits=hits, mode="keywords")

    def status(self) -> MemoryStatus:
        problems = [] if self.workspace.is_dir() else [f"there is no workspace {self.workspace}; run: memslot init"]
        return MemoryStatus(
            backend="notes",
            counts={"files": len(list_notes(self.workspace))},
            problems=problems,
            details={"workspace": str(self.workspace), "mode": "keywords"},
        )

    def close(self) -> None:
        """Nothing is kept open between two searches."""


def memory_of(ctx: PluginContext) -> NotesMemory:
    """The agent's memory, one for all hooks."""
    query = ctx.memory_search.query
    return ctx.shared(
        "memory",
        lambda: NotesMemory(ctx.workspace, max_results=query.max_results, snippet_chars=query.snippet_max_chars),
    )
