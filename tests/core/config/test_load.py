from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.errors import ConfigError
from memslot.plugins.config_loader import load_config, parse_config
from memslot.plugins.loaded_config import LoadedConfig


def load(places: Places, text: str, **env: str) -> LoadedConfig:
    places.config_file.write_text(text)
    return load_config(places, project_dir=None, env=env)


def problems(tree: dict[str, Any], **env: str) -> dict[str, ConfigProblem]:
    with pytest.raises(ConfigError) as caught:
        parse_config(tree, env=env)
    found = {problem.key: problem for problem in caught.value.problems}
    assert len(found) == len(caught.value.problems), "a key is complained about twice"
    for word in ("pydantic", "jsonschema", "https://", "additionalProperties", "minLength"):
        assert word not in str(caught.value)
    return found


def test_no_file_gives_all_defaults(places: Places) -> None:
    loaded = load_config(places, project_dir=None)
    assert loaded.files == ()
    assert loaded.tree == {}
    assert loaded.config.plugins.slots.memory == "memory-core"


def test_file_variables_and_tree(places: Places) -> None:
    loaded = load(places, "{agents: {defaults: {apiKey: '${KEY}', model: '$${KEY}'}}}", KEY="k-1")
    assert loaded.config.agents.defaults.api_key == "k-1"
    assert loaded.config.agents.defaults.model == "${KEY}"
    assert loaded.files == (places.config_file,)
    assert loaded.env_names == {"KEY"}
    assert loaded.tree == {"agents": {"defaults": {"apiKey": "${KEY}", "model": "$${KEY}"}}}
    assert "k-1" not in repr(loaded)


def test_all_problems_come_at_once_with_lines(places: Places) -> None:
    with pytest.raises(ConfigError) as caught:
        load(
            places,
            "{\n"
            "  plugins: { slot: {}, enabled: 'yes' },\n"
            "  agents: { defaults: { memorySearch: {\n"
            "    query: { maxResults: 0 },\n"
            "    extraPaths: [3, {pth: 'x'}],\n"
            "  }}},\n"
            "  memory: { backend: 'qdm', citations: '${NOT_THERE}' },\n"
            "}\n",
        )
    told = [(problem.line, problem.key, problem.reason, problem.hint) for problem in caught.value.problems]
    search = "agents.defaults.memorySearch"
    assert sorted(told, key=lambda each: (each[0] or 0, each[1])) == [
        (2, "plugins.enabled", "must be true or false", None),
        (2, "plugins.slot", "is not a known key", 'did you mean "slots"?'),
        (4, f"{search}.query.maxResults", "must be a whole number from 1 to 200", None),
        (5, f"{search}.extraPaths[0]", "must be non-empty text or an object", None),
        (
            5,
            f"{search}.extraPaths[1].path",
            "is required, and must be non-empty text",
            "A file or folder, absolute or relative to the workspace; ~ is your home.",
        ),
        (5, f"{search}.extraPaths[1].pth", "is not a known key", 'did you mean "path"?'),
        (7, "memory.backend", 'must be "builtin" or "qmd"', 'did you mean "qmd"?'),
        (
            7,
            "memory.citations",
            "needs the environment variable NOT_THERE, which is not set",
            "set NOT_THERE, or write $${NOT_THERE} for the literal text",
        ),
    ]
    assert all(problem.file == str(places.config_file) for problem in caught.value.problems)
    assert f"{places.config_file}:2: plugins.slot: is not a known key" in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "key", "value", "reason"),
    [
        ({"plugins": []}, "plugins", "a list", "must be an object"),
        ({"plugins": {"allow": "x"}}, "plugins.allow", '"x"', "must be a list of non-empty text"),
        ({"plugins": {"allow": [1]}}, "plugins.allow[0]", "1", "must be non-empty text"),
        ({"plugins": {"slots": {"memory": 1}}}, "plugins.slots.memory", "1", "must be non-empty text"),
        ({"plugins": {"entries": 1}}, "plugins.entries", "1", "must be an object"),
        ({"agents": {"list": [{"id": "a"}, {"id": "a"}]}}, "agents.list", None, "has two agents"),
        ({"agents": {"list": [{"id": 1}]}}, "agents.list[0].id", "1", 'must be text such as "main"'),
        ({"agents": {"list": {}}}, "agents.list", "an object", "must be a list of objects"),
        (
            {"agents": {"defaults": {"memorySearch": {"query": {"minScore": float("nan")}}}}},
            "agents.defaults.memorySearch.query.minScore",
            "NaN",
            "must be a number from 0 to 1",
        ),
        (
            {"agents": {"defaults": {"memorySearch": {"sync": {"sessions": {"deltaBytes": -1}}}}}},
            "agents.defaults.memorySearch.sync.sessions.deltaBytes",
            "-1",
            "must be a whole number of 0 or more",
        ),
        (
            {"agents": {"defaults": {"memorySearch": {"query": {"hybrid": {"temporalDecay": {"halfLifeDays": 0}}}}}}},
            "agents.defaults.memorySearch.query.hybrid.temporalDecay.halfLifeDays",
            "0",
            "must be a number above 0 and up to 36500",
        ),
    ],
)
def test_each_kind_of_mistake_says_what_is_allowed(
    tree: dict[str, Any], key: str, value: str | None, reason: str
) -> None:
    found = problems(tree)
    assert set(found) == {key}
    assert found[key].value == value
    assert found[key].reason.startswith(reason)


def test_unknown_key_without_a_near_miss_lists_what_is_known() -> None:
    found = problems({"memory": {"zzz": 1}})
    assert found["memory.zzz"].hint == "allowed here: backend, citations, qmd, search"


def test_snake_case_is_not_a_key_but_leads_to_one() -> None:
    found = problems({"agents": {"defaults": {"memory_search": {}}}})
    assert found["agents.defaults.memory_search"].hint == 'did you mean "memorySearch"?'


def test_values_are_short_and_on_one_line() -> None:
    found = problems({"plugins": {"enabled": "x\n" * 500, "allow": 10**5000}})
    shown = found["plugins.enabled"].value
    assert shown is not None
    assert len(shown) <= 60
    assert "\n" not in shown
    assert found["plugins.allow"].value == "a very large number"


def test_no_secret_is_ever_printed() -> None:
    hush = {
        "plugins": {"enabled": "${SECRET}", "allow": "sk-hushhushhush"},
        "agents": {
            "defaults": {
                "apiKey": 12345678,
                "apikey": "hush-1",
                "contextWindow": "Bearer hush-2",
                "memorySearch": {
                    "remote": {"headers": {"X-Mine": 87654321}, "apiKey": ["hush-3"], "token": "hush-4"},
                    "chunking": {"tokens": "4OO"},
                },
            }
        },
    }
    with pytest.raises(ConfigError) as caught:
        parse_config(hush, env={"SECRET": "hush-5"})
    text = str(caught.value)
    assert not re.search(r"hush|12345678|87654321", text)
    assert "agents.defaults.apiKey is ***" in text
    assert "plugins.enabled is ***" in text
    assert 'chunking.tokens is "4OO"' in text, "a count of tokens is no secret"


def test_a_broken_entry_switches_off_its_plugin_only(places: Places) -> None:
    loaded = load(
        places,
        "{ plugins: { entries: {\n"
        "  good: {config: {anything: {goes: [1, null]}}},\n"
        "  typo: {enabld: true},\n"
        "  unset: {config: {apiKey: '${NOPE}'}},\n"
        "  'no.object': 3,\n"
        "  range: {hooks: {timeoutMs: 0}, enabled: 'no'},\n"
        "}}}",
    )
    entries = loaded.config.plugins.entries
    assert entries["good"].enabled is True
    assert entries["good"].config == {"anything": {"goes": [1, None]}}
    assert [name for name, entry in entries.items() if not entry.enabled] == ["typo", "unset", "no.object", "range"]
    told = {name: [(p.line, p.key) for p in found] for name, found in loaded.entry_problems.items()}
    assert {name: sorted(found) for name, found in told.items()} == {
        "typo": [(3, "plugins.entries.typo.enabld")],
        "unset": [(4, "plugins.entries.unset.config.apiKey")],
        "no.object": [(5, 'plugins.entries."no.object"')],
        "range": [(6, "plugins.entries.range.enabled"), (6, "plugins.entries.range.hooks.timeoutMs")],
    }


def test_broken_entries_are_listed_with_the_rest_when_loading_fails() -> None:
    found = problems({"plugins": {"enabled": 1, "entries": {"x": {"y": 1}}}})
    assert set(found) == {"plugins.enabled", "plugins.entries.x.y"}


def test_toml_problems_have_no_line_but_a_file(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[plugins]\nslot = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(Places(places.home, path), project_dir=None, env={})
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == (str(path), None, "plugins.slot")


def test_the_callers_dict_is_not_touched() -> None:
    tree = {"plugins": {"entries": {"x": 3}}, "agents": {"defaults": {"model": "${M}"}}}
    before = json.dumps(tree)
    loaded = parse_config(tree, env={"M": "m"})
    loaded.tree["plugins"]["entries"]["x"] = 4
    assert json.dumps(tree) == before
    assert loaded.config.agents.defaults.model == "m"
