"""The fixtures that every pytest run has, and the host they open."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from memslot import HookError, PluginError, Tool, hookimpl
from memslot.testing import FailingProvider, HangingProvider, HostOpener, InlinePlugin


class Greeter:
    @hookimpl
    def register_tools(self) -> list[Tool]:
        return [Tool("greet", "Say hello.", {"type": "object"}, lambda args: "hello")]


def write_package(folder: Path, manifest: str, code: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "memslot.plugin.json").write_text(manifest)
    (folder / "__init__.py").write_text(textwrap.dedent(code))
    return folder


def test_home_is_empty_and_in_the_environment(memslot_home: Path) -> None:
    assert os.environ["MEMSLOT_HOME"] == str(memslot_home)
    assert list(memslot_home.iterdir()) == []


def test_a_plugin_made_on_the_spot(memslot_host: HostOpener) -> None:
    host = memslot_host(InlinePlugin(Greeter(), id="greeter", manifest={"provides": {"tools": ["greet"]}}))
    assert host.plugins == ("greeter",)
    assert host.call_tool("greet").text == "hello"
    assert list(host.diagnostics) == []


def test_a_plugin_in_a_folder(memslot_host: HostOpener, tmp_path: Path) -> None:
    folder = write_package(
        tmp_path / "kit_folder_plugin",
        '{"id": "in-folder", "kind": "tool", "name": "x", "provides": {"tools": ["greet"]}}',
        """
        from memslot import Tool, hookimpl

        @hookimpl
        def register_tools():
            return [Tool("greet", "Say hello.", {"type": "object"}, lambda args: "hello from a folder")]
        """,
    )
    assert memslot_host(folder).call_tool("greet").text == "hello from a folder"


def test_an_installed_plugin_by_its_id(memslot_host: HostOpener) -> None:
    host = memslot_host("memory-core")
    assert host.plugins == ("memory-core",)
    assert host.memory_owner == "memory-core"


def test_several_plugins_and_no_others(memslot_host: HostOpener) -> None:
    host = memslot_host("memory-core", InlinePlugin(Greeter(), id="greeter"))
    assert set(host.plugins) == {"memory-core", "greeter"}


def test_all_plugins_where_none_is_named(memslot_host: HostOpener) -> None:
    assert {"memory-core", "embed-universal"} <= set(memslot_host().plugins)


def test_a_memory_gets_the_slot_unless_the_config_says_otherwise(memslot_host: HostOpener) -> None:
    host = memslot_host("memory-core", config={"plugins": {"slots": {"memory": "none"}}}, strict=False)
    assert host.memory is None


def test_settings_reach_the_plugin(memslot_host: HostOpener) -> None:
    seen = []

    class Curious:
        @hookimpl
        def register_tools(self, ctx) -> list[Tool]:
            seen.append(ctx.config)
            return []

    schema = {"type": "object", "properties": {"size": {"type": "integer"}, "colour": {"default": "blue"}}}
    plugin = InlinePlugin(Curious(), id="curious", manifest={"configSchema": schema})
    memslot_host(plugin, config={"plugins": {"entries": {"curious": {"config": {"size": 3}}}}})
    assert seen == [{"size": 3, "colour": "blue"}]


def test_a_plugin_that_is_not_installed_is_named(memslot_host: HostOpener) -> None:
    with pytest.raises(PluginError, match=r'no plugin "nobody" is installed here; .*memory-core.*pip install -e \.'):
        memslot_host("nobody")


def test_a_plugin_that_does_not_run_is_an_error(memslot_host: HostOpener, tmp_path: Path) -> None:
    folder = write_package(tmp_path / "kit_broken_plugin", '{"id": "broken", "kind": "tool", "name": "x"}', "1 / 0")
    with pytest.raises(PluginError, match=r"broken does not run: .*ZeroDivisionError"):
        memslot_host(folder)
    assert memslot_host(folder, strict=False).plugins == ()


def test_a_failing_hook_is_an_error(memslot_host: HostOpener) -> None:
    class Failing:
        @hookimpl
        def register_tools(self) -> list[Tool]:
            raise RuntimeError("no tools today")

    with pytest.raises(HookError, match="no tools today"):
        memslot_host(InlinePlugin(Failing()))
    lenient = memslot_host(InlinePlugin(Failing()), strict=False)
    assert ["no tools today" in event.message for event in lenient.diagnostics] == [True]


def test_hosts_are_closed_in_the_end(tmp_path: Path) -> None:
    ended = []

    class Watcher:
        @hookimpl
        def session_end(self, session) -> None:
            ended.append(session.id)

    with HostOpener(tmp_path) as opener:
        host = opener(InlinePlugin(Watcher()))
        with host.run("hello", session="talk"):
            pass
    assert ended == ["talk"]


def test_failing_provider_counts_and_hanging_provider_can_be_released() -> None:
    failing = FailingProvider("down")
    with pytest.raises(Exception, match="down"):
        failing.embed_query("x")
    assert failing.calls == 1
    hanging = HangingProvider()
    hanging.release()
    assert len(hanging.embed_query("x")) == hanging.dims
    assert hanging.started.is_set()


def run_python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False)


def test_the_pytest_plugin_imports_next_to_nothing() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import memslot.testing.pytest_plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    assert run_python(code).stdout.split() == ["memslot", "memslot.testing", "memslot.testing.pytest_plugin"]


def test_without_pytest_one_sentence_says_what_to_do() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pytest' else real(name, *rest)\n"
        "import memslot.testing\n"
    )
    done = run_python(code)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: memslot.testing needs pytest; install it with: pip install pytest"
    )


def test_every_public_name_can_be_imported() -> None:
    import memslot.testing

    for name in memslot.testing.__all__:
        assert getattr(memslot.testing, name).__name__ == name
    assert dir(memslot.testing) == sorted(memslot.testing.__all__)
