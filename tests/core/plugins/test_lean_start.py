"""A start imports and starts only what the command needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memslot import Host, Places
from memslot.plugins.overview import read_setup

COMMAND = """
import json, sys
from memslot.cli import main
sys.argv = ["memslot", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", json.dumps([name for name in sys.modules if name.count(".") < 2]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lean") / "home"
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "MEMORY.md").write_text("The harbour opens at six.\n")
    (folder / "memslot.json5").write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}')
    return folder


def loaded_by(home: Path, *arguments: str) -> set[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
    argv = [sys.executable, "-c", COMMAND, json.dumps(arguments)]
    for _ in range(2):  # the first fills the cache
        done = subprocess.run(
            argv, env={**env, "MEMSLOT_HOME": str(home)}, cwd=home.parent, capture_output=True, text=True, check=True
        )
    return set(json.loads(done.stdout.rpartition("LOADED ")[2]))


def test_loading_a_host_leaves_to_first_use_what_searches_and_checks(home: Path) -> None:
    code = "from memslot import Host\nHost.load().close()\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
    for _ in range(2):  # the first fills the cache
        argv, env["MEMSLOT_HOME"] = [sys.executable, "-c", code], str(home)
        done = subprocess.run(argv, env=env, cwd=home.parent, capture_output=True, text=True, check=True)
    needless = {"pydantic", "numpy", "jsonschema_rs", "filelock", "memslot.redaction.spans"}
    needless |= {
        f"memslot_memory_core.{name}" for name in ("search.searcher", "index.sync", "index.keywords", "index.watcher")
    }
    assert "memslot_memory_core.manager" in done.stdout
    assert not needless & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (("--help",), {"pydantic", "pluggy", "numpy", "apsw", "memslot.host", "importlib.metadata"}),
        (
            ("memory", "search", "harbour"),
            {
                "pydantic",
                "numpy",
                "importlib.metadata",
                "memslot_mcp_server",
                "memslot_embed_providers",
                "pyjson5",
                "filelock",
            },
        ),
        (("memory", "status"), {"pydantic", "numpy", "importlib.metadata", "memslot_mcp_server"}),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(
    home: Path, arguments: tuple[str, ...], needless: set[str]
) -> None:
    assert needless.isdisjoint(loaded_by(home, *arguments))


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, None)],
)
def test_blas_gets_one_thread_unless_somebody_says_otherwise(given: dict[str, str], expected: str | None) -> None:
    code = COMMAND.rpartition("print")[0] + "import os; print(json.dumps(os.environ.get('OPENBLAS_NUM_THREADS')))"
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    argv = [sys.executable, "-c", code, json.dumps(["--version"])]
    done = subprocess.run(argv, env={**env, **given}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == expected


# Plugins


@pytest.fixture
def prepare(tmp_path: Path, write_plugin: Any) -> Any:
    (tmp_path / "home").mkdir()
    env = {"MEMSLOT_HOME": str(tmp_path / "home")}
    hooks = """
    @hookimpl
    def register_embedding_providers():
        return [EmbeddingProviderSpec("of-{0}", lambda options: None, missing=lambda options: "not there")]

    @hookimpl
    def register_commands(cli):
        import click
        cli.add_command(click.Command("go-{0}"))

    @hookimpl
    def register_tools():
        return [Tool("tool_{0}", "x", {{}}, lambda args: "")]

    @hookimpl
    def agent_end(): ...
    """
    for name in ("first", "second", "third"):
        provides = {"providers": [f"of-{name}"], "commands": [f"go-{name}"], "tools": [f"tool_{name}"]}
        write_plugin(name, hooks.format(name), provides=provides)
    paths = {"plugins": {"load": {"paths": [str(tmp_path / "plugins")]}, "slots": {"memory": "none"}}}
    (tmp_path / "home" / "memslot.json5").write_text(json.dumps(paths))

    def make(plugins: str = "first,second,third") -> Host:
        env["MEMSLOT_LOAD_PLUGINS"] = plugins
        places = Places.from_env(env)
        return Host.prepare(*read_setup(places, env), places, env=env)

    return make


def imported() -> list[str]:
    return sorted(name.split("_")[1] for name in sys.modules if name.startswith("dev_"))


def test_a_prepared_host_starts_a_plugin_for_its_command(prepare: Any) -> None:
    with prepare() as host:
        assert imported() == []
        assert list(host.plugin_commands("second")) == ["go-second"]
        assert imported() == ["second"]


def test_a_prepared_host_starts_only_the_provider_that_is_named(prepare: Any) -> None:
    with prepare() as host:
        settings = host.config.memory_search()
        assert host.select_embedder(replace(settings, provider="none")).provider is None
        assert imported() == []
        assert host.select_embedder(replace(settings, provider="of-third")).reason == "of-third: not there"
        assert imported() == ["third"]
        host.select_embedder(replace(settings, provider="auto"))
        assert imported() == ["first", "second", "third"]


def test_a_prepared_host_starts_only_the_memories_that_are_asked(
    prepare: Any, write_plugin: Any, tmp_path: Path
) -> None:
    memory = """
    class Shelf:
        def search(self, query, *, max_results=None): ...
        def status(self): return MemoryStatus("shelf")
        def remember(self, text, *, session=None): return MemoryReceipt("shelf")
        def close(self): ...

    @hookimpl
    def register_memory(ctx):
        assert len(ctx.memories) == 0, "asked while it registers"
        return Shelf()

    @hookimpl
    def memory_written(written): ...
    """
    for name in ("shelf", "rack"):
        write_plugin(name, memory, kind="memory")
    config = json.loads((tmp_path / "home" / "memslot.json5").read_text())
    config["plugins"]["slots"]["memory"] = ["shelf", "rack"]
    (tmp_path / "home" / "memslot.json5").write_text(json.dumps(config))
    with prepare("first,shelf,rack") as host:
        assert host.memories.ids == ("shelf", "rack")
        assert set(host.memories.statuses()) == {"shelf", "rack"}
        assert imported() == ["rack", "shelf"]
        host.memories.remember("Ada drinks tea.")
        assert imported() == ["first", "rack", "shelf"], "any plugin may want to hear of it"
        assert host.memories.ids == ("shelf", "rack")
        assert list(host.diagnostics) == []


def test_a_prepared_host_is_whole_once_something_needs_all_plugins(prepare: Any) -> None:
    with prepare() as host:
        host.plugin_commands("third")
        host.select_embedder()
        assert [tool.name for tool in host.tools()] == ["tool_first", "tool_second", "tool_third"]
        assert host.plugins == ("first", "second", "third")
        assert [spec.id for spec in host.embedding_providers.specs] == ["of-first", "of-second", "of-third"]
        assert host._runner.implementers("agent_end") == ["first", "second", "third"]
        assert list(host.diagnostics) == []


def test_providers_are_there_before_the_other_plugins_have_all_registered(prepare: Any, write_plugin: Any) -> None:
    gate = """
    @hookimpl
    def register_tools():
        import pathlib, time
        here = pathlib.Path(__file__).parent
        (here / "begun").touch()
        while not (here / "open").exists():
            time.sleep(0.01)
        return []
    """
    folder = write_plugin("gate", gate)
    with prepare("gate,third") as host:
        starting = threading.Thread(target=host.tools)
        starting.start()
        try:
            while not (folder / "begun").exists():
                time.sleep(0.01)
            # As a sync does that a memory began in a thread of its own.
            settings = replace(host.config.memory_search(), provider="of-third")
            assert host.select_embedder(settings).reason == "of-third: not there"
        finally:
            (folder / "open").touch()
            starting.join()


def test_a_prepared_host_that_is_closed_starts_nothing(prepare: Any) -> None:
    prepare().close()
    assert imported() == []
