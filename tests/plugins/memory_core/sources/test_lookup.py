from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_memory_core.sources.files import discover
from memslot_memory_core.sources.lookup import find, may_be_listed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the links and names here need a POSIX file system")


@dataclass(frozen=True)
class Extra:
    path: str
    pattern: str | None = None


@dataclass(frozen=True)
class Places:
    workspace: Path
    extra_paths: tuple[str | Extra, ...]
    sessions_dir: Path

    def listed(self) -> list[str]:
        found = discover(self.workspace, extra_paths=self.extra_paths, sessions_dir=self.sessions_dir)
        return [file.path for file in found.files]

    def find(self, path: str) -> object:
        return find(self.workspace, path, extra_paths=self.extra_paths, sessions_dir=self.sessions_dir)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    base = tmp_path_factory.mktemp("lookup")
    workspace, outside = base / "home" / "workspace", base / "outside"
    for path in (
        *("MEMORY.md", "README.md", "memory/a.md", "memory/sub/b.markdown", "memory/.git/c.md", "memory/d.txt"),
        *("docs/a.md", "docs/sub/b.md", "docs/venv/c.md", "memory/Caps.md", "memory/x.md/y.md", "sessions/n.md"),
        *("../near.md", "../sessions/s.jsonl", "../sessions/deep/t.jsonl", "../sessions/u.md"),
        *("../../outside/one.md", "../../outside/sub/two.md", "../../outside/sub/three.txt", "../../secret.md"),
    ):
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    (workspace / "memory/link.md").symlink_to(base / "secret.md")
    (workspace / "memory/folder").symlink_to(base)
    (outside / "folder").symlink_to(base)
    os.link(workspace / "MEMORY.md", workspace / "memory/twin.md")
    os.mkfifo(workspace / "memory/pipe.md")
    extra = ("docs", Extra("../../outside", "**/t*.md"), "../near.md", "sessions/n.md")
    return Places(workspace, extra, workspace.parent / "sessions")


def test_every_listed_file_is_found_by_its_path(places: Places) -> None:
    found = discover(places.workspace, extra_paths=places.extra_paths, sessions_dir=places.sessions_dir)
    assert len(found.files) == 11
    assert [places.find(file.path) for file in found.files] == found.files


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "/", "..", "memory", "memory/", "/MEMORY.md", "./MEMORY.md", "memory//a.md", "memory/./a.md"),
        *("memory/../MEMORY.md", "memory/sub/../a.md", "../near.md", "memory/../../near.md", "README.md"),
        *("memory/a.md/", "memory/a.md\0", "\0", "memory\\a.md", "memory/a.md\n", " memory/a.md", "memory/a.md "),
        *("memory/A.md", "Memory/a.md", "memory.md", "Memory.md", "memory/caps.md", "memory/CAPS.MD", "memory/sub"),
        *("memory/link.md", "memory/folder/secret.md", "memory/folder/outside/one.md", "memory/.git/c.md"),
        *("memory/d.txt", "memory/pipe.md", "memory/twin.md", "memory/x.md", "docs/venv/c.md", "docs"),
        *("sessions/u.md", "sessions/deep/t.jsonl", "sessions/../sessions/s.jsonl", "sessions/s.JSONL", "s.jsonl"),
        *(
            "~/near.md",
            "file:///etc/passwd",
            "/etc/passwd",
            "memory/\ud800.md",
            "memory/ａ.md",
            "memory/%2e%2e/near.md",
        ),
    ],
)
def test_nothing_else_can_be_named(places: Places, path: str) -> None:
    assert path not in places.listed()
    assert places.find(path) is None


def test_absolute_paths_reach_what_an_extra_path_names_and_nothing_beside_it(places: Places) -> None:
    base = places.workspace.parent.parent.as_posix()
    assert places.find(f"{base}/outside/sub/two.md") is not None
    assert places.find(f"{base}/home/near.md") is not None
    for path in (
        *("outside/one.md", "outside/sub/three.txt", "secret.md", "outside/folder/secret.md", "outside/../secret.md"),
        *("outside//sub/two.md", "outside/sub/../sub/two.md", "home/workspace/MEMORY.md", "home/workspace/memory/a.md"),
        *("home/sessions/s.jsonl", "outside/folder/outside/sub/two.md", "OUTSIDE/sub/two.md"),
    ):
        assert places.find(f"{base}/{path}") is None, path


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_finding_agrees_with_listing_on_any_way_to_write_a_path(places: Places, data: st.DataObject) -> None:
    base = places.workspace.parent.parent.as_posix()
    names = [
        "MEMORY.md",
        "memory",
        "a.md",
        "sub",
        "b.markdown",
        "folder",
        "link.md",
        "twin.md",
        "docs",
        "b.md",
        "..",
        ".",
    ]
    names += ["sessions", "s.jsonl", "n.md", "outside", "two.md", "one.md", "secret.md", "", "near.md", "x.md", "y.md"]
    parts = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    path = data.draw(st.sampled_from(["", "/", f"{base}/", f"{base}/outside/", "memory/"])) + "/".join(parts)
    found = places.find(path)
    assert (found is not None) == (path in places.listed())


def test_a_root_named_through_a_link_gives_each_file_one_name(tmp_path: Path) -> None:
    (tmp_path / "real/notes").mkdir(parents=True)
    (tmp_path / "real/notes/a.md").write_text("x")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    extra = [str(tmp_path / "real/notes"), str(tmp_path / "alias/notes")]
    (listed,) = discover(workspace, extra_paths=extra).files
    assert find(workspace, listed.path, extra_paths=extra) == listed
    assert find(workspace, f"{tmp_path.as_posix()}/alias/notes/a.md", extra_paths=extra) is None


def test_a_file_is_found_without_looking_into_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "memory" / name).mkdir(parents=True)
        (tmp_path / "memory" / name / "x.md").write_text("x")
    entered, real = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: entered.append(str(folder)) or real(folder))
    assert find(tmp_path, "memory/b/x.md") is not None
    assert entered == [str(tmp_path), str(tmp_path / "memory"), str(tmp_path / "memory/b")]


@pytest.mark.parametrize(
    "path", ["USER.md", "memory/new.md", "memory/new/deep.md", "docs/new.md", "sessions/new.jsonl"]
)
def test_a_path_where_nothing_is_yet_may_be_listed(places: Places, path: str) -> None:
    assert places.find(path) is None
    assert may_be_listed(places.workspace, path, extra_paths=places.extra_paths, sessions_dir=places.sessions_dir)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "..",
            "memory",
            "../new.md",
            "memory/../new.md",
            "memory//new.md",
            "README.md",
            "new.md",
            "memory/new.txt",
        ),
        *("memory/link.md", "memory/folder/new.md", "memory/.git/new.md", "docs/venv/new.md", "memory/a.md/new.md"),
        *("memory/pipe.md", "memory/twin.md", "memory/x.md", "sessions/deep/new.jsonl", "/etc/passwd", "memory/a\0.md"),
        *("Memory.md", "MEMORY.MD", "memory\\new.md", "/etc/new.md"),
    ],
)
def test_a_path_that_can_never_be_listed_is_told_from_a_missing_one(places: Places, path: str) -> None:
    assert not may_be_listed(places.workspace, path, extra_paths=places.extra_paths, sessions_dir=places.sessions_dir)
