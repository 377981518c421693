"""The real program, from npm: what is believed of it elsewhere is true. Keywords only, since models need a network."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import Host, Session
from memslot_memory_core.qmd.collections import Collection, sync_collections
from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.qmd.home import QmdHome
from memslot_memory_core.qmd.memory import QmdMemory
from memslot_memory_core.qmd.output import read_rows
from memslot_memory_core.qmd.program import QmdProgram
from memslot_memory_core.qmd.settings import ExtraPath, QmdSettings, Scope

from .conftest import MakeMemory, make_workspace
from .test_patterns import FILES, TABLE

GROUP = Session(agent_id="main", chat_type="group")
PATIENT = {"timeout": 60.0}


@pytest.fixture
def memory(real_qmd: Path, make_memory: MakeMemory) -> QmdMemory:
    made = make_memory(real_qmd, **PATIENT)
    made.update()
    return made


@pytest.fixture(scope="module")
def indexed(real_qmd: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QmdMemory]:
    """One for all tests that only ask."""
    folder = tmp_path_factory.mktemp("indexed")
    settings = QmdSettings(command=str(real_qmd), scope=Scope("allow", ()), timeout=60.0)
    made = QmdMemory(settings, workspace=make_workspace(folder / "workspace"), home=folder / "qmd")
    report = made.update()
    assert report is not None
    assert (report.indexed, report.unchanged) == (3, 0)
    yield made
    made.close()


def test_notes_are_found_with_their_lines(indexed: QmdMemory) -> None:
    outcome = indexed.search("delft office")

    [hit] = outcome.hits
    assert (hit.path, hit.start_line, hit.end_line) == ("qmd/memory-dir/2026-01-02.md", 3, 3)
    assert hit.snippet == "We chose the Delft office."
    assert 0 <= hit.score <= 1
    assert (outcome.mode, outcome.provider, outcome.warning) == ("keywords", "qmd", None)
    assert indexed.read_file(hit.path) == "# Friday\n\nWe chose the Delft office.\n"


def test_file_names_of_all_kinds_come_back_as_they_are(indexed: QmdMemory) -> None:
    paths = {hit.path for hit in indexed.search("delft").hits}

    assert paths == {"qmd/memory-dir/2026-01-02.md", "qmd/memory-dir/trips/Köln & co #1.md"}
    assert all(indexed.read_file(path) for path in paths)


@pytest.mark.parametrize(
    ("query", "count"), [("--help", 1), ("-help", 1), ("--help --version --json -n 3 -c nothing", 0), ("-", 0)]
)
def test_query_that_looks_like_an_option_is_a_query(indexed: QmdMemory, query: str, count: int) -> None:
    assert len(indexed.search(query).hits) == count


@pytest.mark.parametrize(
    "query", ['"unbalanced', "lex: a\nvec: b", "a AND (b OR", "NEAR(a b)", "*", "x" * 5000, "漢 🙂"]
)
def test_no_query_makes_it_fail(indexed: QmdMemory, query: str) -> None:
    assert indexed.search(query).mode == "keywords"


def test_what_is_about_the_person_stays_out_of_groups(indexed: QmdMemory) -> None:
    assert [hit.path for hit in indexed.search("passport").hits] == ["qmd/memory-root/MEMORY.md"]
    assert indexed.search("passport", session=GROUP).hits == []
    assert len(indexed.search("delft", session=GROUP).hits) == 2


def test_unknown_collection_is_an_error_that_says_so(indexed: QmdMemory, real_qmd: Path) -> None:
    program = QmdProgram(str(real_qmd), Path(indexed.status().details["home"]))

    with pytest.raises(QmdError, match="code 1: Collection not found: nope"):
        program.run("search", "--json", "-c", "nope", "--", "x", timeout=60)


def test_everything_stays_in_its_home_for_the_owner_only(indexed: QmdMemory) -> None:
    home = Path(indexed.status().details["home"])
    made = [path for path in home.rglob("*") if not path.is_symlink()]

    assert QmdHome(home).index_file in made
    assert home.stat().st_mode & 0o077 == 0
    assert [path for path in made if path.is_file() and path.stat().st_mode & 0o077] == []


def test_deep_status_tells_the_version(indexed: QmdMemory) -> None:
    assert indexed.status(deep=True).details["version"].startswith("qmd 2.")


def test_changes_on_disk_are_found_after_an_update(memory: QmdMemory, workspace: Path) -> None:
    (workspace / "memory" / "new.md").write_text("The harbour is in Rotterdam.\n", encoding="utf-8")
    (workspace / "memory" / "2026-01-02.md").unlink()

    report = memory.update()

    assert report is not None
    assert (report.indexed, report.removed, report.unchanged) == (1, 1, 2)
    assert [hit.path for hit in memory.search("rotterdam").hits] == ["qmd/memory-dir/new.md"]
    assert memory.search("office").hits == []


def test_collections_follow_the_config(
    real_qmd: Path, make_memory: MakeMemory, memory: QmdMemory, tmp_path: Path
) -> None:
    docs = tmp_path / "My docs"
    docs.mkdir()
    (docs / "a, b.md").write_text("Windmills in Kinderdijk\n", encoding="utf-8")
    (docs / "c.md").write_text("Windmills in Schiedam\n", encoding="utf-8")

    one = make_memory(real_qmd, paths=(ExtraPath(str(docs / "a, b.md"), name="mills"),), **PATIENT)
    one.update()
    assert [hit.path for hit in one.search("windmills").hits] == ["qmd/mills/a, b.md"]

    other = make_memory(real_qmd, paths=(ExtraPath(str(docs), "c*", name="mills"),), **PATIENT)
    other.update()
    assert [hit.path for hit in other.search("windmills").hits] == ["qmd/mills/c.md"]
    assert len(other.search("delft").hits) == 2, "the rest stays"

    memory.update()
    assert memory.search("windmills").hits == []
    with contextlib.closing(sqlite3.connect(QmdHome(tmp_path / "qmd").index_file)) as database:
        [(left,)] = database.execute("SELECT count(*) FROM content WHERE doc LIKE '%Windmills%'")
    assert left == 0, "what is no longer asked for leaves no text behind"


def test_patterns_mean_to_qmd_what_they_mean_here(real_qmd: Path, tmp_path: Path) -> None:
    root = tmp_path / "files"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n", encoding="utf-8")
    home = QmdHome(tmp_path / "qmd")
    home.prepare()
    program = QmdProgram(str(real_qmd), home.folder)
    patterns = ["**/*.md", "MEMORY.md,memory.md,USER.md", "sub/**/*.{md,txt}", "a[13].md", "*.@(txt|mdx)", "../*.md"]
    sync_collections(program, [Collection(f"p{i}", root, each) for i, each in enumerate(patterns)], {}, timeout=60)

    for number, pattern in enumerate(patterns):
        output = program.run("search", "--json", "--all", "-c", f"p{number}", "--", "needle", timeout=60)
        assert {row.path for row in read_rows(output.stdout)} == TABLE[pattern], pattern


def test_links_out_of_a_collection_are_not_indexed(memory: QmdMemory, workspace: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("The Delft vault opens at nine.\n", encoding="utf-8")
    (workspace / "memory" / "link.md").symlink_to(secret)
    memory.update()

    assert memory.search("vault").hits == []


def test_local_qmd_folder_above_does_not_take_over(memory: QmdMemory, tmp_path: Path) -> None:
    """Run from a folder with `.qmd/index.yml` above it, the program would use that config, hooks and all."""
    (tmp_path / ".qmd").mkdir()
    (tmp_path / ".qmd" / "index.yml").write_text("collections: {}\n", encoding="utf-8")

    assert len(memory.search("delft").hits) == 2


def test_search_by_meaning_before_there_are_vectors_is_no_answer(
    real_qmd: Path, make_memory: MakeMemory, memory: QmdMemory
) -> None:
    with pytest.raises(QmdError, match=r"no vectors for 3 documents \(100 %\)"):
        make_memory(real_qmd, mode="vsearch", **PATIENT).search("delft")


def test_damaged_index_is_an_error(memory: QmdMemory, tmp_path: Path) -> None:
    index = QmdHome(tmp_path / "qmd").index_file
    for leftover in index.parent.glob("index.sqlite-*"):
        leftover.unlink()
    index.write_bytes(os.urandom(8192))

    with pytest.raises(QmdError, match="not a database"):
        memory.search("delft")


def test_agent_searches_reads_and_falls_back_through_the_host(
    real_qmd: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memslot_memory_core.qmd.memory.FIRST_UPDATE_SECONDS", 60.0)  # on a busy machine, too
    monkeypatch.setenv("MEMSLOT_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)

    def ask(command: str) -> tuple[dict[str, Any], dict[str, Any]]:
        config = {
            "agents": {"defaults": {"workspace": str(workspace), "memorySearch": {"provider": "none"}}},
            "memory": {"backend": "qmd", "qmd": {"command": command, "limits": {"timeoutMs": 60_000}}},
        }
        (tmp_path / "home" / "memslot.json").write_text(json.dumps(config), encoding="utf-8")
        with Host.load() as host:
            found = host.call_tool("memory_search", {"query": "delft office"}).data
            read = host.call_tool("memory_get", {"path": found["results"][0]["path"]}).data
        return found, read

    found, read = ask(str(real_qmd))
    assert found["results"][0]["path"] == "qmd/memory-dir/2026-01-02.md"
    assert found["provider"] == "qmd"
    assert "Delft office" in read["text"]

    found, read = ask(str(tmp_path / "nothing-here"))
    assert found["results"][0]["path"] == "memory/2026-01-02.md"
    assert found["fallback"] == "builtin"
    assert "was not found" in found["warning"]
    assert "npm install" in found["action"]
    assert "Delft office" in read["text"]
