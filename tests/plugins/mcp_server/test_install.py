"""memslot among a client's servers and hooks, and nothing else different in their files."""

from __future__ import annotations

import contextlib
import json
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from memslot import MemslotError
from memslot.testing import HostOpener
from memslot_mcp_server.clients.catalog import CLIENTS
from memslot_mcp_server.clients.config_edit import change_file
from memslot_mcp_server.clients.draft import Draft
from memslot_mcp_server.clients.edit_record import EditRecord
from memslot_mcp_server.clients.server_entry import Program, add_entry, entry_of
from memslot_mcp_server.hooks.settings import add_hooks

from tests.plugins.mcp_server.conftest import World

PROGRAM = Program("/opt/memslot/bin/memslot", ("mcp",), {"MEMSLOT_HOME": "/srv/notes"})
FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
    "qwen": (".qwen/settings.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
}
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "qwen": ".qwen/settings.json",
    "vscode": ".vscode/mcp.json",
}


def with_entry(client: str, text: str, program: Program = PROGRAM) -> str:
    place = CLIENTS[client].server
    draft = Draft(place.syntax, text)
    add_entry(draft, place, entry_of(place, program))
    return draft.text


def with_hooks(text: str, program: Program, client: str = "claude-code") -> str:
    draft = Draft("json", text)
    place = CLIENTS[client].hooks
    assert place is not None
    add_hooks(draft, client, place, program)
    return draft.text


class Cli:
    """The plugin's commands, called in this process, for a person whose home is a folder of the test."""

    def __init__(self, commands: Mapping[str, click.Command], folder: Path) -> None:
        self.folder = folder
        self._commands = commands
        foreign = (
            *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"),
            "MEMSLOT_CONFIG",
        )
        self._env = {**dict.fromkeys(foreign), "HOME": str(folder), "MEMSLOT_HOME": str(folder / "notes")}

    def run(self, name: str, *arguments: str) -> Result:
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(self._commands[name], arguments, env=self._env)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, click.Command]]:
    with HostOpener(tmp_path_factory.mktemp("home")) as open_host:
        host = open_host("mcp-server", config={"plugins": {"slots": {"memory": "none"}}})
        yield host.plugin_commands("mcp-server")


@pytest.fixture
def cli(commands: Mapping[str, click.Command], tmp_path: Path) -> Cli:
    return Cli(commands, tmp_path)


def read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
@pytest.mark.parametrize("client", FILES)
def test_a_client_gets_the_server_once(cli: Cli, client: str) -> None:
    name, key = FILES[client]
    file = cli.folder / name

    shown = cli.run("mcp", "install", client, "--print")
    assert not file.exists()
    first = cli.run("mcp", "install", client)
    text = file.read_text(encoding="utf-8")
    again = cli.run("mcp", "install", client)

    assert (shown.exit_code, first.exit_code, again.exit_code) == (0, 0, 0), first.output
    assert shown.stdout == text
    assert str(file) in shown.stderr
    assert "now" in first.stdout
    assert "already" in again.stdout
    assert file.read_text(encoding="utf-8") == text
    server = read(file)[key]["memslot"]
    if client == "opencode":
        server = {"command": server["command"][0], "args": server["command"][1:], "env": server["environment"]}
    assert server["args"][-1] == "mcp"
    assert Path(server["command"]).is_absolute()
    assert server["env"] == {"MEMSLOT_HOME": str(cli.folder / "notes")}


def test_the_command_that_was_installed_is_a_server(world: World) -> None:
    done = world.run("mcp", "install", "claude-code")
    assert done.returncode == 0, done.stderr
    server = read(world.folder / ".claude.json")["mcpServers"]["memslot"]
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    answered = subprocess.run(
        [server["command"], *server["args"]],
        env={"PATH": "/usr/bin:/bin", **server["env"]},
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert json.loads(answered.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_a_projects_file_names_nothing_of_this_machine(cli: Cli, client: str) -> None:
    file = cli.folder / PROJECT_FILES[client]

    done = cli.run("mcp", "install", client, "--project")

    assert done.exit_code == 0, done.output
    text = file.read_text(encoding="utf-8")
    assert str(cli.folder) not in text
    assert read(file)[CLIENTS[client].server.key]["memslot"]["command"] in ("memslot", ["memslot", "mcp"])


def test_another_agent_is_named_in_the_command(world: World) -> None:
    (world.home / "memslot.json5").write_text('{ agents: { list: [{ id: "work" }] } }', encoding="utf-8")

    done = world.run("--agent", "work", "mcp", "install", "cursor", "--print")

    assert json.loads(done.stdout)["mcpServers"]["memslot"]["args"][-3:] == ["--agent", "work", "mcp"]


def test_a_client_without_project_files_says_so(cli: Cli) -> None:
    done = cli.run("mcp", "install", "claude-desktop", "--project")

    assert done.exit_code == 2
    assert "--project" in done.stderr


@pytest.mark.parametrize(
    "content",
    [b'{"mcpServers": {', b"\xff\xfe{}", b"[]", b'{"mcpServers": []}', b'{"mcpServers": {"memslot": {"url": "x"}}}'],
)
def test_a_file_that_cannot_be_read_is_left_alone(cli: Cli, content: bytes) -> None:
    file = cli.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(content)

    done = cli.run("mcp", "install", "cursor")

    assert done.exit_code == 1
    assert "was not changed" in done.stderr
    assert "--print" in done.stderr
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("end", ["} trailing", ", oops: [1, }", ""])
def test_a_refusal_says_where_and_shows_no_other_servers_secrets(cli: Cli, end: str) -> None:
    file = cli.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"other": {"env": {"API_KEY": "hunter2"}}},\n"x": 1' + end, encoding="utf-8")

    done = cli.run("mcp", "install", "cursor")

    assert done.exit_code == 1
    assert "hunter2" not in done.output
    assert "at line " in done.stderr


def test_a_read_only_file_is_left_alone(cli: Cli) -> None:
    file = cli.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text("{}", encoding="utf-8")
    file.chmod(0o444)

    done = cli.run("mcp", "install", "cursor")

    assert done.exit_code == 1
    assert "was not changed: it is read-only; to add" in done.stderr
    assert file.read_text(encoding="utf-8") == "{}"


class TestEntry:
    def test_toml_comments_and_other_servers_stay(self) -> None:
        text = '# mine\nmodel = "gpt" # best\n\n[mcp_servers.other]\ncommand = "x" # keep\n\n[tui]\ntheme = "dark"\n'

        changed = with_entry("codex", text)

        for line in text.splitlines():
            assert line in changed
        tree = tomllib.loads(changed)
        assert tree["mcp_servers"]["memslot"]["command"] == PROGRAM.command
        assert tree["mcp_servers"]["other"] == {"command": "x"}
        assert tree["tui"] == {"theme": "dark"}
        assert with_entry("codex", changed) == changed

    @pytest.mark.parametrize("client", ["codex", "vscode"])
    def test_what_a_person_added_to_the_entry_stays(self, client: str) -> None:
        key = CLIENTS[client].server.key
        mine = {"command": "old", "args": [], "env": {"MORE": "1", "MEMSLOT_HOME": "/old"}, "startup_timeout_sec": 20}
        if client == "codex":
            text = (
                '[mcp_servers.memslot]\ncommand = "old"\nargs = []\nstartup_timeout_sec = 20\n'
                '[mcp_servers.memslot.env]\nMORE = "1"\nMEMSLOT_HOME = "/old"\n'
            )
        else:
            text = json.dumps({key: {"memslot": mine}})

        changed = with_entry(client, text)

        tree = tomllib.loads(changed) if client == "codex" else json.loads(changed)
        server = tree[key]["memslot"]
        assert (server["command"], server["args"]) == (PROGRAM.command, ["mcp"])
        assert server["startup_timeout_sec"] == 20
        assert server["env"] == {"MORE": "1", "MEMSLOT_HOME": "/srv/notes"}

    def test_an_option_that_a_person_turned_off_stays_off(self) -> None:
        mine = {"type": "stdio", "command": "old", "args": [], "alwaysLoad": False}

        changed = with_entry("claude-code", json.dumps({"mcpServers": {"memslot": mine}}))

        assert json.loads(changed)["mcpServers"]["memslot"]["alwaysLoad"] is False

    @pytest.mark.parametrize(
        "text", ["mcp_servers = 1", "[[mcp_servers]]\na = 1", "a = ", 'mcp_servers.memslot.url = "x"']
    )
    def test_toml_of_another_shape_is_refused(self, text: str) -> None:
        with pytest.raises(MemslotError):
            with_entry("codex", text)

    def test_toml_with_dotted_keys_gets_a_table_at_its_end(self) -> None:
        text = 'mcp_servers.other.command = "x"  # mine\n\n[tui]\ntheme = "dark"\n'

        changed = with_entry("codex", text)

        assert changed.startswith(f"{text}\n[mcp_servers.memslot]\n")
        assert set(tomllib.loads(changed)["mcp_servers"]) == {"other", "memslot"}
        assert tomllib.loads(changed)["mcp_servers"]["memslot"]["env"] == {"MEMSLOT_HOME": "/srv/notes"}

    def test_an_inline_table_of_toml_is_extended(self) -> None:
        changed = with_entry("codex", 'mcp_servers = { other = { command = "x" } }\n')

        assert set(tomllib.loads(changed)["mcp_servers"]) == {"other", "memslot"}


class TestFiles:
    @pytest.fixture
    def record(self, tmp_path: Path) -> Iterator[EditRecord]:
        folder = tmp_path / "state"
        folder.mkdir()
        with EditRecord(folder) as record:
            yield record

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "config"
        folder.mkdir()
        return folder

    @staticmethod
    def mark(draft: Draft) -> None:
        draft.put(("ours",), True)

    def test_the_mode_and_the_byte_order_mark_stay(self, folder: Path, record: EditRecord) -> None:
        file = folder / "settings.json"
        file.write_bytes(b"\xef\xbb\xbf{}")
        file.chmod(0o640)

        change_file(file, "json", self.mark, record)

        assert file.read_bytes() == b'\xef\xbb\xbf{\n  "ours": true\n}'
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert list(folder.iterdir()) == [file]

    def test_a_new_file_is_private(self, folder: Path, record: EditRecord) -> None:
        file = folder / "new" / "settings.json"

        assert change_file(file, "json", self.mark, record).changes
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert list(file.parent.iterdir()) == [file]

    def test_a_link_stays_a_link(self, folder: Path, record: EditRecord) -> None:
        real = folder / "dotfiles" / "settings.json"
        real.parent.mkdir()
        real.write_text("{}", encoding="utf-8")
        link = folder / "settings.json"
        link.symlink_to(real)

        change_file(link, "json", self.mark, record)

        assert link.is_symlink()
        assert read(real) == {"ours": True}

    def test_a_change_by_the_client_meanwhile_is_not_lost(self, folder: Path, record: EditRecord) -> None:
        file = folder / "settings.json"
        file.write_text("{}", encoding="utf-8")
        seen: list[str] = []

        def step(draft: Draft) -> None:
            seen.append(draft.text)
            if len(seen) == 1:  # the client writes between our reading and our writing
                file.write_text('{"by": "the client"}', encoding="utf-8")
            self.mark(draft)

        change_file(file, "json", step, record)

        assert seen == ["{}", '{"by": "the client"}']
        assert read(file) == {"by": "the client", "ours": True}

    def test_a_folder_in_the_way_is_a_readable_error(self, folder: Path, record: EditRecord) -> None:
        with pytest.raises(MemslotError, match="not a file"):
            change_file(folder, "json", self.mark, record)

    def test_a_failure_leaves_nothing_behind(self, folder: Path, record: EditRecord) -> None:
        file = folder / "settings.json"
        file.write_text("{}", encoding="utf-8")

        def fail(draft: Draft) -> None:
            raise MemslotError("no")

        with pytest.raises(MemslotError, match="no"):
            change_file(file, "json", fail, record)
        assert list(folder.iterdir()) == [file]


class TestHooks:
    program = Program("/opt/bin/memslot-hook", (), {})

    def test_are_added_beside_others_once(self) -> None:
        mine = '"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]'
        text = f'{{\n  "model": "opus",\n  "hooks": {{\n    {mine}\n  }}\n}}\n'

        changed = with_hooks(text, self.program)

        tree = json.loads(changed)
        assert tree["model"] == "opus"
        assert tree["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
        for event, name in EVENTS.items():
            assert tree["hooks"][event][-1]["hooks"][0]["command"] == f"/opt/bin/memslot-hook claude-code {name}"
        assert with_hooks(changed, self.program) == changed

    def test_of_an_older_installation_are_replaced(self) -> None:
        old = with_hooks("", Program("/old place/memslot", ("--agent", "work", "hook"), {"MEMSLOT_HOME": "/x y"}))
        assert "MEMSLOT_HOME='/x y' '/old place/memslot' --agent work hook claude-code stop" in old

        tree = json.loads(with_hooks(old, self.program))

        assert [len(groups) for groups in tree["hooks"].values()] == [1] * 5
        assert "/old place" not in json.dumps(tree)

    @pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{", '{"hooks": null}'])
    def test_settings_of_another_shape_are_refused(self, text: str) -> None:
        with pytest.raises(MemslotError):
            with_hooks(text, self.program)

    def test_are_installed_by_a_command(self, cli: Cli) -> None:
        file = cli.folder / ".claude" / "settings.json"

        shown = cli.run("hook", "install", "claude-code", "--print")
        assert not file.exists()
        done = cli.run("hook", "install", "claude-code")
        project = cli.run("hook", "install", "claude-code", "--project")

        assert (done.exit_code, project.exit_code) == (0, 0), done.output
        assert shown.stdout == file.read_text(encoding="utf-8")
        assert shown.stdout == (file.parent / "settings.local.json").read_text(encoding="utf-8")
        assert set(json.loads(shown.stdout)["hooks"]) == set(EVENTS)
