"""What `make dist` makes for clients, held to the programs' own validators and installed into them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import FOLDER, NODE, PROGRAMS, SECONDS, SLOW, InstallError, Program, install

pytestmark = [pytest.mark.clients, pytest.mark.timeout(SLOW)]

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
BUNDLER = Program("mcpb", "@anthropic-ai/mcpb", "2.1.2", "mcpb")
PYTHON_TOOLS = {"uv": "uv==0.13.8", "skillsaw": "skillsaw==0.22.0"}
"""What desktop programs start a bundle with, and a linter that has the registry's schemas."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["make", "dist", f"DIST={folder}"], cwd=ROOT, check=True, capture_output=True, timeout=280)
    return folder / "clients"


class Person:
    """Somebody with a home of their own, who has the programs and memslot."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(SCRIPTS), str(NODE.bin), "/usr/bin", "/bin"]),
            "HOME": str(self.folder),
            "MEMSLOT_SHARED_CACHE": os.environ["MEMSLOT_SHARED_CACHE"],
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def ask(self, program: Program, *arguments: str, methods: Sequence[tuple[str, Mapping[str, object]]]) -> list[Any]:
        """What a program that speaks JSON-RPC answers; its stdin stays open until it has."""
        process = subprocess.Popen(
            [str(_installed(program)), *arguments],
            env=self.env,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(requests(*methods))
            process.stdin.flush()
            answers: dict[int, Any] = {}
            while len(answers) < len(methods) and (line := process.stdout.readline()):
                tree = json.loads(line)
                if "result" in tree:
                    answers[tree["id"]] = tree["result"]
        finally:
            process.kill()
            process.communicate()
        return [answers[number] for number in range(1, len(methods) + 1)]

    def run(
        self, program: Program | str, *arguments: str | Path, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(_installed(program)), *map(str, arguments)],
            env={**self.env, **(env or {})},
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    def is_left_alone(self, client: str) -> bool:
        """Whether `memslot connect` sees that the program has the package."""
        command = [str(SCRIPTS / "memslot"), "connect", client, "--json"]
        done = subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=280)
        return bool(json.loads(done.stdout)["clients"][0]["package"])


def _installed(program: Program | str) -> Path:
    if isinstance(program, str):
        return _python_tool(program)
    install(NODE)
    install(program)
    return program.bin / program.command


def _python_tool(name: str) -> Path:
    folder = FOLDER / f"python-{PYTHON_TOOLS[name]}"
    if not (folder / "bin" / name).exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, PYTHON_TOOLS[name]], capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise InstallError(f"{PYTHON_TOOLS[name]} cannot be installed: {done.stderr[-2000:]}")
    return folder / "bin" / name


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def requests(*methods: tuple[str, Mapping[str, object]]) -> str:
    """Requests of JSON-RPC, one a line."""
    numbered = enumerate(methods, start=1)
    return "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in numbered
    )


def tool_names(answers: str, number: int) -> set[str]:
    tree = next(tree for tree in map(json.loads, answers.splitlines()) if tree.get("id") == number)
    return {tool["name"] for tool in tree["result"]["tools"]}


def provided(lines: Sequence[str]) -> set[str]:
    return {line.strip(" ❯") for line in lines if "❯" in line}


def test_claude_code_takes_the_plugin(packages: Path, person: Person) -> None:
    claude = PROGRAMS["claude-code"]

    market = person.run(claude, "plugin", "validate", "--strict", packages / "claude-code")
    plugin = person.run(claude, "plugin", "validate", "--strict", packages / "claude-code" / "plugin")
    person.run(claude, "plugin", "marketplace", "add", packages / "claude-code")
    installed = person.run(claude, "plugin", "install", "memslot@memslot")
    servers = person.run(claude, "mcp", "list")

    assert market.returncode == 0, market.stdout
    assert plugin.returncode == 0, plugin.stdout
    found = provided(plugin.stdout.splitlines())
    assert {"skills: memslot:memory", "commands: memslot:remember", "commands: memslot:recall"} <= found
    assert len([each for each in found if each.startswith("hooks: ")]) == 5
    assert installed.returncode == 0, installed.stderr
    assert "plugin:memslot:memslot: memslot mcp - ✔ Connected" in servers.stdout
    assert person.is_left_alone("claude-code")
    assert person.run(claude, "plugin", "disable", "memslot@memslot").returncode == 0
    assert not person.is_left_alone("claude-code")


def test_codex_takes_the_plugin(packages: Path, person: Person) -> None:
    codex = PROGRAMS["codex"]

    added = person.run(codex, "plugin", "marketplace", "add", packages / "codex")
    installed = person.run(codex, "plugin", "add", "memslot@memslot")
    listed = person.run(codex, "plugin", "list")
    hello = {"clientInfo": {"name": "test", "version": "1"}}
    asked = (("initialize", hello), ("mcpServerStatus/list", {}), ("hooks/list", {"cwds": [str(person.folder)]}))
    _, servers, hooks = person.ask(codex, "app-server", methods=asked)

    assert added.returncode == 0, added.stderr
    assert installed.returncode == 0, installed.stderr
    assert "installed, enabled" in next(line for line in listed.stdout.splitlines() if "memslot@memslot" in line)
    cache = person.folder / ".codex" / "plugins" / "cache" / "memslot" / "memslot"
    (version,) = cache.iterdir()
    assert {"hooks", "skills", ".mcp.json"} <= {path.name for path in version.iterdir()}
    assert "memory_search" in next(each["tools"] for each in servers["data"] if each["name"] == "memslot")
    assert len([hook for hook in hooks["data"][0]["hooks"] if hook["pluginId"] == "memslot@memslot"]) == 5
    assert person.is_left_alone("codex")


def test_gemini_takes_the_extension(packages: Path, person: Person) -> None:
    gemini, extension = PROGRAMS["gemini"], packages / "gemini" / "memslot"
    trust = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}

    valid = person.run(gemini, "extensions", "validate", extension)
    installed = person.run(gemini, "extensions", "install", extension, "--consent", env=trust)
    servers = person.run(gemini, "mcp", "list", env=trust)

    assert "successfully validated" in valid.stdout + valid.stderr
    assert installed.returncode == 0, installed.stderr
    assert "Connected" in next(line for line in (servers.stdout + servers.stderr).splitlines() if "memslot" in line)
    assert person.is_left_alone("gemini")


def test_the_registry_entry_fits_its_schema(packages: Path, person: Person) -> None:
    done = person.run("skillsaw", "lint", packages / "mcp-registry")
    broken = person.folder / "broken"
    broken.mkdir()
    tree = json.loads((packages / "mcp-registry" / "server.json").read_text(encoding="utf-8"))
    del tree["packages"][0]["transport"]
    (broken / "server.json").write_text(json.dumps(tree), encoding="utf-8")

    assert done.returncode == 0, done.stdout
    assert "Repo type: mcp-registry" in done.stdout
    assert person.run("skillsaw", "lint", broken).returncode != 0


def test_the_bundle_is_valid_and_serves_without_memslot_installed(packages: Path, person: Person) -> None:
    (bundle,) = packages.glob("*.mcpb")
    unpacked = person.folder / "bundle"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(unpacked)
    manifest = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    run = manifest["server"]["mcp_config"]
    home = str(person.folder / "notes")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

    # Where this machine finds the package index.
    index = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "HTTP"))}

    valid = person.run(BUNDLER, "validate", unpacked / "manifest.json")
    arguments = [argument.replace("${__dirname}", str(unpacked)) for argument in run["args"]]
    served = person.run(
        run["command"],
        *arguments,
        stdin=requests(("initialize", hello), ("tools/list", {})),
        env={**index, "MEMSLOT_HOME": home, "PATH": "/usr/bin:/bin", "UV_PYTHON": sys.executable},
    )

    assert valid.returncode == 0, valid.stdout + valid.stderr
    assert served.returncode == 0, served.stderr
    assert len(tool_names(served.stdout, 2)) >= 3
