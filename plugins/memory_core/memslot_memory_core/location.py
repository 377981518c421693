"""Where one agent's memory is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memslot import real_path

from memslot_memory_core.index.owner import Owner


@dataclass(frozen=True)
class Place:
    """Where an agent's notes, transcripts and index are."""

    agent_id: str
    workspace: Path
    sessions_dir: Path
    index_file: Path
    has_unmarked: bool = False
    """Whether transcripts belong to it that don't name a workspace."""
    older_index: Path | None = None
    """Where the index was before its name held the workspace."""

    @property
    def owner(self) -> Owner:
        return Owner(self.agent_id, real_path(self.workspace))
