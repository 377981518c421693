"""What memory-core reads of `memorySearch` and `memory`, after all layers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from memslot import Config, ConfigError
from memslot.config.schema import with_defaults
from memslot.plugins.config_loader import parse_config
from memslot_memory_core.settings import Hybrid, MemorySettings, SearchSettings, normalised_weights

weights = st.floats(0, 1_000_000, allow_nan=False) | st.integers(0, 100)


def search(tree: dict[str, Any], agent: str | None = None) -> SearchSettings:
    return SearchSettings.from_tree(Config.from_tree(tree).memory_search(agent).written())


def test_defaults_are_those_of_the_specification() -> None:
    found = search({})
    assert (found.enabled, found.provider) == (True, "auto")
    assert (found.sources, found.extra_paths) == (("memory",), ())
    assert (found.chunking.tokens, found.chunking.overlap) == (400, 80)
    assert (found.query.max_results, found.query.min_score, found.query.snippet_max_chars) == (6, None, 700)
    hybrid = found.query.hybrid
    assert (hybrid.enabled, hybrid.vector_weight, hybrid.text_weight) == (True, None, None)
    assert hybrid.candidate_multiplier == 4
    assert (hybrid.mmr.enabled, hybrid.mmr.lambda_) == (False, 0.7)
    assert (hybrid.temporal_decay.enabled, hybrid.temporal_decay.half_life_days) == (False, 30)
    assert (found.cache.enabled, found.cache.max_entries) == (True, 50_000)
    sync = found.sync
    assert (sync.on_session_start, sync.on_search, sync.watch) == (True, True, True)
    assert (sync.watch_debounce_ms, sync.interval_minutes) == (1500, 0)
    assert (sync.sessions.delta_bytes, sync.sessions.delta_messages) == (100_000, 50)
    assert (found.store.driver, found.store.path, found.store.vector.enabled) == ("sqlite", None, True)
    assert found.experimental.session_memory is False


def test_defaults_of_qmd_are_those_of_the_specification() -> None:
    memory = MemorySettings()
    assert (memory.backend, memory.citations) == ("builtin", "auto")
    limits, update = memory.qmd.limits, memory.qmd.update
    assert (limits.max_results, limits.max_snippet_chars, limits.max_injected_chars) == (6, 700, 4000)
    assert (limits.timeout_ms, update.interval, update.debounce_ms) == (4000, "5m", 15_000)
    assert memory.qmd.scope.default == "deny"
    assert [(rule.action, rule.match.chat_type) for rule in memory.qmd.scope.rules] == [("allow", "direct")]


def test_the_manifest_gives_the_defaults_that_the_code_has() -> None:
    """`memslot config get` reads the manifest, memory-core its classes."""
    schema = parse_config({}).schema
    filled = with_defaults(schema, {})
    assert SearchSettings.from_tree(filled["agents"]["defaults"]["memorySearch"]) == SearchSettings()
    assert MemorySettings.from_tree(filled["memory"]) == MemorySettings()


def test_layers_merge_on_what_was_written() -> None:
    whole = {
        "memory": {"search": {"provider": "voyage", "model": "m", "query": {"maxResults": 3, "minScore": 0.1}}},
        "agents": {
            "defaults": {"memorySearch": {"provider": "openai", "query": {"maxResults": 9}}},
            "list": [{"id": "a", "memorySearch": {"query": {"hybrid": {"enabled": False}}}}, {"id": "b"}],
        },
    }
    first, second, stranger = (search(whole, each) for each in ("a", "b", "nobody"))
    assert (first.provider, first.model, first.query.max_results, first.query.min_score) == ("openai", "m", 9, 0.1)
    assert first.query.hybrid.enabled is False
    assert second.query.hybrid.enabled is True
    assert stranger == second
    assert search(whole) == first


def test_an_agent_can_go_back_to_a_default_by_writing_it() -> None:
    whole = {
        "agents": {
            "defaults": {"memorySearch": {"query": {"maxResults": 9}, "sync": {"watch": False}}},
            "list": [{"id": "a", "memorySearch": {"query": {"maxResults": 6}, "sync": {"watch": True}}}],
        }
    }
    assert search(whole, "a").query.max_results == 6
    assert search(whole, "a").sync.watch is True


def test_lists_of_a_later_layer_replace() -> None:
    whole = {
        "agents": {
            "defaults": {"memorySearch": {"extraPaths": ["a", {"path": "b", "pattern": "*.md"}]}},
            "list": [{"id": "x", "memorySearch": {"extraPaths": ["c"]}}, {"id": "y"}],
        }
    }
    assert search(whole, "x").extra_paths == ("c",)
    assert [getattr(each, "path", each) for each in search(whole, "y").extra_paths] == ["a", "b"]


def test_clamps_and_weights_are_settled_after_merging_not_before() -> None:
    whole = {
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
    assert search({"agents": {"defaults": whole["agents"]["defaults"]}}).chunking.overlap == 99
    settled = search(whole, "a")
    assert (settled.chunking.tokens, settled.chunking.overlap) == (400, 120)
    assert (settled.query.hybrid.vector_weight, settled.query.hybrid.text_weight) == (0.75, 0.25)


@given(st.integers(1, 32_000), st.integers(0, 32_000))
def test_overlap_is_always_below_tokens(tokens: int, overlap: int) -> None:
    chunking = SearchSettings.from_tree({"chunking": {"tokens": tokens, "overlap": overlap}}).chunking
    assert chunking.overlap == min(overlap, tokens - 1)
    assert 0 <= chunking.overlap < chunking.tokens


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
    hybrid = Hybrid.from_tree({"vectorWeight": 7, "textWeight": 3})
    assert (hybrid.vector_weight, hybrid.text_weight) == (0.7, 0.3)


def test_whole_numbers_are_fine_where_numbers_are_asked_for() -> None:
    found = search({"agents": {"defaults": {"memorySearch": {"query": {"minScore": 0}}}}})
    assert found.query.min_score == 0


@pytest.mark.parametrize(
    "search",
    [
        {"query": {"minScore": True}},
        {"query": {"minScore": float("nan")}},
        {"query": {"minScore": 1.01}},
        {"query": {"maxResults": 0}},
        {"query": {"hybrid": {"vectorWeight": -1}}},
        {"query": {"hybrid": {"vectorWeight": float("inf")}}},
        {"sources": ["files"]},
        {"extraPaths": [{"pattern": "x"}]},
        {"extraPaths": [1]},
    ],
)
@pytest.mark.parametrize("place", ["defaults", "agent", "memory"])
def test_wrong_types_and_ranges_are_refused_wherever_they_stand(search: dict[str, Any], place: str) -> None:
    trees: dict[str, dict[str, Any]] = {
        "defaults": {"agents": {"defaults": {"memorySearch": search}}},
        "agent": {"agents": {"list": [{"id": "a", "memorySearch": search}]}},
        "memory": {"memory": {"search": search}},
    }
    with pytest.raises(ConfigError):
        parse_config(trees[place])


@pytest.mark.parametrize("memory", [{"backend": "sqlite"}, {"qmd": {"update": {"interval": "soon"}}}])
def test_wrong_settings_of_the_memory_are_refused(memory: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        parse_config({"memory": memory})
