"""Small faults at the command line, each told in one sentence with the next step."""

from __future__ import annotations

import json
from typing import Any


def test_indexing_a_workspace_that_is_not_there_fails_in_one_sentence(memslot: Any) -> None:
    done = memslot("memory", "index")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: there is no workspace")
    assert "memslot init" in done.stderr
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
    done = memslot("search", "foo")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'memslot memory search'?" in done.stderr


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
