from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot.config.check import check_tree
from memslot.config.model import Agent, Config, config_json_schema
from memslot.config.paths import Places
from memslot.config.search_model import MemorySearch
from memslot.errors import ConfigError
from memslot.plugins.config_loader import parse_config


def config(tree: dict[str, Any]) -> Config:
    return parse_config(tree, env={}).config


def test_defaults_are_those_of_the_specification() -> None:
    search = config({}).memory_search()
    assert (search.enabled, search.provider, search.fallback, search.model) == (True, "auto", "none", None)
    assert search.dimensions is None
    batch = search.remote.batch
    assert (batch.enabled, batch.wait, batch.concurrency) == (False, True, 2)
    assert (batch.poll_interval_ms, batch.timeout_minutes) == (2000, 60)


def test_defaults_of_the_other_sections() -> None:
    whole = config({})
    assert whole.plugins.slots.memory == "memory-core"
    assert whole.agents.defaults.context_window == 200_000
    compaction = whole.agents.defaults.compaction
    assert (compaction.reserve_tokens_floor, compaction.memory_flush.soft_threshold_tokens) == (20_000, 4000)
    assert "NO_REPLY" in compaction.memory_flush.prompt
    assert "NO_REPLY" in compaction.memory_flush.system_prompt


@pytest.mark.parametrize(
    "tree",
    [
        {"plugins": {"enabled": "yes"}},
        {"plugins": {"enabled": 1}},
        {"plugins": {"allow": "memory-core"}},
        {"plugins": {"allow": [1]}},
        {"plugins": {"slots": {"memory": ""}}},
        {"plugins": {"slots": {"other": 3}}},
        {"agents": {"defaults": {"contextWindow": "6"}}},
        {"agents": {"defaults": {"contextWindow": 1e6 + 0.5}}},
        {"agents": {"defaults": {"contextWindow": True}}},
        {"agents": {"list": [{"id": "../x"}]}},
        {"agents": {"list": [{"id": "a"}, {"id": "A"}]}},
        {"agents": {"list": [{"id": "a", "default": True}, {"id": "b", "default": True}]}},
        {"memory": {"search": {"provider": ""}}},
    ],
)
def test_wrong_types_and_ranges_are_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        config(tree)


def test_agents_and_the_default_one() -> None:
    assert config({}).agent_ids() == ["main"]
    assert config({}).default_agent_id() == "main"
    two = config({"agents": {"list": [{"id": "a"}, {"id": "b"}]}})
    assert (two.agent_ids(), two.default_agent_id()) == (["a", "b"], "a")
    marked = config({"agents": {"list": [{"id": "a"}, {"id": "b", "default": True}]}})
    assert marked.default_agent_id() == "b"


def test_workspace_of_an_agent(home: Path, places: Places) -> None:
    assert config({}).workspace("main", places) == places.home / "workspace"
    whole = config(
        {"agents": {"defaults": {"workspace": "~/ws"}, "list": [{"id": "a", "workspace": "mine"}, {"id": "b"}]}}
    )
    assert whole.workspace("a", places) == places.home / "mine"
    assert whole.workspace("b", places) == home / "ws"
    assert whole.workspace(None, places) == places.home / "mine"


def test_secrets_are_not_in_the_repr_nor_in_errors() -> None:
    tree = {
        "agents": {
            "defaults": {
                "apiKey": "hush-1",
                "memorySearch": {"remote": {"apiKey": "hush-2", "headers": {"X-Key": "hush-3"}}},
            }
        },
        "plugins": {"entries": {"p": {"config": {"apiKey": "hush-4"}}}},
    }
    whole = config(tree)
    assert "hush" not in repr(whole) + str(whole)
    assert whole.agents.defaults.api_key == "hush-1"
    with pytest.raises(ConfigError) as caught:
        config({"agents": {"defaults": {"memorySearch": {"remote": {"apikey": "hush-5"}}}}})
    assert "hush" not in str(caught.value)


def test_config_cannot_be_changed_by_accident() -> None:
    with pytest.raises(FrozenInstanceError):
        config({}).plugins.enabled = False  # type: ignore[misc]


def test_schema_is_2020_12_and_every_key_is_described() -> None:
    schema = parse_config({}).schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "config.schema.json"
    jsonschema_rs.Draft202012Validator(schema)

    def silent(part: dict[str, Any], path: str = "") -> list[str]:
        keys = {f"{path}.{key}": each for key, each in part.get("properties", {}).items()}
        inside = {**keys, f"{path}[]": part.get("items"), f"{path}.<id>": part.get("additionalProperties")}
        below = [key for name, each in inside.items() if isinstance(each, dict) for key in silent(each, name)]
        return [key for key, each in keys.items() if len(each.get("description", "")) < 10] + below

    assert silent(schema) == []


def test_a_described_section_is_closed_and_any_other_takes_every_key() -> None:
    tree = {"agents": {"defaults": {"memorySearch": {"colour": "red"}}}, "memory": {"colour": "red"}}
    described = {"memorySearch": {"shade": {"type": "string"}}, "memory": {"shade": {"type": "string"}}}
    told = [problem for _, problem in check_tree(tree, {}, config_json_schema(described)).findings]
    assert {problem.key for problem in told} == {"agents.defaults.memorySearch.colour", "memory.colour"}
    kept = check_tree(tree, {}, config_json_schema({})).config
    assert kept is not None
    assert kept.memory_search().written() == {"colour": "red"}


def test_a_plugin_cannot_describe_a_key_of_the_host_anew() -> None:
    described = {"memorySearch": {"provider": {"type": "integer"}}}
    tree = {"agents": {"defaults": {"memorySearch": {"provider": 3}}}}
    assert check_tree(tree, {}, config_json_schema(described)).config is None


def test_a_whole_number_may_be_written_as_a_float() -> None:
    window = config({"agents": {"defaults": {"contextWindow": 1e6}}}).agents.defaults.context_window
    assert (window, type(window)) == (1_000_000, int)


SCHEMA = config_json_schema({})


def trees(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a part of the schema allows, any key left out."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "properties" in schema:
        keys = {key: trees(each) for key, each in schema["properties"].items() if key != "list"}
        needed = {key: keys.pop(key) for key in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=keys)
    low, high, inner = schema.get("minimum"), schema.get("maximum"), schema.get("additionalProperties")
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "integer": st.integers(low, high),
        "string": st.text("ab", min_size=1),
        "array": st.deferred(
            lambda: st.lists(
                trees(schema["items"]),
                min_size=schema.get("minItems", 0),
                max_size=2,
                unique=schema.get("uniqueItems", False),
            )
        ),
        "object": st.dictionaries(st.text("ab"), trees(inner) if inner else st.booleans(), max_size=2),
    }
    kind = schema["type"]
    return st.one_of(*(kinds[each] for each in ([kind] if isinstance(kind, str) else kind)))


@given(trees(SCHEMA))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_schema_allows_is_a_config_that_knows_what_was_written(tree: dict[str, Any]) -> None:
    built = check_tree(tree, {}, SCHEMA).config
    assert built is not None
    assert built.written() == tree
    assert Config.from_tree(built.to_tree()) == built


def test_a_config_is_built_from_a_checked_tree_without_importing_a_checker() -> None:
    code = (
        "import sys; from memslot.config.model import Config\n"
        "c = Config.from_tree({'agents': {'list': [{'id': 'a', 'memorySearch': {'provider': 'none'}}]}})\n"
        "assert c.memory_search().provider == 'none'\n"
        "sys.exit(bool({'pydantic', 'jsonschema_rs'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_section_takes_no_unknown_field_and_needs_the_required_ones() -> None:
    with pytest.raises(TypeError, match="MemorySearch has no colour"):
        MemorySearch(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Agent needs id"):
        Agent()
