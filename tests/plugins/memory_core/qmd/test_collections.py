"""What the config asks for becomes collections, and only their files can be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_memory_core.qmd.collections import Collection, desired_collections, read_text, sync_collections
from memslot_memory_core.qmd.errors import QmdError, QmdPathError
from memslot_memory_core.qmd.program import QmdProgram
from memslot_memory_core.qmd.settings import ExtraPath, QmdSettings

from .conftest import Fake

LISTING = """Collections (2):

notes (qmd://notes/)
  Pattern:  **/*.md
  Files:    1
  Updated:  1s ago

old (qmd://old/) [excluded]
  Pattern:  *.txt
  Files:    0
  Updated:  2d ago
"""


def names(settings: QmdSettings, workspace: Path, sessions: Path | None = None) -> list[tuple[str, str, str]]:
    return [(each.name, each.root.name, each.pattern) for each in desired_collections(settings, workspace, sessions)]


def test_default_memory_is_the_workspace_and_its_memory_folder(workspace: Path) -> None:
    assert names(QmdSettings(), workspace) == [
        ("memory-root", "workspace", "MEMORY.md,memory.md,USER.md"),
        ("memory-dir", "memory", "**/*.md"),
    ]
    assert names(QmdSettings(include_default_memory=False), workspace) == []


def test_folder_that_is_not_there_waits_until_it_is(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert [name for name, _, _ in names(QmdSettings(), empty)] == ["memory-root"]

    (empty / "memory").mkdir()

    assert [name for name, _, _ in names(QmdSettings(), empty)] == ["memory-root", "memory-dir"]


def test_memory_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "ws"
    other.mkdir()
    (other / "memory").symlink_to(tmp_path)

    assert [name for name, _, _ in names(QmdSettings(), other)] == ["memory-root"]


def test_paths_are_files_or_folders_with_names_that_fit_and_differ(tmp_path: Path, workspace: Path) -> None:
    docs = tmp_path / "My docs"
    docs.mkdir()
    (docs / "a,b.md").write_text("x", encoding="utf-8")
    paths = (
        ExtraPath(str(docs), "*.txt"),
        ExtraPath(str(docs)),
        ExtraPath(str(docs / "a,b.md"), name="sessions"),
        ExtraPath("memory/trips", name="../../evil name"),
        ExtraPath(str(docs)),
        ExtraPath(str(tmp_path / "nowhere")),
    )

    assert names(QmdSettings(include_default_memory=False, paths=paths), workspace) == [
        ("My-docs", "My docs", "*.txt"),
        ("My-docs-2", "My docs", "**/*.md"),
        ("sessions-2", "My docs", "a[,]b.md"),
        ("evil-name", "trips", "**/*.md"),
    ]


def test_user_that_does_not_exist_is_named(workspace: Path) -> None:
    with pytest.raises(QmdError, match="~nobody-here-x"):
        desired_collections(QmdSettings(paths=(ExtraPath("~nobody-here-x/notes"),)), workspace, None)


def test_alignment_adds_what_is_missing_and_removes_what_is_gone_or_other(fake: Fake, tmp_path: Path) -> None:
    fake.will(collection={"stdout": LISTING})
    program = QmdProgram(str(fake.program), tmp_path)
    notes, new = Collection("notes", tmp_path, "**/*.md"), Collection("new", tmp_path / "fake", "-odd.md")

    sync_collections(program, [notes, new], {"notes": notes.key}, timeout=30)

    assert fake.commands() == [
        ["collection", "list"],
        ["collection", "remove", "--", "old"],
        ["collection", "add", "--name=new", "--mask=-odd.md", "--", str(tmp_path / "fake")],
    ]


def test_alignment_of_what_is_right_changes_nothing(fake: Fake, tmp_path: Path) -> None:
    fake.will(collection={"stdout": LISTING})
    wanted = [Collection("notes", tmp_path, "**/*.md"), Collection("old", tmp_path, "*.txt")]

    sync_collections(
        QmdProgram(str(fake.program), tmp_path), wanted, {each.name: each.key for each in wanted}, timeout=30
    )

    assert fake.commands() == [["collection", "list"]]


@pytest.mark.parametrize(
    "known", [{}, {"notes": ("/elsewhere", "**/*.md")}, {"notes": ("{root}", "*.md")}], ids=["none", "root", "pattern"]
)
def test_collection_of_which_something_else_is_known_is_made_again(
    fake: Fake, tmp_path: Path, known: dict[str, tuple[str, str]]
) -> None:
    fake.will(collection={"stdout": LISTING.partition("old")[0]})

    sync_collections(
        QmdProgram(str(fake.program), tmp_path), [Collection("notes", tmp_path, "**/*.md")], known, timeout=30
    )

    assert [command[:2] for command in fake.commands()] == [
        ["collection", "list"],
        ["collection", "remove"],
        ["collection", "add"],
    ]


# Reading


@pytest.fixture
def collections(workspace: Path) -> list[Collection]:
    return desired_collections(QmdSettings(), workspace, None)


def test_files_of_a_collection_are_read(collections: list[Collection], workspace: Path) -> None:
    path = "qmd/memory-dir/trips/Köln & co #1.md"

    assert read_text(collections, path, private=True, workspace=workspace) == "Delft by train --help\n"


def test_file_that_is_gone_is_empty(collections: list[Collection], workspace: Path) -> None:
    assert read_text(collections, "qmd/memory-dir/gone.md", private=True, workspace=workspace) == ""


@pytest.mark.parametrize(
    "path",
    [
        *("", "qmd", "qmd/", "qmd/memory-dir", "qmd/memory-dir/", "qmd/nope/a.md", "memory-dir/2026-01-02.md"),
        *("qmd/memory-dir/../MEMORY.md", "qmd/memory-dir//etc/passwd.md", "qmd/memory-dir/trips/../2026-01-02.md"),
        *("qmd/memory-dir/./2026-01-02.md", "qmd/memory-dir/2026-01-02.md\0.md", "qmd/memory-dir/2026-01-02.txt"),
        *("qmd/memory-root/secret.txt", "qmd/memory-root/memory/2026-01-02.md", "QMD/memory-dir/2026-01-02.md"),
        *("qmd/memory-dir/link.md", "qmd/memory-dir/linked/MEMORY.md", "qmd/memory-dir/.hidden.md"),
        *("qmd/memory-dir/..\\MEMORY.md", "/qmd/memory-dir/2026-01-02.md"),
    ],
)
def test_other_paths_are_refused(collections: list[Collection], workspace: Path, path: str) -> None:
    (workspace / "secret.txt").write_text("x", encoding="utf-8")
    (workspace / "memory" / ".hidden.md").write_text("x", encoding="utf-8")
    (workspace / "memory" / "link.md").symlink_to(workspace / "secret.txt")
    (workspace / "memory" / "linked").symlink_to(workspace)

    with pytest.raises(QmdPathError):
        read_text(collections, path, private=True, workspace=workspace)


@given(st.text())
def test_no_path_leads_out(path: str) -> None:
    root = Path("/somewhere/that/is/not/there")
    file = Collection("notes", root, "**").file(path)

    assert file is None or (file.is_relative_to(root) and ".." not in file.parts)


def test_pipe_of_that_name_is_not_waited_for(collections: list[Collection], workspace: Path) -> None:
    os.mkfifo(workspace / "memory" / "pipe.md")

    assert read_text(collections, "qmd/memory-dir/pipe.md", private=True, workspace=workspace) == ""


def test_what_is_about_the_person_is_for_private_chats_by_whatever_way(workspace: Path) -> None:
    settings = QmdSettings(paths=(ExtraPath(str(workspace), name="all"),))
    collections = desired_collections(settings, workspace, None)
    for path in ("qmd/memory-root/MEMORY.md", "qmd/all/MEMORY.md"):
        assert "passport" in read_text(collections, path, private=True, workspace=workspace)
        with pytest.raises(QmdPathError):
            read_text(collections, path, private=False, workspace=workspace)
    assert "Delft" in read_text(collections, "qmd/all/memory/2026-01-02.md", private=False, workspace=workspace)
