"""The memory that memory-core puts in the slot."""

from __future__ import annotations

from pathlib import Path

from memslot import MemorySearchOutcome, MemoryStatus

from memslot_memory_core.notes import list_notes
from memslot_memory_core.scan import scan

DEFAULT_RESULTS = 6


class NotesMemory:
    """The notes of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        hits = scan(self.workspace, query, max_results or DEFAULT_RESULTS)
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
