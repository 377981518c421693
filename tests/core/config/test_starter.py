from __future__ import annotations

import jsonschema_rs
import pyjson5
from memslot.config.outline import outline
from memslot.config.paths import Places
from memslot.config.schema import with_defaults
from memslot.config.starter import starter_config, starter_memory, without_starter
from memslot.plugins.config_loader import load_config


def test_starter_is_valid_and_changes_no_default(places: Places) -> None:
    places.config_file.write_text(starter_config())
    loaded = load_config(places, project_dir=None, env={})
    assert with_defaults(loaded.schema, loaded.tree) == with_defaults(loaded.schema, {})
    assert loaded.warnings == ()
    assert jsonschema_rs.Draft202012Validator(loaded.schema).is_valid(loaded.tree)


def test_every_commented_out_setting_is_valid_too(places: Places) -> None:
    """A person removes the slashes: what is behind them must work."""
    lines = []
    for line in starter_config().splitlines():
        bare = line.strip().removeprefix("// ")
        is_setting = line.strip().startswith("//") and bare.endswith(",") and ":" in bare and bare[0].islower()
        lines.append(bare if is_setting else line)
    text = "\n".join(lines)
    assert outline(text).duplicates() == []
    places.config_file.write_text(text)
    loaded = load_config(places, project_dir=None, env={"OPENAI_API_KEY": "k"})
    assert loaded.config.agents.defaults.workspace == "~/notes"
    assert len(loaded.config.memory_search().written()["extraPaths"]) == 2
    assert loaded.config.memory_search().remote.api_key == "k"
    assert "memory-lancedb" in loaded.config.plugins.entries
    assert pyjson5.decode(text) != pyjson5.decode(starter_config())


def test_starter_memory_is_markdown_with_a_title() -> None:
    assert starter_memory().startswith("# ")
    assert starter_memory().endswith("\n")


def test_untouched_starter_memory_holds_nothing() -> None:
    lines = starter_memory().split("\n")
    assert without_starter(lines) == [""] * len(lines)


def test_of_a_used_starter_memory_the_headings_stay_where_they_are() -> None:
    lines = starter_memory().split("\n")
    lines.insert(lines.index("## Decisions"), "- Ana prefers tea.")
    kept = without_starter(lines)
    assert [line for line in kept if line] == [
        "# Memory",
        "## Preferences",
        "- Ana prefers tea.",
        "## Decisions",
        "## People and projects",
    ]
    assert kept.index("- Ana prefers tea.") == lines.index("- Ana prefers tea.")
