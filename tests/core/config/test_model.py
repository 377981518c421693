from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from memslot.config.model import Config, config_json_schema
from memslot.config.paths import Places
from memslot.config.qmd_model import duration_seconds
from memslot.config.search_model import ExtraPath, Hybrid, MemorySearch, normalised_weights
from memslot.config.section import validator
from memslot.errors import ConfigError


def config(tree: dict[str, Any]) -> Config:
    return Config.parse(tree)


def test_defaults_are_those_of_the_specification() -> None:
    search = config({}).memory_search()
    assert (search.enabled, search.provider, search.fallback, search.model) == (True, "auto", "none", None)
    assert (search.sources, search.extra_paths, search.dimensions) == (("memory",), (), None)
    assert (search.chunking.tokens, search.chunking.overlap) == (400, 80)
    assert (search.query.max_results, search.query.min_score, search.query.snippet_max_chars) == (6, None, 700)
    hybrid = search.query.hybrid
    assert (hybrid.enabled, hybrid.vector_weight, hybrid.text_weight) == (True, None, None)
    assert hybrid.candidate_multiplier == 4
    assert (hybrid.mmr.enabled, hybrid.mmr.lambda_) == (False, 0.7)
    assert (hybrid.temporal_decay.enabled, hybrid.temporal_decay.half_life_days) == (False, 30)
    assert (search.cache.enabled, search.cache.max_entries) == (True, 50_000)
    sync = search.sync
    assert (sync.on_session_start, sync.on_search, sync.watch) == (True, True, True)
    assert (sync.watch_debounce_ms, sync.interval_minutes) == (1500, 0)
    assert (sync.sessions.delta_bytes, sync.sessions.delta_messages) == (100_000, 50)
    assert (search.store.driver, search.store.path, search.store.vector.enabled) == ("sqlite", None, True)
    batch = search.remote.batch
    assert (batch.enabled, batch.wait, batch.concurrency) == (False, True, 2)
    assert (batch.poll_interval_ms, batch.timeout_minutes) == (2000, 60)
    assert search.experimental.session_memory is False


def test_defaults_of_the_other_sections() -> None:
    whole = config({})
    assert whole.plugins.slots.memory == "memory-core"
    assert whole.agents.defaults.context_window == 200_000
    compaction = whole.agents.defaults.compaction
    assert (compaction.reserve_tokens_floor, compaction.memory_flush.soft_threshold_tokens) == (20_000, 4000)
    assert "NO_REPLY" in compaction.memory_flush.prompt
    assert "NO_REPLY" in compaction.memory_flush.system_prompt
    qmd = whole.memory.qmd
    limits = qmd.limits
    assert (limits.max_results, limits.max_snippet_chars, limits.max_injected_chars) == (6, 700, 4000)
    assert (limits.timeout_ms, qmd.update.interval, qmd.update.debounce_ms) == (4000, "5m", 15_000)
    assert qmd.scope.default == "deny"
    assert [(rule.action, rule.match.chat_type) for rule in qmd.scope.rules] == [("allow", "direct")]


def test_durations_are_read() -> None:
    assert [duration_seconds(text) for text in ("250ms", "90s", "5m", "1h", "2d")] == [0.25, 90, 300, 3600, 172800]


def test_layers_merge_on_what_was_written() -> None:
    whole = config(
        {
            "memory": {"search": {"provider": "voyage", "model": "m", "query": {"maxResults": 3, "minScore": 0.1}}},
            "agents": {
                "defaults": {"memorySearch": {"provider": "openai", "query": {"maxResults": 9}}},
                "list": [{"id": "a", "memorySearch": {"query": {"hybrid": {"enabled": False}}}}, {"id": "b"}],
            },
        }
    )
    first, second, stranger = (whole.memory_search(each) for each in ("a", "b", "nobody"))
    assert (first.provider, first.model, first.query.max_results, first.query.min_score) == ("openai", "m", 9, 0.1)
    assert first.query.hybrid.enabled is False
    assert second.query.hybrid.enabled is True
    assert stranger == second
    assert whole.memory_search() == first


def test_an_agent_can_go_back_to_a_default_by_writing_it() -> None:
    whole = config(
        {
            "agents": {
                "defaults": {"memorySearch": {"query": {"maxResults": 9}, "sync": {"watch": False}}},
                "list": [{"id": "a", "memorySearch": {"query": {"maxResults": 6}, "sync": {"watch": True}}}],
            }
        }
    )
    assert whole.memory_search("a").query.max_results == 6
    assert whole.memory_search("a").sync.watch is True


def test_lists_of_a_later_layer_replace() -> None:
    whole = config(
        {
            "agents": {
                "defaults": {"memorySearch": {"extraPaths": ["a", {"path": "b", "pattern": "*.md"}]}},
                "list": [{"id": "x", "memorySearch": {"extraPaths": ["c"]}}, {"id": "y"}],
            }
        }
    )
    assert whole.memory_search("x").extra_paths == ("c",)
    assert [getattr(each, "path", each) for each in whole.memory_search("y").extra_paths] == ["a", "b"]


def test_clamps_and_weights_are_settled_after_merging_not_before() -> None:
    whole = config(
        {
            "agents": {
                "defaults": {
                    "memorySearch": {
                        "chunking": {"tokens": 100, "overlap": 120},
                        "query": {"hybrid": {"vectorWeight": 6}},
                    }
                },
                "list": [
                    {
                        "id": "a",
                        "memorySearch": {"chunking": {"tokens": 400}, "query": {"hybrid": {"textWeight": 2}}},
                    }
                ],
            }
        }
    )
    assert whole.agents.defaults.memory_search.chunking.overlap == 99
    settled = whole.memory_search("a")
    assert (settled.chunking.tokens, settled.chunking.overlap) == (400, 120)
    assert (settled.query.hybrid.vector_weight, settled.query.hybrid.text_weight) == (0.75, 0.25)


@given(st.integers(1, 32_000), st.integers(0, 32_000))
def test_overlap_is_always_below_tokens(tokens: int, overlap: int) -> None:
    chunking = MemorySearch.parse({"chunking": {"tokens": tokens, "overlap": overlap}}).chunking
    assert chunking.overlap == min(overlap, tokens - 1)
    assert 0 <= chunking.overlap < chunking.tokens


weights = st.floats(0, 1_000_000, allow_nan=False) | st.integers(0, 100)


@given(weights, weights)
def test_two_weights_sum_to_one_and_keep_their_ratio(vector: float, text: float) -> None:
    assume(vector or text)
    one, other = normalised_weights(vector, text)
    assert one is not None
    assert other is not None
    assert math.isclose(one + other, 1.0, abs_tol=1e-12)
    assert math.isclose(one * text, other * vector, rel_tol=1e-9, abs_tol=1e-300)


@given(st.floats(0, 1))
def test_one_weight_gives_the_other_the_rest(given_weight: float) -> None:
    one, other = normalised_weights(given_weight, None)
    assert one == pytest.approx(given_weight, abs=1e-9)
    assert other == pytest.approx(1 - given_weight, abs=1e-9)
    assert normalised_weights(None, given_weight) == (other, one)


def test_weights_at_the_edges() -> None:
    assert normalised_weights(None, None) == (None, None)
    assert normalised_weights(0, 0) == (None, None)
    assert normalised_weights(0, None) == (0, 1)
    assert normalised_weights(7, None) == (1, 0)
    assert normalised_weights(7, 3) == (0.7, 0.3)
    hybrid = Hybrid.parse({"vectorWeight": 7, "textWeight": 3})
    assert (hybrid.vector_weight, hybrid.text_weight) == (0.7, 0.3)


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
        {"agents": {"defaults": {"contextWindow": 1e6}}},
        {"agents": {"defaults": {"contextWindow": True}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"minScore": True}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"minScore": float("nan")}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"minScore": 1.01}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 0}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"hybrid": {"vectorWeight": -1}}}}}},
        {"agents": {"defaults": {"memorySearch": {"query": {"hybrid": {"vectorWeight": float("inf")}}}}}},
        {"agents": {"defaults": {"memorySearch": {"sources": ["files"]}}}},
        {"agents": {"defaults": {"memorySearch": {"extraPaths": [{"pattern": "x"}]}}}},
        {"agents": {"list": [{"id": "../x"}]}},
        {"agents": {"list": [{"id": "a"}, {"id": "A"}]}},
        {"agents": {"list": [{"id": "a", "default": True}, {"id": "b", "default": True}]}},
        {"memory": {"backend": "sqlite"}},
        {"memory": {"qmd": {"update": {"interval": "soon"}}}},
    ],
)
def test_wrong_types_and_ranges_are_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        config(tree)


def test_whole_numbers_are_fine_where_numbers_are_asked_for() -> None:
    search = config({"agents": {"defaults": {"memorySearch": {"query": {"minScore": 0}}}}}).memory_search()
    assert search.query.min_score == 0


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
    schema = config_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "config.schema.json"
    jsonschema_rs.Draft202012Validator(schema)
    sections = [schema, *schema["$defs"].values()]
    silent = [
        f"{section['title']}.{name}"
        for section in sections
        for name, field in section.get("properties", {}).items()
        if len(field.get("description", "")) < 10
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("tree", "good"),
    [
        ({}, True),
        ({"$schema": "x", "plugins": {"slots": {"memory": "none"}}}, True),
        ({"agents": {"defaults": {"memorySearch": {"extraPaths": ["a", {"path": "b"}], "model": None}}}}, True),
        ({"agents": {"defaults": {"memorySearch": {"extraPaths": [1]}}}}, False),
        ({"agents": {"defaults": {"memory_search": {}}}}, False),
        ({"plugins": {"slots": {"other": 1}}}, False),
        ({"memory": {"qmd": {"update": {"interval": "5x"}}}}, False),
        ({"agents": {"list": [{}]}}, False),
    ],
)
def test_schema_and_model_agree(tree: dict[str, Any], good: bool) -> None:
    assert jsonschema_rs.Draft202012Validator(config_json_schema()).is_valid(tree) is good
    try:
        Config.parse(tree)
    except ConfigError:
        assert not good
    else:
        assert good


SCHEMA = config_json_schema()


def trees(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a part of the schema allows, any key left out."""
    schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return st.one_of(*map(trees, options))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "properties" in schema:
        keys = {key: trees(each) for key, each in schema["properties"].items() if key != "list"}
        needed = {key: keys.pop(key) for key in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=keys)
    low, high = schema.get("minimum"), schema.get("maximum")
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "integer": st.integers(low, high),
        "number": st.integers(1, 1) | st.floats(low or 0.5, high, allow_nan=False),
        "string": st.from_regex(schema["pattern"], fullmatch=True)
        if "pattern" in schema
        else st.text("ab", min_size=1),
    }
    if schema.get("type") == "array":
        return st.lists(trees(schema["items"]), min_size=schema.get("minItems", 0), max_size=2)
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return st.dictionaries(st.text("ab"), trees(inner) if isinstance(inner, dict) else st.booleans(), max_size=2)
    return kinds[schema["type"]]


@given(trees(SCHEMA))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_checked_tree_is_built_without_pydantic_as_pydantic_builds_it(tree: dict[str, Any]) -> None:
    built = Config.from_tree(tree)
    assert built == validator(Config)(tree)
    assert built.written() == tree
    assert Config.from_tree(Config.from_tree({}).to_tree()) == Config()


def test_a_config_is_built_from_a_checked_tree_without_importing_pydantic() -> None:
    code = (
        "import sys; from memslot.config.model import Config\n"
        "c = Config.from_tree({'agents': {'list': [{'id': 'a', 'memorySearch': {'provider': 'none'}}]}})\n"
        "assert c.memory_search().provider == 'none'\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_section_takes_no_unknown_field_and_needs_the_required_ones() -> None:
    with pytest.raises(TypeError, match="MemorySearch has no colour"):
        MemorySearch(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ExtraPath needs path"):
        ExtraPath()
