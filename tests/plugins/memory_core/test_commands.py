"""`memslot memory index`, `search` and `status` as a person or a script calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from memslot import Config, MemoryHit, MemorySearchOutcome, MemoryStatus, PluginContext, Selection
from memslot.config.paths import Places
from memslot_memory_core.backend import backend_of
from memslot_memory_core.commands import add_commands
from memslot_memory_core.commands import index as index_command
from memslot_memory_core.index.report import SyncReport

ESCAPE = "\x1b[2J"


class Fake:
    """A memory that answers with what it was told to."""

    def __init__(self, *reports: SyncReport) -> None:
        self.reports = list(reports)

    def sync(self, **_: Any) -> SyncReport:
        return self.reports[0]

    def last_sync(self) -> SyncReport | None:
        if len(self.reports) == 1:
            raise KeyboardInterrupt
        return self.reports.pop(0)

    def start_watching(self) -> str:
        return "Watching"

    def search(self, *_: Any, **__: Any) -> MemorySearchOutcome:
        hit = MemoryHit(
            path=f"memory/{ESCAPE}.md", start_line=1, end_line=2, score=0.5, snippet=f"text {ESCAPE}", source="memory"
        )
        return MemorySearchOutcome([hit], mode="keyword", warning=f"odd {ESCAPE}")

    def status(self, **_: Any) -> MemoryStatus:
        return MemoryStatus("builtin", counts={}, problems=[f"odd {ESCAPE}"], details={"workspace": f"/w/{ESCAPE}"})


def run(tmp_path: Path, *arguments: str, memory: Fake | None = None, code: int = 0) -> Result:
    ctx = PluginContext(
        "memory-core",
        config={},
        agent_id="main",
        places=Places(tmp_path, tmp_path / "memslot.json5"),
        host_config=Config.from_tree({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}),
        select_embedder=lambda _: Selection(None, "none", "none in this test"),
    )
    ctx.workspace.mkdir(exist_ok=True)
    if memory is not None:
        ctx.shared("memory", lambda: memory)
    cli = click.Group()
    add_commands(cli, ctx)
    done = CliRunner().invoke(cli, ["memory", *arguments], color=True)
    if memory is None:
        backend_of(ctx).close()
    assert done.exit_code == code, f"{done.exit_code}: {done.output} {done.exception!r}"
    return done


@pytest.mark.parametrize(
    ("force", "report", "code"),
    [
        (False, SyncReport(indexed=1), 0),
        (False, SyncReport(indexed=1, problems=[f"odd {ESCAPE}"]), 0),
        (False, SyncReport(complete=False), 1),
        (True, SyncReport(indexed=3, rebuilt=True), 0),
        (True, SyncReport(unchanged=3), 1),
        (True, SyncReport(complete=False, problems=["stopped"]), 1),
    ],
)
def test_indexing_fails_where_not_all_of_it_was_done(
    tmp_path: Path, force: bool, report: SyncReport, code: int
) -> None:
    done = run(tmp_path, "index", *(["--force"] if force else []), memory=Fake(report), code=code)
    assert ESCAPE not in done.output


def test_the_first_index_of_all_may_be_forced(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    (tmp_path / "workspace" / "memory" / "a.md").write_text("The gate is green.")
    run(tmp_path, "index", "--force")
    assert "Rebuilt" in run(tmp_path, "index", "--force").stdout


def test_watching_prints_each_sync_that_changed_something_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_command, "_RESCAN_SECONDS", 0.0)
    first, nothing, second = SyncReport(indexed=7), SyncReport(unchanged=7), SyncReport(removed=2, problems=["torn"])
    done = run(tmp_path, "index", "--watch", memory=Fake(first, first, nothing, second, second, second))
    assert done.stdout.count("7 changed") == 1
    assert done.stdout.count("2 removed") == 1
    assert done.stdout.count("0 changed, 0 removed") == 0
    assert done.stderr.count("torn") == 1


@pytest.mark.parametrize("command", [("search", "x", "--no-sync"), ("status",)])
def test_nothing_that_is_printed_moves_the_cursor(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(tmp_path, *command, memory=Fake(), code=command[0] == "status")
    assert "odd" in done.output
    assert ESCAPE not in done.output


def test_status_of_qmd_tells_of_qmd_and_of_what_answers_instead(tmp_path: Path) -> None:
    class Qmd(Fake):
        def status(self, **_: Any) -> MemoryStatus:
            details = {
                "program": "/opt/qmd",
                "mode": "keywords",
                "home": "/h/qmd",
                "collections": [{"name": "memory-dir", "root": "/w/memory", "pattern": "**/*.md"}],
                "updatedAt": "2026-01-02T03:04:05+00:00",
                "embeddedAt": None,
            }
            return MemoryStatus("qmd", counts={"collections": 1}, problems=[], details=details)

    told = run(tmp_path, "status", memory=Qmd()).stdout
    assert "/opt/qmd" in told
    assert "memory-dir (/w/memory, **/*.md)" in told
    assert "2026-01-02T03:04:05" in told
    assert "Chunks" not in told, "it has none, and nobody knows how many QMD has"

    class Out(Qmd):
        def status(self, **_: Any) -> MemoryStatus:
            status = super().status()
            fallback = {"backend": "builtin", "since": "noon", "details": {"workspace": "/w"}}
            counts, details = {**status.counts, "files": 7}, {**status.details, "fallback": fallback}
            return MemoryStatus("qmd", counts=counts, problems=["out"], details=details)

    told = run(tmp_path, "status", memory=Out(), code=1).stdout
    assert "builtin since noon" in told
    assert "7" in told


def test_explanations_are_one_table_in_words(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("# Gate\n\nThe gate code is 4711.\n", encoding="utf-8")
    lines = run(tmp_path, "search", "gate code", "--explain").stdout.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("where"))
    assert "relevance" in lines[heading]
    assert lines[heading + 1].startswith("MEMORY.md#L1-L3")
    assert lines[heading + 1].index("shown") == lines[heading].index("outcome")
    assert "textScore" not in "\n".join(lines)
    assert "mmrPenalty" not in "\n".join(lines)


def test_get_prints_the_lines_asked_for_and_says_where_to_go_on(tmp_path: Path) -> None:
    run(tmp_path, "index")
    (tmp_path / "workspace" / "MEMORY.md").write_text(f"one\ntwo {ESCAPE}\nthree\nfour\n")
    run(tmp_path, "index")
    shown = run(tmp_path, "get", "MEMORY.md", "--from", "2", "--lines", "2")
    assert shown.stdout.splitlines()[0].startswith("two ")
    assert shown.stdout.splitlines()[1] == "three"
    assert "\x1b" not in shown.stdout
    assert "--from 4" in shown.stderr
    told = json.loads(run(tmp_path, "get", "MEMORY.md", "--json").stdout)
    assert (told["from"], told["lines"], told["truncated"]) == (1, 4, False)


@pytest.mark.parametrize("path", ["memory/none.md", "MEMORY.txt", "../memslot.json5"])
def test_get_refuses_what_is_no_note_in_one_sentence(tmp_path: Path, path: str) -> None:
    run(tmp_path, "index")
    (tmp_path / "memslot.json5").write_text("{ agents: {} }")
    refused = run(tmp_path, "get", path, code=1)
    assert path in (refused.output or str(refused.exception))
    assert "agents" not in refused.output
