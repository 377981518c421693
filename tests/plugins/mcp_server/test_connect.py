"""`memslot connect`: each client's own shape, nothing else touched, and everything back to the byte."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import stat
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot import MemslotError
from memslot.testing import HostOpener
from memslot_mcp_server.clients.catalog import CLIENTS
from memslot_mcp_server.clients.check import check_client
from memslot_mcp_server.clients.connection import ConfigFile, Part, files_of
from memslot_mcp_server.clients.draft import Draft
from memslot_mcp_server.clients.edit_record import EditRecord

from tests.plugins.mcp_server.conftest import World

FILES = {
    "claude-code": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json",),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/plugin/memslot.js"),
    "qwen": (".qwen/settings.json",),
    "cursor": (".cursor/mcp.json",),
    "vscode": (".config/Code/User/mcp.json",),
    "claude-desktop": (".config/Claude/claude_desktop_config.json",),
}
FOREIGN = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME", "MEMSLOT_CONFIG")


class Person:
    """Somebody with a home of their own, who calls the command in this process."""

    def __init__(self, command: click.Command, folder: Path) -> None:
        self.folder = folder
        self._command = command

    def connect(self, *arguments: str, path: str = "") -> Result:
        env = {**dict.fromkeys(FOREIGN), "HOME": str(self.folder), "MEMSLOT_HOME": None, "PATH": path}
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(self._command, arguments, env=env)

    def tree(self) -> dict[str, bytes]:
        """Every file in the home, with its content."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
        return file


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[click.Command]:
    with HostOpener(tmp_path_factory.mktemp("home")) as open_host:
        host = open_host("mcp-server", config={"plugins": {"slots": {"memory": "none"}}})
        yield host.plugin_commands("mcp-server")["connect"]


@pytest.fixture
def person(command: click.Command, tmp_path: Path) -> Person:
    return Person(command, tmp_path)


def read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


def commands_of(settings_tree: Mapping[str, Any]) -> dict[str, str]:
    return {event: groups[0]["hooks"][0]["command"] for event, groups in settings_tree["hooks"].items()}


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
class TestShapes:
    @pytest.mark.parametrize("client", FILES)
    def test_connected_once_and_gone_again(self, person: Person, client: str) -> None:
        done = person.connect(client, "--yes")
        connected = person.tree()
        again = person.connect(client, "--yes")

        assert done.exit_code == 0, done.output
        assert "already" in again.stdout
        assert set(connected) == set(FILES[client])
        assert person.tree() == connected
        assert person.connect(client, "--undo", "--yes").exit_code == 0
        assert list(person.folder.iterdir()) == []  # no file and no folder is left

    def test_claude_code_has_its_tools_from_the_first_turn(self, person: Person) -> None:
        person.connect("claude-code", "--yes")

        server = read(person.folder / ".claude.json")["mcpServers"]["memslot"]
        assert (server["type"], server["args"], server["alwaysLoad"]) == ("stdio", ["mcp"], True)

    def test_codex_gets_toml_and_hooks_in_a_file_of_their_own(self, person: Person) -> None:
        done = person.connect("codex", "--yes")

        server = read(person.folder / ".codex" / "config.toml")["mcp_servers"]["memslot"]
        hooks = read(person.folder / ".codex" / "hooks.json")
        assert server["startup_timeout_sec"] >= 20
        assert server["required"] is True  # or its first turn has no tools
        assert commands_of(hooks)["PreCompact"].endswith("memslot-hook codex pre-compact")
        assert hooks["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] == 3
        assert "trust" in done.stderr

    def test_gemini_has_other_events_and_counts_milliseconds(self, person: Person) -> None:
        person.connect("gemini", "--yes")

        tree = read(person.folder / ".gemini" / "settings.json")
        assert {event: command.split()[-1] for event, command in commands_of(tree).items()} == {
            "SessionStart": "session-start",
            "BeforeAgent": "prompt",
            "AfterAgent": "stop",
            "PreCompress": "pre-compact",
            "SessionEnd": "session-end",
        }
        assert tree["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 15_000
        assert tree["mcpServers"]["memslot"]["args"] == ["mcp"]

    def test_qwen_has_the_events_of_claude_code_in_seconds(self, person: Person) -> None:
        person.connect("qwen", "--yes")

        tree = read(person.folder / ".qwen" / "settings.json")
        assert commands_of(tree)["UserPromptSubmit"].endswith("memslot-hook qwen prompt")
        assert tree["hooks"]["Stop"][0]["hooks"][0]["timeout"] == 60
        assert tree["mcpServers"]["memslot"]["alwaysLoadTools"] is True

    def test_opencode_has_one_list_and_more_than_five_seconds(self, person: Person) -> None:
        person.connect("opencode", "--yes")

        server = read(person.folder / ".config" / "opencode" / "opencode.json")["mcp"]["memslot"]
        assert (server["type"], server["command"][-1]) == ("local", "mcp")
        assert server["timeout"] > 5000

    def test_opencode_has_a_plugin_instead_of_hooks(self, person: Person) -> None:
        person.connect("opencode", "--yes")

        plugin = person.folder / ".config" / "opencode" / "plugin" / "memslot.js"
        assert '/memslot-hook"]' in plugin.read_text(encoding="utf-8")

    def test_another_plugin_of_that_name_is_left_alone(self, person: Person) -> None:
        plugin = person.write(".config/opencode/plugin/memslot.js", "export const Mine = 1\n")

        done = person.connect("opencode", "--yes")

        assert done.exit_code == 1
        assert "it is a plugin of something else" in done.stderr
        assert list(person.tree()) == [str(plugin.relative_to(person.folder))]

    def test_an_older_plugin_is_replaced_and_removed(self, person: Person) -> None:
        plugin = person.write(".config/opencode/plugin/memslot.js", "// Written by memslot\n")
        person.write(".config/opencode/opencode.json", "{}")

        person.connect("opencode", "--yes")
        text = plugin.read_text(encoding="utf-8")
        person.connect("opencode", "--undo", "--yes")
        person.connect("opencode", "--undo", "--yes")  # the first takes back, the second finds what was there before

        assert "export const" in text
        assert not plugin.exists()

    def test_opencode_is_connected_in_the_file_that_is_there(self, person: Person) -> None:
        file = person.write(".config/opencode/opencode.jsonc", '{\n  // mine\n  "theme": "x",\n}\n')

        person.connect("opencode", "--yes")

        assert "// mine" in file.read_text(encoding="utf-8")
        assert '"memslot"' in file.read_text(encoding="utf-8")
        assert not file.with_suffix(".json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
class TestDiscovery:
    def test_programs_and_folders_are_found(self, person: Person) -> None:
        person.write("bin/qwen", "#!/bin/sh\n").chmod(0o755)
        (person.folder / ".cursor").mkdir()

        done = person.connect("--yes", path=str(person.folder / "bin"))

        assert "Found: Qwen Code, Cursor." in done.stderr
        assert set(person.tree()) == {"bin/qwen", ".qwen/settings.json", ".cursor/mcp.json"}

    def test_nothing_found_is_said(self, person: Person) -> None:
        done = person.connect()

        assert done.exit_code == 1
        assert "none of these was found" in done.stderr
        assert person.tree() == {}

    def test_nothing_is_written_without_an_answer(self, person: Person) -> None:
        done = person.connect("cursor")

        assert done.exit_code == 1
        assert "+ mcpServers.memslot = " in done.stderr
        assert "--yes" in done.stderr
        assert person.tree() == {}

    def test_json_without_yes_is_a_plan(self, person: Person) -> None:
        plan = json.loads(person.connect("gemini", "--json").stdout)["clients"][0]
        assert person.tree() == {}
        done = json.loads(person.connect("gemini", "--json", "--yes").stdout)["clients"][0]

        assert (plan["written"], done["written"]) == (False, True)
        assert plan["files"] == done["files"]
        assert plan["files"][0]["changes"][:2] == ["mcpServers.memslot", "hooks.SessionStart[0]"]

    def test_print_shows_whole_files_even_where_one_is_broken(self, person: Person) -> None:
        file = person.write(".cursor/mcp.json", "{ broken")

        done = person.connect("cursor", "--print")

        assert json.loads(done.stdout)["mcpServers"]["memslot"]["args"] == ["mcp"]
        assert file.read_text(encoding="utf-8") == "{ broken"

    def test_modes_exclude_each_other(self, person: Person) -> None:
        assert person.connect("cursor", "--undo", "--print").exit_code == 2

    @pytest.mark.parametrize("client", [name for name in FILES if name != "claude-desktop"])
    def test_a_shared_project_names_nothing_of_this_machine(self, person: Person, client: str) -> None:
        done = person.connect(client, "--project", "--yes")
        text = b"".join(text for name, text in person.tree().items() if "local" not in name)

        assert done.exit_code == 0, done.output
        assert b"memslot" in text
        assert b"required" not in text  # nobody else's Codex may depend on memslot
        assert str(person.folder).encode() not in text
        assert os.path.dirname(sys.executable).encode() not in text  # noqa: PTH120


def test_the_docs_name_every_file() -> None:
    page = (Path(__file__).parents[3] / "docs" / "connect.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}

    assert set(rows) == set(CLIENTS)
    for client in CLIENTS.values():
        places = [place for place in (client.server, client.hooks, client.plugin) if place is not None]
        assert [place.project_file for place in places if (place.project_file or "") not in rows[client.id]] == []


SETTINGS = '{\n  "mcpServers": { "other": { "env": { "API_KEY": "hunter2" } } }, // two\n  "x": 1 // last\n}\n'


class TestUndo:
    def test_other_servers_keys_are_never_printed(self, person: Person) -> None:
        person.write(".gemini/settings.json", SETTINGS)

        runs = [person.connect("gemini", *mode) for mode in (["--yes"], ["--json"], ["--undo", "--yes"], ["--print"])]

        assert all(done.exit_code == 0 for done in runs)
        assert "hunter2" not in "".join(done.output for done in runs)

    def test_what_a_person_added_to_our_entry_is_not_printed(self, person: Person) -> None:
        person.connect("cursor", "--yes")
        file = person.folder / ".cursor" / "mcp.json"
        tree = read(file)
        tree["mcpServers"]["memslot"]["env"] = {"OPENAI_API_KEY": "hunter2"}
        file.write_text(json.dumps(tree), encoding="utf-8")

        done = person.connect("cursor", "--undo", "--yes")

        assert "hunter2" not in done.output
        assert read(file) == {}

    def test_a_file_that_its_client_has_written_anew_loses_only_ours(self, person: Person) -> None:
        file = person.write(".gemini/settings.json", SETTINGS)
        person.connect("gemini", "--yes")
        tree = json.loads("\n".join(line.split(" //")[0] for line in file.read_text(encoding="utf-8").splitlines()))
        tree["added"] = [1]
        tree["hooks"]["SessionEnd"].append({"hooks": [{"type": "command", "command": "say bye"}]})
        tree["hooks"]["AfterAgent"][0]["hooks"].append({"type": "command", "command": "say done"})
        file.write_text(json.dumps(tree, indent=4), encoding="utf-8")

        assert person.connect("gemini", "--undo", "--yes").exit_code == 0

        assert read(file) == {
            "mcpServers": {"other": {"env": {"API_KEY": "hunter2"}}},
            "x": 1,
            "hooks": {
                "AfterAgent": [{"hooks": [{"type": "command", "command": "say done"}]}],
                "SessionEnd": [{"hooks": [{"type": "command", "command": "say bye"}]}],
            },
            "added": [1],
        }

    def test_a_server_of_another_kind_is_not_ours_and_does_not_keep_the_hooks(self, person: Person) -> None:
        person.connect("claude-code", "--yes")
        over_http = '{"mcpServers": {"memslot": {"type": "http", "url": "http://127.0.0.1:8377/mcp"}}}'
        file = person.write(".claude.json", over_http)

        done = person.connect("claude-code", "--undo", "--yes")

        assert (done.exit_code, person.tree()) == (0, {".claude.json": over_http.encode()}), done.output
        assert file.name not in done.stderr

    def test_without_the_record_ours_is_removed_by_name(self, person: Person, tmp_path: Path) -> None:
        person.write(".codex/config.toml", '[mcp_servers.other]\ncommand = "x" # keep\n')
        hooks = person.write(".codex/hooks.json", '{ "hooks": { "Stop": [] } }')
        for config in files_of(CLIENTS["codex"], env={"HOME": str(tmp_path)}):
            with EditRecord(_folder(tmp_path / "one")) as record:
                assert config.connect(record)
            with EditRecord(_folder(tmp_path / "other")) as record:
                assert config.disconnect(record)

        text = (tmp_path / ".codex" / "config.toml").read_text(encoding="utf-8")
        assert tomllib.loads(text) == {"mcp_servers": {"other": {"command": "x"}}}
        assert "# keep" in text
        assert read(hooks) == {}

    def test_a_comment_inside_an_object_keeps_it(self, person: Person, tmp_path: Path) -> None:
        file = person.write(".cursor/mcp.json", '{\n  "mcpServers": {\n    // mine\n  }\n}\n')
        (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(tmp_path)})
        with EditRecord(_folder(tmp_path / "one")) as record:
            config.connect(record)
        with EditRecord(_folder(tmp_path / "other")) as record:
            config.disconnect(record)

        assert file.read_text(encoding="utf-8") == '{\n  "mcpServers": {\n    // mine\n  }\n}\n'

    def test_hooks_and_server_that_were_installed_apart_go_together(self, person: Person, tmp_path: Path) -> None:
        file = person.write(".qwen/settings.json", SETTINGS)
        env = {"HOME": str(tmp_path)}
        with EditRecord(_folder(tmp_path / "state")) as record:
            parts: tuple[Part, ...] = ("hooks", "server")
            for part in parts:
                (config,) = files_of(CLIENTS["qwen"], parts=[part], env=env)
                assert config.connect(record)
            (both,) = files_of(CLIENTS["qwen"], env=env)
            assert both.disconnect(record)

        assert file.read_text(encoding="utf-8") == SETTINGS

    def test_a_second_installation_takes_over_and_undo_still_restores(
        self, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = person.write(".codex/config.toml", '# mine\nmodel = "x"')
        (config, _) = files_of(CLIENTS["codex"], env={"HOME": str(tmp_path)})
        with EditRecord(_folder(tmp_path / "state")) as record:
            monkeypatch.setenv("MEMSLOT_HOME", "/one")
            config.connect(record)
            monkeypatch.setenv("MEMSLOT_HOME", "/two")
            assert config.connect(record)
            assert "/one" not in file.read_text(encoding="utf-8")
            config.disconnect(record)

        assert file.read_text(encoding="utf-8") == '# mine\nmodel = "x"'


PACKAGES = {
    "claude-code": (".claude/settings.json", '{"enabledPlugins": {"memslot@memslot": true}}'),
    "codex": (".codex/config.toml", '[plugins."memslot@memslot"]\nenabled = true\n'),
    "gemini": (".gemini/extensions/memslot/gemini-extension.json", '{"name": "memslot"}'),
}
"""How each program writes down that it has memslot as a plugin or an extension."""


@pytest.mark.parametrize("client", PACKAGES)
class TestPackages:
    def test_a_client_that_has_the_package_is_left_alone(self, person: Person, client: str) -> None:
        """With both, it would have each tool twice, and each prompt would recall twice."""
        person.write(*PACKAGES[client])
        before = person.tree()

        done = person.connect(client, "--yes")

        assert (done.exit_code, person.tree()) == (0, before)
        assert "recall twice" in done.stdout
        assert json.loads(person.connect(client, "--json").stdout)["clients"][0]["package"] is True

    def test_a_package_that_is_turned_off_does_not_count(self, person: Person, client: str) -> None:
        name, text = PACKAGES[client]
        person.write(name, text.replace("true", "false").replace('"name"', '"was"'))

        assert "is connected" in person.connect(client, "--yes").stdout
        assert "no longer connected" in person.connect(client, "--undo", "--yes").stdout

    def test_a_projects_files_are_for_others_too(self, person: Person, client: str) -> None:
        person.write(*PACKAGES[client])

        assert "is connected" in person.connect(client, "--project", "--yes").stdout

    def test_check_starts_what_the_package_starts(self, world: World, client: str) -> None:
        name, text = PACKAGES[client]
        (world.folder / name).parent.mkdir(parents=True)
        (world.folder / name).write_text(text, encoding="utf-8")
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"

        alone = json.loads(world.run("connect", client, "--check", "--json", PATH=path).stdout)
        world.run("mcp", "install", client)
        twice = json.loads(world.run("connect", client, "--check", "--json", PATH=path).stdout)

        checks = {each["check"]: each for each in alone["clients"][0]["checks"]}
        assert (checks["server"]["ok"], checks["hooks"]["detail"]) == (True, "prompt answers"), checks
        (check,) = twice["clients"][0]["checks"]
        assert not check["ok"]
        assert "recalls twice" in check["detail"]


@pytest.mark.parametrize("is_cache", [True, False])
def test_a_memslot_in_a_cache_says_that_it_may_be_gone_tomorrow(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cache: bool
) -> None:
    """As `uvx` starts it. Environments have the marker themselves, wherever they are."""
    environment = tmp_path / "uv" / "archive-v0" / "AbCd"
    environment.mkdir(parents=True)
    marked = tmp_path / "uv" if is_cache else environment
    (marked / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n", encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(environment))

    done = person.connect("cursor", "--yes")
    undone = person.connect("cursor", "--undo", "--yes")

    assert (done.exit_code, undone.exit_code) == (0, 0)
    assert (f"in a cache ({tmp_path / 'uv'})" in done.stderr) == is_cache
    assert "Warning" not in undone.stderr


def test_a_home_below_the_persons_is_written_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMSLOT_HOME", "~/mine")
    (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(tmp_path)})

    entry = json.loads(config.snippet())["mcpServers"]["memslot"]

    assert entry["env"] == {"MEMSLOT_HOME": str(tmp_path / "mine")}


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


KEYS = st.sampled_from(["mcpServers", "hooks", "Stop", "SessionStart", "memslot", "other", "a", 'q"\\', "é\n"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
NOISE = st.sampled_from(["", " ", "\n", "\r\n", "\t", " // c\n", "/* d */", " // é\r\n\r\n"])


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """JSON as people write it: any white space, comments, trailing commas, line ends and byte order marks."""

    def written(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        parts = []
        for item in value.items() if isinstance(value, dict) else value:
            name, inner = item if isinstance(value, dict) else (None, item)
            prefix = "" if name is None else json.dumps(name) + draw(NOISE) + ":"
            parts.append(draw(NOISE) + prefix + draw(NOISE) + written(inner) + draw(NOISE))
        body = ",".join(parts) + ("," + draw(NOISE) if parts and draw(st.booleans()) else draw(NOISE))
        return "{" + body + "}" if isinstance(value, dict) else "[" + body + "]"

    return (
        draw(st.sampled_from(["", "\ufeff"])) + draw(NOISE) + written(draw(st.dictionaries(KEYS, VALUES))) + draw(NOISE)
    )


TOML_LINES = st.lists(
    st.sampled_from(
        [
            "# a comment",
            "",
            "  ",
            "[tui]",
            "[mcp_servers.other]",
            '[mcp_servers."with space"]',
            "[projects.'/x']",
            'a = "b" # c',
            "b = [1,\n  2, # two\n]",
            'c = """\nx\n"""',
            "d = { e = 1 }",
            "[[list]]",
            "mcp_servers.dotted.command = 'x'",
            "mcp_servers = { inline = { command = 'x' } }",
        ]
    ),
    max_size=8,
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(draw(TOML_LINES)).replace("\n", newline).replace("\r\r", "\r") + draw(
        st.sampled_from(["", newline, newline * 2])
    )


def _there_and_back(config: ConfigFile, data: bytes, state: Path) -> None:
    config.file.write_bytes(data)
    before = config.file.stat().st_mode
    with EditRecord(state) as record:
        try:
            config.connect(record)
        except MemslotError:
            assert config.file.read_bytes() == data  # refused, and nothing written
            return
        connected = config.file.read_bytes()
        assert not config.connect(record)
        assert config.file.read_bytes() == connected
        assert config.disconnect(record) or connected == data
        assert config.file.read_bytes() == data
        assert config.file.stat().st_mode == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=json_texts(), client=st.sampled_from(["gemini", "qwen", "cursor", "vscode", "opencode"]))
def test_json_is_what_it_was_after_connect_and_undo(tmp_path: Path, text: str, client: str) -> None:
    config, *_ = files_of(CLIENTS[client], env={"HOME": str(tmp_path)})
    config.file.parent.mkdir(parents=True, exist_ok=True)

    _there_and_back(config, text.encode("utf-8", "surrogatepass"), tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=toml_texts())
def test_toml_is_what_it_was_after_connect_and_undo(tmp_path: Path, text: str) -> None:
    config, _ = files_of(CLIENTS["codex"], env={"HOME": str(tmp_path)})
    config.file.parent.mkdir(parents=True, exist_ok=True)

    _there_and_back(config, text.encode("utf-8"), tmp_path)


@settings(deadline=None)
@given(text=json_texts())
def test_removal_by_name_leaves_every_other_value(text: str) -> None:
    place = CLIENTS["gemini"]
    (config,) = files_of(place, env={"HOME": "/nowhere"})
    try:
        draft = Draft("json", text.removeprefix("\ufeff"))
        config.remove(draft)
        before = _without_empty(draft.tree)
        draft = Draft("json", draft.text)
        config.add(draft)
        config.remove(draft)
    except MemslotError:
        return

    assert _without_empty(draft.tree) == before


def _without_empty(tree: dict[str, Any]) -> dict[str, Any]:
    """Without what holds nothing: removal may clear it away, and an entry that is null is as good as none."""
    servers = tree.get("mcpServers")
    if isinstance(servers, dict) and servers.get("memslot", 0) is None:
        tree = {**tree, "mcpServers": {key: value for key, value in servers.items() if key != "memslot"}}
    hooks = tree.get("hooks")
    if isinstance(hooks, dict):
        tree = {**tree, "hooks": {key: value for key, value in hooks.items() if value not in ([], None)}}
    return {key: value for key, value in tree.items() if key not in ("hooks", "mcpServers") or value not in ({}, None)}


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of somebody who is not root, and for whom the bits of a file count."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() != 0:
            yield Path(folder)
            return
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)


class TestRefusal:
    @pytest.mark.parametrize(
        "content", [b'{"hooks": {', b"\xff\xfe{}", b"[]", b'{"hooks": []}', b'{"hooks": {"Stop": 1}}']
    )
    def test_one_broken_file_leaves_both_halves_unwritten(self, person: Person, content: bytes) -> None:
        person.write(".claude/settings.json", "").write_bytes(content)

        done = person.connect("claude-code", "--yes")

        assert done.exit_code == 1
        assert "settings.json was not changed: it" in done.stderr
        assert done.stderr.count("\n") == 1
        assert person.tree() == {".claude/settings.json": content}

    def test_others_are_connected_all_the_same(self, person: Person) -> None:
        person.write(".cursor/mcp.json", "{")

        done = person.connect("cursor", "qwen", "--yes")

        assert done.exit_code == 1
        assert "✓ Qwen Code is connected" in done.stdout
        assert set(person.tree()) == {".cursor/mcp.json", ".qwen/settings.json"}

    def test_a_folder_that_cannot_be_written_is_named(self, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        # Root may write to a folder without the bit, so the system's answer is given for it.
        folder = person.write(".claude/settings.json", "{}").parent
        real_access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and real_access(path, mode))

        done = person.connect("claude-code", "--yes")

        assert done.exit_code == 1
        assert f"the folder {folder} is read-only" in done.stderr
        assert person.tree() == {".claude/settings.json": b"{}"}

    def test_a_file_that_cannot_be_read_is_named(self, unprivileged: Path) -> None:
        file = unprivileged / ".cursor" / "mcp.json"
        file.parent.mkdir()
        file.write_text("{}", encoding="utf-8")
        file.chmod(0o200)
        (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(unprivileged)})

        with pytest.raises(MemslotError, match="it cannot be read"):
            config.changes()

    def test_a_file_of_another_kind_is_left_alone(self, person: Person) -> None:
        os.mkfifo(person.write(".cursor/x", "").with_name("mcp.json"))

        done = person.connect("cursor", "--yes")

        assert done.exit_code == 1
        assert "it is not a file" in done.stderr

    def test_a_read_only_file_is_left_alone(self, person: Person) -> None:
        person.write(".cursor/mcp.json", "{}").chmod(0o444)

        done = person.connect("cursor", "--yes")

        assert (done.exit_code, person.tree()) == (1, {".cursor/mcp.json": b"{}"})
        assert "it is read-only" in done.stderr

    def test_a_linked_config_stays_a_link(self, person: Person) -> None:
        real = person.write("dotfiles/mcp.json", '{"a": 1}')
        link = person.write(".cursor/x", "").with_name("mcp.json")
        link.symlink_to(real)

        assert person.connect("cursor", "--yes").exit_code == 0
        assert link.is_symlink()
        assert "memslot" in real.read_text(encoding="utf-8")
        assert person.connect("cursor", "--undo", "--yes").exit_code == 0
        assert (link.is_symlink(), real.read_bytes()) == (True, b'{"a": 1}')

    def test_a_projects_link_to_somewhere_else_is_refused(self, person: Person, tmp_path: Path) -> None:
        mine = person.write("mine/settings.json", "{}")
        project = _folder(tmp_path / "project")
        (project / ".cursor").symlink_to(mine.parent)
        (project / ".cursor" / "mcp.json").symlink_to(mine)
        (config,) = files_of(CLIENTS["cursor"], project=project)

        with EditRecord(_folder(tmp_path / "state")) as record, pytest.raises(MemslotError, match="out of the project"):
            config.connect(record)
        with pytest.raises(MemslotError, match="out of the project"):
            config.changes()
        assert mine.read_bytes() == b"{}"

    def test_a_torn_record_does_not_stop_undo(self, person: Person, tmp_path: Path) -> None:
        file = person.write(".cursor/mcp.json", '{"a": 1}')
        (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(tmp_path)})
        state = _folder(tmp_path / "state")
        with EditRecord(state) as record:
            config.connect(record)
            (state / "connections.json").write_text('{"version": 1, "files": {"', encoding="utf-8")
            assert config.disconnect(record)

        assert read(file) == {"a": 1}

    @pytest.mark.parametrize("edit", [{}, {"after": "x", "splices": [[1]]}, {"after": "x", "splices": 1}])
    def test_a_record_that_was_edited_by_hand_does_not_stop_undo(
        self, person: Person, tmp_path: Path, edit: dict[str, Any]
    ) -> None:
        file = person.write(".cursor/mcp.json", '{"a": 1}')
        (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(tmp_path)})
        state = _folder(tmp_path / "state")
        with EditRecord(state) as record:
            config.connect(record)
            tree = {"version": 1, "files": {str(file): {"edits": [edit]}}}
            (state / "connections.json").write_text(json.dumps(tree), encoding="utf-8")
            assert config.disconnect(record)

        assert read(file) == {"a": 1}

    @pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000], ids=["deep", "long"])
    def test_toml_that_python_cannot_read_is_left_alone(self, person: Person, value: str) -> None:
        file = person.write(".codex/config.toml", f"a = {value}\n")

        done = person.connect("codex", "--yes")

        assert (done.exit_code, list(person.tree())) == (1, [".codex/config.toml"])
        assert f"{file} was not changed: it is TOML that Python cannot read" in done.stderr

    def test_the_record_is_private(self, person: Person, tmp_path: Path) -> None:
        (config,) = files_of(CLIENTS["cursor"], env={"HOME": str(tmp_path)})
        state = _folder(tmp_path / "state")
        with EditRecord(state) as record:
            config.connect(record)

        assert stat.S_IMODE((state / "connections.json").stat().st_mode) == 0o600


class TestProcesses:
    """The real command in processes of its own."""

    def test_several_at_once_write_one_entry(self, world: World) -> None:
        (world.folder / ".gemini").mkdir()
        file = world.folder / ".gemini" / "settings.json"
        file.write_text('{\n  "mine": true\n}\n', encoding="utf-8")

        running = [world.start("connect", "gemini", "--yes") for _ in range(4)]
        codes = [process.wait(timeout=60) for process in running]
        for process in running:
            process.communicate()
        tree = read(file)
        undone = world.run("connect", "gemini", "--undo", "--yes")

        assert codes == [0, 0, 0, 0]
        assert [len(groups) for groups in tree["hooks"].values()] == [1] * 5
        assert undone.returncode == 0, undone.stderr
        assert file.read_text(encoding="utf-8") == '{\n  "mine": true\n}\n'

    def test_a_kill_leaves_the_old_file_or_the_new_one(self, world: World) -> None:
        file = world.folder / ".qwen" / "settings.json"
        file.parent.mkdir()
        old = json.dumps({"big": ["x" * 100] * 2000}, indent=2)
        file.write_text(old, encoding="utf-8")
        started = time.monotonic()
        assert world.run("connect", "qwen", "--yes").returncode == 0
        seconds = time.monotonic() - started
        new = file.read_text(encoding="utf-8")
        assert world.run("connect", "qwen", "--undo", "--yes").returncode == 0
        assert file.read_text(encoding="utf-8") == old

        for part in range(8):
            process = world.start("connect", "qwen", "--yes")
            time.sleep(seconds * (0.4 + part / 12))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert file.read_text(encoding="utf-8") in (old, new)

        assert world.run("connect", "qwen", "--yes").returncode == 0
        assert file.read_text(encoding="utf-8") == new
        assert world.run("connect", "qwen", "--undo", "--yes").returncode == 0
        assert file.read_text(encoding="utf-8") == old

    @pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
    def test_a_person_is_asked(self, world: World, answer: str, code: int) -> None:
        ours, theirs = os.openpty()
        process = world.start("connect", "cursor", stdin=theirs)
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        _, said = process.communicate(timeout=60)
        os.close(ours)

        assert (process.returncode, (world.folder / ".cursor" / "mcp.json").exists()) == (code, code == 0)
        assert b"Write this? [y/N]" in said

    def test_a_full_disk_leaves_the_old_file(self, world: World) -> None:
        file = world.folder / ".qwen" / "settings.json"
        file.parent.mkdir()
        old = json.dumps({"big": ["x" * 100] * 3000}, indent=2)
        file.write_text(old, encoding="utf-8")
        size = len(old) - 1000

        process = world.start(
            "connect", "qwen", "--yes", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        )
        _, said = process.communicate(timeout=60)

        assert process.returncode == 1
        assert b"settings.json was not changed: it cannot be written" in said
        assert file.read_text(encoding="utf-8") == old
        assert list(file.parent.iterdir()) == [file]

    def test_a_plan_does_not_make_a_home(self, world: World) -> None:
        home = world.folder / "nowhere"

        planned = world.run("connect", "cursor", "--json", MEMSLOT_HOME=str(home))

        assert planned.returncode == 0, planned.stderr
        assert not home.exists()

    def test_a_home_that_cannot_be_written_is_named(self, world: World) -> None:
        done = world.run("connect", "cursor", "--yes", MEMSLOT_HOME="/proc/memslot")

        assert done.returncode == 1
        assert "nothing was written, since /proc/memslot cannot be" in done.stderr
        assert not (world.folder / ".cursor").exists()

    def test_check_starts_what_is_configured(self, world: World) -> None:
        before = world.run("connect", "cursor", "--check")
        world.run("connect", "cursor", "--yes")
        checked = world.run("connect", "cursor", "--check", "--json")

        assert before.returncode == 1
        assert "memslot connect cursor" in before.stdout
        assert checked.returncode == 0, checked.stdout
        (check,) = json.loads(checked.stdout)["clients"][0]["checks"]
        assert (check["check"], check["ok"]) == ("server", True)
        assert "memory_search" in check["detail"]

    def test_check_calls_a_hook_and_says_what_is_missing(self, world: World) -> None:
        world.run("connect", "claude-code", "--yes")
        checked = world.run("connect", "claude-code", "--check", PATH="/usr/bin:/bin")
        file = world.folder / ".claude" / "settings.json"
        tree = read(file)
        del tree["hooks"]["Stop"]
        tree["hooks"]["UserPromptSubmit"][0]["hooks"][0]["timeout"] = 1
        file.write_text(json.dumps(tree), encoding="utf-8")
        missing = world.run("connect", "claude-code", "--check", PATH="/usr/bin:/bin")

        assert "✓ hooks: prompt answers" in checked.stdout
        assert "✗ hooks: 1 of 5 not in its config" in missing.stdout

    def test_check_counts_each_hook_once(self, world: World) -> None:
        world.run("connect", "claude-code", "--yes")
        file = world.folder / ".claude" / "settings.json"
        tree = read(file)
        del tree["hooks"]["UserPromptSubmit"]
        tree["hooks"]["Stop"] *= 2
        file.write_text(json.dumps(tree), encoding="utf-8")

        done = world.run("connect", "claude-code", "--check", PATH="/usr/bin:/bin")

        assert "✗ hooks: 1 of 5 not in its config" in done.stdout

    @pytest.mark.parametrize(
        ("client", "setting"),
        [("claude-code", {"disableAllHooks": True}), ("gemini", {"hooksConfig": {"enabled": False}})],
    )
    def test_check_says_that_hooks_are_turned_off(
        self, person: Person, client: str, setting: dict[str, Any], tmp_path: Path
    ) -> None:
        person.write(f".{client.removesuffix('-code')}/settings.json", json.dumps(setting))
        person.write(".claude.json", "{}")
        with EditRecord(_folder(tmp_path / "state")) as record:
            for config in files_of(CLIENTS[client], parts=["hooks"], env={"HOME": str(tmp_path)}):
                config.connect(record)

        _, hooks = check_client(CLIENTS[client], {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})

        assert (hooks.what, hooks.is_ok) == ("hooks", False)
        assert hooks.detail.startswith("all hooks are turned off")

    def test_check_calls_what_opencodes_plugin_calls(self, world: World) -> None:
        world.run("connect", "opencode", "--yes")
        file = world.folder / ".config" / "opencode" / "plugin" / "memslot.js"
        source = file.read_text(encoding="utf-8")
        command = re.search(r'const COMMAND = \["(.*)"\]', source)
        assert command is not None

        told = {}
        for name, text in {
            "ours": source,
            "moved": source.replace(command[1], "/gone/memslot-hook"),
            "other": "export const Mine = 1 // not memslot\n",
        }.items():
            file.write_text(text, encoding="utf-8")
            told[name] = world.run("connect", "opencode", "--check", PATH="/usr/bin:/bin").stdout

        assert "✓ hooks: prompt answers" in told["ours"]
        assert "✗ hooks: exit code 127" in told["moved"]
        assert "✗ hooks: 1 of 1 not in its config" in told["other"]

    def test_check_says_that_a_command_is_gone(self, world: World) -> None:
        file = world.folder / ".cursor" / "mcp.json"
        file.parent.mkdir()
        gone = {"mcpServers": {"memslot": {"command": "/gone/memslot", "args": ["mcp"]}}}
        file.write_text(json.dumps(gone), encoding="utf-8")

        done = world.run("connect", "cursor", "--check")

        assert done.returncode == 1
        assert "✗ server: /gone/memslot does not answer" in done.stdout

    def test_check_shows_of_a_clients_own_list_only_ours(self, world: World) -> None:
        bin_folder = world.folder / "bin"
        bin_folder.mkdir()
        program = bin_folder / "qwen"
        program.write_text(
            "#!/bin/sh\necho 'other: run --key hunter2 - Connected'\necho 'memslot: m mcp - Disconnected'\n"
        )
        program.chmod(0o755)
        world.run("connect", "qwen", "--yes")

        done = world.run("connect", "qwen", "--check", PATH=f"{bin_folder}:/usr/bin:/bin")

        assert "✗ qwen mcp list: memslot: m mcp - Disconnected" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr

    def test_check_takes_no_server_for_ours_whose_name_begins_alike(self, world: World) -> None:
        bin_folder = world.folder / "bin"
        bin_folder.mkdir()
        program = bin_folder / "qwen"
        program.write_text("#!/bin/sh\necho '✗ memslot-team: run --key hunter2 - Disconnected'\n", encoding="utf-8")
        program.chmod(0o755)
        world.run("connect", "qwen", "--yes")

        done = world.run("connect", "qwen", "--check", PATH=f"{bin_folder}:/usr/bin:/bin")

        assert "✗ qwen mcp list: it does not know memslot" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr
