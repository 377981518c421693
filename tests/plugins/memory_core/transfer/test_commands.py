"""`memslot memory audit`, `export` and `import` as a person or a script calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from memslot import Config, PluginContext, Selection
from memslot.config.paths import Places
from memslot_memory_core.backend import backend_of
from memslot_memory_core.commands import add_commands

TEXT = "We release on Tuesdays, always in the morning, after the tests are green."


class Memory:
    """The commands of one agent, with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.ctx = PluginContext(
            "memory-core",
            config={},
            agent_id="main",
            places=Places(home, home / "memslot.json5"),
            host_config=Config.from_tree({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}),
            select_embedder=lambda _: Selection(None, "none", "none in this test"),
        )
        self.cli = click.Group()
        add_commands(self.cli, self.ctx)
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True)

    def write(self, path: str, text: str) -> Path:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def __call__(self, *arguments: str | Path, code: int = 0, stdin: bytes | None = None) -> Result:
        done = CliRunner().invoke(self.cli, ["memory", *map(str, arguments)], input=stdin)
        assert done.exit_code == code, f"{arguments} ended with {done.exit_code}: {done.output} {done.exception!r}"
        return done

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def finds(self, query: str) -> list[str]:
        return [hit["path"] for hit in self.json("search", query, "--no-sync")["results"]]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "here")
    yield memory
    backend_of(memory.ctx).close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "there")
    yield memory
    backend_of(memory.ctx).close()


@pytest.mark.parametrize("name", ["x.zip", "x.jsonl"])
def test_what_was_exported_is_found_in_the_other_memory(here: Memory, there: Memory, tmp_path: Path, name: str) -> None:
    here.write("memory/release.md", TEXT)

    told = here.json("export", tmp_path / name)
    done = there.json("import", tmp_path / name)

    assert (told["files"], told["bytes"], told["problems"]) == (1, len(TEXT), [])
    assert done["counts"]["new"] == 1
    assert done["sync"]["indexed"] == 1
    assert there.finds("Tuesdays release") == ["memory/release.md"]


def test_an_export_can_go_through_a_pipe(here: Memory, there: Memory) -> None:
    here.write("MEMORY.md", "Größe: 3\n")

    piped = here("export", "-").stdout_bytes
    there("import", "-", stdin=piped)

    assert (there.workspace / "MEMORY.md").read_text(encoding="utf-8") == "Größe: 3\n"


def test_transcripts_go_along_when_asked(here: Memory, there: Memory, tmp_path: Path) -> None:
    sessions = here.ctx.places.sessions_dir("main")
    sessions.mkdir(parents=True)
    (sessions / "s.jsonl").write_bytes(b'{"type": "session"}\n')

    assert here.json("export", tmp_path / "n.zip")["files"] == 0
    here("export", tmp_path / "x.zip", "--sessions")
    there("import", tmp_path / "x.zip")

    assert (there.ctx.places.sessions_dir("main") / "s.jsonl").read_bytes() == b'{"type": "session"}\n'


def test_a_conflict_is_told_and_ends_with_one_until_it_is_overwritten(
    here: Memory, there: Memory, tmp_path: Path
) -> None:
    here.write("MEMORY.md", "theirs")
    mine = there.write("MEMORY.md", "mine")
    here("export", tmp_path / "x.zip")

    told = there("import", tmp_path / "x.zip", code=1)
    assert "conflict" in told.stdout
    assert "--overwrite" in told.stderr
    assert mine.read_text(encoding="utf-8") == "mine"

    assert there.json("import", tmp_path / "x.zip", "--overwrite", "--dry-run")["sync"] is None
    assert mine.read_text(encoding="utf-8") == "mine"
    done = there.json("import", tmp_path / "x.zip", "--overwrite")
    assert done["files"] == [{"path": "MEMORY.md", "state": "overwritten", "backup": "MEMORY.md.bak-1"}]
    assert (there.workspace / "MEMORY.md.bak-1").read_text(encoding="utf-8") == "mine"


def test_a_memory_is_not_copied_into_itself(here: Memory) -> None:
    here.write("memory/a.md", "x")

    for folder in (here.workspace, here.workspace / "memory", here.workspace.parent):
        done = here("import", folder, code=1)
        assert "overlap" in str(done.exception)
    assert [file.name for file in here.workspace.rglob("*.md")] == ["a.md"]


def test_wrong_usage_is_told_in_a_sentence(here: Memory, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")

    assert "must end in .zip or .jsonl" in here("export", tmp_path / "x.tar", code=2).stderr
    assert "is not a zip" in str(here("import", tmp_path / "x.txt", code=1).exception)


def test_an_audit_tells_what_it_found_under_stable_keys(here: Memory) -> None:
    here.write("MEMORY.md", f"{TEXT}\n\npassword: hunter2222\n")
    here.write("memory/b.md", TEXT)

    report = here.json("audit")

    assert set(report) == {"workspace", "staleDays", "files", "passages", "counts", "findings"}
    assert [each["kind"] for each in report["findings"]] == ["secret", "duplicate"]
    assert set(report["findings"][0]) == {"kind", "path", "startLine", "endLine", "excerpt", "action", "others"}
    assert "hunter" not in json.dumps(report)
    assert [each["kind"] for each in here.json("audit", "--kind", "duplicate")["findings"]] == ["duplicate"]


def test_an_audit_fails_only_when_it_is_strict_and_found_something(here: Memory) -> None:
    assert "no findings" in here("audit", "--strict").stdout
    here.write("MEMORY.md", "password: hunter2222\n")

    assert "MEMORY.md#L1" in here("audit").stdout
    here("audit", "--strict", code=1)
    here("audit", "--strict", "--kind", "stale")
