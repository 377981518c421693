"""Claude's memory commands on real notes: what each does, says and leaves alone."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from memslot.testing import HostOpener, ToolContract
from memslot_anthropic_memory import MemoryTool, tool
from memslot_anthropic_memory.plugin import make_tool

from tests.note_folder import NoteFolder

PRIVATE_KEY = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nAASCBKcwggSjAg\n-----END PRIVATE KEY-----\n\n"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory" / "projects" / "deep").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# About\nTea, not coffee.\n", encoding="utf-8")
    (folder / "memory" / "2026-01-02.md").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (folder / "memory" / "projects" / "orchid.md").write_text("The orchid project.\n" * 100, encoding="utf-8")
    (folder / "memory" / "projects" / "deep" / "down.md").write_text("far down\n", encoding="utf-8")
    (folder / "memory" / "picture.png").write_bytes(b"\x89PNG")
    (folder / "secret.txt").write_text("outside", encoding="utf-8")
    return folder


@pytest.fixture
def memory(workspace: Path) -> MemoryTool:
    return MemoryTool(NoteFolder(workspace))


def ok(memory: MemoryTool, **command: Any) -> str:
    answer = memory.handle(command)
    assert not answer.is_error, answer.text
    return answer.text


def refused(memory: MemoryTool, **command: Any) -> str:
    answer = memory.handle(command)
    assert answer.is_error, answer.text
    return answer.text


class TestView:
    def test_lists_notes_two_levels_deep_with_sizes(self, memory: MemoryTool) -> None:
        lines = ok(memory, command="view", path="/memories").splitlines()

        assert "up to 2 levels deep in /memories" in lines[0]
        assert lines[2:] == [
            "25B\t/memories/MEMORY.md",
            "14B\t/memories/2026-01-02.md",
            "2.0K\t/memories/projects/",
            "9B\t/memories/projects/deep/",
            "2.0K\t/memories/projects/orchid.md",
        ]

    def test_an_empty_memory_is_a_listing_and_no_error(self, tmp_path: Path) -> None:
        assert "\t/memories" in ok(MemoryTool(NoteFolder(tmp_path / "new")), command="view", path="/memories")

    def test_shows_a_file_with_line_numbers(self, memory: MemoryTool) -> None:
        text = ok(memory, command="view", path="/memories/2026-01-02.md")

        assert text == (
            "Here's the content of /memories/2026-01-02.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree"
        )

    @pytest.mark.parametrize(("asked", "numbers"), [([2, 3], [2, 3]), ([2, -1], [2, 3]), ([3, 99], [3])])
    def test_shows_a_range(self, memory: MemoryTool, asked: list[int], numbers: list[int]) -> None:
        lines = ok(memory, command="view", path="/memories/2026-01-02.md", view_range=asked).splitlines()[1:]

        assert [int(line.split("\t")[0]) for line in lines] == numbers

    @pytest.mark.parametrize("asked", [[0, 1], [4, 5], [3, 2], [1], "1-2", [1.0, 2], [True, 2]])
    def test_refuses_a_range_that_is_none(self, memory: MemoryTool, asked: Any) -> None:
        assert "view_range" in refused(memory, command="view", path="/memories/2026-01-02.md", view_range=asked)

    def test_cuts_what_is_too_long_and_says_where_to_go_on(self, memory: MemoryTool, workspace: Path) -> None:
        (workspace / "memory" / "long.md").write_text("x" * 99 + "\n" + ("y" * 99 + "\n") * 1000, encoding="utf-8")

        text = ok(memory, command="view", path="/memories/long.md")

        assert len(text) < 50_000
        following = int(text.rsplit("[", 1)[1].split(",")[0])
        rest = ok(memory, command="view", path="/memories/long.md", view_range=[following, following])
        assert f"{following:6d}\t" in rest
        assert f"{following:6d}\t" not in text

    def test_takes_secrets_out(self, memory: MemoryTool, workspace: Path) -> None:
        key = "sk-ant-api03-" + "a1B2" * 12
        (workspace / "MEMORY.md").write_text(f"key: {key}\n", encoding="utf-8")

        assert key not in ok(memory, command="view", path="/memories/MEMORY.md")

    def test_a_private_key_takes_as_many_lines_as_it_has(self, memory: MemoryTool, workspace: Path) -> None:
        """The numbers are what a model gives back to say where to insert."""
        (workspace / "MEMORY.md").write_text(f"first\n{PRIVATE_KEY}after\nlast\n", encoding="utf-8")

        shown = ok(memory, command="view", path="/memories/MEMORY.md")
        edited = ok(memory, command="str_replace", path="/memories/MEMORY.md", old_str="after", new_str="then")

        assert "     8\tafter" in shown
        assert "     8\tthen" in edited
        for line in PRIVATE_KEY.splitlines()[1:-1]:
            assert line not in shown + edited

    @pytest.mark.parametrize("asked", [None, [1, -1], [1, 1]])
    def test_an_empty_note_has_no_lines(self, memory: MemoryTool, workspace: Path, asked: list[int] | None) -> None:
        (workspace / "memory" / "empty.md").write_text("", encoding="utf-8")

        shown = ok(memory, command="view", path="/memories/empty.md", view_range=asked)
        assert shown == "Here's the content of /memories/empty.md with line numbers:"

    @pytest.mark.parametrize("path", ["/memories/none.md", "/memories/picture.png", "/memories/none/x.md"])
    def test_what_is_no_note_does_not_exist(self, memory: MemoryTool, path: str) -> None:
        assert (
            refused(memory, command="view", path=path)
            == f"The path {path} does not exist. Please provide a valid path."
        )


class TestCreate:
    def test_writes_a_note_and_the_folders_above_it(self, memory: MemoryTool, workspace: Path) -> None:
        said = ok(memory, command="create", path="/memories/people/ada.md", file_text="Ada likes tea.\n")

        assert said == "File created successfully at: /memories/people/ada.md"
        file = workspace / "memory" / "people" / "ada.md"
        assert file.read_text(encoding="utf-8") == "Ada likes tea.\n"
        assert file.stat().st_mode & 0o077 == 0
        assert file.parent.stat().st_mode & 0o077 == 0

    def test_does_not_overwrite(self, memory: MemoryTool, workspace: Path) -> None:
        said = refused(memory, command="create", path="/memories/MEMORY.md", file_text="gone")

        assert said == "Error: File /memories/MEMORY.md already exists"
        assert "Tea" in (workspace / "MEMORY.md").read_text(encoding="utf-8")

    @pytest.mark.parametrize("path", ["/memories", "/memories/projects", "/memories/picture.png"])
    def test_a_folder_or_another_file_is_there_already(self, memory: MemoryTool, path: str) -> None:
        said = refused(memory, command="create", path=path, file_text="x")

        assert said == f"Error: File {path} already exists"

    def test_suggests_a_markdown_name(self, memory: MemoryTool) -> None:
        said = refused(memory, command="create", path="/memories/notes.txt", file_text="x")

        assert "use /memories/notes.md instead" in said

    def test_keeps_secrets_and_recalled_text_out(self, memory: MemoryTool, workspace: Path) -> None:
        key = "sk-ant-api03-" + "a1B2" * 12
        text = f"New fact.\n<relevant-memories>\nold\n</relevant-memories>\nkey {key}\n"

        ok(memory, command="create", path="/memories/new.md", file_text=text)

        written = (workspace / "memory" / "new.md").read_text(encoding="utf-8")
        assert "New fact." in written
        assert "old" not in written
        assert key not in written

    def test_a_file_on_the_way_is_a_readable_error(self, memory: MemoryTool) -> None:
        assert "is a file" in refused(memory, command="create", path="/memories/2026-01-02.md/x.md", file_text="x")

    def test_one_of_many_writers_wins(self, memory: MemoryTool) -> None:
        answers: list[bool] = []

        def create(number: int) -> None:
            command = {"command": "create", "path": "/memories/race.md", "file_text": f"{number}\n"}
            answers.append(memory.handle(command).is_error)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(answers) == [False, *[True] * 7]


class TestEdit:
    def test_replaces_a_text_that_is_there_once(self, memory: MemoryTool, workspace: Path) -> None:
        said = ok(memory, command="str_replace", path="/memories/2026-01-02.md", old_str="two", new_str="2\n2b")

        assert said.startswith("The memory file has been edited.")
        assert "     3\t2b" in said
        assert (workspace / "memory" / "2026-01-02.md").read_text(encoding="utf-8") == "one\n2\n2b\nthree\n"

    def test_says_where_a_text_is_that_is_there_twice(self, memory: MemoryTool) -> None:
        ok(memory, command="insert", path="/memories/2026-01-02.md", insert_line=3, insert_text="two")

        said = refused(memory, command="str_replace", path="/memories/2026-01-02.md", old_str="two", new_str="2")

        assert "in lines: 2, 4." in said

    @pytest.mark.parametrize("old", ["four", ""])
    def test_a_text_that_is_not_there(self, memory: MemoryTool, old: str) -> None:
        said = refused(memory, command="str_replace", path="/memories/2026-01-02.md", old_str=old, new_str="4")

        assert "did not appear verbatim" in said

    @pytest.mark.parametrize(
        ("line", "found"), [(0, "new\none\ntwo\n"), (1, "one\nnew\ntwo\n"), (2, "one\ntwo\nnew\n")]
    )
    def test_inserts_behind_a_line(self, memory: MemoryTool, workspace: Path, line: int, found: str) -> None:
        file = workspace / "memory" / "short.md"
        file.write_text("one\ntwo", encoding="utf-8")

        ok(memory, command="insert", path="/memories/short.md", insert_line=line, insert_text="new\n")

        assert file.read_text(encoding="utf-8") == found

    @pytest.mark.parametrize("line", [-1, 4, "1", None, True, 1.5])
    def test_refuses_a_line_that_is_none(self, memory: MemoryTool, line: Any) -> None:
        said = refused(memory, command="insert", path="/memories/2026-01-02.md", insert_line=line, insert_text="x")

        assert "[0, 3]" in said

    def test_windows_line_ends_stay(self, memory: MemoryTool, workspace: Path) -> None:
        file = workspace / "memory" / "dos.md"
        file.write_bytes(b"one\r\ntwo\r\n")

        ok(memory, command="str_replace", path="/memories/dos.md", old_str="one\ntwo", new_str="1\n2")
        ok(memory, command="insert", path="/memories/dos.md", insert_line=2, insert_text="3")

        assert file.read_bytes() == b"1\r\n2\r\n3\r\n"

    def test_a_file_that_is_not_text_stays_as_it_is(self, memory: MemoryTool, workspace: Path) -> None:
        file = workspace / "memory" / "odd.md"
        file.write_bytes(b"\xff\xfe one")

        assert "UTF-8" in refused(memory, command="insert", path="/memories/odd.md", insert_line=0, insert_text="x")
        assert file.read_bytes() == b"\xff\xfe one"

    @pytest.mark.parametrize(
        ("command", "found"),
        [
            ({"command": "str_replace", "old_str": "two", "new_str": "2"}, "one\n2\nthree\nmeanwhile\n"),
            ({"command": "insert", "insert_line": 1, "insert_text": "1b"}, "one\n1b\ntwo\nthree\nmeanwhile\n"),
        ],
    )
    def test_what_another_program_writes_meanwhile_is_not_lost(
        self, memory: MemoryTool, workspace: Path, monkeypatch: pytest.MonkeyPatch, command: Any, found: str
    ) -> None:
        file = workspace / "memory" / "2026-01-02.md"

        def write_first(text: str) -> str:  # called between reading and writing
            if "meanwhile" not in file.read_text(encoding="utf-8"):
                with file.open("a", encoding="utf-8") as out:
                    out.write("meanwhile\n")
            return text

        monkeypatch.setattr(tool, "redact", write_first)
        ok(memory, path="/memories/2026-01-02.md", **command)

        assert file.read_text(encoding="utf-8") == found


class TestDeleteAndRename:
    def test_deletes_a_note_and_a_folder(self, memory: MemoryTool, workspace: Path) -> None:
        assert ok(memory, command="delete", path="/memories/2026-01-02.md") == (
            "Successfully deleted /memories/2026-01-02.md"
        )
        ok(memory, command="delete", path="/memories/projects")

        assert [each.name for each in (workspace / "memory").iterdir()] == ["picture.png"]

    def test_a_folder_with_other_files_is_not_deleted(self, memory: MemoryTool, workspace: Path) -> None:
        (workspace / "memory" / "projects" / "deep" / "plan.pdf").write_bytes(b"%PDF")

        assert "plan.pdf" in refused(memory, command="delete", path="/memories/projects")
        assert (workspace / "memory" / "projects" / "orchid.md").exists()

    @pytest.mark.parametrize("hidden", [".draft.md", ".obsidian/x.md", "node_modules/readme.md"])
    def test_a_folder_with_notes_that_no_listing_shows_is_not_deleted(
        self, memory: MemoryTool, workspace: Path, hidden: str
    ) -> None:
        file = workspace / "memory" / "projects" / hidden
        file.parent.mkdir(exist_ok=True)
        file.write_text("x", encoding="utf-8")

        assert hidden.split("/")[0] in refused(memory, command="delete", path="/memories/projects")
        assert file.exists()

    @pytest.mark.parametrize("path", ["/memories", "/memories/"])
    def test_the_root_stays(self, memory: MemoryTool, path: str) -> None:
        refused(memory, command="delete", path=path)
        refused(memory, command="rename", old_path=path, new_path="/memories/x")

    def test_renames_a_note_and_a_folder(self, memory: MemoryTool, workspace: Path) -> None:
        ok(memory, command="rename", old_path="/memories/2026-01-02.md", new_path="/memories/old/day.md")
        ok(memory, command="rename", old_path="/memories/projects", new_path="/memories/old/work")

        assert (workspace / "memory" / "old" / "day.md").exists()
        assert (workspace / "memory" / "old" / "work" / "orchid.md").exists()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("/memories/none.md", "/memories/x.md"),
            ("/memories/2026-01-02.md", "/memories/MEMORY.md"),
            ("/memories/2026-01-02.md", "/memories/x.txt"),
            ("/memories/projects", "/memories/projects/deep/projects"),
            ("/memories/projects", "/memories/x.md"),
            ("/memories/2026-01-02.md", "/memories/../x.md"),
        ],
    )
    def test_a_rename_that_would_harm_is_refused(self, memory: MemoryTool, workspace: Path, old: str, new: str) -> None:
        before = _tree(workspace)

        refused(memory, command="rename", old_path=old, new_path=new)

        assert _tree(workspace) == before


@pytest.mark.parametrize(
    "command",
    [{}, {"command": "format"}, {"command": ["view"]}, {"command": "create", "path": "/memories/x.md"}, "view", None],
)
def test_what_is_no_command_is_a_readable_error(memory: MemoryTool, command: Any) -> None:
    answer = memory.handle(command)

    assert answer.is_error
    assert answer.text.startswith("Error: ")


DAY = "/memories/2026-01-02.md"
DOCUMENTED: list[tuple[dict[str, Any], str]] = [
    (
        {"command": "view", "path": "/memories/x.md"},
        "The path /memories/x.md does not exist. Please provide a valid path.",
    ),
    ({"command": "create", "path": "/memories/x.md", "file_text": "x"}, "File created successfully at: /memories/x.md"),
    ({"command": "create", "path": DAY, "file_text": "x"}, f"Error: File {DAY} already exists"),
    (
        {"command": "str_replace", "path": DAY, "old_str": "two", "new_str": "2"},
        "The memory file has been edited.\n     1\tone\n     2\t2\n     3\tthree",
    ),
    (
        {"command": "str_replace", "path": "/memories/projects", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/projects does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": DAY, "old_str": "four", "new_str": "4"},
        f"No replacement was performed, old_str `four` did not appear verbatim in {DAY}.",
    ),
    (
        {"command": "str_replace", "path": DAY, "old_str": "o", "new_str": "0"},
        "No replacement was performed. Multiple occurrences of old_str `o` in lines: 1, 2. Please ensure it is unique",
    ),
    ({"command": "insert", "path": DAY, "insert_line": 1, "insert_text": "x"}, f"The file {DAY} has been edited."),
    (
        {"command": "insert", "path": "/memories/projects", "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/projects does not exist",
    ),
    (
        {"command": "insert", "path": DAY, "insert_line": 9, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 3]",
    ),
    ({"command": "delete", "path": "/memories/projects"}, "Successfully deleted /memories/projects"),
    ({"command": "delete", "path": "/memories/x.md"}, "Error: The path /memories/x.md does not exist"),
    (
        {"command": "rename", "old_path": DAY, "new_path": "/memories/x.md"},
        f"Successfully renamed {DAY} to /memories/x.md",
    ),
    (
        {"command": "rename", "old_path": "/memories/x.md", "new_path": "/memories/y.md"},
        "Error: The path /memories/x.md does not exist",
    ),
    (
        {"command": "rename", "old_path": DAY, "new_path": "/memories/MEMORY.md"},
        "Error: The destination /memories/MEMORY.md already exists",
    ),
]


@pytest.mark.parametrize(
    ("command", "said"), DOCUMENTED, ids=lambda each: each["command"] if isinstance(each, dict) else ""
)
def test_says_what_anthropic_documents(memory: MemoryTool, command: dict[str, Any], said: str) -> None:
    assert memory.handle(command).text == said


def test_more_lines_than_can_be_numbered_are_refused_as_documented(memory: MemoryTool, workspace: Path) -> None:
    (workspace / "memory" / "long.md").write_text("\n" * 1_000_000, encoding="utf-8")

    said = refused(memory, command="view", path="/memories/long.md")
    assert said == "File /memories/long.md exceeds maximum line limit of 999,999 lines."


def _tree(folder: Path) -> dict[str, bytes]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


class TestMemoryAsATool(ToolContract):
    @pytest.fixture(autouse=True)
    def _workspace(self, workspace: Path) -> None:
        self.workspace = workspace

    def make_tool(self) -> Any:
        return make_tool(lambda: NoteFolder(self.workspace))

    def good_arguments(self) -> dict[str, Any]:
        return {"command": "view", "path": "/memories/2026-01-02.md", "view_range": [1, 2]}


class TestPlugin:
    def test_gives_no_tool_unless_asked(self, tmp_path: Path) -> None:
        with HostOpener(tmp_path / "home") as open_host:
            assert open_host("anthropic-memory").tools() == ()

    def test_gives_the_tool_in_private_when_asked(self, tmp_path: Path) -> None:
        config = {"plugins": {"entries": {"anthropic-memory": {"config": {"tool": True}}}}}
        with HostOpener(tmp_path / "home") as open_host:
            host = open_host("anthropic-memory", "memory-core", config=config)
            made = host.call_tool("memory", {"command": "create", "path": "/memories/a.md", "file_text": "hello\n"})

            assert "memory" in [tool.name for tool in host.tools()]
            assert "memory" not in [tool.name for tool in host.tools("group")]
            assert not made.is_error
            assert (tmp_path / "home" / "workspace" / "memory" / "a.md").read_text(encoding="utf-8") == "hello\n"

    def test_what_it_writes_is_found(self, tmp_path: Path) -> None:
        config = {
            "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}},
            "plugins": {"entries": {"anthropic-memory": {"config": {"tool": True}}}},
        }
        with HostOpener(tmp_path / "home") as open_host:
            host = open_host("anthropic-memory", "memory-core", config=config)
            host.call_tool("memory_search", {"query": "builds the index"})
            text = "The heliotrope blooms.\n"
            host.call_tool("memory", {"command": "create", "path": "/memories/garden/a.md", "file_text": text})
            found = host.call_tool("memory_search", {"query": "heliotrope"}).data

            assert [hit["path"] for hit in found["results"]] == ["memory/garden/a.md"]

    def test_a_memory_without_note_files_is_an_error_in_one_sentence(self, tmp_path: Path) -> None:
        config = {"plugins": {"slots": {"memory": "none"}, "entries": {"anthropic-memory": {"config": {"tool": True}}}}}
        with HostOpener(tmp_path / "home") as open_host:
            told = open_host("anthropic-memory", config=config).call_tool("memory", {"command": "view"})

        assert told.is_error
        assert told.text == "Error: the memory tool edits note files, and the memory in the slot has none"


def test_the_memory_hears_of_each_change(workspace: Path) -> None:
    notes = NoteFolder(workspace)
    memory = MemoryTool(notes)
    ok(memory, command="view", path="/memories/MEMORY.md")
    ok(memory, command="create", path="/memories/new/a.md", file_text="x\n")
    ok(memory, command="insert", path="/memories/MEMORY.md", insert_line=0, insert_text="y")
    ok(memory, command="rename", old_path="/memories/new/a.md", new_path="/memories/new/b.md")
    ok(memory, command="delete", path="/memories/projects")
    refused(memory, command="delete", path="/memories/missing.md")

    assert notes.changed == [
        "memory/new/a.md",
        "MEMORY.md",
        "memory/new/a.md",
        "memory/new/b.md",
        "memory/projects",
    ]


def test_a_redacted_secret_is_told(tmp_path: Path) -> None:
    notes = MemoryTool(NoteFolder(tmp_path))
    secret = "ghp_" + "aB3dE5fG7h" * 4
    answer = notes.handle({"command": "create", "path": "/memories/a.md", "file_text": f"token {secret}\n"})
    assert "were replaced by [redacted]" in answer.text
    assert secret not in (tmp_path / "memory" / "a.md").read_text()
    answer = notes.handle({"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "tea"})
    assert "[redacted]" not in answer.text
