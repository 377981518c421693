"""A look at some paths shows what a look at everything shows there, or says that it cannot tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memslot_memory_core.sources.changed_paths import discover_changed
from memslot_memory_core.sources.files import discover


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    for name in ("MEMORY.md", "other.md", "memory/a.md", "memory/deep/b.md", "memory/venv/c.md", "memory/d.txt"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return folder


def seen(workspace: Path, *names: str) -> list[str] | None:
    found = discover_changed(workspace, [str(workspace / name) for name in names])
    if found is None:
        return None
    listed = {file.path: file for file in discover(workspace).files}
    assert all(listed[file.path] == file for file in found.files)
    return [file.path for file in found.files]


def test_files_are_judged_as_in_a_walk(workspace: Path) -> None:
    assert seen(workspace, "MEMORY.md", "other.md", "memory/a.md", "memory/venv/c.md", "memory/d.txt") == [
        "MEMORY.md",
        "memory/a.md",
    ]
    private = discover_changed(workspace, [str(workspace / "MEMORY.md")])
    assert private is not None
    assert private.files[0].private


def test_a_folder_stands_for_all_below_it_and_is_looked_through_once(workspace: Path) -> None:
    assert seen(workspace, "memory/deep/b.md", "memory", "memory/deep") == ["memory/a.md", "memory/deep/b.md"]
    found = discover_changed(workspace, [str(workspace / "memory"), str(workspace / "memory" / "deep")])
    assert found is not None
    assert found.within == [("memory", "memory")]


def test_it_looks_at_nothing_else(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.lstat
    asked: list[str] = []

    def note(path: str) -> os.stat_result:
        asked.append(str(path))
        return real(path)

    def refuse(*_: object) -> None:
        raise AssertionError("no folder has to be listed for a file")

    monkeypatch.setattr(os, "lstat", note)
    monkeypatch.setattr(os, "scandir", refuse)
    found = discover_changed(workspace, [str(workspace / "memory" / "a.md")])
    assert found is not None
    assert [file.path for file in found.files] == ["memory/a.md"]
    inside = {path for path in asked if path.startswith(str(workspace))}
    assert not any(path.endswith(("b.md", "MEMORY.md")) for path in inside)


@pytest.mark.parametrize(
    "doubt", ["the workspace", "above it", "a link", "a second name", "an extra path that is missing", "too many"]
)
def test_where_it_cannot_tell_it_says_so(workspace: Path, doubt: str) -> None:
    note = workspace / "memory" / "a.md"
    paths = [note]
    if doubt == "the workspace":
        paths = [workspace]
    elif doubt == "above it":
        paths = [workspace.parent]
    elif doubt == "a link":
        paths = [workspace / "memory" / "link.md"]
        paths[0].symlink_to(note)
    elif doubt == "a second name":
        (workspace.parent / "elsewhere.md").hardlink_to(note)
    elif doubt == "an extra path that is missing":
        paths = [workspace / "extra"]
    else:
        paths = [workspace / "memory" / f"{number}.md" for number in range(1000)]
    assert discover_changed(workspace, [str(path) for path in paths], extra_paths=["extra"]) is None


def test_a_place_that_is_told_by_where_a_link_leads_to_is_known(workspace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace, target_is_directory=True)
    found = discover_changed(link, [str(workspace / "memory" / "a.md")])
    assert found is not None
    assert [(file.path, file.location) for file in found.files] == [("memory/a.md", str(link / "memory" / "a.md"))]


def test_another_spelling_is_not_the_file_where_the_file_system_does_not_care(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat

    names = {each.lower(): each for each in (str(path) for path in workspace.rglob("*"))}

    def lenient(path: str) -> os.stat_result:
        return real(names.get(str(path).lower(), path))

    monkeypatch.setattr(os, "lstat", lenient)
    assert seen(workspace, "memory/A.md") == []
    assert seen(workspace, "Memory/a.md") == []
    assert seen(workspace, "memory/a.md") == ["memory/a.md"]
