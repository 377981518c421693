"""The packages for clients: made from one description, and true to what the commands know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from memslot_mcp_server.clients.catalog import CLIENTS
from memslot_mcp_server.packages import description
from memslot_mcp_server.packages.export import export_packages

from tests.plugins.mcp_server.conftest import World

HOOK_FILES = {
    "claude-code": "claude-code/plugin/hooks/hooks.json",
    "codex": "codex/plugins/memslot/hooks/hooks.json",
    "gemini": "gemini/memslot/hooks/hooks.json",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    export_packages(folder)
    return folder


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("client", HOOK_FILES)
def test_a_plugin_has_the_hooks_that_connect_writes(folder: Path, client: str) -> None:
    place = CLIENTS[client].hooks
    assert place is not None

    hooks = read(folder / HOOK_FILES[client])["hooks"]

    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}
    assert commands == {event: f"memslot-hook {client} {name}" for event, (name, _) in place.events.items()}


def test_every_package_starts_the_server_by_its_name(folder: Path) -> None:
    servers = [
        read(folder / "claude-code/plugin/.mcp.json")["mcpServers"]["memslot"],
        read(folder / "codex/plugins/memslot/.mcp.json")["mcpServers"]["memslot"],
        read(folder / "gemini/memslot/gemini-extension.json")["mcpServers"]["memslot"],
    ]

    assert [(server["command"], server["args"]) for server in servers] == [("memslot", ["mcp"])] * 3
    assert servers[0]["alwaysLoad"] is True
    assert "required" not in servers[1]  # Codex would not start before memslot is installed


def test_the_manifests_have_this_version(folder: Path) -> None:
    manifests = [
        "claude-code/plugin/.claude-plugin/plugin.json",
        "codex/plugins/memslot/.codex-plugin/plugin.json",
        "gemini/memslot/gemini-extension.json",
        "mcp-registry/server.json",
    ]

    assert {read(folder / name)["version"] for name in manifests} == {description.version()}


def test_the_commands_take_what_is_typed_behind_them(folder: Path) -> None:
    for name in ("remember", "recall"):
        claude = (folder / f"claude-code/plugin/commands/{name}.md").read_text(encoding="utf-8")
        gemini = tomllib.loads((folder / f"gemini/memslot/commands/{name}.toml").read_text(encoding="utf-8"))
        assert "$ARGUMENTS" in claude
        assert "{{args}}" in gemini["prompt"]
        assert gemini["description"] in claude


def test_every_text_is_complete(folder: Path) -> None:
    """No placeholder of a template is left, but for those that the clients fill in."""
    files = [file for file in folder.rglob("*") if file.suffix in (".md", ".toml")]
    texts = [file.read_text(encoding="utf-8").replace("{{args}}", "") for file in files]

    assert len(texts) > 6
    assert [text for text in texts if "{" in text or not text.strip()] == []


def test_the_registry_is_told_whose_package_it_is(folder: Path) -> None:
    readme = Path(__file__).parents[3] / "plugins" / "mcp_server" / "README.md"

    name = read(folder / "mcp-registry/server.json")["name"]

    assert f"mcp-name: {name}" in readme.read_text(encoding="utf-8")
    assert len(description.DESCRIPTION) <= 100  # the registry's limit


def test_a_bundle_has_the_same_bytes_each_time(folder: Path, tmp_path: Path) -> None:
    *_, bundle = export_packages(tmp_path)

    assert bundle.read_bytes() == (folder / bundle.name).read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        assert archive.namelist() == ["manifest.json", "pyproject.toml", "server.py"]


def test_exporting_again_leaves_no_old_file(tmp_path: Path) -> None:
    export_packages(tmp_path)
    old = tmp_path / "gemini" / "memslot" / "commands" / "old.toml"
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("", encoding="utf-8")

    export_packages(tmp_path)

    assert not old.exists()


def test_only_the_standard_library_is_needed(tmp_path: Path) -> None:
    """`make dist` runs it in an environment that has nothing else."""
    plugin = Path(__file__).parents[3] / "plugins" / "mcp_server"
    code = (
        "import importlib.metadata, sys\n"
        "importlib.metadata.version = lambda name: '1.2.3'\n"
        "from memslot_mcp_server.packages.export import export_packages\n"
        f"export_packages(__import__('pathlib').Path({str(tmp_path)!r}))\n"
    )

    subprocess.run(
        [sys.executable, "-S", "-c", code], env={**os.environ, "PYTHONPATH": str(plugin)}, check=True, timeout=60
    )

    assert (tmp_path / "memslot-1.2.3.mcpb").exists()


def test_the_command_exports_and_prints_instructions(world: World, tmp_path: Path) -> None:
    done = world.run("connect", "--export", str(tmp_path / "out"), "--json")
    printed = world.run("connect", "--print-instructions")

    assert done.returncode == 0, done.stderr
    names = [Path(path).name for path in json.loads(done.stdout)["packages"]]
    assert names[:4] == ["claude-code", "codex", "gemini", "mcp-registry"]
    assert printed.stdout.startswith("## Memory\n")
    assert not list((world.folder / "project").iterdir())


def test_the_package_can_be_started_by_its_name(world: World) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    answered = subprocess.run(
        [sys.executable, "-m", "memslot_mcp_server"],
        env=world.env,
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert json.loads(answered.stdout)["result"] == {}
