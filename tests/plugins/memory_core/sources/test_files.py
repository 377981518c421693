from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from memslot_memory_core.sources.files import Discovery, discover

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX file system")


@dataclass(frozen=True)
class Extra:
    """What the config's `{path, pattern}` looks like."""

    path: str
    pattern: str | None = None


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def put(folder: Path, *paths: str) -> None:
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {path}")


def paths(discovery: Discovery) -> list[str]:
    return [file.path for file in discovery.files]


def test_the_named_files_and_all_markdown_below_memory_in_a_stable_order(workspace: Path) -> None:
    put(workspace, "USER.md", "memory/b.md", "memory/a/z.markdown", "memory/a.MD", "MEMORY.md", "memory.md")
    put(workspace, "README.md", "notes/x.md", "memory/x.txt", "memory/x.md.bak", "memory/md", "sub/memory/x.md")
    found = discover(workspace)
    assert paths(found) == ["MEMORY.md", "USER.md", "memory.md", "memory/a.MD", "memory/b.md", "memory/a/z.markdown"]
    assert (found.skipped_links, found.problems) == (0, [])
    assert discover(workspace) == found


def test_what_is_about_the_person_is_private(workspace: Path, tmp_path: Path) -> None:
    put(workspace, "USER.md", "MEMORY.md", "memory.md", "memory/a.md")
    put(tmp_path, "old/MEMORY.md", "old/other.md")
    found = discover(workspace, extra_paths=["../old"])
    assert [file.private for file in found.files] == [True, True, True, False, True, False]


def test_a_file_tells_its_place_and_state(workspace: Path) -> None:
    put(workspace, "memory/a.md")
    (file,) = discover(workspace).files
    status = (workspace / "memory/a.md").stat()
    assert file.file == workspace / "memory" / "a.md"
    assert (file.size, file.mtime) == (status.st_size, status.st_mtime)
    assert file.stamp == f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def test_the_stamp_changes_when_a_file_of_equal_size_and_time_takes_its_place(workspace: Path) -> None:
    put(workspace, "memory/a.md", "memory/b.md")
    file, other = workspace / "memory/a.md", workspace / "memory/b.md"
    os.utime(file, (1e9, 1e9))
    os.utime(other, (1e9, 1e9))
    before = discover(workspace).files[0]
    other.replace(file)
    after = discover(workspace).files[0]
    assert (before.path, before.size, before.mtime) == (after.path, after.size, after.mtime)
    assert before.stamp != after.stamp


def test_folders_of_tools_are_not_entered(workspace: Path) -> None:
    for name in (".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"):
        put(workspace, f"memory/deep/{name}/x.md")
    put(workspace, "memory/.hidden/x.md")
    assert paths(discover(workspace)) == ["memory/.hidden/x.md"]


@posix_only
def test_links_are_skipped_and_counted(workspace: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md")
    put(workspace, "memory/a.md")
    (workspace / "MEMORY.md").symlink_to(tmp_path / "outside/secret.md")
    (workspace / "memory/link.md").symlink_to(tmp_path / "outside/secret.md")
    (workspace / "memory/folder").symlink_to(tmp_path / "outside")
    (workspace / "memory/round").symlink_to(workspace / "memory")
    (workspace / "memory/nowhere.md").symlink_to("nothing")
    (workspace / "memory/data.bin").symlink_to(tmp_path / "outside/secret.md")  # would not be indexed anyhow
    found = discover(workspace)
    assert paths(found) == ["memory/a.md"]
    assert found.skipped_links == 5


@posix_only
def test_a_linked_memory_folder_is_skipped_but_a_linked_workspace_is_the_persons_choice(tmp_path: Path) -> None:
    put(tmp_path, "real/memory/a.md", "notes/b.md")
    (tmp_path / "workspace").symlink_to(tmp_path / "real")
    assert paths(discover(tmp_path / "workspace")) == ["memory/a.md"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/memory").symlink_to(tmp_path / "notes")
    found = discover(tmp_path / "other")
    assert (paths(found), found.skipped_links) == ([], 1)


@posix_only
def test_an_extra_path_that_is_a_link_is_skipped_and_named(workspace: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/deep/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (workspace / "inner").symlink_to(tmp_path / "outside")
    found = discover(workspace, extra_paths=["../link", "inner/deep", "inner/deep/a.md"])
    assert (paths(found), found.skipped_links, len(found.problems)) == ([], 3, 3)
    assert "symbolic link" in found.problems[0]
    assert str(workspace / "inner") in found.problems[1]


@posix_only
def test_one_file_with_two_names_counts_once(workspace: Path, tmp_path: Path) -> None:
    put(workspace, "MEMORY.md", "memory/b.md")
    put(tmp_path, "outside/a.md")
    os.link(workspace / "MEMORY.md", workspace / "memory/a.md")
    os.link(workspace / "memory/b.md", workspace / "memory/c.md")
    found = discover(workspace, extra_paths=["memory", "../outside", "../outside/a.md", str(tmp_path / "outside")])
    assert paths(found) == ["MEMORY.md", "memory/b.md", f"{tmp_path.as_posix()}/outside/a.md"]


def test_extra_paths_are_files_and_folders_inside_and_outside(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    put(workspace, "docs/a.md", "docs/sub/b.md", "README.md", "docs/c.txt", "MEMORY.md")
    put(tmp_path, "shared/x.md", "home/n/y.md", "home/one.md")
    extra = ["docs", "README.md", "../shared", "~/n", Extra("~/one.md"), "MEMORY.md"]
    outside = tmp_path.as_posix()
    assert paths(discover(workspace, extra_paths=extra)) == [
        "MEMORY.md",
        "docs/a.md",
        "docs/sub/b.md",
        "README.md",
        f"{outside}/shared/x.md",
        f"{outside}/home/n/y.md",
        f"{outside}/home/one.md",
    ]


def test_files_of_the_workspace_keep_their_short_name_below_a_wider_extra_path(workspace: Path, tmp_path: Path) -> None:
    put(tmp_path, "x.md")
    put(workspace, "docs/a.md", "b.md", "memory/c.md")
    found = discover(workspace, extra_paths=[".."])
    assert paths(found) == ["memory/c.md", f"{tmp_path.as_posix()}/x.md", "b.md", "docs/a.md"]
    assert paths(discover(workspace, extra_paths=["."])) == ["memory/c.md", "b.md", "docs/a.md"]


def test_an_extra_path_inside_a_folder_of_tools_is_meant(workspace: Path) -> None:
    put(workspace, "node_modules/pack/docs/a.md", "node_modules/pack/docs/node_modules/b.md")
    found = discover(workspace, extra_paths=["node_modules/pack/docs"])
    assert paths(found) == ["node_modules/pack/docs/a.md"]


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("nowhere", "No such file"),
        ("a.txt", "neither a folder nor a Markdown file"),
        ("bad\0name", ""),
        ("line\nbreak", "can't be displayed or stored"),
        ("~nobody-of-this-name/x", ""),
        (Extra("docs", "/etc/*.md"), "relative to its folder"),
        (Extra("docs", "../*.md"), "lead out of its folder"),
        (Extra("docs", "a/../../*.md"), "lead out of its folder"),
        (Extra("docs", "./"), "empty"),
    ],
)
def test_an_extra_path_that_cannot_be_used_is_a_sentence_not_an_error(
    workspace: Path, extra: str | Extra, words: str
) -> None:
    put(workspace, "memory/a.md", "a.txt", "docs/b.md")
    found = discover(workspace, extra_paths=[extra])
    assert paths(found) == ["memory/a.md"]
    (problem,) = found.problems
    assert words in problem
    assert problem.endswith(".")


PATTERN_FILES = ["a.md", "b.txt", "one/a.md", "one/two/a.md", "one/two/b.md", "three/two/.c.md", "x[1].md"]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("*.md", ["a.md", "x[1].md"]),
        ("*", ["a.md", "x[1].md"]),
        ("**", ["a.md", "x[1].md", "one/a.md", "one/two/a.md", "one/two/b.md", "three/two/.c.md"]),
        ("**/*.md", ["a.md", "x[1].md", "one/a.md", "one/two/a.md", "one/two/b.md", "three/two/.c.md"]),
        ("./**/a.md", ["a.md", "one/a.md", "one/two/a.md"]),
        ("one/**", ["one/a.md", "one/two/a.md", "one/two/b.md"]),
        ("one/*", ["one/a.md"]),
        ("*/two/?.md", ["one/two/a.md", "one/two/b.md"]),
        ("**/two/**/[!a].md", ["one/two/b.md"]),
        ("x[[]1].md", ["x[1].md"]),
        ("**/two/**/**/*.md", ["one/two/a.md", "one/two/b.md", "three/two/.c.md"]),
        ("*.txt", []),
        ("A.md", []),
        ("two/*.md", []),
        ("one/two", []),
    ],
)
def test_a_pattern_chooses_files_below_its_folder(workspace: Path, pattern: str, matched: list[str]) -> None:
    put(workspace / "docs", *PATTERN_FILES)
    found = discover(workspace, extra_paths=[Extra("docs", pattern)])
    assert paths(found) == [f"docs/{path}" for path in matched]


def test_a_pattern_keeps_the_walk_out_of_folders_that_cannot_match(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace / "docs", "a/x.md", "b/x.md", "b/deep/x.md")
    entered, real = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: entered.append(str(folder)) or real(folder))
    discover(workspace, extra_paths=[Extra("docs", "b/*.md")])
    assert entered == [str(workspace), str(workspace / "docs"), str(workspace / "docs/b")]


@posix_only
def test_names_that_cannot_be_stored_are_left_out_and_said(workspace: Path) -> None:
    put(
        workspace,
        "memory/ok é 漢 👩\u200d💻.md",
        "memory/two\nlines.md",
        "memory/back\\slash.md",
        "memory/bad\x1b/x.md",
    )
    Path(os.fsdecode(os.fsencode(workspace) + b"/memory/\xff.md")).write_text("x")
    found = discover(workspace)
    assert paths(found) == ["memory/ok é 漢 👩\u200d💻.md"]
    assert len(found.problems) == 4
    for problem in found.problems:
        assert problem.isprintable()
        problem.encode()


@posix_only
def test_pipes_sockets_and_folders_named_like_notes_are_never_opened(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, "memory/a.md", "memory/folder.md/inner.md")
    os.mkfifo(workspace / "memory/pipe.md")
    monkeypatch.chdir(workspace / "memory")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        found = discover(workspace, extra_paths=["memory/pipe.md"])
    assert paths(found) == ["memory/a.md", "memory/folder.md/inner.md"]
    assert len(found.problems) == 1


def test_a_missing_workspace_is_said_and_missing_transcripts_are_nothing_special(tmp_path: Path) -> None:
    found = discover(tmp_path / "none", sessions_dir=tmp_path / "sessions")
    assert paths(found) == []
    (problem,) = found.problems
    assert str(tmp_path / "none") in problem


def test_a_folder_that_may_not_be_read_is_said(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(workspace, "memory/a.md", "memory/closed/b.md", "memory/open/c.md")
    real = os.scandir

    def refuse(folder: str) -> object:
        if folder.endswith("closed"):
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # for the superuser, no folder is closed
    found = discover(workspace)
    assert paths(found) == ["memory/a.md", "memory/open/c.md"]
    assert found.problems == [f"Folder {workspace / 'memory' / 'closed'} cannot be read: Permission denied."]


def test_an_extra_path_of_which_nobody_can_tell_is_unread_and_one_that_is_gone_is_not(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "closed/vault/a.md")
    real = os.lstat

    def refuse(path: str) -> os.stat_result:
        if str(path).startswith(str(tmp_path / "closed")):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", refuse)
    drive = tmp_path / "unmounted"
    found = discover(workspace, extra_paths=["../closed/vault", "../unmounted/vault", "../unmounted/x.md", "../gone"])
    assert len(found.problems) == 4
    closed = (tmp_path / "closed" / "vault").as_posix()
    note = (drive / "x.md").as_posix()
    assert found.unread == [f"{closed}/", f"{(drive / 'vault').as_posix()}/", f"{note}/", note]


class Unsure:
    """An entry of a listing that does not tell files from folders, and of which nothing can be learned."""

    def __init__(self, entry: os.DirEntry[str], error: OSError) -> None:
        self.name, self.path, self.error = entry.name, entry.path, error

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        raise self.error

    is_dir = is_symlink = stat = is_file


class Listing(list[object]):
    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None: ...


def test_what_cannot_be_told_from_a_listing_is_unread_and_the_rest_is_found(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, "memory/a.md", "memory/odd.md", "memory/odd/b.md")
    real = os.scandir

    def list_unsurely(folder: str) -> Listing:
        with real(folder) as listing:
            error = PermissionError(13, "Permission denied")
            return Listing(Unsure(one, error) if one.name.startswith("odd") else one for one in listing)

    monkeypatch.setattr(os, "scandir", list_unsurely)
    found = discover(workspace)
    assert paths(found) == ["memory/a.md"]
    assert found.unread == ["memory/odd/", "memory/odd.md", "memory/odd.md/"]
    assert len(found.problems) == 2


@pytest.mark.parametrize(("error", "unread"), [(PermissionError(13, "no"), ["memory/b.md"]), (FileNotFoundError(), [])])
def test_only_a_file_that_is_gone_counts_as_gone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, unread: list[str]
) -> None:
    put(workspace, "memory/a.md", "memory/b.md")
    real = os.scandir

    class Closed(Unsure):
        def is_file(self, *, follow_symlinks: bool = True) -> bool:
            return True

    def list_closed(folder: str) -> Listing:
        with real(folder) as listing:
            return Listing(Closed(one, error) if one.name == "b.md" else one for one in listing)

    monkeypatch.setattr(os, "scandir", list_closed)
    found = discover(workspace)
    assert (paths(found), found.unread, len(found.problems)) == (["memory/a.md"], unread, len(unread))


@posix_only
def test_a_link_to_itself_does_not_end_the_walk(workspace: Path) -> None:
    put(workspace, "memory/z.md")
    (workspace / "memory" / "loop").symlink_to("loop")
    found = discover(workspace)
    assert (paths(found), found.problems, found.unread) == (["memory/z.md"], [], [])


def test_transcripts_are_the_jsonl_files_of_their_folder(workspace: Path, tmp_path: Path) -> None:
    put(tmp_path / "sessions", "b.jsonl", "a.jsonl", "a.jsonl.lock", "sessions.json5", "old/c.jsonl", "x.md")
    put(workspace, "memory/a.md")
    found = discover(workspace, sessions_dir=tmp_path / "sessions")
    assert paths(found) == ["memory/a.md", "sessions/a.jsonl", "sessions/b.jsonl"]
    assert [file.source for file in found.files] == ["memory", "sessions", "sessions"]
    assert not found.files[1].private


def test_finding_files_costs_little_more_than_looking_at_them(workspace: Path) -> None:
    for number in range(400):
        put(workspace, f"memory/{number % 10}/{number}.md")

    def bare() -> None:
        for parent, _, names in os.walk(workspace):
            for name in names:
                os.lstat(f"{parent}/{name}")

    def least(work: object) -> float:
        times = []
        for _ in range(15):
            begin = time.process_time()
            work()  # type: ignore[operator]
            times.append(time.process_time() - begin)
        return min(times)

    assert least(lambda: discover(workspace)) < 4 * least(bare)  # measured: 1.8; the rest is for a busy machine
