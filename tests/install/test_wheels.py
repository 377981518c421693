"""What people install: what `make dist` builds, and fresh environments with it."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from memslot import __version__

pytestmark = [pytest.mark.install, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "memslot": ROOT,
    "memslot-core": ROOT / "core",
    "memslot-memory-core": ROOT / "plugins" / "memory_core",
    "memslot-memory-lancedb": ROOT / "plugins" / "memory_lancedb",
    "memslot-embed-providers": ROOT / "plugins" / "embed_providers",
    "memslot-mcp-server": ROOT / "plugins" / "mcp_server",
    "memslot-chat": ROOT / "plugins" / "chat",
    "memslot-inspector": ROOT / "plugins" / "inspector",
    "memslot-importers": ROOT / "plugins" / "importers",
    "memslot-anthropic-memory": ROOT / "plugins" / "anthropic_memory",
    "memslot-adapters": ROOT / "plugins" / "adapters",
}
PACKAGES = {
    "memslot-core": "memslot",
    "memslot-memory-core": "memslot_memory_core",
    "memslot-memory-lancedb": "memslot_memory_lancedb",
    "memslot-embed-providers": "memslot_embed_providers",
    "memslot-mcp-server": "memslot_mcp_server",
    "memslot-chat": "memslot_chat",
    "memslot-inspector": "memslot_inspector",
    "memslot-importers": "memslot_importers",
    "memslot-anthropic-memory": "memslot_anthropic_memory",
    "memslot-adapters": "memslot_adapters",
}
NO_PLUGINS = {"memslot-core", "memslot-adapters"}
"""Packages that register nothing."""
EMBEDDERS = {"embed-universal", "embed-local", "embed-openai", "embed-gemini", "embed-voyage", "embed-ollama"}
DEFAULT_PLUGINS = {"memory-core", "importers", *EMBEDDERS}
DEFAULTS = {"memslot", "memslot-core", "memslot-memory-core", "memslot-embed-providers", "memslot-importers"}
OURS_BY_EXTRA = {
    "": sorted(DEFAULTS),
    "lancedb,mcp": sorted({*DEFAULTS, "memslot-memory-lancedb", "memslot-mcp-server"}),
    "openai": sorted(DEFAULTS),
    "pydantic-ai": sorted({*DEFAULTS, "memslot-adapters"}),
}


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], env=env, cwd=cwd, capture_output=True, text=True, check=False
    )


def succeed(*command: str | Path, env: dict[str, str] | None = None, cwd: Path) -> str:
    done = run(*command, env=env, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make dist` fills."""
    folder = tmp_path_factory.mktemp("dist")
    succeed("make", "dist", f"DIST={folder}", cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheels(dist: Path) -> dict[str, Path]:
    return {name: dist / f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in SOURCES}


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def entry_points_of(wheel: Path) -> configparser.ConfigParser:
    groups = configparser.ConfigParser(delimiters=("=",))
    groups.optionxform = str  # type: ignore[assignment,method-assign]
    with zipfile.ZipFile(wheel) as archive:
        (points,) = [n for n in archive.namelist() if n.endswith("/entry_points.txt")]
        groups.read_string(archive.read(points).decode())
    return groups


def scripts_of(wheel: Path) -> dict[str, str]:
    groups = entry_points_of(wheel)
    return dict(groups["console_scripts"]) if groups.has_section("console_scripts") else {}


def metadata_of(wheel: Path) -> Any:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_dist_has_a_wheel_and_an_sdist_of_each_distribution(dist: Path, wheels: dict[str, Path]) -> None:
    sdists = {f"{name.replace('-', '_')}-{__version__}.tar.gz" for name in SOURCES}
    assert {path.name for path in dist.iterdir()} == {path.name for path in wheels.values()} | sdists | {"clients"}


def test_the_root_wheel_has_no_code(wheels: dict[str, Path]) -> None:
    inside = names_in(wheels["memslot"])
    assert inside
    assert {name.split("/")[0] for name in inside} == {f"memslot-{__version__}.dist-info"}


def test_the_root_wheel_has_the_command(wheels: dict[str, Path]) -> None:
    """Without it `uv tool install memslot` and `pipx install memslot` fail, and `uvx memslot` warns."""
    found = {name: scripts_of(wheels[name]) for name in ("memslot", "memslot-core")}
    assert found["memslot"] == found["memslot-core"] == {"memslot": "memslot.cli:main"}


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_wheel_holds_every_file_of_its_package_and_no_other_package(wheels: dict[str, Path], name: str) -> None:
    package = SOURCES[name] / PACKAGES[name]
    wanted = {
        path.relative_to(SOURCES[name]).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {entry for entry in names_in(wheels[name]) if ".dist-info/" not in entry}
    assert inside == wanted
    assert f"{PACKAGES[name]}/py.typed" in inside


@pytest.mark.parametrize("name", sorted(set(PACKAGES) - NO_PLUGINS))
def test_each_entry_point_of_a_plugin_wheel_has_its_manifest(wheels: dict[str, Path], name: str) -> None:
    with zipfile.ZipFile(wheels[name]) as archive:
        manifests = [json.loads(archive.read(n)) for n in archive.namelist() if n.endswith("/memslot.plugin.json")]
    assert set(entry_points_of(wheels[name])["memslot.plugins"]) == {manifest["id"] for manifest in manifests}


def test_the_core_wheel_brings_the_templates_of_new_plugins(wheels: dict[str, Path]) -> None:
    assert any(name.startswith("memslot/scaffold/templates/") for name in names_in(wheels["memslot-core"]))


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_wheel_tells_name_version_license_and_python(wheels: dict[str, Path], name: str) -> None:
    metadata = metadata_of(wheels[name])
    assert (metadata["Name"], metadata["Version"]) == (name, __version__)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.11"


class Environment:
    """A fresh virtual environment with memslot, and extras of it."""

    def __init__(self, folder: Path, extras: str, wheels: dict[str, Path]) -> None:
        self.folder = folder
        self.wheels = wheels
        self.ours = OURS_BY_EXTRA[extras]
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        self._install(f"memslot[{extras}]" if extras else "memslot", next(iter(wheels.values())).parent)

    def _install(self, wanted: str, links: Path) -> None:
        # First ours, where no index and no other folder can be asked; then what they need, from anywhere.
        sealed = {**self._environ(), "PIP_CONFIG_FILE": os.devnull}
        sealed.pop("PIP_FIND_LINKS", None)
        pip = (self.python, "-m", "pip", "install", "--quiet")
        succeed(*pip, "--no-index", "--no-deps", "--find-links", links, *self.ours, env=sealed, cwd=self.folder)
        succeed(*pip, "--find-links", links, wanted, env=self._environ(), cwd=self.folder)

    def _environ(self) -> dict[str, str]:
        foreign = ("PYTHON", "VIRTUAL_ENV", "MEMSLOT_", "OPENAI_", "GEMINI_", "GOOGLE_", "VOYAGE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return {**kept, "MEMSLOT_HOME": str(self.folder / "home"), "HOME": str(self.folder)}

    def memslot(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(self.python.with_name("memslot")), *arguments]
        return subprocess.run(
            command, input=stdin, env=self._environ(), cwd=self.folder, capture_output=True, text=True, check=False
        )

    def json(self, *arguments: str) -> Any:
        done = self.memslot(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def site_packages(self) -> Path:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(succeed(self.python, "-c", code, env=self._environ(), cwd=self.folder).strip())


@pytest.fixture(scope="module")
def base(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("base"), "", wheels)


@pytest.fixture(scope="module")
def lancedb(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("lancedb"), "lancedb,mcp", wheels)


@pytest.fixture(scope="module")
def openai(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("openai"), "openai", wheels)


@pytest.fixture(scope="module")
def pydantic_ai(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("pydantic-ai"), "pydantic-ai", wheels)


def assert_ours_came_from_the_wheels(environment: Environment) -> None:
    site = environment.site_packages()
    installed = sorted(path.name.split("-")[0].replace("_", "-") for path in site.glob("memslot*.dist-info"))
    assert installed == environment.ours
    for name in environment.ours:
        with zipfile.ZipFile(environment.wheels[name]) as archive:
            for entry in archive.namelist():
                if not entry.endswith("/RECORD"):
                    assert (site / entry).read_bytes() == archive.read(entry), entry


def assert_a_run_works(environment: Environment) -> None:
    given = environment.json("run", "hello")
    assert given["memory"] == "memory-core"
    assert {tool["name"] for tool in given["tools"]} == {"memory_search", "memory_get", "memory_write"}


BESIDE_OURS = {"pip", "setuptools"}
"""What a new environment has anyway."""


def test_the_base_install_is_slim(base: Environment) -> None:
    installed = json.loads(
        succeed(base.python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check", cwd=base.folder)
    )
    names = {package["name"] for package in installed} - BESIDE_OURS
    assert_ours_came_from_the_wheels(base)
    assert len(names) <= 30, sorted(names)

    not_ours = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    sizes: dict[str, int] = {}
    for path in base.site_packages().rglob("*"):
        top = path.relative_to(base.site_packages()).parts[0]
        if path.is_file() and not top.startswith(not_ours):
            sizes[top] = sizes.get(top, 0) + path.stat().st_size
    megabytes = sum(sizes.values()) / 1e6
    largest = sorted(sizes, key=lambda name: -sizes[name])[:8]
    assert megabytes <= 180, [f"{name} {sizes[name] / 1e6:.0f} MB" for name in largest]


def test_a_note_is_found_by_meaning_in_the_base_install(base: Environment) -> None:
    assert base.memslot("init").returncode == 0
    notes = base.folder / "home" / "workspace" / "MEMORY.md"
    notes.write_text("Ana prefers tea over coffee.\n", encoding="utf-8")
    (hit, *_) = base.json("memory", "search", "What does Ana like to drink?")["results"]
    assert "tea over coffee" in hit["snippet"]


def test_the_server_of_the_mcp_extra_shakes_hands_and_lists_its_tools(lancedb: Environment) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = lancedb.memslot("mcp", stdin="".join(json.dumps(message) + "\n" for message in messages))
    assert done.returncode == 0, done.stderr
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines()) if "id" in answer}
    assert answers[1]["serverInfo"]["name"] == "memslot"
    assert "memory_search" in {tool["name"] for tool in answers[2]["tools"]}


def test_the_lancedb_extra_gives_its_plugins_and_a_working_run(lancedb: Environment) -> None:
    assert_ours_came_from_the_wheels(lancedb)
    assert {plugin["id"] for plugin in lancedb.json("plugins", "list")["plugins"]} == {
        *DEFAULT_PLUGINS,
        "memory-lancedb",
        "mcp-server",
    }
    assert_a_run_works(lancedb)


def test_with_the_lancedb_extra_the_slot_can_be_moved_to_it(lancedb: Environment) -> None:
    assert lancedb.memslot("config", "set", "plugins.slots.memory", "memory-lancedb").returncode == 0
    try:
        assert lancedb.json("run", "hello")["memory"] == "memory-lancedb"
    finally:
        assert lancedb.memslot("config", "unset", "plugins.slots.memory").returncode == 0


def test_the_lancedb_extra_brings_a_lancedb_that_can_be_imported(lancedb: Environment) -> None:
    succeed(lancedb.python, "-c", "import lancedb, pyarrow", cwd=lancedb.folder)


def test_the_openai_extra_gives_its_plugins_and_a_working_run(openai: Environment) -> None:
    assert_ours_came_from_the_wheels(openai)
    assert {plugin["id"] for plugin in openai.json("plugins", "list")["plugins"]} == DEFAULT_PLUGINS
    assert_a_run_works(openai)


def test_the_openai_extra_brings_an_http_client_and_neither_sdk_nor_lancedb(openai: Environment) -> None:
    succeed(openai.python, "-c", "import httpx2", cwd=openai.folder)
    for package in ("openai", "lancedb"):
        assert run(openai.python, "-c", f"import {package}", cwd=openai.folder).returncode != 0


def test_a_command_whose_plugin_is_missing_says_which_extra_brings_it(openai: Environment) -> None:
    for command in ("chat", "mcp"):
        done = openai.memslot(command)
        assert done.returncode == 1
        assert f'install it with: pip install "memslot[{command}]"' in done.stderr


def test_a_slot_whose_plugin_is_missing_says_which_extra_brings_it(openai: Environment) -> None:
    assert openai.memslot("config", "set", "plugins.slots.memory", "memory-lancedb").returncode == 0
    try:
        done = openai.memslot("run", "hello", "--json")
    finally:
        assert openai.memslot("config", "unset", "plugins.slots.memory").returncode == 0
    assert done.returncode == 1
    assert done.stdout == ""
    assert 'plugins.slots.memory names "memory-lancedb", which is not installed' in done.stderr
    assert 'pip install "memslot[lancedb]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_extra_of_a_framework_gives_its_adapter_and_no_other(pydantic_ai: Environment) -> None:
    assert_ours_came_from_the_wheels(pydantic_ai)
    assert {plugin["id"] for plugin in pydantic_ai.json("plugins", "list")["plugins"]} == DEFAULT_PLUGINS
    succeed(pydantic_ai.python, "-c", "from memslot_adapters.pydantic_ai import Memory", cwd=pydantic_ai.folder)
    for adapter, extra in (("langgraph", "langgraph"), ("openai_agents", "openai-agents")):
        done = run(pydantic_ai.python, "-c", f"import memslot_adapters.{adapter}", cwd=pydantic_ai.folder)
        assert done.returncode == 1
        assert f'install it with: pip install "memslot[{extra}]"' in done.stderr.splitlines()[-1]
