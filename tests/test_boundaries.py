"""Who may import whom, what starting must not load, and how large a module may grow."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import memslot
import memslot.retrieval
import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "memslot"
PLUGIN_PACKAGES = sorted(path.parent for path in ROOT.glob("plugins/*/*/__init__.py"))
PLUGIN_NAMES = {path.name for path in PLUGIN_PACKAGES}
PLUGIN_IDS = {
    json.loads(path.read_text(encoding="utf-8"))["id"] for path in ROOT.glob("plugins/*/*/**/memslot.plugin.json")
}
LONGEST_MODULE = 400
PUBLIC = {"memslot": set(memslot.__all__), "memslot.retrieval": set(memslot.retrieval.__all__)}
"""The facades of the host, with the names that plugins may import from each."""


def _modules(folder: Path) -> list[Path]:
    # Templates of the scaffold are other people's packages to be.
    return [path for path in sorted(folder.rglob("*.py")) if "templates" not in path.relative_to(folder).parts]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Each imported module with the names taken from it; a plain `import` takes none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def _texts(tree: ast.AST) -> Iterator[str]:
    """All literal texts except docstrings."""
    docs = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docs.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            yield node.value


def test_there_is_something_to_look_at() -> None:
    assert len(_modules(CORE)) > 50
    assert {"memslot_memory_core", "memslot_memory_lancedb", "memslot_embed_providers"} <= PLUGIN_NAMES
    assert "memory-core" in PLUGIN_IDS


CORE_MODULES = _modules(CORE)
PLUGIN_MODULES = [module for package in PLUGIN_PACKAGES for module in _modules(package)]


def _named(module: Path) -> str:
    return str(module.relative_to(ROOT))


def test_core_imports_no_plugin() -> None:
    found = []
    for module in CORE_MODULES:
        tree = _tree(module)
        imported = {name.split(".")[0] for name, _ in _imports(tree)}
        named = {word for text in _texts(tree) for word in re.findall(r"\w+", text)}
        found += [(_named(module), name) for name in (imported | named) & PLUGIN_NAMES]
    assert found == []


def test_core_imports_by_text_only_what_is_its_own() -> None:
    """`import_module("…")` with a fixed name leads into memslot and nowhere else."""
    found = []
    for module in CORE_MODULES:
        for node in ast.walk(_tree(module)):
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
            if is_call and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant):
                found += [(_named(module), node.args[0].value)]
    assert [each for each in found if not str(each[1]).startswith("memslot.")] == []


def test_core_has_no_special_case_for_a_shipped_plugin() -> None:
    found = []
    for module in CORE_MODULES:
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Compare | ast.MatchValue):
                found += [(_named(module), text) for text in _texts(node) if text in PLUGIN_IDS]
    assert found == []


def test_no_module_is_too_long_to_have_one_subject() -> None:
    lengths = {_named(each): len(each.read_text("utf-8").splitlines()) for each in (*CORE_MODULES, *PLUGIN_MODULES)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_plugins_import_only_public_names_of_the_host_and_no_other_plugin() -> None:
    found = []
    for module in PLUGIN_MODULES:
        tree = _tree(module)
        others = PLUGIN_NAMES - {module.relative_to(ROOT / "plugins").parts[1]}
        for name, taken in _imports(tree):
            private = sorted(set(taken) - PUBLIC.get(name, set(taken)))
            hidden = name.startswith("memslot.") and name not in PUBLIC
            if hidden or name.split(".")[0] in others or private:
                found.append((_named(module), name, private))
        for node in ast.walk(tree):
            facade = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
            if isinstance(node, ast.Attribute) and facade in PUBLIC and f"{facade}.{node.attr}" not in PUBLIC:
                found += [(_named(module), facade, [node.attr])] if node.attr not in PUBLIC[facade] else []
    assert found == []


# The order of rooms in the host

ROOMS = (
    {
        "blas",
        "diagnostics",
        "errors",
        "events",
        "invisible",
        "loopback",
        "redaction",
        "storage",
        "text",
        "threads",
        "workers",
    },
    {"config"},
    {"plugins", "embeddings", "memory", "retrieval", "tools", "hookspecs"},
    {"agent", "sessions"},
    {"host", "hosts", "clients", "doctor", "scaffold", "validation", "config_fixes"},
    {"cli", "testing", "__main__"},
)
"""From the lowest to the highest: a room never imports one that stands above it."""


def _imported_at_run_time(tree: ast.AST) -> Iterator[str]:
    """Modules that a module imports, here or inside a function, except for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (name for each in node.orelse for name in _imported_at_run_time(each))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "memslot":
            yield from (f"memslot.{memslot._HOME_OF.get(alias.name, alias.name)}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        else:
            yield from _imported_at_run_time(node)


def _imports_between_rooms() -> dict[tuple[str, str], tuple[str, str]]:
    """Importing module and imported module, with the room of each."""
    graph = {}
    for path in CORE_MODULES:
        parts = path.relative_to(CORE).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        for name in [] if parts == ("__init__",) else _imported_at_run_time(_tree(path)):
            if name.startswith("memslot."):
                imported = name.removeprefix("memslot.")
                graph[module, imported] = (parts[0], imported.split(".")[0])
    return graph


def test_every_module_of_the_host_has_a_room() -> None:
    rooms = {path.relative_to(CORE).with_suffix("").parts[0] for path in CORE_MODULES} - {"__init__"}
    assert rooms - set().union(*ROOMS) == set(), "say in ROOMS where it stands"


def test_no_room_of_the_host_imports_one_above_it() -> None:
    floor = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}
    graph = _imports_between_rooms()
    assert len(graph) > 200
    assert {edge for edge, (room, other) in graph.items() if floor.get(other, 0) > floor[room]} == set()


# What starting loads

NEVER = {"lancedb", "pyarrow", "openai", "llama_cpp", "numpy", "mcp", "google", "voyageai"}
NOT_WHILE_WARM = NEVER | {
    "pydantic",
    "pydantic_core",
    "pluggy",
    "rich",
    "jsonschema_rs",
    "pyjson5",
    "tomlkit",
    "Stemmer",
}
NOT_WHILE_WARM |= {"importlib.metadata", "asyncio"}


def _run(arguments: list[str], home: Path) -> set[str]:
    """Run the command line in a process of its own; give the modules it imported."""
    code = (
        "import atexit, json, os, sys\n"
        "atexit.register(lambda: open(os.environ['MODULES'], 'w').write(json.dumps(sorted(sys.modules))))\n"
        f"sys.argv = ['memslot', *{arguments!r}]\n"
        "from memslot.cli import main\n"
        "main()\n"
    )
    listing = home / "modules.json"  # not in the working folder, which is part of what is searched for plugins
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSLOT_")}
    env = {**kept, "MEMSLOT_HOME": str(home), "MODULES": str(listing)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=home.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(listing.read_text(encoding="utf-8")))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "memslot.json5").write_text("{ plugins: { deny: ['embed-openai'] } }", encoding="utf-8")
    return folder


@pytest.mark.parametrize("arguments", [["--help"], ["plugins", "list", "--json"], ["plugins", "list"]], ids=" ".join)
def test_start_loads_nothing_heavy_once_the_cache_is_warm(arguments: list[str], home: Path) -> None:
    cold = _run(arguments, home)
    assert "pydantic" in cold, "the first start has to read the config"
    assert cold & NEVER == set()

    assert _run(arguments, home) & NOT_WHILE_WARM == set()


@pytest.mark.parametrize("arguments", [["--help"], ["plugins", "list", "--json"]], ids=" ".join)
def test_start_imports_no_plugin(arguments: list[str], home: Path) -> None:
    for _ in range(2):
        assert {name.split(".")[0] for name in _run(arguments, home)} & PLUGIN_NAMES == set()


@pytest.mark.parametrize(
    "arguments", [["run", "what did we decide?"], ["memory", "search", "orchid", "--json"]], ids=lambda each: each[0]
)
def test_a_search_by_keywords_loads_nothing_heavy(arguments: list[str], home: Path) -> None:
    """Vectors are what numpy is for; who has none does not pay for it."""
    workspace = home / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("We decided on the orchid.\n", encoding="utf-8")
    config = "{ agents: { defaults: { memorySearch: { provider: 'none' } } } }"
    (home / "memslot.json5").write_text(config, encoding="utf-8")

    assert _run(arguments, home) & NEVER == set()
