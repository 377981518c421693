"""Small faults at the command line, each told in one sentence with the next step."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_indexing_a_workspace_that_is_not_there_fails_in_one_sentence(memslot: Any) -> None:
    done = memslot("memory", "index")
    assert (done.returncode, done.stdout) == (1, "")
    assert "workspace" in done.stderr
    assert done.stderr.endswith("does not exist, nothing to index; run: memslot init\n")
    assert "ndexed:" not in done.stderr


def test_a_workspace_that_is_no_longer_configured_is_not_complained_of(memslot: Any) -> None:
    memslot.ok("init")
    index = {"provider": "none"}
    gone = memslot.folder / "gone"
    gone.mkdir()
    memslot.write_config({"agents": {"defaults": {"workspace": str(gone), "memorySearch": index}}})
    gone.rmdir()
    memslot("memory", "search", "anything")
    memslot.write_config({"agents": {"defaults": {"memorySearch": index}}})
    assert str(gone) not in memslot("memory", "status").stderr


def test_the_first_run_recalls_no_untouched_template(memslot: Any) -> None:
    memslot.ok("init")
    assert "should be remembered for good" not in memslot.ok("run", "what should be remembered about me?")
    file = memslot.home / "workspace" / "MEMORY.md"
    file.write_text(file.read_text().replace("## Preferences\n", "## Preferences\n\n- Ana prefers green tea.\n"))
    told = memslot.ok("run", "what tea does Ana prefer?")
    assert told.count("green tea") == 1
    assert "should be remembered for good" not in told


def test_a_command_of_a_plugin_is_named_where_somebody_leaves_its_group_out(memslot: Any) -> None:
    done = memslot("index")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'memslot memory index'?" in done.stderr


def test_a_misspelt_key_is_told_with_the_likely_one(memslot: Any) -> None:
    done = memslot("config", "get", "agents.default.memorySearch.providr")
    assert done.returncode == 1
    assert "did you mean agents.defaults.memorySearch.provider?" in done.stderr


def test_a_long_cell_does_not_widen_a_pipes_column(memslot: Any) -> None:
    memslot.ok("init")
    notes = memslot.home / "workspace" / "memory"
    (notes / f"{'long-name-' * 20}.md").write_text("The password: hunter2-and-more-of-it\n")
    (notes / "b.md").write_text("The password: another-Sw0rdfish-77\n")
    lines = memslot.ok("memory", "audit", "--kind", "secret").splitlines()
    assert len(lines) >= 3
    assert "      " * 12 not in "\n".join(lines)


def test_unset_takes_objects_that_are_empty_then(memslot: Any) -> None:
    memslot.write_config("{\n  memory: { citations: 'on' },\n}\n")
    memslot.ok("config", "set", "plugins.entries.weather.config.units", "metric")
    memslot.ok("config", "unset", "plugins.entries.weather.config.units")
    assert memslot.config.read_text() == "{\n  memory: { citations: 'on' },\n}\n"


def test_validate_reports_every_fault_of_a_plugin(memslot: Any) -> None:
    folder = memslot.folder / "bad"
    folder.mkdir()
    (folder / "memslot.plugin.json").write_text(json.dumps({"id": "BAD", "kind": "x", "nmae": "n"}))
    done = memslot("plugins", "validate", str(folder), "--json")
    (plugin,) = json.loads(done.stdout)["plugins"]
    told = [check["message"] for check in plugin["checks"] if check["level"] == "problem"]
    assert len(told) == 5
    for word in ("id ", "kind", "name is required", "nmae", "__init__"):
        assert any(word in each for each in told), word


def test_json_on_a_terminal_escapes_what_would_steer_it(memslot: Any) -> None:
    memslot.ok("init")
    memslot.write_config({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}})
    said = "The zeppelin\x9b2J is \u202eder\u202c and \U000e0041loud, \x1b]0;pwned\x07 über 東京."
    (memslot.home / "workspace" / "memory" / "a.md").write_text(said + "\n", encoding="utf-8")
    code, shown = memslot.on_a_terminal("memory", "search", "zeppelin", "--json")
    assert code == 0
    assert not set(shown) & set("\x9b\u202e\u202c\U000e0041\x1b\x07")
    assert "\\u009b2J is \\u202eder" in shown
    assert "über 東京" in shown
    assert said in json.loads(shown)["results"][0]["snippet"]


FAKE_PIP = """
import shutil, sys
from pathlib import Path
here = Path(__file__).parent.parent
assert sys.argv[1:] == ["uninstall", "--yes", "book-shelf"], sys.argv
shutil.rmtree(here / "book_shelf-1.0.dist-info")
"""


@pytest.mark.parametrize("answer", ["n", "y"])
def test_uninstalling_the_owner_of_a_slot_says_that_the_slot_loses_it(memslot: Any, answer: str) -> None:
    """A distribution on PYTHONPATH, and beside it a pip that can remove nothing else."""
    memslot.add_plugin("book-shelf")
    memslot.write_config({"plugins": {"slots": {"memory": "book-shelf"}}})
    site = memslot.folder / "plugins"
    info = site / "book_shelf-1.0.dist-info"
    (site / "pip").mkdir()
    (site / "pip" / "__init__.py").touch()
    (site / "pip" / "__main__.py").write_text(FAKE_PIP)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: book-shelf\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[memslot.plugins]\nbook-shelf = book_shelf\n")
    code, shown = memslot.on_a_terminal("plugins", "uninstall", "book-shelf", typed=f"{answer}\n", PYTHONPATH=str(site))
    assert "Remove the package book-shelf? The memory slot loses its owner." in shown
    assert info.exists() == (answer == "n")
    assert ("the memory slot has no owner now; fill it with: memslot plugins enable ID" in shown) == (answer == "y")
    assert code == (0 if answer == "y" else 1)
