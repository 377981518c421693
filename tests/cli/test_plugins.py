"""`memslot plugins` and `memslot doctor`: what is installed, what runs, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

ALL_INSTALLED = {
    "memory-core",
    "embed-universal",
    "embed-local",
    "embed-openai",
    "embed-gemini",
    "embed-voyage",
    "embed-ollama",
}


def find(memslot: Any, plugin_id: str) -> dict[str, Any]:
    (found,) = [plugin for plugin in memslot.json("plugins", "list")["plugins"] if plugin["id"] == plugin_id]
    return dict(found)


# list


def test_list_shows_every_plugin_with_a_reason(memslot) -> None:
    listed = memslot.json("plugins", "list")
    assert {plugin["id"] for plugin in listed["plugins"]} >= ALL_INSTALLED
    assert all(plugin["reason"] for plugin in listed["plugins"])
    slot = {"owner": "memory-core", "owners": ["memory-core"], "error": None, "problem": None}
    assert listed["slots"]["memory"] == slot
    assert find(memslot, "memory-core")["provides"]["tools"] == ["memory_search", "memory_get", "memory_write"]
    words = memslot.ok("plugins", "list")
    assert all(plugin_id in words for plugin_id in ALL_INSTALLED)
    assert "owns the memory slot" in words


def test_list_can_show_only_what_runs(memslot) -> None:
    memslot.write_config({"plugins": {"deny": ["embed-openai"]}})
    assert find(memslot, "embed-openai")["code"] == "denied"
    running = memslot.json("plugins", "list", "--enabled")["plugins"]
    assert "embed-openai" not in {plugin["id"] for plugin in running}
    assert all(plugin["runs"] for plugin in running)


def test_list_prints_nothing_but_json_whatever_is_wrong(memslot) -> None:
    memslot.add_plugin("noisy", "print('hello')\nimport sys\nsys.stdout.write('more')\n", kind="tool")
    memslot.add_plugin("broken", "raise RuntimeError('boom')\n", kind="tool")
    (memslot.folder / "plugins" / "bad_manifest").mkdir()
    (memslot.folder / "plugins" / "bad_manifest" / "memslot.plugin.json").write_text("{")
    memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": "missing"}}})
    done = memslot("plugins", "list", "--json")
    listed = json.loads(done.stdout)
    assert done.returncode == 0
    assert "missing" in listed["slots"]["memory"]["error"]
    states = {plugin["id"]: plugin["code"] for plugin in listed["plugins"]}
    assert states["bad-manifest"] == "broken"
    assert states["noisy"] == "enabled"


def test_a_plugin_that_prints_while_it_loads_does_not_spoil_json(memslot) -> None:
    code = "import os\nprint('noise')\nos.write(1, b'')\nfrom memslot import hookimpl\n"
    memslot.add_plugin("noisy", code, kind="tool")
    memslot.write_config({"plugins": {"load": memslot.load}})
    done = memslot("run", "hello", "--json")
    assert json.loads(done.stdout)["prompt"] == "hello"
    assert "noisy" in done.stderr


@pytest.mark.parametrize(
    ("env", "running"),
    [
        ({"MEMSLOT_DISABLE_PLUGINS": "1"}, set()),
        ({"MEMSLOT_LOAD_PLUGINS": "embed-universal, memory-core"}, {"embed-universal", "memory-core"}),
        ({"MEMSLOT_LOAD_PLUGINS": ""}, set()),
    ],
)
def test_the_environment_decides_what_loads(memslot, env: dict[str, str], running: set[str]) -> None:
    listed = memslot.json("plugins", "list", **env)["plugins"]
    assert {plugin["id"] for plugin in listed if plugin["runs"]} == running
    assert {plugin["id"] for plugin in memslot.json("plugins", "list")["plugins"] if plugin["runs"]} >= ALL_INSTALLED


# info


def test_info_shows_a_plugin(memslot) -> None:
    info = memslot.json("plugins", "info", "embed-openai")
    assert info["requires"] == {"extras": ["openai"], "env": ["OPENAI_API_KEY"]}
    assert info["provides"]["providers"] == ["openai"]
    words = memslot.ok("plugins", "info", "embed-openai")
    assert "OpenAI embeddings" in words
    assert "OPENAI_API_KEY" in words


def test_info_shows_settings_as_the_config_writes_them(memslot) -> None:
    words = memslot.ok("plugins", "info", "memory-lancedb")
    assert 'scope ("agent" or "workspace", default "agent")' in words
    assert "autoRecall (boolean, default true)" in words


@pytest.mark.parametrize("command", ["info", "enable", "disable", "uninstall"])
def test_an_unknown_plugin_fails_and_the_likely_one_is_named(memslot, command: str) -> None:
    done = memslot("plugins", command, "memory-cor")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'no plugin "memory-cor" is installed; did you mean "memory-core"?' in done.stderr
    done = memslot("plugins", command, "zzz")
    assert done.returncode == 1
    assert "see: memslot plugins list" in done.stderr


# enable and disable


def test_disable_and_enable(memslot) -> None:
    memslot.ok("plugins", "disable", "embed-openai")
    off = find(memslot, "embed-openai")
    assert (off["runs"], off["code"]) == (False, "disabled")
    memslot.ok("plugins", "enable", "embed-openai")
    assert find(memslot, "embed-openai")["runs"]


def test_enable_takes_a_plugin_off_the_deny_list_and_onto_the_allow_list(memslot) -> None:
    memslot.write_config({"plugins": {"deny": ["embed-openai"], "allow": ["memory-core"]}})
    memslot.ok("plugins", "enable", "embed-openai")
    assert find(memslot, "embed-openai")["runs"]
    assert memslot.json("config", "get", "plugins.deny") == []
    assert memslot.json("config", "get", "plugins.allow") == ["memory-core", "embed-openai"]
    assert find(memslot, "embed-universal")["code"] == "not-allowed"


def test_enable_of_a_memory_plugin_moves_the_slot_and_says_so(memslot) -> None:
    memslot.add_plugin("shelf")
    memslot.write_config({"plugins": {"load": memslot.load}})
    assert find(memslot, "shelf")["code"] == "slot-rival"
    said = memslot.ok("plugins", "enable", "shelf")
    assert "the memory slot moved from memory-core to shelf" in said
    assert memslot.ok("config", "get", "plugins.slots.memory") == "shelf\n"
    assert memslot.json("run", "hello")["memory"] == "shelf"
    assert find(memslot, "memory-core")["code"] == "slot-rival"
    assert memslot.json("run", "hello")["tools"] == []


def test_enable_keeps_comments(memslot) -> None:
    memslot.write_config("{\n  // why: tested\n  plugins: { deny: ['embed-openai'] },\n}\n")
    memslot.ok("plugins", "enable", "embed-openai")
    assert "// why: tested" in memslot.config.read_text()


def test_disable_of_the_slots_owner_says_that_the_slot_is_empty(memslot) -> None:
    done = memslot("plugins", "disable", "memory-core")
    assert done.returncode == 0
    assert "it owned the memory slot" in done.stderr
    assert memslot.json("run", "hello")["memory"] is None


WITH_COMMENTS = """\
{
  plugins: {
    load: LOAD,
    slots: {
      // what was written, then the books
      memory: [
        "memory-core", // the notes
      ],
    },
  },
}
"""


def test_enable_beside_adds_a_memory_and_keeps_comments(memslot) -> None:
    memslot.add_plugin("shelf")
    memslot.write_config(WITH_COMMENTS.replace("LOAD", json.dumps(memslot.load)))
    said = memslot.ok("plugins", "enable", "shelf", "--beside")
    assert "shelf is in the memory slot beside memory-core" in said
    assert memslot.json("config", "get", "plugins.slots.memory") == ["memory-core", "shelf"]
    text = memslot.config.read_text()
    assert "// what was written, then the books" in text
    assert '"memory-core", // the notes' in text
    assert find(memslot, "shelf")["reason"] == "in the memory slot beside memory-core"
    shown = memslot.json("plugins", "list")["slots"]["memory"]
    assert (shown["owner"], shown["owners"]) == ("memory-core", ["memory-core", "shelf"])
    ran = memslot.json("run", "hello")
    assert (ran["memory"], ran["memories"]) == ("memory-core", ["memory-core", "shelf"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, ["memory-core", "shelf"]),
        ("memory-core", ["memory-core", "shelf"]),
        ("none", "shelf"),
        ("shelf", "shelf"),
        (["shelf", "memory-core"], ["shelf", "memory-core"]),
        (["memory-core", "none"], ["memory-core", "shelf"]),
    ],
)
def test_enable_beside_leaves_those_that_are_there(memslot, before: Any, after: Any) -> None:
    memslot.add_plugin("shelf")
    slots = {"slots": {"memory": before}} if before else {}
    memslot.write_config({"plugins": {"load": memslot.load, **slots}})
    memslot.ok("plugins", "enable", "shelf", "--beside")
    assert memslot.json("config", "get", "plugins.slots.memory") == after


def test_enable_alone_replaces_the_list(memslot) -> None:
    memslot.add_plugin("shelf")
    memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": ["memory-core", "shelf"]}}})
    assert "the memory slot moved from memory-core, shelf to shelf" in memslot.ok("plugins", "enable", "shelf")
    assert memslot.json("config", "get", "plugins.slots.memory") == "shelf"


def test_enable_beside_is_for_memories(memslot) -> None:
    done = memslot("plugins", "enable", "embed-openai", "--beside")
    assert done.returncode == 2
    assert "--beside is for memory plugins; embed-openai is of kind embedder" in done.stderr


def test_disable_takes_a_memory_out_of_the_list_and_says_so(memslot) -> None:
    memslot.add_plugin("shelf")
    memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": ["shelf", "memory-core"]}}})
    said = memslot.ok("plugins", "disable", "shelf")
    assert "it was removed from the memory slot, which leaves memory-core" in said
    assert memslot.json("config", "get", "plugins.slots.memory") == ["memory-core"]
    assert memslot.json("run", "hello")["memory"] == "memory-core"


def test_a_list_in_toml_is_edited_as_well(memslot) -> None:
    memslot.add_plugin("shelf")
    paths = json.dumps(memslot.load["paths"])
    file = memslot.config.with_suffix(".toml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'[plugins.load]\npaths = {paths}\n[plugins.slots]\nmemory = ["memory-core"] # notes\n')
    memslot.ok("plugins", "enable", "shelf", "--beside")
    assert memslot.json("config", "get", "plugins.slots.memory") == ["memory-core", "shelf"]
    memslot.ok("plugins", "disable", "memory-core")
    assert memslot.json("config", "get", "plugins.slots.memory") == ["shelf"]
    assert "# notes" in file.read_text()


def test_a_member_that_may_not_run_is_named_and_the_others_do(memslot) -> None:
    memslot.add_plugin("shelf")
    slots = {"memory": ["shelf", "memory-core"]}
    memslot.write_config({"plugins": {"load": memslot.load, "slots": slots, "deny": ["shelf"]}})
    done = memslot("plugins", "list")
    assert 'memory slot: "shelf" is in the memory slot but does not run: plugins.deny names it' in done.stderr
    done = memslot("run", "hello", "--json")
    assert json.loads(done.stdout)["memory"] == "memory-core"
    assert "shelf: it does not run: plugins.deny names it" in done.stderr


def test_enable_of_a_plugin_that_cannot_run_fails_and_says_why(memslot) -> None:
    memslot.add_plugin("future", kind="tool", minHostApi=999)
    memslot.write_config({"plugins": {"load": memslot.load}})
    done = memslot("plugins", "enable", "future")
    assert done.returncode == 1
    assert "host API 999" in done.stderr


@pytest.mark.parametrize("switch", ["enable", "disable"])
def test_switching_with_a_broken_config_changes_nothing(memslot, switch: str) -> None:
    memslot.write_config("{ nope")
    done = memslot("plugins", switch, "memory-core")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert memslot.config.read_text() == "{ nope"


# doctor


def test_plugins_doctor_is_content_with_a_fresh_home(memslot) -> None:
    memslot.ok("init")
    said = memslot.json("plugins", "doctor")
    assert said["healthy"] is True
    assert "memory-core" in said["findings"][-1]["message"]
    assert "No problems found." in memslot.ok("plugins", "doctor")


def test_plugins_doctor_names_what_is_broken(memslot) -> None:
    memslot.add_plugin("broken", "raise RuntimeError('boom')\n", kind="tool")
    memslot.write_config({"plugins": {"load": memslot.load}})
    done = memslot("plugins", "doctor", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["healthy"] is False
    (problem,) = [finding for finding in said["findings"] if finding["level"] == "problem"]
    assert problem["about"] == "plugin broken"
    assert "boom" in problem["message"]
    assert "memslot plugins disable broken" in problem["action"]
    words = memslot("plugins", "doctor")
    assert words.returncode == 1
    assert "1 problem." in words.stdout


def test_doctor_looks_at_everything_in_a_fresh_home(memslot) -> None:
    memslot.ok("init")
    said = memslot.json("doctor")
    assert said["healthy"] is True
    assert {finding["about"] for finding in said["findings"]} >= {"home", "config", "plugins", "memory", "embeddings"}


def test_doctor_tells_a_broken_config_in_plain_words(memslot) -> None:
    memslot.ok("init")
    memslot.write_config(
        {"plugins": {"slotz": {}}, "agents": {"defaults": {"memorySearch": {"query": {"maxResults": -1}}}}}
    )
    done = memslot("doctor")
    assert done.returncode == 1
    assert "slotz" in done.stdout
    assert "slots" in done.stdout
    assert "maxResults" in done.stdout
    assert f"edit {memslot.config}" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    said = json.loads(memslot("doctor", "--json").stdout)
    assert said["healthy"] is False
    assert len([finding for finding in said["findings"] if finding["level"] == "problem"]) == 2


def test_doctor_tells_a_missing_slot_owner(memslot) -> None:
    memslot.ok("init")
    memslot.write_config({"plugins": {"slots": {"memory": "memory-nowhere"}}})
    done = memslot("doctor")
    assert done.returncode == 1
    assert "memory-nowhere" in done.stdout
    assert "memslot plugins install PACKAGE" in done.stdout


def test_doctor_warns_of_a_home_that_others_can_read(memslot) -> None:
    memslot.ok("init")
    memslot.home.chmod(0o755)
    done = memslot("doctor")
    assert done.returncode == 0
    assert f"chmod 700 {memslot.home}" in done.stdout


def test_doctor_warns_of_settings_for_a_plugin_nobody_has(memslot) -> None:
    memslot.ok("init")
    memslot.write_config({"plugins": {"entries": {"nowhere": {"enabled": True}}}})
    done = memslot("doctor")
    assert done.returncode == 0
    assert "plugins.entries.nowhere is set, but no such plugin is installed" in done.stdout


def test_what_a_plugin_says_cannot_colour_the_screen(memslot) -> None:
    memslot.add_plugin("painter", "raise RuntimeError('\\x1b[31mred\\x1b[2J\\nTwo lines')\n", kind="tool")
    memslot.write_config({"plugins": {"load": memslot.load}})
    done = memslot("plugins", "doctor")
    assert "\x1b" not in done.stdout + done.stderr
    code, shown = memslot.on_a_terminal("plugins", "doctor")
    assert code == 1
    assert "\x1b[2J" not in shown


def test_a_plugin_adds_a_command_to_sessions_and_takes_none_of_its_own(memslot) -> None:
    code = """
    import click
    from memslot import hookimpl

    @hookimpl
    def register_commands(cli):
        for name in ("count", "list"):
            cli.add_command(click.Command(name, callback=lambda: click.echo("counted")), f"sessions {name}")
    """
    commands = [{"name": "sessions count", "help": "Count conversations."}, "sessions list"]
    memslot.add_plugin("counter", code, kind="app", provides={"commands": commands})
    memslot.write_config({"plugins": {"load": memslot.load}})

    assert memslot.ok("sessions", "count") == "counted\n"
    assert memslot.json("sessions", "list")["total"] == 0, "memslot's own command wins"
    assert "Count conversations." in memslot.ok("sessions", "--help")
    assert "sessions count" not in memslot.ok("--help")
