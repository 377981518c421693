"""No path leads out of the notes, however it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_anthropic_memory import MemoryTool

from tests.note_folder import NoteFolder

OUTSIDE = "outside the notes"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("base")
    folder = base / "workspace"
    (folder / "memory" / "sub").mkdir(parents=True)
    (folder / "memory" / "note.md").write_text("inside", encoding="utf-8")
    (folder / "MEMORY.md").write_text("inside", encoding="utf-8")
    for file in (base / "secret.md", folder / "other.md", folder / "memory" / ".hidden.md"):
        file.write_text(OUTSIDE, encoding="utf-8")
    (folder / "memory" / "link.md").symlink_to(base / "secret.md")
    (folder / "memory" / "folder-link").symlink_to(base)
    (folder / "memory" / "inner-link.md").symlink_to(folder / "memory" / "note.md")
    os.mkfifo(folder / "memory" / "pipe.md")
    return folder


ATTACKS = [
    "/memories/../other.md",
    "/memories/../../secret.md",
    "/memories/sub/../../other.md",
    "/memories/./note.md",
    "/memories//note.md",
    "//memories/note.md",
    "/memories/..",
    "/memories/sub/..",
    "/memories/%2e%2e/other.md",
    "/memories/%2E%2E%2Fother.md",
    "/memories/..%2fother.md",
    "/memories/..%5cother.md",
    "/memories/%252e%252e/other.md",
    "/memories/..\\other.md",
    "/memories\\..\\other.md",
    "/memories/\uff0e\uff0e/other.md",
    "/memories/sub\uff0f..\uff0fother.md",
    "/memories/\u2024\u2024/other.md",
    "/memories/note.md\0.txt",
    "/memories/\0",
    "/memories/note.md\n",
    "/memoriesX/note.md",
    "/memories../other.md",
    "memories/note.md",
    "/Memories/note.md",
    "/etc/passwd",
    "",
    "/",
    "~/x.md",
    "/memories/~root/x.md/..",
    "file:///memories/note.md",
    "/memories/C:/x.md",
    "/memories/note.md::$DATA",
    "/memories/CON.md",
    "/memories/nul",
    "/memories/.hidden.md",
    "/memories/.git/config.md",
    "/memories/NOTE.md",
    "/memories/memory.md",
    "/memories/Memory.md",
    "/memories/link.md",
    "/memories/inner-link.md",
    "/memories/folder-link/secret.md",
    "/memories/pipe.md",
    "/memories/note.md.",
    "/memories/note.md ",
    "/memories/ note.md",
    "/memories/" + "a" * 300 + ".md",
    "/memories/" + "a/" * 20 + "x.md",
    "/memories/\ud800.md",
]


@pytest.mark.parametrize("path", ATTACKS, ids=ascii)
def test_an_attack_reads_and_changes_nothing(workspace: Path, path: str) -> None:
    memory = MemoryTool(NoteFolder(workspace))
    before = _state(workspace.parent)

    commands = [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "owned"},
        {"command": "str_replace", "path": path, "old_str": OUTSIDE, "new_str": "owned"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "owned"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/owned.md"},
        {"command": "rename", "old_path": "/memories/note.md", "new_path": path},
    ]
    for command in commands:
        answer = memory.handle(command)
        assert answer.is_error, command
        assert OUTSIDE not in answer.text

    assert _state(workspace.parent) == before


def _state(base: Path) -> list[tuple[str, str]]:
    found = []
    for each in sorted(base.rglob("*")):
        content = each.read_text(encoding="utf-8") if each.is_file() and not each.is_symlink() else ""
        found.append((str(each), content))
    return found


PIECES = st.sampled_from(
    ["..", ".", "", "memory", "sub", "note.md", "link.md", "folder-link", "%2e%2e", "\\", "\0", "x"]
)
WILD = st.one_of(
    st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=6).map("/".join),
    st.text(max_size=40),
)


@settings(max_examples=300, deadline=None)
@given(rest=WILD, prefixed=st.booleans())
def test_a_created_note_is_always_inside(rest: str, prefixed: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("any")
    workspace = base / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "folder-link").symlink_to(base)
    path = f"/memories/{rest}" if prefixed else rest

    answer = MemoryTool(NoteFolder(workspace)).handle({"command": "create", "path": path, "file_text": "x"})

    files = [each for each in base.rglob("*") if each.is_file()]
    notes = [each for each in files if not any(parent.is_symlink() for parent in each.parents)]
    assert len(notes) == (0 if answer.is_error else 1)
    for note in notes:
        assert note.suffix == ".md"
        assert note.parent == workspace or note.is_relative_to(workspace / "memory")
        assert note.parent != workspace or note.name in ("MEMORY.md", "USER.md")
