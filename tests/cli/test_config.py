"""`memslot config`: reading and changing the settings without losing what a person wrote."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest

COMMENTED = """\
// My settings. Keep this line.
{
  plugins: {
    slots: { memory: "memory-core" }, // the default
  },
  /* search */
  agents: { defaults: { memorySearch: { query: { maxResults: 6 } } } },
}
"""


def test_get_prints_one_value_with_its_default(memslot) -> None:
    assert memslot.ok("config", "get", "plugins.slots.memory") == "memory-core\n"
    assert memslot.ok("config", "get", "agents.defaults.memorySearch.query.maxResults") == "6\n"
    assert memslot.json("config", "get", "plugins.slots.memory") == "memory-core"


def test_get_prints_everything_as_json(memslot) -> None:
    tree = json.loads(memslot.ok("config", "get"))
    assert tree["agents"]["defaults"]["memorySearch"]["chunking"] == {"tokens": 400, "overlap": 80}


def test_get_of_an_unknown_key_fails(memslot) -> None:
    done = memslot("config", "get", "plugins.slots.nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert "plugins.slots.nothing" in done.stderr


def test_set_keeps_comments_and_changes_one_value(memslot) -> None:
    memslot.write_config(COMMENTED)
    memslot.ok("config", "set", "agents.defaults.memorySearch.query.maxResults", "10")
    assert memslot.config.read_text() == COMMENTED.replace("maxResults: 6", "maxResults: 10")
    assert memslot.ok("config", "get", "agents.defaults.memorySearch.query.maxResults") == "10\n"


def test_set_and_unset_bring_the_file_back_in_meaning(memslot) -> None:
    memslot.write_config(COMMENTED)
    memslot.ok("config", "set", "agents.defaults.memorySearch.provider", "none")
    assert "// My settings. Keep this line." in memslot.config.read_text()
    memslot.ok("config", "unset", "agents.defaults.memorySearch.provider")
    assert memslot.ok("config", "get", "agents.defaults.memorySearch.provider") == "auto\n"
    assert "/* search */" in memslot.config.read_text()


def test_set_makes_a_private_file_where_there_is_none(memslot) -> None:
    memslot.ok("config", "set", "plugins.slots.memory", "none")
    assert stat.S_IMODE(memslot.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(memslot.home.stat().st_mode) == 0o700
    assert memslot.ok("config", "get", "plugins.slots.memory") == "none\n"


def test_set_reads_lists_and_objects(memslot) -> None:
    memslot.ok("config", "set", "agents.defaults.memorySearch.extraPaths", '["~/docs", {path: "~/wiki"}]')
    found = memslot.json("config", "get", "agents.defaults.memorySearch.extraPaths")
    assert found[0] == "~/docs"
    assert found[1]["path"] == "~/wiki"


def test_set_of_the_same_value_says_that_it_was_so(memslot) -> None:
    memslot.ok("config", "set", "plugins.slots.memory", "none")
    before = (memslot.config.read_bytes(), memslot.config.stat().st_mtime_ns)
    assert "already has that value" in memslot.ok("config", "set", "plugins.slots.memory", "none")
    assert (memslot.config.read_bytes(), memslot.config.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("agents.defaults.memorySearch.query.maxResults", "many", "maxResults"),
        ("agents.defaults.memorySearch.query.minScore", "7", "minScore"),
        ("plugins.slotz.memory", "none", "slots"),
        ("plugins.entries.memory-core.config.nope", "1", "nope"),
        ("agents.defaults.workspace", "${MEMSLOT_TEST_UNSET}", "MEMSLOT_TEST_UNSET"),
    ],
)
def test_set_refuses_what_would_not_be_valid_and_leaves_the_file(memslot, key: str, value: str, said: str) -> None:
    memslot.write_config(COMMENTED)
    done = memslot("config", "set", key, value)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert memslot.config.read_text() == COMMENTED


def test_unset_of_what_is_not_there_changes_nothing(memslot) -> None:
    memslot.write_config(COMMENTED)
    memslot.ok("config", "unset", "agents.defaults.workspace")
    assert memslot.config.read_text() == COMMENTED


def test_unset_does_not_claim_a_change_that_was_none(memslot) -> None:
    memslot.write_config(COMMENTED)
    assert "changed in" not in memslot.ok("config", "unset", "agents.defaults.workspace")


def test_path_prints_the_file_that_is_read(memslot) -> None:
    assert memslot.ok("config", "path").strip() == str(memslot.config)
    other = memslot.folder / "other.toml"
    other.write_text('[plugins.slots]\nmemory = "none"\n')
    assert memslot.ok("config", "path", MEMSLOT_CONFIG=str(other)).strip() == str(other)
    assert memslot.ok("config", "get", "plugins.slots.memory", MEMSLOT_CONFIG=str(other)) == "none\n"


def test_the_schema_accepts_the_starter_config_and_refuses_a_wrong_one(memslot) -> None:
    import jsonschema_rs
    import pyjson5

    memslot.ok("init")
    schema = json.loads(memslot.ok("config", "schema"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid(pyjson5.decode(memslot.config.read_text()))
    assert not validator.is_valid({"plugins": {"slots": 5}})


# validate


def test_validate_says_that_all_is_well(memslot) -> None:
    assert "every default is valid" in memslot.ok("config", "validate").lower()
    memslot.write_config(COMMENTED)
    assert f"{memslot.config} is valid" in memslot.ok("config", "validate")
    assert memslot.json("config", "validate") == {"file": str(memslot.config), "valid": True, "problems": []}


BROKEN: dict[str, Any] = {
    "plugins": {"slots": {"memory": 5}, "alow": []},
    "agents": {"defaults": {"memorySearch": {"query": {"maxResults": 0}}}},
}


def test_validate_tells_all_problems_at_once(memslot) -> None:
    memslot.write_config(BROKEN)
    done = memslot("config", "validate")
    assert (done.returncode, done.stdout) == (1, "")
    assert all(word in done.stderr for word in ("plugins.slots.memory", "alow", "allow", "maxResults"))
    assert "Traceback" not in done.stderr


def test_validate_tells_them_in_json_too(memslot) -> None:
    memslot.write_config(BROKEN)
    done = memslot("config", "validate", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["valid"] is False
    assert len(said["problems"]) == 3
    assert {problem["key"] for problem in said["problems"]} >= {"plugins.slots.memory"}


def assert_refused_with_a_sentence(memslot: Any, *command: str) -> None:
    done = memslot(*command)
    assert (done.returncode, done.stdout) == (1, ""), command
    assert str(memslot.config) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["{ nope", "[]", "{a: 1, a: 2}", "\x00", "{plugins: ", '"text"'])
def test_a_file_that_is_no_config_is_a_sentence(memslot, text: str) -> None:
    memslot.write_config(text)
    assert_refused_with_a_sentence(memslot, "config", "validate")


@pytest.mark.parametrize("command", ["config get", "run hello", "paths", "plugins list"])
def test_every_command_that_needs_the_config_says_so_when_it_is_broken(memslot, command: str) -> None:
    memslot.write_config("{ nope")
    assert_refused_with_a_sentence(memslot, *command.split())


def test_a_plugins_settings_are_checked_by_its_own_schema(memslot) -> None:
    memslot.write_config({"plugins": {"entries": {"memory-core": {"config": {"nope": 1}}}}})
    done = memslot("config", "validate")
    assert done.returncode == 1
    assert "plugins.entries.memory-core.config.nope" in done.stderr


# Secrets

SECRET = "k3y-0123456789-abcdef"


def test_secrets_are_hidden_unless_asked_for(memslot) -> None:
    search = {"remote": {"apiKey": SECRET, "headers": {"X-Auth": SECRET}}}
    memslot.write_config(
        {"agents": {"defaults": {"memorySearch": search}, "list": [{"id": "a", "memorySearch": search}]}}
    )
    for arguments in ((), ("agents.defaults.memorySearch.remote.apiKey",), ("agents.list",), ("agents.defaults",)):
        assert SECRET not in memslot.ok("config", "get", *arguments), arguments
    shown = memslot.ok("config", "get", "agents.defaults.memorySearch.remote.apiKey", "--show-secrets")
    assert shown == f"{SECRET}\n"


def test_a_setting_that_a_manifest_calls_sensitive_is_hidden(memslot) -> None:
    memslot.add_plugin(
        "vault",
        configSchema={"type": "object", "properties": {"pin": {"type": "string"}, "door": {"type": "string"}}},
        uiHints={"pin": {"sensitive": True}},
    )
    entries = {"vault": {"config": {"pin": SECRET, "door": "left"}}}
    memslot.write_config({"plugins": {"load": memslot.load, "entries": entries}})
    assert SECRET not in memslot.ok("config", "get")
    assert "left" in memslot.ok("config", "get")
    assert SECRET not in memslot.ok("config", "get", "plugins.entries.vault.config.pin")


def test_a_secret_from_the_environment_is_hidden_too(memslot) -> None:
    memslot.write_config({"agents": {"defaults": {"memorySearch": {"remote": {"apiKey": "${MY_KEY}"}}}}})
    assert SECRET not in memslot.ok("config", "get", MY_KEY=SECRET)


def test_a_secret_that_is_wrong_is_not_repeated(memslot) -> None:
    memslot.write_config({"agents": {"defaults": {"memorySearch": {"remote": {"apiKey": [SECRET]}}}}})
    done = memslot("config", "validate")
    assert done.returncode == 1
    assert SECRET not in done.stderr + done.stdout


def test_set_does_not_print_the_secret_it_set(memslot) -> None:
    done = memslot("config", "set", "agents.defaults.memorySearch.remote.apiKey", SECRET)
    assert done.returncode == 0
    assert SECRET not in done.stdout + done.stderr
