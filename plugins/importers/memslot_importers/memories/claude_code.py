"""Claude Code's memories in `~/.claude`: those of projects and of sub-agents, and the user's `CLAUDE.md`.

The first two are Markdown files in `projects/<project>/memory` and `agent-memory/<sub-agent>`, also in folders there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from memslot_importers.memories.foreign import ForeignNote, entries, linked, markdown_below, read_note

PRIVATE = "USER.md"
"""The name of notes about the user: a memory of ours keeps it out of group chats."""
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^[ \t]*(name|description|type):[ \t]*(.*)$", re.MULTILINE)
_FOLDED = re.compile(r"[|>][+-]?\n((?:[ \t]+.*(?:\n|\Z))+)")


def claude_code_notes(home: Path) -> Iterator[ForeignNote]:
    """The notes in a home of Claude Code."""
    if (home / "CLAUDE.md").is_symlink() or (home / "CLAUDE.md").exists():
        yield read_note(home / "CLAUDE.md", f"claude-code/{PRIVATE}")
    for project in entries(home / "projects"):
        folder = project / "memory"
        if folder.is_dir() and project.is_symlink():
            yield linked(folder)
            continue
        slug = project.name.lstrip("-") or project.name
        yield from _notes(folder, f"claude-code/{slug}")
    for agent in entries(home / "agent-memory"):
        yield from _notes(agent, f"claude-code/agents/{agent.name}")


def _notes(folder: Path, ours: str) -> Iterator[ForeignNote]:
    if folder.is_symlink():
        yield linked(folder)
        return
    for file in markdown_below(folder):
        yield _described(read_note(file, f"{ours}/{file.relative_to(folder).as_posix()}"))


def _described(note: ForeignNote) -> ForeignNote:
    """A note with its front matter as a heading and a line; notes about the user are renamed to USER.md."""
    found = _FRONT_MATTER.match(note.text)
    if not found or note.refusal:
        return note
    fields = {name: _value(value, found[1][place:]) for name, value, place in _fields(found[1])}
    body = note.text[found.end() :].strip()
    head = [f"# {fields['name']}"] if fields.get("name") and not body.startswith("# ") else []
    if fields.get("description") and fields["description"] not in body:
        head.append(fields["description"])
    is_about_user = fields.get("type") == "user" and note.file.name not in ("MEMORY.md", PRIVATE)
    name = f"{PurePosixPath(note.name).with_suffix('')}/{PRIVATE}" if is_about_user else note.name
    return replace(note, name=name, text="\n\n".join([*head, body]).strip())


def _fields(front: str) -> Iterator[tuple[str, str, int]]:
    for field in _FIELD.finditer(front):
        yield field[1], field[2], field.start(2)


def _value(value: str, rest: str) -> str:
    """A scalar of YAML, as far as these files use them: plain, quoted, or folded over the next lines."""
    if folded := _FOLDED.match(rest):
        return " ".join(folded[1].split())
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
