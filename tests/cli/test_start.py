"""First steps: init, paths, run, completion, and how the command behaves as a program."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

COLOUR = re.compile(r"\x1b\[")
COMMANDS = [
    (),
    ("init",),
    ("search",),
    ("remember",),
    ("forget",),
    ("status",),
    ("run",),
    ("paths",),
    ("trust",),
    ("completion",),
    ("doctor",),
    ("config",),
    ("config", "get"),
    ("config", "set"),
    ("config", "unset"),
    ("config", "validate"),
    ("config", "schema"),
    ("config", "path"),
    ("plugins",),
    ("plugins", "list"),
    ("plugins", "info"),
    ("plugins", "enable"),
    ("plugins", "disable"),
    ("plugins", "doctor"),
    ("plugins", "validate"),
    ("plugins", "init"),
    ("plugins", "install"),
    ("plugins", "uninstall"),
]


def snapshot(folder: Path) -> dict[str, Any]:
    """Every file with its bytes, mode and time; what may be rebuilt at any moment is left out."""
    paths = [path for path in sorted(folder.rglob("*")) if "cache" not in path.relative_to(folder).parts]
    return {
        str(path): (path.read_bytes() if path.is_file() else None, path.stat().st_mode, path.stat().st_mtime_ns)
        for path in paths
        if path.is_file() or not path.is_symlink()
    }


# init


def test_init_makes_a_private_home_a_config_and_a_workspace(memslot) -> None:
    done = memslot("init")
    assert done.returncode == 0
    assert memslot.config.is_file()
    assert (memslot.home / "workspace" / "MEMORY.md").is_file()
    assert (memslot.home / "workspace" / "memory").is_dir()
    for path in [memslot.home, *memslot.home.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert str(memslot.config) in done.stdout


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_init_is_private_whatever_the_umask(memslot, mask: int) -> None:
    before = os.umask(mask)
    try:
        memslot.ok("init")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in [memslot.home, *memslot.home.rglob("*")]} == {0o600, 0o700}


def test_init_twice_changes_nothing(memslot) -> None:
    memslot.ok("init")
    before = snapshot(memslot.home)
    done = memslot("init")
    assert done.returncode == 0
    assert "nothing changed" in done.stdout
    assert snapshot(memslot.home) == before


def test_init_leaves_what_a_person_wrote(memslot) -> None:
    memslot.write_config("// mine\n{ agents: { defaults: { workspace: '%s' } } }\n" % (memslot.folder / "notes"))
    (memslot.folder / "notes").mkdir()
    (memslot.folder / "notes" / "MEMORY.md").write_text("mine")
    assert memslot.json("init")["made"] == []
    assert memslot.config.read_text().startswith("// mine\n")
    assert (memslot.folder / "notes" / "MEMORY.md").read_text() == "mine"


def test_init_says_in_json_what_it_made(memslot) -> None:
    said = memslot.json("init")
    assert said["home"] == str(memslot.home)
    assert str(memslot.config) in said["made"]
    assert memslot.json("init")["made"] == []


def test_init_where_nothing_can_be_made_says_so(memslot) -> None:
    memslot.home.write_text("a file is in the way")
    done = memslot("init")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(memslot.home) in done.stderr


def test_a_fresh_home_is_valid_and_healthy(memslot) -> None:
    memslot.ok("init")
    memslot.ok("config", "validate")
    memslot.ok("doctor")


# paths


def test_paths_are_all_there_in_json_and_in_words(memslot) -> None:
    paths = memslot.json("paths")
    assert paths["home"] == str(memslot.home)
    assert paths["config"] == str(memslot.config)
    assert paths["workspace"] == str(memslot.home / "workspace")
    assert paths["index"] == str(memslot.home / "memory" / f"{paths['agent']}.sqlite")
    assert paths["sessions"] == str(memslot.home / "agents" / paths["agent"] / "sessions")
    words = memslot.ok("paths")
    assert all(str(path) in words for name, path in paths.items() if name != "agent")


def test_paths_follow_the_settings(memslot) -> None:
    memslot.write_config({"agents": {"list": [{"id": "bob", "workspace": "/srv/bob"}]}})
    assert memslot.json("paths", "--agent", "bob")["workspace"] == "/srv/bob"


def test_paths_of_an_agent_that_cannot_be_are_refused(memslot) -> None:
    done = memslot("paths", "--agent", "../../etc")
    assert done.returncode == 1
    assert "../../etc" in done.stderr
    assert "Traceback" not in done.stderr


def test_paths_of_an_agent_nobody_has_are_refused(memslot) -> None:
    done = memslot("paths", "--agent", "nobody")
    assert done.returncode == 1
    assert "nobody" in done.stderr


# run


def test_run_shows_what_an_agent_would_be_given(memslot) -> None:
    memslot.ok("init")
    (memslot.home / "workspace" / "MEMORY.md").write_text("# Memory\n\nThe release is in May.\n")
    said = memslot.ok("run", "when is the release?")
    for part in ("System prompt", "Memory Recall", "Context before the prompt", "The release is in May.", "Tools"):
        assert part in said
    assert "memory_search: " in said


def test_run_gives_the_same_as_json(memslot) -> None:
    memslot.ok("init")
    (memslot.home / "workspace" / "MEMORY.md").write_text("# Memory\n\nThe release is in May.\n")
    given = memslot.json("run", "when is the release?", "--session", "s1")
    assert given["session"] == "s1"
    assert given["memory"] == "memory-core"
    assert given["prompt"] == "when is the release?"
    assert "The release is in May." in given["context"]
    assert {tool["name"] for tool in given["tools"]} == {"memory_search", "memory_get", "memory_write"}
    assert all(tool["inputSchema"]["type"] == "object" for tool in given["tools"])


def test_run_in_a_group_recalls_nothing_private(memslot) -> None:
    memslot.ok("init")
    (memslot.home / "workspace" / "MEMORY.md").write_text("# Memory\n\nThe release is in May.\n")
    assert memslot.json("run", "when is the release?", "--chat-type", "group")["context"] == ""


def test_run_without_a_home_works_and_leaves_none_behind(memslot) -> None:
    assert memslot.json("run", "hello")["memory"] == "memory-core"
    assert not memslot.config.exists()


def test_run_says_nothing_of_a_memory_that_was_turned_off(memslot) -> None:
    memslot.write_config({"plugins": {"slots": {"memory": "none"}}})
    done = memslot("run", "hello", "--json")
    assert json.loads(done.stdout)["memory"] is None
    assert (done.returncode, done.stderr) == (0, "")


def test_run_says_beside_the_json_why_there_is_no_memory(memslot) -> None:
    memslot.write_config({"plugins": {"deny": ["memory-core"]}})
    done = memslot("run", "hello", "--json")
    assert json.loads(done.stdout)["memory"] is None
    assert 'Warning: memory: "memory-core" owns the memory slot but does not run: plugins.deny names it' in done.stderr


def test_run_with_a_slot_that_names_a_missing_plugin_fails_with_the_command_to_install_it(memslot) -> None:
    memslot.write_config({"plugins": {"slots": {"memory": "memory-nowhere"}}})
    done = memslot("run", "hello", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'names "memory-nowhere", which is not installed' in done.stderr
    assert "memslot plugins install PACKAGE" in done.stderr


def test_run_for_an_agent_nobody_has_fails(memslot) -> None:
    done = memslot("run", "hello", "--agent", "nobody")
    assert done.returncode == 1
    assert 'unknown agent "nobody"' in done.stderr


# A plugin's command


def test_a_plugins_command_is_listed_and_works(memslot) -> None:
    memslot.ok("init")
    (memslot.home / "workspace" / "MEMORY.md").write_text("# Memory\n\nThe release is in May.\n")
    assert re.search(r"memory .*notes", memslot.ok("--help"))
    found = memslot.json("memory", "search", "release")
    assert found["results"][0]["snippet"] == "# Memory\n\nThe release is in May."
    assert "weak" not in found
    assert memslot.json("memory", "search", "unicorn")["weak"] is True


def test_a_command_of_a_plugin_that_is_off_says_why(memslot) -> None:
    memslot.write_config({"plugins": {"slots": {"memory": "none"}}})
    done = memslot("memory", "search", "x")
    assert done.returncode == 1
    assert '"memory" comes with the plugin memory-core, which does not run' in done.stderr
    assert "memslot plugins enable memory-core" in done.stderr


def test_a_command_of_a_plugin_tells_of_a_broken_config(memslot) -> None:
    memslot.write_config("{ broken")
    done = memslot("memory", "search", "x")
    assert done.returncode == 1
    assert "memslot.json5" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_of_a_plugin_that_raises_is_one_line(memslot) -> None:
    code = """
from memslot import hookimpl
@hookimpl
def register_commands(ctx, cli):
    @cli.command("dice")
    def dice(): print(1 / 0)
"""
    memslot.add_plugin("dicey", code, kind="app", provides={"commands": ["dice"]})
    memslot.write_config({"plugins": {"load": memslot.load}})
    done = memslot("dice")
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: the plugin dicey failed: ZeroDivisionError: division by zero"
    assert "Traceback" in memslot("dice", MEMSLOT_TRACE_PLUGINS="1").stderr


def test_what_plugins_print_never_gets_into_json(memslot) -> None:
    code = """
from memslot import hookimpl
print("at import")
@hookimpl
def register_tools(ctx):
    print("while registering")
    return []
@hookimpl
def before_agent_start():
    print("before the start")
"""
    memslot.add_plugin("loud", code, kind="tool")
    memslot.write_config({"plugins": {"load": memslot.load}})
    for command in (("run", "hello"), ("doctor",), ("plugins", "doctor")):
        json.loads(memslot(*command, "--json").stdout)


# Usage


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("plugns",), "plugins"),
        (("doctr",), "doctor"),
        (("memry",), "memory"),
        (("plugins", "lst"), "list"),
        (("config", "gte"), "get"),
    ],
)
def test_an_unknown_command_is_wrong_usage_and_the_likely_one_is_named(memslot, typed: Any, meant: str) -> None:
    done = memslot(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(rf"Did you mean .*{meant}", done.stderr)


@pytest.mark.parametrize(("command", "extra"), [("chat", "chat"), ("connect", "mcp"), ("ui", "ui")])
def test_a_command_of_a_plugin_that_is_not_installed_names_the_extra(command: str, extra: str, monkeypatch) -> None:
    """The names come from the metadata of the distribution `memslot`, which is installed here with all its plugins."""
    from click.testing import CliRunner
    from memslot import extra_install_command
    from memslot.cli import plugin_commands
    from memslot.cli.app import app

    none = SimpleNamespace(activation=SimpleNamespace(decisions=(), running=()))
    monkeypatch.setattr(plugin_commands, "read_current_overview", lambda **options: none)

    done = CliRunner().invoke(app, [command])

    assert done.exit_code == 1
    assert f"install it with: {extra_install_command(extra)}\n" in done.output
    assert "No such command" in CliRunner().invoke(app, ["openai"]).output, "an extra, but no command"


@pytest.mark.parametrize(
    "arguments", [("run",), ("run", "x", "--chat-type", "crowd"), ("init", "--nope"), ("config", "set", "a")]
)
def test_wrong_usage_ends_with_2(memslot, arguments: Any) -> None:
    done = memslot(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: memslot" in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_every_command_shows_examples(memslot, command: tuple[str, ...]) -> None:
    said = memslot.ok(*command, "--help")
    assert said.startswith("Usage: memslot")
    assert "Examples:" in said
    assert re.search(r"^\s+(\S+=\S+ )?memslot " + " ".join(command), said.split("Examples:")[1], re.MULTILINE)


def test_there_is_a_version(memslot) -> None:
    assert re.fullmatch(r"memslot, version \d+\.\d+\.\d+\n", memslot.ok("--version"))


def test_help_works_with_a_broken_config(memslot) -> None:
    memslot.write_config("{ nope")
    assert "plugins" in memslot.ok("--help")


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(memslot, shell: str) -> None:
    script = memslot.ok("completion", shell)
    assert "_MEMSLOT_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_the_bash_script_is_one_that_bash_reads(memslot) -> None:
    script = memslot.ok("completion", "bash")
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def complete(memslot: Any, line: str) -> list[str]:
    words = shlex.split(line)
    if line.endswith(" "):
        words.append("")
    out = memslot.ok(_MEMSLOT_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    return [entry.split(",", 1)[1] for entry in out.splitlines()]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("memslot pl", ["plugins"]),
        ("memslot plugins en", ["enable"]),
        ("memslot mem", ["memory"]),
        ("memslot config v", ["validate"]),
    ],
)
def test_bash_completes(memslot, line: str, offered: list[str]) -> None:
    assert complete(memslot, line) == offered


def test_bash_completes_the_choices_of_an_option(memslot) -> None:
    assert complete(memslot, "memslot run x --chat-type ") == ["direct", "group", "channel"]


def test_completion_for_an_unknown_shell_is_wrong_usage(memslot) -> None:
    assert memslot("completion", "csh").returncode == 2
    assert memslot("completion", SHELL="/bin/csh").returncode == 2
    assert "bash_complete" in memslot.ok("completion", SHELL="/bin/bash")


# Terminals, pipes and locales


@pytest.mark.parametrize(
    "command", [("plugins", "list"), ("doctor",), ("run", "hello"), ("init",), ("paths",)], ids=" ".join
)
def test_no_colour_in_a_pipe(memslot, command: Any) -> None:
    done = memslot(*command)
    assert not COLOUR.search(done.stdout + done.stderr)


@pytest.mark.parametrize("command", [("plugins", "list"), ("doctor",), ("run", "hello"), ("init",)], ids=" ".join)
def test_colour_on_a_terminal(memslot, command: Any) -> None:
    code, shown = memslot.on_a_terminal(*command)
    assert code in (0, 1)
    assert COLOUR.search(shown)


def test_json_has_no_colour_on_a_terminal_either(memslot) -> None:
    code, shown = memslot.on_a_terminal("plugins", "list", "--json")
    assert code == 0
    assert json.loads(shown)["plugins"]


@pytest.mark.parametrize("command", [("plugins", "list"), ("doctor",), ("run", "hello")], ids=" ".join)
def test_no_colour_where_the_person_asked_for_none(memslot, command: Any) -> None:
    _, shown = memslot.on_a_terminal(*command, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


@pytest.mark.parametrize(
    "command",
    [("config", "schema"), ("plugins", "list"), ("doctor",), ("--help",), ("completion", "bash")],
    ids=" ".join,
)
def test_a_pipe_that_closes_early_is_no_traceback(memslot, command: Any) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*memslot.argv, *command],
        env=memslot.env,
        cwd=memslot.project,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        # As a shell starts it: Python itself would otherwise inherit our ignored signal.
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "command",
    [("init",), ("doctor",), ("plugins", "list"), ("paths",), ("run", "Zürich 東京"), ("config", "get"), ("--help",)],
    ids=" ".join,
)
def test_a_locale_without_unicode_is_no_traceback(memslot, command: Any) -> None:
    if command == ("doctor",):
        memslot.ok("init", **ASCII)  # without a home, it has something to complain about
    done = memslot(*command, **ASCII)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    if command != ("--help",):
        assert memslot.json(*command, **ASCII) is not None


def test_notes_in_any_script_come_through_a_poor_locale(memslot) -> None:
    memslot.ok("init")
    (memslot.home / "workspace" / "MEMORY.md").write_text("Das Treffen ist in Zürich.\n", encoding="utf-8")
    done = memslot("memory", "search", "Treffen", "--json", **ASCII)
    assert done.returncode == 0
    assert json.loads(done.stdout)["results"][0]["snippet"] == "Das Treffen ist in Zürich."


def test_ctrl_c_ends_the_command_without_a_traceback(memslot) -> None:
    code = "import time\nfrom memslot import hookimpl\n\n@hookimpl\ndef before_agent_start():\n    time.sleep(20)\n"
    memslot.add_plugin("sleepy", code, kind="tool")
    memslot.write_config({"plugins": {"load": memslot.load}})
    process = subprocess.Popen(
        [*memslot.argv, "run", "hello"],
        env={**memslot.env, "MEMSLOT_TRACE_PLUGINS": "1"},
        cwd=memslot.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:  # the last registration call comes just before the hook that hangs
        if "memory-core before_agent_start" in line or "session_start" in line or "register_memory" in line:
            break
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [("--help",), ("plugins", "list", "--json"), ("doctor",), ("config", "get")])
def test_output_that_cannot_be_written_is_one_sentence(memslot, command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*memslot.argv, *command], env=memslot.env, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "Error: the output cannot be written: No space left on device"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("group", ["memory", "config", "embed", "sessions", "import", "hook", "mcp", "ltm"])
def test_summaries_of_commands_fit_a_terminal(memslot, group: str) -> None:
    memslot.write_config({"plugins": {"slots": {"memory": ["memory-core", "memory-lancedb"]}}})
    listed = memslot.ok(group, "--help", COLUMNS="80").partition("\nCommands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if line.endswith("...")] == []
