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
from memslot_mcp_server.clients.config_edit import BACKUP, change_file
from memslot_mcp_server.clients.config_locations import CLIENTS
from memslot_mcp_server.clients.server_entry import Program, add_entry, entry_of
from memslot_mcp_server.hooks.settings import EVENTS, add_hooks

from tests.plugins.mcp_server.conftest import World

PROGRAM = Program("/opt/memslot/bin/memslot", ("mcp",), {"MEMSLOT_HOME": "/srv/notes"})
FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
}


class Cli:
    """The plugin's commands, called in this process, for a person whose home is a folder of the test."""

    def __init__(self, commands: Mapping[str, click.Command], folder: Path) -> None:
        self.folder = folder
        self._commands = commands
        foreign = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "MEMSLOT_CONFIG")
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
    assert read(file)[CLIENTS[client].key]["memslot"]["command"] == "memslot"


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
        codex = CLIENTS["codex"]
        text = '# mine\nmodel = "gpt" # best\n\n[mcp_servers.other]\ncommand = "x" # keep\n\n[tui]\ntheme = "dark"\n'

        changed = add_entry(codex, text, entry_of(codex, PROGRAM))

        for line in text.splitlines():
            assert line in changed
        tree = tomllib.loads(changed)
        assert tree["mcp_servers"]["memslot"]["command"] == PROGRAM.command
        assert tree["mcp_servers"]["other"] == {"command": "x"}
        assert tree["tui"] == {"theme": "dark"}
        assert add_entry(codex, changed, entry_of(codex, PROGRAM)) == changed

    @pytest.mark.parametrize("client", ["codex", "vscode"])
    def test_what_a_person_added_to_the_entry_stays(self, client: str) -> None:
        chosen = CLIENTS[client]
        mine = {"command": "old", "args": [], "env": {"MORE": "1", "MEMSLOT_HOME": "/old"}, "startup_timeout_sec": 20}
        if client == "codex":
            text = (
                '[mcp_servers.memslot]\ncommand = "old"\nargs = []\nstartup_timeout_sec = 20\n'
                '[mcp_servers.memslot.env]\nMORE = "1"\nMEMSLOT_HOME = "/old"\n'
            )
        else:
            text = json.dumps({chosen.key: {"memslot": mine}})

        changed = add_entry(chosen, text, entry_of(chosen, PROGRAM))

        tree = tomllib.loads(changed) if client == "codex" else json.loads(changed)
        server = tree[chosen.key]["memslot"]
        assert (server["command"], server["args"]) == (PROGRAM.command, ["mcp"])
        assert server["startup_timeout_sec"] == 20
        assert server["env"] == {"MORE": "1", "MEMSLOT_HOME": "/srv/notes"}

    @pytest.mark.parametrize(
        "text", ["mcp_servers = 1", "[[mcp_servers]]\na = 1", "a = ", 'mcp_servers.memslot.url = "x"']
    )
    def test_toml_of_another_shape_is_refused(self, text: str) -> None:
        with pytest.raises(MemslotError):
            add_entry(CLIENTS["codex"], text, entry_of(CLIENTS["codex"], PROGRAM))

    def test_an_inline_table_of_toml_is_extended(self) -> None:
        codex = CLIENTS["codex"]
        changed = add_entry(codex, 'mcp_servers = { other = { command = "x" } }\n', entry_of(codex, PROGRAM))

        assert set(tomllib.loads(changed)["mcp_servers"]) == {"other", "memslot"}


class TestFiles:
    def test_the_file_before_is_kept_with_its_mode(self, tmp_path: Path) -> None:
        file = tmp_path / "settings.json"
        file.write_bytes(b"\xef\xbb\xbfold")
        file.chmod(0o640)

        copy = change_file(file, lambda text: text + " new")

        assert copy == tmp_path / f"settings.json{BACKUP}"
        assert copy.read_bytes() == b"\xef\xbb\xbfold"
        assert file.read_bytes() == b"\xef\xbb\xbfold new"
        assert {stat.S_IMODE(each.stat().st_mode) for each in (file, copy)} == {0o640}
        assert len(list(tmp_path.iterdir())) == 2

    def test_a_new_file_is_private_and_has_no_copy(self, tmp_path: Path) -> None:
        file = tmp_path / "new" / "settings.json"

        assert change_file(file, lambda text: text + "{}") == file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert list(file.parent.iterdir()) == [file]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        real = tmp_path / "dotfiles" / "settings.json"
        real.parent.mkdir()
        real.write_text("old", encoding="utf-8")
        link = tmp_path / "settings.json"
        link.symlink_to(real)

        change_file(link, lambda _: "new")

        assert link.is_symlink()
        assert real.read_text(encoding="utf-8") == "new"

    def test_a_change_by_the_client_meanwhile_is_not_lost(self, tmp_path: Path) -> None:
        file = tmp_path / "settings.json"
        file.write_text("a", encoding="utf-8")
        seen: list[str] = []

        def edit(text: str) -> str:
            seen.append(text)
            if len(seen) == 1:  # the client writes between our reading and our writing
                file.write_text("changed by the client", encoding="utf-8")
            return text + "+"

        change_file(file, edit)

        assert seen == ["a", "changed by the client"]
        assert file.read_text(encoding="utf-8") == "changed by the client+"

    def test_a_folder_in_the_way_is_a_readable_error(self, tmp_path: Path) -> None:
        with pytest.raises(MemslotError, match="not a file"):
            change_file(tmp_path, lambda text: text)

    def test_a_failure_leaves_nothing_behind(self, tmp_path: Path) -> None:
        file = tmp_path / "settings.json"
        file.write_text("a", encoding="utf-8")

        def fail(text: str) -> str:
            raise MemslotError("no")

        with pytest.raises(MemslotError, match="no"):
            change_file(file, fail)
        assert list(tmp_path.iterdir()) == [file]


class TestHooks:
    program = Program("/opt/bin/memslot-hook", (), {})

    def test_are_added_beside_others_once(self) -> None:
        mine = '"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]'
        text = f'{{\n  "model": "opus",\n  "hooks": {{\n    {mine}\n  }}\n}}\n'

        changed = add_hooks(text, self.program)

        tree = json.loads(changed)
        assert tree["model"] == "opus"
        assert tree["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
        for event, (name, _) in EVENTS.items():
            assert tree["hooks"][event][-1]["hooks"][0]["command"] == f"/opt/bin/memslot-hook claude-code {name}"
        assert add_hooks(changed, self.program) == changed

    def test_of_an_older_installation_are_replaced(self) -> None:
        old = add_hooks("", Program("/old place/memslot", ("--agent", "work", "hook"), {"MEMSLOT_HOME": "/x y"}))
        assert "MEMSLOT_HOME='/x y' '/old place/memslot' --agent work hook claude-code stop" in old

        tree = json.loads(add_hooks(old, self.program))

        assert [len(groups) for groups in tree["hooks"].values()] == [1, 1, 1]
        assert "/old place" not in json.dumps(tree)

    @pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{", '{"hooks": null}'])
    def test_settings_of_another_shape_are_refused(self, text: str) -> None:
        with pytest.raises(MemslotError):
            add_hooks(text, self.program)

    def test_are_installed_by_a_command(self, cli: Cli) -> None:
        file = cli.folder / ".claude" / "settings.json"

        shown = cli.run("hook", "install", "claude-code", "--print")
        assert not file.exists()
        done = cli.run("hook", "install", "claude-code")
        project = cli.run("hook", "install", "claude-code", "--project")

        assert (done.exit_code, project.exit_code) == (0, 0), done.output
        assert shown.stdout == file.read_text(encoding="utf-8")
        assert shown.stdout == (file.parent / "settings.local.json").read_text(encoding="utf-8")
        assert set(json.loads(shown.stdout)["hooks"]) == {"SessionStart", "UserPromptSubmit", "Stop"}
