"""The paths of one agent's memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memslot import MemoryFiles, real_path

from memslot_memory_core.index.owner import Owner


@dataclass(frozen=True)
class MemoryLocation:
    """Paths of an agent's notes, transcripts and index."""

    agent_id: str
    workspace: Path
    sessions_dir: Path
    index_file: Path
    has_unmarked: bool = False
    """Whether transcripts without a workspace belong to it."""

    @property
    def files(self) -> MemoryFiles:
        """The notes that other programs may write."""
        return MemoryFiles(self.workspace.absolute(), "memory", named=("MEMORY.md", "USER.md"))

    @property
    def owner(self) -> Owner:
        return Owner(self.agent_id, real_path(self.workspace))
