"""Keys of the config that plugins describe: checked with the host's own, and harmless once their plugin is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memslot import ConfigError, Host
from memslot.config.paths import Places
from memslot.config.trust import read_requests, trust_project
from memslot.doctor import examine
from memslot.plugins import discovery
from memslot.plugins.config_loader import load_config, setting_schemas
from memslot.plugins.info import Catalog

SHADE = {"shade": {"enum": ["dark", "light"], "description": "How dark it is."}}
PEEK = """
@hookimpl
def register_tools(ctx):
    return [Tool("peek", "x", {}, lambda arguments: ctx.memory_search.written().get("shade"))]
"""


def config(folder: Path, **search: Any) -> dict[str, Any]:
    return {
        "plugins": {"load": {"paths": [str(folder)]}, "allow": ["p"]},
        "agents": {"defaults": {"memorySearch": search}},
    }


def test_a_plugin_reads_the_key_that_its_manifest_describes(write_plugin, tmp_path: Path) -> None:
    folder = write_plugin("p", PEEK, provides={"tools": ["peek"]}, sections={"memorySearch": SHADE})
    with Host.load(config(folder, shade="light"), home=tmp_path / "home", env={}) as host:
        assert host.call_tool("peek").text == "light"


def test_faults_in_keys_of_plugins_and_of_the_host_are_told_together(write_plugin, tmp_path: Path) -> None:
    folder = write_plugin("p", sections={"memorySearch": SHADE})
    with pytest.raises(ConfigError) as caught:
        Host.load(config(folder, shade="drak", shad="dark", provider=3), home=tmp_path / "home", env={})
    search = "agents.defaults.memorySearch"
    assert {(each.key, each.reason, each.hint) for each in caught.value.problems} == {
        (f"{search}.shade", 'must be "dark" or "light"', 'did you mean "dark"?'),
        (f"{search}.shad", "is not a known key", 'did you mean "shade"?'),
        (f"{search}.provider", "must be non-empty text", None),
    }


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, 10, "must be a whole number from 1 to 9"),
        ({"type": "string", "maxLength": 3}, "long", "must have at most 3 characters"),
        ({"type": "string", "minLength": 3}, "ab", "must have at least 3 characters"),
        ({"type": "string", "pattern": "^a"}, "b", "must match the pattern ^a"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "has a duplicate item"),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "x", "matches none of the allowed forms"),
        ({"type": "number"}, float("nan"), "must be a number"),
    ],
)
def test_whatever_a_schema_asks_for_is_told(
    write_plugin, tmp_path: Path, schema: dict[str, Any], value: object, reason: str
) -> None:
    folder = write_plugin("p", sections={"memorySearch": {"shade": schema}})
    with pytest.raises(ConfigError) as caught:
        Host.load(config(folder, shade=value), home=tmp_path / "home", env={})
    assert [each.reason for each in caught.value.problems] == [reason]


def test_no_plugin_describes_a_key_of_the_host_anew(write_plugin, tmp_path: Path) -> None:
    folder = write_plugin("p", sections={"memorySearch": {"provider": {"type": "integer"}}})
    with pytest.raises(ConfigError, match="provider is 3: must be non-empty text"):
        Host.load(config(folder, provider=3), home=tmp_path / "home", env={})


@pytest.mark.parametrize(
    ("sections", "fault"),
    [
        ({"memorySearch": {"shade": {"type": "colour"}}}, "not a valid JSON Schema"),
        ({"memorySearch": {"shade": {"$ref": "#"}}}, "holds $ref"),
        ({"memorySearch": {"shade": {"$id": "config.schema.json"}}}, "holds $id"),
        ({"plugins": SHADE}, "memorySearch"),
    ],
)
def test_a_description_that_cannot_be_used_disables_its_plugin_only(
    write_plugin, load_host, sections: dict[str, Any], fault: str
) -> None:
    host = load_host(write_plugin("p", sections=sections))
    (problem,) = [each.plugin.problem for each in host.activation.decisions if each.plugin.problem]
    assert fault in problem


def test_settings_of_a_plugin_that_was_removed_stay_and_doctor_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("MEMSLOT_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    search = {"provider": "none", "query": {"maxResults": 3}}
    tree = {"agents": {"list": [{"id": "a", "memorySearch": search}]}, "memory": {"citations": "off"}}
    (home / "memslot.json5").write_text(json.dumps({**tree, "plugins": {"slots": {"memory": "none"}}}))
    monkeypatch.setattr(discovery, "discover", lambda folders: Catalog((), {}))

    with Host.load() as host:
        assert host.config.memory_search().written() == search
    advice = {each.action for each in examine() if "no installed plugin reads it" in each.message}
    assert advice == {
        "memslot config unset 'agents.list[0].memorySearch.query'",
        "memslot config unset memory.citations",
    }


def test_a_projects_config_cannot_set_what_a_manifest_marks_as_code(write_plugin, tmp_path: Path) -> None:
    """A setting of the plugin itself, one in a section, and the items of a list; other settings stay."""
    program = {"type": "string", "format": "code"}
    schema = {
        "type": "object",
        "properties": {"program": program, "steps": {"type": "array", "items": program}, "units": {"type": "string"}},
    }
    folder = write_plugin("p", configSchema=schema, sections={"memorySearch": {"reader": program}})
    places = Places.from_env({"MEMSLOT_HOME": str(tmp_path / "home")})
    places.home.mkdir(mode=0o700)
    places.config_file.write_text(json.dumps({"plugins": {"load": {"paths": [str(folder)]}}}))
    project = tmp_path / "project"
    (project / ".memslot").mkdir(parents=True)
    settings = {"program": "./evil", "steps": ["./one", "./two"], "units": "metric"}
    tree = {
        "plugins": {"entries": {"p": {"config": settings}}},
        "agents": {"list": [{"id": "x", "memorySearch": {"reader": "./evil", "provider": "none"}}]},
    }
    (project / ".memslot/memslot.json5").write_text(json.dumps(tree))
    _, told = read_requests(project, setting_schemas(places))
    assert [each.key for each in told if "can't bring code" in each.remark] == [
        *(f"plugins.entries.p.config.{key}" for key in ("program", "steps[0]", "steps[1]")),
        "agents.list[0].memorySearch.reader",
    ]
    trust_project(project, places)
    loaded = load_config(places, project_dir=project, env={})
    assert loaded.config.plugins.entries["p"].config == {"steps": [], "units": "metric"}
    assert loaded.config.memory_search("x").written() == {"provider": "none"}
    advice = "\n".join(loaded.warnings)
    assert "memslot config set agents.defaults.memorySearch.reader ./evil" in advice
    assert "memslot config set plugins.entries.p.config.program ./evil" in advice
