"""Codex's memories: `~/.codex/memories`, a handbook, a summary, recaps of conversations, notes and skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memslot_importers.memories.foreign import ForeignNote, entries, linked, markdown_in, read_note

_FILES = {"MEMORY.md": "MEMORY.md", "memory_summary.md": "USER.md"}
"""Their names and ours: the summary is about the user. `raw_memories.md` is what these two are made from."""
_FOLDERS = {"rollout_summaries": "rollout_summaries", "extensions/ad_hoc/notes": "notes"}


def codex_notes(home: Path) -> Iterator[ForeignNote]:
    """The notes in a home of Codex."""
    root = home / "memories"
    if root.is_symlink():
        yield linked(root)
        return
    for theirs, ours in _FILES.items():
        if (root / theirs).is_symlink() or (root / theirs).exists():
            yield read_note(root / theirs, f"codex/{ours}")
    for folder, ours in _FOLDERS.items():
        if any((root / part).is_symlink() for part in _above(folder)):
            yield linked(root / folder)
            continue
        for file in markdown_in(root / folder):
            yield read_note(file, f"codex/{ours}/{file.name}")
    for skill in entries(root / "skills"):
        file = skill / "SKILL.md"
        if file.exists():
            yield linked(skill) if skill.is_symlink() else read_note(file, f"codex/skills/{skill.name}.md")


def _above(folder: str) -> Iterator[str]:
    parts = folder.split("/")
    yield from ("/".join(parts[: number + 1]) for number in range(len(parts)))
