"""Hermes' memories: `MEMORY.md` and `USER.md` in `~/.hermes/memories`, entries between lines with a §."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memslot_importers.memories.foreign import ForeignNote, entries, linked, read_note

_NAMES = ("MEMORY.md", "USER.md")
_DELIMITER = "\n§\n"


def hermes_notes(home: Path) -> Iterator[ForeignNote]:
    """The notes in a home of Hermes and in those of its profiles."""
    yield from _notes(home, "hermes")
    for profile in entries(home / "profiles"):
        if profile.is_dir() and not profile.is_symlink():
            yield from _notes(profile, f"hermes/{profile.name}")


def _notes(home: Path, ours: str) -> Iterator[ForeignNote]:
    folder = home / "memories"
    if folder.is_symlink():
        yield linked(folder)
        return
    for name in _NAMES:
        if (folder / name).is_symlink() or (folder / name).exists():
            note = read_note(folder / name, f"{ours}/{name}")
            yield replace(note, text="\n\n".join(map(_item, note.text.split(_DELIMITER))).strip())


def _item(entry: str) -> str:
    """An entry as an item of a list, so that each is a passage of its own."""
    lines = entry.strip().splitlines()
    return "\n".join([f"- {lines[0]}", *(f"  {line}".rstrip() for line in lines[1:])]) if lines else ""
