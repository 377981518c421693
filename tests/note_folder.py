"""A memory's note files without a memory, for tests of what writes them."""

from __future__ import annotations

from pathlib import Path

from memslot import MemoryFiles


class NoteFolder:
    """Keeps files as a memory may, and records what it hears."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changed: list[str] = []

    def files(self) -> MemoryFiles:
        return MemoryFiles(self.root, "memory", named=("MEMORY.md", "USER.md"))

    def files_changed(self, *paths: str) -> None:
        self.changed += paths
